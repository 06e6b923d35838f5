"""Functions of elements by compiled loops, as ufuncs: of few elements they take one call instead of NumPy's several."""
from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from math import prod
from typing import Any

import numpy as np

from ..._base import loops
from ..._base.loops.chains import Chained
from ..._storage import allocate
from .blocks import LARGE, compute

#: How many passes of NumPy a loop replaces, about, and as how many it takes that of half precision, which NumPy is slow
#: with; and how many elements a pass computes in the time of its calls.
PASSES, SLOW, CALLS = 4, 1 << 5, 1 << 7
FEW, MANY = 1 << 10, 1 << 16  #: elements whose steps do not matter; and from which on aligned memory does
BITS = np.dtype(np.uint16)  #: as which loops take half precision
NUMBERS = (float, int, bool)  #: which ufuncs take in place of arrays


@lru_cache(256)
def number(value: Any, dtype: np.dtype) -> np.ndarray:
    """Return a number as a cached 0-d array, which ufuncs take in half the time. Not to be written to."""
    return np.asarray(value, dtype)


def element(value: Any, dtype: np.dtype) -> np.ndarray:
    """Return a number as a 0-d array, of a zero of its sign, and an array in this dtype."""
    return number(value, dtype) if value.__class__ is not np.ndarray and value else np.asarray(value, dtype)


together = lru_cache(1 << 10)(np.broadcast_shapes)


def looped(family: dict[str, loops.Loop], given: tuple[Any, ...], numbers: tuple[int, ...] = ()) -> Any:
    """Compute a function of arrays of one dtype, which broadcast, and of numbers, by the loop of their dtype's letter,
    of half precision by bits; None without one.
    """
    x = given[0]
    dtype, size = x.dtype, x.size
    if (loop := family.get(dtype.char)) is None:
        return None
    if len(given) > 1:
        shape = x.shape
        for other in given:
            if other.__class__ not in NUMBERS:
                if other.dtype is not dtype and other.dtype != dtype:
                    return None
                if other.shape != shape and other.size > 1:  # they may broadcast to more elements
                    shape = together(shape, other.shape)
                    size = prod(shape)
    if (ufunc := loop.ufunc((SLOW if dtype.itemsize == 2 else PASSES) * (size + CALLS), numbers)) is None:
        return None
    if dtype.itemsize == 2:
        given = tuple([array.view(BITS) for array in given])
    found = ufunc(*given) if size < FEW else of_many(ufunc, *given)
    return found if found.dtype is dtype else np.asarray(found).view(dtype)


def dense(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return an array that broadcasts to a shape as a contiguous one."""
    if x.shape == shape and x.flags.c_contiguous:
        return x
    out = np.empty(shape, x.dtype)
    np.copyto(out, x)
    return out


def of_many(ufunc: np.ufunc, x: Any, *others: Any) -> np.ndarray:
    """Compute many elements, in steps of one element: the loop is called anew for each of other steps, and each row."""
    shape, flags = x.shape, x.flags
    if x.size < LARGE and (flags.c_contiguous or flags.f_contiguous):
        strides = x.strides
        for other in others:
            if other.__class__ is np.ndarray and other.size > 1 and (
                    other.shape != shape or other.strides != strides):
                break
        else:
            return ufunc(x, *others)
    arrays = [np.asarray(other, x.dtype) for other in others]
    shape = together(shape, *[array.shape for array in arrays])
    if shape and shape[-1] < FEW and prod(shape) < LARGE:
        return ufunc(dense(x, shape), *[dense(array, shape) if array.size > 1 else array for array in arrays])
    arrays.insert(0, x if x.shape == shape else np.broadcast_to(x, shape))
    if not all(array.flags.f_contiguous or array.shape != shape for array in arrays):
        arrays = [np.ascontiguousarray(array) if array.shape == shape else array for array in arrays]
    out = allocate(shape, x.dtype) if arrays[0].flags.c_contiguous else np.empty_like(arrays[0])
    return ufunc(*arrays, out=out) if out.size < LARGE else compute(ufunc, out, *arrays)


#: Returns the function of few operands, given their dtype, how many elements the result has, and the other arguments;
#: None if the row computes them.
Settle = Callable[..., Callable[..., Any] | None]


class Looped:
    """The row of a function of elements that only makes new arrays, or if it ``writes``, fills the one given as
    ``out``: by loops, where there are any. ``settle`` decides once for calls of one layout. ``steps`` is the function
    as chains trace it.
    """

    def __init__(self, function: Callable[..., Any], writes: bool = False, settle: Settle = lambda *_: None,
                 steps: Callable[..., Any] | None = None):
        self.function = self.__wrapped__ = function
        self.__name__, self.writes, self.settle = function.__name__, writes, settle
        self.steps = steps or function

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)


def of_few(family: dict[str, loops.Loop], function: Callable[..., Any], dtype: np.dtype, size: int, *more: Any,
           numbers: tuple[int, ...] = ()) -> Callable[..., Any] | None:
    """Return the function of operands of a dtype by its loop, called with ``more`` arguments, of few elements; by
    ``function`` until there is a loop, to which ``numbers`` are bound; None for a dtype without one.
    """
    loop, half = family.get(dtype.char), dtype.itemsize == 2
    cost = (SLOW if half else PASSES) * (size + CALLS)
    if loop is None or not size:
        return None
    further = tuple([np.asarray(number, dtype) for number in more])

    def run(*arrays: Any) -> Any:
        if (ufunc := loop.ufunc(cost, numbers)) is None:
            return function(*arrays)
        given = [x.view(BITS) for x in arrays] if half else (*arrays, *further)
        found = ufunc(*given) if size < FEW else of_many(ufunc, *given)
        return found.view(dtype) if half else found

    return run


def by_loop(name: str, function: Callable[..., Any], *defaults: Any) -> Looped:
    """Return the row of a function of elements, which makes a new array, by the loop of this name if there is one."""
    family = loops.elements[name].loops

    @wraps(function)
    def row(x: Any, *others: Any) -> Any:
        found = looped(family, (x, *(others or defaults)))
        return function(x, *others) if found is None else found

    return Looped(row, settle=lambda dtype, size, *rest: of_few(
        family, lambda *arrays: function(*arrays, *rest), dtype, size, *(rest or defaults)),
        steps=steps_of(family, function, *defaults))


def steps_of(family: dict[str, loops.Loop], function: Callable[..., Any], *defaults: Any) -> Callable[..., Any]:
    """Return a function of elements for chains, of which a loop is a step."""
    def steps(*operands: Any) -> Any:
        dtype = next(x.dtype for x in operands if hasattr(x, "dtype"))
        loop = family.get(dtype.char)
        ufunc = None if loop is None else loop.ufunc(loops.REPAID)
        return function(*operands) if ufunc is None else ufunc(*operands, *defaults)

    return steps


def of_bits(chain: Chained, plain: Callable[..., Any], count: int | None = None) -> Callable[..., Any]:
    """Return the function of arrays of half precision, the first ``count`` arguments or all, by a chain, and by a
    ``plain`` one until there is one.
    """
    def run(*args: Any) -> Any:
        x, *others = args[:count]
        numbers = () if count is None else args[count:]
        ufunc = chain.ufunc(x.dtype.char, numbers, SLOW * (x.size + CALLS), args)
        if ufunc is None:
            return plain(*args)
        given = x.view(BITS), *[other.view(BITS) for other in others]
        return (ufunc(*given) if x.size < MANY else of_many(ufunc, *given)).view(x.dtype)

    return run


def chained(function: Callable[..., Any], count: int = 1, plain: Callable[..., Any] | None = None,
            kinds: str = "fdFD") -> Looped:
    """Return the row of a function of so many operands, and of numbers, that is written in ufuncs, by one ufunc where
    there is one; until then, by ``plain``, or by the function itself. Operands may be numbers, but not all of them.
    """
    chain, by_numpy = Chained(function, kinds), plain or function

    @wraps(function)
    def row(x: Any, *others: Any, out: Any = None) -> Any:
        if x.__class__ is not np.ndarray:
            x = np.asarray(x) if isinstance(x, np.generic) else element(x, others[0].dtype)
        dtype = x.dtype
        kinds, numbers, arrays = dtype.char, others, (x,)
        if count > 1:
            arrays = x, *[y if y.__class__ is np.ndarray else element(y, dtype) for y in others[:count - 1]]
            kinds, numbers = "".join([y.dtype.char for y in arrays]), others[count - 1:]
        try:
            ufunc = chain.ufunc(kinds, numbers, PASSES * (x.size + CALLS), (*arrays, *numbers))
        except TypeError:  # an NPU's numbers are arrays
            ufunc = None
        if ufunc is None:
            found = by_numpy(x, *others)
        elif out is not None:
            return ufunc(*arrays, out=out) if out.size < LARGE else compute(ufunc, out, *arrays)
        else:
            return ufunc(*arrays) if x.size < LARGE else of_many(ufunc, *arrays)  # which takes any steps
        return found if out is None else np.positive(found, out)

    def settle(dtype: np.dtype, size: int, *numbers: Any) -> Callable[..., Any] | None:
        if dtype.char not in kinds or not 0 < size < FEW:
            return None
        letters, cost = dtype.char * count, PASSES * (size + CALLS)

        def run(*arrays: Any) -> Any:
            ufunc = chain.ufunc(letters, numbers, cost, (*arrays, *numbers))
            return by_numpy(*arrays, *numbers) if ufunc is None else ufunc(*arrays)

        return run

    return Looped(row, True, settle, function)
