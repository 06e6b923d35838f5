"""``CapabilityBasedPartitioner``: the largest parts of a graph that a backend takes
(``torch.fx.passes.infra.partitioner``).
"""
from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

from ..._names import qualified_name
from ...graph_module import GraphModule
from ...node import Node
from ..operator_support import OperatorSupportBase
from ..utils.fuser_utils import fuse_by_partitions

__all__ = ["CapabilityBasedPartitioner", "Partition"]
__dir__ = __all__.copy
#: Functions that a partition may have without being worth a module of its own.
NOT_COMPUTING = {"torch.ops.aten.view", "_operator.getitem"}


class Partition:
    """Nodes that become one module (``torch.fx.passes.infra.partitioner.Partition``)."""

    def __init__(self, id: int | None = None, nodes: Iterable[Node] = ()):
        self.id = id
        self.nodes: dict[Node, None] = dict.fromkeys(nodes)

    def __repr__(self) -> str:
        return str(list(self.nodes))

    def add_node(self, node: Node) -> None:
        """Add a node."""
        self.nodes[node] = None

    def remove_node(self, node: Node) -> None:
        """Remove a node."""
        del self.nodes[node]

    def size(self) -> int:
        """Return the number of nodes."""
        return len(self.nodes)


class CapabilityBasedPartitioner:
    """Divides a graph into parts that a backend takes, and moves them into modules
    (``torch.fx.passes.infra.partitioner.CapabilityBasedPartitioner``).

    Args:
        graph_module: the module of the graph.
        operator_support: which nodes the backend takes.
        allows_single_node_partition: whether one computing node is worth a module.
        non_compute_ops: names of functions that do not count as computing.
        allowed_single_node_partition_ops: names of functions that are worth a module by themselves.
        skip_horizontal_fusion: whether a part consists of nodes only that use each other's values.
    """

    def __init__(self, graph_module: GraphModule, operator_support: OperatorSupportBase,
                 allows_single_node_partition: bool = False, non_compute_ops: Sequence[str] | None = None,
                 allowed_single_node_partition_ops: Sequence[str] | None = None, *,
                 skip_horizontal_fusion: bool = False):
        self.graph_module, self.operator_support = graph_module, operator_support
        self.allows_single_node_partition = allows_single_node_partition
        self.non_compute_ops = list(non_compute_ops or ())
        self.allowed_single_node_partition_ops = list(allowed_single_node_partition_ops or ())
        self.skip_horizontal_fusion = skip_horizontal_fusion

    def _is_node_supported(self, node: Node) -> bool:
        return self.operator_support.is_node_supported(dict(self.graph_module.named_modules()), node)

    def propose_partitions(self) -> list[Partition]:
        """Return the parts, the last ones first: each node that the backend takes joins all parts that it can be in
        without a cycle between parts.
        """
        part_of: dict[Node, Partition] = {}
        parts: dict[int, Partition] = {}
        nodes = list(self.graph_module.graph.nodes)
        for node in reversed(nodes):
            if not self._is_node_supported(node):
                continue
            part = part_of[node] = Partition(len(part_of), [node])
            others = list(parts.values())
            if self.skip_horizontal_fusion:
                others = list({id(part_of[user]): part_of[user] for user in node.users if user in part_of}.values())
            parts[len(part_of) - 1] = part
            for other in others:
                if _can_merge(part, other, part_of):
                    part, smaller = (other, part) if len(part.nodes) < len(other.nodes) else (part, other)
                    for moved in smaller.nodes:
                        part.add_node(moved)
                        part_of[moved] = part
                    del parts[smaller.id]  # type: ignore[arg-type]
        self._move_items(nodes, part_of)
        order = {node: at for at, node in enumerate(nodes)}
        for part in parts.values():
            part.nodes = dict.fromkeys(sorted(part.nodes, key=order.__getitem__))
        return [part for part in parts.values() if part.nodes and (
            self.allows_single_node_partition or self._weight(part) > 1)]

    def _move_items(self, nodes: Sequence[Node], part_of: dict[Node, Partition]) -> None:
        """Have the items of a tuple be where the tuple is, so that no part returns a tuple."""
        moved = True
        while moved:
            moved = False
            for node in nodes:
                if all(user.target is operator.getitem for user in node.users):
                    for user in node.users:
                        if part_of.get(user) is not part_of.get(node):
                            moved = True
                            _move(user, part_of.get(node), part_of)

    def _weight(self, part: Partition) -> int:
        """Return the number of computing nodes; one that is worth a module by itself counts twice."""
        names = [qualified_name(node.target) for node in part.nodes if node.op == "call_function"]
        return sum((name not in NOT_COMPUTING.union(self.non_compute_ops))
                   + (name in self.allowed_single_node_partition_ops) for name in names)

    def fuse_partitions(self, partitions: Iterable[Partition], prefix: str = "fused_") -> GraphModule:
        """Move each part into a module of its own."""
        return fuse_by_partitions(self.graph_module, [partition.nodes for partition in partitions], prefix)

    def partition_and_fuse(self, prefix: str = "fused_") -> GraphModule:
        """Move the proposed parts into modules of their own."""
        return self.fuse_partitions(self.propose_partitions(), prefix)

    def remove_bookend_non_compute_ops(self, partitions: Iterable[Partition]) -> None:
        """Remove from each part the nodes at its ends that compute nothing."""
        for partition in partitions:
            for neighbours in (lambda node: node.all_input_nodes, lambda node: node.users):
                changed = True
                while changed:
                    ends = [node for node in partition.nodes if self._is_idle(node)
                            and not any(other in partition.nodes for other in neighbours(node))]
                    for node in ends:
                        partition.remove_node(node)
                    changed = bool(ends)

    def _is_idle(self, node: Node) -> bool:
        return node.op == "call_function" and qualified_name(node.target) in self.non_compute_ops


def _can_merge(part: Partition, other: Partition, part_of: dict[Node, Partition]) -> bool:
    """Return True if no path leads from two parts, through others as wholes, back into them."""
    inside = part.nodes.keys() | other.nodes.keys()
    seen: set[Any] = set()
    waiting = [user for node in inside for user in node.users if user not in inside]
    while waiting:
        node = waiting.pop()
        if node in inside:
            return False
        group = part_of.get(node)
        key: Any = node if group is None else group
        if key not in seen:
            seen.add(key)
            waiting += [user for member in ([node] if group is None else group.nodes) for user in member.users
                        if user is not node and (group is None or user not in group.nodes)]
    return True


def _move(node: Node, part: Partition | None, part_of: dict[Node, Partition]) -> None:
    if node in part_of:
        part_of.pop(node).remove_node(node)
    if part is not None:
        part.add_node(node)
        part_of[node] = part
