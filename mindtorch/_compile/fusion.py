"""Fusion (the scheduler of PyTorch's Inductor): one kernel for a chain of pointwise operators; for a matrix product and
the pointwise operators after it; or for reductions along the last dimension with the pointwise operators around them.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from .._backends.common.blocks import BLOCK
from .._backends.common.pointwise import Pointwise, PreparedUfunc
from .._backends.cpu.ops import CPU_KERNELS
from .._base.loops import FEW
from .._dispatch.dispatcher import registry
from .._dtype import bool_, float32, float64, int64
from .dims import Dim
from .graph import Graph, Step, Value, values_in

#: Matrix products that can begin a kernel.
PRODUCTS = frozenset({"mm", "bmm"})
FLOATS = (float32, float64)
#: Operators on the rows of a matrix: the number of the argument whose last dimension is a row, and of the one that says
#: along which dimensions they go, if there is one.
OF_ROWS: dict[str, tuple[int, int | None]] = {
    "_softmax": (0, 1), "_log_softmax": (0, 1), "_softmax_backward_data": (0, 2), "_log_softmax_backward_data": (0, 2),
    "native_layer_norm": (0, None), "native_layer_norm_backward": (1, None), "sum": (0, None), "mean": (0, None),
    "sum.dim_IntList": (0, 1), "mean.dim": (0, 1), "linalg_vecdot": (0, None), "mse_loss": (0, None),
    "mse_loss_backward": (1, None), "nll_loss_forward": (0, None), "nll_loss_backward": (1, None)}
#: Reductions that may add up all elements.
TOTALS = frozenset({"sum", "mean", "sum.dim_IntList", "mean.dim", "linalg_vecdot", "mse_loss"})


@dataclass(eq=False)
class Group:
    """Steps that run together, in order; of ``shape`` if they are fused."""

    steps: list[Step]
    fused: bool = False
    shape: tuple[int, ...] = ()  #: over which a fused kernel runs
    before: set[Group] = field(default_factory=set)  #: the groups whose results it needs
    has_rows: bool = False  #: whether it has reductions, so that the kernel runs over rows
    ends: set[Value] = field(default_factory=set)  #: sums of all rows, which are known at the end only

    @property
    def inputs(self) -> list[Value]:
        """The values that come from elsewhere."""
        made = {value for step in self.steps for value in step.outputs}
        return [*dict.fromkeys(value for step in self.steps for value in step.inputs if value not in made)]

    @property
    def size(self) -> int:
        """The number of elements of the largest result."""
        return max(value.size for step in self.steps for value in step.outputs if value is not None)


def pointwise_row(step: Step) -> Any:
    """Return the NumPy function of a pointwise step on one floating point dtype, None for other steps."""
    meta, row, out = registry.meta_rows.get(step.op.name), CPU_KERNELS.get(step.op.name), step.outputs[0]
    if not isinstance(meta, Pointwise) or row is None or out is None or not out.is_contiguous or not out.size:
        return None
    operands, rest = step.args[:meta.count], step.args[meta.count:]
    condition = [operands[i] for i in meta.unpromoted if i < len(operands)]
    typed = [operand for i, operand in enumerate(operands) if i not in meta.unpromoted]
    kinds = {operand.dtype for operand in typed if operand.__class__ is Value}
    if len(kinds) != 1 or not kinds <= {*FLOATS} or not kinds <= meta.takes or (
            meta.kind not in ("default", "float", "bool")):
        return None
    if any(operand.__class__ is not Value or operand.dtype is not bool_ for operand in condition):
        return None
    if any(operand.__class__ not in (Value, int, float, bool) and operand is not None for operand in typed):
        return None
    if [*values_in(rest)] or out.dtype not in (bool_, *kinds):
        return None
    if isinstance(row, PreparedUfunc):
        return row.ufunc if not rest or (len(rest) == 1 and rest[0] == 1 and rest[0] is not True) else row
    return None if isinstance(row, np.ufunc) and rest else row


def shape_of_rows(step: Step) -> tuple[int, ...] | None:
    """Return the shape over whose rows a step goes; None for other steps, and for too few elements for a loop."""
    name = step.op.name
    number, along = OF_ROWS.get(name, (None, None))
    if number is None or step.args[number].__class__ is not Value:
        return None
    shape, args, made = step.args[number].shape, step.args, [value for value in step.outputs if value is not None]
    of_target = args[number + 1] if name.startswith("nll") else None
    size = prod(shape)
    if not shape or (size < FEW and size.__class__ is not Dim) or not made or not all(
            (value.dtype is float32 and (value in step.inputs or value.is_contiguous)) or value is of_target
            for value in (*step.inputs, *made)):
        return None
    if name in TOTALS and name != "mse_loss":
        dims = args[along] if along is not None else None
        rows = made[0].size if name == "linalg_vecdot" else prod(shape[:-1]) if dims and [
            d % len(shape) for d in dims] == [len(shape) - 1] else 1 if not dims or len(dims) == len(shape) else 0
        return shape if made[0].size == rows and rows in (1, prod(shape[:-1])) else None
    if along is not None:
        return shape if args[along] in (-1, len(shape) - 1) and all(
            value.shape == shape for value in (*step.inputs, *made)) and args[2] is not True else None
    if name.startswith("mse"):
        return shape if args[number].shape == args[number + 1].shape and (
            name == "mse_loss" or not args[0].shape) else None
    if name.startswith("nll"):
        return shape if len(shape) == 2 and args[number + 2] is None and args[number + 3] in (1, 2) and (
            of_target is not None and of_target.dtype is int64 and of_target.is_contiguous) else None
    return shape if len(args[number + 1]) == 1 else None


def is_total(step: Step) -> bool:
    """Return whether a step adds up all elements."""
    return step.op.name in TOTALS and step.outputs[0].size == 1 and (
        step.op.name != "mse_loss" or step.args[2] in (1, 2))


def groups_of(graph: Graph, by_rows: bool = True) -> list[Group]:
    """Divide the graph's steps into groups, in an order in which they can run; with reductions in kernels if
    ``by_rows``.
    """
    maker: dict[Value, Group] = {}
    groups: list[Group] = []
    last_random: Group | None = None
    for step in graph.steps:
        producers = [maker[value] for value in dict.fromkeys(step.inputs) if value in maker]
        group = None
        of_rows = shape_of_rows(step) if by_rows else None
        if of_rows is not None or pointwise_row(step) is not None:
            shape = of_rows or step.outputs[0].shape
            group = next((found for found in reversed(producers) if _can_join(
                found, step, shape, of_rows is not None, producers)), None)
            if group is None:
                groups.append(group := Group([], True, shape))
            if group.ends.intersection(step.inputs):
                group.ends.add(step.outputs[0])
            if of_rows is not None:
                group.has_rows = True
                group.ends.update(value for number, value in enumerate(step.outputs) if value is not None and (
                    is_total(step) or step.op.name == "nll_loss_forward" or (
                        step.op.name == "native_layer_norm_backward" and number)))
        elif step.op.name in PRODUCTS and _is_product(step):
            groups.append(group := Group([], True, step.outputs[0].shape))
        else:
            groups.append(group := Group([]))
        group.steps.append(step)
        group.before.update(found for found in producers if found is not group)
        if step.is_random:
            if last_random is not None:
                group.before.add(last_random)
            last_random = group
        for value in step.outputs:
            if value is not None:
                maker[value] = group
    return _ordered(groups)


def _is_product(step: Step) -> bool:
    out = step.outputs[0]
    return out.dtype in FLOATS and out.is_contiguous and out.size > 0 and all(
        value.dtype is out.dtype and value.size for value in step.inputs)


def _can_join(group: Group, step: Step, shape: tuple[int, ...], of_rows: bool, producers: list[Group]) -> bool:
    """Return whether a step can join a group: it has the group's shape, or is one number for each of its rows, or one
    that is computed at the end, and needs nothing that needs the group.
    """
    if not group.fused or (group.steps[0].op.name in PRODUCTS and (of_rows or group.size > BLOCK)):
        return False
    if group.ends.intersection(step.inputs):
        made = {value for one in group.steps for value in one.outputs}
        if of_rows or any(value.size > 1 or (value in made and value not in group.ends)
                          for value in (*step.inputs, *step.outputs)):
            return False
    elif group.shape != shape and not (group.has_rows and not of_rows and group.shape[:-1] and (
            shape == (*group.shape[:-1], 1))):
        return False
    others = [other for other in producers if other is not group]
    seen: set[Group] = set()
    while others:
        other = others.pop()
        if other is group:
            return False
        if other not in seen:
            seen.add(other)
            others.extend(other.before)
    return True


def _ordered(groups: list[Group]) -> list[Group]:
    """Sort groups topologically, otherwise in the order in which they began."""
    done: dict[Group, None] = {}

    for group in groups:
        stack = [group]
        while stack:
            top = stack[-1]
            missing = [other for other in top.before if other not in done]
            if top in done or not missing:
                stack.pop()
                done[top] = None
            else:
                stack.extend(missing)
    return [*done]
