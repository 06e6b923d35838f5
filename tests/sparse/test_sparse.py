"""Sparse tensors: construction, conversions, arithmetic, products, gradients and text are PyTorch's."""
from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

import mindtorch

torch = pytest.importorskip("torch", reason="PyTorch, the reference of these tests, is not installed")
Program = Callable[[Any], Any]


def told(value: Any) -> Any:
    """Return everything that a result is: of a tensor its parts, layout, place in the graph and text."""
    if isinstance(value, (list, tuple)):
        return [told(item) for item in value]
    if not hasattr(value, "layout"):
        return value
    facts = [str(value.layout), tuple(value.shape), str(value.dtype), repr(value)]
    if value.layout in (torch.sparse_coo, mindtorch.sparse_coo):
        return [*facts, value.is_coalesced(), value._indices().tolist(), told(value._values())]
    return [*facts, None if value.device.type == "meta" else value.to_dense().tolist()]


def outcome(program: Program, lib: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return told(program(lib))
        except (RuntimeError, TypeError, IndexError, NotImplementedError) as error:
            return type(error).__name__, str(error).split("(")[0].split(" (key set")[0][:60]


def coo(t: Any, **options: Any) -> Any:
    """Return a matrix with five values, of which two stand at the same place."""
    return t.sparse_coo_tensor([[0, 1, 1, 3, 1], [2, 0, 4, 1, 0]], [3., 4., 5., -1.5, 0.25], (4, 5), **options)


def one(t: Any) -> Any:
    """Return a matrix with one value."""
    return t.sparse_coo_tensor([[3], [1]], [2.], (4, 5))


def blocks(t: Any) -> Any:
    return t.arange(24.).view(4, 6) * t.tensor([[1, 0, 0]]).repeat_interleave(2, 1)


def programs(*found: Program) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("program", found, ids=[f"{number}" for number in range(len(found))])


@programs(
    coo, lambda t: coo(t).coalesce(), lambda t: coo(t, requires_grad=True), lambda t: coo(t, dtype=t.int16),
    lambda t: coo(t, device="meta"), lambda t: t.sparse_coo_tensor((2, 0, 3)),
    lambda t: t.sparse_coo_tensor([[0, 1]], [1, 2]),
    lambda t: t.sparse_coo_tensor([[0, 2]], t.arange(6).view(2, 3), (4, 3)),
    lambda t: t.sparse_coo_tensor(t.empty(1, 0).long(), t.empty(0, 2), (3, 2)),
    lambda t: t.sparse_coo_tensor([[0, 1]], [1., 2.], (1,), check_invariants=True),
    lambda t: t.sparse_coo_tensor([[0, -1]], [1., 2.], (3,), check_invariants=True),
    lambda t: t.sparse_coo_tensor([[0, 1]], [1., 2., 3.]), lambda t: t.sparse_coo_tensor([[0, 1]], [1., 2.], (3, 3)),
    lambda t: t.sparse_csr_tensor([0, 1, 3], [2, 0, 1], [1., 2., 3.]),
    lambda t: t.sparse_csc_tensor([0, 1, 3], [2, 0, 1], [1., 2., 3.], (4, 2), dtype=t.float64),
    lambda t: t.sparse_bsr_tensor([0, 1], [1], t.ones(1, 2, 3)),
    lambda t: t.sparse_csr_tensor([0, 1, 2], [0, 5], [1., 2.], (2, 2), check_invariants=True),
    lambda t: t.sparse_csr_tensor([0, 1, 3], [0, 1], [1., 2.], (2, 2), check_invariants=True),
    lambda t: t.sparse_compressed_tensor([0, 1], [0], [1.]), lambda t: coo(t, is_coalesced=(1,)),
    lambda t: t.sparse_coo_tensor([[0, 1]], [1., 2.], {3: 1}),
    lambda t: t.sparse_compressed_tensor([0, 1], [0], [1.], (2**40, 2**40), layout=t.sparse_csr),
    lambda t: t.zeros(2, 3, layout=t.sparse_coo), lambda t: t.zeros_like(coo(t)), lambda t: t.tensor(3.).to_sparse(),
    lambda t: t.zeros_like(t.ones(4, 2, 3).to_sparse_csr(dense_dim=1), layout=t.sparse_coo),
    lambda t: t.zeros_like(t.ones(4, 2, 3).to_sparse_csr(), layout=t.sparse_coo),
    lambda t: t.empty_like(t.eye(2).to_sparse_csr(), layout=t.sparse_coo),
)
def test_tensors_of_places_and_values(program: Program) -> None:
    assert outcome(program, mindtorch) == outcome(program, torch)


@programs(
    lambda t: coo(t).to_dense(), lambda t: coo(t).to_sparse_csr(), lambda t: coo(t).to_sparse_csc(),
    lambda t: coo(t).to_sparse_csr().to_sparse_csc().to_sparse(), lambda t: blocks(t).to_sparse_bsr((2, 2)),
    lambda t: blocks(t).to_sparse_bsc((2, 3)), lambda t: blocks(t).to_sparse_bsr((2, 2)).to_sparse(),
    lambda t: blocks(t).to_sparse_csr().to_sparse_bsr((1, 2)), lambda t: blocks(t).to_sparse(1),
    lambda t: blocks(t).to_sparse(3), lambda t: blocks(t).to_sparse_bsr((3, 2)),
    lambda t: t.ones(0, 2, 3).to_sparse_csr(),
    lambda t: t.stack([blocks(t), blocks(t)]).to_sparse_csr(), lambda t: blocks(t).view(2, 2, 6).to_sparse(2),
    lambda t: blocks(t).sparse_mask(t.eye(4, 6).to_sparse()), lambda t: coo(t).sparse_mask(t.eye(4, 5).to_sparse()),
    lambda t: blocks(t).sparse_mask(t.eye(4, 6).to_sparse_csr()), lambda t: blocks(t) > coo(t),
    lambda t: coo(t).to(t.float64), lambda t: coo(t).clone(), lambda t: coo(t).indices(), lambda t: coo(t).stride(),
    lambda t: coo(t).to_sparse_csr().indices(), lambda t: coo(t).numpy(), lambda t: coo(t).untyped_storage(),
    lambda t: (coo(t)._nnz(), coo(t).sparse_dim(), coo(t).dense_dim(), coo(t).is_sparse, coo(t).numel()),
)
def test_ways_between_layouts(program: Program) -> None:
    assert outcome(program, mindtorch) == outcome(program, torch)


@programs(
    lambda t: coo(t) * 2, lambda t: coo(t) / 4, lambda t: coo(t) ** 2, lambda t: -coo(t), lambda t: coo(t).sin(),
    lambda t: t.relu(coo(t)), lambda t: coo(t).abs().sqrt(), lambda t: coo(t).coalesce() + t.eye(4, 5).to_sparse(),
    lambda t: coo(t).coalesce() * t.eye(4, 5).to_sparse(), lambda t: coo(t) * t.full((4, 5), 2.),
    lambda t: t.ones(4, 5) + coo(t), lambda t: coo(t) + t.ones(4, 5), lambda t: t.ones(4, 5).add_(coo(t), alpha=3),
    lambda t: coo(t).mul_(2), lambda t: coo(t).coalesce().add_(t.eye(4, 5).to_sparse()), lambda t: coo(t).zero_(),
    lambda t: coo(t).exp(), lambda t: coo(t).to_sparse_csr() * 2, lambda t: coo(t).to_sparse_csr() / 2,
    lambda t: coo(t).to_sparse_csr() + t.eye(4, 5).to_sparse_csr(), lambda t: coo(t).to_sparse_csr().neg(),
    lambda t: coo(t).t(), lambda t: coo(t).to_sparse_csr().t(), lambda t: coo(t)[1], lambda t: list(coo(t).coalesce()),
    lambda t: coo(t).unsqueeze(1), lambda t: coo(t).permute(1, 0), lambda t: t.cat([coo(t), coo(t)], 1),
    lambda t: coo(t).coalesce().index_select(0, t.tensor([1, 0, 1])), lambda t: coo(t).narrow_copy(1, 1, 3),
    lambda t: coo(t).sum(), lambda t: coo(t).coalesce().sum(0), lambda t: t.sparse.sum(coo(t), (0, 1)),
    lambda t: coo(t).coalesce().sum(1, keepdim=True), lambda t: coo(t).sum((0, 1)), lambda t: coo(t).sum(dim=[]),
    lambda t: coo(t).to_sparse_csr().sum(0, keepdim=True), lambda t: coo(t).to_sparse_csr().fill_(2.),
    lambda t: coo(t, dtype=t.int32).coalesce().sum(0), lambda t: t.randn_like(t.eye(2).to_sparse_csr()).shape,
    lambda t: coo(t).norm(), lambda t: t.sparse.softmax(coo(t), 1), lambda t: t.sparse.log_softmax(coo(t), 0),
    lambda t: t.sparse.spdiags(t.arange(9.).view(3, 3), t.tensor([0, -1, 2]), (3, 4)), lambda t: coo(t).view(20),
    lambda t: coo(t) * t.eye(4, 5).to_sparse(), lambda t: t.eye(4, 5).to_sparse() * coo(t), lambda t: coo(t) * one(t),
    lambda t: coo(t) * t.sparse_coo_tensor((4, 5)), lambda t: t.sparse_coo_tensor((4, 5)) * coo(t),
    lambda t: coo(t, dtype=t.float64) * t.sparse_coo_tensor([[3], [1]], [math.inf], (4, 5)),
    lambda t: t.sparse_coo_tensor((4, 5)).t(), lambda t: coo(t).square(), lambda t: coo(t).to_sparse_csr().square(),
)
def test_arithmetic_is_on_the_values(program: Program) -> None:
    assert outcome(program, mindtorch) == outcome(program, torch)


@programs(
    lambda t: coo(t) @ t.arange(10.).view(5, 2), lambda t: t.sparse.mm(coo(t), t.ones(5, 2)),
    lambda t: coo(t) @ coo(t).t(), lambda t: coo(t) @ t.arange(5.), lambda t: coo(t).to_sparse_csr() @ t.ones(5, 2),
    lambda t: t.ones(2, 4) @ coo(t).to_sparse_csr(), lambda t: coo(t) @ t.ones(4, 2),
    lambda t: t.addmm(t.ones(4, 2), coo(t), t.ones(5, 2), beta=2, alpha=3), lambda t: t.hspmm(coo(t), t.ones(5, 2)),
    lambda t: t.bmm(t.stack([blocks(t), blocks(t)]).to_sparse(), t.ones(2, 6, 1)),
    lambda t: t.sparse.sampled_addmm(coo(t).to_sparse_csr(), t.ones(4, 2), t.arange(10.).view(2, 5), beta=2),
    lambda t: t.sparse.addmm(t.ones(4, 2), coo(t), t.ones(5, 2)), lambda t: t.smm(coo(t), t.ones(5, 1)),
)
def test_products_with_sparse_matrices(program: Program) -> None:
    assert outcome(program, mindtorch) == outcome(program, torch)


def gradients(function: Callable[[Any, Any], Any]) -> Program:
    """Return a program with the gradients of a sparse and of a dense matrix, and the nodes' names."""

    def program(t: Any) -> Any:
        sparse, dense = coo(t).coalesce().requires_grad_(), t.arange(20.).view(4, 5).requires_grad_()
        result = function(sparse, dense)
        result = result.to_dense() if result.layout is not t.strided else result
        (result ** 2).sum().backward()
        grad = sparse.grad  # whether it is known to be coalesced depends on who else refers to it
        grad = grad.coalesce() if grad is not None and grad.layout is t.sparse_coo else grad
        return [grad, dense.grad, type(result.grad_fn).__name__]

    return program


@programs(
    gradients(lambda s, d: s), gradients(lambda s, d: s * 3 + s), gradients(lambda s, d: s * s),
    gradients(lambda s, d: s.t()), gradients(lambda s, d: d.to_sparse()), gradients(lambda s, d: d.to_sparse_csr()),
    gradients(lambda s, d: d.sparse_mask(s.detach())), gradients(lambda s, d: d + s),
    gradients(lambda s, d: d.sparse_mask(s.detach()).to_dense(masked_grad=False)),
    gradients(lambda s, d: s.sparse_mask((s * 2).detach().coalesce()).to_dense(masked_grad=False)),
    lambda t: t.zeros_like(coo(t), memory_format=t.preserve_format),
    gradients(lambda s, d: s.values() * 2), gradients(lambda s, d: s @ d.t()), gradients(lambda s, d: s.sin()),
    gradients(lambda s, d: s.to_sparse_csr() @ d.t()), gradients(lambda s, d: d * s),
    lambda t: gradients(lambda s, d: t.sparse.mm(s, d.t()))(t), lambda t: gradients(lambda s, d: t.sparse.sum(s, 1))(t),
    lambda t: gradients(lambda s, d: t.sparse.softmax(s, 1))(t),
    lambda t: gradients(lambda s, d: t.sparse_coo_tensor([[1, 0], [0, 2]], d[0, :2], (2, 3)))(t),
    lambda t: gradients(lambda s, d: t.sparse_csr_tensor([0, 1, 2], [1, 0], d[0, :2], (2, 2)))(t),
)
def test_gradients_are_as_sparse_as_pytorchs(program: Program) -> None:
    assert outcome(program, mindtorch) == outcome(program, torch)


@programs(
    lambda t: of_leaf(t.ceil, coo(t).coalesce()), lambda t: of_leaf(t.neg, coo(t)), lambda t: of_leaf(t.neg, one(t)),
    lambda t: of_leaf(t.neg, t.sparse_coo_tensor((4, 5))), lambda t: of_leaf(t.square, coo(t)),
    lambda t: of_leaf(lambda s: s * one(t), coo(t)), lambda t: of_leaf(t.log1p, coo(t).abs()),
    lambda t: of_leaf(t.log1p, coo(t).abs().to_sparse_csr()),
    lambda t: t.autograd.grad(t.log1p(x := t.ones(4, 5, requires_grad=True)), x, one(t)),
)
def test_the_gradient_of_a_sparse_leaf_is_pytorchs(program: Program) -> None:
    assert outcome(program, mindtorch) == outcome(program, torch)


def of_leaf(function: Callable[[Any], Any], leaf: Any) -> Any:
    """Return what a leaf receives as its gradient from all elements of a result."""
    function(leaf.detach_().requires_grad_()).to_dense().sum().backward()
    return leaf.grad


def test_the_gradient_of_log1p_of_a_sparse_tensor_is_warned_of() -> None:
    leaf = one(mindtorch).requires_grad_()
    total = mindtorch.log1p(leaf).to_dense().sum()
    with pytest.warns(UserWarning, match="log1p_backward: received self with sparse layout"):
        total.backward()


def test_the_dispatcher_shows_the_layout() -> None:
    with mindtorch.observe() as trace:
        coo(mindtorch) @ mindtorch.ones(5, 2)
    event = next(event for event in trace.events if event.op == "mm")
    assert event.path == ("SparseCPU",) and event.kernel == "mm"


def reduced(t: Any, how: str) -> Any:
    rows = t.tensor([[1., 0, -2], [0, 0, 0], [3, 4, 0]]).to_sparse_csr().requires_grad_()
    dense = t.arange(6.).reshape(3, 2).requires_grad_()
    out = t.sparse.mm(rows, dense, how)
    out.sum().backward()
    return out.tolist(), rows.grad.values().tolist(), dense.grad


@programs(
    lambda t: coo(t).sin_(), lambda t: coo(t).coalesce().sin_(), lambda t: coo(t).neg_(),
    lambda t: coo(t).copy_(coo(t).narrow_copy(0, 0, 1)), lambda t: coo(t).copy_(t.eye(4, 5).to_sparse(1)),
    lambda t: coo(t).resize_as_(t.sparse_coo_tensor([[0], [1]], [1.], (6, 5))),
    lambda t: coo(t).new().resize_as_(coo(t)),
    lambda t: [coo(t).coalesce().permute(dims).is_coalesced() for dims in ((1, 0), (0, 1))],
    lambda t: t.eye(2, 1).to_sparse().t().is_coalesced(), lambda t: t.ones(1, 5) + coo(t),
    lambda t: t.ones(()) + coo(t),
    lambda t: (coo(t) * t.tensor(2).to_sparse(), t.tensor(2).to_sparse() * coo(t)),
    lambda t: t.zeros_like(coo(t), layout=t.strided, memory_format=t.contiguous_format),
    lambda t: (t.ones_like(t.eye(3).to_sparse_csr()), t.full_like(t.eye(4).to_sparse_bsr((2, 2)), 2)),
    lambda t: t.sparse_coo_tensor([[0], [1]], t.ones(1, 4), (2, 3, 2)),
    lambda t: t.sparse_coo_tensor([[0]] * 4, [1.], (2 ** 31,) * 4),
    lambda t: t.eye(2).to_sparse(layout=t.sparse_csr, blocksize=(1, 1)), lambda t: t.eye(2).to_sparse_bsr((2,)),
    lambda t: (t.hsmm(coo(t), t.ones(5, 2)), t.dsmm(coo(t), t.ones(5, 2))),
    lambda t: t.eye(4, 6).to_sparse_bsr((2, 3)).to("meta").values(),
    lambda t: t._validate_compressed_sparse_indices(True, t.tensor([0, 1]), t.tensor([5]), 1, 1, 1),
    lambda t: reduced(t, "mean"), lambda t: reduced(t, "amax"), lambda t: reduced(t, "amin"),
    lambda t: reduced(t, "prod"),
)
def test_shapes_places_and_reductions_are_pytorchs(program: Program) -> None:
    assert outcome(program, mindtorch) == outcome(program, torch)


def on_fakes(t: Any, of: Program, call: Program) -> Any:
    fakes = import_module(f"{t.__name__}._subclasses.fake_tensor")
    mode = fakes.FakeTensorMode()
    with mode:
        result = call(fakes.FakeTensor.from_tensor(of(t), mode))
    return isinstance(result, fakes.FakeTensor), str(result.device), tuple(result.shape), repr(result)


@pytest.mark.parametrize("call", [
    lambda x: x, lambda x: x + x, lambda x: x * 2, lambda x: x.to_dense(), lambda x: x.to_dense().to_sparse(),
    lambda x: x.mm(x.to_dense().mT)], ids=range(6))
@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr"])
def test_fake_tensors_have_sparse_layouts(layout: str, call: Program) -> None:
    def sparse(t: Any) -> Any:
        return blocks(t).to_sparse(layout=getattr(t, layout), blocksize=(2, 2) if layout == "sparse_bsr" else None)

    assert on_fakes(mindtorch, sparse, call) == on_fakes(torch, sparse, call)


def test_a_compiled_function_leaves_sparse_tensors_to_eager_calls() -> None:
    @mindtorch.compile(backend="aot_eager")
    def program(x: Any, y: Any) -> Any:
        return (y.to_sparse().to_dense() + 1, x @ y)

    x, y = blocks(mindtorch).to_sparse_csr(), mindtorch.ones(6, 2)
    first, second = program(x, y)
    assert first.tolist() == (y + 1).tolist() and second.tolist() == (x.to_dense() @ y).tolist()


@pytest.mark.parametrize("layout", ["csr", "csc"])
@pytest.mark.parametrize("starts, places", [([0, 1, 2], [0, 2]), ([0, 1, 2], [-1, 0]), ([0, 1, 3], [0, 1])])
def test_places_outside_of_a_matrix_are_no_memory_of_its_product(layout: str, starts: list[int],
                                                                  places: list[int]) -> None:
    make = getattr(mindtorch, f"sparse_{layout}_tensor")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        matrix = make(starts, places, mindtorch.ones(2), (2, 2), check_invariants=False)
    with pytest.raises((IndexError, RuntimeError)):
        mindtorch.mm(matrix, mindtorch.ones(2, 3))


@pytest.mark.parametrize("factors", [{}, {"beta": 2.0}, {"alpha": 3.0}, {"alpha": 0.5, "beta": -1.0}])
def test_addmm_of_a_sparse_matrix_adds_with_its_factors(factors: dict[str, float]) -> None:
    mat, dense = mindtorch.arange(6.0).reshape(2, 3), mindtorch.arange(12.0).reshape(4, 3)
    mat1 = mindtorch.arange(8.0).reshape(2, 4)
    found = mindtorch.sparse.addmm(mat, mat1.to_sparse(), dense, **factors)
    assert mindtorch.equal(found, factors.get("beta", 1.0) * mat + factors.get("alpha", 1.0) * (mat1 @ dense))


@pytest.mark.parametrize(("layout", "blocks"), [("sparse_coo", None), ("sparse_csr", None), ("sparse_bsr", (2, 2))])
def test_last_dimensions_are_dense_in_each_layout_that_is_asked_for(layout, blocks) -> None:
    made = mindtorch.ones(4, 4, 2).to_sparse(layout=getattr(mindtorch, layout), blocksize=blocks, dense_dim=1)
    assert made.dense_dim() == 1 and made.values().shape == ((4, 2, 2, 2) if blocks else (16, 2))


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"])
def test_gradients_are_checked_with_and_without_absent_values(layout: str, masked: bool) -> None:
    def checked(t: Any) -> list[str]:
        check, found = t.sparse.as_sparse_gradcheck(t.autograd.gradcheck), []
        blocks = {"blocksize": (1, 2)} if layout in ("sparse_bsr", "sparse_bsc") else {}
        x = t.tensor([[0, 2.0, 0, 0], [1, 0, 0, 0]], dtype=t.float64).to_sparse(layout=getattr(t, layout), **blocks)
        for function in (t.Tensor.to_dense, t.Tensor.sum, t.Tensor.values, t.Tensor.to_sparse):
            try:
                found.append(str(check(function, x.clone().requires_grad_(), masked=masked)))
            except (RuntimeError, NotImplementedError) as error:
                found.append(type(error).__name__)
        return found

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert checked(mindtorch) == checked(torch)


@programs(
    lambda t: [[x.permute(dims).is_coalesced() for dims in ((1, 0), (0, 1), (-2, -1))] + [x.t().is_coalesced()]
               for x in (coo(t), coo(t).coalesce(), t.sparse_coo_tensor((2, 3)))],
    lambda t: t.sparse_coo_tensor([[0, 1]], t.arange(6.0).view(2, 3), (2, 3)).sparse_resize_((2, 4), 1, 1)._values()[0],
)
def test_order_and_room_after_dimensions_are_moved_or_grow(program: Program) -> None:
    assert outcome(program, mindtorch) == outcome(program, torch)
