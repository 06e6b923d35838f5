"""Fast paths of pointwise operators, for calls that need no promotion."""
from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..._base.layout import Ints
from ..._base.quiet import silent
from ..._dispatch.dispatcher import TENSOR_TYPES
from ..._dispatch.keys import CPU, NONCONTIGUOUS
from ..._dtype import BOOL, FLOATING, INTEGER, DType, bool_, dtypes, float32, get_default_dtype
from ..._storage import allocate
from ..._tensor import Tensor, from_array, new
from ..common.blocks import LARGE, SMALL, compute, least_of
from ..common.broadcasts import LEAST, repeats_of, with_long_rows
from ..common.half import FEW, number_in
from ..common.pointwise import Pointwise
from .fast_paths import LARGEST, REFUSALS, are_small, ndarray
from .pointwise_arrays import function_of
from .pointwise_halves import EXACT, HALVES
from .rows import Rows, is_own, order_kept, strided

Results = dict[DType, DType | None]
#: Integers, which functions with floating point results convert to it; and a number that all dtypes represent about as
#: well.
INTEGERS, MOST = dtypes("bool|integral"), 6e4


def with_small_numbers(function: Rows) -> Rows:
    """Let a function of floating point arrays take further numbers that no check of the operator refuses."""
    def call(x: ndarray, y: Any, *numbers: Any) -> Any:
        if x.dtype.char not in "fd" or not are_small(numbers):
            raise TypeError
        return function(x, y, *numbers)

    return call


@lru_cache(256)
def widened(number: float | str, dtype: np.dtype) -> np.ndarray:
    """Return a number, rounded to a dtype, as a cached array of float32; zeros come as text, which has their sign."""
    found = number_in(float(number), dtype).astype(float32.np)
    found.flags.writeable = False
    return found


def of_few_converted(meta: Pointwise, row: Rows, general: Rows) -> Rows:
    """Return the kernel of contiguous tensors that computes few elements of half precision, or integers of a function
    with floating point results, in float32 without a plan.
    """
    count, unpromoted, single = meta.count, meta.unpromoted, float32.np
    halves = HALVES & meta.takes if meta.opmath else frozenset()
    integers = INTEGERS & meta.takes if meta.kind == "float" else frozenset()
    results = {dtype: bool_ if meta.kind == "bool" else dtype for dtype in halves} | dict.fromkeys(integers, float32)
    function = function_of(row)
    exact = function in EXACT

    def taken(args: tuple[Any, ...], dtype: DType) -> list[Any] | None:
        """Return the arguments as the row takes them; None if there is more to decide."""
        given: list[Any] = []
        half = dtype in halves
        for i, arg in enumerate(args):
            kind = arg.__class__
            if kind in TENSOR_TYPES:
                array = arg._array
                if array.size >= FEW or arg._dtype is not (bool_ if i in unpromoted else dtype):
                    return None
                given.append(array if i in unpromoted or (exact and half) else array.astype(single))
            elif kind is float or kind is int:
                if not -MOST < arg < MOST or (i >= count and meta.scaled):
                    return None
                given.append(arg if i >= count else widened(
                    arg or str(arg), dtype.np if half and i not in meta.opmath_scalars else single))
            elif i < count or (arg is not None and kind is not str):
                return None
            else:
                given.append(arg)
        return given

    def call(*args: Any) -> Any:
        first = args[1 if 0 in unpromoted or args[0].__class__ not in TENSOR_TYPES else 0]
        dtype: Any = first._dtype if first.__class__ in TENSOR_TYPES else None
        result = results.get(dtype)
        if result is not None and (meta.widens(args) if dtype in halves else get_default_dtype() is float32) and (
                arrays := taken(args, dtype)) is not None:
            try:
                array = silent().run(in_dtype, row if len(args) > count else function, arrays, result.np)
            except REFUSALS:
                return general(*args)
            if array.size and array.flags.c_contiguous and is_own(array, arrays):
                return from_array(array, result)
        return general(*args)

    return call if results else general


def in_dtype(row: Rows, arrays: Sequence[Any], dtype: np.dtype, order: Any = "K") -> np.ndarray:
    return np.asarray(row(*arrays)).astype(dtype, order, copy=False)


def unary_path(meta: Pointwise, function: Rows, with_rest: Rows | None, results: Results, general: Rows) -> Rows:
    is_ufunc = isinstance(function, np.ufunc)  # its results need no check, and it takes no further arguments
    checked, least = meta.check is not None, least_of(function)

    def unary(self: Any, *rest: Any) -> Any:
        result, array = results[self._dtype], self._array
        if result is not None and (array.itemsize != 2 or array.size < FEW):  # NumPy is slow with half precision
            try:
                if rest:
                    if checked and not are_small(rest):
                        return general(self, *rest)  # which refuses a number that the dtype cannot hold
                    array = silent().run(with_rest, array, *rest)  # type: ignore[arg-type]
                elif is_ufunc and array.size >= least:
                    array = silent().run(compute, function, allocate(array.shape, result.np), array)
                else:
                    array = silent().run(function, array)
            except REFUSALS:
                pass
            else:
                if array.__class__ is not ndarray:
                    array = np.asarray(array)
                if is_ufunc or (array.dtype is result.np and (
                        (array.base is None and array is not self._array) or is_own(array, [self._array]))):
                    out = new(Tensor)
                    out._array, out._dtype, out._keys = array, result, CPU
                    return out
        return general(self, *rest)

    return unary


def binary_path(meta: Pointwise, function: Rows, with_rest: Rows | None, results: Results, general: Rows) -> Rows:
    is_ufunc = isinstance(function, np.ufunc)  # as above
    compares = meta.kind == "bool"  # NumPy accepts numbers that the dtype cannot hold
    checked = meta.check is not None and not is_ufunc

    def binary(self: Any, other: Any, *rest: Any) -> Any:
        dtype = self._dtype
        result = results[dtype]
        if other.__class__ is Tensor or other.__class__ in TENSOR_TYPES:
            right = other._array if other._dtype is dtype else None
        elif ((other.__class__ is float and dtype.category >= FLOATING and (not checked or -LARGEST < other < LARGEST))
              or (other.__class__ is int and dtype is not bool_ and (not compares or -1 << 63 <= other < 1 << 63))):
            right = other
        else:
            right = None
        array = self._array
        if result is not None and right is not None and (array.itemsize != 2 or array.size < FEW):
            try:
                if rest:
                    if with_rest is None:  # a ufunc takes no further arguments
                        return general(self, other, *rest)
                    array = silent().run(with_rest, array, right, *rest)
                elif is_ufunc and (array.size >= LARGE or (right is not other and right.size >= LARGE)):
                    shape = array.shape if right is other else np.broadcast(array, right).shape
                    array = silent().run(compute, function, allocate(shape, result.np), array, right)
                elif is_ufunc and right is not other and right.size != array.size and (
                        array.size * right.size >= LEAST) and (
                        repeats := repeats_of((array.shape, right.shape))) is not None:
                    array = silent().run(with_long_rows, function, repeats, array, right)
                else:
                    array = silent().run(function, array, right)
            except REFUSALS:
                pass
            else:
                if array.__class__ is not ndarray:
                    array = np.asarray(array)
                if array.size and (is_ufunc or (  # empty results may have odd strides
                        array.dtype is result.np and is_own(array, [self._array, right]))):
                    out = new(Tensor)
                    out._array, out._dtype, out._keys = array, result, CPU
                    return out
        return general(self, other, *rest)

    return binary


def nary_path(meta: Pointwise, function: Rows, results: Results) -> Rows:
    count = meta.count
    promoted = [i not in meta.unpromoted for i in range(count)]

    def several(*args: Any) -> Any:
        arrays: list[Any] = []
        dtype, number = None, BOOL  # the category of the numbers
        for arg, counts in zip(args, promoted, strict=False):
            kind = arg.__class__
            if kind in TENSOR_TYPES:
                if counts:
                    held = arg._dtype
                    if dtype is None:
                        dtype = held
                    elif held is not dtype:
                        return None
                elif arg._dtype is not bool_:  # a condition
                    return None
                arg = arg._array
            elif counts and arg is not None:
                if kind is float:
                    number = FLOATING
                elif kind is int and -1 << 63 <= arg < 1 << 63:
                    number = number or INTEGER
                else:
                    return None
                if not -LARGEST < arg < LARGEST:
                    return None  # the dtype may not hold it
            arrays.append(arg)
        result = None if dtype is None or number > dtype.category else results[dtype]
        if result is None or (len(args) > count and (result.category < FLOATING or not are_small(args[count:]))):
            return None  # an argument that is not an operand may not fit the dtype
        array = np.asarray(function(*arrays, *args[count:]))
        own = array.dtype is result.np and array.size and is_own(array, arrays)
        return from_array(array, result) if own else None

    return several


def with_strides(meta: Pointwise, general: Rows, fast: Rows) -> Rows:
    """Use the fast path for strided inputs, too: if all have one dense layout, in the order of their memory, which is
    the result's; or if their strides are all zero (expanded scalars, as ``sum`` returns in its backward pass), as the
    output's dimensions are then ordered as for contiguous inputs. Few elements, which are settled, skip the question.
    """
    def kernel(*args: Any) -> Any:
        for arg in args:
            if arg.__class__ in TENSOR_TYPES and arg._keys & NONCONTIGUOUS and any(arg._stride):
                few = arg._array.size < SMALL
                out = None if few or not meta.keeps_strides else in_order(arg._array.shape, arg._stride, args)
                return general(*args) if out is None else out
        return fast(*args)

    def in_order(shape: Ints, stride: Ints, args: tuple[Any, ...]) -> Tensor | None:
        for arg in args:
            if arg.__class__ in TENSOR_TYPES and (arg._stride != stride or arg._array.shape != shape):
                return None
        found = order_kept(shape, stride)
        if found is None:
            return None
        order, back = found
        given = [from_array(arg._array.transpose(order), arg._dtype) if arg.__class__ in TENSOR_TYPES else arg
                 for arg in args]
        out = fast(*given)
        return strided(out._array, out._array.transpose(back), out._dtype, stride)

    return kernel
