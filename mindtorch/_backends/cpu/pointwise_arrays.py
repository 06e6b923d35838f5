"""Functions of the arrays of pointwise calls, settled by promotion, broadcasting and strides."""
from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, reduce
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..._base.generated import define
from ..._base.layout import Ints, Spec, intern_layout
from ..._base.quiet import silent
from ..._dispatch.keys import CPU
from ..._dispatch.registry import Operator
from ..._tensor import Tensor, empty_tensor, new
from ..common.blocks import SMALL, compute, each_block
from ..common.elements import Looped
from ..common.half import FEW, convert, converted
from ..common.pointwise import PreparedUfunc
from .fast_paths import ndarray
from .plans import ERRORS, Plan
from .rows import Rows, computed, order_of, strided

MANY = 1 << 14  #: elements from which on half precision is computed in blocks


def function_of(row: Any) -> Any:
    """Return the function of operands that a row calls without further arguments."""
    return row.ufunc if isinstance(row, PreparedUfunc) else row.function if isinstance(row, Looped) else row


class Settled(NamedTuple):
    """The functions of operands' arrays that compute calls like one: ``run`` makes a tensor, and later calls use it
    directly if it ``serves`` them; ``of_arrays``, if there is one, makes an array.
    """

    run: Rows
    serves: bool = True
    of_arrays: Rows | None = None


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
