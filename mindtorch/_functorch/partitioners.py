"""The division of a joint graph into a forward and a backward graph (``torch._functorch.partitioners``).

Each partitioner chooses the values that the forward graph saves; the backward graph computes everything else from them.
``default_partition`` saves what the forward pass computes anyway and the backward pass needs.
``min_cut_rematerialization_partition`` computes cheap values again, where that saves memory: ``min_cut.py``.
"""
from __future__ import annotations

import operator
from collections.abc import Sequence
from math import inf
from typing import Any

from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..fx.node import Node
from ..utils._selective_checkpoint import CheckpointPolicy
from . import config
from ._aot_autograd.joint_nodes import is_primal, is_sym_node, is_tangent, must_recompute, output_of, reaching
from ._aot_autograd.min_cut import choose_saved_values, is_view, packet_of

Halves = tuple[GraphModule, GraphModule]


def _extract_fwd_bwd_outputs(joint_module: GraphModule, *, num_fwd_outputs: int) -> tuple[list[Any], list[Any]]:
    """Return the results of the forward and of the backward pass."""
    flat: list[Any] = []

    def collect(value: Any) -> None:
        if isinstance(value, (list, tuple)):
            for item in value:
                collect(item)
        else:
            flat.append(value)

    collect(output_of(joint_module.graph).args[0])
    return flat[:num_fwd_outputs], flat[num_fwd_outputs:]


def _extract_graph_with_inputs_outputs(joint_graph: Graph, inputs: Sequence[Node], outputs: Sequence[Any],
                                       subgraph: str | None = None) -> Graph:
    """Return the graph that computes outputs, which may be constants, from inputs. That of the forward pass draws every
    random number that the function draws, also for values that no output needs: the numbers drawn later depend on it.

    Raises:
        RuntimeError: if an output depends on something else.
    """
    graph, copies = Graph(), {}
    for node in inputs:
        copies[node] = copy = graph.placeholder(node.name)
        copy.meta = dict(node.meta)
    wanted = [output for output in outputs if isinstance(output, Node)]
    if subgraph == "forward":
        wanted += [node for node in joint_graph.nodes if node.op == "call_function"
                   and node.meta.get("partitioner_tag") == "is_forward" and node.is_impure()]
    needed = reaching(wanted, set(inputs))
    for node in joint_graph.nodes:
        if node not in copies and node in needed and node.op != "output":
            if node.op == "placeholder":
                raise RuntimeError(f"Node {node} was invalid, but is output")
            copies[node] = graph.node_copy(node, copies.__getitem__)
    graph.output(tuple([copies[output] if isinstance(output, Node) else output for output in outputs]))
    graph.eliminate_dead_code()
    graph.lint()
    return graph


def _extract_fwd_bwd_modules(joint_module: GraphModule, saved_values: list[Node], saved_sym_nodes: Sequence[Node] = (),
                             *, num_fwd_outputs: int, **_: Any) -> Halves:
    """Return the modules of both passes, given the values that are saved. Those that the backward pass does not need
    are not.
    """
    forward_outputs, backward_outputs = _extract_fwd_bwd_outputs(joint_module, num_fwd_outputs=num_fwd_outputs)
    placeholders = [node for node in joint_module.graph.nodes if node.op == "placeholder"]
    tangents = [node for node in placeholders if is_tangent(node)]
    saved = [*saved_sym_nodes, *saved_values]
    backward = _extract_graph_with_inputs_outputs(joint_module.graph, [*saved, *tangents], backward_outputs)
    used = {str(node.target) for node in backward.nodes if node.op == "placeholder" and node.users}
    saved = [node for node in saved if node.name in used]
    forward = _extract_graph_with_inputs_outputs(
        joint_module.graph, [node for node in placeholders if is_primal(node)], [*forward_outputs, *saved], "forward")
    backward = _extract_graph_with_inputs_outputs(joint_module.graph, [*saved, *tangents], backward_outputs, "backward")
    return GraphModule(joint_module, forward), GraphModule(joint_module, backward)


def keep_between_checkpoints(graph: Graph) -> None:
    """Save a value that one checkpoint computes and a later one takes: it is an input of that one, from which alone the
    backward pass computes it again (``cleanup_recompute_tags``).
    """
    for node in graph.nodes:
        region = node.meta.get("ac_graph_id", inf)
        if must_recompute(node) and any(must_recompute(user) and user.meta.get("ac_graph_id", 0) > region
                                        for user in node.users):
            node.meta["recompute"] = CheckpointPolicy.MUST_SAVE


def default_partition(joint_module: GraphModule, _joint_inputs: Any = None, *, num_fwd_outputs: int,
                      static_lifetime_input_indices: Any = None, recompute_views: bool = False, **_: Any) -> Halves:
    """Divide a joint graph as eager execution does: the forward graph has the nodes that were traced before the
    backward pass, and saves of their values those that the backward graph needs
    (``torch._functorch.partitioners.default_partition``).

    What ``utils.checkpoint`` marked is not saved, but computed again, and so are views with ``recompute_views``.
    """
    keep_between_checkpoints(joint_module.graph)
    nodes = [node for node in joint_module.graph.nodes if not is_tangent(node)]
    last = max(i for i, node in enumerate(nodes) if is_primal(node) or node.meta.get("partitioner_tag") == "is_forward")
    forward = {*nodes[:last + 1]}
    saved: dict[Node, None] = {}
    symbols: dict[Node, None] = {}

    def again(node: Node) -> bool:
        made = node.args[0] if node.target is operator.getitem else node
        return must_recompute(node) or (recompute_views and isinstance(made, Node) and (
            is_view(made) or packet_of(made) == "detach"))

    for node in joint_module.graph.nodes:
        if node not in forward or node.op == "output":
            continue
        later = [user for user in node.users if user not in forward]
        if is_sym_node(node):
            symbols[node] = None
        elif node.users and all(user.target is operator.getitem for user in node.users):
            saved.update(dict.fromkeys([user for user in node.users if not again(user)]))
        elif later and all(map(is_sym_node, later)) and not any(map(again, forward.intersection(node.users))):
            symbols.update(dict.fromkeys(later))
        elif not again(node):
            saved[node] = None
    return _extract_fwd_bwd_modules(joint_module, [*saved], [*symbols], num_fwd_outputs=num_fwd_outputs)


def min_cut_rematerialization_partition(joint_module: GraphModule, _joint_inputs: Any = None,
                                        compiler: str = "inductor", *, num_fwd_outputs: int,
                                        static_lifetime_input_indices: Any = None, **_: Any) -> Halves:
    """Divide a joint graph so that the saved values are small: the values between both passes are the smallest cut of
    the graph, among those whose recomputation is cheap (``min_cut_rematerialization_partition``).

    ``config.activation_memory_budget`` is how much may be saved: from 0, the inputs alone, to 1, all that saves time.
    """
    joint_module.graph.eliminate_dead_code()
    keep_between_checkpoints(joint_module.graph)
    saved = choose_saved_values(joint_module.graph, _extract_fwd_bwd_outputs(
        joint_module, num_fwd_outputs=num_fwd_outputs), config.activation_memory_budget)
    symbols = [node for node in saved if is_sym_node(node)]
    forward, backward = _extract_fwd_bwd_modules(
        joint_module, [node for node in saved if not is_sym_node(node)], symbols, num_fwd_outputs=num_fwd_outputs)
    return forward, reordering_to_mimic_autograd_engine(backward)


def reordering_to_mimic_autograd_engine(gm: GraphModule) -> GraphModule:
    """Compute again what a backward graph computes again only when it is needed, so that it lives no longer."""
    nodes, graph = [*gm.graph.nodes], Graph()
    order = {node: i for i, node in enumerate(nodes)}
    copies = {node: graph.node_copy(node) for node in nodes if node.op == "placeholder"}
    first = min([order[user] for node in nodes if is_tangent(node) for user in node.users], default=None)
    if first is None:
        return gm
    for node in nodes[first:]:
        for wanted in sorted(reaching([node], {*copies}) - {*copies}, key=order.__getitem__):
            copies[wanted] = graph.node_copy(wanted, copies.__getitem__)
    return GraphModule(gm, graph)
