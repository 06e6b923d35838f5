"""Composites computed at once: one plan on arrays for the several operators that a composite calls.

Modes, pipelines and gradients act on the operators that a composite calls. A plan may stand for them only for CPU
tensors without other keys, of any strides, and with no mode on that redirects calls. Observers change nothing: they are
told of the operators as parts of the call.

A plan is made at the second call of a layout: one that is not used again costs nothing.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import methodcaller
from typing import Any

import numpy as np

from ..._base.formats import contiguous_format, preserve_format
from ..._base.layout import Spec
from ..._device import CPU as HOST
from ..._dispatch import dispatcher
from ..._dispatch.dispatcher import has_derivative, outside_graph
from ..._dispatch.keys import AUTOGRAD, CPU, NONCONTIGUOUS, REDIRECTING
from ..._dispatch.observers import untold
from ..._dispatch.registry import Finder, Kernel, Operator
from ..._dispatch.schemas import registry
from ..._dtype import before_rounding, float16, from_numpy_dtype, int64
from ..._tensor import Tensor, from_array
from ..common.blocks import SMALL
from ..common.half import FEW, converted
from .kernels import Shape, by_layouts, unchecked
from .ops import AT_ONCE, MOVES
from .plans import SEEN, UNFIT, Plan, Plans
from .rows import Prepared, Rows, array_of, moving, order_of, strided
from .views import COMPOSED, VIEWS


def with_plans(op: Operator, function: Callable[..., Any], **traits: Any) -> Kernel:
    """Return the CPU kernel of a function that serves all backends, with plans if the operator has any."""
    if (by_plan := VIEWS.get(op.name)) is not None:
        planned = by_plan(function)
        return Kernel(planned, function, planned, **traits)
    row = AT_ONCE.get(op.name) or COPIES.get(op.name) or through_view(op)
    finder = None
    if (by_plan := COMPOSED.get(op.name)) is not None:
        planned = unless_redirected(by_plan(function), function)
    elif row is not None:
        traits["records_none"] = has_derivative(op)
        planned, finder = by_plans(op, outside_graph(function) if has_derivative(op) else function, row)
    else:
        return Kernel(function, function, None, **traits)
    return Kernel(function, function, planned, strided=True, plans=finder, **traits)


def unless_redirected(fast: Rows, general: Rows) -> Rows:
    """Return a composite's kernel that takes the fast one unless a mode redirects calls."""
    def call(*args: Any) -> Any:
        return (general if dispatcher.mode & REDIRECTING else fast)(*args)

    return call


def by_plans(op: Operator, general: Rows, row: Any) -> tuple[Rows, Finder]:
    """Return the kernel that computes a composite by plans, given its row in ``AT_ONCE``, and what finds them. Until a
    plan is made, the composite computes, with all checks; a row that is ``Prepared`` is sure of what it takes, so it
    computes at once.
    """
    few = row is MOVES or op.schema.returns_list  # whose plans keep tables
    sure, plans, shape = isinstance(row, Prepared), Plans(1 << 6 if few else 1 << 10), Shape.of(op)
    prepare: Callable[..., Rows | None] = row.prepare if sure else moved(general) if row is MOVES else row
    if not shape.leading or (hasattr(row, "count") and not sure):  # it says what its function takes
        shape = shape._replace(taken=getattr(row, "count", int(op.schema.parameters[0].is_tensor)))
    compute = unchecked(op, prepare, shape.taken) if sure else None

    def first(key: Any, args: tuple[Any, ...], kept: Any) -> Any:
        if kept is UNFIT:
            return general(*args)
        result = None if compute is None else compute(*args)
        if result is None:
            result = general(*args)
        plans.keep(key, SEEN if kept is None else planned(result, args))
        return result

    def planned(result: Any, args: tuple[Any, ...]) -> Any:
        spec: Any = None
        bases: list[Any] = []
        if isinstance(result, tuple):
            if any(part is not None and part._keys != CPU for part in result):
                return SEEN
            spec = [None if part is None else Spec(part._array.shape, part._dtype) for part in result]
        elif result.__class__ is not bool:
            if result._keys & AUTOGRAD:  # a folded composite that was left to the operators
                return SEEN
            if (result._keys & ~NONCONTIGUOUS != CPU or not (result._array.size or op.family == "views")
                    or any(result is arg for arg in args)):
                return UNFIT
            stride = result._stride if result._keys & NONCONTIGUOUS else None  # which an observer has asked for, else
            spec = Spec(result._array.shape, result._dtype, stride)
        if result.__class__ is not bool:
            parts = result if isinstance(result, tuple) else (result,)
            bases = [None if part is None else part._base for part in parts]
        with untold():
            run = prepare(*[array_of(arg) for arg in args])
        if run is None:
            return UNFIT
        plan = Plan(op, run, spec, ())
        if op.schema.returns_list:
            plan.pack = result.__class__
        if bases and (versions := [0 if (cell := part._version_counter) is None or part._base is not None else cell[0]
                                   for part in parts if part is not None]) and any(versions):
            return Plan(op, partial(written, plan, versions), None, ())
        if not bases or None in bases:
            return plan
        shapes = [shape_of_base(*pair) for pair in zip(parts, bases, strict=True)]
        return Plan(op, partial(viewed, plan, shapes), None, ())

    return by_layouts(plans, shape, first, general)


def written(plan: Plan, versions: list[int], *arrays: Any) -> Any:
    """Compute a plan's outputs, with their versions: those of a composite whose last operators write in place."""
    made = plan.finish(plan.run(*arrays), arrays)
    parts = [part for part in (made if isinstance(made, tuple) else (made,)) if part is not None]
    for part, version in zip(parts, versions, strict=False):
        if version:
            part._start_counter()[0] = version
    return made


def shape_of_base(view: Any, base: Any) -> Any:
    """Return the shape of the base of a view that has all its elements in their order; None for other views."""
    is_whole = view._array.size == base._array.size and not (view._keys | base._keys) & NONCONTIGUOUS
    return base._array.shape if is_whole else None


def viewed(plan: Plan, bases: list[Any], *arrays: Any) -> Any:
    """Compute a plan's outputs, and return views of bases of these shapes: those of a composite whose last operators
    are views.
    """
    made = plan.finish(plan.run(*arrays), arrays)
    if made.__class__ is not Tensor:
        return made and plan.pack([view_of(part, shape) for part, shape in zip(made, bases, strict=True)])
    return view_of(made, bases[0])


def view_of(made: Tensor, shape: Any) -> Tensor:
    """Return a tensor as a view of one of another shape; None for its own."""
    array: Any = made._array
    base = made if shape is None or shape == array.shape else from_array(array.reshape(shape), made._dtype)
    strides = None if made._stride is None else array.strides
    return base._view_by((array.shape, array.dtype, 0, strides, made._stride, made._layout))


# -- copies ------------------------------------------------------------------------------------------------------------

#: Dtypes between which NumPy converts as C does; E is bfloat16.
CONVERTED = ("?Bbhilqefd", "?BbhilqefdFD"), ("FD", "FD"), ("efdE", "efdE")
#: The formats in which a copy of a contiguous tensor is contiguous.
IN_ROWS = {contiguous_format, "contiguous_format"}
AS_IT_IS = {None, preserve_format, "preserve_format", *IN_ROWS}


def clone(x: np.ndarray, memory_format: Any = None) -> Rows | None:
    """Prepare a copy of a small tensor, which has its strides if none are asked for."""
    if memory_format not in AS_IT_IS or x.size >= SMALL:
        return None
    return np.ndarray.copy if memory_format in IN_ROWS or x.flags.c_contiguous else methodcaller("copy", "K")


def to_copy(x: np.ndarray, dtype: Any = None, device: Any = None, non_blocking: bool = False,
            memory_format: Any = None) -> Rows | None:
    """Prepare a conversion of a small tensor, which has its strides if none are asked for."""
    takes = dtype is not None and device in (None, HOST) and x.size < SMALL and memory_format in AS_IT_IS
    if not takes or not any(x.dtype.char in given and dtype.np.char in asked for given, asked in CONVERTED):
        return None
    if x.size >= FEW and (x.flags.c_contiguous or memory_format not in IN_ROWS):
        return lambda x: converted(x, dtype.np)
    convert = methodcaller("astype", dtype.np, "C" if memory_format in IN_ROWS else "K")
    return convert if x.dtype.char != "d" or dtype is not float16 else lambda x: convert(before_rounding(x, dtype.np))


COPIES = {"clone": Prepared(clone), "_to_copy": Prepared(to_copy)}


#: What views an operator writes to a copy of.
WRITTEN = {"select_scatter": "select.int", "slice_scatter": "slice.Tensor", "diagonal_scatter": "diagonal",
           "as_strided_scatter": "as_strided"}


def through_view(op: Operator) -> Callable[..., Rows | None] | None:
    """Return the preparation of a copy of views, or of a write to a view of a copy; None for other operators."""
    name = WRITTEN.get(op.name) or op.name.replace("_copy", "", 1)
    if op.family != "views" or name == op.name or op.functional:
        return None
    writes, beyond = op.name in WRITTEN, name == "as_strided"
    call = registry["reshape" if name == "view" else name].call

    def prepare(x: np.ndarray, *args: Any) -> Rows | None:
        in_rows, own, dtype = x.flags.c_contiguous, x.dtype.kind == "V", from_numpy_dtype(x.dtype)
        stride = tuple([step // x.itemsize for step in x.strides])
        found = ((), ()) if in_rows else order_of(x.shape, stride)
        if not x.size or found is None:
            return None
        order, _ = found  # in which the dimensions are contiguous memory, which NumPy views as any array
        whole = from_array(x, dtype) if in_rows else strided(x.transpose(order), x, dtype, stride)
        made: Any = call(whole, *args[writes:])
        views, layouts = made if made.__class__ is tuple else (made,), []
        for view in views:
            if view._storage is not whole._storage or view._keys & ~NONCONTIGUOUS != CPU:
                return None
            if writes and args[0].shape != view.shape:
                return None
            seen = view._array
            start = view._offset * seen.itemsize if seen.size else 0
            layouts.append((seen.shape, seen.dtype, start, seen.strides))

        def viewed(x: np.ndarray) -> list[np.ndarray]:
            memory: Any = x if in_rows else x.transpose(order)
            if own:  # NumPy's memory views know its own dtypes
                memory = memory.view(f"u{x.itemsize}")
            return [np.ndarray(shape, kind, memory, start, strides) for shape, kind, start, strides in layouts]

        def copied(x: np.ndarray) -> np.ndarray | None:
            return None if beyond and not is_whole(x) else viewed(x)[0].copy()

        def written(x: np.ndarray, src: np.ndarray) -> np.ndarray | None:
            if not is_whole(x):
                return None
            out = x.copy("K")
            viewed(out)[0][...] = src
            return out

        if made is views:
            return lambda x: [view.copy() for view in viewed(x)]
        return written if writes else copied

    return prepare


def is_whole(x: np.ndarray) -> bool:
    """Return True if an array is all of its memory, beyond which ``as_strided`` reads, and writes copy it."""
    return x.base is None or (x.base.__class__ is np.ndarray and x.base.base is None and x.base.nbytes == x.nbytes)


def moved(general: Rows) -> Callable[..., Rows | None]:
    """Return a function that prepares a composite that only moves elements: it moves their numbers once."""
    return moving(lambda numbers, *settings: general(from_array(numbers, int64), *settings)._array, 1 << 14)
