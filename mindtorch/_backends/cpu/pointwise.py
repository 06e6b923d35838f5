"""Kernels of pointwise operators for any operands, and fast paths for calls that need no promotion."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial, reduce
from itertools import compress, count, zip_longest
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..._base.generated import define
from ..._base.layout import Ints, Spec, intern_layout
from ..._base.loops.chains import Chained
from ..._base.quiet import silent
from ..._dispatch.dispatcher import TENSOR_TYPES
from ..._dispatch.keys import CPU, NONCONTIGUOUS
from ..._dispatch.registry import Finder, Kernel, Operator
from ..._dtype import (
    BOOL, DTYPES, FLOATING, INTEGER, RARE, DType, bfloat16, bool_, dtypes, float16, float32, float64, get_default_dtype,
)
from ..._storage import allocate
from ..._tensor import Tensor, empty_tensor, from_array, new
from ..common.blocks import LARGE, SMALL, as_vectors, compute, each_block, least_of
from ..common.broadcasts import LEAST, repeats_of, with_long_rows
from ..common.elements import BITS, CALLS, Looped
from ..common.half import FEW, SLOW, convert, converted, number_in, ways_of
from ..common.pointwise import Pointwise, PreparedUfunc
from .fast_paths import LARGEST, REFUSALS, are_small, fast_path, ndarray
from .ops.comparison import at_most, clamp
from .ops.pointwise import fmod, remainder
from .plans import ERRORS, SEEN, SETTINGS, UNFIT, Plan, Plans, key_of
from .rows import Rows, array_of, computed, is_own, order_kept, order_of, strided

#: Up to how many elements of half precision NumPy's own loops take less time than conversions.
NATIVE = 1 << 7
ALL_BITS = np.arange(1 << 16, dtype=np.uint16)  #: of all numbers of half precision
SINGLES = 1 << 8  #: elements of one operand from which on a chain takes less time than a table
SOME = 1 << 6  #: elements that are computed in the time of a call
OF_COUNTS = {"gelu"}  #: Operators whose results depend on how many elements there are.
MANY = 1 << 14  #: elements from which on half precision is computed in blocks
#: Operators of which a table computes many elements, too, in less time than the function, as of those of ``special``.
SLOWER = {"celu", "digamma", "elu", "i0", "mish", "mvlgamma", "polygamma", "sinc", "softplus"}
UNTABLED = OF_COUNTS | {"isreal"}  #: Operators that look at no element, or not at one at a time.
TENSOR = "tensor"  #: the place of an array among operands
#: Functions whose results do not depend on whether half precision is computed in float32.
EXACT = {at_most, clamp, fmod.function, remainder.function, np.add, np.subtract, np.multiply, np.divide, np.minimum,
         np.maximum, np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal, np.negative,
         np.absolute, np.isnan}


def way_of(operand: Any, dtype: DType, wide: DType, unrounded: bool) -> Any:
    """Return the dtypes to convert an operand to, the promoted one and the wide one; for a number, its array."""
    if operand.__class__ in TENSOR_TYPES:
        steps = (wide,) if unrounded and not operand.ndim else (dtype, wide)
        held = operand._dtype
        if held is float64 and steps[0] is float16:
            steps = (float32, *steps)  # as C++ converts to c10::Half
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
    return number_in(number, dtype.np)


def function_of(row: Any) -> Any:
    """Return the function of operands that a row calls without further arguments."""
    return row.ufunc if isinstance(row, PreparedUfunc) else row.function if isinstance(row, Looped) else row


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


class Settled(NamedTuple):
    """The functions of operands' arrays that compute calls like one: ``run`` makes a tensor, and later calls use it
    directly if it ``serves`` them; ``of_arrays``, if there is one, makes an array.
    """

    run: Rows
    serves: bool = True
    of_arrays: Rows | None = None


def kernel_by_plans(op: Operator, row: Rows, meta: Pointwise) -> tuple[Rows, Callable[[tuple[Any, ...]], Any], Finder]:
    """Return the kernel for any operands, which keeps functions of their arrays, settled by promotion, broadcasting and
    strides; a function of a call that returns the one kept for calls like it, UNFIT if it is not to be settled; and
    what finds the function of arrays alone.
    """
    count, unpromoted, opmath_scalars = meta.count, meta.unpromoted, meta.opmath_scalars
    looped, plans, settle = isinstance(row, Looped), Plans(), getattr(row, "settle", None)
    steps = row.steps if isinstance(row, Looped) else row
    row = row.function if isinstance(row, Looped) else row
    ufunc = function_of(row)
    is_ufunc = isinstance(ufunc, np.ufunc)

    chain = Chained(lambda *given: filled(steps if given[-1][1] else function_of(steps), *given), "eE", True)

    def learn(args: tuple[Any, ...], by_chain: bool = True) -> Settled:  # may warn of numbers that a dtype cannot hold
        spec, dtype = meta.plan(args)
        operands, rest, size = args[:count], args[count:], prod(spec.shape or ())
        of_tensor = [arg.__class__ in TENSOR_TYPES for arg in operands]
        if dtype in HALVES and (order := order_alike(operands, spec)) is not None:
            return in_order_of_memory(learn, args, order, spec.stride)
        wide = float32 if (dtype is float16 or dtype is bfloat16) and meta.widens(args) else dtype
        if ufunc is not row and rest in ((), (1,)):  # a factor of 1 only changes infinities
            rest = (1,) if dtype.is_complex else ()
        elif meta.scaled and wide is not dtype:
            # 0 needs no rounding, and an integer's sign differs from a float's
            rest = tuple([number_array(number, dtype) if number else number for number in rest])
        alike = all(of_tensor) and all(arg._dtype is dtype for arg in operands)
        native = (is_ufunc and size <= NATIVE) or (ufunc in EXACT and size < (NATIVE if is_ufunc and by_chain else FEW))
        if alike and not rest and native:
            wide, ways = dtype, []  # NumPy, too, computes half precision in float32 and rounds
        else:
            ways = [(i, way_of(arg, dtype, wide, i in opmath_scalars)) for i, arg in enumerate(operands)
                    if i not in unpromoted and arg is not None]
        changes = {i: way for i, way in ways if way.__class__ is not tuple or way}
        function, few, widened = row if rest else ufunc, size < SMALL, wide is not dtype
        others = [None if of_tensor[i] else changes.get(i, arg) for i, arg in enumerate(operands)]
        alone = widened and all_like(operands, spec)
        among_few = size < MANY or op.name in SLOWER or op.name.startswith("special_")
        tabled = among_few and sum(of_tensor) == 1
        if widened and by_chain and size >= (SINGLES if tabled else 1) and not (alone and ufunc in OF_SIGNS) and (
                serves_chain(op, operands, dtype, meta)):
            given = [TENSOR if tensor else other for other, tensor in zip(others, of_tensor, strict=True)]
            return of_chain(op, chain, (given, rest, tabled), of_tensor, spec, lambda: learn(args, False))
        if alone and (ufunc in OF_SIGNS or not among_few):
            return Settled(of_half(function, others, of_tensor, spec, rest))
        if is_ufunc and not rest and size < LARGE and all(of_tensor) and len(operands) > 1 and (
                repeats := repeats_of(tuple([arg._array.shape for arg in operands]))) is not None:
            function = partial(with_long_rows, function, repeats)
        elif is_ufunc and not rest and not widened and size >= min(SMALL, least_of(ufunc)):
            return Settled(into_new(ufunc, changes, spec), False)
        of_few = settle(wide.np, size, *rest) if settle is not None and few else None
        if of_few is not None:
            function, rest = of_few, ()
        is_new = (looped or of_few is not None or (widened and spec.dtype.itemsize == 2)
                  or isinstance(function, np.ufunc))
        if widened and size >= LARGE:
            return Settled(in_parts(function, changes, rest, spec), False)
        run, of_arrays = by_row(op, function, changes, len(operands), rest, spec, is_new)
        if tabled and dtype in HALVES and not (alike and native) and (
                operands[place := of_tensor.index(True)]._dtype is dtype and op.name not in UNTABLED):
            numbers = repr([dtype if tensor else arg for arg, tensor in zip_longest(args, of_tensor)])
            if (table := TABLES.get(key := (op.name, numbers))) is None:
                one = by_row(op, function, changes, len(operands), rest, Spec((1,), spec.dtype, None), is_new)[1]
                assert one is not None
                table = TABLES.keep(key, by_table(one, place))
            run, of_arrays = by_row(op, table, {}, len(operands), (), spec, True)
        return Settled(run, few, of_arrays)

    def kernel(*args: Any) -> Any:
        key = key_of(args)
        found = plans.get(key) or plans.keep(key, computed(learn, (args,)))
        return found.run(*map(array_of, args[:count]))

    def settled(args: tuple[Any, ...]) -> Any:
        found = plans.get(key_of(args))
        return found.run if found is not None and found.serves else UNFIT

    return kernel, settled, Finder(lambda *args: computed(learn, (args,)).of_arrays, count)


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


def by_row(op: Operator, function: Rows, changes: dict[int, Any], count: int, rest: tuple[Any, ...], spec: Spec,
           is_new: bool) -> tuple[Rows, Rows | None]:
    """Return a function that computes a call from its operands' arrays, after the given changes of some of them; and
    the one that makes an array of few numbers. ``is_new`` says that the function only makes new arrays.
    """
    (shape, dtype, stride), size = spec, prod(spec.shape or ())
    ways, layout = [changes.get(i) for i in range(count)], intern_layout(shape or (), stride, dtype)
    forms = tuple([len(way) if way.__class__ is tuple else -1 if way is not None else 0 for way in ways])
    tensors = size < MANY and shape is not None and stride is None
    plan = Plan(op, function, spec, ())
    made, run = changing(forms, size < FEW, tensors, not rest, is_new)(
        function, rest, dtype.np, layout, ways, plan)
    plan.run = run if changes or rest else function
    if tensors:
        return made, plan.run
    found = order_of(layout.shape, stride) if size < MANY and shape is not None and stride is not None else None
    if found is None:
        return plan.compute, None
    order, back = found

    def of_strided(*arrays: Any) -> Tensor:
        try:
            result = silent().run(plan.run, *arrays)
        except ERRORS as error:
            plan.refuse(error)
            raise
        if result.__class__ is not ndarray:
            result = np.asarray(result)
        if result.dtype is dtype.np and (is_new or (result.base is None and not any(
                [result is array for array in arrays]))):  # noqa: C419 - a generator is slower
            data = result.transpose(order)
            if not data.flags.c_contiguous:
                data = data.copy()
                result = data.transpose(back)
            out = strided(data, result, dtype, stride)
            out._layout = layout
            return out
        fitted: Tensor = plan.finish(result, arrays)
        return fitted

    return of_strided, plan.run


#: The function of a call's operands, written out: a loop over their changes takes as long as few elements.
CHANGED = """
def make(function, rest, dtype, layout, ways, plan):
    {ways}, *_ = *ways, None
    def run({parameters}):
        result = asarray(function({changed}, *rest))
        return result if {fits} else {narrowed}
    def compute({parameters}):
        try:
            {computed}
        except ERRORS as error:
            plan.refuse(error)
            raise
        if {old}:
            return plan.finish(result, [{operands}])
        out = new(Tensor)
        out._array, out._dtype, out._keys, out._layout = result, layout.dtype, CPU, layout
        return out
    return compute, run
"""
UNCHANGED = """result = asarray(silent().run(function, {operands}))
            if not ({fits}):
                result = {narrowed}"""


@lru_cache
def changing(forms: Ints, few: bool, contiguous: bool, alone: bool, is_new: bool) -> Callable[..., tuple[Rows, Rows]]:
    """Return a function that makes the functions of operands that are converted to so many dtypes, or replaced by a
    number (-1): one returns tensors, of arrays that are ``contiguous``, and known to be new, or seen to be; the other
    the arrays. There are no further arguments if the operands are ``alone``.
    """
    operands, changed = [f"x{i}" for i in range(len(forms))], []
    for i, form in enumerate(forms):
        text = f"x{i}" if form >= 0 else f"way{i}"
        for k in range(form):
            text = f"{text}.astype(way{i}[{k}])" if few else f"converted({text}, way{i}[{k}])"
        changed.append(text)
    parts = {"ways": ", ".join([f"way{i}" for i in range(len(forms))]), "operands": ", ".join(operands),
             "parameters": "=None, ".join(operands) + "=None" * (len(operands) > 1),  # the last ones may be left out
             "changed": ", ".join(changed),
             "old": " or ".join(["result.base is not None"] * (not is_new) + [f"result is {x}" for x in operands
                                                                           if not is_new]) or "False",
             "fits": "result.dtype is dtype" + " and result.flags.c_contiguous" * contiguous,
             "narrowed": f"result.astype(dtype, {'C' if contiguous else 'K'!r})" if few else
             f"converted({'contiguous(result)' if contiguous else 'result'}, dtype)"}
    computed = "result = silent().run(run, {operands})" if any(forms) or not alone else UNCHANGED
    source = CHANGED.format(computed=computed.format(**parts), **parts)
    space = {"CPU": CPU, "ERRORS": ERRORS, "Tensor": Tensor, "asarray": np.asarray, "contiguous": np.ascontiguousarray,
             "converted": converted, "new": new, "silent": silent}
    made: Callable[..., tuple[Rows, Rows]] = define(
        "make", source.strip(), f"{__file__}: {', '.join(changed)} {few} {contiguous} {alone} {is_new}", space)
    return made


def in_parts(function: Rows, changes: dict[int, Any], rest: tuple[Any, ...], spec: Spec) -> Rows:
    """Return a function that computes many elements of half precision row by row, after the given changes of operands:
    what broadcasts is small, and what is wide stays in the cache.
    """
    shape, size = spec.shape or (), prod(spec.shape or ())
    ndim, found = len(shape), None if spec.stride is None else order_of(shape, spec.stride)
    order = range(ndim) if found is None else found[0]
    turn = sorted(order, key=lambda d: shape[d] == 1)  # so that a batch of one is computed in parts, too

    def run(*arrays: Any) -> Tensor:
        out = empty_tensor(spec)
        target: Any = out._array.transpose(turn)  # type: ignore[union-attr]
        arrays = tuple([array.reshape((1,) * (ndim - array.ndim) + array.shape).transpose(turn)
                        if array.__class__ is ndarray and array.ndim else array for array in arrays])
        whole = [array.__class__ is not ndarray or not array.ndim or array.shape[0] == 1 for array in arrays]

        def work(at: slice) -> None:
            given = [array if alone else array[at] for array, alone in zip(arrays, whole, strict=True)]
            for i, way in changes.items():
                given[i] = reduce(converted, way, given[i]) if way.__class__ is tuple else way
            convert(np.asarray(function(*given, *rest)), target[at])

        each_block(work, len(target), max(SMALL * len(target) // size, 1), 2 * size)
        return out

    return lambda *arrays: computed(run, arrays)


def into_new(ufunc: np.ufunc, changes: dict[int, Any], spec: Spec) -> Rows:
    """Return a function that computes a ufunc of many numbers by blocks, after the given changes of operands."""
    def run(*arrays: Any) -> Tensor:
        operands, out = [*arrays], empty_tensor(spec)
        for i, way in changes.items():
            operands[i] = reduce(converted, way, operands[i]) if way.__class__ is tuple else way
        compute(ufunc, out._array, *operands)  # type: ignore[arg-type]
        return out

    return lambda *arrays: computed(run, arrays)


def settled_calls(meta: Pointwise, kernel: Rows, settled: Callable[[tuple[Any, ...]], Any],
                  plain: bool) -> Callable[[Rows], Rows]:
    """Return a decorator of kernels that computes a call by its settled function, which the second call of a key
    settles. The calls of one or two operands, the first a tensor, are ``plain``: their layouts and numbers are the key.
    """
    count, of_default = meta.count, meta.kind.startswith("float")  # the default dtype may be the result's
    places = Plans()

    def wrap(general: Rows) -> Rows:
        def of_one(self: Any, *rest: Any) -> Any:
            key: Any = self._layout or self._layout_of_plans()
            if rest:
                if (settings := exact(rest)) is None:
                    return general(self, *rest)
                key = key, settings
            if of_default:
                key = key, get_default_dtype()
            if (run := places.get(key)) and run is not SEEN:
                return run(self._array)
            return unsettled(key, run, self, *rest)

        def of_two(self: Any, other: Any, *rest: Any) -> Any:
            if self.__class__ not in TENSOR_TYPES:
                return general(self, other, *rest)
            key: Any
            right = other
            if (kind := other.__class__) in TENSOR_TYPES:
                key = self._layout or self._layout_of_plans(), other._layout or other._layout_of_plans()
                if of_default:
                    key = *key, get_default_dtype()
                right = other._array
            elif kind is float or kind is int or kind is bool:
                key = self._layout or self._layout_of_plans(), kind, other or str(other), get_default_dtype()
            else:
                return general(self, other, *rest)
            if rest:
                if (settings := exact(rest)) is None:
                    return general(self, other, *rest)
                key = key, settings
            if (run := places.get(key)) and run is not SEEN:
                return run(self._array, right)
            return unsettled(key, run, self, other, *rest)

        def of_more(*args: Any) -> Any:
            known: list[Any] = [get_default_dtype()]
            given = []
            for arg in args:
                kind = arg.__class__
                if kind in TENSOR_TYPES:
                    known.append(arg._layout or arg._layout_of_plans())
                    arg = arg._array
                elif kind is float:
                    known += kind, arg or str(arg)
                elif kind in SETTINGS:
                    known += kind, arg
                else:
                    return general(*args)
                given.append(arg)
            key = tuple(known)
            if (run := places.get(key)) and run is not SEEN:
                return run(*given[:count])
            return unsettled(key, run, *args)

        def unsettled(key: Any, found: Any, *args: Any) -> Any:
            if found is SEEN:
                result = kernel(*args)
                places.keep(key, settled(args))
                return result
            if found is None:
                places.keep(key, SEEN)  # a layout that does not come again makes no plan
            return general(*args)

        return of_more if not plain else of_one if count == 1 else of_two

    return wrap


def exact(settings: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return numbers and other settings as a cache key of their own, as ``key_of`` does; None if there are others."""
    key: tuple[Any, ...] = ()
    for setting in settings:
        kind = setting.__class__
        if kind is float:
            key = *key, kind, setting or str(setting)
        elif kind in SETTINGS:
            key = *key, kind, setting
        else:
            return None
    return key


def order_alike(operands: Iterable[Any], spec: Spec) -> tuple[Ints, Ints] | None:
    """Return the permutation that makes the result contiguous, and its inverse, if all operands are numbers, or not few
    and laid out alike; None without one.
    """
    shape, stride = spec.shape or (), spec.stride
    if stride is None or prod(shape) < FEW or any(
            operand.__class__ in TENSOR_TYPES and (operand._array.shape != shape or operand._stride != stride)
            for operand in operands):
        return None
    return order_of(shape, stride)


def in_order_of_memory(learn: Callable[[tuple[Any, ...]], Settled], args: tuple[Any, ...], order: tuple[Ints, Ints],
                       stride: Any) -> Settled:
    """Return the functions of permuted operands, which compute them as contiguous ones: tables and conversions of half
    precision take twice as long for elements that are apart.
    """
    turn, back = order
    found = learn(tuple([from_array(arg._array.transpose(turn), arg._dtype) if arg.__class__ in TENSOR_TYPES else arg
                         for arg in args]))

    def run(*arrays: Any) -> Tensor:
        out = found.run(*[array.transpose(turn) if array.__class__ is ndarray and array.ndim else array
                          for array in arrays])
        return strided(out._array, out._array.transpose(back), out._dtype, stride)

    return Settled(run, found.serves)


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


# -- fast paths --------------------------------------------------------------------------------------------------------

def with_small_numbers(function: Rows) -> Rows:
    """Let a function of floating point arrays take further numbers that no check of the operator refuses."""
    def call(x: ndarray, y: Any, *numbers: Any) -> Any:
        if x.dtype.char not in "fd" or not are_small(numbers):
            raise TypeError
        return function(x, y, *numbers)

    return call


def pointwise_kernel(op: Operator, row: Rows, meta: Pointwise) -> Kernel:
    """Return the kernel of a pointwise operator, with a fast path if it has dtypes without promotion.

    The fast path takes calls whose tensors have one dtype of ``meta.fast`` and whose numbers are of no higher category.
    Nothing is promoted, broadcasting is NumPy's, and NumPy's result is contiguous and of the right dtype. If a function
    returns another dtype or an alias, the general kernel runs instead.

    The wrappers for one and two operands are written out: one call less saves a tenth of ``a + b``.
    """
    kernel, settled, finder = kernel_by_plans(op, row, meta)
    leading = op.text[op.text.index("(") + 1:].startswith("Tensor ")
    plain = meta.count <= 2 and leading and not meta.unpromoted
    wrap = settled_calls(meta, kernel, settled, plain)
    if not meta.fast:
        return Kernel(wrap(kernel), row, functions=finder)
    #: The result's dtype by the operands' dtype; None for the general kernel.
    results = {**dict.fromkeys((*DTYPES.values(), *RARE.values())),
               **{dtype: bool_ if meta.kind == "bool" else dtype for dtype in meta.fast}}
    function, general = function_of(row), of_few_converted(meta, row, kernel)
    if not plain:
        fast = wrap(fast_path(_of_several(meta, function, results))(general))
        return Kernel(with_strides(meta, wrap(kernel), fast), row, fast, functions=finder)
    checked = meta.check is not None and meta.count == 2
    with_rest = None if isinstance(function, np.ufunc) else with_small_numbers(function) if checked else function
    fast = (_of_one if meta.count == 1 else _of_two)(meta, function, with_rest, results, wrap(general))
    if isinstance(row, Looped):
        fast = wrap(fast)
    return Kernel(wrap(with_strides(meta, kernel, fast)), row, fast, functions=finder)


Results = dict[DType, DType | None]
#: Half precision, which is computed in float32; integers, which functions with floating point results convert to it;
#: and a number that all of them represent about as well.
HALVES, INTEGERS, MOST = dtypes("reduced"), dtypes("bool|integral"), 6e4
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


def _of_one(meta: Pointwise, function: Rows, with_rest: Rows | None, results: Results, general: Rows) -> Rows:
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


def _of_two(meta: Pointwise, function: Rows, with_rest: Rows | None, results: Results, general: Rows) -> Rows:
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
