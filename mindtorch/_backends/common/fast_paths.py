"""Fast paths: what runs in place of a general kernel where nothing is left to check.

The dispatcher takes an operator's fast path if the tensors in the call are CPU tensors, contiguous, and no key but the
backend's is set: nothing is recorded, pending or observed. (Those in the table ``ANY_STRIDES`` take any strides.)

What a fast path skips is the meta kernel: promotion, broadcasting, strides and PyTorch's checks. That is safe because
it computes only where the inputs leave nothing to decide (one dtype, which NumPy keeps; a contiguous result of its own
memory) and hands everything else, bad arguments included, to the general kernel, which decides and explains.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ..._dispatch.keys import CPU, NONCONTIGUOUS
from ..._layout import Ints, contiguous_strides
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


@lru_cache(1 << 10)
def order_of(shape: Ints, stride: Ints) -> tuple[Ints, Ints] | None:
    """The order of dimensions in which a tensor with these strides is contiguous, and the order that leads back; None
    if there is none.
    """
    order = tuple(sorted(range(len(shape)), key=lambda d: (-stride[d], d)))
    if 0 in shape or contiguous_strides(tuple([shape[d] for d in order])) != tuple([stride[d] for d in order]):
        return None
    return order, tuple([order.index(d) for d in range(len(shape))])


def laid_out(array: ndarray, dtype: Any, stride: Ints) -> Tensor | None:
    """A CPU tensor with a copy of an array of its dtype, in other strides than a contiguous one has; None if they are
    not those of a contiguous tensor with its dimensions exchanged.
    """
    found = order_of(array.shape, stride)
    if found is None:
        return None
    order, back = found
    data = array.transpose(order).copy()
    out = new(Tensor)
    out._array, out._dtype, out._keys = data.transpose(back), dtype, CPU | NONCONTIGUOUS
    out._stride, out._version_counter = stride, [0, None, data]  # of which the storage is made when it is asked for
    return out
