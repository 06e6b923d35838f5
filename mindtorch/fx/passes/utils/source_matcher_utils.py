"""Nodes by the module or function of the program that they come from (``torch.fx.passes.utils.source_matcher_utils``).
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...graph import Graph
from ...node import Node

__all__ = ["SourcePartition", "check_subgraphs_connected", "get_source_partitions"]
__dir__ = __all__.copy


@dataclass
class SourcePartition:
    """The nodes of one module or call, with the nodes that they take values from, those that others use, and the
    parameters (``torch.fx.passes.utils.source_matcher_utils.SourcePartition``).
    """

    nodes: list[Node]
    source: Any
    input_nodes: list[Node] = field(default_factory=list)
    output_nodes: list[Node] = field(default_factory=list)
    params: list[Node] = field(default_factory=list)


def _source(node: Node, wanted: Sequence[Any]) -> tuple[Any, str] | None:
    """Return the wanted source of a node, and the path that tells calls of it apart."""
    if (stack := node.meta.get("source_fn_stack")) is not None:
        path, source = stack[-1][:2]
        return (source, path) if source in wanted else None
    if (call := node.meta.get("torch_fn")) is not None and call[1].split(".")[1] in wanted:
        return call[1].split(".")[1], call[0]
    modules = list((node.meta.get("nn_module_stack") or {}).values())
    if not modules or node.op != "call_function":
        return None
    path, kind = modules[-1]
    for source in wanted:
        if kind == source or (isinstance(source, type) and (
                issubclass(kind, source) if isinstance(kind, type)
                else kind == f"{source.__module__}.{source.__qualname__}")):
            return source, path
    return None


def get_source_partitions(graph: Graph, wanted_sources: Sequence[Any],
                          filter_fn: Callable[[Node], bool] | None = None) -> dict[Any, list[SourcePartition]]:
    """Return the nodes of each call of the wanted modules and functions, by these; all nodes of a part must pass the
    filter (``torch.fx.passes.utils.source_matcher_utils.get_source_partitions``).
    """
    parts: dict[Any, dict[str, list[Node]]] = {}
    for node in graph.nodes:
        if (found := _source(node, wanted_sources)) is not None:
            source, path = found
            parts.setdefault(source, {}).setdefault(path, []).append(node)
    return {source: [_partition(nodes, source) for nodes in calls.values()
                     if filter_fn is None or all(map(filter_fn, nodes))] for source, calls in parts.items()}


def _partition(nodes: list[Node], source: Any) -> SourcePartition:
    inside = set(nodes)
    inputs = [arg for node in nodes for arg in node.args
              if isinstance(arg, Node) and arg not in inside and arg.op != "get_attr"]
    outputs = [node for node in nodes if node.op != "get_attr" and not inside >= node.users.keys()]
    return SourcePartition(nodes, source, list(dict.fromkeys(inputs)), outputs,
                           [node for node in nodes if node.op == "get_attr"])


def check_subgraphs_connected(subgraph1: SourcePartition, subgraph2: SourcePartition) -> bool:
    """Return True if a node of the second part uses one of the first
    (``torch.fx.passes.utils.source_matcher_utils.check_subgraphs_connected``).
    """
    return any(user in subgraph2.nodes for node in subgraph1.nodes for user in node.users)
