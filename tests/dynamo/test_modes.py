"""Modes that a compiled function enters and leaves: its results are PyTorch's, and the thread is as it was."""
from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch
from tests.support import torch

Program = Callable[[Any], Any]


def block(t: Any) -> Program:
    def program(x: Any) -> Any:
        with t.autocast("cpu", dtype=t.bfloat16):
            y = x @ x
        return y, x @ x

    return program


def nested(t: Any) -> Program:
    def program(x: Any) -> Any:
        with t.autocast("cpu", dtype=t.bfloat16):
            y = x @ x
            with t.autocast("cpu", enabled=False):
                z = x @ x
            return y, z, x @ x

    return program


def broken(t: Any) -> Program:
    def program(x: Any) -> Any:
        with t.autocast("cpu", dtype=t.bfloat16):
            y = x @ x
            if float(y.float().sum()) > 1e9:
                return y
            z = y.float().sum()
        return z, x @ x

    return program


def raised(t: Any) -> Program:
    def program(x: Any) -> Any:
        try:
            with t.autocast("cpu", dtype=t.bfloat16):
                raise ValueError
        except ValueError:
            pass
        return x @ x

    return program


def by_hand(t: Any) -> Program:
    def program(x: Any) -> Any:
        mode = t.autocast("cpu", dtype=t.bfloat16)
        mode.__enter__()
        y = x @ x
        mode.__exit__(None, None, None)
        return y, x @ x

    return program


def outside(t: Any) -> Program:
    mode = t.autocast("cpu", dtype=t.float16)

    def program(x: Any) -> Any:
        with mode:
            y = x @ x
        return y, x @ x

    return program


def several(t: Any) -> Program:
    def program(x: Any) -> Any:
        for _ in range(2):
            with t.no_grad(), t.autocast("cpu", dtype=t.bfloat16):
                y = x @ x
            x = x + y
        return x

    return program


def of_a_module(t: Any) -> Program:
    linear = t.nn.Linear(3, 3)
    with t.no_grad():
        for parameter in linear.parameters():
            parameter.fill_(0.5)

    def program(x: Any) -> Any:
        with t.autocast("cpu", dtype=t.bfloat16):
            return t.nn.functional.mse_loss(linear(x), x)

    return program


def view_of_inference(t: Any) -> Program:
    def function(x: Any) -> Any:
        with t.inference_mode():
            y = (x * 2).relu()
        return y[0]

    return function


def inference(t: Any) -> Program:
    def program(x: Any) -> Any:
        with t.inference_mode():
            y = x * 2
            with t.inference_mode(False):
                z = x * 3
        return y, z, y.is_inference()

    return program


PROGRAMS: dict[str, Callable[[Any], Program]] = {
    "block": block, "nested": nested, "with a graph break": broken, "left by an error": raised, "by hand": by_hand,
    "made outside": outside, "several, in a loop": several, "of a module": of_a_module, "inference": inference,
    "a view of what inference mode made": view_of_inference,
    "autocast decorates": lambda t: t.autocast("cpu", dtype=t.bfloat16)(lambda x: x @ x),
    "inference_mode decorates": lambda t: t.inference_mode()(lambda x: x * 2),
    "no_grad decorates": lambda t: t.no_grad()(lambda x: x * 2),
    "enable_grad decorates": lambda t: t.enable_grad()(lambda x: x * 2),
}


def told(t: Any, function: Program, requires_grad: bool) -> Any:
    """Return what two calls return and leave behind, and the gradient of what requires one."""
    found: list[Any] = []
    for _ in range(2):
        x = ((t.arange(9.0).reshape(3, 3) + 1) / 8).requires_grad_(requires_grad)
        result = function(x)
        results = result if isinstance(result, tuple) else (result,)
        found += [(str(r.dtype), r.requires_grad, r.tolist()) if hasattr(r, "dtype") else r for r in results]
        found += [t.is_grad_enabled(), t.is_inference_mode_enabled(), t.is_autocast_enabled("cpu")]
        total: Any = sum(r.float().sum() for r in results if hasattr(r, "dtype") and r.requires_grad)
        if hasattr(total, "dtype") and requires_grad:
            found.append(t.autograd.grad(total, x)[0].tolist())
    return found


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_compiled_function_enters_and_leaves_modes_as_pytorch_does(name: str, requires_grad: bool) -> None:
    expected = told(torch, PROGRAMS[name](torch), requires_grad)
    for backend in ("inductor", "aot_eager"):
        mindtorch._dynamo.reset()
        function = mindtorch.compile(PROGRAMS[name](mindtorch), backend=backend)
        assert told(mindtorch, function, requires_grad) == expected, backend


def test_a_graph_names_pytorchs_functions_for_entering_and_leaving_autocast() -> None:
    graphs: list[Any] = []
    mindtorch.compile(block(mindtorch), backend=lambda graph, inputs: graphs.append(graph) or graph.forward)(
        mindtorch.ones(2, 2))
    assert "torch.amp.autocast_mode._enter_autocast('cpu', torch.bfloat16, True, True)" in graphs[0].code


def breaking(lib, x):
    dynamo = importlib.import_module(f"{lib.__name__}._dynamo")
    dynamo.graph_break()
    return x + 1


def in_a_block(lib, x):
    with importlib.import_module(f"{lib.__name__}._dynamo").error_on_graph_break(True):
        return breaking(lib, x) * 2


def before_and_behind(lib, x):
    x = breaking(lib, x)
    with importlib.import_module(f"{lib.__name__}._dynamo").error_on_graph_break(True):
        x = x.sin()
    return breaking(lib, x)


def allowed_within(lib, x):
    block = importlib.import_module(f"{lib.__name__}._dynamo").error_on_graph_break
    with block(True):
        with block(False):
            x = breaking(lib, x)
        return x + 1


@pytest.mark.parametrize("fullgraph", [False, True])
@pytest.mark.parametrize("function", [in_a_block, before_and_behind, allowed_within])
def test_a_graph_break_is_an_error_where_the_program_says_so(function, fullgraph) -> None:
    def outcome(lib):
        dynamo = importlib.import_module(f"{lib.__name__}._dynamo")
        dynamo.reset()
        try:
            return lib.compile(lambda x: function(lib, x), backend="eager", fullgraph=fullgraph)(lib.ones(2)).tolist()
        except dynamo.exc.Unsupported:
            return "refused"

    assert outcome(mindtorch) == outcome(torch)


def test_a_function_that_is_traced_by_the_backend_alone_takes_containers() -> None:
    def outcome(lib):
        dynamo, calls = importlib.import_module(f"{lib.__name__}._dynamo"), []

        @dynamo.nonstrict_trace
        def inner(x, y):
            dynamo.graph_break()
            calls.append(1)
            return {"sum": x.sin() + y["a"] * y["b"][0]}

        compiled = lib.compile(lambda x: inner(x, {"a": x, "b": [x, 2]})["sum"] + 1, backend="eager", fullgraph=True)
        return compiled(lib.ones(2)).tolist(), bool(calls)

    assert outcome(mindtorch) == outcome(torch)
