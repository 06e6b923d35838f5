"""Gradients of many parts of one tensor: each is added where it belongs."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch
from mindtorch._autograd import engine
from mindtorch._autograd.parts import SUM
from mindtorch._base import loops
from mindtorch._base.loops import chains
from tests.both import Program, assert_same_outcome, each_program
from tests.support import assert_same, torch


def whole(t: Any, dtype: str = "float32") -> Any:
    return t.arange(96.0, dtype=getattr(t, dtype)).view(4, 3, 8).requires_grad_()


def of_parts(t: Any, x: Any) -> Any:
    """Sum parts of a tensor by different weights: of ints, slices, steps, none, and all of it."""
    parts = [x[2], x[-1], x[:, 1], x[:, :, -3], x[1:3], x[:, ::2], x[..., 2:100], x[3:1], x[:, -2:], x]
    return sum([(part * weight).sum() for weight, part in enumerate(parts, 1)])


PROGRAMS: list[Callable[[Any], Any]] = [
    *[lambda t, dtype=dtype: t.autograd.grad(of_parts(t, x := whole(t, dtype)), x)  # type: ignore[misc]
      for dtype in ("float32", "float64", "bfloat16")],
    lambda t: t.autograd.grad(of_parts(t, (x := whole(t, "complex64")) * 1j).real, x),
    lambda t: t.autograd.grad(of_parts(t, (x := whole(t)) ** 2), x),
    lambda t: t.autograd.grad(of_parts(t, (x := whole(t)).transpose(0, 1)), x),
    lambda t: t.autograd.grad(of_parts(t, (y := whole(t) * 1)), y),
    lambda t: [of_parts(t, x := whole(t)).backward(), (x.grad, x.grad._version, x.grad.is_contiguous())][1],
    lambda t: [(y := of_parts(t, x := whole(t))).backward(retain_graph=True), y.backward(), x.grad][2],
    lambda t: t.autograd.grad(t.autograd.grad(of_parts(t, (x := whole(t)) ** 2), x, create_graph=True)[0].sum(), x),
    lambda t: [(h := []), (x := whole(t)), (y := x * 1).register_hook(lambda g: h.append(g) or g * 2),
               of_parts(t, y).backward(), (h, x.grad)][4],
    lambda t: [(h := []), (x := whole(t)), [(part := x[i]).register_hook(h.append) or part.sum().backward(
        retain_graph=True) for i in (0, 1, 1)], (h, x.grad)][3],
    lambda t: t.func.vmap(t.func.grad(lambda x: of_parts(t, x)))(t.stack([whole(t), whole(t) * 2]).detach()),
    lambda t: t.autograd.grad([(x := whole(t))[i] for i in (0, 1, 0)], x, [t.ones(3, 8), t.ones(3, 8) * 2, t.ones(
        1, 1).expand(3, 8)]),
    lambda t: [(x := whole(t)), (y := (x[0] + x[0] + x[1]).sum()).backward(), y.backward()],
]


@each_program(*PROGRAMS)
def test_gradients_of_parts_are_pytorchs(program: Program) -> None:
    assert_same_outcome(program)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_gradients_of_parts_of_half_precision_are_added_by_a_chain(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains.Chained, "left", -1)
    monkeypatch.setattr(chains, "TRACED", -1)
    monkeypatch.setattr(SUM, "_ufuncs", {})
    monkeypatch.setattr(SUM, "_awaited", {})
    found, wanted = (t.autograd.grad(of_parts(t, x := whole(t, dtype)), x)[0] for t in (mindtorch, torch))
    assert len(SUM._ufuncs) == 1 or loops.numba() is None
    assert_same(found, wanted)


def test_a_gradient_that_a_user_holds_is_not_written() -> None:
    x = whole(mindtorch)
    kept = mindtorch.ones(4, 3, 8)
    y = x * 1
    mindtorch.autograd.backward([y, y[0].sum(), y[0].sum()], [kept, None, None])
    assert kept.tolist() == mindtorch.ones(4, 3, 8).tolist() and x.grad[0].tolist() == [[3.0] * 8] * 3


@pytest.mark.parametrize("read", [lambda x, i: x[i], lambda x, i: x[:, i], lambda x, i: x[i:i + 1]])
def test_no_gradient_of_the_whole_is_made_for_each_part(read: Callable[[Any, int], Any],
                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    added: list[bool] = []
    add_to_part = engine.add_to_part  # type: ignore[attr-defined]
    monkeypatch.setattr(engine, "add_to_part", lambda *args: added.append(add_to_part(*args)) or added[-1])
    x = mindtorch.randn(9, 9, requires_grad=True)
    sum([read(x, i).sum() for i in range(9)]).backward()
    assert added == [True] * 8 and x.grad.tolist() == mindtorch.ones(9, 9).tolist()


def test_observers_are_told_the_operators_of_pytorch_for_each_part() -> None:
    x = mindtorch.randn(4, 3, requires_grad=True) * 1
    y = sum([(x[i] * 2).sum() for i in range(4)])
    with mindtorch.observe() as trace:
        y.backward()
    told = [event.op for event in trace]
    assert told.count("select_backward") == 4 and told.count("add_.Tensor") == 3
