"""What autograd saves of each call of an operator, and the gradients that it computes from that."""
from __future__ import annotations

import gc
import traceback
import weakref
from importlib import import_module
from typing import Any

import pytest

import mindtorch as torch
from mindtorch import nn
from tests.support import assert_same, torch as oracle


def test_a_parameter_may_have_any_name() -> None:
    x, source = torch.zeros(3, requires_grad=True), torch.tensor([5.0, 6.0, 7.0], requires_grad=True)
    out = x.masked_scatter(torch.tensor([True, False, True]), source)
    out.sum().backward()
    assert out.tolist() == [5, 0, 6] and x.grad.tolist() == [0, 1, 0] and source.grad.tolist() == [1, 1, 0]


def test_arguments_that_are_left_out_are_kept_as_their_defaults() -> None:
    x, y = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    assert torch.ops.aten.add.Tensor(x, y).grad_fn._saved_alpha == 1
    assert torch.ops.aten.add.Tensor(x, y, alpha=3).grad_fn._saved_alpha == 3


def test_numbers_are_kept_also_where_no_gradient_needs_them() -> None:
    x, y = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2)
    assert (x + y).grad_fn._saved_alpha == 1
    node = torch.addmm(x, y, y, beta=2, alpha=3).grad_fn
    assert (node._saved_beta, node._saved_alpha) == (2, 3) and node._saved_mat1 is None
    assert torch.addcmul(x, y, y, value=4).grad_fn._saved_value == 4


@pytest.mark.parametrize(("first", "second"), [(True, True), (True, False), (False, True)])
def test_what_is_kept_is_what_the_inputs_that_require_grad_need(first, second) -> None:
    a, b = torch.tensor(2.0, requires_grad=first), torch.tensor(3.0, requires_grad=second)
    node = (a * b).grad_fn
    assert node._saved_self is (a if second else None) and node._saved_other is (b if first else None)
    assert [edge is not None for edge, _ in node.next_functions] == [first, second]


def test_numbers_may_stand_for_tensors() -> None:
    x = torch.tensor([2.0], requires_grad=True)
    (torch.mul(x, 3) + torch.where(x > 0, x, 5.0)).backward()
    assert x.grad.item() == 4


def test_an_error_shows_the_line_that_raised_it() -> None:
    x = torch.ones(2, requires_grad=True)
    loss = x.exp().sum()
    loss.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time") as caught:
        loss.backward()
    assert all(frame.line for frame in traceback.extract_tb(caught.tb))


def test_only_gradients_that_are_wanted_are_computed() -> None:
    layer, x = nn.Linear(3, 2), torch.ones(4, 3, requires_grad=True)
    with torch.utils.flop_counter.FlopCounterMode(display=False) as counter:
        torch.autograd.grad(layer(x).sum(), x)
    assert counter.get_total_flops() == 2 * (2 * 4 * 3 * 2)


PACKED = {
    "a product": lambda t, a, b: a * b, "a quotient": lambda t, a, b: a / b, "a power": lambda t, a, b: a ** b,
    "in place": lambda t, a, b: b.clone().mul_(a), "addcdiv": lambda t, a, b: t.addcdiv(a, a * 3, b),
    "matrices": lambda t, a, b: t.mm(a[None], b[:, None]),
    "a batch of matrices": lambda t, a, b: t.baddbmm(a, a[None, :, None], b[None, None]),
    "interpolation": lambda t, a, b: t.lerp(a, b, b + 5),
    "a linear system": lambda t, a, b: t.linalg.solve(t.outer(a, a) + t.eye(2), b),
    "a norm": lambda t, a, b: t.nn.functional.layer_norm(a[None], (2,), b, a),
}


@pytest.mark.parametrize("name", PACKED)
def test_tensors_are_packed_in_the_order_of_their_names(name: str) -> None:
    theirs, seen = pytest.importorskip("torch"), {}
    for t in torch, theirs:
        a, b = t.tensor([1.0, 2.0], requires_grad=True), t.tensor([3.0, 4.0], requires_grad=True)
        found = seen[t] = []
        with t.autograd.graph.saved_tensors_hooks(lambda s, found=found: found.append(s.tolist()) or s, lambda s: s):
            PACKED[name](t, a, b)
    assert seen[torch] == seen[theirs] and len(seen[theirs]) > 1


WRITES = {
    "a view": lambda x: x.view(6).exp_(), "a row": lambda x: x[1].sigmoid_(),
    "a transposed view": lambda x: x.t().tanh_(), "a part": lambda x: x[:, 1:].relu_(),
    "a view of a part": lambda x: x[1:].view(3).sqrt_(),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_written_view_that_is_kept_is_freed_without_the_collector(name: str) -> None:
    freed = []
    gc.collect()
    gc.disable()
    try:
        x = torch.ones(2, 3, requires_grad=True).clone()
        weakref.finalize(x.grad_fn, freed.append, 1)
        WRITES[name](x)
        del x
        assert freed == [1]
    finally:
        gc.enable()


@pytest.mark.parametrize("name", WRITES)
def test_a_written_view_that_is_kept_has_its_history_in_a_second_pass(name: str) -> None:
    def second(lib: Any) -> Any:
        x = (lib.arange(6.0).view(2, 3) / 10 + 0.1).requires_grad_()
        y = x * 1
        WRITES[name](y)  # the view itself is gone
        (g,) = lib.autograd.grad(y.pow(2).sum(), x, create_graph=True)
        return lib.autograd.grad(g.pow(2).sum(), x)[0]

    assert_same(second(torch), second(oracle))


def test_modes_see_a_written_view_detached_for_its_node_as_in_pytorch() -> None:
    def called(lib: Any) -> list[str]:
        mode = import_module(f"{lib.__name__}.utils._python_dispatch").TorchDispatchMode

        class Noted(mode):  # type: ignore[misc, valid-type]
            def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                names.append(str(func))
                return func(*args, **(kwargs or {}))

        names: list[str] = []
        with Noted():
            x = lib.ones(3, requires_grad=True) * 1
            x[1:].exp_()
            x.sum().backward()
        return names

    assert called(torch) == called(oracle)
