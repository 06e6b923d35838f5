"""Subgraphs as modules, and whether two graphs are the same (``torch.fx.passes.utils.common``)."""
from __future__ import annotations

from collections.abc import Mapping

from ....nn.module import Module
from ...graph import Graph
from ...graph_module import GraphModule, _assign_attr, _get_attr
from .matcher_utils import SubgraphMatcher

__all__ = ["HolderModule", "compare_graphs", "lift_subgraph_as_module"]
__dir__ = __all__.copy


class HolderModule(Module):
    """A module that holds others by name (``torch.fx.passes.utils.HolderModule``)."""

    def __init__(self, d: Mapping[str, Module | None]):
        super().__init__()
        for name, module in d.items():
            self.add_module(name, module)


def lift_subgraph_as_module(gm: GraphModule, subgraph: Graph, comp_name: str = "",
                            class_name: str = "GraphModule") -> tuple[GraphModule, dict[str, str]]:
    """Return a graph as a module with the attributes of ``gm`` that it names, and the paths of these below
    ``comp_name`` by their paths in ``gm`` (``torch.fx.passes.utils.lift_subgraph_as_module``).
    """
    holder = HolderModule({})
    paths: dict[str, str] = {}
    for node in subgraph.nodes:
        if node.op in ("call_module", "get_attr"):
            target = str(node.target)
            paths[target] = f"{comp_name}.{target}"
            _assign_attr(_get_attr(gm, target), holder, target)
    return GraphModule(holder, subgraph, class_name), paths


def compare_graphs(left: Graph, right: Graph) -> bool:
    """Return True if two graphs differ in nothing but names (``torch.fx.passes.utils.common.compare_graphs``)."""
    return bool(SubgraphMatcher(left, match_output=True, match_placeholder=True).match(right))
