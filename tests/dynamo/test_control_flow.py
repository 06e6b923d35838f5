"""Control flow in compiled programs: ``cond``, ``map``, ``scan``, ``associative_scan`` and ``while_loop`` are one node
each, which applies the graphs of its functions.
"""
from __future__ import annotations

import math
import re
from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest

import mindtorch
from mindtorch._dynamo.backends.common import aot_autograd
from mindtorch._dynamo.exc import Unsupported
from mindtorch._dynamo.testing import CompileCounter

oracle = pytest.importorskip("torch", reason="PyTorch, the reference of these tests, is not installed")


def operators(torch: Any) -> Any:
    """Return the operators of a library that take functions, and tensors for functions to read."""
    found = {name: getattr(import_module(f"{torch.__name__}._higher_order_ops.{name}"), name)
             for name in ("map", "scan", "associative_scan", "while_loop")}
    layer = torch.nn.Linear(3, 3)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(torch.linspace(-0.5, 0.7, parameter.numel()).reshape(parameter.shape))
    return SimpleNamespace(**found, cond=torch.cond, layer=layer,
                           weight=torch.tensor([2.0, 3.0, 4.0], requires_grad=True))


def of_branches(torch: Any, ops: Any) -> Callable[..., Any]:
    def program(x):
        y = x + 1
        return ops.cond(x.sum() > 0, lambda a: a.sin() * ops.weight + y, lambda a: a.cos() - ops.layer(a), (x,))

    return program


def without_gradients(torch: Any, ops: Any) -> Callable[..., Any]:
    def program(x):
        with torch.no_grad():
            return ops.cond(x.sum() > 0, lambda a: a + ops.weight, lambda a: a - 1, (x,))

    return program


def of_sizes(torch: Any, ops: Any) -> Callable[..., Any]:
    def program(x):
        rows = x.shape[0]
        return ops.cond(x.sum() > 0, lambda a: a * rows, lambda a: a + 1, (x,))

    return program


def until_large(torch: Any, ops: Any) -> Callable[..., Any]:
    def program(x):
        step = x.abs() + 1
        return ops.while_loop(lambda d: d["a"].sum() < 50, lambda d: ({"a": d["a"] + step},), ({"a": x},))

    return program


#: Programs of one tensor, made for a library.
PROGRAMS: dict[str, Callable[[Any, Any], Callable[..., Any]]] = {
    "branches": of_branches,
    "branches without gradients": without_gradients,
    "branches that read sizes": of_sizes,
    "branches in branches": lambda torch, ops: lambda x: ops.cond(
        x.sum() > 0, lambda a: ops.cond(a[0, 0] > 0, lambda b: b * ops.weight, lambda b: b - 1, (a,)), torch.cos, (x,)),
    "a tree of results": lambda torch, ops: lambda x: ops.cond(
        x.sum() > 0, lambda a: (a * 1, {"k": a + 1}), lambda a: (a + 2, {"k": a * 3}), (x,)),
    "branches without operands": lambda torch, ops: lambda x: ops.cond(x.sum() > 0, lambda: x + 1, lambda: x - 1),
    "a module for a branch": lambda torch, ops: lambda x: ops.cond(x.sum() > 0, ops.layer, torch.sin, (x,)),
    "a known condition": lambda torch, ops: lambda x: ops.cond(True, lambda a: a * 2, lambda a: a, (x,)),
    "map": lambda torch, ops: lambda x: ops.map(lambda r, k: (r * ops.weight + k, r.sum()), x, x.sum()),
    "map of a tree": lambda torch, ops: lambda x: ops.map(lambda d: {"s": d["a"] * d["b"]}, {"b": x, "a": x * 2}),
    "branches in map": lambda torch, ops: lambda x: ops.map(
        lambda r: ops.cond(r.sum() > 0, lambda a: a * 2, lambda a: a - 1, (r,)), x),
    "scan": lambda torch, ops: lambda x: ops.scan(lambda c, r: (c + r * ops.weight, c * r), torch.ones(3), x),
    "scan from the end": lambda torch, ops: lambda x: ops.scan(
        lambda c, r: ({"a": c["a"] + r}, {"k": c["a"] * r}), {"a": torch.ones(3)}, x, reverse=True),
    "scan along a dimension": lambda torch, ops: lambda x: ops.scan(
        lambda c, r: (c + r, c * r), x[:, 0] + 0, x, dim=1),
    "associative scan": lambda torch, ops: lambda x: ops.associative_scan(
        lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (x, x + 1), 1, reverse=True, combine_mode="generic"),
    "loop": lambda torch, ops: lambda x: ops.while_loop(
        lambda i, y: i < 3, lambda i, y: (i + 1, y * 2), (torch.tensor(0), x)),
    "loop until the data say so": until_large,
}


def tensors_in(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = [*value.values()]
    return [one for item in value for one in tensors_in(item)] if isinstance(value, (list, tuple)) else [value]


def run(torch: Any, program: Callable[..., Any], ops: Any, rows: int, sign: int, requires_grad: bool) -> list[Any]:
    """Return a program's results, and the gradients of what it reads."""
    x = (torch.arange(3.0 * rows).reshape(rows, 3) * sign / 7 + 0.1 * sign).requires_grad_(requires_grad)
    results = tensors_in(program(x))
    recorded = [one for one in results if one.requires_grad]
    leaves = [one for one in (x, ops.weight, *ops.layer.parameters()) if one.requires_grad]
    gradients = torch.autograd.grad(sum((one * one).sum() for one in recorded), leaves,
                                    allow_unused=True) if recorded else [None] * len(leaves)
    return [one.tolist() for one in results] + [
        [0.0] if one is None or not one.count_nonzero() else one.tolist() for one in gradients]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.sampled(8)
def test_control_flow_is_captured_whole(name: str, backend: str) -> None:
    """Results and gradients are those of PyTorch, also for other conditions and sizes."""
    expected_ops, ops = operators(oracle), operators(mindtorch)
    expected, program = PROGRAMS[name](oracle, expected_ops), PROGRAMS[name](mindtorch, ops)
    for requires_grad in (False, True):
        mindtorch._dynamo.reset()
        in_graph = backend != "aot_eager" or not requires_grad or not name.startswith("loop")
        compiled = mindtorch.compile(program, backend=backend, fullgraph=in_graph)
        for rows, sign in ((4, 1), (4, -1), (5, 1), (5, -1)):
            found = run(mindtorch, compiled, ops, rows, sign, requires_grad)
            wanted = run(oracle, expected, expected_ops, rows, sign, requires_grad)
            for one, other in zip(found, wanted, strict=True):
                oracle.testing.assert_close(oracle.tensor(one), oracle.tensor(other), atol=1e-4, rtol=1e-5)


def test_aotautograd_has_no_gradients_of_loops() -> None:
    mindtorch._dynamo.reset()
    compiled = mindtorch.compile(PROGRAMS["loop"](mindtorch, operators(mindtorch)), backend="aot_eager", fullgraph=True)
    assert compiled(mindtorch.ones(2))[1].tolist() == [8, 8]
    with pytest.raises(Unsupported, match="the backend cannot trace the graph: while_loop"):
        compiled(mindtorch.ones(2, requires_grad=True))


def test_a_loop_may_carry_what_its_functions_also_read() -> None:
    ops = operators(mindtorch)
    mindtorch._dynamo.reset()
    compiled = mindtorch.compile(lambda x, n: ops.while_loop(
        lambda i, y: i < n, lambda i, y: (i + 1, y * 1.5 + x), (mindtorch.tensor(0), x))[1], backend="aot_eager",
        fullgraph=True)
    assert compiled(mindtorch.ones(1), mindtorch.tensor(3)).item() == ((1.5 + 1) * 1.5 + 1) * 1.5 + 1


def test_a_condition_chooses_in_the_backward_graph_too() -> None:
    graphs: dict[str, Any] = {}

    def kept(name: str) -> Callable[..., Any]:
        return lambda module, _: graphs.setdefault(name, module).forward

    def program(x):
        return mindtorch.cond(x.sum() > 0, lambda a: a.sin(), lambda a: a * 3, (x,)) * 2

    mindtorch._dynamo.reset()
    compiled = mindtorch.compile(program, backend=aot_autograd(fw_compiler=kept("fw"), bw_compiler=kept("bw")))
    for number, gradient in ((0.5, 2 * math.cos(0.5)), (-0.5, 6.0)):
        x = mindtorch.tensor([number], requires_grad=True)
        compiled(x).backward()
        assert x.grad.item() == pytest.approx(gradient)
    for module in graphs.values():
        assert [str(node.target) for node in module.graph.nodes if node.op == "call_function"].count("cond") == 1
        assert len([*module.named_children()]) == 2


def calls(torch: Any, program: Callable[..., Any]) -> list[Any]:
    """Return the names of a captured graph's functions, and the calls of each, the outermost graph last."""
    found: list[Any] = []

    def backend(module: Any, _: Any) -> Any:
        def visit(name: str, one: Any) -> None:
            for child, inner in sorted(one.named_children()):
                visit(child, inner)
            named = [str(getattr(node.target, "__name__", node.target)) for node in one.graph.nodes
                     if node.op.startswith("call")]
            found.append((name, [re.sub("associative_scan_op|AssociativeScanOp", "associative_scan", each)
                                 for each in named]))

        visit("", module)
        return module.forward

    torch._dynamo.reset()
    torch.compile(program, backend=backend, fullgraph=True)(torch.arange(12.0).reshape(4, 3) + 1)
    return found


@pytest.mark.parametrize("name", [
    "branches", "branches without gradients", "branches in branches", "a tree of results", "a known condition", "map",
    "map of a tree", "branches in map", "scan", "scan from the end", "loop", "loop until the data say so"])
def test_graphs_are_those_of_pytorch(name: str) -> None:
    """Each function is a graph under PyTorch's name, with PyTorch's calls."""
    assert calls(mindtorch, PROGRAMS[name](mindtorch, operators(mindtorch))) == calls(
        oracle, PROGRAMS[name](oracle, operators(oracle)))


def test_another_condition_is_no_reason_to_compile_again() -> None:
    counter = CompileCounter()
    compiled = mindtorch.compile(lambda x: mindtorch.cond(x.sum() > 0, lambda a: a + 1, lambda a: a - 1, (x,)),
                                 backend=counter, fullgraph=True)
    mindtorch._dynamo.reset()
    assert [compiled(mindtorch.tensor([number])).item() for number in (2.0, -2.0, 3.0)] == [3.0, -3.0, 4.0]
    assert counter.frame_count == 1


SEEN: list[int] = []


def writes_a_list(a: Any) -> Any:
    SEEN.append(1)
    return a + 1


@pytest.mark.parametrize(("branch", "message"), [
    (lambda a: a, "aliasing during higher order op tracing"),
    (lambda a: a.view(-1).reshape(a.shape), "aliasing during higher order op tracing"),
    (lambda a: a.add_(1) * 2, "input mutation during higher order op tracing"),
    (lambda a: a.view(-1).add_(1).sum() + a, "input mutation during higher order op tracing"),
    (lambda a: (a + 1,), "pytree structure"),
    (lambda a: a[0] + 1, "same structure, shapes and dtypes"),
    (writes_a_list, "writes objects")])
def test_functions_that_are_no_functions_of_values_break_the_graph(branch: Any, message: str) -> None:
    """An input that is returned or written, another structure, and a list that is written, are errors of fullgraph."""
    def program(x):
        return mindtorch.cond(x.sum() > 0, branch, lambda a: a - 1, (x,))

    mindtorch._dynamo.reset()
    with pytest.raises(Unsupported, match=message):
        mindtorch.compile(program, backend="eager", fullgraph=True)(mindtorch.ones(2, 3))


def test_a_returned_input_is_right_with_a_graph_break() -> None:
    mindtorch._dynamo.reset()
    compiled = mindtorch.compile(lambda x: mindtorch.cond(x.sum() > 0, lambda a: a, lambda a: a - 1, (x,)) + 1,
                                 backend="eager")
    assert compiled(mindtorch.ones(2)).tolist() == [2.0, 2.0]
    assert compiled(-mindtorch.ones(2)).tolist() == [-1.0, -1.0]


def test_numbers_that_branches_return_agree() -> None:
    """Equal integers are known in the graph; others break it."""
    def program(x, number):
        return mindtorch.cond(x.sum() > 0, lambda a: (a + 1, 3), lambda a: (a - 1, number), (x,))

    mindtorch._dynamo.reset()
    compiled = mindtorch.compile(program, backend="eager", fullgraph=True)
    tensor, number = compiled(-mindtorch.ones(1), 3)
    assert (tensor.item(), number) == (-2.0, 3)
    with pytest.raises(Unsupported, match="equal integers"):
        compiled(-mindtorch.ones(1), 4)


def test_a_loop_has_the_gradients_of_its_steps() -> None:
    weight = mindtorch.tensor([2.0, 3.0], requires_grad=True)
    loop = import_module("mindtorch._higher_order_ops.while_loop").while_loop
    compiled = mindtorch.compile(lambda x: loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * weight), (
        mindtorch.tensor(0), x))[1], fullgraph=True)
    x = mindtorch.tensor([-1.0, 2.0])
    (compiled(x) ** 2).sum().backward()
    assert mindtorch.equal(weight.grad, 6 * x ** 2 * weight.detach() ** 5)
