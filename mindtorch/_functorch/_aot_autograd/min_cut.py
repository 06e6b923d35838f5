"""The choice of saved values as a smallest cut of the joint graph (``solve_min_cut`` of PyTorch's partitioners).

Each node of the forward pass is an edge of a flow network whose capacity is the size of its value; data dependencies
are edges that cannot be cut. The source leads to what cannot be computed again, and what only the backward pass
computes leads to the sink. A smallest cut separates them where the values between are smallest.
"""
from __future__ import annotations

import heapq
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..._backends.common.pointwise import Pointwise
from ..._dispatch.overloads import OpOverload
from ..._dispatch.schemas import registry
from ..._tensor import Tensor
from ...fx.experimental.symbolic_shapes import hint_int
from ...fx.graph import Graph
from ...fx.node import Node
from ...utils._selective_checkpoint import CheckpointPolicy
from .. import config
from .joint_nodes import is_primal, is_sym_node, is_tangent, must_recompute, reaching

#: The operators by their kinds: cheap to compute again, beside pointwise ones; views; random ones; the longest ones.
KINDS = {kind: frozenset(names.split()) for kind, names in {
    "cheap": "sum mean sum_to_size amax squeeze unsqueeze _to_copy clone full_like var std _unsafe_view scalar_tensor "
             "ones new_zeros lift_fresh_copy arange triu var_mean any full zeros empty empty_like argmax zeros_like "
             "index gather max min",
    "view": "squeeze unsqueeze alias view slice t expand as_strided permute select split",
    "random": "native_dropout rand_like randn_like bernoulli",
    "intensive": "mm convolution convolution_backward bmm addmm _scaled_dot_product_flash_attention_for_cpu "
                 "upsample_bilinear2d"}.items()}
CHEAP, VIEWS, RANDOM, INTENSIVE = KINDS.values()


@dataclass(frozen=True)
class Options:
    """Which values are not computed again, although they could be (``MinCutOptions``)."""

    ban_if_used_far_apart: bool
    ban_if_long_fusible_chains: bool
    ban_if_materialized_backward: bool
    ban_if_not_in_allowlist: bool
    ban_if_reduction: bool


def packet_of(node: Node) -> str:
    """Return the name of a node's operator; '' if it calls none."""
    return node.target._opname if isinstance(node.target, OpOverload) else ""


def is_view(node: Node) -> bool:
    """Return True if a node returns a view that costs nothing to make again."""
    return packet_of(node) in VIEWS


def is_recomputable(node: Node) -> bool:
    """Return True if a node is cheap to compute again."""
    if node.target is operator.getitem or is_view(node) or packet_of(node) in CHEAP:
        return True
    return isinstance(node.target, OpOverload) and isinstance(
        registry.meta_rows.get(node.target._operator.name), Pointwise)


def is_fusible(first: Node, second: Node) -> bool:
    """Return True if a compiler can compute two nodes in one loop."""
    return packet_of(second) == "cat" or all(
        is_recomputable(node) or packet_of(node) in RANDOM for node in (first, second))


def size_of(node: Node) -> int:
    """Return the number of bytes of a node's values, for the sizes of the call that is traced if they are symbols;
    4,096 elements where a size depends on data (PyTorch's guess).
    """
    value = node.meta.get("val")
    values = value if isinstance(value, (list, tuple)) else [value]
    return sum(hint_int(item.numel(), 4096) * item.element_size() for item in values if isinstance(item, Tensor))


class Passes:
    """Which nodes of a joint graph belong to the forward pass, and which to the backward pass."""

    def __init__(self, graph: Graph, outputs: tuple[list[Any], list[Any]]):
        self.graph = graph
        self.inputs = [node for node in graph.nodes if is_primal(node)]
        #: the nodes that gradients of results flow into
        self.after_tangents = {node for node in graph.nodes if is_tangent(node)}
        for node in graph.nodes:
            if node.op != "output" and any(source in self.after_tangents for source in node.all_input_nodes):
                self.after_tangents.add(node)
        first, second = [[node for node in results if isinstance(node, Node)] for results in outputs]
        self.backward = {node for node in second if node.op != "placeholder"} | self.after_tangents
        self.forward = (reaching(first, set()) | {*self.inputs}) - self.after_tangents
        nodes = [node for node in graph.nodes if node.op != "output"]
        #: neither is in the forward pass nor hangs on gradients: computed in either
        self.order = {node: i for i, node in enumerate([node for node in nodes if node in self.forward])}
        self.distance = self._distances(nodes)

    def _distances(self, nodes: list[Node]) -> dict[Node, int]:
        """Return how many operators lie between each node and the backward pass."""
        distance: dict[Node, int] = {}
        for node in reversed(nodes):
            if node not in self.forward:
                distance[node] = 0
            else:
                distance[node] = min([distance[user] + 1 for user in node.users if user in distance], default=10**9)
        return distance


def choose_saved_values(graph: Graph, outputs: tuple[list[Any], list[Any]], budget: float) -> list[Node]:
    """Return the nodes to save, for a budget from 0 to 1 (``choose_saved_values_set``).

    Raises:
        RuntimeError: for another budget.
    """
    if not 0 <= budget <= 1:
        raise RuntimeError(f"The valid ranges for memory budget are 0 <= m <= 1. The provided value is {budget}")
    passes = Passes(graph, outputs)
    if budget == 0:
        return passes.inputs
    options = Options(config.ban_recompute_used_far_apart, config.ban_recompute_long_fusible_chains,
                      config.ban_recompute_materialized_backward, config.ban_recompute_not_in_allowlist,
                      config.ban_recompute_reductions)
    fastest, _ = smallest_cut(passes, options, set())
    if budget == 1:
        return fastest
    least, most = memory(passes.inputs), memory(fastest)
    allowed = least + budget * (most - least)
    eager = replace(options, ban_if_used_far_apart=False, ban_if_long_fusible_chains=False,
                    ban_if_materialized_backward=False)
    banned: set[Node] = set()
    for tried in (eager, replace(eager, ban_if_not_in_allowlist=False)):
        found, banned = smallest_cut(passes, tried, set())
        if memory(found) <= allowed:
            return found
    inputs = {*passes.inputs}
    candidates = [node for node in banned if node not in inputs and packet_of(node) not in RANDOM]
    kept = knapsack([size_of(node) for node in candidates], [runtime_of(node) for node in candidates],
                    allowed - memory(passes.inputs))
    free = {node for i, node in enumerate(candidates) if i not in kept}
    return smallest_cut(passes, replace(eager, ban_if_not_in_allowlist=False), free)[0]


def memory(nodes: Sequence[Node]) -> int:
    """Return the number of bytes of several nodes."""
    return sum(map(size_of, nodes))


def runtime_of(node: Node) -> float:
    """Return an estimate of the time that a node takes, by the elements it reads and multiplies."""
    read = sum(size_of(source) for source in node.all_input_nodes) + size_of(node)
    if packet_of(node) not in INTENSIVE:
        return read
    shapes = [source.meta["val"].shape for source in node.all_input_nodes if isinstance(source.meta.get("val"), Tensor)]
    return read * max([max([1, *map(int, shape[-1:])]) for shape in shapes], default=1)


def knapsack(sizes: list[int], values: list[float], capacity: float, steps: int = 1000) -> set[int]:
    """Return which items of the greatest value fit (``dp_knapsack``), with sizes rounded up to a share of capacity."""
    if capacity <= 0:
        return set()
    weights = [math.ceil(size * steps / capacity) for size in sizes]
    best: list[tuple[float, tuple[int, ...]]] = [(0.0, ())] * (steps + 1)
    for i, (weight, value) in enumerate(zip(weights, values, strict=True)):
        for room in range(steps, weight - 1, -1):
            without, chosen = best[room - weight]
            if without + value > best[room][0]:
                best[room] = (without + value, (*chosen, i))
    return {*best[steps][1]}


def smallest_cut(passes: Passes, options: Options, free: set[Node]) -> tuple[list[Node], set[Node]]:
    """Return the nodes of a smallest cut, in order, and the nodes that may not be computed again. Those in ``free``
    may.
    """
    import networkx

    network = networkx.DiGraph()
    banned: set[Node] = set()

    def ban(node: Node) -> None:
        if not (is_view(node) or node in free or must_recompute(node)):
            banned.add(node)
            network.add_edge("source", (node, "in"), capacity=math.inf)

    for node in passes.graph.nodes:
        if node.op == "output":
            continue
        if node in passes.backward:
            if node in passes.after_tangents:
                network.add_edge((node, "in"), "sink", capacity=math.inf)
                continue
            network.add_edge((node, "out"), "sink", capacity=math.inf)
        if must_recompute(node):
            network.add_edge((node, "in"), "sink", capacity=math.inf)
            continue
        if is_primal(node) or (node in passes.forward and _is_dear(node, passes, options)):
            ban(node)
        network.add_edge((node, "in"), (node, "out"), capacity=_weight(node, passes))
        for user in node.users:
            network.add_edge((node, "out"), (user, "in"), capacity=math.inf)
    if options.ban_if_used_far_apart:
        _ban_far_uses(passes, banned, ban)
    if options.ban_if_long_fusible_chains:
        _ban_long_chains(passes, banned, ban)
    if "source" not in network or "sink" not in network:
        return [], banned
    cut = nodes_of_cut(network)
    return [node for node in passes.graph.nodes if node in cut], banned


def nodes_of_cut(network: Any) -> set[Node]:
    """Return the nodes whose edges, from "in" to "out", a smallest cut between "source" and "sink" contains."""
    import networkx

    _, (reached, _) = networkx.minimum_cut(network, "source", "sink")
    return {start[0] for start in reached if start != "source" and start[1] == "in" and (start[0], "out") in network
            and (start[0], "out") not in reached}


def _is_dear(node: Node, passes: Passes, options: Options) -> bool:
    """Return True if a node had better not be computed again."""
    if node.op != "call_function" or node.target is operator.getitem or packet_of(node) in (
            "lift_fresh", "lift_fresh_copy"):
        return False
    if node.meta.get("recompute") == CheckpointPolicy.MUST_SAVE:
        return True
    if config.recompute_views and is_view(node):
        return False
    if options.ban_if_not_in_allowlist:
        if not is_recomputable(node):
            return True
    elif packet_of(node) in RANDOM or packet_of(node) in INTENSIVE:
        return True
    if options.ban_if_materialized_backward and _is_materialized_backward(node, passes):
        return True
    if config.max_dist_from_bw < passes.distance[node] < 1000:
        return True
    return options.ban_if_reduction and size_of(node) * 4 < sum(map(size_of, node.all_input_nodes))


def _is_materialized_backward(node: Node, passes: Passes) -> bool:
    """Return True if the backward pass uses a node's value in an operator that it cannot be fused with."""
    if is_view(node):
        return False
    todo, seen = [node], {node}
    while todo:
        current = todo.pop()
        for user in current.users:
            if user.op != "output" and user not in passes.forward and not is_fusible(current, user):
                return True
            if is_view(user) and user not in seen:
                seen.add(user)
                todo.append(user)
    return False


def _weight(node: Node, passes: Passes) -> float:
    """Return the cost of saving a node: its size, more the further from the backward pass."""
    if is_sym_node(node):
        return 1.0
    if not isinstance(node.meta.get("val"), Tensor) or (config.recompute_views and is_view(node)):
        return math.inf
    size = int(size_of(node) * 1.1 ** max(min(passes.distance[node], 100), 1))
    materialized = node.op == "placeholder" or not all(is_fusible(node, user) for user in node.users)
    return size if materialized else size * 2


def _ban_far_uses(passes: Passes, banned: set[Node], ban: Any) -> None:
    """Ban uses of a value that come after a use it cannot be fused with, lest the value live as long."""
    order = passes.order

    def first_unfusible(users: list[Node], last: int) -> int:
        heap = [(order[user], True, user) for user in users]
        heapq.heapify(heap)
        seen = set()
        while heap:
            place, fusible, node = heapq.heappop(heap)
            if not fusible:
                return place
            for user in node.users:
                if user in order and order[user] <= last and (user, key := is_fusible(node, user)) not in seen:
                    seen.add((user, key))
                    heapq.heappush(heap, (order[user], key, user))
        return last

    for node in order:
        users = [user for user in node.users if user in order]
        if users:
            limit = first_unfusible(users, max(order[user] for user in users))
            for user in users:
                if order[user] > limit and is_fusible(node, user) and user not in banned:
                    ban(user)


def _ban_long_chains(passes: Passes, banned: set[Node], ban: Any) -> None:
    """Ban a node in each chain of more than a hundred fusible ones, whose recomputation would begin at the start."""
    order, visited = passes.order, set()
    for start in order:
        chain = [(order[start], start)]
        while chain:
            place, node = heapq.heappop(chain)
            if node in visited:
                continue
            visited.add(node)
            if place > order[start] + 100 and not chain:
                ban(node)
                break
            for user in node.users:
                if user in order and is_fusible(node, user) and user not in banned:
                    heapq.heappush(chain, (order[user], user))
