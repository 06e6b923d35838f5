"""The graphs of a captured call and of its derivative (AOTAutograd's part).

The captured graph is traced on tensors without values, in a recording that continues through the backward pass. The
operators before the backward pass are the forward graph, the others the backward graph. Values that the backward graph
takes from the forward graph are saved.
"""
from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from .._autograd.engine import execute
from .._autograd.function import BackwardCFunction
from .._dispatch.dispatcher import TENSOR_TYPES
from .._dispatch.keys import NONCONTIGUOUS
from .._dispatch.local import local
from ..fx import GraphModule, Node
from ..fx.node import map_arg
from .breaks import CannotCompile
from .graph import Graph, Step, Value
from .tracing import NOWHERE, RECORDED, Tracing, version_of


@dataclass
class Joint:
    """A forward graph, which returns the call's results and then the ``saved`` values, and a backward graph, from the
    saved values and the gradients of ``differentiable`` results to the gradients of ``wanted`` inputs.
    """

    forward: Graph
    backward: Graph | None = None
    saved: tuple[Value, ...] = ()
    differentiable: tuple[int, ...] = ()
    wanted: tuple[int, ...] = ()  #: the inputs that require grad and get one


class Trace:
    """The operators of a captured graph, for inputs like the examples."""

    def __init__(self, module: GraphModule, examples: list[Any]) -> None:
        self.tracing = tracing = Tracing()
        self.grad_enabled = local.grad_enabled
        placeholders = [node for op in ("placeholder", "get_attr") for node in module.graph.nodes if node.op == op]
        names = [re.sub("_(modules|parameters|buffers)_", "_", re.sub("^[LG]_", "", str(node.target))).strip("_")
                 for node in placeholders]
        try:
            with tracing:
                given = [example if example.__class__ is int else self._input(example, name)
                         for example, name in zip(examples, names, strict=True)]
                self.inputs: list[Any] = [one for one in given if one.__class__ is not int]
                versions = [*map(version_of, self.inputs)]
                self.results = self._run(module, dict(zip(placeholders, given, strict=True)))
            if local.grad_enabled is not self.grad_enabled:
                raise CannotCompile("the function switches the grad mode for what follows")
        finally:
            local.grad_enabled = self.grad_enabled
        self.values = [tracing.values[id(tensor)] for tensor in self.inputs]
        written = {value.memory for step in tracing.steps for value in step.written}
        #: Which inputs are written, and how often that counts.
        self.written = {number: version_of(tensor) - version for number, (tensor, version, value) in enumerate(
            zip(self.inputs, versions, self.values, strict=True)) if value.memory in written}
        for number in self.written:
            if self.values[number].requires_grad or self.inputs[number].requires_grad:
                raise CannotCompile(f"{self.values[number].name}, which requires grad, is written in place")
        self._written = written
        #: Whether there are derivatives that no operator has (of ``autograd.Function``).
        self.has_functions = any(isinstance(node, BackwardCFunction) for node in tracing.sites)

    def _input(self, example: Any, name: str) -> Any:
        if example.__class__ not in TENSOR_TYPES or type(example).__name__ not in ("Tensor", "Parameter", "Buffer"):
            raise CannotCompile(f"{name} is a {type(example).__name__}")
        if example._array is None or example._keys & ~RECORDED:
            raise CannotCompile(f"{name} is on {example.device}, or has keys of its own")
        stride = example._strides() if example._keys & NONCONTIGUOUS else None
        return self.tracing.placeholder(tuple(example.shape), stride, example._dtype, example.requires_grad, name)

    def _run(self, module: GraphModule, values: dict[Node, Any]) -> list[Any]:
        """Run the graph node by node, and return its results."""
        for node in module.graph.nodes:
            if node.op in ("placeholder", "get_attr"):
                continue
            args, kwargs = map_arg((node.args, node.kwargs), values.__getitem__)
            if node.op == "output":
                return [*args[0]]
            self.tracing.site = node.meta.get("site", NOWHERE)
            if callable(node.target):
                result = node.target(*args, **kwargs)
            elif node.op == "call_method":
                result = getattr(args[0], node.target)(*args[1:], **kwargs)
            else:
                raise CannotCompile(f"the graph calls the module {node.target}")
            self.tracing.note_nodes(result)
            values[node] = result
        raise CannotCompile("the graph has no output")

    def check_constants(self, roots: list[Value]) -> None:
        """Raise CannotCompile if a tensor made of Python values is written or leaves the graph."""
        visible = {*self._written, *[root.memory for root in roots]}
        for value in self.tracing.constants:
            if value.memory in visible:
                raise CannotCompile(f"{value.name}, a tensor made of Python values, leaves the function or is written")

    def recorded(self, roots: list[Value]) -> Graph:
        """Return the operators as they were traced."""
        return Graph(self.values, self.tracing.steps[:], roots, dict(self.tracing.constants), "recorded")

    def joint(self, roots: list[Value], made: list[Any]) -> Joint:
        """Return the forward and the backward graph whose results are ``roots``, values of the tensors ``made``."""
        tracing = self.tracing
        steps = tracing.steps[:]
        forward = Graph(self.values, [replace(step) for step in steps], roots[:], dict(tracing.constants))
        wanted = [i for i, value in enumerate(self.values) if value.requires_grad]
        differentiable = [i for i, tensor in enumerate(made) if tensor.requires_grad]
        if not (self.grad_enabled and wanted and differentiable):
            return Joint(forward)
        local.grad_enabled = False
        try:
            with tracing:
                gradients = [tracing.placeholder(roots[i].shape, None, roots[i].dtype, False, f"grad_{roots[i].name}")
                             for i in differentiable]
                found = execute([made[i]._grad_edge() for i in differentiable], gradients, True, False,
                                [self.inputs[i]._grad_edge() for i in wanted], True)
                results = [None if gradient is None else tracing.known(gradient) for gradient in found]
        finally:
            local.grad_enabled = self.grad_enabled
        reached = [(i, result) for i, result in zip(wanted, results, strict=True) if result is not None]
        return _divided(tracing, forward, steps, [tracing.values[id(gradient)] for gradient in gradients],
                        differentiable, reached)


def _divided(tracing: Tracing, forward: Graph, before: list[Step], gradients: list[Value], differentiable: list[int],
             reached: list[tuple[int, Value]]) -> Joint:
    """Divide a trace into a forward and a backward graph. A view is made again instead of being saved."""
    steps = tracing.steps[len(before):]
    makers = {value: step for step in before for value in step.outputs if value is not None}
    repeated: dict[Step, Step] = {}
    saved: dict[Value, None] = {}
    own = {value for step in steps for value in step.outputs} | set(gradients)

    def need(values: Iterable[Value]) -> None:
        for value in values:
            if value in own or (value in tracing.constants and value not in makers):
                continue
            step = makers.get(value)
            if step is not None and step.makes_view and not step.op.is_inplace:
                need(step.inputs)
                repeated.setdefault(step, replace(step))  # the passes rewrite the forward graph's own
            else:
                saved[value] = None

    need(value for step in steps for value in step.inputs)
    need(value for _, value in reached)
    kept = [*saved]
    steps = [*repeated.values(), *steps]
    backward = Graph([*kept, *gradients], steps, [value for _, value in reached],
                     {v: c for v, c in tracing.constants.items() if v in _taken(steps)}, "backward")
    forward.outputs += kept
    return Joint(forward, backward, tuple(kept), tuple(differentiable), tuple(i for i, _ in reached))


def _taken(steps: list[Step]) -> set[Value]:
    return {value for step in steps for value in step.inputs}
