"""Fast lanes of a few operators that small models call all the time.

As for pointwise operators: the dispatcher has seen that all inputs are contiguous CPU tensors and no other
key is set; a lane handles the one case in which nothing is left to check, and leaves every other to the
general kernel, outside the ``try``: its errors have nothing to do with NumPy's.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...._dispatch.keys import CPU
from ...._dtype import FLOATING, bool_, float32, float64, int64
from ...._tensor import Tensor, new
from .softmax import BLOCK as SMALL, log_softmax_grad, log_softmax_of, softmax_grad, softmax_of


def whole_lane(function: Callable[[np.ndarray], Any]) -> Callable[..., Any]:
    """A reduction of all elements that keeps the dtype."""

    def make(general: Callable[..., Any]) -> Callable[..., Any]:
        def lane(self: Any, *rest: Any) -> Any:
            dtype = self._dtype
            if (rest and rest != (None,)) or dtype.category != FLOATING or dtype.itemsize < 4:
                return general(self, *rest)
            try:
                result = function(self._array)
            except (Warning, FloatingPointError):
                pass
            else:
                out = new(Tensor)
                out._array, out._dtype, out._keys = np.asarray(result), dtype, CPU
                return out
            return general(self, *rest)

        return lane

    return make


def sum_dim_lane(general: Callable[..., Any]) -> Callable[..., Any]:
    """``sum`` over some dimensions of a small tensor. What NumPy refuses goes to the general kernel."""
    reduce: Any = np.add.reduce

    def lane(self: Any, dim: Any, keepdim: bool = False, dtype: Any = None) -> Any:
        array, have = self._array, self._dtype
        if (dtype is not None or not dim or have.category != FLOATING or have.itemsize < 4
                or array.size > SMALL):
            return general(self, dim, keepdim, dtype)
        try:
            result = reduce(array, dim, keepdims=keepdim)
        except (ValueError, TypeError, Warning, FloatingPointError):
            pass
        else:
            out = new(Tensor)
            out._array, out._dtype, out._keys = np.asarray(result), have, CPU
            return out
        return general(self, dim, keepdim, dtype)

    return lane


def along_lane(compute: Callable[..., None], count: int) -> Callable[..., Any]:
    """Operators that compute along a dimension of ``count`` small tensors, of one shape and dtype."""

    def make(general: Callable[..., Any]) -> Callable[..., Any]:
        def lane(*args: Any) -> Any:
            dtype, dim = args[0]._dtype, args[count]
            arrays = [tensor._array for tensor in args[:count]]
            shape = arrays[0].shape
            if (dtype.category != FLOATING or dtype.itemsize < 4 or not 0 < arrays[0].size <= SMALL
                    or not -len(shape) <= dim < len(shape) or args[count + 1] not in (False, dtype)
                    or (count == 2 and (args[1]._dtype is not dtype or arrays[1].shape != shape))):
                return general(*args)
            array = np.empty(shape, dtype.np)
            try:
                compute(*arrays, array, dim % len(shape))
            except (Warning, FloatingPointError):
                pass
            else:
                out = new(Tensor)
                out._array, out._dtype, out._keys = array, dtype, CPU
                return out
            return general(*args)

        return lane

    return make


def filled_like_lane(value: int) -> Callable[..., Any]:
    """``ones_like`` and ``zeros_like`` of a tensor alone."""

    def make(general: Callable[..., Any]) -> Callable[..., Any]:
        def lane(self: Any, *rest: Any) -> Any:
            if rest:
                return general(self, *rest)
            out = new(Tensor)
            array = out._array = np.empty(self._array.shape, self._dtype.np)
            array.fill(value)
            out._dtype, out._keys = self._dtype, CPU
            return out

        return lane

    return make


#: The dtypes that BLAS multiplies.
BLAS = {float32, float64}


def mm_lane(general: Callable[..., Any]) -> Callable[..., Any]:
    """Matrices of any strides, which NumPy hands to BLAS as they are."""
    matmul = np.matmul

    def lane(self: Any, mat2: Any) -> Any:
        left, right, dtype = self._array, mat2._array, self._dtype
        if dtype not in BLAS or mat2._dtype is not dtype or left.ndim != 2 or right.ndim != 2:
            return general(self, mat2)
        try:
            array = matmul(left, right)
        except ValueError:
            pass
        else:
            out = new(Tensor)
            out._array, out._dtype, out._keys = array, dtype, CPU
            return out
        return general(self, mat2)

    return lane


def addmm_lane(general: Callable[..., Any]) -> Callable[..., Any]:
    """The same, and a bias for each column.

    What ``linear`` asks for, a few rows times a larger matrix transposed, OpenBLAS computes up to 1.5 times as fast in
    float32 the other way round, with the matrix as it lies in memory; adding the bias then puts the result in order.
    """
    matmul, add = np.matmul, np.add

    def lane(self: Any, mat1: Any, mat2: Any, *factors: Any) -> Any:
        left, right, dtype = mat1._array, mat2._array, self._dtype
        if (factors or dtype not in BLAS or mat1._dtype is not dtype or mat2._dtype is not dtype
                or left.ndim != 2 or right.ndim != 2 or self._array.ndim != 1):
            return general(self, mat1, mat2, *factors)
        try:
            rows, depth = left.shape
            columns = right.shape[1]
            if 16 <= rows <= 32 and depth >= 64 <= columns and right.strides[0] == 4:  # of float32
                array = add(matmul(right.T, left.T.copy()).T, self._array, order="C")
            else:
                array = matmul(left, right)
                add(array, self._array, array)
        except ValueError:
            pass
        else:
            out = new(Tensor)
            out._array, out._dtype, out._keys = array, dtype, CPU
            return out
        return general(self, mat1, mat2)

    return lane


def nll_loss_lane(general: Callable[..., Any]) -> Callable[..., Any]:
    """The mean over a batch without weights, if no class is ignored. NumPy finds what is out of range."""
    lowest, add, arange = np.minimum.reduce, np.add.reduce, np.arange

    def lane(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> Any:
        logs, chosen, dtype = self._array, target._array, self._dtype
        if (weight is not None or reduction != 1 or ignore_index >= 0 or dtype not in BLAS
                or target._dtype is not int64 or logs.ndim != 2 or chosen.shape != logs.shape[:1]
                or not chosen.size or lowest(chosen) < 0):
            return general(self, target, weight, reduction, ignore_index)
        count = len(chosen)
        try:
            total = add(logs[arange(count), chosen])
        except IndexError:
            pass
        else:
            outputs = []
            for value in (-total / count, count):
                out = new(Tensor)
                out._array, out._dtype, out._keys = np.array(value, dtype.np), dtype, CPU
                outputs.append(out)
            return tuple(outputs)
        return general(self, target, weight, reduction, ignore_index)

    return lane


def nll_loss_backward_lane(general: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient in the same case: all classes were counted in ``total_weight``."""
    lowest, arange, zeros = np.minimum.reduce, np.arange, np.zeros

    def lane(grad_output: Any, self: Any, target: Any, weight: Any, reduction: int, ignored: int,
             total_weight: Any) -> Any:
        chosen, shape, dtype = target._array, self._array.shape, self._dtype
        count = len(chosen) if chosen.ndim else 0
        if (weight is not None or reduction != 1 or dtype not in BLAS or grad_output._dtype is not dtype
                or len(shape) != 2 or not count or total_weight._array != count or lowest(chosen) < 0):
            return general(grad_output, self, target, weight, reduction, ignored, total_weight)
        array = zeros(shape, dtype.np)
        try:
            array[arange(count), chosen] = grad_output._array / -count
        except IndexError:
            pass
        else:
            out = new(Tensor)
            out._array, out._dtype, out._keys = array, dtype, CPU
            return out
        return general(grad_output, self, target, weight, reduction, ignored, total_weight)

    return lane


def masked_fill_lane(general: Callable[..., Any]) -> Callable[..., Any]:
    """``masked_fill`` of real floating point numbers by a number."""

    def lane(self: Any, mask: Any, value: Any) -> Any:
        dtype = self._dtype
        if (dtype.category != FLOATING or dtype.itemsize < 4 or mask._dtype is not bool_
                or value.__class__ not in (int, float)):
            return general(self, mask, value)
        try:
            array = np.where(mask._array, dtype.np.type(value), self._array)
        except ValueError:
            pass
        else:
            out = new(Tensor)
            out._array, out._dtype, out._keys = array, dtype, CPU
            return out
        return general(self, mask, value)

    return lane


LANES: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "sum": whole_lane(lambda x: np.add.reduce(x, None)),
    "sum.dim_IntList": sum_dim_lane,
    "mean": whole_lane(lambda x: np.add.reduce(x, None) / x.dtype.type(x.size)),
    "_softmax": along_lane(softmax_of, 1),
    "_log_softmax": along_lane(log_softmax_of, 1),
    "_softmax_backward_data": along_lane(softmax_grad, 2),
    "_log_softmax_backward_data": along_lane(log_softmax_grad, 2),
    "masked_fill.Scalar": masked_fill_lane,
    "ones_like": filled_like_lane(1),
    "zeros_like": filled_like_lane(0),
    "mm": mm_lane,
    "addmm": addmm_lane,
    "nll_loss_forward": nll_loss_lane,
    "nll_loss_backward": nll_loss_backward_lane,
}
#: The lanes that take tensors of any strides.
STRIDED_LANES = {"mm", "addmm"}
