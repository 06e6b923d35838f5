"""``torch.autograd.Function`` in compiled programs: one node, forward and backward traced, with guards on both."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch as torch
from mindtorch._dynamo.testing import CompileCounter

SCALE, WEIGHT, CALLS = 2.0, torch.tensor([1.0, 2.0, 3.0]), list[int]()


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor=1):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * x * factor * SCALE

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * x * ctx.factor * SCALE * 7, None  # which is no derivative of forward


class Pair(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return x * y, (x + y).round()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx, a, b):
        x, y = ctx.saved_tensors
        return a * y * 3, a * x if ctx.needs_input_grad[1] else None


class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        y, = ctx.saved_tensors
        return g * y * len(g)


class Called(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, function):
        return function(x) * 2

    @staticmethod
    def backward(ctx, g):
        return g * 5, None


class Weighed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * WEIGHT

    @staticmethod
    def backward(ctx, g):
        return g * WEIGHT


class Counted(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        CALLS.append(1)
        return g * 2


class Reversed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return -g


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Layer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.function = Scaled.apply

    def forward(self, x):
        return self.function(x, 2)


def gradients(function: Callable[..., Any], sizes: tuple[int, ...] = (3, 3)) -> list[Any]:
    found = []
    for size in sizes:
        x = torch.arange(1.0, size + 1, requires_grad=True)
        y = function(x)
        y.sum().backward()
        found += [y.tolist(), x.grad.tolist()]
    return found


PROGRAMS: dict[str, Callable[..., Any]] = {
    "saved": lambda x: Scaled.apply(x * 1, 3).sin(), "twice": lambda x: Scaled.apply(Scaled.apply(x)),
    "by name": lambda x: Scaled.apply(x, factor=2), "several": lambda x: Pair.apply(x, x + 1)[0],
    "one gradient": lambda x: Pair.apply(x, x.detach())[0] + Pair.apply(x, x)[1], "output": lambda x: Exp.apply(x),
    "function": lambda x: Called.apply(x, torch.cos), "module": Layer()}


@pytest.mark.parametrize("name", PROGRAMS)
def test_forward_and_backward_of_a_function_are_one_program(name) -> None:
    compiled = torch.compile(PROGRAMS[name], fullgraph=True)
    assert gradients(compiled, (3, 3, 4, 5)) == gradients(PROGRAMS[name], (3, 3, 4, 5))
    for entry in compiled._compiled.entries[:1] if name != "module" else ():  # the others serve several sizes
        assert entry.compiled.broken is None and entry.compiled.backward is not None


@pytest.mark.parametrize("program", [lambda x: Scaled.apply(x), Layer()], ids=["class", "module"])
def test_a_program_is_made_anew_when_what_a_function_reads_has_changed(program, monkeypatch) -> None:
    counter = CompileCounter()
    compiled = torch.compile(program, backend=counter, fullgraph=True)
    gradients(compiled)
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    assert gradients(compiled) == gradients(program) and counter.frame_count == 2
    monkeypatch.setattr(Scaled, "backward", staticmethod(lambda ctx, g: (g * 11, None)))
    assert gradients(compiled) == gradients(program) and counter.frame_count == 3


@pytest.mark.parametrize("program,reason", [
    (lambda x: Weighed.apply(x) + 1, "reads tensors that are no arguments"),
    (lambda x: Counted.apply(x) + 1, "writes objects"), (lambda x: Reversed.apply(x * 1), "a view of one"),
    (lambda x: Doubled.apply(x * 1), "writes an input in place")])
def test_a_function_that_does_more_than_compute_runs_outside_of_a_graph(program, reason) -> None:
    with pytest.raises(torch._dynamo.exc.Unsupported, match=reason):
        torch.compile(program, fullgraph=True)(torch.ones(3, requires_grad=True))
    CALLS.clear()
    assert gradients(torch.compile(program)) == gradients(program) and len(CALLS) in (0, 4)


def test_a_second_derivative_of_a_compiled_function_is_eagers() -> None:
    found = []
    for function in (torch.compile(PROGRAMS["saved"]), PROGRAMS["saved"]):
        x = torch.arange(1.0, 4.0, requires_grad=True)
        first, = torch.autograd.grad(function(x).sum(), x, create_graph=True)
        found.append(torch.autograd.grad(first.sum(), x)[0].tolist())
    assert found[0] == found[1]
