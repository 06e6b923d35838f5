"""Patterns that name some of their nodes (``torch.fx.passes.utils.matcher_with_name_node_map_utils``)."""
from __future__ import annotations

from ...graph import Graph
from ...graph_module import GraphModule
from ...node import Node
from .matcher_utils import InternalMatch, SubgraphMatcher

__all__ = ["SubgraphMatcherWithNameNodeMap"]


def _split_to_graph_and_name_node_map(gm: GraphModule) -> tuple[GraphModule, dict[str, Node]]:
    """Remove the dict that a pattern returns last from its results, and return it."""
    output = gm.graph.output_node()
    result = output.args[0]
    assert isinstance(result, (list, tuple)) and len(result) > 1, (
        "Expecting the pattern graph to return a tuple of at least two")
    *results, names = result
    assert isinstance(names, dict), "Expecting the input graph to have a dict output as the last element"
    output.args = (tuple(results),)
    gm.recompile()
    return gm, dict(names)


class SubgraphMatcherWithNameNodeMap(SubgraphMatcher):
    """A search for a pattern that returns a dict of nodes by name as its last result; ``name_node_map`` of a match has
    the nodes of the graph by these names
    (``torch.fx.passes.utils.matcher_with_name_node_map_utils.SubgraphMatcherWithNameNodeMap``).
    """

    def __init__(self, pattern_gm: GraphModule, match_output: bool = False, match_placeholder: bool = False,
                 remove_overlapping_matches: bool = True, ignore_literals: bool = False):
        pattern_gm, self.name_node_map = _split_to_graph_and_name_node_map(pattern_gm)
        super().__init__(pattern_gm.graph, match_output, match_placeholder, remove_overlapping_matches,
                         ignore_literals)

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """Return the places in a graph that look like the pattern, with their named nodes."""
        found = super().match(graph, node_name_match)
        for match in found:
            match.name_node_map.update({name: match.nodes_map[node] for name, node in self.name_node_map.items()})
        return found
