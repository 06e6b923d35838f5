"""Fast paths: kernels for calls that need no checks, a module per family.

The dispatcher takes an operator's fast path if all tensors of the call are contiguous CPU tensors with no key but the
backend's: nothing is recorded, pending or observed.

A fast path skips the meta kernel: promotion, broadcasting, strides and PyTorch's checks. That is safe because it only
computes if the inputs leave nothing to decide: one dtype, which NumPy keeps, and a contiguous result that owns its
memory. Every other call, with bad arguments or an empty result of odd strides, is left to the general kernel, which
decides and explains. Most pointwise operators have none here: ``pointwise`` derives theirs from their rows.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...._base.quiet import silent
from ...._dispatch.keys import CPU
from ...._dispatch.registry import Operator
from ...._dispatch.schemas import registry
from ...._dispatch.tables import FamilyTable
from ...._dtype import FLOATING, DType, bool_, complex64, complex128, dtypes, float32, float64
from ...._tensor import Tensor, new

Row = Callable[..., Any]
ndarray = np.ndarray
#: NumPy's errors for calls it cannot compute.
REFUSALS = (ValueError, TypeError, IndexError, OverflowError, MemoryError)
PLAIN = {float32, float64}  #: dtypes in which NumPy agrees with PyTorch and BLAS multiplies
LARGEST = 3e38  #: surely representable in float32


#: By dtype, the least and the greatest number that it surely holds.
BOUNDS: dict[DType, tuple[Any, Any]] = {
    **{dtype: (int(np.iinfo(dtype.np).min), int(np.iinfo(dtype.np).max)) for dtype in dtypes("integral")},
    **dict.fromkeys((*PLAIN, complex64, complex128), (-LARGEST, LARGEST)),
    **dict.fromkeys(dtypes("reduced"), (-6e4, 6e4))}


def held(dtype: DType, number: Any) -> Any:
    """Return a number as arrays are filled with it, halves from float32; None unless the dtype surely holds it."""
    kind, bounds = number.__class__, BOUNDS.get(dtype)
    if kind is bool and (bounds is not None or dtype is bool_):
        return number
    if bounds is None or not (kind is int or (kind is float and dtype.category >= FLOATING)):
        return None
    if not bounds[0] <= number <= bounds[1]:
        return None
    return np.float32(number) if dtype.itemsize == 2 and dtype.category == FLOATING else number


def are_small(numbers: Sequence[Any]) -> bool:
    """Return True if all are real numbers that surely fit, whatever floating point dtype is computed in."""
    for number in numbers:  # a generator takes twice as long
        kind = number.__class__
        if not ((kind is float or kind is int) and -LARGEST < number < LARGEST):
            return False
    return True


#: By operator name: a function from the general kernel to the fast path for contiguous tensors.
FAST_PATHS = FamilyTable(registry)
FAST_PATHS.written_in(__name__, __path__)


def fast_path_of(op: Operator, general: Row) -> Row | None:
    """Return an operator's fast path for contiguous tensors, given its kernel for any strides; None if it has none."""
    make = FAST_PATHS.get(op.name)
    return None if make is None else make(general)


def fast_path(compute: Row) -> Callable[[Row], Row]:
    """Build a fast path from ``compute``, as a function of the general kernel.

    ``compute(*args)`` returns an array (a tensor of the first argument's dtype), the operator's result, or None to
    leave the call to the general kernel. An error of NumPy's does so, too. The general kernel runs outside the ``try``,
    since its own errors must be raised.
    """

    def make(general: Row) -> Row:
        def fast(*args: Any) -> Any:
            try:
                result = silent().run(compute, *args)
            except REFUSALS:
                result = None
            if result.__class__ is ndarray:
                out = new(Tensor)
                out._array, out._dtype, out._keys = result, args[0]._dtype, CPU
                return out
            return general(*args) if result is None else result

        return fast

    return make
