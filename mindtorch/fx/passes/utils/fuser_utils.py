"""Parts of a graph moved into modules of their own (``torch.fx.passes.utils.fuser_utils``)."""
from __future__ import annotations

import copy
import operator
from collections.abc import Iterable, Sequence

from ...graph import Graph
from ...graph_module import GraphModule
from ...node import Node
from ..tools_common import stable_topological_sort
from ._order import is_convex, sorted_nodes
from .common import lift_subgraph_as_module

validate_partition = is_convex


def topo_sort(nodes: Iterable[Node]) -> list[Node]:
    """Return nodes in an order in which each stands after those that it uses
    (``torch.fx.passes.utils.fuser_utils.topo_sort``).
    """
    nodes = list(nodes)
    found = sorted_nodes(nodes)
    assert len(found) == len(nodes), "the nodes use each other in a cycle"
    return found


def fuse_as_graphmodule(gm: GraphModule, nodes: Sequence[Node], module_name: str,
                        partition_lookup_table: Iterable[Node] | None = None, *, always_return_tuple: bool = False
                        ) -> tuple[GraphModule, tuple[Node, ...], tuple[Node, ...]]:
    """Return a copy of some nodes as a module, the nodes that are its inputs, and those that are its outputs
    (``torch.fx.passes.utils.fuser_utils.fuse_as_graphmodule``).

    Raises:
        AssertionError: if the nodes do not belong to ``gm``, or cannot run as one.
    """
    for node in nodes:
        assert node.graph.owning_module is gm, f"{node} doesn't belong to passed in graph module {gm._get_name()}"
        assert not node._erased, f"{node} has been removed from owning graph"
    assert is_convex(nodes), "Invalid partition, found dependency cycles"
    inside = set(nodes)
    subgraph = Graph()
    inputs: dict[Node, Node] = {}
    copies: dict[Node, Node] = {}

    def remap(node: Node) -> Node:
        if node in inside:
            return copies[node]
        if node not in inputs:
            inputs[node] = subgraph.placeholder(node.name, type_expr=node.type)
            inputs[node].meta = copy.copy(node.meta)
        return inputs[node]

    for node in nodes:
        copies[node] = subgraph.node_copy(node, remap)
    outputs = tuple(node for node in nodes if not inside >= node.users.keys())
    results = tuple(copies[node] for node in outputs)
    subgraph.output(results[0] if len(results) == 1 and not always_return_tuple else results)
    subgraph.lint()
    return lift_subgraph_as_module(gm, subgraph, class_name=module_name)[0], tuple(inputs), outputs


def insert_subgm(gm: GraphModule, sub_gm: GraphModule, orig_inputs: tuple[Node, ...], orig_outputs: tuple[Node, ...],
                 insertion_point: Node | None = None) -> GraphModule:
    """Add a call of a module after ``insertion_point``, or the last of the nodes that its outputs replace, and have the
    users of these use it (``torch.fx.passes.utils.fuser_utils.insert_subgm``).
    """
    name = type(sub_gm).__name__
    gm.add_submodule(name, sub_gm)
    after = max(orig_outputs) if insertion_point is None else insertion_point
    with gm.graph.inserting_after(after):
        call = gm.graph.call_module(name, orig_inputs)
    if len(orig_outputs) == 1 and not isinstance(sub_gm.graph.output_node().args[0], tuple):
        orig_outputs[0].replace_all_uses_with(call, propagate_meta=True)
        return gm
    with gm.graph.inserting_before(call.next):
        for at, output in enumerate(orig_outputs):
            item = gm.graph.call_function(operator.getitem, (call, at))
            output.replace_all_uses_with(item, propagate_meta=True)
    call.meta["val"] = tuple(output.meta.get("val") for output in orig_outputs)
    return gm


def erase_nodes(gm: GraphModule, nodes: Sequence[Node]) -> None:
    """Remove nodes, the last one first (``torch.fx.passes.utils.fuser_utils.erase_nodes``)."""
    for node in reversed(nodes):
        gm.graph.erase_node(node)


def fuse_by_partitions(gm: GraphModule, partitions: Iterable[Iterable[Node]], prefix: str = "fused_",
                       always_return_tuple: bool = False) -> GraphModule:
    """Move each part of a graph into a module of its own (``torch.fx.passes.utils.fuser_utils.fuse_by_partitions``)."""
    for number, partition in enumerate(partitions):
        nodes = topo_sort(partition)
        module, inputs, outputs = fuse_as_graphmodule(gm, nodes, f"{prefix}{number}", partition,
                                                      always_return_tuple=always_return_tuple)
        insert_subgm(gm, module, inputs, outputs, nodes[-1])
        erase_nodes(gm, nodes)
    stable_topological_sort(gm).graph.lint()
    return gm
