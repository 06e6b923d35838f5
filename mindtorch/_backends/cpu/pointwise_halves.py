"""Pointwise functions of half precision: by chains of NumPy's loops for float32, by tables of all results, by bits of
the sign, and by conversions to float32 and back.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import compress, count
from math import prod
from typing import Any

import numpy as np

from ..._base.layout import Spec
from ..._base.loops.chains import Chained
from ..._base.quiet import silent
from ..._dispatch.dispatcher import TENSOR_TYPES
from ..._dispatch.keys import NONCONTIGUOUS
from ..._dispatch.registry import Operator
from ..._dtype import DType, dtypes, float32
from ..._storage import allocate
from ..._tensor import Tensor, empty_tensor, from_array
from ..common.blocks import SMALL, as_vectors, compute, each_block
from ..common.elements import BITS, CALLS
from ..common.half import FEW, SLOW, ways_of
from ..common.pointwise import Pointwise
from .fast_paths import ndarray
from .ops.comparison import at_most, clamp
from .ops.pointwise import fmod, remainder
from .plans import Plans
from .pointwise_arrays import Settled, by_row
from .rows import Rows, computed

HALVES = dtypes("reduced")
ALL_BITS = np.arange(1 << 16, dtype=np.uint16)  #: of all numbers of half precision
SOME = 1 << 6  #: elements that are computed in the time of a call
OF_COUNTS = {"gelu"}  #: Operators whose results depend on how many elements there are.
TENSOR = "tensor"  #: the place of an array among operands
#: Functions whose results do not depend on whether half precision is computed in float32.
EXACT = {at_most, clamp, fmod.function, remainder.function, np.add, np.subtract, np.multiply, np.divide, np.minimum,
         np.maximum, np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal, np.negative,
         np.absolute, np.isnan}


def by_table(run: Rows, place: int) -> Rows:
    """Return the function of one operand of half precision, the one at ``place``, and numbers that ``run`` computes: by
    a table of all its results, once it has computed about as many elements.
    """
    left, take = ALL_BITS.size, None

    def row(*operands: Any) -> Any:
        nonlocal left, take
        x = operands[place]
        if take is not None:
            return take(x.view(ALL_BITS.dtype)) if x.size < FEW else take(x.view(ALL_BITS.dtype), None, None, "wrap")
        left -= x.size + SOME
        if left < 0:
            given = [*operands]
            given[place] = ALL_BITS.view(x.dtype)
            take = run(*given).take
        found = run(*operands)
        return found.copy() if found is x else found

    return row


TABLES = Plans(1 << 6)  #: by operator, dtype and numbers


def serves_chain(op: Operator, operands: Sequence[Any], dtype: DType, meta: Pointwise) -> bool:
    """Return True if a chain may compute operands of half precision: numbers, and tensors of one dtype."""
    return not meta.unpromoted and op.name not in OF_COUNTS and all(
        arg.__class__ not in TENSOR_TYPES or arg._dtype is dtype for arg in operands)


def filled(function: Callable[..., Any], *given: Any) -> Any:
    """Call a function of operands and further arguments, which come last: arrays take the places left for them.

    Raises:
        TypeError: if a table of the results takes less time.
    """
    *arrays, (operands, rest, tabled) = given
    each = iter(arrays)
    found = function(*[next(each) if operand is TENSOR else operand for operand in operands], *rest)
    if tabled and not arrays[0].chain.is_quick:
        raise TypeError
    return found


def of_chain(op: Operator, chain: Chained, template: tuple[Any, ...], of_tensor: list[bool], spec: Spec,
             plain: Callable[[], Settled]) -> Settled:
    """Return the functions of operands of half precision by a chain, and by ``plain`` ones until there is one."""
    size, half, places = prod(spec.shape or ()), spec.dtype.itemsize == 2, [*compress(count(), of_tensor)]
    cost, dtype, first = SLOW * (size + CALLS), spec.dtype.np, places[0]
    key = (repr([[x.tobytes() if x.__class__ is ndarray else x for x in part] for part in template[:-1]]), template[-1])
    ufunc: Any = None
    settled: Settled | None = None

    def begun(arrays: Any) -> bool:
        """Return whether there is a ufunc; settle the call without it until then."""
        nonlocal ufunc, settled
        ufunc = chain.ufunc(arrays[first].dtype.char, key, cost, (*[arrays[i] for i in places], template))
        if ufunc is None:
            settled = settled or plain()
        return ufunc is not None

    def few(*arrays: Any) -> Any:
        if ufunc is None and not begun(arrays):
            assert settled is not None
            return settled.of_arrays(*arrays) if settled.of_arrays else settled.run(*arrays)._array
        bits = arrays[first].view(BITS)
        found = ufunc(bits) if len(places) == 1 else ufunc(bits, *[arrays[i].view(BITS) for i in places[1:]])
        return found.view(dtype) if half else found

    def many(*arrays: Any) -> Any:
        if ufunc is None and not begun(arrays):
            assert settled is not None
            return settled.run(*arrays)
        out = empty_tensor(spec)
        target: Any = out._array
        compute(ufunc, target.view(BITS) if half else target, *[arrays[i].view(BITS) for i in places])
        return out

    if size < SMALL:
        run, of_arrays = by_row(op, few, {}, len(of_tensor), (), spec, True)
        return Settled(run, True, of_arrays)
    return Settled(lambda *arrays: computed(many, arrays))


#: What ufuncs do with the sign bit of half-precision numbers.
OF_SIGNS: dict[Any, tuple[np.ufunc, np.uint16]] = {
    np.negative: (np.bitwise_xor, np.uint16(0x8000)), np.absolute: (np.bitwise_and, np.uint16(0x7FFF))}


def all_like(operands: Iterable[Any], spec: Spec) -> bool:
    """Return True if all operands are numbers, or not few, and laid out as the result, in its dtype."""
    shape, stride, dtype = spec.shape or (), spec.stride, spec.dtype
    return prod(shape) >= FEW and all(
        operand.__class__ not in TENSOR_TYPES or (
            operand._dtype is dtype and operand._array.shape == shape and (
                not operand._keys & NONCONTIGUOUS if stride is None else operand._stride == stride))
        for operand in operands)


def of_half(function: Any, numbers: list[Any], halves: list[bool], spec: Spec, rest: tuple[Any, ...]) -> Callable[
        ..., Tensor]:
    """Return a function that computes operands of half precision, laid out as the result, in float32; many block by
    block, so that the wide temporaries stay in the cache. ``numbers`` are the other operands, in float32 if promoted.
    """
    shape, dtype, every = spec.shape or (), spec.dtype, all(halves)
    count, is_ufunc = prod(shape), isinstance(function, np.ufunc) and not rest
    few, first = count <= SMALL and spec.stride is None, halves.index(True)
    bitwise, mask = OF_SIGNS.get(function, (None, None))
    if few and bitwise is not None:
        return lambda x: from_array(np.asarray(bitwise(x.view(np.uint16), mask)).view(dtype.np), dtype)

    def run(*arrays: Any) -> Tensor:
        out = from_array(allocate(shape, dtype.np), dtype) if few else empty_tensor(spec)
        given: Any = *(arrays if every else compress(arrays, halves)), out._array
        vectors = [array.view(np.uint16) for array in (given if few else as_vectors(*given))]  # type: ignore[union-attr]
        if bitwise is not None:
            compute(bitwise, vectors[1], vectors[0], mask)
            return out
        widen, narrow = ways_of(dtype.np, SLOW * count)

        def work(parts: list[Any]) -> None:
            each, wide = iter(parts), []
            for half, operand in zip(halves, numbers, strict=True):
                if half:
                    operand = np.empty(parts[0].shape, float32.np)
                    widen(next(each), operand)
                wide.append(operand)
            narrow(function(*wide, out=wide[first]) if is_ufunc else function(*wide, *rest), parts[-1])

        if few:
            silent().run(work, vectors)
        else:  # converting an element costs as much as computing it
            each_block(lambda part: work([vector[part] for vector in vectors]), count, SMALL, 2 * count)
        return out

    return run
