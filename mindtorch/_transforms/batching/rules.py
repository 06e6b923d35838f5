"""How operators run on all elements of a batch: one rule a family.

A rule takes an operator, the frame and the arguments, and returns the results for all elements, which lie in front.
"""
from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from math import prod
from typing import Any

from ..._dispatch.aten import reshape, stack
from ..._dispatch.dispatcher import TENSOR_TYPES, registry, tensors_of
from ..._dispatch.keys import BATCHED, CPU
from ..._dispatch.registry import Operator
from .frames import Frame, batched, filled, is_batched, lowered, moved

Rule = Callable[[Operator, Frame, tuple[Any, ...]], Any]


# -- the fallback: one call for each element ---------------------------------------------------------------------------

def by_element(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """Call the operator once for each element: the visible fallback."""
    warnings.warn("There is a performance drop because we have not yet implemented the batching rule for "
                  f"aten::{op.name}. Please file us an issue on GitHub so that we can prioritize its implementation.",
                  UserWarning, stacklevel=3)
    return each_element(op, frame, args)


def each_element(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """One call for each element, the results stacked."""
    whole = [[(is_batched(a, frame), lowered(a, frame)) for a in arg] if isinstance(arg, list) else
             (is_batched(arg, frame), lowered(arg, frame)) for arg in args]

    def at(i: int, entry: Any) -> Any:
        if isinstance(entry, list):
            return [at(i, one) for one in entry]
        if not entry[0]:
            return entry[1]
        return entry[1].select(0, i) if frame.size else entry[1].new_zeros(entry[1].shape[1:])

    with frame.left():  # of an empty batch, an element of zeros shows what the results are like
        results = [op.call(*[at(i, entry) for entry in whole]) for i in range(frame.size or 1)]
    first = results[0]
    if op.is_inplace:
        return None
    if first.__class__ in TENSOR_TYPES:
        return stack(results, 0)[:frame.size]
    columns = [None if column[0] is None else stack(list(column), 0)[:frame.size]
               for column in zip(*results, strict=True)]
    return like(first, columns)


# -- arguments and results ---------------------------------------------------------------------------------------------

def is_tensor(value: Any) -> bool:
    return value.__class__ in TENSOR_TYPES


def like(result: Any, items: list[Any]) -> Any:
    """Several results in the form of others: a tuple, one with names, or a list."""
    return type(result)(*items) if hasattr(result, "_fields") else type(result)(items)


def each_result(result: Any, function: Callable[[Any], Any]) -> Any:
    """Apply a function to each tensor among the results."""
    if is_tensor(result):
        return function(result)
    return like(result, [function(item) if is_tensor(item) else item for item in result])


def with_defaults(op: Operator, args: tuple[Any, ...]) -> list[Any]:
    """Return all arguments, those that were not given too."""
    return [*args, *(parameter.default for parameter in op.schema.parameters[len(args):])]


def aligned(value: Any, ndim: int, frame: Frame) -> Any:
    """Return a batched operand, elements in front, then sizes 1 up to ``ndim``; others as they are."""
    if not is_batched(value, frame):
        return value
    whole = lowered(value, frame)
    missing = ndim - value.ndim
    return whole.reshape((frame.size, *(1,) * missing, *value.shape)) if missing else whole


def filled_like(value: Any, frame: Frame) -> Any:
    """Return a tensor, batched in this frame."""
    return value if is_batched(value, frame) else batched(filled(value, frame), 0, frame)


# -- families ----------------------------------------------------------------------------------------------------------

def pointwise(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """Call with elements in front, and dimensions of size 1 behind them where an operand has fewer than another."""
    count = registry.meta_rows[(op.functional or op).name].count if not op.is_out else 0
    operands = [a for a in args[:count] if is_tensor(a)]
    ndim = max(t.ndim for t in operands)
    if len({t._dtype for t in operands}) > 1 and any(not t.ndim for t in operands):
        return each_element(op, frame, args)  # in promotion, a tensor without dimensions counts less
    return op.call(*[aligned(a, ndim, frame) for a in args[:count]], *args[count:])


def elementwise(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """Call an operator on elements that has no pointwise row: all tensors are operands."""
    ndim = max(a.ndim for a in args if is_tensor(a))
    return op.call(*[aligned(a, ndim, frame) if is_tensor(a) else a for a in args])


#: The names of parameters that are dimensions.
DIMENSIONS = ("dim", "dims", "dim0", "dim1", "dim2", "dimension")


def along_dimensions(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """Count dimensions from behind the elements; none given means all of them, but for views."""
    ndim, tensors = args[0].ndim + (op.packet == "unsqueeze"), [a for a in args if is_tensor(a)]
    if not ndim or not all(t.ndim for t in tensors[1:]):
        found = each_element(op, frame, args)
        kernel = op.kernel(CPU)
        return shown_as(found, lowered(args[0], frame)) if kernel is not None and kernel.makes_view else found
    several = len(tensors) > 1
    if several and (check := registry.meta_rows.get(op.name)) is not None:
        check(*args)  # an element, as outside
    changed = [filled(a, frame) if several and is_tensor(a) else lowered(a, frame) for a in with_defaults(op, args)]
    for name in DIMENSIONS:
        position = op.schema.positions.get(name)
        if position is not None:
            changed[position] = shifted(changed[position], ndim, empty_is_all=op.packet not in ("flip", "squeeze"))
    if op.packet == "permute":
        changed[1] = (0, *changed[1])
    return op.call(*changed)


def shown_as(found: Any, whole: Any) -> Any:
    """Return a view of a batch of numbers that looks like ``found``: each once, or in a dimension of one or none."""
    return whole.unsqueeze(1).narrow(1, 0, found.shape[1]) if found.ndim > 1 else whole.view(whole.shape)


def shifted(dim: Any, ndim: int, empty_is_all: bool = True) -> Any:
    """Return a dimension, or several, of one element as dimensions of the whole batch."""
    if dim is None or (dim == () and empty_is_all):
        return tuple(range(1, ndim + 1))
    if isinstance(dim, int):
        return dim + 1 if dim >= 0 else dim if -dim <= ndim else dim - 1
    return tuple(shifted(d, ndim) for d in dim)


def over_all(name: str) -> Rule:
    """Return the rule of a reduction over all dimensions, by the operator that takes them."""

    def rule(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
        whole = lowered(args[0], frame)
        dims = tuple(range(1, whole.ndim))
        if not dims:
            return each_element(op, frame, args)
        return registry[name].call(whole, dims, False, *args[1:])

    return rule


def flat(name: str = "", values: bool = False) -> Rule:
    """Return the rule of a full reduction, by ``name`` over one dimension; with ``values``, only the values."""

    def rule(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
        given = with_defaults(op, args)
        position = op.schema.positions.get("dim")
        if position is not None and given[position] is not None:
            return along_dimensions(op, frame, args)
        whole = lowered(given[0], frame)
        rows = whole.reshape((frame.size, prod(given[0].shape)))
        if position is None:
            result = registry[name].call(rows, 1, False, *given[1:])
            return result[0] if values else result
        given[0], given[position] = rows, 1
        keepdim = given[op.schema.positions["keepdim"]]
        return each_result(op.call(*given), lambda t: t.reshape((frame.size, *(1,) * (whole.ndim - 1))) if keepdim
                           else t)

    return rule


def with_size(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """Apply a shape to each element; an expansion may add dimensions in front of it."""
    whole, size = lowered(args[0], frame), tuple(args[1])
    if op.packet == "expand":
        missing = len(size) - args[0].ndim
        whole = whole.reshape((frame.size, *(1,) * missing, *args[0].shape)) if missing else whole
    elif -1 in size and not args[0].numel():
        return each_element(op, frame, args)
    elif op.packet in ("_reshape_alias", "_unsafe_view"):  # which may copy: nothing else sees the memory
        return reshape(whole, (frame.size, *size))
    return op.call(whole, (frame.size, *size), *args[2:])


def with_strides(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """Call a factory that is given a size and strides, once for all elements, which lie one behind the other."""
    self, size, stride, *options = args
    extent = 1 + sum((n - 1) * step for n, step in zip(size, stride, strict=True)) if all(size) else 0
    return op.call(lowered(self, frame), (frame.size, *size), (extent, *stride), *options)


def as_it_is(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """Call an operator that treats all elements alike."""
    return op.call(lowered(args[0], frame), *args[1:])


def trailing(*cores: int, flags: dict[str, Any] | None = None) -> Rule:
    """Make the rule of operators on the last dimensions, before which there may be any: so many of each tensor, by
    default 2.

    The dimensions before are broadcast against each other, so they are made as many. ``flags`` are arguments with
    which the results have the same shapes whatever is asked for.
    """

    def rule(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
        given = with_defaults(op, args)
        for name, value in (flags or {}).items():
            given[op.schema.positions[name]] = value
        places = [i for i, a in enumerate(given) if is_tensor(a)]
        core = dict(zip(places, (*cores, *(2,) * len(places)), strict=False))
        if op.packet == "_linalg_solve_ex" and is_vector(given[0], given[1]):
            core[1] = 1
        before = {i: given[i].ndim - core[i] for i in places}
        if min(before.values()) < 0:
            return each_element(op, frame, args)
        ndim = max(before.values())
        for i in places:
            whole = filled(given[i], frame)
            missing = ndim - before[i]
            given[i] = whole.reshape((frame.size, *(1,) * missing, *given[i].shape)) if missing else whole
        return op.call(*given)

    return rule


def is_vector(left: Any, right: Any) -> bool:
    """Return True if the right side of equations is one vector for each matrix."""
    return right.ndim == 1 or (right.ndim + 1 == left.ndim and tuple(right.shape) == tuple(left.shape[:-1]))


def composed(function: Callable[..., Any], checks: bool = False) -> Rule:
    """Return the rule of an operator by its decomposition; an in-place form is written afterwards.

    With ``checks``, one element is checked first as outside of a batch, since the decomposition takes other shapes.
    """

    def rule(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
        if checks:
            registry.meta_rows[(op.functional or op).name](*args)
        result = function(*args)
        if op.is_inplace:
            return args[0].copy_(result)
        return each_result(result, lambda t: lowered(filled_like(t, frame), frame))

    return rule


def by_sample(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """Return the rule of an operator on samples of fixed rank: the elements join the dimension of samples."""
    given = with_defaults(op, args)
    ndim = int(re.findall(r"(\d)d", op.packet)[-1]) + 1
    has_samples = given[0].ndim == ndim + 1
    count = given[0].shape[0]
    for i, value in enumerate(given):
        if is_tensor(value):
            whole = filled(value, frame)
            given[i] = whole.flatten(0, 1) if has_samples else whole
    if (where := op.schema.positions.get("input_size")) is not None:
        given[where] = (frame.size * given[where][0], *given[where][1:])
    result = op.call(*given)
    return each_result(result, lambda t: t.reshape((frame.size, count, *t.shape[1:]))) if has_samples else result


# -- indices -----------------------------------------------------------------------------------------------------------


def unbatchable(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """Call an operator whose values decide how many results there are. Raises RuntimeError if the elements differ."""
    if frame.tangents_only:
        result = op.call(*[lowered(a, frame)[0] if is_batched(a, frame) else a for a in args])
        return each_result(result, lambda t: filled(t, frame))
    raise RuntimeError("vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap "
                       f"over aten::{op.packet}. Please file an issue at https://github.com/pytorch/pytorch/issues if "
                       "you need this feature.")


def with_own_self(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that may write batched arguments into a copy of its first, which is batched as they are."""

    def call(self: Any, *args: Any) -> Any:
        found = {t._batched[2] for t in tensors_of(args) if t._keys & BATCHED}
        for frame in sorted(found, key=lambda frame: frame.number):
            self = filled_like(self, frame) if is_tensor(self) else self
        return function(self, *args)

    return call


# -- channels ---------------------------------------------------------------------------------------------------------

def per_channel(value: Any, ndim: int) -> Any:
    """Return a vector of a number for each channel, to be broadcast with tensors of ``ndim`` dimensions."""
    return value.reshape([-1 if d == 1 else 1 for d in range(ndim)])


def beside(value: Any, frame: Frame) -> Any:
    """Return the elements' channels beside each other: ``[N, elements * C, ...]``."""
    return moved(filled(value, frame), 0, 1).flatten(1, 2)


def apart(value: Any, frame: Frame) -> Any:
    """Return the elements in front again, given their channels beside each other."""
    return moved(value.unflatten(1, (frame.size, value.shape[1] // frame.size)), 1, 0)
