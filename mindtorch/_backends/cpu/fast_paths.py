"""The fast paths of operators that small models call all the time, and that are not pointwise.

Each computes the case that programs mostly write; for a call that is none it returns None. Empty results are left to
the general kernel where their strides may be odd.
"""
from __future__ import annotations

from collections.abc import Callable
from math import inf, prod
from typing import Any

import numpy as np

from ..._dispatch.dispatcher import TENSOR_TYPES
from ..._dispatch.return_types import named_tuple
from ..._dtype import DTYPES, FLOATING, DType, bool_, float32, float64, get_default_dtype, int64
from ..._formats import contiguous_format, preserve_format
from ..._layout import wrap_dims
from ..._random import sampling
from ..._random.default import default_generator
from ..._storage import allocate
from ..._tensor import Tensor
from ..common.blocks import copy
from ..common.fast_paths import REFUSALS, Row, fast_path, fresh, laid_out, ndarray
from .ops import CPU_KERNELS, pointwise, reduction
from .ops.attention import flash
from .ops.comparison import chosen
from .ops.indexing import flat_places
from .ops.normalization import native_batch_norm, native_group_norm, native_layer_norm
from .ops.reduction import MANY, by_ones, number, sum_of_all
from .ops.softmax import (
    FEW as SMALL, log_softmax_grad, log_softmax_of, log_softmax_of_few, softmax_grad, softmax_of, softmax_of_few,
)

lowest, highest, add = np.minimum.reduce, np.maximum.reduce, np.add.reduce  # type: Any, Any, Any
arange, matmul, sqrt = np.arange, np.matmul, np.sqrt  # type: Any, Any, Any
FEW = 16  #: up to so many elements, Python's numbers are quicker than several calls of NumPy's
LARGEST = 3e38  #: what float32 surely holds
#: The dtypes that BLAS multiplies.
BLAS = {float32, float64}


def is_plain(dtype: DType) -> bool:
    """Whether NumPy computes in a dtype as PyTorch does: floating point, but not half precision."""
    return dtype.category == FLOATING and dtype.itemsize >= 4


# -- reductions --------------------------------------------------------------------------------------------------------

def whole(reduce: Callable[[ndarray], Any]) -> Callable[[Row], Row]:
    """A reduction of all elements that keeps the dtype."""
    return fast_path(lambda self, dtype=None:
                     np.asarray(reduce(self._array)) if dtype is None and is_plain(self._dtype) else None)


def total(x: ndarray) -> Any:
    """The sum of all elements."""
    if x.size <= reduction.FEW:
        return by_ones(x.ravel(), 0)
    return add(x, None) if x.size < MANY else sum_of_all(x)


def added(x: ndarray, dim: Any, keepdim: bool) -> Any:
    """The sums over some dimensions."""
    if x.size <= reduction.SOME and len(dim) == 1 and not keepdim and -x.ndim <= dim[0] < x.ndim:
        sums = by_ones(x, dim[0] % x.ndim)
        if sums is not None:
            return sums
    if x.size <= reduction.FEW:
        return add(x, dim, keepdims=keepdim)
    return reduction.total(x, wrap_dims(dim, x.ndim), keepdim)


@fast_path
def sum_dim(self: Any, dim: Any, keepdim: bool = False, dtype: Any = None) -> ndarray | None:
    """``sum`` over some dimensions of a small tensor."""
    if dtype is not None or not dim or not is_plain(self._dtype) or self._array.size > SMALL:
        return None
    return np.asarray(added(self._array, dim, keepdim))


@fast_path
def mean_dim(self: Any, dim: Any, keepdim: bool = False, dtype: Any = None) -> ndarray | None:
    """``mean`` over some dimensions of a small tensor."""
    array = self._array
    if dtype is not None or not dim or not is_plain(self._dtype) or not 0 < array.size <= SMALL:
        return None
    sums = added(array, dim, keepdim)
    return np.asarray(sums / array.dtype.type(array.size // sums.size))


def axes(dim: Any, span: int) -> Any:
    """The dimensions that a reduction goes over, in order; None if one is out of range or repeated."""
    if dim is None or dim == ():
        return tuple(range(span))
    dims = (dim,) if dim.__class__ is int else dim
    found = sorted([d % span for d in dims if -span <= d < span])
    return tuple(found) if len({*found}) == len(dims) else None


def within(array: ndarray, low: float, high: float) -> bool:
    """Whether all elements are greater than a number and less than another."""
    if array.size > FEW:
        return bool(lowest(array, None) > low and highest(array, None) < high)
    for value in array.ravel().tolist():  # noqa: SIM110 (a generator takes thrice as long)
        if not low < value < high:
            return False
    return True


def spread(finish: Callable[[ndarray], Any]) -> Callable[[Row], Row]:
    """A function of the variance of few elements, computed as in ``reduction.variance``."""

    def run(self: Any, dim: Any = None, correction: Any = None, keepdim: bool = False) -> ndarray | None:
        x, dtype = self._array, self._dtype
        over = axes(dim, x.ndim) if dtype in BLAS and 0 < x.size <= reduction.FEW else None
        if not over:
            return None
        sums = add(x, over, None, None, True)
        count = x.size // sums.size
        freedom = count - (1 if correction is None else correction)
        if not freedom > 0:  # of which a warning tells
            return None
        away = x - sums / number(count, x.dtype)
        found = np.asarray(add(away * away, over, None, None, keepdim) / number(freedom, x.dtype))
        if dtype is float32 and not within(found, reduction.TINY, inf):
            return None
        return np.asarray(finish(found))

    return fast_path(run)


@fast_path
def vector_norm(self: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> ndarray | None:
    """The Euclidean norm of few elements."""
    x = self._array
    over = axes(dim, x.ndim) if ord == 2 and dtype is None and self._dtype in BLAS and x.size <= reduction.FEW else None
    if not over:
        return None
    found = np.asarray(add(x * x, over, None, None, keepdim))
    return np.asarray(sqrt(found)) if found.size < x.size else None  # of one element each, the absolute value


def best(name: str, find: Callable[..., ndarray]) -> Callable[[Row], Row]:
    """``max`` and ``min`` along the last dimension, with the places."""
    outputs = named_tuple(name, ("values", "indices"))

    def run(self: Any, dim: int, keepdim: bool = False) -> Any:
        array, dtype = self._array, self._dtype
        if dim not in (-1, array.ndim - 1) or keepdim or not array.size or not is_plain(dtype):
            return None
        at = np.asarray(find(array, -1))
        values = np.asarray(array.take(at if at.size == 1 else at + starts(at.shape, array.shape[-1])))
        return outputs(fresh(values, dtype), fresh(at, int64))

    return fast_path(run)


def starts(shape: tuple[int, ...], length: int) -> ndarray:
    """Where lines of this length begin, of which there are so many."""
    first = arange(0, prod(shape) * length, length)
    return first if len(shape) == 1 else first.reshape(shape)


def place(find: Callable[..., Any]) -> Callable[[Row], Row]:
    """``argmax`` and ``argmin`` along the last dimension."""

    def run(self: Any, dim: Any = None, keepdim: bool = False) -> Any:
        array = self._array
        if dim is None or dim not in (-1, array.ndim - 1) or keepdim or not array.size or not is_plain(self._dtype):
            return None
        return fresh(np.asarray(find(array, -1)), int64)

    return fast_path(run)


def truth(reduce: Callable[..., Any]) -> Callable[[Row], Row]:
    """``all`` and ``any`` of booleans."""
    return fast_path(lambda self: np.asarray(reduce(self._array, None)) if self._dtype is bool_ else None)


def along(compute: Callable[..., None], of_few: Callable[[ndarray], ndarray | None]) -> Callable[[Row], Row]:
    """Operators that compute along a dimension of a small tensor; ``of_few`` computes short lines of very small ones,
    if it can.
    """

    def run(self: Any, dim: int, converts: Any) -> ndarray | None:
        source, dtype = self._array, self._dtype
        size, span = source.size, source.ndim
        if dtype not in BLAS or not 0 < size <= SMALL or converts or not -span <= dim < span:
            return None
        if size <= reduction.FEW and (dim == -1 or dim == span - 1) and (found := of_few(source)) is not None:
            return found
        array: ndarray = np.empty(source.shape, dtype.np)
        compute(source, array, dim % span)
        return array

    return fast_path(run)


def along_both(compute: Callable[..., None]) -> Callable[[Row], Row]:
    """The same of two tensors of one shape and dtype."""

    def run(self: Any, other: Any, dim: int, dtype: Any) -> ndarray | None:
        source, second = self._array, other._array
        span = source.ndim
        if (dtype not in BLAS or self._dtype is not dtype or other._dtype is not dtype or second.shape != source.shape
                or not 0 < source.size <= SMALL or not -span <= dim < span):
            return None
        array: ndarray = np.empty(source.shape, dtype.np)
        compute(source, second, array, dim % span)
        return array

    return fast_path(run)


# -- choice ------------------------------------------------------------------------------------------------------------

@fast_path
def masked_fill(self: Any, mask: Any, value: Any) -> ndarray | None:
    """``masked_fill`` of real floating point numbers by a number."""
    dtype = self._dtype
    if not is_plain(dtype) or mask._dtype is not bool_ or value.__class__ not in (int, float):
        return None
    return chosen(mask._array, dtype.np.type(value), self._array)


@fast_path
def where(condition: Any, self: Any, other: Any) -> Any:
    """``where`` of real floating point numbers of one dtype."""
    if self.__class__ not in TENSOR_TYPES or other.__class__ not in TENSOR_TYPES:
        return None
    dtype = self._dtype
    if condition._dtype is not bool_ or other._dtype is not dtype or not is_plain(dtype):
        return None
    return fresh(chosen(condition._array, self._array, other._array), dtype)


@fast_path
def lerp(self: Any, end: Any, weight: Any) -> ndarray | None:
    """``lerp`` of real numbers of one dtype by a number."""
    if self._dtype not in BLAS or end._dtype is not self._dtype or weight.__class__ not in (float, int):
        return None
    array = np.asarray(pointwise.lerp(self._array, end._array, weight))
    return array if array.size else None


# -- normalisations ----------------------------------------------------------------------------------------------------

def normalised(row: Callable[..., Any], fits: Callable[..., Any]) -> Callable[[Row], Row]:
    """A normalisation of a few elements, by its row; ``fits`` says of what shape the parameters have to be, None if the
    input is left to the general kernel. What is in channels-last order as well is left to it, too.
    """

    def run(self: Any, *args: Any) -> Any:
        dtype, x = self._dtype, self._array
        if dtype not in BLAS or not 0 < x.size <= reduction.FEW or (x.ndim > 3 and 1 in x.shape):
            return None
        shape = fits(x, *args)
        if shape is None:
            return None
        given = []
        for arg in args:
            if arg.__class__ in TENSOR_TYPES:
                if arg._dtype is not dtype or arg._array.shape != shape:
                    return None
                arg = arg._array
            given.append(arg)
        out, middle, rstd = row(x, *given)
        return fresh(out, dtype), fresh(middle, dtype), fresh(rstd, dtype)

    return fast_path(run)


def of_rows(x: ndarray, shape: Any, *args: Any) -> Any:
    """The last dimensions, if they have these sizes."""
    return shape if shape and x.shape[-len(shape):] == shape else None


def of_groups(x: ndarray, weight: Any, bias: Any, n: int, c: int, hxw: int, group: int, eps: float) -> Any:
    """The channels, if they are in groups of as many."""
    return (c,) if group > 0 and not c % group and x.size == n * c * hxw else None


def of_channels(x: ndarray, weight: Any, bias: Any, mean: Any, var: Any, training: bool, *settings: Any) -> Any:
    """The channels, in training and without moments that are written to."""
    return x.shape[1:2] if training and x.ndim > 1 and mean is None is var else None


# -- products ----------------------------------------------------------------------------------------------------------

@fast_path
def mm(self: Any, mat2: Any) -> ndarray | None:
    """A product of matrices of any strides, which NumPy hands to BLAS as they are."""
    left, right, dtype = self._array, mat2._array, self._dtype
    if dtype not in BLAS or mat2._dtype is not dtype or left.ndim != 2 or right.ndim != 2:
        return None
    return left.dot(right)  # which for few elements takes a third of the time of NumPy's ``matmul``


@fast_path
def bmm(self: Any, mat2: Any) -> ndarray | None:
    """Products of as many matrices, of any strides; NumPy compares their sizes."""
    left, right, dtype = self._array, mat2._array, self._dtype
    if (dtype not in BLAS or mat2._dtype is not dtype or left.ndim != 3 or right.ndim != 3
            or len(left) != len(right)):
        return None
    return matmul(left, right)


@fast_path
def baddbmm(self: Any, batch1: Any, batch2: Any, *factors: Any) -> ndarray | None:
    """The same products, and what is added to each."""
    left, right, added, dtype = batch1._array, batch2._array, self._array, self._dtype
    if (factors or dtype not in BLAS or batch1._dtype is not dtype or batch2._dtype is not dtype or left.ndim != 3
            or right.ndim != 3 or len(left) != len(right) or added.shape != (*left.shape[:2], right.shape[2])):
        return None
    array = matmul(left, right)
    array += added
    return array


@fast_path
def addmm(self: Any, mat1: Any, mat2: Any, *factors: Any) -> ndarray | None:
    """A product of matrices of any strides, as in ``mm``, and a bias for each column.

    What ``linear`` asks for, a few rows times a larger matrix transposed, OpenBLAS computes up to 1.5 times as fast in
    float32 the other way round, with the matrix as it lies in memory; adding the bias then puts the result in order.
    """
    left, right, dtype = mat1._array, mat2._array, self._dtype
    if (factors or dtype not in BLAS or mat1._dtype is not dtype or mat2._dtype is not dtype
            or left.ndim != 2 or right.ndim != 2 or self._array.ndim != 1):
        return None
    rows, depth = left.shape
    columns = right.shape[1]
    if 16 <= rows <= 32 and depth >= 64 <= columns and right.strides[0] == 4:  # of float32
        return np.add(right.T.dot(left.T.copy()).T, self._array, order="C")
    array = left.dot(right)
    return np.add(array, self._array, array)


# -- losses ------------------------------------------------------------------------------------------------------------

@fast_path
def nll_loss(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> Any:
    """The mean over a batch without weights, if no class is ignored. NumPy finds what is out of range."""
    logs, chosen, dtype = self._array, target._array, self._dtype
    if (weight is not None or reduction != 1 or ignore_index >= 0 or dtype not in BLAS or target._dtype is not int64
            or logs.ndim != 2 or chosen.shape != logs.shape[:1] or not chosen.size):
        return None
    count = len(chosen)
    if logs.size <= FEW:
        classes = chosen.tolist()
        picked = [line[i] for line, i in zip(logs.tolist(), classes, strict=True)]
        if min(classes) < 0 or not sum(map(abs, picked)) < LARGEST:  # above, a sum on the way may overflow
            return None
        total = sum(picked)
    elif lowest(chosen) < 0:
        return None
    else:
        total = add(logs[arange(count), chosen])
    return fresh(np.array(-total / count, dtype.np), dtype), fresh(np.array(count, dtype.np), dtype)


@fast_path
def nll_loss_backward(grad_output: Any, self: Any, target: Any, weight: Any, reduction: int, ignored: int,
                      total_weight: Any) -> ndarray | None:
    """The gradient in the same case: all classes were counted in ``total_weight``."""
    chosen, shape, dtype = target._array, self._array.shape, self._dtype
    count = len(chosen) if chosen.ndim else 0
    if (weight is not None or reduction != 1 or dtype not in BLAS or grad_output._dtype is not dtype
            or len(shape) != 2 or not count or total_weight._array != count or lowest(chosen) < 0):
        return None
    array: ndarray = np.zeros(shape, dtype.np)
    array[arange(count), chosen] = grad_output._array / -count
    return array


# -- attention ---------------------------------------------------------------------------------------------------------

@fast_path
def attention(query: Any, key: Any, value: Any, dropout_p: float = 0.0, is_causal: bool = False, attn_mask: Any = None,
              scale: Any = None) -> Any:
    """The attention of as many heads as there are of keys, without a mask."""
    array, dtype = query._array, query._dtype
    if (attn_mask is not None or dropout_p or dtype not in BLAS or key._dtype is not dtype or value._dtype is not dtype
            or array.ndim != 4 or not 0 < array.size <= SMALL or key._array.shape != array.shape
            or value._array.shape != array.shape):
        return None
    heads, rows = array.shape[1:3]
    out, logsumexp = flash(array, key._array, value._array, 0.0, is_causal, None, scale)
    sums = laid_out(logsumexp, dtype, (rows * heads, 1, heads))  # by position, then by head
    return None if sums is None else (fresh(out, dtype), sums)


# -- copies -----------------------------------------------------------------------------------------------------------

#: The formats in which the copy of a contiguous tensor is contiguous.
AS_IT_IS = {None, contiguous_format, preserve_format, "contiguous_format", "preserve_format"}


@fast_path
def clone(self: Any, memory_format: Any = None) -> ndarray | None:
    """A copy in the same layout."""
    if memory_format not in AS_IT_IS:
        return None
    array = allocate(self._array.shape, self._dtype.np)
    copy(array, self._array)
    return array


def copy_(general: Row) -> Row:
    """Write values of the same shape and dtype that lie elsewhere."""

    def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
        target, source, storage = self._array, src._array, src._storage
        if (src._dtype is self._dtype and source.shape == target.shape
                and (storage is None or storage is not self._storage)):
            try:
                copy(target, source)
                return self
            except REFUSALS:
                pass
        return general(self, src, non_blocking)

    return copy_


# -- joining and indexing ----------------------------------------------------------------------------------------------

def join(joined: Callable[..., ndarray]) -> Callable[[Row], Row]:
    """``cat`` and ``stack`` of tensors of one dtype."""

    def run(tensors: Any, dim: int = 0) -> Any:
        dtype = tensors[0]._dtype if tensors else None
        arrays = []
        for tensor in tensors:
            if tensor._dtype is not dtype:
                return None
            arrays.append(tensor._array)
        array = joined(arrays, dim)
        return fresh(array, dtype) if array.size else None

    return fast_path(run)


def stacked(arrays: list[ndarray], dim: int) -> ndarray:
    """``np.stack``, which along the first dimension is to put one array behind the other."""
    shape = arrays[0].shape
    if dim or not shape or [array.shape for array in arrays].count(shape) < len(arrays):
        return np.stack(arrays, dim)
    return np.concatenate(arrays).reshape(len(arrays), *shape)


def key_of(self: Any, indices: Any) -> Any:
    """NumPy's key for int64 indices of the first dimensions, which is one of them alone or a tuple; None for others."""
    if len(indices) == 1:
        at = indices[0]
        return at._array if at is not None and at._dtype is int64 and not shares(self, at) else None
    key = []
    for at in indices:
        if at is None or at._dtype is not int64 or not at._array.flags.c_contiguous or shares(self, at):
            return None
        key.append(at._array)
    return tuple(key) or None


@fast_path
def index(self: Any, indices: Any) -> ndarray | None:
    """The elements at int64 indices of the first dimensions, or at one mask."""
    key = key_of(self, indices)
    if key.__class__ is ndarray:
        array = self._array.take(key, 0)
    elif key is not None:
        array = self._array[key]
    elif len(indices) == 1 and indices[0] is not None and indices[0]._dtype is bool_ and indices[0]._array.ndim:
        array = self._array[indices[0]._array]
    else:
        return None
    return array if array.__class__ is ndarray and array.size and array.flags.c_contiguous else None


@fast_path
def index_put_(self: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """Write a number, or as many rows as there are indices, at int64 indices of the first dimensions."""
    if accumulate or values._dtype is not self._dtype or shares(self, values):
        return None
    key, array, given = key_of(self, indices), self._array, values._array
    if key is None:
        return None
    if given.ndim:
        one = key.__class__ is ndarray
        places = key.shape if one else np.broadcast(*key).shape
        if given.shape != (*places, *array.shape[1 if one else len(key):]):
            return None
    array[key] = given
    return self


@fast_path
def index_select(self: Any, dim: int, index: Any) -> ndarray | None:
    """The elements at int64 indices that are in range."""
    array, at = self._array, index._array
    if index._dtype is not int64 or at.ndim != 1 or not at.size or not array.ndim or at.min() < 0:
        return None
    array = array.take(at, dim)
    return array if array.size else None


@fast_path
def gather(self: Any, dim: int, index: Any, sparse_grad: bool = False) -> ndarray | None:
    """The elements at few int64 indices along a dimension."""
    places = flat_places(self._array, dim, index._array) if index._dtype is int64 else None
    return None if places is None else self._array.take(places)


@fast_path
def take(self: Any, index: Any) -> ndarray | None:
    """The elements at flat indices, which NumPy counts from the end as well."""
    return np.asarray(self._array.take(index._array)) if index._dtype is int64 else None


@fast_path
def embedding(self: Any, indices: Any, *settings: Any) -> ndarray | None:
    """The rows at int64 indices."""
    rows, at = self._array, indices._array
    if indices._dtype is not int64 or rows.ndim != 2 or not at.size or lowest(at, None) < 0:
        return None
    found = rows.take(at, 0)
    return found if found.size else None


def shares(self: Any, *others: Any) -> bool:
    """Whether a tensor that is written to may share memory with others."""
    storage = self._storage
    for other in others:  # noqa: SIM110 (a generator takes thrice as long)
        if other is self or (storage is not None and other._storage is storage):
            return True
    return False


def add_at(array: ndarray, places: ndarray, values: Any) -> None:
    """Add values at indices. Nothing is raised once something is written."""
    with np.errstate(all="ignore"):
        np.add.at(array, places, values)


def scatter_into(write: Callable[[ndarray, ndarray, Any], Any], takes: frozenset[DType] | set[DType]) -> Row:
    """``scatter_`` and its like: write few values, or a number, at int64 indices along a dimension."""

    def run(self: Any, dim: int, index: Any, source: Any, *rest: Any) -> Any:
        array, dtype = self._array, self._dtype
        if rest or index._dtype is not int64 or dtype not in takes:
            return None
        if source.__class__ in TENSOR_TYPES:
            values = source._array
            if source._dtype is not dtype or values.shape != index._array.shape or shares(self, index, source):
                return None
        elif source.__class__ not in (int, float) or not -LARGEST < source < LARGEST or shares(self, index):
            return None
        else:
            values = source
        places = flat_places(array, dim, index._array)
        if places is None:
            return None
        write(array.reshape(-1), places, values)
        return self

    return fast_path(run)


@fast_path
def index_add_(self: Any, dim: int, index: Any, source: Any, alpha: Any = 1) -> Any:
    """Add few rows at int64 indices of the first dimension."""
    array, at, values, dtype = self._array, index._array, source._array, self._dtype
    if (dim or alpha.__class__ is not int or alpha != 1 or dtype not in BLAS or source._dtype is not dtype
            or index._dtype is not int64 or at.ndim != 1 or not 0 < values.size <= reduction.FEW
            or values.shape != (at.size, *array.shape[1:]) or lowest(at) < 0 or highest(at) >= len(array)
            or shares(self, index, source)):
        return None
    add_at(array, at, values)
    return self


# -- numbers -----------------------------------------------------------------------------------------------------------

def linspace(general: Row) -> Row:
    """From one number to another in floating point."""
    row = CPU_KERNELS["linspace"]

    def compute(start: Any, end: Any, steps: int, dtype: DType | None = None, *options: Any) -> Any:
        dtype = dtype or get_default_dtype()
        if (dtype not in BLAS or start.__class__ not in (int, float) or end.__class__ not in (int, float)
                or steps < 1 or not -LARGEST < start < LARGEST or not -LARGEST < end < LARGEST):
            return None
        return fresh(row(start, end, steps, dtype), dtype)

    return fast_path(compute)(general)


def of_parts(name: str) -> Callable[[Row], Row]:
    """Complex numbers of two tensors of one shape."""

    def make(general: Row) -> Row:
        row = CPU_KERNELS[name]

        def compute(first: Any, second: Any) -> Tensor | None:
            dtype = first._dtype
            if dtype not in BLAS or second._dtype is not dtype or first._array.shape != second._array.shape:
                return None
            return fresh(row(first._array, second._array), dtype.to_complex())

        return fast_path(compute)(general)

    return make


# -- random numbers ----------------------------------------------------------------------------------------------------

def drawing(sample: Callable[..., ndarray], first: float, second: float) -> Callable[[Row], Row]:
    """An operator with two parameters that draws a few numbers into a tensor. What is drawn must not be drawn a second
    time: an error is raised as it is.
    """

    def make(general: Row) -> Row:
        def fast(self: Any, low: float = first, high: float = second, generator: Any = None) -> Any:
            array = self._array
            if self._dtype not in BLAS or array.size > reduction.FEW:
                return general(self, low, high, generator)
            values = sample(generator or default_generator, array.size, array.dtype, low, high)
            array[...] = values if array.ndim == 1 else values.reshape(array.shape)
            return self

        return fast

    return make


def bernoulli(general: Row) -> Row:
    """Zeros and ones, by a few probabilities."""

    def fast(self: Any, generator: Any = None) -> Any:
        array, dtype = self._array, self._dtype
        if dtype not in BLAS or not 0 < array.size <= reduction.FEW:
            return general(self, generator)
        for p in array.ravel().tolist():
            if not 0 <= p <= 1:
                return general(self, generator)
        draws = sampling.standard_uniform(generator or default_generator, array.size, array.dtype)
        ones = (draws if array.ndim == 1 else draws.reshape(array.shape)) < array
        return fresh(ones.astype(array.dtype), dtype)

    return fast


# -- lists -------------------------------------------------------------------------------------------------------------

def on_lists(name: str, count: int) -> Callable[[Row], Row]:
    """An optimizer's step, whose first ``count`` arguments are lists of tensors, some of them perhaps empty, and the
    others settings, of which the last two are tensors where they are given. Its kernel writes, so that nothing may be
    done a second time: an error is raised as it is.
    """

    def make(general: Row) -> Row:
        kernel, shaped = CPU_KERNELS[name], count if name == "_fused_sgd_" else count - 1  # the last has steps

        def fast(*args: Any) -> Any:
            lists = [[tensor._array for tensor in tensors] for tensors in args[:count]]
            lengths = [len(arrays) for arrays in lists]
            shapes = [array.shape for array in lists[0]]
            if lengths[0] != lengths[1] or args[-1] is not None or args[-2] is not None or not (
                    {*lengths} <= {0, lengths[0]}) or any(
                    [array.shape for array in arrays] != shapes for arrays in lists[1:shaped] if arrays):
                return general(*args)
            kernel(*lists, *args[count:])
            return args[0]

        return fast

    return make


FAST_PATHS: dict[str, Callable[[Row], Row]] = {
    "sum": whole(total),
    "sum.dim_IntList": sum_dim,
    "mean.dim": mean_dim,
    "max.dim": best("max", ndarray.argmax),
    "min.dim": best("min", ndarray.argmin),
    "argmax": place(ndarray.argmax),
    "argmin": place(ndarray.argmin),
    "all": truth(np.logical_and.reduce),
    "any": truth(np.logical_or.reduce),
    "mean": whole(lambda x: total(x) / x.dtype.type(x.size)),
    "_softmax": along(softmax_of, softmax_of_few),
    "_log_softmax": along(log_softmax_of, log_softmax_of_few),
    "_softmax_backward_data": along_both(softmax_grad),
    "_log_softmax_backward_data": along_both(log_softmax_grad),
    "var.correction": spread(ndarray.view),
    "std.correction": spread(sqrt),
    "linalg_vector_norm": vector_norm,
    "native_layer_norm": normalised(native_layer_norm, of_rows),
    "native_group_norm": normalised(native_group_norm, of_groups),
    "native_batch_norm": normalised(native_batch_norm, of_channels),
    "lerp.Scalar": lerp,
    "masked_fill.Scalar": masked_fill,
    "where.self": where,
    "mm": mm,
    "bmm": bmm,
    "baddbmm": baddbmm,
    "addmm": addmm,
    "nll_loss_forward": nll_loss,
    "nll_loss_backward": nll_loss_backward,
    "_scaled_dot_product_flash_attention_for_cpu": attention,
    "cat": join(np.concatenate),
    "stack": join(stacked),
    "index.Tensor": index,
    "index_put_": index_put_,
    "index_select": index_select,
    "index_add_": index_add_,
    "gather": gather,
    "scatter_.value": scatter_into(ndarray.__setitem__, BLAS),
    "scatter_.src": scatter_into(ndarray.__setitem__, {*DTYPES.values()}),
    "scatter_add_": scatter_into(add_at, BLAS),
    "take": take,
    "embedding": embedding,
    "linspace": linspace,
    "polar": of_parts("polar"),
    "complex": of_parts("complex"),
    "bernoulli": bernoulli,
    "normal_": drawing(sampling.normal, 0.0, 1.0),
    "uniform_": drawing(sampling.uniform, 0.0, 1.0),
    **{name: on_lists(name, count) for name, count in (("_fused_sgd_", 3), ("_fused_adam_", 6), ("_fused_adamw_", 6),
                                                     ("_fused_adagrad_", 4))},
}
#: Of operators whose kernels are those of every backend.
OF_COPIES: dict[str, Callable[[Row], Row]] = {"clone": clone, "copy_": copy_}
#: Those that take tensors of any strides.
NONCONTIGUOUS = {"mm", "bmm", "baddbmm", "addmm"}
