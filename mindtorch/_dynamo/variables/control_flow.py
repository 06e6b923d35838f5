"""Control flow in graphs: ``cond``, ``map``, ``scan``, ``associative_scan`` and ``while_loop``, as one node each. Their
functions become graphs that the module has as attributes, and the values that the functions read are operands
(``torch._dynamo.variables.higher_order_ops``).
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._higher_order_ops._operator import HigherOrderOperator
from ..._higher_order_ops.associative_scan import associative_scan, associative_scan_op
from ..._higher_order_ops.cond import cond, cond_op
from ..._higher_order_ops.map import map as map_of_slices, map_impl
from ..._higher_order_ops.scan import scan, scan_op
from ..._higher_order_ops.while_loop import while_loop, while_loop_op
from ..._tensor import Tensor
from ..._transforms.pytree import tree_leaves, tree_map
from ...fx import Node
from ...fx.node import map_arg
from ..exc import Break
from .base import Translator, Variable
from .higher_order import Body, Passed, added, example_of, run
from .symbols import SymbolVariable
from .tensor import TensorVariable


def _tensors_in(tx: Translator, variable: Variable, what: str) -> list[TensorVariable]:
    """Return the tensors in a nested value.

    Raises:
        Break: if there is anything else in it, which would be known for this call alone.
    """
    example = example_of(variable)
    leaves = tree_leaves(example)
    if not leaves or not all(isinstance(leaf, Tensor) for leaf in leaves):
        raise Break(f"{what} with values that are no tensors, or none")
    found: list[TensorVariable] = []

    def visit(one: Any) -> None:
        if isinstance(one, TensorVariable):
            found.append(one)
        elif hasattr(one, "entries"):
            for _, value in one.entries.values():
                visit(value)
        else:
            for value in one.items(tx):
                visit(value)

    visit(variable)
    by_example = {id(one.example): one for one in found}
    return [by_example[id(leaf)] for leaf in leaves]  # in the order of the leaves, whose keys may be sorted


def _shares_memory(one: Tensor, other: Tensor) -> bool:
    return one is other or (one._storage is not None and one._storage is other._storage)


def _captured(body: Body, *args: Any) -> Any:
    """Interpret a function for examples of its arguments, and return the example of its result.

    Raises:
        Break: if it writes into its inputs, or returns one of them, a view, or a tensor twice: the graph has to be a
            function of values.
    """
    example = run(body.tx, body, *args)
    read = [node for node in body.scope.graph.find_nodes(op="placeholder")
            if isinstance(node.meta["example_value"], Tensor)]
    for node in read:
        if node.meta["example_value"]._version != body.scope.versions[node]:
            raise Break(f"Encountered input mutation during higher order op tracing: {body.function}, which "
                        f"{body.operator} applies, writes into {node}")
    inputs = [node.meta["example_value"] for node in read]
    results = [leaf for leaf in body.leaves if isinstance(leaf, Tensor)]
    for number, result in enumerate(results):
        if any(_shares_memory(result, other) for other in (*inputs, *results[:number])):
            raise Break(f"Encountered aliasing during higher order op tracing: {body.function}, which {body.operator} "
                        "applies, returns one of its inputs, a view, or a tensor twice; return a clone of it")
    return example


def _only_tensors(body: Body) -> None:
    if not all(isinstance(leaf, Tensor) for leaf in body.leaves):
        raise Break(f"{body.function}, which {body.operator} applies, returns values that are no tensors")


def _merged(*bodies: Body) -> list[Node]:
    """Have the graphs of several functions take the values that any of them reads; return the nodes of these."""
    shared = [node for node in bodies[0].outside if all(node in body.outside for body in bodies)]
    outside = sorted(shared, key=lambda node: node.name)
    for body in bodies:
        outside += sorted([node for node in body.outside if node not in outside], key=lambda node: node.name)
    for body in bodies:
        assert body.module is not None
        graph = body.module.graph
        lifted: dict[Node, Node] = body.scope.lifted
        place = next(node for node in graph.nodes if node.op != "placeholder")
        for node in outside:
            if node in lifted:
                place.prepend(lifted[node])
            else:
                lifted[node] = body.scope.input(node.name, node.meta["example_value"])
        body.module.recompile()
    return outside


def _applied(tx: Translator, op: HigherOrderOperator, *args: Any) -> list[Variable]:
    """Add the node of an operator, whose arguments are nodes, and return what it makes."""
    def example(node: Node) -> Any:
        return modules.get(node, node.meta["example_value"])

    modules = {arg: tx.output.scopes[-1].modules[str(arg.target)] for arg in args
               if isinstance(arg, Node) and arg.op == "get_attr" and arg.target in tx.output.scopes[-1].modules}
    result = run(tx, op, *map_arg(args, example))
    made: list[Variable] = added(tx, op, args, {}, result).items(tx)
    return made


def _nodes(variables: list[Any]) -> list[Node]:
    return [variable.argument() for variable in variables]


def _method(tx: Translator, name: str, tensor: Variable, *args: Any) -> Variable:
    made: Variable = tx.output.call(tx, "call_method", name, [tensor, *map(tx.made, args)], {})
    return made


def call_cond(tx: Translator, pred: Variable, true_fn: Variable, false_fn: Variable,
              operands: Variable | None = None) -> Variable:
    """Call ``torch.cond``. A condition that is known chooses one of the branches here."""
    given = [] if operands is None else operands.items(tx)
    if pred.is_constant and not isinstance(pred, SymbolVariable) and isinstance(pred.value, (bool, int, float)):
        return (true_fn if pred.value else false_fn).call(tx, given, {})
    if not isinstance(pred, SymbolVariable) and not (isinstance(pred, TensorVariable) and pred.example.numel() == 1):
        raise Break(f"cond: expected a bool or a tensor of one element, but got {pred}")
    bodies = [Body(tx, function, cond_op, is_flat=True, label=label)
              for function, label in ((true_fn, "cond_true"), (false_fn, "cond_false"))]
    for body in bodies:
        _captured(body, *map(Passed, given))
    taken, other = bodies
    if taken._spec != other._spec:
        raise Break("cond: expected both branches to return the same pytree structure")
    for one, two in zip(taken.leaves, other.leaves, strict=True):
        if isinstance(one, Tensor) is not isinstance(two, Tensor) or not (
                isinstance(one, Tensor) or (isinstance(one, int) and one == two)):
            raise Break(f"cond: the branches return {one} and {two}, which are no tensors or equal integers")
    outside = _merged(*bodies)
    made = iter(_applied(tx, cond_op, pred.argument(), *[body.node() for body in bodies], tuple(outside)))
    return taken.result([next(made) if isinstance(leaf, Tensor) else tx.made(leaf) for leaf in taken.leaves])


def call_map(tx: Translator, f: Variable, xs: Variable, *args: Variable) -> Variable:
    """Call ``map``."""
    tensors = _tensors_in(tx, xs, "map")
    body = Body(tx, f, map_impl, is_flat=True, label="map_body")
    _captured(body, _slices(tx, xs, tensors), *map(Passed, args))
    _only_tensors(body)
    return body.result(_applied(tx, map_impl, body.node(), _nodes(tensors), [*body.outside]))


def _turned(tx: Translator, tensor: Variable, reverse: bool) -> Variable:
    return _method(tx, "flip", tensor, [0]) if reverse else tensor


def _moved(tx: Translator, tensors: list[Any], dim: int, reverse: bool) -> list[Variable]:
    return [_turned(tx, _method(tx, "movedim", tensor, dim, 0) if dim else tensor, reverse) for tensor in tensors]


def _back(tx: Translator, tensor: Variable, dim: int, reverse: bool) -> Variable:
    turned = _turned(tx, tensor, reverse)
    return _method(tx, "movedim", turned, 0, dim) if dim else turned


def _slices(tx: Translator, xs: Variable, moved: list[Any]) -> Any:
    """Return examples of slices along the first dimension of tensors, in the structure of the value they come from.

    Raises:
        Break: if the tensors' lengths differ, or are 0; the call raises when it runs.
    """
    examples = [one.example for one in moved]
    lengths = [example.shape[0] if example.dim() else 0 for example in examples]
    if any(length != lengths[0] for length in lengths) or lengths[0] == 0:
        raise Break(f"slices of tensors whose lengths are {lengths}")
    slices = iter(run(tx, lambda: [example.select(0, 0) for example in examples]))
    return tree_map(lambda _: next(slices), example_of(xs))


def call_scan(tx: Translator, combine_fn: Variable, init: Variable, xs: Variable, *, dim: Variable | None = None,
              reverse: Variable | None = None) -> Variable:
    """Call ``scan``."""
    place, turned = 0 if dim is None else dim.value, reverse is not None and bool(reverse.value)
    carried, moved = _tensors_in(tx, init, "scan"), _moved(tx, _tensors_in(tx, xs, "scan"), place, turned)
    body = Body(tx, combine_fn, scan_op, is_flat=True, label="scan_combine_fn")
    example = _captured(body, example_of(init), _slices(tx, xs, moved))
    _only_tensors(body)
    if not isinstance(example, tuple) or len(example) != 2 or len(tree_leaves(example[0])) != len(carried):
        raise Break("scan: combine_fn has to return a carry like init, and an output")
    made = _applied(tx, scan_op, body.node(), _nodes(carried), _nodes(moved), [*body.outside])
    return body.result([*made[:len(carried)], *[_back(tx, one, place, turned) for one in made[len(carried):]]])


def call_associative_scan(tx: Translator, combine_fn: Variable, xs: Variable, dim: Variable,
                          reverse: Variable | None = None, combine_mode: Variable | None = None) -> Variable:
    """Call ``associative_scan``."""
    turned = reverse is not None and bool(reverse.value)
    if combine_mode is not None and combine_mode.value not in ("pointwise", "generic"):
        raise Break(f"associative_scan: combine_mode is {combine_mode.value!r}")
    moved = _moved(tx, _tensors_in(tx, xs, "associative_scan"), dim.value, turned)
    body = Body(tx, combine_fn, associative_scan_op, is_flat=True, label="associative_scan_combine_fn")
    _captured(body, *[_slices(tx, xs, moved) for _ in range(2)])
    _only_tensors(body)
    if len(body.leaves) != len(moved):
        raise Break("associative_scan: combine_fn has to return values like its arguments")
    made = _applied(tx, associative_scan_op, body.node(), _nodes(moved), [*body.outside])
    return body.result([_back(tx, one, dim.value, turned) for one in made])


def call_while_loop(tx: Translator, cond_fn: Variable, body_fn: Variable, carried_inputs: Variable) -> Variable:
    """Call ``while_loop``."""
    tensors = _tensors_in(tx, carried_inputs, "while_loop")
    bodies = [Body(tx, function, while_loop_op, is_flat=True, label=label)
              for function, label in ((cond_fn, "cond_fn"), (body_fn, "body_fn"))]
    examples = tuple([example_of(one) for one in carried_inputs.items(tx)])
    _captured(bodies[0], *examples)
    example = _captured(bodies[1], *examples)
    for body in bodies:
        _only_tensors(body)
    if not isinstance(example, (tuple, list)) or len(bodies[1].leaves) != len(tensors) or len(bodies[0].leaves) != 1:
        raise Break("while_loop: cond_fn has to return a tensor, body_fn a tuple like carried_inputs")
    for node in bodies[0].scope.graph.find_nodes(op="output"):
        node.args = node.args[0]  # the condition itself
    outside = _merged(*bodies)
    made = _applied(tx, while_loop_op, *[body.node() for body in bodies], tuple(_nodes(tensors)), tuple(outside))
    return bodies[1].result(made)


#: How control flow is interpreted.
CONTROL_FLOW: dict[Any, Callable[..., Variable]] = {
    cond: call_cond, map_of_slices: call_map, scan: call_scan, associative_scan: call_associative_scan,
    while_loop: call_while_loop}
