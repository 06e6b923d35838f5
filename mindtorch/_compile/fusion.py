"""Fusion (the scheduler of PyTorch's Inductor): one kernel for a chain of pointwise operators, or for a matrix product
and the pointwise operators after it.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._backends.common.blocks import BLOCK
from .._backends.common.pointwise import Pointwise, PreparedUfunc
from .._backends.cpu.ops import CPU_KERNELS
from .._dispatch.dispatcher import registry
from .._dtype import bool_, float32, float64
from .graph import Graph, Step, Value, values_in

#: Matrix products that can begin a kernel.
PRODUCTS = frozenset({"mm", "bmm"})
FLOATS = (float32, float64)


@dataclass(eq=False)
class Group:
    """Steps that run together, in order; of ``shape`` if they are fused."""

    steps: list[Step]
    fused: bool = False
    before: set[Group] = field(default_factory=set)  #: the groups whose results it needs

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape over which a fused kernel runs."""
        return self.steps[-1].outputs[0].shape

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


def groups_of(graph: Graph) -> list[Group]:
    """Divide the graph's steps into groups, in an order in which they can run."""
    maker: dict[Value, Group] = {}
    groups: list[Group] = []
    last_random: Group | None = None
    for step in graph.steps:
        producers = [maker[value] for value in dict.fromkeys(step.inputs) if value in maker]
        group = None
        if pointwise_row(step) is not None:
            group = next((found for found in reversed(producers) if _can_join(found, step, producers)), None)
            if group is None:
                groups.append(group := Group([], True))
        elif step.op.name in PRODUCTS and _is_product(step):
            groups.append(group := Group([], True))
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


def _can_join(group: Group, step: Step, producers: list[Group]) -> bool:
    """Return whether a step can join a group: it has the group's shape and needs nothing that needs the group."""
    out = step.outputs[0]
    if not group.fused or group.shape != out.shape:
        return False
    if group.steps[0].op.name in PRODUCTS and group.size > BLOCK:
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
