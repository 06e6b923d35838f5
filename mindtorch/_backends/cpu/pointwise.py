"""Kernels of pointwise operators for any operands, and fast paths for calls that need no promotion."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import zip_longest
from math import prod
from typing import Any

import numpy as np

from ..._base.layout import Ints, Spec
from ..._base.loops.chains import Chained
from ..._dispatch.dispatcher import TENSOR_TYPES
from ..._dispatch.registry import Finder, Kernel, Operator
from ..._dtype import DTYPES, INTEGER, RARE, DType, bfloat16, bool_, float16, float32, float64, get_default_dtype
from ..._tensor import Tensor, from_array
from ..common.blocks import LARGE, SMALL, least_of
from ..common.broadcasts import repeats_of, with_long_rows
from ..common.elements import Looped
from ..common.half import FEW, number_in
from ..common.pointwise import Pointwise
from .fast_paths import fast_path, ndarray
from .plans import SEEN, SETTINGS, UNFIT, Plans, key_of
from .pointwise_arrays import MANY, Settled, by_row, function_of, in_parts, into_new
from .pointwise_fast import binary_path, nary_path, of_few_converted, unary_path, with_small_numbers, with_strides
from .pointwise_halves import (
    EXACT, HALVES, OF_COUNTS, OF_SIGNS, TABLES, TENSOR, all_like, by_table, filled, of_chain, of_half, serves_chain,
)
from .rows import Rows, array_of, computed, order_of, strided

#: Up to how many elements of half precision NumPy's own loops take less time than conversions.
NATIVE = 1 << 7
SINGLES = 1 << 8  #: elements of one operand from which on a chain takes less time than a table
#: Operators of which a table computes many elements, too, in less time than the function, as of those of ``special``.
SLOWER = {"celu", "digamma", "elu", "i0", "mish", "mvlgamma", "polygamma", "sinc", "softplus"}
UNTABLED = OF_COUNTS | {"isreal"}  #: Operators that look at no element, or not at one at a time.


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
            return of_permuted(learn, args, order, spec.stride)
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


def of_permuted(learn: Callable[[tuple[Any, ...]], Settled], args: tuple[Any, ...], order: tuple[Ints, Ints],
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
        fast = wrap(fast_path(nary_path(meta, function, results))(general))
        return Kernel(with_strides(meta, wrap(kernel), fast), row, fast, functions=finder)
    checked = meta.check is not None and meta.count == 2
    with_rest = None if isinstance(function, np.ufunc) else with_small_numbers(function) if checked else function
    fast = (unary_path if meta.count == 1 else binary_path)(meta, function, with_rest, results, wrap(general))
    if isinstance(row, Looped):
        fast = wrap(fast)
    return Kernel(wrap(with_strides(meta, kernel, fast)), row, fast, functions=finder)
