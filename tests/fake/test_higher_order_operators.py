"""``cond``, ``while_loop``, ``scan``, ``map`` and ``associative_scan``: values, gradients, errors, and fake tensors."""
from __future__ import annotations

import importlib
from typing import Any

import pytest

import mindtorch
from mindtorch._subclasses import FakeTensor, FakeTensorMode
from tests.support import torch

LIBRARIES = (mindtorch, torch)


def operators(lib: Any) -> Any:
    return importlib.import_module(f"{lib.__name__}._higher_order_ops.scan"), importlib.import_module(
        f"{lib.__name__}._higher_order_ops.associative_scan")


def grid(lib: Any) -> Any:
    return lib.arange(6.0).view(3, 2).requires_grad_()


@pytest.mark.parametrize("least", [3, 30])
def test_cond_runs_one_branch_and_differentiates_it(least: int) -> None:
    x = grid(mindtorch)
    out = mindtorch.cond(x.sum() > least, lambda x: x.sin(), lambda x: x.cos(), (x,))
    out.sum().backward()
    assert out.equal(x.sin() if least == 3 else x.cos())
    assert x.grad is not None and x.grad.equal(x.cos() if least == 3 else -x.sin())


def test_cond_refuses_branches_of_other_shapes_and_other_predicates() -> None:
    x = mindtorch.ones(3)
    with pytest.raises(RuntimeError, match="same structure, shapes and dtypes"):
        mindtorch.cond(x.sum() > 1, lambda x: x, lambda x: x[:2], (x,))
    with pytest.raises(RuntimeError, match="Expected pred to be bool or tensor"):
        mindtorch.cond("yes", lambda x: x, lambda x: x, (x,))
    with pytest.raises(RuntimeError, match="only consists of tensor leaves"):
        mindtorch.cond(x.sum() > 1, lambda x: x, lambda x: x, (1,))
    with pytest.warns(UserWarning, match="Pred is a Python constant"):
        assert mindtorch.cond(True, lambda x: x + 1, lambda x: x, (x,)).equal(x + 1)


def test_while_loop_carries_values_and_leaves_its_inputs() -> None:
    from mindtorch._higher_order_ops.while_loop import while_loop

    start = mindtorch.ones(2)
    count, out = while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (mindtorch.tensor(0), start))
    assert (count.item(), out.tolist(), start.tolist()) == (3, [8.0, 8.0], [1.0, 1.0])
    with pytest.raises(RuntimeError, match="same structure, shapes and dtypes as carried_inputs"):
        while_loop(lambda x: x.sum() < 9, lambda x: (x[:1],), (start,))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dim", [0, 1])
def test_scans_are_pytorchs(reverse: bool, dim: int) -> None:
    found = []
    for lib in LIBRARIES:
        scans, running = operators(lib)
        x = grid(lib).detach()
        carry, slices = scans.scan(lambda c, s: (c + s, c * s), lib.ones(x.shape[1 - dim]), x, dim=dim, reverse=reverse)
        sums = running.associative_scan(lambda a, b: a + b, x, dim, reverse=reverse, combine_mode="generic")
        found.append([carry.tolist(), slices.tolist(), sums.tolist()])
    assert found[0] == found[1]


def test_map_stacks_results_and_differentiates() -> None:
    from mindtorch._higher_order_ops.map import map as map_slices

    x, y = grid(mindtorch), mindtorch.ones(2, requires_grad=True)
    out = map_slices(lambda row, y: (row * y, row.sum()), x, y)
    out[0].sum().backward()
    assert out[0].equal(x * y) and out[1].equal(x.sum(1)) and y.grad is not None and y.grad.equal(x.sum(0))
    with pytest.raises(RuntimeError, match="Leading dimensions of mapped xs must be consistent"):
        map_slices(lambda a: a[0], [mindtorch.ones(2), mindtorch.ones(3)])


def test_fake_tensors_pass_through_without_values() -> None:
    from mindtorch._higher_order_ops import map as map_slices, scan

    with FakeTensorMode():
        x = mindtorch.randn(3, 2)
        out = mindtorch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))
        carry, slices = scan(lambda c, s: (c + s, c * s), mindtorch.zeros(2), x)
        mapped = map_slices(lambda s: s[:1], x)
        away = [t.to("meta") for t in (mindtorch.zeros(2), x)]
        assert {t.device.type for t in scan(lambda c, s: (c + s, c * s), *away)} == {"meta"}
    assert all(isinstance(tensor, FakeTensor) for tensor in (out, carry, slices, mapped))
    assert [tuple(tensor.shape) for tensor in (out, carry, slices, mapped)] == [(3, 2), (2,), (3, 2), (3, 1)]


def test_an_associative_scan_refuses_other_functions_dimensions_and_modes() -> None:
    from mindtorch._higher_order_ops.associative_scan import associative_scan

    def add(a, b):
        return a + b

    x = mindtorch.ones(3)
    for arguments, said in (((3, x, 0), "must be a callable, but got 3"), ((add, x, 1.0), "Dim must be an int"),
                            ((add, x, 0, False, "all"), "'pointwise' or 'generic', but got all"),
                            ((add, [], 0), "at least one leaf"), ((add, [1], 0), "at least one leaf")):
        with pytest.raises(ValueError, match=said):
            associative_scan(*arguments)


def test_a_constant_predicate_takes_one_branch_of_fake_tensors() -> None:
    from mindtorch._higher_order_ops.cond import cond_op
    from mindtorch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        x = mindtorch.ones(3)
        assert [cond_op(taken, lambda x: x[:1], lambda x: x[:2], (x,)).shape[0] for taken in (True, False)] == [1, 2]


@pytest.mark.parametrize("of_each", [True, False])
def test_a_condition_in_vmap_is_one_for_each_element_if_it_is_batched(of_each: bool) -> None:
    x, offset = mindtorch.tensor([[1.0, 2.0], [-1.0, -2.0], [3.0, -5.0]]), mindtorch.tensor([1.0, 0.5])

    def chosen(x: Any) -> Any:
        positive = x.sum() > 0 if of_each else mindtorch.tensor(True)
        return mindtorch.cond(positive, lambda y: y.sin() * x, lambda y: y * offset, (x + 1,))

    wanted = mindtorch.stack([chosen(row) for row in x])
    assert mindtorch.equal(mindtorch.vmap(chosen)(x), wanted)
    slopes = mindtorch.stack([mindtorch.func.grad(lambda row: chosen(row).sum())(row) for row in x])
    assert mindtorch.equal(mindtorch.vmap(mindtorch.func.grad(lambda row: chosen(row).sum()))(x), slopes)
    with pytest.raises(RuntimeError, match="same structure, shapes and dtypes"):
        mindtorch.vmap(lambda x: mindtorch.cond(x.sum() > 0, lambda y: y, lambda y: y.double(), (x,)))(x)


def test_an_associative_scan_in_vmap_runs_along_each_element() -> None:
    x = mindtorch.tensor([[1.0, 2.0, 3.0], [-1.0, -2.0, 0.5]])
    _, running = operators(mindtorch)
    found = mindtorch.vmap(lambda row: running.associative_scan(lambda a, b: a * b, row, 0, combine_mode="generic"))(x)
    assert mindtorch.equal(found, x.cumprod(1))
