"""``torch.fx``: programs as graphs that can be read, changed, printed as Python and run."""
from . import immutable_collections as immutable_collections
from .graph import CodeGen as CodeGen, Graph as Graph
from .graph_module import GraphModule as GraphModule
from .interpreter import Interpreter as Interpreter
from .node import Node as Node, has_side_effect as has_side_effect, map_arg as map_arg

__all__ = ["CodeGen", "Graph", "GraphModule", "Interpreter", "Node", "has_side_effect", "map_arg"]
