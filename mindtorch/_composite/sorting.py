"""Sorting and quantiles in terms of ``sort``."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._base.errors import check
from .._base.layout import wrap_dim
from .._dispatch.dispatcher import has_values
from .._dtype import float32, float64, int64
from . import COMPOSITES

INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")
ROUNDING = {"lower": "floor", "higher": "ceil", "nearest": "round"}


def quantile(ignore_nan: bool) -> Callable[..., Any]:
    """``torch.quantile`` or ``nanquantile``; a ``q`` of one dimension becomes the output's first."""

    def compute(self: Any, q: Any, dim: int | None = None, keepdim: bool = False, interpolation: str = "linear") -> Any:
        if isinstance(q, float):
            check(0 <= q <= 1, lambda: f"quantile() q must be in the range [0, 1] but got {q:g}")
            q = self.new_full((), q)
        axis = check_quantile(self, q, dim, interpolation)
        ranks, line = ranked(self, q, axis, keepdim, ignore_nan)
        if interpolation in ROUNDING:
            result = line.gather(-1, getattr(ranks, ROUNDING[interpolation])().to(int64))
        else:
            below = ranks.to(int64)
            weight = ranks - below if interpolation == "linear" else ranks.new_full(ranks.shape, 0.5)
            result = line.gather(-1, below).lerp(line.gather(-1, ranks.ceil().to(int64)), weight)
        return result.unsqueeze_(0).transpose_(0, -1).squeeze_(-1) if q.ndim else result.squeeze_(-1)

    return compute


def check_quantile(self: Any, q: Any, dim: int | None, interpolation: str) -> int | None:
    """Refuse what PyTorch refuses, in its order, and return the dimension as a non-negative index."""
    check(self.numel(), "quantile() input tensor must be non-empty")
    check(q.ndim <= 1, "quantile() q must be a scalar or 1D tensor")
    check(self._dtype in (float32, float64), "quantile() input tensor must be either float or double dtype")
    check(self._dtype is q._dtype, "quantile() q tensor must be same dtype as the input tensor")
    check(interpolation in INTERPOLATIONS, lambda: "quantile() interpolation must be one of linear, lower, higher, "
          f"midpoint or nearest, but got {interpolation}")
    axis = None if dim is None else wrap_dim(dim, self.ndim)
    check(not has_values(q) or ((q >= 0) & (q <= 1)).all(), "quantile() q values must be in the range [0, 1]")
    return axis


def ranked(self: Any, q: Any, axis: int | None, keepdim: bool, ignore_nan: bool) -> tuple[Any, Any]:
    """The lines sorted along a last dimension, the others as in the output; the quantiles' ranks in them."""
    last = self.ndim - 1
    if axis is None or not self.ndim:
        line, others = self.flatten().sort()[0], (1,) * self.ndim if keepdim else ()
    else:
        line = (self if axis == last else self.unsqueeze(-1).transpose(axis, -1)).sort()[0]
        others = (*self.shape[:axis], *(1,) * keepdim, *self.shape[axis + 1:])
    line = line.view((*others, line.shape[-1]))
    if ignore_nan:
        ranks = q * (line.isnan().logical_not().sum(-1, True) - 1)
        return ranks.masked_fill(ranks < 0, 0), line
    highest = line.shape[-1] - 1
    return (q * highest).masked_fill(line.isnan().any(-1, True), highest), line


COMPOSITES.update({
    "argsort": lambda self, dim=-1, descending=False: self.sort(dim, descending)[1],
    "argsort.stable": lambda self, stable, dim=-1, descending=False: self.sort(
        stable=stable, dim=dim, descending=descending)[1],
    "msort": lambda self: self.sort(0)[0],
    "quantile": quantile(False),
    "quantile.scalar": quantile(False),
    "nanquantile": quantile(True),
    "nanquantile.scalar": quantile(True),
})
