"""Higher-order operators in traces: their functions become graphs of their own, which the operator's node names."""
from __future__ import annotations

from typing import Any

from .._base.symbolic import SYMBOLIC
from .._dispatch.dispatcher import switched
from .._subclasses.fake_class import FakeTensor
from .._tensor import Tensor
from .._transforms.pytree import tree_leaves, tree_map
from ..fx.experimental.proxy_tensor import ProxyTorchDispatchMode, get_proxy_slot, make_fx, track_tensor_tree
from ..fx.graph_module import GraphModule
from ._operator import RECORDERS, HigherOrderOperator


def record(mode: Any, op: HigherOrderOperator, args: tuple[Any, ...]) -> Any:
    """Write an operator's node, and return its results. Tensors that the functions take from outside become further
    operands.

    Raises:
        NotImplementedError: if a function takes a symbolic size from outside.
    """
    tracer = mode.tracer
    graphs = {position: make_fx(args[position])(*_distinct(examples))
              for position, examples in op.bodies(*args).items()}
    outside = _lift(list(graphs.values()), tracer)
    fakes = [leaf for leaf in tree_leaves(args) if isinstance(leaf, FakeTensor)]
    with switched(dispatch_modes=()):
        if fakes:
            with fakes[0].fake_mode:
                results = op._fake(*args)
        else:
            results = op._eager(*args)
    shown: list[Any] = []
    for position, arg in enumerate(args):
        if position in graphs:
            name = _free_name(tracer.root, op.labels[position])
            setattr(tracer.root, name, graphs[position])
            shown.append(tracer.create_proxy("get_attr", name, (), {}))
        else:
            given = (*arg, *outside) if position == op.further else arg
            shown.append(tree_map(tracer.unwrap_proxy, given))
    proxy = tracer.create_proxy("call_function", op, tuple(shown), {}, name=op.name())
    return track_tensor_tree(results, proxy, constant=None, tracer=tracer)


def _distinct(examples: Any) -> list[Any]:
    """Return the arguments of a function, each a tensor of its own: a trace knows tensors by their identity."""
    seen: set[int] = set()
    found = []
    for example in examples:
        found.append(example.detach() if isinstance(example, Tensor) and id(example) in seen else example)
        seen.add(id(example))
    return found


def _lift(graphs: list[GraphModule], tracer: Any) -> list[Tensor]:
    """Make arguments of the tensors that graphs have as attributes and that the outer trace knows; return them."""
    outside: list[Tensor] = []
    for graph in graphs:
        for node in graph.graph.nodes:
            if any(leaf.__class__ in SYMBOLIC for leaf in tree_leaves([list(node.args), dict(node.kwargs)])):
                raise NotImplementedError("a function of a higher-order operator takes a symbolic size from outside in "
                                          f"{node.format_node()}: pass it as an operand")
            value = getattr(graph, str(node.target), None) if node.op == "get_attr" else None
            if isinstance(value, Tensor) and get_proxy_slot(value, tracer, None) is not None and all(
                    value is not known for known in outside):
                outside.append(value)
    for graph in graphs:
        nodes = list(graph.graph.nodes)
        place = next(node for node in nodes if node.op != "placeholder")
        for i, value in enumerate(outside):
            with graph.graph.inserting_before(place):
                argument = graph.graph.placeholder(f"outside_{i}")
            argument.meta["val"] = value
            for node in nodes:
                if node.op == "get_attr" and getattr(graph, str(node.target), None) is value:
                    node.replace_all_uses_with(argument)
                    graph.graph.erase_node(node)
                    nodes = [other for other in nodes if other is not node]
        graph.recompile()
    return outside


def _free_name(root: Any, label: str) -> str:
    number = 0
    while hasattr(root, f"{label}_{number}"):
        number += 1
    return f"{label}_{number}"


RECORDERS[ProxyTorchDispatchMode] = record
