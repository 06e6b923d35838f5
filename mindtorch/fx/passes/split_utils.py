"""A graph divided into modules by the tags of its nodes (``torch.fx.passes.split_utils``)."""
from __future__ import annotations

import copy
import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node, map_arg
from .utils.common import HolderModule, lift_subgraph_as_module

__all__ = ["Component", "getattr_recursive", "setattr_recursive", "split_by_tags"]
__dir__ = __all__.copy


def getattr_recursive(obj: Any, name: str) -> Any:
    """Return an attribute by its path, or None (``torch.fx.passes.split_utils.getattr_recursive``)."""
    for part in name.split("."):
        obj = getattr(obj, part, None)
    return obj


def setattr_recursive(obj: Any, attr: str, value: Any) -> None:
    """Assign an attribute by its path (``torch.fx.passes.split_utils.setattr_recursive``)."""
    *owners, name = attr.split(".")
    for part in owners:
        obj = getattr(obj, part)
    setattr(obj, name, value)


@dataclass
class Component:
    """The nodes of one tag, as a graph (``torch.fx.passes.split_utils.Component``)."""

    graph: Graph
    order: int
    name: str
    inputs: dict[Node, Node] = field(default_factory=dict)
    orig_outputs: list[Node] = field(default_factory=list)
    getattr_maps: dict[Node, Node] = field(default_factory=dict)
    gm: GraphModule | None = None


def split_by_tags(gm: GraphModule, tags: Sequence[str], return_fqn_mapping: bool = False, return_tuple: bool = False,
                  GraphModuleCls: type[GraphModule] = GraphModule) -> Any:
    """Return a module that calls a module for each tag, in this order; ``node.tag`` has the tag of each node that calls
    something (``torch.fx.passes.split_utils.split_by_tags``). With ``return_fqn_mapping``, return also the new path of
    each attribute by the old one.

    Raises:
        AssertionError: if a node has no tag, or uses a node of a later one.
    """
    components = {tag: Component(Graph(), order, tag) for order, tag in enumerate(tags)}
    of_node: dict[Node, Component] = {}
    copies: dict[Node, Node] = {}
    main = Graph()
    values: dict[Node, Node] = {}
    used_in_main: dict[Node, None] = {}
    for node in gm.graph.nodes:
        if node.op == "placeholder":
            values[node] = main.placeholder(node.name, type_expr=node.type)
            values[node].meta = copy.copy(node.meta)
        if node.op in ("placeholder", "get_attr", "output"):
            continue
        assert hasattr(node, "tag"), f"Node does not have tag: {node.format_node()}"
        component = of_node[node] = components[node.tag]
        latest = max((of_node[used].order for used in node.all_input_nodes if used in of_node), default=0)
        assert component.order >= latest, (f"Component {component.name} order must be >= max of its upstream "
                                           f"components, order={component.order} and max={latest}")

        def remap(used: Node, component: Component = component) -> Node:
            known = component.getattr_maps if used.op == "get_attr" else component.inputs
            if used in of_node and of_node[used] is component:
                return copies[used]
            if used not in known:
                known[used] = (component.graph.get_attr(str(used.target), used.type) if used.op == "get_attr"
                               else component.graph.placeholder(used.name, used.type))
                known[used].meta = copy.copy(used.meta)
                if used.op != "get_attr":
                    used_in_main[used] = None
            return known[used]

        copies[node] = component.graph.node_copy(node, remap)
        copies[node].tag = node.tag  # type: ignore[attr-defined]
    output = gm.graph.output_node()
    for node in output.all_input_nodes:
        if node.op == "get_attr":
            values[node] = main.get_attr(node.name, type_expr=node.type)
        else:
            used_in_main[node] = None
    for node in used_in_main:
        if node.op != "placeholder":
            of_node[node].orig_outputs.append(node)
    paths: dict[str, str] = {}
    for component in components.values():
        paths.update(_finish(component, gm, main, copies, values, return_tuple))
    main.output(map_arg(output.args[0], values.__getitem__))
    main._codegen = gm.graph._codegen
    root = HolderModule({component.name: component.gm for component in components.values()})
    for node in output.all_input_nodes:
        if node.op == "get_attr":
            setattr(root, node.name, getattr_recursive(gm, str(node.target)))
    result = GraphModuleCls(root, main)
    return (result, paths) if return_fqn_mapping else result


def _finish(component: Component, gm: GraphModule, main: Graph, copies: dict[Node, Node], values: dict[Node, Node],
            return_tuple: bool) -> dict[str, str]:
    """Make a component's module, and add its call to the main graph."""
    results = tuple(copies[node] for node in component.orig_outputs)
    single = len(results) == 1 and not return_tuple
    component.graph.output(results[0] if single else results)
    component.gm, paths = lift_subgraph_as_module(gm, component.graph, component.name)
    call = main.call_module(component.name, tuple(values[node] for node in component.inputs))
    for at, node in enumerate(component.orig_outputs):
        values[node] = call if single else main.call_function(operator.getitem, (call, at))
    return paths
