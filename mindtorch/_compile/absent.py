"""Backward graphs where some gradients are absent: without the steps that only these lead to, as uncompiled functions
run no node that no gradient reaches. To compute with zeros in their place is no substitute: zero times infinity is not
zero, and what the steps saved may have been written since.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .._base.layout import contiguous_strides
from .._device import CPU
from .._dispatch.dispatcher import registry
from .._tensor import Tensor
from .graph import Graph, Memory, Step, Value, values_in
from .lowering import NOWHERE

#: Operators, by packet, whose result is zero if all numbers that they take as data are.
SUMS = frozenset({
    "_to_copy", "add", "as_strided_scatter", "cat", "clone", "copy", "cumsum", "diagonal_scatter", "flip", "gather",
    "index", "index_add", "index_copy", "index_put", "index_select", "masked_fill", "mean", "neg", "repeat", "roll",
    "scatter", "scatter_add", "select_scatter", "slice_scatter", "stack", "sub", "sum", "take", "tril", "triu",
    "where"})
#: Those of them whose data may be a number.
ADDENDS = frozenset({"add", "masked_fill", "sub", "where"})
#: Operators whose result is zero, for the layout of another tensor, and with this number.
ZEROS, FILLED = frozenset({"new_zeros", "zeros", "zeros_like"}), {"full": 1, "full_like": 1, "scalar_tensor": 0}
#: Operators whose result is zero if one of their factors is.
PRODUCTS = frozenset({"bmm", "dot", "linalg_vecdot", "mm", "mul", "mv"})


def without(graph: Graph, tangents: Sequence[Value], absent: set[Value]) -> tuple[Graph, list[int]]:
    """Return what a backward graph computes if some of its ``tangents`` are absent, and which of its outputs are left:
    those that another one reaches.

    A step is linear in the gradients, unless a user's ``Function`` computes something else of them: there the zeros
    are made.
    """
    zero = Zeros(graph, tangents, absent)
    for step in graph.steps:
        zero.take(step)
    left = [i for i, value in enumerate(graph.outputs) if value not in zero.unreached]
    outputs = [zero.made_for(graph.outputs[i]) for i in left]
    constants = {**graph.constants}
    return Graph([*graph.inputs], zero.steps, outputs, constants, graph.name), left


class Zeros:
    """The values of a graph that are zero, and the steps that are left."""

    def __init__(self, graph: Graph, tangents: Sequence[Value], absent: set[Value]) -> None:
        self.zero = {*absent, *[value for value, tensor in graph.constants.items() if is_zero(tensor)]}
        self.unreached = {*absent}  #: values that are computed of absent gradients and of no others
        self.gradients = {*tangents}
        self.made: dict[Value, Value] = {}
        self.steps: list[Step] = []

    def take(self, step: Step) -> None:
        """Keep a step, unless it makes zeros."""
        args = step.args
        of_gradients = [value for value in values_in(args) if value in self.gradients]
        outputs = [value for value in step.outputs if value is not None]
        self.gradients.update(outputs if of_gradients else ())
        if of_gradients and all(value in self.unreached for value in of_gradients):
            self.unreached.update(outputs)
        if step.op.packet in ZEROS or (step.op.packet in FILLED and args[FILLED[step.op.packet]] == 0):
            self.zero.update(outputs)
            self.steps += [] if of_gradients else [replace(step)]
        elif of_gradients and self.makes_zeros(step, args, of_gradients):
            self.zero.update(outputs)
        else:
            given = {value: self.made_for(value) for value in values_in(args)}
            self.steps.append(replace(step, args=with_values(args, given), outputs=[*step.outputs]))

    def makes_zeros(self, step: Step, args: Any, of_gradients: list[Value]) -> bool:
        """Return whether all results of a step that takes gradients are zero."""
        packet = step.op.packet
        if step.makes_view or packet.endswith(("_backward", "_backward_data")) or packet in PRODUCTS:
            return all(value in self.zero for value in of_gradients)
        if packet == "div":
            return args[0] in self.zero and of_gradients == [args[0]]
        if packet not in SUMS:
            return False
        data = args[1:] if packet == "where" else args[:2] if packet in ("add", "sub") else args
        if packet in ADDENDS and any(isinstance(one, (int, float, complex)) and one for one in data):
            return False
        return all(value in self.zero for value in values_in(data) if value.dtype.is_floating_point
                   or value.dtype.is_complex)

    def made_for(self, value: Value) -> Value:
        """Return zeros in place of a value that no step computes any more; another value as it is."""
        if value not in self.zero or value not in self.gradients:
            return value
        found = self.made.get(value)
        if found is None:
            found = self.made[value] = Value(f"{value.name}_zeros", value.shape, contiguous_strides(value.shape), 0,
                                             value.dtype, Memory(value.size * value.dtype.itemsize))
            self.steps.append(Step(registry["zeros"], (value.shape, value.dtype, None, CPU, None), [found],
                                   NOWHERE))
        return found


def with_values(args: Any, changed: dict[Value, Value]) -> Any:
    """Return arguments with other values in place of some."""
    if args.__class__ is list or args.__class__ is tuple:
        return args.__class__([with_values(one, changed) for one in args])
    return changed.get(args, args) if args.__class__ is Value else args


def is_zero(tensor: Tensor) -> bool:
    """Return whether all elements of a constant are zero."""
    return not bool(tensor.detach().any())
