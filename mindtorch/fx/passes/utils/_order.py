"""The order of nodes, and whether a part of a graph can become one node."""
from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable

from ...node import Node


def is_convex(nodes: Collection[Node]) -> bool:
    """Return True if no path leaves these nodes and comes back: they can run as one."""
    inside = set(nodes)
    outside = [user for node in inside for user in node.users if user not in inside]
    seen: set[Node] = set()
    while outside:
        node = outside.pop()
        if node in inside:
            return False
        if node not in seen:
            seen.add(node)
            outside += node.users
    return True


def sorted_nodes(nodes: Iterable[Node]) -> list[Node]:
    """Return nodes in an order in which each stands after those that it uses, otherwise as they were; of nodes in a
    cycle, none.
    """
    position = {node: at for at, node in enumerate(nodes)}
    waiting = {node: sum(used in position for used in node._input_nodes) for node in position}
    ready = [(at, node) for node, at in position.items() if not waiting[node]]
    found = []
    while ready:  # the keys are in order: the list is a heap
        _, node = heapq.heappop(ready)
        found.append(node)
        for user in node.users:
            if user in waiting:
                waiting[user] -= 1
                if not waiting[user]:
                    heapq.heappush(ready, (position[user], user))
    return found
