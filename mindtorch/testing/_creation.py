"""``make_tensor``: tensors of random numbers."""
from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

from .._creation import empty
from .._creation.random import randint
from .._dtype import BOOL, FLOATING, DType, dtypes, finfo, float32, iinfo, int64
from .._methods.functions import view_as_real
from .._tensor import Tensor

#: Floats of eight bits, which are drawn in float32; all dtypes of which numbers are drawn.
_EIGHT_BITS = dtypes("float8") - dtypes("float8_e8m0fnu")
_DRAWN = _EIGHT_BITS | dtypes("all|unsigned|complex32")


def _bounds(low: float | None, high: float | None, dtype: DType) -> tuple[Any, Any]:
    """Return the bounds between which to draw, within the dtype's range."""
    floating = dtype.category >= FLOATING
    if floating:
        least, end, usual = finfo(dtype).min, finfo(dtype).max, (-9, 9)
    elif dtype.category == BOOL:
        least, end, usual = 0, 2, (0, 2)
    else:
        least, end, usual = iinfo(dtype).min, iinfo(dtype).max + (dtype is not int64), (-9, 10)
    low, high = usual[0] if low is None else low, usual[1] if high is None else high
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if low == high and floating:
        warnings.warn("Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated "
                      "since 2.1 and will be removed in 2.3. Use `torch.full(...)` instead.", FutureWarning,
                      stacklevel=4)
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < least or low >= end:
        raise ValueError(f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} only "
                         f"supports [{least}, {end})")
    low, high = (min(max(bound, least), end) for bound in (low, high))
    return (low, high) if floating else (math.ceil(low), math.ceil(high))


def make_tensor(*shape: Any, dtype: DType, device: Any, low: float | None = None, high: float | None = None,
                requires_grad: bool = False, noncontiguous: bool = False, exclude_zero: bool = False,
                memory_format: Any = None) -> Tensor:
    """Return a tensor of random numbers, drawn evenly from [low, high), by default [-9, 9)
    (``torch.testing.make_tensor``). Raises ValueError for bounds that the dtype cannot hold, and arguments that exclude
    each other.
    """
    sizes: tuple[int, ...] = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
    if dtype not in _DRAWN:
        raise TypeError(f"The requested dtype '{dtype}' is not supported by torch.testing.make_tensor(). To request "
                        "support, file an issue at: https://github.com/pytorch/pytorch/issues")
    floating = dtype.category >= FLOATING
    if noncontiguous and memory_format is not None:
        raise ValueError("The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
                         f"{noncontiguous=} and {memory_format=}")
    if requires_grad and not floating:
        raise ValueError(f"`requires_grad=True` is not supported for boolean and integral dtypes, but got {dtype=}")
    noncontiguous = noncontiguous and math.prod(sizes) > 1
    if noncontiguous:  # every second element of a longer last dimension is taken
        sizes = (*sizes[:-1], 2 * sizes[-1])
    low, high = _bounds(low, high, dtype)
    if floating:
        drawn = float32 if dtype in _EIGHT_BITS else dtype
        out = empty(sizes, dtype=drawn, device=device)
        _fill(view_as_real(out) if dtype.is_complex else out, low, high)
        out = out.to(dtype)
    else:
        out = randint(int(low), int(high), sizes, dtype=dtype, device=device)
    if noncontiguous:
        out = out[..., 1::2]
    elif memory_format is not None:
        out = out.clone(memory_format=memory_format)
    if exclude_zero:
        out[out == 0] = finfo(dtype).tiny if floating else 1
    return out.requires_grad_(requires_grad) if floating else out


def _fill(out: Tensor, low: Any, high: Any) -> None:
    """Fill with uniform numbers, drawn in half the range if the whole exceeds the dtype's."""
    if high - low >= finfo(out.dtype).max:
        out.uniform_(low / 2, high / 2).mul_(2)
    else:
        out.uniform_(low, high)
