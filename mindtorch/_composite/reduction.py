"""Reductions in terms of others: forms of variance with a flag, means and covariances."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from .._backends.common.inplace_and_out import write_out
from .._dispatch.aten import complex as complex_of
from .._dispatch.schemas import registry
from .._dtype import BOOL, FLOATING, INTEGER
from .._errors import NAMES, check, check_takes
from . import COMPOSITES


def unbiased(name: str) -> dict[str, Callable[..., Any]]:
    """The overloads with ``unbiased`` of var, std and their like: corrections of 1 and 0."""
    call = registry[f"{name}.correction"].call

    def along(self: Any, dim: Any = None, unbiased: bool = True, keepdim: bool = False) -> Any:
        return call(self, dim, int(unbiased), keepdim)

    return {name: lambda self, unbiased=True: along(self, None, unbiased), f"{name}.dim": along}


def nanmean(self: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """``torch.nanmean``: the mean of what is not NaN."""
    check(self._dtype.category >= FLOATING, lambda: "nanmean(): expected input to have floating point or complex dtype "
          f"but got {NAMES[self._dtype.name]}")
    count = self.detach().isnan().logical_not().sum(dim, keepdim)
    return self.nansum(dim, keepdim, dtype=dtype) / count


def nansum_out(self: Any, dim: Any, keepdim: bool, dtype: Any, out: Any) -> Any:
    """``torch.nansum`` into ``out``, whose dtype is that of the computation if none is given."""
    target = dtype or out.dtype
    check_takes(self._dtype.category != FLOATING or target.category == FLOATING, "nansum_cpu", target)
    return write_out(registry["nansum.out"], self.nansum(dim, keepdim, dtype=target), out)


def nanmean_out(self: Any, dim: Any, keepdim: bool, dtype: Any, out: Any) -> Any:
    """``torch.nanmean`` into ``out``."""
    nansum_out(self, dim, keepdim, dtype, out)
    return out.copy_(nanmean(self, dim, keepdim, dtype))


def cov(self: Any, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """``torch.cov``: rows are variables, columns observations."""
    check_matrix("cov", self)
    check(self._dtype.category != BOOL, "cov(): bool dtype is not supported for input")
    rows = self.view(1, -1) if self.ndim < 2 else self
    observations = rows.shape[1]
    check_weights("fweights", fweights, observations, INTEGER, "integral")
    check_weights("aweights", aweights, observations, FLOATING, "floating point")
    given = [w for w in (fweights, aweights) if w is not None]
    weights = given[0] * given[1] if len(given) == 2 else given[0] if given else None
    amount = observations if weights is None else weights.sum()
    check(weights is None or amount.item() != 0, "cov(): weights sum to zero, can't be normalized")
    mean = (rows if weights is None else rows * weights).sum(1) / amount
    if aweights is None or correction == 0:
        freedom = amount - correction
    else:
        freedom = amount - correction * (weights * aweights).sum() / amount
    if (freedom if weights is None else freedom.item()) <= 0:
        warnings.warn("cov(): degrees of freedom is <= 0. Correction should be strictly less than the number "
                      "of observations.", stacklevel=2)
        freedom = 0
    away = rows - mean.unsqueeze(1)
    other = away if weights is None else away * weights
    return (away.mm(other.t().conj()) / freedom).squeeze()


def check_matrix(name: str, self: Any) -> None:
    check(self.ndim <= 2, lambda: f"{name}(): expected input to have two or fewer dimensions but got an input with "
          f"{self.ndim} dimensions")


def check_weights(name: str, weights: Any, observations: int, category: int, kind: str) -> None:
    if weights is None:
        return
    where = f"cov(): expected {name} to have"
    check(weights.ndim <= 1, lambda: f"{where} one or fewer dimensions but got {name} with {weights.ndim} dimensions")
    check(weights._dtype.category == category,
          lambda: f"{where} {kind} dtype but got {name} with {NAMES[weights._dtype.name]} dtype")
    check(weights.numel() == observations, lambda: f"{where} the same numel as there are observations in the input but "
          f"got {weights.numel()} != {observations}")
    check(not observations or weights.is_meta or weights.min().item() >= 0, lambda: f"cov(): {name} cannot be negative")


def corrcoef(self: Any) -> Any:
    """``torch.corrcoef``: covariances over the product of the standard deviations."""
    check_matrix("corrcoef", self)
    c = self.cov()
    if not c.ndim:
        return c / c
    d = c.diag()
    deviation = (d.real if d.is_complex() else d).sqrt()
    c = c / deviation.view(-1, 1) / deviation.view(1, -1)
    if c.is_complex():
        return complex_of(c.real.clamp(-1, 1), c.imag.clamp(-1, 1))
    return c.clamp(-1, 1)


COMPOSITES.add(nanmean, cov, corrcoef)
COMPOSITES.update({
    **unbiased("var"), **unbiased("std"), **unbiased("var_mean"), **unbiased("std_mean"),
    "nansum.out": nansum_out,
    "nanmean.out": nanmean_out,
    "count_nonzero": lambda self, dim=None: self.count_nonzero(() if dim is None else (dim,)),
    "max.other": lambda self, other: self.maximum(other),
    "min.other": lambda self, other: self.minimum(other),
})
