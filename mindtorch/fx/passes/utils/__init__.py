"""``torch.fx.passes.utils``: parts of graphs as modules, and patterns in graphs."""
from .common import (
    HolderModule as HolderModule, compare_graphs as compare_graphs, lift_subgraph_as_module as lift_subgraph_as_module,
)

__all__ = ["HolderModule", "compare_graphs", "lift_subgraph_as_module"]
