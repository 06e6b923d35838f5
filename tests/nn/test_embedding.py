"""Embeddings and bags of them: values, gradients, padding, norms, and what is refused."""
from __future__ import annotations

import warnings

import pytest

import mindtorch
from tests.nn.both import close, same
from tests.support import assert_same, torch

TABLES = {
    "plain": {}, "padding": {"padding_idx": 2}, "padding from the end": {"padding_idx": -1},
    "norm": {"max_norm": 1.0}, "1-norm": {"max_norm": 2.0, "norm_type": 1.0},
    "by frequency": {"scale_grad_by_freq": True},
}
BAGS = {
    f"{mode}, {what}": {"mode": mode, **options}
    for mode in ("sum", "mean", "max")
    for what, options in {"plain": {}, "padding": {"padding_idx": 2}, "last offset": {"include_last_offset": True},
                          "norm": {"max_norm": 1.0}}.items()
}


@pytest.mark.parametrize("device", ["cpu", "npu"])
@pytest.mark.parametrize("case", TABLES)
def test_embedding(case, device):
    results = []
    for t in (mindtorch, torch):
        t.manual_seed(1)
        table = t.nn.Embedding(7, 3, **TABLES[case])
        index = t.tensor([[1, 2, 6], [2, 2, 0]])
        if t is mindtorch:
            table, index = table.to(device), index.to(device)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            out = table(index)
            out.square().sum().backward()
        results.append([part.detach().cpu() for part in (out, table.weight.grad, table.weight)])
    assert_same(*results, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("case", BAGS)
def test_bags(case):
    def program(t):
        bags = t.nn.EmbeddingBag(7, 3, **BAGS[case])
        index, offsets = t.tensor([1, 2, 6, 2, 2, 0, 5]), t.tensor([0, 3, 3, 5, 7])
        out = bags(index, offsets)
        out.square().sum().backward()
        return bags, out, bags.weight.grad, bags(index.view(1, 7)), out.grad_fn.name()

    same(program)


def test_bags_with_weights():
    def program(t):
        bags, weights = t.nn.EmbeddingBag(7, 3, mode="sum"), t.rand(2, 3, requires_grad=True)
        out = bags(t.tensor([[1, 2, 6], [2, 2, 0]]), per_sample_weights=weights)
        out.square().sum().backward()
        return out, bags.weight.grad, weights.grad

    same(program)


def test_scaled_down_rows_have_their_derivative_in_forward_mode():
    def program(t):
        with t.autograd.forward_ad.dual_level():
            weight = t.autograd.forward_ad.make_dual(t.full((4, 3), 2.), t.ones(4, 3))
            rows = t.nn.functional.embedding(t.tensor([[0, 1], [2, 2]]), weight, max_norm=1.)
            return list(t.autograd.forward_ad.unpack_dual(rows))

    same(program)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_many_gradients_are_added_up(dtype):
    def program(t):
        weight = t.randn(11, 64).to(getattr(t, dtype)).requires_grad_()
        index = t.randint(0, 11, (20, 10))
        t.nn.functional.embedding(index, weight, padding_idx=3).square().sum().abs().backward()
        return weight.grad, t.zeros(11, 64).index_add(0, index.view(-1), t.ones(200, 64))

    close(program)


def test_double_backward():
    def program(t):
        weight = t.randn(5, 2, dtype=t.float64, requires_grad=True)
        out = t.nn.functional.embedding(t.tensor([1, 1, 4]), weight, padding_idx=4)
        grad, = t.autograd.grad(out.pow(3).sum(), weight, create_graph=True)
        return t.autograd.grad(grad.square().sum(), weight)

    same(program)


def test_pretrained_tables():
    def program(t):
        rows = t.arange(6.).view(3, 2)
        table, bags = t.nn.Embedding.from_pretrained(rows, padding_idx=-1), t.nn.EmbeddingBag.from_pretrained(rows)
        return table, bags, table.weight, bags.weight, table(t.tensor([2])), table.weight.data_ptr() == rows.data_ptr()

    same(program)


REFUSED = {
    "padding": lambda t: t.nn.Embedding(3, 2, padding_idx=3),
    "weight of another shape": lambda t: t.nn.Embedding(3, 2, _weight=t.ones(2, 3)),
    "pretrained vector": lambda t: t.nn.Embedding.from_pretrained(t.ones(3)),
    "out of range": lambda t: t.nn.Embedding(3, 2)(t.tensor([3])),
    "floats": lambda t: t.nn.Embedding(3, 2)(t.tensor([1.])),
    "a vector": lambda t: t.nn.functional.embedding(t.tensor([1]), t.ones(3)),
    "bag without offsets": lambda t: t.nn.EmbeddingBag(3, 2)(t.tensor([1])),
    "bag with offsets twice": lambda t: t.nn.EmbeddingBag(3, 2)(t.tensor([[1]]), t.tensor([0])),
    "bag that begins late": lambda t: t.nn.EmbeddingBag(3, 2)(t.tensor([1, 2]), t.tensor([1])),
    "bag beyond the end": lambda t: t.nn.EmbeddingBag(3, 2)(t.tensor([1, 2]), t.tensor([0, 3])),
    "bag out of range": lambda t: t.nn.EmbeddingBag(3, 2)(t.tensor([1, 3]), t.tensor([0])),
    "padded bag out of range": lambda t: t.nn.EmbeddingBag(3, 2, padding_idx=0)(t.tensor([1, 3]), t.tensor([0])),
    "doubles out of range": lambda t: t.nn.EmbeddingBag(3, 2, dtype=t.float64)(t.tensor([1, -1]), t.tensor([0])),
    "maximum out of range": lambda t: t.nn.EmbeddingBag(3, 2, mode="max")(t.tensor([1, 3]), t.tensor([0])),
    "bag of floats": lambda t: t.nn.EmbeddingBag(3, 2)(t.tensor([1.]), t.tensor([0])),
    "bag of a mode": lambda t: t.nn.EmbeddingBag(3, 2, mode="x")(t.tensor([1]), t.tensor([0])),
    "weighted mean": lambda t: t.nn.EmbeddingBag(3, 2)(t.tensor([1]), t.tensor([0]), t.ones(1)),
    "weights of another shape": lambda t: t.nn.EmbeddingBag(3, 2, mode="sum")(t.tensor([1]), t.tensor([0]), t.ones(2)),
    "maximum by frequency": lambda t: t.nn.EmbeddingBag(3, 2, mode="max", scale_grad_by_freq=True)(
        t.tensor([1]), t.tensor([0])),
    "padding of bags": lambda t: t.nn.functional.embedding_bag(t.tensor([1]), t.ones(3, 2), t.tensor([0]),
                                                               padding_idx=5),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusing(case):
    same(REFUSED[case], message=case not in ("bag that begins late", "bag with offsets twice"))
