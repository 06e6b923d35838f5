"""Kernels of pointwise operators for any operands, and fast paths for calls that need no promotion."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import compress
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..._base.layout import Ints, Layout, Spec, intern_layout
from ..._base.loops import ARITHMETIC, arithmetic
from ..._base.quiet import silent
from ..._dispatch.dispatcher import TENSOR_TYPES
from ..._dispatch.keys import CPU, NONCONTIGUOUS
from ..._dispatch.registry import Operator
from ..._dtype import (
    BOOL, DTYPES, FLOATING, INTEGER, RARE, DType, bfloat16, bool_, dtypes, float16, float32, get_default_dtype,
)
from ..._storage import allocate
from ..._tensor import Tensor, empty_tensor, from_array, new
from ..common.blocks import LARGE, SMALL, as_vectors, compute, each_block, least_of
from ..common.half import FEW, SLOW, converted, ways_of
from ..common.pointwise import Pointwise, PreparedUfunc
from .fast_paths import LARGEST, REFUSALS, are_small, fast_path, ndarray
from .plans import SEEN, UNFIT, Plans, key_of
from .rows import Rows, array_of, computed, fit, is_own, order_kept, order_of, strided

empty = np.empty


class Place(NamedTuple):
    """Where a ufunc of one or two operands writes few numbers, and how they are converted before.

    - ``shape``: of a contiguous array.
    - ``back``: how it is transposed, if it is.
    - ``layout``: the result's.
    - ``steps``: for both operands, the dtype to convert it to, if any; for a number, its array.
    - ``rounds``: whether the result is converted, too.
    """

    shape: Ints
    back: Ints | None
    layout: Layout
    steps: tuple[Any, Any] = (None, None)
    rounds: bool = False


class Plan(NamedTuple):
    """How to compute a pointwise operator.

    - ``spec``: the result's description.
    - ``few``: whether the result has few elements.
    - ``widened``: whether the dtype of the computation is wider than the promoted one.
    - ``changes``: positions of operands to convert, with the dtypes of the conversions, or a number's array.
    - ``rest``: the other arguments, if they are not the call's.
    - ``place``: where a ufunc writes few numbers.
    - ``run``: what computes half precision from the operands' arrays, in blocks.
    """

    spec: Spec
    few: bool
    widened: bool
    changes: tuple[tuple[int, Any], ...]
    rest: tuple[Any, ...] | None
    place: Place | None = None
    run: Callable[..., Tensor] | None = None


def way_of(operand: Any, dtype: DType, wide: DType, unrounded: bool) -> Any:
    """Return the dtypes to convert an operand to, the promoted one and the wide one; for a number, its array."""
    if operand.__class__ in TENSOR_TYPES:
        steps = (wide,) if unrounded and not operand.ndim else (dtype, wide)
        held = operand._dtype
        return tuple([step.np for before, step in zip((held, *steps), steps, strict=False) if step is not before])
    number = number_array(operand, wide if unrounded else dtype).astype(wide.np, copy=False)
    number.flags.writeable = False  # the plan may keep it
    return number


def number_array(number: Any, dtype: DType) -> np.ndarray:
    """Return a Python number as a 0-d array; integers wrap around as C's do."""
    if dtype.category == INTEGER and isinstance(number, (int, np.integer)) and not isinstance(number, bool):
        bits = dtype.itemsize * 8
        wrapped = int(number) & ((1 << bits) - 1)
        if dtype.is_signed and wrapped >> (bits - 1):
            wrapped -= 1 << bits
        return np.array(wrapped, dtype.np)
    return np.asarray(number).astype(dtype.np)


def pointwise_kernel(op: Operator, row: Rows, meta: Pointwise) -> Callable[..., Any]:
    """Return the kernel for any operands, which keeps plans of promotion, broadcasting and strides."""
    count, unpromoted, opmath_scalars = meta.count, meta.unpromoted, meta.opmath_scalars
    ufunc: Any = row.ufunc if isinstance(row, PreparedUfunc) else row
    is_ufunc = isinstance(ufunc, np.ufunc)
    plans, places = Plans(), Plans()  # of all calls; of one or two operands, by their layouts and numbers alone
    settles = count <= 2 and not unpromoted

    def learn(args: tuple[Any, ...]) -> Plan:  # may warn of numbers that a dtype cannot hold
        spec, dtype = meta.plan(args)
        wide = float32 if (dtype is float16 or dtype is bfloat16) and meta.widens(args) else dtype
        rest: tuple[Any, ...] | None = None
        if ufunc is not row and args[count:] in ((), (1,)):  # a factor of 1 only changes infinities
            rest = (1,) if dtype.is_complex else ()
        elif meta.scaled and wide is not dtype:
            # 0 needs no rounding, and an integer's sign differs from a float's
            rest = tuple([number_array(number, dtype) if number else number for number in args[count:]])
        few, settled = prod(spec.shape or ()) < SMALL, is_ufunc and not (args[count:] if rest is None else rest)
        if (settled and ufunc.__name__ in ARITHMETIC and prod(spec.shape or ()) < FEW
                and all(arg.__class__ in TENSOR_TYPES and arg._dtype is dtype for arg in args[:count])):
            wide, ways = dtype, []  # NumPy, too, computes half precision in float32 and rounds
        else:
            ways = [(i, way_of(arg, dtype, wide, i in opmath_scalars)) for i, arg in enumerate(args[:count])
                    if i not in unpromoted and arg is not None]
        changes = tuple([(i, way) for i, way in ways if way.__class__ is not tuple or way])
        place = place_of(ufunc, args[:count], changes, spec) if settled and few and settles else None
        run = None
        if wide is not dtype and all_like(args[:count], spec):
            others, numbers = args[count:] if rest is None else rest, dict(changes)
            operands = [None if arg is None or arg.__class__ in TENSOR_TYPES else numbers[i]
                        for i, arg in enumerate(args[:count])]
            run = of_half(row if others else ufunc, operands, [arg.__class__ in TENSOR_TYPES for arg in args[:count]],
                          spec, others)
        return Plan(spec, few, wide is not dtype, changes, rest, place, run)

    def work(arrays: list[Any], plan: Plan) -> Any:
        spec, few, widened, changes, others, *_ = plan
        rest: Any = arrays[count:] if others is None else others
        del arrays[count:]
        for i, way in changes:  # to the dtype of the computation
            if way.__class__ is tuple:
                for dtype in way:
                    arrays[i] = converted(arrays[i], dtype)
            else:
                arrays[i] = way
        if not is_ufunc or rest:
            return fit(op, row(*arrays, *rest), spec, arrays)
        if few or widened:  # NumPy is slow to write half precision
            return fit(op, ufunc(*arrays), spec, arrays)
        out = empty_tensor(spec)
        compute(ufunc, out._array, *arrays)  # type: ignore[arg-type]
        return out

    def kernel(*args: Any) -> Any:
        key, arrays = key_of(args), [array_of(arg) for arg in args]
        plan = plans.get(key) or plans.keep(key, computed(learn, (args,)))
        if plan.place is not None:
            return computed_at(ufunc, plan.place, *arrays[:count])
        return plan.run(*arrays[:count]) if plan.run is not None else computed(work, (arrays, plan))

    def rest_of(plan: Plan, args: tuple[Any, ...]) -> tuple[Any, ...]:
        return args[count:] if plan.rest is None else plan.rest

    def settled_of(args: tuple[Any, ...]) -> Any:
        """Return how a later call like this is computed: a place; a function that returns a tensor of the operands'
        arrays; a function that returns an array of all, and its layout; or neither, if it is to be asked again.
        """
        plan = plans.get(key_of(args))
        if plan is None or plan.place is not None or plan.run is not None:
            return UNFIT if plan is None else plan.place or plan.run
        shape, dtype, stride = plan.spec
        if not plan.few or stride is not None or shape is None:
            return UNFIT
        return run_of(row if rest_of(plan, args) else ufunc, count, plan), intern_layout(shape, None, dtype)

    def settle(key: Any, args: tuple[Any, ...]) -> Any:
        """Compute the second call of a key, and keep how."""
        result = kernel(*args)
        places.keep(key, settled_of(args))
        return result

    kernel.placed = settled_calls(meta, ufunc, places, settle) if settles else None  # type: ignore[attr-defined]
    kernel.settled_of = settled_of  # type: ignore[attr-defined]
    return kernel


def run_of(row: Rows, count: int, plan: Plan) -> Rows:
    """Return the function of a call's arguments that computes by a plan."""
    changes, rest, dtype = plan.changes, plan.rest, plan.spec.dtype.np

    def run(*arrays: Any) -> Any:
        operands = [*arrays[:count]]
        for i, way in changes:
            if way.__class__ is tuple:
                for step in way:
                    operands[i] = operands[i].astype(step)
            else:
                operands[i] = way
        result = row(*operands, *(arrays[count:] if rest is None else rest))
        return result if result.dtype is dtype else np.asarray(result).astype(dtype, copy=False)

    return run if changes or rest is not None or plan.widened else row


def place_of(ufunc: np.ufunc, operands: tuple[Any, ...], changes: tuple[tuple[int, Any], ...],
             spec: Spec) -> Place | None:
    """Return the place of a ufunc's result; None if an operand is converted twice before, or if the strides leave gaps.
    """
    shape, dtype, stride = spec
    ways = dict(changes)
    if shape is None or (0 in ways and ways[0].__class__ is not tuple) or any(
            way.__class__ is tuple and len(way) > 1 for way in ways.values()):
        return None
    steps: Any = [way[0] if way.__class__ is tuple else way for way in map(ways.get, range(len(operands)))]
    given = [operand._array.dtype if step is None else getattr(step, "dtype", step)
             for operand, step in zip(operands, steps, strict=True)]
    rounds = dtype.itemsize == 2 and dtype.category == FLOATING and prod(shape) < FEW
    if dtype.np.kind == "V" and not rounds:
        return None
    if not rounds and ufunc.resolve_dtypes((*given, None))[-1] != dtype.np:
        return None
    layout, pair = intern_layout(shape, stride, dtype), (*steps, None)[:2]
    if stride is None:
        return Place(shape, None, layout, pair, rounds)
    found = None if rounds else order_of(shape, stride)
    return found and Place(tuple([shape[d] for d in found[0]]), found[1], layout, pair)


def computed_at(ufunc: np.ufunc, place: Place, left: Any, right: Any = None) -> Tensor:
    """Compute a ufunc into new memory: a contiguous array, with its dimensions permuted, if they are."""
    shape, back, layout, (first, second), rounds = place
    dtype, out = layout.dtype, new(Tensor)
    if first is not None:
        left = left.astype(first)
    if second is not None:
        right = second if second.__class__ is ndarray else right.astype(second)
    operands = (left,) if right is None else (left, right)
    out._layout = layout
    if back is None:
        if rounds:
            data = silent().run(in_dtype, ufunc, operands, dtype.np, "C")
        else:
            data = empty(shape, dtype.np)
            silent().run(ufunc, *operands, out=data)
        out._array, out._dtype, out._keys = data, dtype, CPU
        return out
    data = empty(shape, dtype.np)
    array = data.transpose(back)
    silent().run(ufunc, *operands, out=array)
    out._array, out._dtype, out._keys = array, dtype, CPU | NONCONTIGUOUS
    out._stride, out._version_counter = layout.stride, [0, None, data]  # the storage is made from it on demand
    return out


def settled_calls(meta: Pointwise, ufunc: np.ufunc, places: Plans,
                  settle: Callable[[Any, tuple[Any, ...]], Any]) -> Callable[[Rows], Rows]:
    """Return what wraps a kernel of one or two operands to compute calls whose place is known. The second call of a key
    settles it.
    """
    count, of_default = meta.count, meta.kind.startswith("float")  # the default dtype may be the result's

    def wrap(general: Rows) -> Rows:
        def of_one(self: Any, *rest: Any) -> Any:
            if rest:
                return general(self, *rest)
            key = self._layout or self._layout_of_plans()
            if of_default:
                key = key, get_default_dtype()
            if (place := places.get(key)).__class__ is Place:
                return computed_at(ufunc, place, self._array)
            return otherwise(key, place, self)

        def of_two(self: Any, other: Any, *rest: Any) -> Any:
            if rest or self.__class__ not in TENSOR_TYPES:
                return general(self, other, *rest)
            key: Any
            if (kind := other.__class__) in TENSOR_TYPES:
                key = self._layout or self._layout_of_plans(), other._layout or other._layout_of_plans()
                if of_default:
                    key = *key, get_default_dtype()
            elif kind is float or kind is int or kind is bool:
                key = self._layout or self._layout_of_plans(), kind, other or str(other), get_default_dtype()
            else:
                return general(self, other)
            if (place := places.get(key)).__class__ is not Place:
                return otherwise(key, place, self, other)
            return computed_at(ufunc, place, self._array, other._array if kind in TENSOR_TYPES else None)

        def otherwise(key: Any, found: Any, *args: Any) -> Any:
            if found is SEEN:
                return settle(key, args)
            if found is None:
                places.keep(key, SEEN)  # a layout that does not come again makes no plan
            elif found and (out := by_function(found, args, count)) is not None:
                return out
            return general(*args)

        return of_one if count == 1 else of_two

    return wrap


def by_function(found: Any, args: tuple[Any, ...], count: int) -> Tensor | None:
    """Return the tensor that a settled function computes of a call's arguments; None if its array is not new."""
    arrays = [arg._array if arg.__class__ in TENSOR_TYPES else arg for arg in args]
    if found.__class__ is not tuple:
        made: Tensor = found(*arrays[:count])
        return made
    run, layout = found
    result = silent().run(run, *arrays)
    if result.__class__ is not ndarray:
        result = np.asarray(result)
    if result.base is not None or not result.flags.c_contiguous or (
            any([result is array for array in arrays])):  # noqa: C419 - a generator is slower
        return None
    out = new(Tensor)
    out._array, out._dtype, out._keys, out._layout = result, layout.dtype, CPU, layout
    return out


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


def in_wide_blocks(function: Any, arrays: list[Any], out: Tensor, rest: tuple[Any, ...]) -> Tensor:
    """Compute a function of half precision in float32, block by block, so that the wide temporaries stay in the cache.
    Numbers come in float32.
    """
    halves, result = [array is not None and array.itemsize == 2 for array in arrays], out._array
    assert result is not None
    found: Any = as_vectors(result, *compress(arrays, halves))
    target, *vectors = [array.view(np.uint16) for array in found]
    if function in OF_SIGNS:
        bitwise, mask = OF_SIGNS[function]
        compute(bitwise, target, vectors[0], mask)
        return out
    size = 2 * target.size  # converting an element costs as much as computing it
    is_ufunc = isinstance(function, np.ufunc)
    if is_ufunc and function.__name__ in ARITHMETIC and all(halves) and (
            loop := arithmetic[out._dtype.name].compiled(SLOW * target.size)) is not None:
        operation = ARITHMETIC.index(function.__name__)
        each_block(lambda part: loop(*[array[part] for array in (*vectors, target)], operation), target.size, LARGE,
                   size)
        return out
    widen, narrow = ways_of(out._dtype.np, SLOW * target.size)

    def work(part: slice) -> None:
        each, wide = iter(vectors), []
        for array, half in zip(arrays, halves, strict=True):
            if half:
                narrow_part = next(each)[part]
                array = empty(narrow_part.shape, float32.np)
                widen(narrow_part, array)
            wide.append(array)
        narrow(function(*wide, out=wide[halves.index(True)]) if is_ufunc else function(*wide, *rest), target[part])

    each_block(work, target.size, SMALL, size)
    return out


def of_half(function: Any, numbers: list[Any], halves: list[bool], spec: Spec, rest: tuple[Any, ...]) -> Callable[
        ..., Tensor]:
    """Return what computes a function of operands of half precision, laid out as the result, in float32. ``numbers``
    are the other operands.
    """
    shape, dtype, stride = spec.shape or (), spec.dtype, spec.stride
    count, is_ufunc = prod(shape), isinstance(function, np.ufunc) and not rest
    if count > SMALL or stride is not None:
        def in_blocks(*arrays: Any) -> Tensor:
            given = [array if half else number for array, half, number in zip(arrays, halves, numbers, strict=True)]
            return in_wide_blocks(function, given, empty_tensor(spec), rest)

        return in_blocks
    if function in OF_SIGNS:
        bitwise, mask = OF_SIGNS[function]
        return lambda x: from_array(np.asarray(bitwise(x.view(np.uint16), mask)).view(dtype.np), dtype)
    by_loop = is_ufunc and function.__name__ in ARITHMETIC and all(halves)
    operation = ARITHMETIC.index(function.__name__) if by_loop else -1

    def run(*arrays: Any) -> Tensor:
        out = allocate(shape, dtype.np)
        target = out.view(np.uint16)
        if by_loop and (loop := arithmetic[dtype.name].compiled(SLOW * count)) is not None:
            loop(*[array.view(np.uint16) for array in arrays], target, operation)
            return from_array(out, dtype)
        (widen, narrow), wide, last = ways_of(dtype.np, SLOW * count), [], None
        for array, half, number in zip(arrays, halves, numbers, strict=True):
            if half:
                last = empty(shape, float32.np)
                widen(array.view(np.uint16), last)
            wide.append(last if half else number)
        narrow(silent().run(function, *wide, out=last) if is_ufunc else silent().run(function, *wide, *rest), target)
        return from_array(out, dtype)

    return run


# -- fast paths --------------------------------------------------------------------------------------------------------

def refuse(*args: Any) -> None:
    """Reject arguments that a ufunc does not take."""
    raise TypeError


def with_small_numbers(function: Rows) -> Rows:
    """Let a function of floating point arrays take further numbers that no check of the operator refuses."""
    def call(x: ndarray, y: Any, *numbers: Any) -> Any:
        if x.dtype.char not in "fd" or not are_small(numbers):
            raise TypeError
        return function(x, y, *numbers)

    return call


def pointwise_fast_path(op: Operator, row: Any, meta: Pointwise, general: Rows) -> Rows | None:
    """Return the fast path of a pointwise operator, or None.

    It takes calls whose tensors have one dtype of ``meta.fast`` and whose numbers are of no higher category. Nothing is
    promoted, broadcasting is NumPy's, and NumPy's result is contiguous and of the right dtype. If a function returns
    another dtype or an alias, the general kernel runs instead.

    The wrappers for one and two operands are written out: one call less saves a tenth of ``a + b``.
    """
    if not meta.fast:
        return None
    #: The result's dtype by the operands' dtype; None for the general kernel.
    results = {**dict.fromkeys((*DTYPES.values(), *RARE.values())),
               **{dtype: bool_ if meta.kind == "bool" else dtype for dtype in meta.fast}}
    kernel: Any = general
    placed = kernel.placed
    general = of_few_converted(meta, row, general)
    if placed is not None:
        general = placed(general)
    function = row.ufunc if isinstance(row, PreparedUfunc) else row
    leading = op.text[op.text.index("(") + 1:].startswith("Tensor ")
    if meta.count > 2 or not leading or meta.unpromoted:
        return of_few(kernel, fast_path(_of_several(meta, function, results))(general), meta.count)
    checked = meta.check is not None and meta.count == 2
    with_rest = refuse if isinstance(function, np.ufunc) else with_small_numbers(function) if checked else function
    return (_of_one if meta.count == 1 else _of_two)(meta, function, with_rest, results, general)


Results = dict[DType, DType | None]
#: Half precision, which is computed in float32; integers, which functions with floating point results convert to it;
#: and a number that all of them represent about as well.
HALVES, INTEGERS, MOST = dtypes("reduced"), dtypes("bool|integral"), 6e4
#: Ufuncs whose results do not depend on whether half precision is computed in float32.
EXACT = {np.add, np.subtract, np.multiply, np.divide, np.minimum, np.maximum, np.equal, np.not_equal, np.less,
         np.less_equal, np.greater, np.greater_equal, np.negative, np.absolute, np.isnan}


@lru_cache(256)
def widened(number: float | str, dtype: np.dtype) -> np.ndarray:
    """Return a number, rounded to a dtype, as a cached array of float32; zeros come as text, which has their sign."""
    found = np.asarray(float(number), dtype).astype(float32.np)
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
    function = row.ufunc if isinstance(row, PreparedUfunc) else row  # without further arguments
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


def _of_one(meta: Pointwise, function: Rows, with_rest: Rows, results: Results, general: Rows) -> Rows:
    is_ufunc = isinstance(function, np.ufunc)  # its results need no check, and it takes no further arguments
    checked, least = meta.check is not None, least_of(function)

    def unary(self: Any, *rest: Any) -> Any:
        result, array = results[self._dtype], self._array
        if result is not None and (array.itemsize != 2 or array.size < FEW):  # NumPy is slow with half precision
            try:
                if rest:
                    if checked and not are_small(rest):
                        return general(self, *rest)  # which refuses what the dtype cannot hold
                    array = silent().run(with_rest, array, *rest)
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


def _of_two(meta: Pointwise, function: Rows, with_rest: Rows, results: Results, general: Rows) -> Rows:
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
                    array = silent().run(with_rest, array, right, *rest)
                elif is_ufunc and (array.size >= LARGE or (right is not other and right.size >= LARGE)):
                    shape = array.shape if right is other else np.broadcast(array, right).shape
                    array = silent().run(compute, function, allocate(shape, result.np), array, right)
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


def of_few(kernel: Any, once: Rows, count: int) -> Rows:
    """Return the kernel of several contiguous operands, which settles the second call of few elements of a cache key
    for later ones. Other calls are computed ``once``.
    """
    plans = Plans()

    def several(*args: Any) -> Any:
        found = plans.get(key := key_of(args))
        if found is SEEN:
            result = kernel(*args)
            plans.keep(key, kernel.settled_of(args))
            return result
        if found is None:
            plans.keep(key, SEEN)
        elif found and (out := by_function(found, args, count)) is not None:
            return out
        return once(*args)

    return several


def _of_several(meta: Pointwise, function: Rows, results: Results) -> Rows:
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
    output's dimensions are then ordered as for contiguous inputs. One or two tensors of few elements, whose place is
    known, skip the question.
    """
    placed: Any = general.placed  # type: ignore[attr-defined]

    def kernel(*args: Any) -> Any:
        for arg in args:
            if arg.__class__ in TENSOR_TYPES and arg._keys & NONCONTIGUOUS and any(arg._stride):
                few = placed is not None and arg._array.size < SMALL
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
        return strided(out._array, back, out._dtype, stride)

    return kernel if placed is None else placed(kernel)
