"""A graph divided into modules that call each other's results (``torch.fx.passes.split_module``)."""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ...nn.module import Module
from ..graph import NO_DEFAULT, Graph
from ..graph_module import GraphModule, _get_attr
from ..node import Node, map_arg

__all__ = ["Partition", "split_module"]
__dir__ = __all__.copy


class Partition:
    """The nodes that become one module (``torch.fx.passes.split_module.Partition``): those of the original graph, and
    their copies in ``graph``.
    """

    def __init__(self, name: str):
        self.name, self.submod_name = name, f"submod_{name}"
        self.nodes: dict[Node, None] = {}
        self.inputs: dict[Node, None] = {}
        self.outputs: dict[Node, None] = {}
        self.dependencies: dict[Partition, None] = {}
        self.dependents: dict[Partition, None] = {}
        self.graph = Graph()
        self.environment: dict[Node, Node] = {}
        self.targets: dict[str, Any] = {}

    def __repr__(self) -> str:
        return (f"name: {self.name},\n nodes: {list(self.nodes)},\n inputs: {list(self.inputs)},\n"
                f" outputs: {list(self.outputs)}")


def split_module(m: GraphModule, root_m: Module | None, split_callback: Callable[[Node], Any],
                 qualname_map: dict[str, str] | None = None, keep_original_order: bool | None = False,
                 keep_original_node_name: bool | None = False, keep_original_input_name: bool = True, *,
                 partition_affix: str | None = None, tuple_return: bool = False) -> GraphModule:
    """Return a module that calls ``submod_0``, ``submod_1``, ...: ``split_callback(node)`` returns the number of each
    node's module (``torch.fx.passes.split_module.split_module``).

    Args:
        m: the module to divide.
        root_m: not used, as in PyTorch.
        split_callback: the number, or name, of a node's module.
        qualname_map: receives the old path of each attribute by its new one.
        keep_original_order: whether modules are called in the order of their first nodes, rather than sorted.
        keep_original_node_name: whether the nodes keep their names.
        keep_original_input_name: whether inputs have the names of the nodes that they come from, rather than numbers.
        partition_affix: a part of the modules' names.
        tuple_return: whether a module with one result returns a tuple.

    Raises:
        RuntimeError: if modules need each other's results.
    """
    parts, part_of = _partitions(m, split_callback, partition_affix)
    order = _sorted(list(parts.values()))
    for part in order:
        _add_inputs(part, m, keep_original_input_name)
    for node, part in part_of.items():
        _copy(node, part, m, qualname_map, bool(keep_original_node_name))
    base = Graph()
    values: dict[Node, Node] = {}
    attributes: dict[str, Any] = {}

    def take(node: Node) -> None:
        if node.op == "placeholder":
            name = node.name if keep_original_node_name else str(node.target)
            values[node] = base.placeholder(name, node.type, node.args[0] if node.args else NO_DEFAULT)
        else:
            values[node] = base.get_attr(str(node.target))
            attributes[str(node.target)] = _get_attr(m, str(node.target))
        values[node].meta = node.meta.copy()

    outside = [node for node in m.graph.nodes if node.op in ("placeholder", "get_attr")]
    for node in outside:
        if node.op == "placeholder" or not keep_original_order:
            take(node)
    for part in list(parts.values()) if keep_original_order else order:
        for node in part.inputs:
            if node not in values:
                take(node)
        results = tuple(part.environment[node] for node in part.outputs)
        single = len(results) == 1 and not tuple_return
        part.graph.output(results[0] if single else results)
        attributes[part.submod_name] = GraphModule(part.targets, part.graph)
        call = base.call_module(part.submod_name, tuple(values[node] for node in part.inputs))
        for at, node in enumerate(part.outputs):
            values[node] = call if single else base.call_function(operator.getitem, (call, at))
    for node in m.graph.find_nodes(op="output"):
        for used in node.all_input_nodes:
            if used not in values:
                take(used)
        base.output(map_arg(node.args[0], values.__getitem__))
    result = GraphModule(attributes, base)
    result.meta["partition_names"] = {part.submod_name for part in parts.values()}
    return result


def _partitions(m: GraphModule, split_callback: Callable[[Node], Any],
                affix: str | None) -> tuple[dict[str, Partition], dict[Node, Partition]]:
    """Return the parts by name, and the part of each node, with what they take from each other."""
    parts: dict[str, Partition] = {}
    part_of: dict[Node, Partition] = {}
    for node in m.graph.nodes:
        if node.op in ("placeholder", "get_attr", "output"):
            continue
        number = split_callback(node)
        name = str(number) if affix is None else f"{affix}_{number}"
        part = part_of[node] = parts.setdefault(name, Partition(name))
        part.nodes[node] = None
    for node in m.graph.nodes:
        user = part_of.get(node)
        for used in node.all_input_nodes if user is not None or node.op == "output" else ():
            maker = part_of.get(used)
            if maker is user:
                continue
            if maker is not None:
                maker.outputs[used] = None
            if user is not None:
                user.inputs[used] = None
            if maker is not None and user is not None:
                user.dependencies[maker] = maker.dependents[user] = None
    return parts, part_of


def _sorted(parts: list[Partition]) -> list[Partition]:
    """Return the parts in an order in which each stands after those that it depends on."""
    waiting = {part: len(part.dependencies) for part in parts}
    ready = [part for part in parts if not part.dependencies]
    found = []
    while ready:
        part = ready.pop()
        found.append(part)
        for dependent in part.dependents:
            waiting[dependent] -= 1
            if not waiting[dependent]:
                ready.append(dependent)
    if len(found) < len(parts):
        raise RuntimeError("cycle exists between partitions!")
    return found


def _add_inputs(part: Partition, m: GraphModule, keep_name: bool) -> None:
    """Add a placeholder for each input of a part; a module that it reads becomes its own instead."""
    inputs: dict[Node, None] = {}
    read = {node for node in part.inputs
            if node.op == "get_attr" and isinstance(_get_attr(m, str(node.target)), Module)}
    for node in sorted(part.inputs, key=lambda node: node in read):
        if node in read:
            found = part.graph.get_attr(str(node.target))
            part.targets[str(node.target)] = _get_attr(m, str(node.target))
        else:
            found = part.graph.placeholder(node.name if keep_name else f"arg_{len(inputs)}", node.type)
            inputs[node] = None
        found.meta = node.meta.copy()
        part.environment[node] = found
    part.inputs = inputs


def _copy(node: Node, part: Partition, m: GraphModule, qualname_map: dict[str, str] | None, keep_name: bool) -> None:
    """Add a copy of a node to its part."""
    target = node.target
    if node.op == "call_module":
        target = str(node.target).replace(".", "_")
        part.targets[target] = _get_attr(m, str(node.target))
        if qualname_map is not None:
            qualname_map[f"{part.submod_name}.{target}"] = str(node.target)
    args, kwargs = map_arg((node.args, node.kwargs), part.environment.__getitem__)
    copied = part.graph.create_node(node.op, target, args, kwargs, node.name if keep_name else None, node.type)
    copied.meta = node.meta.copy()
    part.environment[node] = copied
