"""Tools of several passes: names of targets, and graphs in order (``torch.fx.passes.tools_common``)."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..._tensor import Tensor
from ...nn.module import Module
from .._names import module_of, qualified_name
from ..graph_module import GraphModule
from ..node import Node
from .utils._order import sorted_nodes

__all__ = ["get_acc_ops_name", "get_node_target", "is_node_output_tensor", "legalize_graph", "stable_topological_sort"]
__dir__ = __all__.copy
NodeList = list[Node]
NodeSet = set[Node]
Names = list[str]
CALLABLE_NODE_OPS = {"call_module", "call_function", "call_method"}


def get_acc_ops_name(k: Any) -> str:
    """Return the name of a class or an operator, as tables of supported operators have it
    (``torch.fx.passes.tools_common.get_acc_ops_name``).
    """
    if isinstance(k, str):
        return k
    return f"acc_ops.{k.__name__}" if "acc_ops" in (k.__module__ or "") else f"{module_of(k)}.{k.__name__}"


def get_node_target(submodules: Mapping[str, Module], node: Node) -> str:
    """Return the name of what a node calls: a function's or a module's class with its module, or a method's
    (``torch.fx.passes.tools_common.get_node_target``).
    """
    assert node.op in CALLABLE_NODE_OPS, f"Expect op types of {', '.join(CALLABLE_NODE_OPS)}, but found {node.op}"
    if node.op == "call_module":
        module = submodules[str(node.target)]
        return get_acc_ops_name(getattr(module, "_base_class_origin", type(module)))
    if node.op == "call_method":
        return str(node.target)
    target: Any = node.target
    return get_acc_ops_name(target) if "acc_ops" in (target.__module__ or "") else qualified_name(target)


def is_node_output_tensor(node: Node) -> bool:
    """Return True if ``ShapeProp`` has found that a node's value is a tensor
    (``torch.fx.passes.tools_common.is_node_output_tensor``).
    """
    return issubclass(node.meta.get("type", type(None)), Tensor)


def stable_topological_sort(gm: GraphModule) -> GraphModule:
    """Move each node of a graph behind those that it uses; the order is otherwise kept
    (``torch.fx.passes.tools_common.stable_topological_sort``).

    Raises:
        RuntimeError: if nodes use each other in a cycle.
    """
    nodes = sorted_nodes(gm.graph.nodes)
    if len(nodes) < len(gm.graph.nodes):
        stuck = [node for node in gm.graph.nodes if node not in set(nodes)]
        raise RuntimeError(f"Input graph has cycles, unable to add {stuck}")
    previous = gm.graph._root
    for node in nodes:
        previous.append(node)
        previous = node
    gm.recompile()
    return gm


legalize_graph = stable_topological_sort
