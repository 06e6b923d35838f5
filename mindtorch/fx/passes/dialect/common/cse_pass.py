"""Nodes that compute the same once (``torch.fx.passes.dialect.common.cse_pass``)."""
from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ....._dispatch.overloads import ops
from .....utils._pytree import tree_flatten
from ....graph import Graph
from ....graph_module import GraphModule
from ....node import RANDOM_OPERATORS, Node, map_arg
from ...infra.pass_base import PassBase, PassResult

__all__ = ["CSEPass", "get_CSE_banned_ops"]
__dir__ = __all__.copy
WRITING = ("add_", "sub_", "mul_", "div_", "pow_", "lerp_", "relu_", "sigmoid_", "tanh_")


def get_CSE_banned_ops() -> set[Any]:
    """Return operators whose calls differ though they look the same: those that draw random numbers, and those that
    write (``torch.fx.passes.dialect.common.cse_pass.get_CSE_banned_ops``).
    """
    known = set(dir(ops.aten))
    return {getattr(ops.aten, name) for name in (*RANDOM_OPERATORS, *WRITING) if name in known}


class CSEPass(PassBase):
    """Has nodes with the same target and arguments be one, except those of ``banned_ops``
    (``torch.fx.passes.dialect.common.cse_pass.CSEPass``).
    """

    def __init__(self, banned_ops: Collection[Any] | None = None):
        self.banned_ops = banned_ops or ()

    def call(self, graph_module: GraphModule) -> PassResult:
        """Return a module without the repeated nodes."""
        graph = Graph()
        copies: dict[Node, Node] = {}
        known: dict[Any, Node] = {}
        for node in graph_module.graph.nodes:
            packet = getattr(node.target, "overloadpacket", node.target)
            key = None
            if node.op not in ("placeholder", "output", "get_attr") and packet not in self.banned_ops:
                key = _key(node, copies)
            if key is None or key not in known:
                copies[node] = graph.node_copy(node, copies.__getitem__)
                if key is not None:
                    known[key] = copies[node]
            else:
                copies[node] = known[key]
        if len(graph.nodes) == len(graph_module.graph.nodes):
            return PassResult(graph_module, False)
        return PassResult(GraphModule(graph_module, graph), True)


def _key(node: Node, copies: dict[Node, Node]) -> Any:
    """Return a key that nodes share exactly if they compute equal results; 1, 1.0 and True differ."""
    leaves, spec = tree_flatten((tuple(node.args), dict(node.kwargs)))
    leaves = [map_arg(leaf, copies.__getitem__) for leaf in leaves]
    values = tuple((type(leaf), repr(leaf) if isinstance(leaf, slice) else leaf) for leaf in leaves)
    key = (node.op, node.target, str(spec), values)
    try:
        hash(key)
    except TypeError:
        return None
    return key
