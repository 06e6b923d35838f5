"""Linear algebra in terms of matrix products."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._backends.common.errors import check
from .._dispatch.keys import STRIDED
from .._dispatch.schemas import registry

addmm, mm, t = (registry[n].call for n in ("addmm", "mm", "t"))


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """``torch.nn.functional.linear``: ``input @ weight.T + bias`` over the last dimension."""
    ndim = input.ndim
    if ndim == 2:
        return mm(input, t(weight)) if bias is None else addmm(bias, input, t(weight))
    check(ndim and weight.ndim, f"both arguments to linear need to be at least 1D, but they are {ndim}D and {weight.ndim}D")
    if bias is not None and not input._keys & STRIDED:
        rows = input.view((-1, input.shape[-1]))
        return addmm(bias, rows, t(weight)).view((*input.shape[:-1], weight.shape[0]))
    product = input.matmul(t(weight))
    return product if bias is None else product.add_(bias)


ROWS: dict[str, Callable[..., Any]] = {"linear": linear}
