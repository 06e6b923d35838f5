"""Helpers of derivatives."""
from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter_ns
from typing import Any

from .._base.layout import Ints, remembered
from .._dispatch import dispatcher
from .._dispatch.aten import (
    arange_start_step, copy_, expand, index_add_, mm, reshape, sum as sum_all, sum_dim_IntList as sum_dims, t, view,
)
from .._dispatch.keys import ADDED, AUTOGRAD, CPU, NONCONTIGUOUS, OBSERVED, ONE_BY_ONE, THREAD_STATE
from .._dispatch.local import local
from .._dispatch.observers import tell_parts
from .._dtype import float32, float64, int64

ON_CPU = CPU | AUTOGRAD | NONCONTIGUOUS  #: the keys of tensors with an array
REDIRECTED = ADDED | ONE_BY_ONE | THREAD_STATE  #: the modes that require each operator to be called


def is_private() -> bool:
    """Return True if a gradient may be computed without calling its operators one by one: nothing is recorded.
    (Observers are notified of the operators.)
    """
    return not local.grad_enabled and not dispatcher.mode & REDIRECTED


def reduce_grad(grad: Any, shape: Sequence[int]) -> Any:
    """Sum a gradient to the shape of a broadcast input (ATen's ``sum_to``); a view if the input had fewer dims."""
    array, shape = grad._array, tuple(shape)
    have = tuple(grad.shape) if array is None else array.shape
    if len(have) == len(shape) and have == shape:  # tuples of other lengths are compared, too, which leaves guards
        return grad
    if not shape:
        return sum_all(grad)
    dims, extra = broadcast_dims(shape, have)
    if len(dims) == extra and is_private():
        return sum_dims(grad, dims)
    grad = sum_dims(grad, dims, True) if dims else grad
    return view(grad, shape) if extra else grad


@remembered
def broadcast_dims(shape: Ints, to: Ints) -> tuple[Ints, int]:
    """Return the dimensions over which a gradient of shape ``to`` is summed to ``shape``, and how many are new."""
    extra = len(to) - len(shape)
    if to[extra:] == shape:
        return tuple(range(extra)), extra
    return (*range(extra), *[d + extra for d, size in enumerate(shape) if size == 1 and to[d + extra] != 1]), extra


def transposed(matrix: Any) -> Any:
    """Return a matrix transposed, for a formula."""
    array = matrix._array
    if (not is_private() or array is None or matrix._keys & ~ON_CPU
            or array.ndim != 2 or array.shape[0] < 2 or array.shape[1] < 2):
        return t(matrix)
    result = matrix._transposed_alias()
    if dispatcher.mode & OBSERVED:
        tell_parts(t, (matrix,), result)
    return result


def reshaped(tensor: Any, shape: Sequence[int]) -> Any:
    """Return a tensor in another shape, for a formula."""
    if tensor._keys & ~(CPU | AUTOGRAD) or tensor._array is None or not is_private():
        return reshape(tensor, shape)
    result = tensor._reshaped_alias(shape)
    if dispatcher.mode & OBSERVED:
        tell_parts(reshape, (tensor, shape), result)
    return result


def product(left: Any, right: Any, turned: bool, right_turned: bool, result_turned: bool = False) -> Any:
    """Return the product of two matrices for a formula, with the operands and the result transposed as flagged."""
    dtype = left._dtype
    if (right._dtype is dtype and (dtype is float32 or dtype is float64)
            and not (left._keys | right._keys) & ~ON_CPU and is_private()):
        result = multiplied(left, right, turned, right_turned)
    else:
        result = _product(left, right, turned, right_turned)
    return transposed(result) if result_turned else result


def multiplied(left: Any, right: Any, turned: bool, right_turned: bool) -> Any:
    """Return the product of two CPU matrices of one dtype, transposed as flagged, by a single BLAS call."""
    if not dispatcher.mode & OBSERVED:
        return left._product(right, turned, right_turned)
    start = perf_counter_ns()
    result = left._product(right, turned, right_turned)
    tell_parts(_product, (left, right, turned, right_turned), result, start, perf_counter_ns() - start)
    return result


def _product(left: Any, right: Any, turned: bool, right_turned: bool) -> Any:
    return mm(t(left) if turned else left, t(right) if right_turned else right)


def repeated(grad: Any, self_shape: Any) -> Any:
    """Return the gradient of a number expanded to a shape; a formula."""
    alone = not local.grad_enabled and not dispatcher.mode & REDIRECTED and not grad._keys & ~(CPU | AUTOGRAD)
    if not alone or grad._array.ndim or not self_shape or min(self_shape) < 2:
        return expand(grad, self_shape)
    result = grad._expanded_alias(self_shape)
    if dispatcher.mode & OBSERVED:
        tell_parts(expand, (grad, self_shape), result)
    return result


@remembered
def can_expand(shape: Ints, to: Ints) -> bool:
    """Return True if a shape broadcasts to another one, whose gradient can then be summed back."""
    extra = len(to) - len(shape)
    return extra >= 0 and all(size in (1, to[d + extra]) for d, size in enumerate(shape))


def may_overlap(size: Any, stride: Any) -> bool:
    """Return True if two indices may mean the same element (ATen's test: exact for layouts that come from slicing)."""
    reach = 0
    for step, n in sorted(zip(stride, size, strict=True)):
        if step <= reach:
            return True
        reach += step * (n - 1)
    return False


def spread(values: Any, length: int, shape: Any, strides: Any, offset: int, evenly: bool = False) -> Any:
    """Return a storage of so many elements that are 0, but for the values, which lie in it by their strides. Where some
    share a place it holds their sum, or ``evenly`` their mean.
    """
    storage = values.new_zeros((length,))
    if not may_overlap(shape, strides):
        copy_(storage.as_strided(shape, strides, offset), values)
        return storage
    places = arange_start_step(0, length, 1, int64, None, values._device).as_strided(shape, strides, offset).reshape(-1)
    index_add_(storage, 0, places, values.reshape(-1))
    if evenly:
        storage.div_(spread(values.new_ones(shape), length, shape, strides, offset).clamp_min_(1))
    return storage
