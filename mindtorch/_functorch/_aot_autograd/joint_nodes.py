"""The nodes of a joint graph, by what they are."""
from __future__ import annotations

from collections.abc import Iterable

from ...fx.experimental.proxy_tensor import is_sym_node as is_symbolic
from ...fx.graph import Graph
from ...fx.node import Node
from ...utils._selective_checkpoint import CheckpointPolicy


def is_primal(node: Node) -> bool:
    """Return True for an input of the function."""
    return node.op == "placeholder" and "tangents" not in str(node.target)


def is_tangent(node: Node) -> bool:
    """Return True for the gradient of a result."""
    return node.op == "placeholder" and "tangents" in str(node.target)


def is_sym_node(node: Node) -> bool:
    """Return True for a node whose value is a symbolic number."""
    return is_symbolic(node.meta.get("val"))


def must_recompute(node: Node) -> bool:
    """Return True if ``utils.checkpoint`` marked a node to be computed again in the backward pass."""
    return node.meta.get("recompute") in (CheckpointPolicy.MUST_RECOMPUTE, CheckpointPolicy.PREFER_RECOMPUTE)


def output_of(graph: Graph) -> Node:
    """Return a graph's last node."""
    return next(reversed(graph.nodes))


def reaching(outputs: Iterable[Node], inputs: set[Node]) -> set[Node]:
    """Return the nodes that outputs are computed by, without those before the inputs."""
    found: set[Node] = set()
    todo = [*outputs]
    while todo:
        node = todo.pop()
        if node not in found:
            found.add(node)
            todo += [] if node in inputs else node.all_input_nodes
    return found
