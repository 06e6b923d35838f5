"""Fast paths of reductions."""
from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np

from ...._base.layout import wrap_dims
from ...._dispatch.return_types import named_tuple
from ...._dtype import bool_, float32, int64
from ...._tensor import from_array
from ..ops import reduction
from ..ops.pointwise import number
from ..ops.reduction import MANY, by_ones, line_starts, sum_of_all
from ..ops.softmax import FEW as SMALL
from . import FAST_PATHS, PLAIN, Row, fast_path, ndarray

lowest, highest, add = np.minimum.reduce, np.maximum.reduce, np.add.reduce  # type: Any, Any, Any
sqrt: Any = np.sqrt
NUMBERS = {*PLAIN, int64}
TESTED = {*NUMBERS, bool_}
FEW = 16  #: up to this many elements, Python numbers beat several NumPy calls


def whole(reduce: Callable[[ndarray], Any], dtypes: set[Any]) -> Callable[[Row], Row]:
    """Build the fast path of a reduction of all elements that keeps its dtype, one of ``dtypes``."""
    def run(self: Any, dtype: Any = None) -> ndarray | None:
        held = self._dtype
        return np.asarray(reduce(self._array)) if held in dtypes and (dtype is None or dtype is held) else None

    return fast_path(run)


def total(x: ndarray) -> Any:
    """Return the sum of all elements."""
    if x.dtype.kind == "i":
        return add(x, None)
    if x.size <= reduction.FEW:
        return by_ones(x.ravel(), 0)
    return add(x, None) if x.size < MANY else sum_of_all(x)


def added(x: ndarray, dim: Any, keepdim: bool) -> Any:
    """Return the sums over some dimensions."""
    if x.dtype.kind == "i":
        return add(x, dim, keepdims=keepdim)
    if x.size <= reduction.SOME and len(dim) == 1 and not keepdim and -x.ndim <= dim[0] < x.ndim:
        sums = by_ones(x, dim[0] % x.ndim)
        if sums is not None:
            return sums
    if x.size <= reduction.FEW:
        return add(x, dim, keepdims=keepdim)
    return reduction.total(x, wrap_dims(dim, x.ndim), keepdim)


@fast_path
def sum_dim(self: Any, dim: Any, keepdim: bool = False, dtype: Any = None) -> ndarray | None:
    """Sum a small tensor over some dimensions."""
    if dtype not in (None, self._dtype) or not dim or self._dtype not in NUMBERS or self._array.size > SMALL:
        return None
    return np.asarray(added(self._array, dim, keepdim))


@fast_path
def mean_dim(self: Any, dim: Any, keepdim: bool = False, dtype: Any = None) -> ndarray | None:
    """Average a small tensor over some dimensions."""
    array = self._array
    if dtype not in (None, self._dtype) or not dim or self._dtype not in PLAIN or not 0 < array.size <= SMALL:
        return None
    sums = added(array, dim, keepdim)
    return np.asarray(sums / array.dtype.type(array.size // sums.size))


def axes(dim: Any, span: int) -> Any:
    """Return the reduced dimensions in order; None if one is out of range or repeated."""
    if dim is None or dim == ():
        return tuple(range(span))
    dims = (dim,) if dim.__class__ is int else dim
    found = sorted([d % span for d in dims if -span <= d < span])
    return tuple(found) if len({*found}) == len(dims) else None


def within(array: ndarray, low: float, high: float) -> bool:
    """Return True if all elements lie strictly between two bounds."""
    if array.size > FEW:
        return bool(lowest(array, None) > low and highest(array, None) < high)
    for value in array.ravel().tolist():  # noqa: SIM110 (a generator takes thrice as long)
        if not low < value < high:
            return False
    return True


def spread(finish: Callable[[ndarray], Any], with_mean: bool = False) -> Callable[[Row], Row]:
    """Build the fast path of a function of few elements' variance (see ``reduction.variance``), perhaps with the mean.
    """

    def run(self: Any, dim: Any = None, correction: Any = None, keepdim: bool = False) -> Any:
        x, dtype = self._array, self._dtype
        over = axes(dim, x.ndim) if dtype in PLAIN and 0 < x.size <= reduction.FEW else None
        if not over:
            return None
        sums = add(x, over, None, None, True)
        count = x.size // sums.size
        freedom = count - (1 if correction is None else correction)
        if not freedom > 0:  # the general kernel warns
            return None
        middle = sums / number(count, x.dtype)
        away = x - middle
        found = np.asarray(add(away * away, over, None, None, keepdim) / number(freedom, x.dtype))
        if not (within(found, reduction.TINY, inf) if dtype is float32 else np.isfinite(found).all()):
            return None
        found = np.asarray(finish(found))
        if not with_mean:
            return found
        return from_array(found, dtype), from_array(middle.reshape(found.shape), dtype)

    return fast_path(run)


@fast_path
def vector_norm(self: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> ndarray | None:
    """Return the Euclidean norm of few elements."""
    x = self._array
    fits = ord == 2 and dtype is None and self._dtype in PLAIN and x.size <= reduction.FEW
    over = axes(dim, x.ndim) if fits else None
    if not over:
        return None
    found = np.asarray(add(x * x, over, None, None, keepdim))
    return np.asarray(sqrt(found)) if found.size < x.size else None  # else the absolute value


def best(name: str, find: Callable[..., ndarray]) -> Callable[[Row], Row]:
    """Build the fast path of ``max`` or ``min`` along a dimension of a small tensor, with indices."""
    outputs = named_tuple(name, ("values", "indices"))

    def run(self: Any, dim: int, keepdim: bool = False) -> Any:
        array, dtype = self._array, self._dtype
        if dtype not in NUMBERS or not 0 < array.size <= reduction.SOME or not -array.ndim <= dim < array.ndim:
            return None
        axis = dim % array.ndim
        index = np.asarray(find(array, axis))
        first, step = line_starts(array.shape, axis)
        values = np.asarray(array.take(first + index * step))
        if keepdim:
            shape = (*array.shape[:axis], 1, *array.shape[axis + 1:])
            values, index = values.reshape(shape), index.reshape(shape)
        return outputs(from_array(values, dtype), from_array(index, int64))

    return fast_path(run)


def place(find: Callable[..., Any]) -> Callable[[Row], Row]:
    """Build the fast path of ``argmax`` or ``argmin``, of all elements or along a dimension."""

    def run(self: Any, dim: Any = None, keepdim: bool = False) -> Any:
        array = self._array
        if keepdim or not 0 < array.size <= SMALL or self._dtype not in NUMBERS:
            return None
        return from_array(np.asarray(find(array, dim)), int64)

    return fast_path(run)


def truth(reduce: Callable[..., Any]) -> Callable[[Row], Row]:
    """Build the fast path of ``all`` or ``any``."""
    return fast_path(lambda self: from_array(np.asarray(reduce(self._array, None)), bool_)
                     if self._dtype in TESTED and self._array.size <= SMALL else None)


FAST_PATHS.update({
    "sum": whole(total, NUMBERS),
    "sum.dim_IntList": sum_dim,
    "mean": whole(lambda x: total(x) / x.dtype.type(x.size), PLAIN),
    "mean.dim": mean_dim,
    "max.dim": best("max", ndarray.argmax),
    "min.dim": best("min", ndarray.argmin),
    "argmax": place(ndarray.argmax),
    "argmin": place(ndarray.argmin),
    "all": truth(np.logical_and.reduce),
    "any": truth(np.logical_or.reduce),
    "var.correction": spread(ndarray.view),
    "std.correction": spread(sqrt),
    "var_mean.correction": spread(ndarray.view, True),
    "std_mean.correction": spread(sqrt, True),
    "linalg_vector_norm": vector_norm,
})
