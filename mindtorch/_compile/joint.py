"""The graphs of a captured call and of its derivative, traced and divided by AOTAutograd, as steps."""
from __future__ import annotations

import re
from bisect import bisect
from dataclasses import dataclass, field
from typing import Any

from .._autograd.node import next_sequence_nr
from .._base.layout import contiguous_strides
from .._dispatch.dispatcher import TENSOR_TYPES, registry
from .._dispatch.keys import AUTOGRAD, CPU, NONCONTIGUOUS
from .._functorch._aot_autograd.schemas import COMPUTED, OutputType, ViewAndMutationMeta
from .._functorch.aot_autograd import AOTConfig, trace
from .._functorch.partitioners import default_partition
from .._tensor import Tensor
from ..fx import GraphModule, Node, traceback
from ..fx.node import map_arg
from .breaks import CannotCompile
from .graph import Graph, Memory, Step, Value
from .lowering import NOWHERE, Lowering, Site

#: The keys of tensors that programs take.
TAKEN = CPU | AUTOGRAD | NONCONTIGUOUS


@dataclass
class Joint:
    """A forward graph, which returns its ``roots`` and then the values that are saved, and a backward graph, from the
    saved values and the gradients of ``differentiable`` roots to the gradients of ``wanted`` inputs.
    """

    forward: Graph
    meta: ViewAndMutationMeta | None = None
    roots: int = 0
    backward: Graph | None = None
    differentiable: tuple[int, ...] = ()
    tangents: tuple[Value, ...] = ()
    wanted: tuple[int, ...] = ()  #: the inputs that require grad and get one
    saved_inputs: dict[int, int] = field(default_factory=dict)  #: by position among the saved values: the input


class Captured:
    """A captured module that AOTAutograd traces node by node. The nodes that it traces bear the lines of the user's
    that they come from, those of the backward pass by the numbers of autograd's nodes.
    """

    def __init__(self, module: GraphModule, examples: list[Any]) -> None:
        self.module = module
        self.numbers = [None if isinstance(one, Tensor) else one for one in examples]  #: arguments that are no tensors
        self.orders: list[int] = []  #: the first number of autograd's nodes of each captured node
        self.sites: list[Site] = []
        self.places: list[Any] = []  #: for each result: its number among the different ones, or a constant in a tuple

    def __call__(self, *tensors: Any, numbers: list[Any] | None = None) -> list[Any]:
        """Run the graph, and return its different tensors; for other ``numbers`` if they are given."""
        given = iter(tensors)
        values: dict[Node, Any] = {}
        for node, number in zip(inputs_of(self.module), numbers or self.numbers, strict=True):
            values[node] = next(given) if number is None else number
        self.orders, self.sites = [], []
        results = self._run(values)
        different = {id(one): one for one in results if one.__class__ in TENSOR_TYPES}
        order = {key: number for number, key in enumerate(different)}
        self.places = [order.get(id(one), (one,)) for one in results]
        return [*different.values()]

    def _run(self, values: dict[Node, Any]) -> list[Any]:
        for node in self.module.graph.nodes:
            if node in values:
                continue
            args, kwargs = map_arg((node.args, node.kwargs), values.__getitem__)
            if node.op == "output":
                return [*args[0]]
            if node.op == "get_attr":  # the graph of a function
                values[node] = getattr(self.module, str(node.target))
                continue
            self.orders.append(next_sequence_nr())
            self.sites.append(node.meta.get("site", NOWHERE))
            traceback.current_meta = {"site": self.sites[-1]}
            if callable(node.target):
                values[node] = node.target(*args, **kwargs)
            elif node.op == "call_method":
                values[node] = getattr(args[0], node.target)(*args[1:], **kwargs)
            else:
                raise CannotCompile(f"the graph calls the module {node.target}")
        raise CannotCompile("the graph has no output")

    def place(self, node: Node) -> Site:
        """Return the user's line of a traced node."""
        order = node.meta.get("seq_nr")
        number = 0 if order is None else bisect(self.orders, order)
        found: Site = self.sites[number - 1] if number else node.meta.get("site", NOWHERE)
        return found


def inputs_of(module: GraphModule) -> list[Node]:
    """Return the nodes of what a captured graph takes: its arguments, then its own tensors."""
    own = [node for node in module.graph.find_nodes(op="get_attr")
           if isinstance(getattr(module, str(node.target)), Tensor)]
    return [*module.graph.find_nodes(op="placeholder"), *own]


def names_of(module: GraphModule, examples: list[Any]) -> list[str]:
    """Return the names of a captured graph's tensors as the user knows them."""
    return [re.sub("_(modules|parameters|buffers)_", "_", re.sub("^[LG]_", "", str(node.target))).strip("_")
            for node, example in zip(inputs_of(module), examples, strict=True) if example.__class__ in TENSOR_TYPES]


def check_input(example: Any, name: str) -> None:
    """Raise CannotCompile for a tensor that no program takes."""
    if type(example).__name__ not in ("Tensor", "Parameter", "Buffer"):
        raise CannotCompile(f"{name} is a {type(example).__name__}")
    if example._array is None or example._keys & ~TAKEN:
        raise CannotCompile(f"{name} is on {example.device}, or has keys of its own")


def check_effects(meta: ViewAndMutationMeta, names: list[str]) -> None:
    """Raise CannotCompile for what a call does to its inputs and no program does."""
    for info, name in zip(meta.input_info, names, strict=True):
        if info.mutates_metadata:
            raise CannotCompile(f"the layout of {name} is changed in place")
        if info.mutates_data and info.requires_grad:
            raise CannotCompile(f"{name}, which requires grad, is written in place")
    if meta.grad_enabled_mutation is not None:
        raise CannotCompile("the function switches the grad mode for what follows")
    if any(info.output_type is OutputType.custom_function_view for info in meta.output_info):
        raise CannotCompile("an autograd.Function returns a view of its input")


def joint_of(captured: Captured, tensors: list[Any], names: list[str]) -> Joint:
    """Trace a captured graph for tensors like these, and divide it."""
    config = AOTConfig(None, None, None, {}, aliases_as_eager=True)
    with traceback.preserve_node_meta():
        traced = trace(captured, tensors, config)
    meta = traced.meta
    check_effects(meta, names)
    if not traced.is_joint:
        forward = Lowering(traced.graph, names, captured.place, "forward")
        return Joint(*_forward(forward, meta))
    first, second = default_partition(traced.graph, num_fwd_outputs=meta.num_forward_returns, recompute_views=True)
    forward = Lowering(first, names, captured.place, "forward")
    graph, _, count = _forward(forward, meta)
    kept_for_later = forward.outputs[meta.num_forward_returns:]
    saved = _as_they_were(graph, [value for value in kept_for_later if value.__class__ is Value])
    kept = roots_of(meta)
    differentiable = [i for i, number in enumerate(kept) if meta.returns_with_tangents[number]]
    known = iter(saved)
    named = [*[next(known).name if value.__class__ is Value else "size" for value in kept_for_later],
             *[f"grad_{graph.outputs[i].name}" for i in differentiable]]
    backward = Lowering(second, named, captured.place, "backward")
    wanted = [i for i, value in enumerate(backward.outputs) if value.__class__ is Value]
    backward.graph.outputs = [backward.outputs[i] for i in wanted]
    places = {value: number for number, value in enumerate(graph.inputs)}
    graph.outputs += saved
    tangents = tuple(backward.graph.inputs[len(saved):])
    return Joint(graph, meta, count, backward.graph, tuple(differentiable),
                 tangents, tuple(wanted),
                 {i: places[value] for i, value in enumerate(saved) if value in places})


def roots_of(meta: ViewAndMutationMeta) -> list[int]:
    """Return which results of AOTAutograd's forward graph a program returns: neither written inputs nor aliases."""
    first = meta.num_mutated_inp_runtime_indices
    return [*[first + i for i, info in enumerate(meta.output_info) if info.output_type in COMPUTED],
            *range(first + meta.num_outputs, meta.num_forward_returns)]


def _as_they_were(graph: Graph, saved: list[Value]) -> list[Value]:
    """Return the values to save, with copies of those that the graph writes at its end."""
    written = {target.memory for target, _ in graph.writes}
    kept = []
    for value in saved:
        if value.memory in written:
            copy = Value(f"{value.name}_before", value.shape, contiguous_strides(value.shape), 0, value.dtype,
                         Memory(value.size * value.dtype.itemsize))
            graph.steps.append(Step(registry["clone"], (value, "contiguous_format"), [copy], NOWHERE))
            value = copy
        kept.append(value)
    return kept


def _forward(lowering: Lowering, meta: ViewAndMutationMeta) -> tuple[Graph, ViewAndMutationMeta, int]:
    graph = lowering.graph
    written = meta.mutated_inp_runtime_indices
    graph.writes = [(graph.inputs[i], value) for i, value in zip(written, lowering.outputs, strict=False)]
    for target, value in graph.writes:
        if value.shape != target.shape:
            raise CannotCompile(f"an operator gives the tensor passed as out= another shape: {target.name}")
    graph.outputs = [lowering.outputs[i] for i in roots_of(meta)]
    return graph, meta, len(graph.outputs)
