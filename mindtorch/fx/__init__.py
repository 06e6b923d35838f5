"""``torch.fx``: programs as graphs that can be read, changed, printed as Python and run.

=======================  ============================================================================================
file                     idea
=======================  ============================================================================================
``node``                 a step, its arguments and its users
``graph``                steps in order: a function
``_codegen``             a graph as Python; ``_names`` has PyTorch's names of functions, ``_tabular`` prints tables
``graph_module``         a module whose ``forward`` is that Python
``proxy``                a value that is not there yet: what is done with it becomes nodes
``_tracer``              a program run with proxies; ``_patching`` replaces functions meanwhile
``interpreter``          a graph run node by node, or recorded anew by ``Transformer``
``operator_schemas``     arguments as signatures name them
``subgraph_rewriter``    parts of graphs that look like a pattern, replaced
``traceback``            metadata that nodes receive while they are recorded
``passes``               changes and analyses of graphs
=======================  ============================================================================================
"""
from typing import TYPE_CHECKING

from .._base.lazy import lazily as _lazily
from . import immutable_collections as immutable_collections
from ._symbolic_trace import (
    PH as PH, ProxyableClassMeta as ProxyableClassMeta, Tracer as Tracer, symbolic_trace as symbolic_trace,
    wrap as wrap,
)
from .graph import CodeGen as CodeGen, Graph as Graph
from .graph_module import GraphModule as GraphModule
from .interpreter import Interpreter as Interpreter, Transformer as Transformer
from .node import Node as Node, has_side_effect as has_side_effect, map_arg as map_arg
from .proxy import Proxy as Proxy
from .subgraph_rewriter import replace_pattern as replace_pattern

__all__ = ["CodeGen", "Graph", "GraphModule", "Interpreter", "Node", "PH", "Proxy", "ProxyableClassMeta", "Tracer",
           "Transformer", "has_side_effect", "map_arg", "replace_pattern", "symbolic_trace", "wrap"]
_getattr, __dir__ = _lazily(__name__, __file__)
if not TYPE_CHECKING:
    __getattr__ = _getattr  # ``passes`` and ``experimental`` are loaded when they are used
