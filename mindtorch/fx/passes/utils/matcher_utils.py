"""Places in a graph that look like a pattern (``torch.fx.passes.utils.matcher_utils``)."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...._dispatch.overloads import OpOverload
from ...._tensor import Tensor
from ...graph import Graph
from ...graph_module import _get_attr
from ...node import Node
from ._order import is_convex

__all__ = ["InternalMatch", "SubgraphMatcher"]
__dir__ = __all__.copy
ENDS = ("placeholder", "output")


@dataclass
class InternalMatch:
    """A place in a graph that looks like a pattern (``torch.fx.passes.utils.matcher_utils.InternalMatch``).

    Attributes:
        anchors: the nodes of the pattern from which the search starts: its results.
        nodes_map: the node of the graph, or the constant, for each node of the pattern.
        placeholder_nodes: those for the pattern's placeholders, in order.
        returning_nodes: those for the pattern's results, in order.
        name_node_map: the nodes of the graph to which the pattern gives names.
    """

    anchors: list[Node]
    nodes_map: dict[Node, Any] = field(default_factory=dict)
    placeholder_nodes: list[Any] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)
    name_node_map: dict[str, Node] = field(default_factory=dict)

    def inner(self) -> list[Node]:
        """Return the matched nodes that compute something."""
        return [node for pattern, node in self.nodes_map.items() if pattern.op not in ENDS]


class SubgraphMatcher:
    """A search for a pattern, which is a graph, in other graphs (``torch.fx.passes.utils.matcher_utils``).

    Args:
        pattern: the graph to look for.
        match_output: whether the graphs must end alike.
        match_placeholder: whether a placeholder matches placeholders only, rather than any value.
        remove_overlapping_matches: whether of matches that share nodes only the first counts.
        ignore_literals: whether numbers and strings may differ.

    Raises:
        ValueError: if the pattern is empty.
        AssertionError: if the pattern has nodes without users.
    """

    def __init__(self, pattern: Graph, match_output: bool = False, match_placeholder: bool = False,
                 remove_overlapping_matches: bool = True, ignore_literals: bool = False):
        if not len(pattern.nodes):
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        for node in pattern.nodes:
            assert node.users or node.is_impure(), (
                "SubgraphMatcher cannot be initialized with an pattern with dead code")
        self.pattern, self.match_placeholder, self.ignore_literals = pattern, match_placeholder, ignore_literals
        self.remove_overlapping_matches = remove_overlapping_matches
        self.pattern_placeholder_nodes = pattern.find_nodes(op="placeholder")
        output = pattern.output_node()
        self.pattern_returning_nodes = output.all_input_nodes
        self.pattern_anchors = [output] if match_output else [
            node for node in output.all_input_nodes if len(node.users) == 1]

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """Return the places in a graph that look like the pattern; with ``node_name_match``, a node whose name contains
        it matches any result of the pattern. Nodes within a place are used nowhere else, except for results.
        """
        found = []
        candidates = {anchor: [node for node in graph.nodes if self._nodes_are_equal(anchor, node, node_name_match)]
                      for anchor in self.pattern_anchors}
        searched = [(anchor, nodes) for anchor, nodes in candidates.items() if nodes]
        taken: set[Node] = set()
        for match in self._search(searched, InternalMatch(self.pattern_anchors), node_name_match) if searched else ():
            if self._is_contained(match.nodes_map) and is_convex(match.inner()):
                if self.remove_overlapping_matches and not taken.isdisjoint(match.inner()):
                    continue
                taken.update(match.inner())
                found.append(match)
        return found

    def _search(self, anchors: Sequence[tuple[Node, list[Node]]], match: InternalMatch,
                node_name_match: str) -> Iterator[InternalMatch]:
        """Yield the matches in which each anchor is one of its candidates, and the rest is as in ``match``."""
        if not anchors:
            yield replace(match, placeholder_nodes=[match.nodes_map[node] for node in self.pattern_placeholder_nodes],
                          returning_nodes=[match.nodes_map[node] for node in self.pattern_returning_nodes])
            return
        (anchor, candidates), *others = anchors
        for node in candidates:
            attempt = replace(match, nodes_map=dict(match.nodes_map))
            if self._match_nodes(anchor, node, attempt, node_name_match):
                yield from self._search(others, attempt, node_name_match)

    def _match_nodes(self, pn: Node, gn: Node, match: InternalMatch, node_name_match: str = "") -> bool:
        """Return True if a node of the graph, and all that it uses, is as in the pattern; ``match`` receives the nodes.
        """
        if pn in match.nodes_map:
            return match.nodes_map[pn] is gn
        if any(gn is matched for matched in match.nodes_map.values()):
            return False
        if not self._nodes_are_equal(pn, gn, node_name_match):
            return False
        before = dict(match.nodes_map)
        match.nodes_map[pn] = gn
        if pn.op == "placeholder":
            return True
        given = _aligned_arguments(pn, gn)
        if given is not None and self._match_args(*given, match):
            return True
        match.nodes_map = before
        return False

    def _match_args(self, args1: Sequence[Any], args2: Sequence[Any], match: InternalMatch) -> bool:
        return len(args1) == len(args2) and all(self._match_arg(a, b, match) for a, b in zip(args1, args2, strict=True))

    def _match_arg(self, pn: Any, gn: Any, match: InternalMatch) -> bool:
        if isinstance(pn, Node) and isinstance(gn, Node):
            return self._match_nodes(pn, gn, match)
        if isinstance(pn, (list, tuple)) and isinstance(gn, (list, tuple)):
            return self._match_args(pn, gn, match)
        return self._match_literals(pn, gn, match) or self.ignore_literals

    def _match_literals(self, pn: Any, gn: Any, match: InternalMatch) -> bool:
        """Return True if two arguments match and at most one is a node; a placeholder matches a constant."""
        if isinstance(pn, Node):
            return pn.op == "placeholder" and match.nodes_map.setdefault(pn, gn) == gn
        return not isinstance(gn, Node) and type(gn) is type(pn) and gn == pn

    def _nodes_are_equal(self, pn: Node, gn: Node, node_name_match: str = "") -> bool:
        """Return True if a node is as in the pattern, whatever its arguments."""
        if (pn.op == "placeholder" and not self.match_placeholder) or (node_name_match and node_name_match in gn.name):
            return True
        if pn.op != gn.op:
            return False
        return pn.op in ENDS or (self._match_attributes(pn, gn) if pn.op == "get_attr" else pn.target == gn.target)

    def _match_attributes(self, pn: Node, gn: Node) -> bool:
        """Return True if both nodes read a tensor of the same class."""
        values = []
        for node in (pn, gn):
            assert node.graph.owning_module is not None, "a graph with get_attr nodes needs its module"
            values.append(_get_attr(node.graph.owning_module, str(node.target)))
        if type(values[0]) is not type(values[1]):
            return False
        if not isinstance(values[0], Tensor):
            raise RuntimeError(f"Unsupported type {values[0]} when matching attributes")
        return True

    def _is_contained(self, nodes_map: dict[Node, Any]) -> bool:
        """Return True if the matched nodes, except results, are used by matched nodes only."""
        matched = {node: pattern for pattern, node in nodes_map.items()
                   if pattern.op != "placeholder" and isinstance(node, Node)}
        return all(pattern in self.pattern_returning_nodes or matched.keys() >= node.users.keys()
                   for node, pattern in matched.items())


def _aligned_arguments(pn: Node, gn: Node) -> tuple[list[Any], list[Any]] | None:
    """Return the arguments of two nodes, in the same order; None if they are given in different ways. Those of an
    operator are completed by its schema.
    """
    if len(pn.args) == len(gn.args) and list(pn.kwargs) == list(gn.kwargs):
        return [*pn.args, *pn.kwargs.values()], [*gn.args, *gn.kwargs.values()]
    if not isinstance(pn.target, OpOverload):
        return None
    schema = pn.target._schema.arguments

    def completed(node: Node) -> list[Any]:
        return [node.kwargs[argument.name] if argument.name in node.kwargs
                else node.args[at] if at < len(node.args) and not argument.kwarg_only else argument.default_value
                for at, argument in enumerate(schema)]

    return completed(pn), completed(gn)
