"""Lowering: AOTAutograd's graphs of ATen nodes as graphs of steps between values (Inductor's ``GraphLowering``)."""
from __future__ import annotations

import operator
from collections.abc import Callable
from math import prod
from typing import Any

from .._base.symbolic import SymInt
from .._dispatch.dispatcher import TENSOR_TYPES, registry
from .._dispatch.keys import CPU
from .._dispatch.overloads import OpOverload
from ..fx import GraphModule, Node
from ..fx.node import map_arg
from .breaks import CannotCompile
from .dims import sized
from .graph import Graph, Memory, Step, Value, mapped

Site = tuple[str, int, str]
NOWHERE: Site = ("", 0, "")
#: Views that only mark their tensor as conjugate or negative, and what computes them: arrays have no such marks.
COMPUTED = {"_conj": "_conj_physical", "_neg_view": "neg"}


class Lowering:
    """Turns one graph of nodes into steps; ``place`` returns the user's line of a node."""

    def __init__(self, module: GraphModule, names: list[str], place: Callable[[Node], Site], title: str) -> None:
        self.module, self.place = module, place
        self.values: dict[Node, Any] = {}
        self.by_fake: dict[int, Any] = {}
        self.taken: dict[str, int] = {}
        self.steps: list[Step] = []
        self.constants: dict[Value, Any] = {}
        given = module.graph.find_nodes(op="placeholder")
        for node, name in zip(given, [*names, *[node.name for node in given[len(names):]]], strict=True):
            self.values[node] = value = self.value(node.meta["val"], name, None)
            if value.__class__ is Value:
                value.memory.nbytes = None
        inputs = [self.values[node] for node in given if self.values[node].__class__ is Value]
        for node in module.graph.nodes:
            self._lower(node)
        [returned] = module.graph.output_node().args
        self.outputs: list[Any] = [self.values[node] if isinstance(node, Node) else node for node in returned]
        self.graph = Graph(inputs, self.steps, [], self.constants, title)

    def name(self, wanted: str) -> str:
        """Return a name that no other value has."""
        wanted = "".join(c if c.isidentifier() or c.isdigit() else "_" for c in wanted).strip("_") or "x"
        wanted = wanted if wanted.isidentifier() else f"_{wanted}"
        number = self.taken[wanted] = self.taken.get(wanted, -1) + 1
        return f"{wanted}_{number}" if number else wanted

    def value(self, tensor: Any, name: str, base: Value | None) -> Any:
        """Return a value in the layout of a tensor, with the memory of its base or of its own; or a traced size."""
        if tensor.__class__ is SymInt:
            return sized(tensor)
        if tensor._device.type != "cpu":
            raise CannotCompile(f"{name} is on {tensor._device}")
        shape, stride = tuple(map(sized, tensor.shape)), tuple(map(sized, tensor._strides()))
        return Value(self.name(name), shape, stride, sized(tensor._offset), tensor._dtype,
                     Memory(prod(shape) * tensor._dtype.itemsize) if base is None else base.memory)

    def _lower(self, node: Node) -> None:
        if node.op == "get_attr":
            tensor = getattr(self.module, str(node.target))
            if isinstance(tensor, GraphModule):
                raise CannotCompile(f"{node.target} is a graph of its own, of a branch or of a loop")
            self.values[node] = constant = self.value(tensor, "constant", None)
            self.constants[constant] = tensor
        elif node.target is operator.getitem:
            source, number = node.args
            self.values[node] = self.values[source][number]
        elif node.op == "call_function" and node.meta.get("val").__class__ is SymInt:
            self.values[node] = sized(node.meta["val"])
        elif node.op == "call_function":
            self._call(node)
        elif node.op not in ("placeholder", "output"):
            raise CannotCompile(f"the graph has a node {node.op}")

    def _fake(self, node: Node) -> Any:
        """Return the fake tensor of a node, by which arguments are bound, and note its value."""
        fake = node.meta["val"]
        self.by_fake[id(fake)] = self.values[node]
        return fake

    def _call(self, node: Node) -> None:
        if not isinstance(node.target, OpOverload):
            raise CannotCompile(f"the graph calls {node.target}")
        op, made = node.target._operator, node.meta.get("val")  # None: for its effect
        if op.name in COMPUTED:
            op = registry[COMPUTED[op.name]]
            made = op.call(made)
        kernel = op.kernel(CPU)
        if kernel is None or kernel.registered or op.name not in registry.operators:
            raise CannotCompile(f"aten::{op.name} has a kernel of the user's" if kernel is not None else
                                f"aten::{op.name} has no kernel on the CPU")
        args, kwargs = map_arg((node.args, node.kwargs), self._fake)
        taken = tuple([mapped(arg, lambda leaf: sized(self.by_fake.get(id(leaf), leaf)))
                       for arg in node.target._canonical(args, kwargs)])
        several: Any = made if isinstance(made, (list, tuple)) else (made,)
        base = taken[0] if kernel.makes_view and taken[0].__class__ is Value else None
        name = op.packet.strip("_")
        outputs: list[Any] = [self.value(one, name, base) if one.__class__ in TENSOR_TYPES else None
                              for one in several]
        self.steps.append(Step(op, taken, outputs, self.place(node), kernel.makes_view, is_list=several is made))
        self.values[node] = outputs if several is made else outputs[0]
