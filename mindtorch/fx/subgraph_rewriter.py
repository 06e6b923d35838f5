"""Parts of a graph that look like a pattern, replaced by another graph (``torch.fx.subgraph_rewriter``)."""
from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..nn.module import Module
from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule, _get_attr, _has_attr
from .node import Node
from .passes.utils.matcher_utils import InternalMatch, SubgraphMatcher

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]
__dir__ = __all__.copy
Pattern = Callable[..., Any] | Graph | GraphModule
Filter = Callable[[InternalMatch, Graph, Graph], bool]


class Match(NamedTuple):
    """A place that was replaced: the node from which the search started, and the node of the graph for each node of the
    pattern (``torch.fx.subgraph_rewriter.Match``).
    """

    anchor: Node
    nodes_map: dict[Node, Node]


@dataclass
class ReplacedPatterns:
    """A place that was replaced, and the nodes that replace it (``torch.fx.subgraph_rewriter.ReplacedPatterns``)."""

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


def replace_pattern(gm: GraphModule, pattern: Pattern, replacement: Pattern) -> list[Match]:
    """Replace each part of a graph that looks like a pattern, and return the places (``torch.fx.replace_pattern``).
    Both pattern and replacement are functions, modules or graphs with the same parameters and as many results; a
    parameter stands for any value. Of parts that share nodes, the first is replaced.
    """
    return [Match(found.anchor, found.nodes_map) for found in replace_pattern_with_filters(gm, pattern, replacement)]


def replace_pattern_with_filters(gm: GraphModule, pattern: Pattern, replacement: Pattern | None = None,
                                 match_filters: Sequence[Filter] | None = None, ignore_literals: bool = False,
                                 replacement_callback: Callable[[InternalMatch, Graph, Graph], Graph] | None = None,
                                 node_name_match: str = "") -> list[ReplacedPatterns]:
    """Replace parts of a graph like ``replace_pattern``, if all filters return True. The replacement may be made for
    each place by ``replacement_callback(match, graph, pattern)``
    (``torch.fx.subgraph_rewriter.replace_pattern_with_filters``).
    """
    assert replacement is not None or replacement_callback is not None, (
        "Must provide either a replacement GraphModule or a replacement callback")
    graph, pattern_graph = gm.graph, _graph_of(pattern)
    common = None if replacement is None else _graph_of(replacement)
    matches = [match for match in SubgraphMatcher(pattern_graph, ignore_literals=ignore_literals).match(
        graph, node_name_match) if all(wanted(match, graph, pattern_graph) for wanted in match_filters or ())]
    replaced: dict[Node, Node] = {}  # results of earlier places, which later ones may take as inputs
    found = []
    for match in matches:
        for pattern_node, node in match.nodes_map.items():
            if pattern_node.op == "placeholder" and isinstance(node, Node):
                match.nodes_map[pattern_node] = replaced.get(node, node)
        match.placeholder_nodes = [replaced.get(node, node) if isinstance(node, Node) else node
                                   for node in match.placeholder_nodes]
        new = common if replacement_callback is None else replacement_callback(match, graph, pattern_graph)
        assert new is not None
        nodes, results = _insert(graph, match, new)
        replaced.update(zip(match.returning_nodes, results, strict=True))
        for node in reversed(pattern_graph.nodes):
            if node.op not in ("placeholder", "output"):
                graph.erase_node(match.nodes_map[node])
        found.append(ReplacedPatterns(match.anchors[0], match.nodes_map, nodes))
    gm.recompile()
    if isinstance(replacement, Module):
        _replace_attributes(gm, replacement)
    return found


def _graph_of(pattern: Pattern) -> Graph:
    if isinstance(pattern, Graph):
        return pattern
    return pattern.graph if isinstance(pattern, GraphModule) else symbolic_trace(pattern).graph


def _insert(graph: Graph, match: InternalMatch, new: Graph) -> tuple[list[Node], Sequence[Node]]:
    """Add a copy of a graph before the first user of a place's results, and have the users use it. Return the nodes of
    the copy, and those of its results.
    """
    placeholders = new.find_nodes(op="placeholder")
    assert len(placeholders) == len(match.placeholder_nodes), (
        f"the replacement has {len(placeholders)} parameters, the pattern {len(match.placeholder_nodes)}")
    values = dict(zip(placeholders, match.placeholder_nodes, strict=True))
    users = {user for node in match.returning_nodes for user in node.users}
    before = min(users) if users else max(match.returning_nodes).next
    with graph.inserting_before(before):
        results = graph.graph_copy(new, values)
    results = (results,) if isinstance(results, Node) else results
    assert len(results) == len(match.returning_nodes), (
        f"the replacement has {len(results)} results, the pattern {len(match.returning_nodes)}")
    given = {id(value) for value in match.placeholder_nodes}
    for old, result in zip(match.returning_nodes, results, strict=True):
        old.replace_all_uses_with(result)
    return [node for node in values.values() if id(node) not in given], results


def _replace_attributes(gm: GraphModule, replacement: Module) -> None:
    """Remove the modules that a graph no longer names, and copy those that it names from the replacement.

    Raises:
        RuntimeError: if neither has one.
    """
    gm.delete_all_unused_submodules()
    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr") or _has_attr(gm, str(node.target)):
            continue
        target = str(node.target)
        if not _has_attr(replacement, target):
            raise RuntimeError(f'Attempted to create a "{node.op}" node during subgraph rewriting with target '
                               f"{target}, but the referenced attribute does not exist in the replacement GraphModule")
        value = copy.deepcopy(_get_attr(replacement, target))
        if isinstance(value, Module):
            gm.add_submodule(target, value)
        else:
            setattr(gm, target, value)
    gm.graph.lint()
