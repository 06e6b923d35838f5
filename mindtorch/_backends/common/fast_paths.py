"""Fast paths: what runs in place of a general kernel where nothing is left to check.

The dispatcher takes an operator's fast path if the tensors in the call are CPU tensors, contiguous, and no key but the
backend's is set: nothing is recorded, pending or observed. (Those in a table called ``NONCONTIGUOUS`` take any
strides.)

What a fast path skips is the meta kernel: promotion, broadcasting, strides and PyTorch's checks. That is safe because
it computes only where the inputs leave nothing to decide (one dtype, which NumPy keeps; a contiguous result of its own
memory) and hands everything else, bad arguments included, to the general kernel, which decides and explains.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._dispatch.keys import CPU
from ..._tensor import Tensor, new

Row = Callable[..., Any]
#: What NumPy raises for what it cannot do, or for warnings where a user has them raised.
REFUSALS = (ValueError, TypeError, IndexError, OverflowError, MemoryError, Warning, FloatingPointError)
ndarray = np.ndarray


def fast_path(compute: Row) -> Callable[[Row], Row]:
    """A function that takes an operator's general kernel and returns its fast path, given what that computes.

    ``compute(*args)`` returns an array for a tensor of the first argument's dtype, or the operator's result, or None
    for a call that it leaves to the general kernel; so it does by an error of NumPy's. The general kernel runs outside
    of the ``try``, since its errors have nothing to do with NumPy's.
    """

    def make(general: Row) -> Row:
        def fast(*args: Any) -> Any:
            try:
                result = compute(*args)
            except REFUSALS:
                result = None
            if result.__class__ is ndarray:
                out = new(Tensor)
                out._array, out._dtype, out._keys = result, args[0]._dtype, CPU
                return out
            return general(*args) if result is None else result

        return fast

    return make


def fresh(array: ndarray, dtype: Any) -> Tensor:
    """A contiguous CPU tensor of an array that nothing else refers to."""
    out = new(Tensor)
    out._array, out._dtype, out._keys = array, dtype, CPU
    return out
