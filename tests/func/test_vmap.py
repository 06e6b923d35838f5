"""`vmap`, and the Jacobians and Hessians built on it: values, structure and errors are PyTorch's."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import mindtorch
import mindtorch.func
from tests.func.batches import compare
from tests.func.both import assert_agree
from tests.parity.compare import database
from tests.support import assert_same, seed_all, torch


def written(x: Any, place: Any, value: Any) -> Any:
    """Return a copy with a value at a place."""
    x = x.clone()
    x[place] = value
    return x


# Functions of a library, its `func`, and matrices of shapes (5, 4), (4, 3), (5, 4).
CASES = {
    "pointwise": lambda L, F, x, w, v: F.vmap(lambda x, v: (x * v).sin() + 1)(x, v),
    "matrix": lambda L, F, x, w, v: F.vmap(lambda x: x @ w)(x),
    "reductions": lambda L, F, x, w, v: F.vmap(lambda x: (x.sum(), x.mean(0), x.softmax(-1), x.max(0).values))(x),
    "in and out dims": lambda L, F, x, w, v: F.vmap(
        lambda x, v: x @ v.t(), in_dims=(None, 1), out_dims=1)(x, L.stack([v, v * 2], 1)),
    "a dict": lambda L, F, x, w, v: F.vmap(lambda p: {"a": p["x"] * 2, "b": [p["v"]]})({"x": x, "v": v}),
    "nested": lambda L, F, x, w, v: F.vmap(lambda a: F.vmap(lambda b: (a * b).sum() + a.exp())(v))(x),
    "views": lambda L, F, x, w, v: F.vmap(
        lambda x: (x.sort()[0], x.cumsum(0), x[1:3], x[None], x.unsqueeze(-1), x.expand(3, 4), x.view(2, 2).t()))(x),
    "in place": lambda L, F, x, w, v: F.vmap(lambda x: x.clone().mul_(2).add_(x))(x),
    "joined": lambda L, F, x, w, v: F.vmap(lambda x: (L.cat([x, w[:, 0]]), L.stack([x, w[:, 0]])))(x),
    "one by one": lambda L, F, x, w, v: F.vmap(lambda x: L.linalg.inv(x.view(2, 2)))(x),
    "places": lambda L, F, x, w, v: F.vmap(lambda x, i: (x[i], x.index_select(0, i), x.index_add(0, i, x[:2]), w[:, i],
                                                         w[1, i], x.view(2, 2)[:, i], w[i][:, None].expand(2, 2, 3)))(
        x, L.tensor([[0, 1], [1, 0], [1, 1], [0, 0], [1, 0]])),
    "a place of its own": lambda L, F, x, w, v: F.vmap(lambda x, i: (
        x[i], w[i], w[:, i], x.view(2, 2)[i % 2, :], x.view(2, 2)[None, 1, i % 2], x.view(2, 2)[i % 2, i % 2],
        x[i - 1]))(x, L.tensor([0, 1, 2, 1, 0])),
    "a place of its own written": lambda L, F, x, w, v: F.vmap(lambda x, i, v: (
        written(x, i, v[0]), written(x, i, 3.), written(x.view(2, 2), (slice(None), i % 2), v[:2]),
        written(x.view(2, 2), (i % 2, 0), -1.)))(x, L.tensor([0, 1, 2, 1, 0]), v),
    "places of their own, nested": lambda L, F, x, w, v: F.vmap(F.vmap(lambda x, i: x[i], in_dims=(None, 0)))(
        x, L.tensor([[0, 1], [1, 0], [1, 1], [0, 0], [1, 3]])),
    "one-hot": lambda L, F, x, w, v: F.vmap(lambda i: L.nn.functional.one_hot(i, 4))(L.tensor([[0, 3], [2, 1]])),
    "places written": lambda L, F, x, w, v: F.vmap(lambda x, v: x.index_put((L.tensor([0, 2]),), v[:2]).masked_fill(
        x > 0, 3.).scatter(0, L.tensor([1]), v))(x, v),
    "convolutions of their own": lambda L, F, x, w, v: F.vmap(lambda w, x: L.nn.functional.conv1d(
        x.view(1, 2, 2), w.view(1, 2, 2), w[:1], padding=1))(v, x),
    "convolution and pool": lambda L, F, x, w, v: F.vmap(lambda x: L.nn.functional.max_pool1d(
        L.nn.functional.conv1d(x[None], w[:3, :2].reshape(3, 1, 2)), 2))(x),
    "normalised": lambda L, F, x, w, v: F.vmap(lambda x, v: (L.nn.functional.layer_norm(x, (4,), v),
                                                            L.nn.functional.group_norm(x.view(1, 4), 2, v)))(x, v),
    "losses": lambda L, F, x, w, v: F.vmap(lambda x, v: (
        L.nn.functional.mse_loss(x, v), L.nn.functional.cross_entropy(x, L.tensor(1)),
        L.nn.functional.cross_entropy(x.view(2, 2), (v[:2] > 0).long())))(x, v),
    "Jacobians of each": lambda L, F, x, w, v: F.vmap(F.jacrev(lambda x: L.nn.functional.conv1d(
        x.view(1, 2, 2), w[:2, :2].reshape(1, 2, 2), padding=1).relu().flatten()))(x),
    "vmap of a Jacobian by what all share": lambda L, F, x, w, v: F.vmap(
        F.jacrev(lambda w, x: L.log_softmax(x @ w, 0)), in_dims=(None, 0))(w, x),
    "in chunks": lambda L, F, x, w, v: F.vmap(lambda x: (x @ w).tanh(), chunk_size=2)(x),
    "gradient of each": lambda L, F, x, w, v: F.vmap(
        F.grad(lambda w, x: (x @ w).tanh().sum()), in_dims=(None, 0))(w, x),
    "gradient of a batch": lambda L, F, x, w, v: F.grad(lambda w: F.vmap(lambda x: (x @ w).tanh().sum())(x).sum())(w),
    "jvp of each": lambda L, F, x, w, v: F.vmap(lambda x, v: F.jvp(lambda x: x.exp() @ w, (x,), (v,)))(x, v),
    "jvp of a batch": lambda L, F, x, w, v: F.jvp(F.vmap(lambda x: x.exp() @ w), (x,), (v,)),
    "jacrev": lambda L, F, x, w, v: F.jacrev(lambda x: (x @ w).tanh())(x),
    "jacrev in chunks": lambda L, F, x, w, v: F.jacrev(lambda x: (x @ w).tanh(), chunk_size=2)(x),
    "jacrev row by row": lambda L, F, x, w, v: F.jacrev(lambda x: (x @ w).tanh(), chunk_size=1)(x),
    "jacrev of several": lambda L, F, x, w, v: F.jacrev(lambda x, w: {"a": x @ w, "b": x.sum()}, argnums=(0, 1))(x, w),
    "jacfwd": lambda L, F, x, w, v: F.jacfwd(lambda x: (x @ w).tanh())(x),
    "jacfwd with aux": lambda L, F, x, w, v: F.jacfwd(lambda x: (x @ w, x.exp()), has_aux=True)(x),
    "hessian": lambda L, F, x, w, v: F.hessian(lambda x: (x @ w).tanh().sum())(x),
    "jacrev of jacrev": lambda L, F, x, w, v: F.jacrev(F.jacrev(lambda x: (x @ w).tanh().sum()))(x),
    "jacrev of jacfwd": lambda L, F, x, w, v: F.jacrev(F.jacfwd(lambda x: (x @ w).tanh().sum()))(x),
    "hessian of each": lambda L, F, x, w, v: F.vmap(F.hessian(lambda x: (x @ w).tanh().sum()))(x),
}
WRONG = {
    "no input": lambda L, F, x, w, v: F.vmap(lambda: 1)(),
    "no batch": lambda L, F, x, w, v: F.vmap(len, in_dims=None)(x),
    "sizes": lambda L, F, x, w, v: F.vmap(L.mul)(x, w),
    "in_dims of floats": lambda L, F, x, w, v: F.vmap(L.sin, in_dims=1.5)(x),
    "randomness": lambda L, F, x, w, v: F.vmap(L.sin, randomness="some")(x),
    "random": lambda L, F, x, w, v: F.vmap(lambda x: x + L.randn(4, dtype=L.float64))(x),
    "chunks of nothing": lambda L, F, x, w, v: F.jacrev(L.sin, chunk_size=0)(x),
    "complex": lambda L, F, x, w, v: F.jacrev(L.sin)(L.complex(x, x)),
    "a place that is none": lambda L, F, x, w, v: F.vmap(lambda x, i: x[i])(x, L.tensor([0, 1, 2, 4, 0])),
    "places of zeros": lambda L, F, x, w, v: F.vmap(lambda x: x.nonzero())(x),
    "places of a mask": lambda L, F, x, w, v: F.vmap(lambda x: x[x > 0])(x),
    "selected by a mask": lambda L, F, x, w, v: F.vmap(lambda x: x.masked_select(x > 9))(x),
    "unique": lambda L, F, x, w, v: F.vmap(L.unique)(x),
    "unique rows": lambda L, F, x, w, v: F.vmap(lambda x: x.unique(dim=0))(x),
    "one-hot without classes": lambda L, F, x, w, v: F.vmap(L.nn.functional.one_hot)(L.tensor([0, 1])),
    "out": lambda L, F, x, w, v: F.vmap(lambda x: L.sin(x, out=L.zeros(4, dtype=x.dtype)))(x),
    "truth": lambda L, F, x, w, v: F.vmap(lambda x: x if x.sum() > 0 else -x)(x),
    "an address": lambda L, F, x, w, v: F.vmap(lambda x: x.data_ptr())(x),
    "a storage": lambda L, F, x, w, v: F.vmap(lambda x: x.untyped_storage())(x),
    "backward in grad": lambda L, F, x, w, v: F.grad(lambda x: [x.sum().backward(), x.sum()][1])(x),
    "backward in vmap": lambda L, F, x, w, v: [
        w.requires_grad_(), F.vmap(lambda x: L.autograd.backward(w.sum()))(x)],
    "a number as cotangent": lambda L, F, x, w, v: F.vjp(L.sin, x)[1](3),
    "an item": lambda L, F, x, w, v: F.vmap(lambda x: x.sum().item())(x),
}


RANDOM = {
    "randn": lambda L, x: x + L.randn(4), "rand_like": lambda L, x: L.rand_like(x),
    "randperm": lambda L, x: L.randperm(4),
    "in place": lambda L, x: x.clone().uniform_(), "dropout": lambda L, x: L.nn.functional.dropout(x),
    "bernoulli": lambda L, x: L.bernoulli(x.sigmoid()), "multinomial": lambda L, x: L.multinomial(x.abs(), 2),
    "of all": lambda L, x: L.ones(4).uniform_(), "out": lambda L, x: L.rand(4, out=L.empty(4)),
}

#: Draws from a tensor that all elements of the batch share.
SHARED = {
    "bernoulli": lambda L, y: L.bernoulli(y), "multinomial": lambda L, y: L.multinomial(y, 2),
    "multinomial of rows": lambda L, y: L.multinomial(y.expand(2, 4), 2), "poisson": lambda L, y: L.poisson(y * 9),
    "binomial": lambda L, y: L.binomial(y.ceil() * 9, y), "gamma": lambda L, y: L._standard_gamma(y),
    "normal": lambda L, y: L.normal(y, y), "normal of means": lambda L, y: L.normal(y, 1.0),
    "rand_like": lambda L, y: L.rand_like(y), "randint_like": lambda L, y: L.randint_like(y, 100),
    "dropout": lambda L, y: L.nn.functional.dropout(y), "alpha_dropout": lambda L, y: L.alpha_dropout(y, 0.5, True),
    "feature_dropout": lambda L, y: L.feature_dropout(y[None], 0.5, True),
    "evaluation": lambda L, y: L.nn.functional.dropout(y, training=False),
}


def printed(L: Any, F: Any) -> Any:
    """Programs that print what they see in ``vmap``."""
    def show(x: Any) -> Any:
        texts.append(f"{x!r} {x.sum()!s}")
        return x

    texts: list[str] = []
    x = L.arange(8.).view(2, 2, 2)
    for program in (F.vmap(show), F.vmap(show, in_dims=2), F.vmap(F.vmap(show)), F.vmap(F.vmap(show, in_dims=1)),
                    F.vmap(lambda y: show(x[0]) + y)):
        program(x)
    return texts


def test_a_tensor_is_printed_as_part_of_its_batch() -> None:
    assert printed(mindtorch, mindtorch.func) == printed(torch, torch.func)


@pytest.mark.parametrize("case", CASES)
def test_batch(case: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_agree(CASES[case], (5, 4), (4, 3), (5, 4), tolerance=1e-7)


@pytest.mark.parametrize("randomness", ["error", "different", "same"])
@pytest.mark.parametrize("case", RANDOM)
def test_random_numbers_are_those_of_pytorch(case: str, randomness: str) -> None:
    def run(lib: Any, func: Any, x: Any) -> Any:
        seed_all(lib, 3)
        return func.vmap(lambda x: RANDOM[case](lib, x), randomness=randomness)(x)

    assert_agree(run, (5, 4), tolerance=1e-6)


@pytest.mark.parametrize("dims", [(0, 0), (1, 0), (2, 0), (None, 0)], ids=str)
@pytest.mark.parametrize("case", ["view", "view_as", "flatten"])
def test_a_view_of_an_element_that_has_none_is_an_error(case: str, dims: Any) -> None:
    views = {"view": lambda x, y: x.view(-1), "view_as": lambda x, y: x.view_as(y), "flatten": lambda x, y: x.flatten()}

    def run(lib: Any, func: Any, x: Any, y: Any) -> Any:
        x = x if dims[0] is not None else x[:, :, 0]
        result = func.vmap(views[case], in_dims=dims)(x, y[:, :x[0].numel() if dims[0] == 0 else 4])
        return result, result.stride()

    assert_agree(run, (2, 2, 2), (2, 4))


@pytest.mark.parametrize("use", ["pointwise", "sum", "beside another", "in another vmap", "in place"])
def test_an_element_that_escaped_from_its_vmap_is_an_error(use: str) -> None:
    escaped: list[Any] = []
    mindtorch.vmap(lambda x: escaped.append(x) or x)(mindtorch.ones(2, 3))
    x = escaped[0]
    uses = {"pointwise": lambda: x.sin(), "sum": lambda: x.sum(), "beside another": lambda: mindtorch.ones(3) + x,
            "in another vmap": lambda: mindtorch.vmap(lambda y: y + x)(mindtorch.ones(2)),
            "in place": lambda: x.add_(1)}
    with pytest.raises(RuntimeError, match="may have escaped from inside a function being vmapped"):
        uses[use]()


def test_what_lies_apart_by_the_dimension_of_the_batch_is_copied_where_nothing_else_sees_it() -> None:
    assert_agree(lambda t, func, x, y: func.vmap(t.kron, (-1, None))(x, y), (3, 2, 4), (2, 3))


def test_a_batch_in_chunks() -> None:
    from mindtorch.functorch.experimental import chunk_vmap

    sizes: list[Any] = []
    x = mindtorch.arange(10.0).reshape(5, 2)
    result = chunk_vmap(lambda x: sizes.append(mindtorch.func.debug_unwrap(x).shape[0]) or x * 2, chunks=2)(x)
    assert result.equal(x * 2) and sizes == [3, 2]


#: A Function's rule for a batch, with a mistake in what it returns.
RULES = {
    "dims for one result": lambda L, x: (x * 2, (0,)), "too few dims": lambda L, x: ((x * 2, x), (0,)),
    "no dims": lambda L, x: x * 2, "a list": lambda L, x: ([x * 2], (0,)), "one for all": lambda L, x: ((x * 2, x), 0),
}


@pytest.mark.parametrize("case", RULES)
def test_a_functions_rule_returns_dims_of_the_structure_of_its_results(case: str) -> None:
    def run(L: Any, F: Any, x: Any) -> Any:
        class Double(L.autograd.Function):
            forward = staticmethod(lambda x: x * 2)
            setup_context = staticmethod(lambda ctx, inputs, output: None)
            vmap = staticmethod(lambda info, dims, x: RULES[case](L, x))

        return F.vmap(Double.apply)(x)

    assert_agree(run, (2, 3))


def test_an_overload_takes_the_argument_that_is_named_self() -> None:
    for lib in (mindtorch, torch):
        assert lib.ops.aten.add.Tensor(self=lib.ones(2), other=lib.ones(2)).tolist() == [2, 2]
        assert lib.ops.aten.reshape(self=lib.ones(2, 1), shape=[2]).tolist() == [1, 1]


@pytest.mark.parametrize("randomness", ["error", "different", "same"])
@pytest.mark.parametrize("case", SHARED)
def test_random_numbers_from_what_all_elements_share_are_those_of_pytorch(case: str, randomness: str) -> None:
    def run(lib: Any, func: Any, x: Any) -> Any:
        seed_all(lib, 3)
        y = lib.arange(1.0, 5.0) / 5
        return func.vmap(func.vmap(lambda x: SHARED[case](lib, y), randomness=randomness), randomness=randomness)(x)

    assert_agree(run, (3, 5), tolerance=1e-6)


@pytest.mark.parametrize("case", ["multinomial", "native_dropout", "rrelu"])
def test_random_numbers_for_expanded_tensors_are_those_of_pytorch(case: str) -> None:
    def run(lib: Any, func: Any, x: Any) -> Any:
        seed_all(lib, 3)
        draw = {"multinomial": lambda x: lib.multinomial(x.abs(), 2), "rrelu": lambda x: lib.rrelu(x, training=True),
                "native_dropout": lambda x: lib.native_dropout(x, 0.5, True)[0]}[case]
        results = draw(x[0].expand(4, 6)), draw(x.t())
        return results, [result.stride() for result in results]

    assert_agree(run, (4, 6), tolerance=1e-6)


@pytest.mark.parametrize("name", [
    "addmv", "as_strided", "block_diag", "cdist", "cumsum", "diagonal_scatter", "embedding_bag", "fft.rfft2", "flip",
    "index_fill", "index_put", "linalg.lu_solve", "linalg.pinv", "linalg.solve", "linalg.svdvals", "masked_scatter",
    "masked.softmax", "max.reduction_no_dim", "nn.functional.adaptive_avg_pool2d", "nn.functional.batch_norm",
    "nn.functional.binary_cross_entropy_with_logits", "nn.functional.conv_transpose2d", "nn.functional.embedding",
    "nn.functional.grid_sample", "nn.functional.interpolate.bilinear", "nn.functional.nll_loss", "quantile", "renorm",
    "roll", "scatter_reduce.sum", "searchsorted", "squeeze", "std_mean", "take", "unfold"])
def test_an_operator_runs_on_a_batch_at_once(name: str) -> None:
    name = name if name in database() else f"nn.functional.{name}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = list(compare(database()[name], 2))
    assert [text for kind, text in found if kind == "differs"] == []
    assert {text for kind, text in found if kind == "loops"} <= {"aten::_embedding_bag"}


DIFFERENTIATED: Any = {
    "grad": lambda func, f: func.grad(lambda x: f(x).sum()),
    "vjp": lambda func, f: lambda x: func.vjp(f, x)[1](x)[0],
    "jvp": lambda func, f: lambda x: func.jvp(f, (x,), (x,))[1],
    "hessian": lambda func, f: func.hessian(lambda x: f(x).sum()),
}


class TestFunction:
    """A Function of the user's inside ``vmap``: by its own rule, by the generated one, or refused."""

    @staticmethod
    def cube(lib: Any, **attributes: Any) -> Any:
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        def backward(ctx: Any, grad: Any) -> Any:
            x, factor = ctx.saved_tensors
            return grad * 3 * x ** 2 * factor, (grad * x ** 3).sum()

        return type("Cube", (lib.autograd.Function,), {
            "forward": staticmethod(lambda x, factor: x ** 3 * factor), "setup_context": staticmethod(setup_context),
            "backward": staticmethod(backward), **attributes})

    @pytest.mark.parametrize("kind", ["own rule", "generated", "neither", "both"])
    def test_is_batched_as_in_pytorch(self, kind: str) -> None:
        def run(lib: Any, func: Any, x: Any) -> Any:
            told = []

            def rule(info: Any, in_dims: Any, x: Any, factor: Any) -> Any:
                told.append((tuple(info), in_dims, tuple(x.shape)))
                return x ** 3 * factor, in_dims[0]

            function = self.cube(lib, **{"vmap": staticmethod(rule)} if kind in ("own rule", "both") else {},
                                 generate_vmap_rule=kind in ("generated", "both"))
            factor = lib.tensor(2., dtype=x.dtype)
            values = func.vmap(function.apply, in_dims=(1, None))(x, factor)
            if kind == "own rule":
                return values, told
            return (values, func.vmap(func.grad(lambda x, f: function.apply(x, f).sum(), argnums=(0, 1)),
                                      in_dims=(1, None))(x, factor))

        assert_agree(run, (3, 4))

    @staticmethod
    def square(lib: Any, **attributes: Any) -> Any:
        """Make a Function whose derivative in forward mode is ten times too large, so that its use shows."""

        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        return type("Square", (lib.autograd.Function,), {
            "forward": staticmethod(lambda x: x ** 2), "setup_context": staticmethod(setup_context),
            "backward": staticmethod(lambda ctx, grad: grad * 2 * ctx.saved_tensors[0]),
            "jvp": staticmethod(lambda ctx, tangent: tangent * 20 * ctx.saved_tensors[0]), **attributes})

    @pytest.mark.parametrize("kind", ["grad", "vjp", "jvp"])
    def test_is_told_where_the_batch_lies_when_it_is_differentiated(self, kind: str) -> None:
        def run(lib: Any, func: Any, x: Any) -> Any:
            told = []

            def rule(info: Any, in_dims: Any, x: Any) -> Any:
                told.append((tuple(info), in_dims, tuple(x.shape)))
                return function.apply(x), in_dims[0]

            function = self.square(lib, vmap=staticmethod(rule))
            found = func.vmap(DIFFERENTIATED[kind](func, function.apply), in_dims=1)(x)
            return found, told

        assert_agree(run, (2, 3))

    @pytest.mark.parametrize("kind", DIFFERENTIATED)
    def test_generated_is_differentiated_and_batched_again(self, kind: str) -> None:
        def run(lib: Any, func: Any, x: Any) -> Any:
            f = self.square(lib, generate_vmap_rule=True).apply
            of_one = DIFFERENTIATED[kind](func, f)
            return (func.vmap(func.vmap(f, in_dims=1), in_dims=2)(x), func.vmap(of_one, in_dims=1)(x[0]),
                    func.vmap(func.vmap(of_one, in_dims=1), in_dims=2)(x),
                    DIFFERENTIATED[kind](func, func.vmap(f, in_dims=1))(x[0]))

        assert_agree(run, (2, 3, 4))

    @pytest.mark.parametrize("dim", [0, 1])
    def test_generated_may_write_to_its_input(self, dim: int) -> None:
        """PyTorch refuses this: what is declared is to it no output."""
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.mark_dirty(inputs[0])

        function: Any = type("Double", (mindtorch.autograd.Function,), {
            "forward": staticmethod(lambda x: x.mul_(2)), "setup_context": staticmethod(setup_context),
            "backward": staticmethod(lambda ctx, grad: grad * 2), "generate_vmap_rule": True})
        x = mindtorch.arange(6.).view(2, 3)
        wanted, before = 2 * x, x._version
        assert mindtorch.vmap(function.apply, in_dims=dim, out_dims=dim)(x).equal(wanted)
        assert x.equal(wanted) and x._version > before
        found = mindtorch.func.grad(lambda x: mindtorch.vmap(lambda x: function.apply(x * 1), in_dims=dim)(x).sum())(x)
        assert found.equal(mindtorch.full((2, 3), 2.))

    @pytest.mark.parametrize("kind", [*DIFFERENTIATED, "vmap", "vmap of others"])
    def test_without_setup_context_is_refused(self, kind: str) -> None:
        def run(lib: Any, func: Any, x: Any) -> Any:
            function = type("Square", (lib.autograd.Function,), {
                "forward": staticmethod(lambda ctx, x: x ** 2), "backward": staticmethod(lambda ctx, grad: grad)})
            function.apply(x)
            if kind == "vmap of others":
                return func.vmap(lambda y: function.apply(x) + y)(x)
            return (func.vmap if kind == "vmap" else lambda f: DIFFERENTIATED[kind](func, f))(function.apply)(x)

        assert_agree(run, (3,))

    def test_that_is_not_batched_runs_as_it_is(self) -> None:
        function = self.cube(mindtorch)
        x, factor = mindtorch.ones(3), mindtorch.tensor(2.)
        found = mindtorch.vmap(lambda y: function.apply(x, factor) + y)(mindtorch.zeros(2, 3))
        assert found.tolist() == [[2.0] * 3] * 2


@pytest.mark.parametrize("case", WRONG)
def test_wrong_call(case: str) -> None:
    assert_agree(WRONG[case], (5, 4), (4, 3), (5, 4))


def test_an_operator_without_a_rule_says_so() -> None:
    with pytest.warns(UserWarning, match="performance drop because we have not yet implemented the batching rule"):
        mindtorch.vmap(mindtorch.histc)(mindtorch.ones(3, 2))


def test_an_ensemble() -> None:
    def run(lib: Any, func: Any, x: Any) -> Any:
        models = [lib.nn.Linear(3, 2) for _ in range(4)]
        for i, parameter in enumerate(p for model in models for p in model.parameters()):
            parameter.data.copy_(lib.tensor(np.random.RandomState(i).randn(*parameter.shape).tolist()))
        parameters, _ = func.stack_module_state(models)
        return func.vmap(lambda p, x: func.functional_call(models[0], p, x), in_dims=(0, None))(parameters, x.float())

    assert_agree(run, (5, 3), tolerance=1e-5)


def test_batch_normalisation_runs_in_vmap_once_it_keeps_no_statistics() -> None:
    def run(lib: Any, func: Any, x: Any) -> Any:
        model = lib.nn.Sequential(lib.nn.BatchNorm1d(3), lib.nn.Sequential(lib.nn.BatchNorm1d(3, affine=False)),
                                  lib.nn.InstanceNorm1d(3, track_running_stats=True)).double()
        assert func.replace_all_batch_norm_modules_(model) is model
        return func.vmap(model[:2])(x), repr(model), list(model.state_dict())

    assert_agree(run, (2, 4, 3))


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("name", ["dropout", "alpha_dropout", "dropout1d", "dropout2d"])
@pytest.mark.parametrize("randomness", ["different", "same"])
def test_dropout_draws_for_all_elements_in_their_order_however_they_lie(dim: int, name: str, randomness: str) -> None:
    def drawn(t: Any) -> Any:
        t.manual_seed(1)
        x = t.ones(4, 5, 2, 3).permute(1, 0, 2, 3)
        return t.func.vmap(lambda x: getattr(t.nn.functional, name)(x, 0.5, training=True), in_dims=dim, out_dims=dim,
                           randomness=randomness)(x)

    assert_same(drawn(mindtorch), drawn(torch))


def test_dropout_behind_a_batch_norm_of_each_element_draws_pytorchs_numbers() -> None:
    def drawn(t: Any) -> Any:
        t.manual_seed(0)
        model = t.nn.Sequential(t.nn.BatchNorm1d(2, affine=False, track_running_stats=False), t.nn.Dropout())
        return t.func.vmap(model, randomness="different")(t.randn(5, 4, 2))

    assert_same(drawn(mindtorch), drawn(torch))


@pytest.mark.parametrize("name", ["roll", "flip", "rot90", "tril", "cummax"])
@pytest.mark.parametrize("shape", [(2, 2, 2), (3, 2, 4)], ids=str)
def test_rearranging_elements_of_a_batch(name: str, shape: tuple[int, ...]) -> None:
    calls = {"roll": [(1,), (-3,), ((1,),), (100,), (1, 0), ((1, -1), (0, -1)), ((1, 2), (0, 0)), ((1, 2),)],
             "flip": [((0,),), ((),), ((0, -1),)], "rot90": [(k, d) for k in range(-1, 4) for d in ((0, 1), (-1, -2))],
             "tril": [(1,)], "cummax": [(0,)]}[name]
    for args in calls:
        assert_agree(lambda t, func, x: func.vmap(lambda a: getattr(t, name)(a, *args))(x), shape)  # noqa: B023
        assert_agree(lambda t, func, x: func.vmap(lambda a: getattr(t, name)(a, *args), 1, -1)(x), shape)  # noqa: B023


@pytest.mark.parametrize("shape", [(0, 2), (2, 0)], ids=str)
def test_a_batch_of_no_elements(shape: tuple[int, ...]) -> None:
    assert_agree(lambda t, func, x: func.vmap(func.vmap(lambda a: (a.cummax(0)[0], a.roll(1), a.std())))(x), shape)


DTYPES = ("bool", "int32", "int64", "float16", "float32", "float64")


@pytest.mark.parametrize("name", ["add", "mul", "true_divide", "maximum"])
def test_numbers_of_a_batch_count_less_in_promotion_than_tensors_as_outside(name: str) -> None:
    def dtypes(lib: Any) -> list[str]:
        pairs = [(lib.ones(2, dtype=getattr(lib, a)), lib.ones(2, 3, dtype=getattr(lib, b)))
                 for a in DTYPES for b in DTYPES]
        return [str(lib.func.vmap(getattr(lib, name))(*given).dtype) for a, b in pairs for given in ((a, b), (b, a))]

    assert dtypes(mindtorch) == dtypes(torch)


VIEWS_OF_NUMBERS = {
    "squeeze": lambda x: x.squeeze(0), "transpose": lambda x: x.transpose(0, 0), "permute": lambda x: x.permute(()),
    "swapaxes": lambda x: x.swapaxes(0, -1), "unfold": lambda x: x.unfold(0, 1, 1),
}


@pytest.mark.parametrize("name", VIEWS_OF_NUMBERS)
def test_a_view_of_an_element_that_is_a_number_is_written_through(name):
    def written(x):
        y = x.clone()
        VIEWS_OF_NUMBERS[name](y).add_(5)
        return y, VIEWS_OF_NUMBERS[name](y)

    for ours, theirs in zip(mindtorch.vmap(written)(mindtorch.arange(3.0)), torch.vmap(written)(torch.arange(3.0)),
                            strict=True):
        assert ours.tolist() == theirs.tolist() and ours.shape == theirs.shape


@pytest.mark.parametrize("name", ["layer_norm", "group_norm", "rms_norm", "batch_norm", "instance_norm"])
def test_second_derivatives_of_norms_in_a_batch_are_those_outside(name):
    function = getattr(mindtorch.nn.functional, name)
    options = {"layer_norm": ((3,),), "group_norm": (2,), "rms_norm": ((3,),), "batch_norm": (None, None)}.get(name, ())
    settings = {"training": True} if name == "batch_norm" else {}
    x = mindtorch.tensor([[[1.0, -2.0, 0.5], [0.25, 3.0, -1.0]], [[-0.5, 2.0, 1.5], [4.0, 0.0, 1.0]]],
                         dtype=mindtorch.float64, requires_grad=True)
    made = function(x, *options, **settings)
    cotangents = mindtorch.linspace(-1, 2, 24, dtype=mindtorch.float64).reshape(2, *x.shape)

    def gradient(cotangent):
        return mindtorch.autograd.grad(made, x, cotangent, create_graph=True)[0]

    each, batched = mindtorch.stack([gradient(one) for one in cotangents]), mindtorch.vmap(gradient)(cotangents)
    mindtorch.testing.assert_close(batched, each)
    seconds = [mindtorch.autograd.grad((found * cotangents.exp()).sum(), x, retain_graph=True)[0]
               for found in (batched, each)]
    mindtorch.testing.assert_close(*seconds)


def test_a_source_without_elements_is_scattered_in_a_batch_by_a_mask_that_takes_none():
    x, nothing = mindtorch.ones(3, 2), mindtorch.zeros(0)
    assert mindtorch.equal(mindtorch.vmap(lambda x: x.masked_scatter(x > 2, nothing))(x), x)
    with pytest.raises(RuntimeError, match="source < number of ones in mask"):
        mindtorch.vmap(lambda x: x.masked_scatter(x > 0, nothing))(x)
