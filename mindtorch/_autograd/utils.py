"""Helpers of derivatives."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._dispatch import dispatcher
from .._dispatch.aten import expand, mm, sum as sum_all, sum_dim_IntList as sum_dims, t, view
from .._dispatch.keys import ADDED, AUTOGRAD, CPU, NONCONTIGUOUS, OBSERVED, THREAD_STATE
from .._dispatch.local import local
from .._dtype import float32, float64

ON_CPU = CPU | AUTOGRAD | NONCONTIGUOUS  #: the keys of tensors that have an array
SEEN = ADDED | OBSERVED | THREAD_STATE  #: the modes in which calls show


def is_unobserved() -> bool:
    """Whether it does not show which operators compute a gradient, nor whether it is a view, since no call is recorded
    or observed, and no caller gets the gradient itself.
    """
    task = local.task
    return not local.grad_enabled and not dispatcher.mode & SEEN and (task is None or not task.captures)


def reduce_grad(grad: Any, shape: Sequence[int]) -> Any:
    """Sum a gradient to the shape of an input that was broadcast (ATen's ``sum_to``); a view if it had fewer dims."""
    have = grad.shape
    shape = tuple(shape)
    if have == shape:
        return grad
    if not shape:
        return sum_all(grad)
    extra = len(have) - len(shape)
    dims = tuple(range(extra))
    if have[extra:] != shape:
        dims += tuple([d + extra for d, size in enumerate(shape) if size == 1 and have[d + extra] != 1])
    if len(dims) == extra and is_unobserved():
        return sum_dims(grad, dims)
    grad = sum_dims(grad, dims, True) if dims else grad
    return view(grad, shape) if extra else grad


def transposed(matrix: Any) -> Any:
    """A matrix transposed, for a formula, without a call of the operator where the call would not show."""
    array = matrix._array
    if (not is_unobserved() or array is None or matrix._keys & ~ON_CPU
            or array.ndim != 2 or array.shape[0] < 2 or array.shape[1] < 2):
        return t(matrix)
    return matrix._transposed_alias()


def product(left: Any, right: Any, turned: bool, right_turned: bool, result_turned: bool = False) -> Any:
    """The product of two matrices, each of them transposed if it is ``turned``, and so the result, for a formula,
    without calls of operators where they would not show.
    """
    dtype = left._dtype
    if (right._dtype is dtype and (dtype is float32 or dtype is float64)
            and not (left._keys | right._keys) & ~ON_CPU and is_unobserved()):
        small = result_turned and (left._array.shape[turned] < 2 or right._array.shape[not right_turned] < 2)
        try:
            result = left._product(right, turned, right_turned, result_turned and not small)
        except (Warning, ArithmeticError):  # of numbers that are none: where the user has them raised
            pass
        else:
            return transposed(result) if small else result
    result = mm(t(left) if turned else left, t(right) if right_turned else right)
    return transposed(result) if result_turned else result


def repeated(scalar: Any, shape: Any) -> Any:
    """A gradient expanded, for a formula, without a call of the operator where it is a tensor of no dimensions."""
    array = scalar._array
    if (local.grad_enabled or array is None or array.ndim or scalar._keys & ~(CPU | AUTOGRAD)
            or dispatcher.mode & SEEN or not shape or min(shape) < 2):
        return expand(scalar, shape)
    return scalar._expanded_alias(shape)


def can_expand(shape: Sequence[int], to: Sequence[int]) -> bool:
    """Whether a tensor of a shape broadcasts to another, which then sums back to it."""
    extra = len(to) - len(shape)
    return extra >= 0 and all(size in (1, to[d + extra]) for d, size in enumerate(shape))
