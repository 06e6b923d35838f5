"""Conversion of arguments to arrays, and of rows' results to tensors."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from math import prod
from operator import methodcaller
from typing import Any

import numpy as np

from ..._base.layout import Ints, Spec, contiguous_strides, is_channels_last, is_contiguous
from ..._base.quiet import quietly
from ..._dispatch.dispatcher import TENSOR_TYPES, flattened
from ..._dispatch.keys import CPU, NONCONTIGUOUS
from ..._dispatch.registry import Operator
from ..._dtype import DType, get_default_dtype
from ..._storage import can_be, out_of_host_memory
from ..._tensor import Tensor, empty_tensor, from_array, new
from ..common.blocks import SMALL
from ..common.half import converted

Rows = Callable[..., Any]
ndarray = np.ndarray


class Prepared:
    """A row that settles once per plan all that layouts and settings decide.

    ``prepare`` takes the arguments of a call, and returns the function of the leading arrays that computes this and
    later calls of the plan; or None, if ``plain`` computes them. A ``plain`` row also computes a layout's first call,
    which has no plan. ``sure`` prepares, too, for contiguous arrays of one dtype that leave nothing to decide, so that
    a layout's first call needs no check. A function that writes returns False, before it does, for values that it
    leaves to ``plain``.
    """

    def __init__(self, prepare: Callable[..., Rows | None], count: int = 1, plain: Rows | None = None,
                 sure: Callable[..., Rows | None] | None = None) -> None:
        self.prepare, self.count, self.plain, self.sure = prepare, count, plain, sure
        self.__wrapped__ = plain or prepare
        self.__name__ = self.__wrapped__.__name__

    def __call__(self, *args: Any) -> Any:
        if self.plain is not None:
            return self.plain(*args)
        run = self.prepare(*args)
        assert run is not None
        return run(*args[:self.count])

    def starting(self, plan: Any, settings: tuple[Any, ...]) -> Rows:
        """Return the function that computes the first call of a plan, and prepares later ones."""
        def start(*given: Any) -> Any:
            arrays = given[:self.count]  # another thread may have put the settings into the plan meanwhile
            run = self.prepare(*arrays, *settings)
            if run is None:
                assert self.plain is not None
                run, plan.settings = self.plain, settings
            plan.run = run
            return run(*arrays, *plan.settings)

        return start


def taking(count: int) -> Callable[[Rows], Rows]:
    """Mark a preparation of a composite whose function takes so many leading arguments, tensors and settings."""
    def mark(row: Any) -> Rows:
        row.count = count
        return row

    return mark


class Copied:
    """The row of a functional form whose in-place form is ``Prepared``: it prepares a write into a copy. The function
    returns None for values that the write leaves to the plain row.
    """

    def __init__(self, row: Prepared) -> None:
        self.row, self.count, self.__name__ = row, row.count, row.__name__.removesuffix("_")

    def __call__(self, x: ndarray, *args: Any) -> Rows:
        write, rest = self.row.prepare(np.empty_like(x), *args), ()
        if write is None:
            assert self.row.plain is not None
            write, rest = self.row.plain, args[self.count - 1:]

        def run(x: ndarray, *given: Any) -> ndarray | None:
            out = x.copy("K")
            return None if write(out, *given, *rest) is False else out

        return run


#: Most elements of an array that a plan keeps: a table of places, or a result.
MOST = 1 << 11


def moving(function: Rows, most: int = MOST) -> Callable[..., Rows | None]:
    """Return the preparation of a function that only moves elements of an array, with zeros in holes: it moves the
    elements' numbers once. It returns None for more than ``most`` elements.
    """
    def prepare(x: np.ndarray, *settings: Any) -> Rows | None:
        if not 0 < x.size <= most or not x.ndim:
            return None
        places = function(np.arange(1, x.size + 1).reshape(x.shape), *settings) - 1
        if places.size > most:
            return None
        filled = np.flatnonzero(places >= 0)
        if filled.size == places.size:
            return methodcaller("take", places)
        shape, sources = places.shape, places.take(filled)

        def move(x: np.ndarray) -> np.ndarray:
            moved = np.zeros(shape, x.dtype)
            moved.put(filled, x.take(sources))
            return moved

        return move

    return prepare


def by_matrix(row: Rows, x: ndarray, dims: int, kind: Any = None, divisor: Any = None, most: int = 4 * MOST) -> Rows:
    """Return the function of arrays that computes a linear function of the last ``dims`` dimensions over a divisor, as
    ``row`` does of arrays (N, C, ...): for small arrays by the function's matrix, perhaps of another dtype, of at
    ``most`` so many elements. Then only infinity and NaN are left to ``row``, since 0 times them is NaN. Half precision
    is computed in float32.
    """
    narrow, size = x.dtype, x.shape[x.ndim - dims:]
    half, count = narrow.itemsize == 2 and narrow.kind not in "iu", prod(size)
    wide = np.dtype(np.float32) if half else narrow

    def of_any(x: ndarray) -> ndarray:
        result: ndarray = row(x.astype(wide) if half else x)
        return result if divisor is None else np.divide(result, divisor, result)

    if not (half or narrow.char in "fdl") or not (0 < x.size <= 4 * MOST and count * count <= 16 * MOST):
        return of_any
    kind = np.dtype(kind or wide)
    made = np.asarray(row(np.eye(count, dtype=kind).reshape(count, 1, *size)))
    lines, shape = x.size // count, (*x.shape[:x.ndim - dims], *made.shape[2:])
    matrix = np.ascontiguousarray(made.reshape(count, -1), kind)
    if not 0 < matrix.size <= most or lines * matrix.size > (1 << 13 if kind.kind == "i" else 1 << 17):
        return of_any

    def run(x: ndarray) -> ndarray:
        out: ndarray = np.empty(shape, kind)
        given = x if x.dtype is kind else x.astype(kind)
        line = given.reshape(lines, count).dot(matrix, out.reshape(lines, -1)).ravel()
        if (total := line.dot(line)) - total:
            return of_any(x).astype(narrow, copy=False)
        if divisor is not None:
            np.divide(out, divisor, out)
        return out if kind is narrow else out.astype(narrow)

    return run


def repeated(made: ndarray, dtype: DType | None) -> Rows | None:
    """Return the function that copies a small result of settings alone, in this dtype; by default, floating point
    numbers are of the default dtype.
    """
    if dtype is None and made.dtype.kind == "f":
        dtype = get_default_dtype()
    return None if made.size > MOST else made.copy if dtype is None else converted(made, dtype.np).copy


def repeating(row: Rows, place: int) -> Prepared:
    """Return a row of settings alone that caches small results, in the dtype at that place if there is one, and copies
    them for each call.
    """
    return Prepared(lambda *settings: repeated(row(*settings), settings[place] if len(settings) > place else None), 0,
                    row)


def of_rows(prepare: Callable[..., Rows | None]) -> Callable[..., Rows | None]:
    """Wrap a preparation of a function of one array: a few elements of other strides are copied first, since contiguous
    ones take less time, and functions are written out for them.
    """
    def prepared(x: ndarray, *settings: Any) -> Rows | None:
        if x.flags.c_contiguous or x.size > MOST:
            return prepare(x, *settings)
        run = prepare(x.copy(), *settings)
        return run and (lambda x: run(x.copy()))

    return prepared


def array_of(value: Any) -> Any:
    """Return an argument as a row takes it: arrays for tensors, also in lists; other values unchanged."""
    kind = value.__class__
    if kind in TENSOR_TYPES:
        return value._array
    if kind is list or kind is tuple:
        for item in value:
            if item.__class__ in TENSOR_TYPES:
                return [item._array if item.__class__ in TENSOR_TYPES else item for item in value]
    return value


def on_arrays(row: Rows) -> Callable[..., Any]:
    """Wrap a row to take tensors."""

    return lambda *args: computed(row, map(array_of, args))


def computed(row: Rows, arrays: Iterable[Any]) -> Any:
    """Call a row. Raises PyTorch's RuntimeError if memory is short."""
    try:
        return quietly(row, *arrays)
    except MemoryError as error:
        raise out_of_memory(error) from None


def out_of_memory(error: MemoryError) -> Exception:
    """Return PyTorch's error for NumPy's MemoryError."""
    shape, dtype = error.args if len(error.args) == 2 else ((), np.dtype(np.uint8))  # NumPy reports shape and dtype
    return out_of_host_memory(shape, dtype)


def refuse_what_cannot_be(specs: Any) -> None:
    """Raise PyTorch's RuntimeError if one of the described results is larger than any array."""
    for spec in (specs,) if isinstance(specs, Spec) else specs:
        if isinstance(spec, Spec) and spec.shape is not None and not can_be(spec.shape, spec.dtype.np):
            raise out_of_host_memory(spec.shape, spec.dtype.np) from None


def fit(op: Operator, result: Any, spec: Spec, inputs: Sequence[Any]) -> Tensor:
    """Convert a row's result to a fresh tensor of the described dtype, shape and stride.

    Raises:
        RuntimeError: if the row's shape is not the described one, which is an error in the row or in the meta kernel.
    """
    shape, dtype, stride = spec
    array = result if result.__class__ is ndarray else np.asarray(result)
    if shape is None:
        shape = array.shape
        if stride is not None:
            stride = stride(shape)
            stride = None if stride == contiguous_strides(shape) else stride
    elif array.shape != shape:
        raise RuntimeError(f"aten::{op.name}: the CPU kernel made shape {array.shape}, the meta kernel says {shape}")
    if stride is not None:
        own = not shares_memory(array, inputs)
        if array.dtype == dtype.np and (laid := laid_out(array, dtype, stride, own)) is not None:
            return laid
        out = empty_tensor(Spec(shape, dtype, stride))
        np.copyto(out._array, array, casting="unsafe")  # type: ignore[arg-type]
        return out
    if array.dtype is not dtype.np and array.dtype != dtype.np:
        array = quietly(converted, array, dtype.np)  # a sum may be infinite in half precision
    if not array.flags.c_contiguous:
        array = np.ascontiguousarray(array).reshape(array.shape)
    elif array is result and shares_memory(array, inputs):  # a number's array is new
        array = array.copy()
    return from_array(array, dtype)


@lru_cache(1 << 10)
def order_of(shape: Ints, stride: Ints) -> tuple[Ints, Ints] | None:
    """Return the permutation that makes a tensor with these strides contiguous, and its inverse; None without one."""
    order = tuple(sorted(range(len(shape)), key=lambda d: (-stride[d], d)))
    if contiguous_strides(tuple([shape[d] for d in order])) != tuple([stride[d] for d in order]):
        return None
    return order, tuple([order.index(d) for d in range(len(shape))])


@lru_cache(1 << 10)
def order_kept(shape: Ints, stride: Ints) -> tuple[Ints, Ints] | None:
    """Return ``order_of`` such strides, or None where results do not keep them: those of one element, if the rest is
    contiguous or channels-last.
    """
    if 1 in shape and (is_contiguous(shape, stride) or is_channels_last(shape, stride)):
        return None
    return order_of(shape, stride)


def laid_out(array: ndarray, dtype: Any, stride: Ints, own: bool) -> Tensor | None:
    """Return a strided CPU tensor of an array of its own, or from a copy of a small array; None unless its strides are
    permuted contiguous ones.
    """
    found = order_of(array.shape, stride)
    if found is None:
        return None
    order, back = found
    data = array.transpose(order)
    if own and data.flags.c_contiguous:
        return strided(data, array, dtype, stride)
    if array.size >= SMALL:
        return None
    data = data.copy()
    return strided(data, data.transpose(back), dtype, stride)


def strided(data: ndarray, array: ndarray, dtype: Any, stride: Ints) -> Tensor:
    """Return a CPU tensor of an array of these strides, whose memory is a contiguous array."""
    out = new(Tensor)
    out._array, out._dtype, out._keys = array, dtype, CPU | NONCONTIGUOUS
    out._stride, out._version_counter = stride, [0, None, data]  # the storage is made from it on demand
    return out


def shares_memory(array: np.ndarray, inputs: Sequence[Any]) -> bool:
    """Return True if an array may alias an input, or is read-only."""
    base = array.base
    if not array.flags.writeable:
        return True
    if base is None:
        for item in inputs:
            if item.__class__ is list:
                for part in item:
                    if part is array:
                        return True
            elif item is array:
                return True
        return False
    if base.__class__ is not ndarray:
        return any(isinstance(item, ndarray) and np.may_share_memory(array, item) for item in flattened(inputs))
    for item in inputs:  # two views of one array both have it as base
        if item.__class__ is ndarray:
            if item is array or item is base or item.base is base:
                return True
        elif item.__class__ is list and shares_memory(array, item):
            return True
    return False


def is_own(array: np.ndarray, inputs: list[Any]) -> bool:
    """Return True if an array is contiguous and owns its memory."""
    return array.base is None or (array.flags.c_contiguous and not shares_memory(array, inputs))
