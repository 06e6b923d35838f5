"""``nn.functional``: signatures, the graph of linear layers and losses, and what losses refuse."""
from __future__ import annotations

import inspect

import pytest

import mindtorch
from tests.nn.both import same
from tests.support import assert_same, port, torch

PYTHON = [name for name, function in vars(torch.nn.functional).items()
          if inspect.isfunction(function) and name[0] != "_" and hasattr(mindtorch.nn.functional, name)
          and inspect.isfunction(getattr(mindtorch.nn.functional, name))
          # of operators, whose schema is the signature
          and not hasattr(getattr(mindtorch.nn.functional, name), "packet")
          # of two functions, one with indices, PyTorch's says (*args, **kwargs)
          and [*inspect.signature(function).parameters] != ["args", "kwargs"]]


@pytest.mark.parametrize("name", PYTHON)
def test_signatures(name):
    theirs, ours = (inspect.signature(getattr(lib.nn.functional, name)).parameters.values()
                    for lib in (torch, mindtorch))
    told = [[(p.name, p.kind, repr(p.default)) for p in parameters] for parameters in (ours, theirs)]
    assert told[0] == told[1]


# -- linear --------------------------------------------------------------------------------------------------


def graph(node, depth=4):
    """A node's name and the graph below it."""
    if node is None:
        return None
    return node.name(), [graph(below, depth - 1) for below, _ in node.next_functions] if depth else "..."


INPUTS = {
    "vector": lambda t: t.randn(3), "matrix": lambda t: t.randn(4, 3),
    "matrix transposed": lambda t: t.randn(3, 4).t(),
    "batch": lambda t: t.randn(2, 4, 3), "batch of batches": lambda t: t.randn(2, 2, 4, 3),
    "empty": lambda t: t.randn(0, 3),
    "batch transposed": lambda t: t.randn(4, 2, 3).transpose(0, 1),
}


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("case", INPUTS)
def test_linear(case, bias):
    results = []
    for lib in (mindtorch, torch):
        lib.manual_seed(2)
        x = INPUTS[case](lib).requires_grad_()
        weight, offset = lib.randn(5, 3).requires_grad_(), lib.randn(5).requires_grad_() if bias else None
        out = lib.nn.functional.linear(x, weight, offset)
        out.square().sum().backward()
        results.append(([out, x.grad, weight.grad, offset.grad if bias else None], graph(out.grad_fn)))
    assert_same(results[0][0], results[1][0])
    assert results[0][1] == results[1][1]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("rows", "size_in", "size_out"),
                         [(15, 64, 64), (16, 64, 80), (32, 80, 64), (33, 64, 64)])
def test_linear_of_few_rows_and_a_larger_matrix(rows, size_in, size_out, dtype):
    results = []
    for lib in (mindtorch, torch):
        lib.manual_seed(2)
        layer = lib.nn.Linear(size_in, size_out, dtype=getattr(lib, dtype))
        out = layer(lib.randn(rows, size_in, dtype=getattr(lib, dtype)))
        out.square().sum().backward()
        assert out.is_contiguous()
        results.append([out, layer.weight.grad, layer.bias.grad])
    assert_same(*results, rtol=1e-4, atol=1e-4)


def test_linear_saves_what_pytorch_saves():
    def program(t):
        node = t.nn.Linear(3, 5)(t.ones(4, 3, requires_grad=True)).grad_fn
        return (node._saved_mat1.shape, node._saved_mat2.stride(), node._saved_mat1_sym_sizes,
                node._saved_mat2_sym_strides,
                node._saved_alpha, [below.name() for below, _ in node.next_functions])

    same(program)


def test_gradients_of_weights_are_contiguous_and_nobodys_view():
    def program(t):
        layer = t.nn.Linear(3, 5)
        layer(t.ones(4, 3)).sum().backward()
        gradient = layer.weight.grad
        return (gradient.stride(), gradient._is_view(), gradient._version, gradient.storage_offset(),
                gradient.untyped_storage().nbytes())

    same(program)


def test_a_gradient_that_something_else_refers_to_is_copied():
    def program(t):
        x = t.ones(2, 3, requires_grad=True)
        y = x.t()
        y.retain_grad()
        (y * 2).sum().backward()
        x.grad.zero_()
        return x.grad, y.grad

    same(program)


def test_second_derivatives_of_linear():
    def program(t):
        x, weight = t.randn(4, 3).requires_grad_(), t.randn(5, 3).requires_grad_()
        first = t.autograd.grad(t.nn.functional.linear(x, weight).tanh().sum(), [x, weight],
                                create_graph=True)
        return t.autograd.grad(first[0].square().sum() + first[1].square().sum(), [x, weight])

    same(program)


def test_linear_on_meta():
    def program(t):
        layer = t.nn.Linear(3, 5, device="meta")
        out = layer(t.empty(2, 4, 3, device="meta"))
        return out, out.stride(), out.grad_fn.name()

    same(program)


# -- losses --------------------------------------------------------------------------------------------------


def logits(t, *shape):
    return t.randn(*shape).requires_grad_()


def classes(t, *shape, dtype=None, count=3):
    return t.randint(0, count, shape).to(dtype or t.int64)


def three(t):
    """Weights of three classes."""
    return t.tensor([0.5, 1.0, 2.0])


LOSSES = {
    "cross entropy": lambda t, F, x: F.cross_entropy(x(4, 3), classes(t, 4)),
    "cross entropy of one": lambda t, F, x: F.cross_entropy(x(3), classes(t)),
    "cross entropy of bytes": lambda t, F, x: F.cross_entropy(x(4, 3), classes(t, 4, dtype=t.uint8)),
    "cross entropy of images":
        lambda t, F, x: F.cross_entropy(x(2, 3, 4, 5), classes(t, 2, 4, 5), reduction="none"),
    "cross entropy of sequences":
        lambda t, F, x: F.cross_entropy(x(2, 3, 4), classes(t, 2, 4), reduction="none"),
    "cross entropy of volumes":
        lambda t, F, x: F.cross_entropy(x(2, 3, 2, 2, 2), classes(t, 2, 2, 2, 2), three(t)),
    "cross entropy ignoring": lambda t, F, x: F.cross_entropy(x(6, 3), classes(t, 6), ignore_index=1),
    "cross entropy ignoring all": lambda t, F, x: F.cross_entropy(x(2, 3), t.tensor([-100, -100])),
    "cross entropy of nothing": lambda t, F, x: F.cross_entropy(x(0, 3), classes(t, 0)),
    "cross entropy smoothed":
        lambda t, F, x: F.cross_entropy(x(6, 3), classes(t, 6), three(t), None, 0, label_smoothing=0.3),
    "cross entropy smoothed sum":
        lambda t, F, x: F.cross_entropy(x(2, 3, 4), classes(t, 2, 4), label_smoothing=0.3, reduction="sum"),
    "cross entropy of probabilities":
        lambda t, F, x: F.cross_entropy(x(4, 3), t.rand(4, 3), three(t), label_smoothing=0.1),
    "cross entropy of one's probabilities":
        lambda t, F, x: F.cross_entropy(x(3), t.rand(3), reduction="none"),
    "nll": lambda t, F, x: F.nll_loss(x(4, 3), classes(t, 4), three(t), reduction="sum"),
    "nll of images": lambda t, F, x: F.nll_loss(x(2, 3, 2, 2), classes(t, 2, 2, 2), ignore_index=2),
    "nll without rows of order": lambda t, F, x: F.nll_loss(x(3, 4).t(), classes(t, 4)),
    "mse": lambda t, F, x: F.mse_loss(x(4, 3), t.ones(4, 3)),
    "mse weighted": lambda t, F, x: F.mse_loss(x(4, 3), t.ones(4, 3), weight=t.rand(4, 3)),
    "l1 weighted": lambda t, F, x: F.l1_loss(x(4, 3), t.ones(4, 3), weight=t.rand(4, 3), reduction="sum"),
    "huber weighted": lambda t, F, x: F.huber_loss(x(4, 3), t.ones(4, 3), weight=t.rand(4, 3)),
    "smooth l1 without beta": lambda t, F, x: F.smooth_l1_loss(x(4, 3), t.ones(4, 3), beta=0),
    "kl by batch": lambda t, F, x: F.kl_div(x(4, 3), t.rand(4, 3), reduction="batchmean"),
}


@pytest.mark.parametrize("case", LOSSES)
def test_losses_and_their_gradients(case):
    results = []
    for lib in (mindtorch, torch):
        lib.manual_seed(4)
        given = []

        def make(*shape, lib=lib, given=given):
            given.append(logits(lib, *shape))
            return given[-1]

        out = LOSSES[case](lib, lib.nn.functional, make)
        out.sum().backward()
        results.append([out, given[0].grad])
    assert_same(*results)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["binary_cross_entropy_with_logits", "soft_margin_loss"])
def test_losses_of_several_operators_round_after_each_in_half_precision(name, dtype):
    def program(t):
        x = (t.arange(4000).remainder(997) / 100 - 5).to(getattr(t, dtype))
        weighted = {"weight": (x + 6).abs(), "pos_weight": x.square()} if "cross" in name else {}
        call = getattr(t.nn.functional, name)
        return [call(x[at], x.flip(0)[at], reduction="none", **{key: value[at] for key, value in weighted.items()})
                for at in (slice(None), slice(50))]

    assert_same(program(mindtorch), program(torch), rtol=0, atol=0)


@pytest.mark.parametrize("case", [name for name in LOSSES if "nothing" not in name and "all" not in name])
@pytest.mark.filterwarnings("ignore")
def test_second_derivatives_of_losses(case):
    results = []
    for lib in (mindtorch, torch):
        lib.manual_seed(4)
        given = []

        def make(*shape, lib=lib, given=given):
            given.append(lib.randn(*shape, dtype=lib.float32).requires_grad_())
            return given[-1]

        out = LOSSES[case](lib, lib.nn.functional, make)
        (first,) = lib.autograd.grad(out.square().sum(), given[0], create_graph=True)
        results.append(lib.autograd.grad(first.square().sum(), given[0])[0])
    assert_same(*results, rtol=1e-4, atol=1e-4)


def z(t, *shape, dtype=None):
    return t.zeros(shape, dtype=dtype or t.float32)


def i(t, *shape, value=0):
    return t.full(shape, value, dtype=t.int64)


REFUSED = {
    "nll of a number": lambda t, F: F.nll_loss(z(t), i(t)),
    "nll of one with two targets": lambda t, F: F.nll_loss(z(t, 3), i(t, 2)),
    "nll with several targets each": lambda t, F: F.nll_loss(z(t, 2, 3), i(t, 2, 3)),
    "nll of another batch size": lambda t, F: F.nll_loss(z(t, 2, 3), i(t, 3)),
    "nll of a number of targets": lambda t, F: F.nll_loss(z(t, 2, 3), i(t)),
    "nll of float targets": lambda t, F: F.nll_loss(z(t, 2, 3), z(t, 2)),
    "nll of int32 targets": lambda t, F: F.nll_loss(z(t, 2, 3), t.zeros(2, dtype=t.int32)),
    "nll of integers": lambda t, F: F.nll_loss(z(t, 2, 3, dtype=t.int64), i(t, 2)),
    "nll with few weights": lambda t, F: F.nll_loss(z(t, 2, 3), i(t, 2), z(t, 2)),
    "nll with weights of float64": lambda t, F: F.nll_loss(z(t, 2, 3), i(t, 2), z(t, 3, dtype=t.float64)),
    "nll of a class too many": lambda t, F: F.nll_loss(z(t, 2, 3), i(t, 2, value=3)),
    "nll of a negative class": lambda t, F: F.nll_loss(z(t, 2, 3), i(t, 2, value=-1)),
    "nll of images, a class too many": lambda t, F: F.nll_loss(z(t, 2, 3, 2, 2), i(t, 2, 2, 2, value=3)),
    "nll of images with flat targets": lambda t, F: F.nll_loss(z(t, 2, 3, 2, 2), i(t, 2, 2)),
    "nll of images of another size": lambda t, F: F.nll_loss(z(t, 2, 3, 2, 2), i(t, 2, 2, 3)),
    "nll of images with few weights": lambda t, F: F.nll_loss(z(t, 2, 3, 2, 2), i(t, 2, 2, 2), z(t, 2)),
    "nll of sequences of another length": lambda t, F: F.nll_loss(z(t, 2, 3, 2), i(t, 2, 3)),
    "an unknown reduction": lambda t, F: F.nll_loss(z(t, 2, 3), i(t, 2), reduction="x"),
    "cross entropy of a number": lambda t, F: F.cross_entropy(z(t), i(t)),
    "cross entropy smoothed too much": lambda t, F: F.cross_entropy(z(t, 2, 3), i(t, 2), label_smoothing=2.0),
    "cross entropy of probabilities, smoothed too much":
        lambda t, F: F.cross_entropy(z(t, 2, 3), z(t, 2, 3), label_smoothing=2.0),
    "gradient of elu in place, of a negative slope":
        lambda t, F: F.elu_(z(t, 2).requires_grad_() - 1, alpha=-2).sum().backward(),
    "gradient of leaky_relu in place, of a negative slope":
        lambda t, F: F.leaky_relu_(z(t, 2).requires_grad_() - 1, -2).sum().backward(),
    "gradient of rrelu in place, of a negative slope":
        lambda t, F: F.rrelu_(z(t, 2).requires_grad_() - 1, -5, 1).sum().backward(),
    "gradient of celu in place, of a negative slope":
        lambda t, F: F.celu_(z(t, 2).requires_grad_() - 1, alpha=-2).sum().backward(),
    "fold of no blocks": lambda t, F: F.fold(z(t, 1, 12, 12), (4, 5), (2, 2), dilation=8),
    "cross entropy of integer probabilities": lambda t, F: F.cross_entropy(z(t, 2, 3), i(t, 2, 3)),
    "cross entropy of probabilities of another shape": lambda t, F: F.cross_entropy(z(t, 2, 3), z(t, 2, 4)),
    "cross entropy of probabilities, ignoring":
        lambda t, F: F.cross_entropy(z(t, 2, 3), z(t, 2, 3), ignore_index=2),
    "cross entropy of probabilities with few weights":
        lambda t, F: F.cross_entropy(z(t, 2, 3), z(t, 2, 3), z(t, 2)),
    "mse of integers": lambda t, F: F.mse_loss(i(t, 2), i(t, 2)),
    "mse of complex numbers": lambda t, F: F.mse_loss(z(t, 2, dtype=t.complex64), z(t, 2, dtype=t.complex64)),
    "mse with a weight of another size": lambda t, F: F.mse_loss(z(t, 2), z(t, 2), weight=z(t, 1)),
    "smooth l1 of a negative beta": lambda t, F: F.smooth_l1_loss(z(t, 2), z(t, 2), beta=-1),
    "huber of no delta": lambda t, F: F.huber_loss(z(t, 2), z(t, 2), delta=0),
    "bce of another size": lambda t, F: F.binary_cross_entropy(z(t, 2), z(t, 1)),
    "bce of another dtype": lambda t, F: F.binary_cross_entropy(z(t, 2), z(t, 2, dtype=t.float64)),
    "bce out of range": lambda t, F: F.binary_cross_entropy(z(t, 2) + 2, z(t, 2)),
    "bce of targets out of range": lambda t, F: F.binary_cross_entropy(z(t, 2), z(t, 2) + 2),
    "bce with logits of another size": lambda t, F: F.binary_cross_entropy_with_logits(z(t, 2), z(t, 1)),
    "kl of integers": lambda t, F: F.kl_div(i(t, 2), i(t, 2)),
    "margin ranking of different dimensions":
        lambda t, F: F.margin_ranking_loss(z(t, 2), z(t, 2, 1), z(t, 2)),
    "triplet margin": lambda t, F: F.triplet_margin_loss(z(t, 2), z(t, 2), z(t, 2), margin=0),
    "triplets of different dimensions": lambda t, F: F.triplet_margin_loss(z(t, 2), z(t, 2, 1), z(t, 2)),
    "dropout chance": lambda t, F: F.dropout(z(t, 2), 1.5),
    "dropout in the place of a word": lambda t, F: F.dropout(z(t, 2), 1.0, inplace="no"),
    "dropout1d of an image": lambda t, F: F.dropout1d(z(t, 2, 2, 2, 2)),
    "hardtanh between nothing": lambda t, F: F.hardtanh(z(t, 2), 1, 0),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.filterwarnings("ignore")
def test_refusing(case):
    same(lambda t: REFUSED[case](t, t.nn.functional))


UNREDUCED = {
    "kl_div": lambda t, x, y: t.kl_div(x, y), "hinge_embedding_loss": lambda t, x, y: t.hinge_embedding_loss(x, y),
    "margin_ranking_loss": lambda t, x, y: t.margin_ranking_loss(x, y, y),
    "cosine_embedding_loss": lambda t, x, y: t.cosine_embedding_loss(x, y, t.ones(2)),
    "triplet_margin_loss": lambda t, x, y: t.triplet_margin_loss(x, y, y, margin=2.0),
    "binary_cross_entropy_with_logits": lambda t, x, y: t.binary_cross_entropy_with_logits(x, y, None),
    "ctc_loss": lambda t, x, y: t.ctc_loss(t.zeros(3, 1, 2), t.ones(1, 1), *[t.ones(1, dtype=t.int64)] * 2),
    "an operator": lambda t, x, y: t.ops.aten.kl_div(x, y),
    "given": lambda t, x, y: [t.kl_div(x, y, 1), t.kl_div(x, y, reduction=2), t.kl_div(x, y, log_target=True)],
}


@pytest.mark.parametrize("case", UNREDUCED)
def test_losses_below_torch_are_not_reduced_unless_asked(case):
    """PyTorch's parser of arguments reads the default of the schemas, ``Mean``, as 0."""
    x, y = torch.tensor([[0.5, 2], [1, -1]]), torch.tensor([[1.0, 0.5], [2, 1]])
    ours, theirs = (UNREDUCED[case](lib, port(x, lib), port(y, lib)) for lib in (mindtorch, torch))
    assert_same(ours, theirs)


def test_broadcasting_in_a_loss_warns():
    def program(t):
        with pytest.warns(UserWarning, match="different to the input size"):
            return t.nn.functional.mse_loss(z(t, 2, 3), z(t, 3))

    same(program)


@pytest.mark.parametrize("name", ["binary_cross_entropy", "binary_cross_entropy_with_logits"])
@pytest.mark.parametrize("reduction", ["none", "mean"])
def test_losses_round_gradients_of_targets_and_inputs_where_pytorch_does(name, reduction):
    """In half precision each of the steps shows: the order in which gradient, weight and number of elements come in."""
    def program(t):
        t.manual_seed(0)
        input, target = ((t.rand(64) * 0.98 + 0.01).half().requires_grad_() for _ in range(2))
        loss = getattr(t.nn.functional, name)(input, target, t.rand(64).half(), reduction=reduction)
        return t.autograd.grad(loss, (input, target), t.rand(loss.shape).half())

    for ours, theirs in zip(program(mindtorch), program(torch), strict=True):
        assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize(("name", "classes"), [
    ("multi_margin_loss", (1, 0)), ("multilabel_margin_loss", ((1, 0, -1), (2, -1, 0)))])
def test_nan_is_not_above_the_margin(name, classes):
    def found(t):
        x = t.tensor([[0.5, float("nan"), 0.25], [0.125, 1.0, float("nan")]], requires_grad=True)
        loss = getattr(t.nn.functional, name)(x, t.tensor(classes), reduction="none")
        return [loss.detach(), *t.autograd.grad(loss.sum(), x)]

    assert_same(found(mindtorch), found(torch))


@pytest.mark.parametrize("given", ["input", "target"])
def test_the_smooth_error_of_bools_has_a_derivative(given):
    def program(t):
        mask, other = t.tensor([True, False]), t.tensor([1.25, 3.0], requires_grad=True)
        loss = t.nn.functional.smooth_l1_loss(*((mask, other) if given == "input" else (other, mask)))
        return t.autograd.grad(loss, other)[0].tolist()

    same(program)


@pytest.mark.parametrize("given", ["input", "target"])
def test_the_squared_error_of_bools_has_derivatives_of_both_orders(given):
    def program(t):
        mask, other = t.tensor([True, False]), t.tensor([1.0, 3.0], requires_grad=True)
        loss = t.nn.functional.mse_loss(*((mask, other) if given == "input" else (other, mask)))
        (first,) = t.autograd.grad(loss, other, create_graph=True)
        return first.tolist(), t.autograd.grad(first.sum(), other)[0].tolist()

    same(program)


@pytest.mark.parametrize("call", [lambda F, x: F.logsigmoid(x), lambda F, x: F.glu(x, 0), lambda F, x: F.glu(x, -1),
                                  lambda F, x: F.rms_norm(x, x.shape[-1:])],
                         ids=["logsigmoid", "glu of the first dimension", "glu of the last", "rms_norm"])
@pytest.mark.parametrize("make", [
    lambda t: t.arange(24.0).view(4, 6), lambda t: t.arange(24.0).view(4, 6).t(),
    lambda t: t.arange(48.0).view(2, 6, 4).permute(2, 0, 1), lambda t: t.arange(48.0).view(4, 12)[:, ::2],
    lambda t: t.arange(48.0).view(8, 6).expand(2, 8, 6),
], ids=["contiguous", "transposed", "permuted", "sliced", "expanded"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_activations_that_are_no_pointwise_operators_have_layouts_of_their_own(call, make, dtype):
    ours, theirs = (call(t.nn.functional, make(t).to(getattr(t, dtype))) for t in (mindtorch, torch))
    assert_same(ours, theirs, rtol=1e-2)


@pytest.mark.parametrize("limits", [(-0.5, 1), (0.5, 1.5), (-1.5, 2.5), (0, 300), (0, 255)])
def test_hardtanh_truncates_the_limits_of_bytes_at_every_call(limits):
    for _ in range(3):
        found = []
        for lib in (mindtorch, torch):
            try:
                found.append(lib.nn.functional.hardtanh(lib.tensor([0, 1, 3], dtype=lib.uint8), *limits).tolist())
            except RuntimeError as error:
                found.append(str(error))
        assert found[0] == found[1]
