"""Infinities, NaN, overflow and divisions by zero, on every path of an operator: few and many elements, contiguous and
strided, in place and with ``out=``. NumPy, which warns about them, must not be heard.
"""
from __future__ import annotations

import gc
import math
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import Any

import numpy as np
import pytest

import mindtorch
from tests.support import array, assert_same, port, torch

INF, NAN = math.inf, math.nan
EDGES = [0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 3e38, -3e38, 0.5, -2.5, 100.0, -200.0]
LINES = [[INF, 1.0, 2.0], [INF, -INF, 1.0], [-INF, 2.0, 3.0], [NAN, 1.0, INF], [3e38, 3e38, 1.0], [-3e38, -3e38, 0.0],
         [0.0, -0.0, 0.0], [-INF, -INF, -INF], [INF, INF, INF], [0.0, INF, -1.0], [100.0, -200.0, 0.5]]
UNARY = [
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "deg2rad", "digamma", "erf",
    "erfc", "erfinv", "exp", "exp2", "expm1", "floor", "frac", "lgamma", "log", "log10", "log1p", "log2", "logit",
    "nan_to_num", "neg", "positive", "rad2deg", "reciprocal", "round", "rsqrt", "sgn", "sigmoid", "sign", "sin",
    "sinc", "sinh", "sqrt", "square", "tan", "tanh", "trunc", "isfinite", "isinf", "isnan", "isneginf", "isposinf",
    "signbit", "logical_not", "i0",
]
BINARY = [
    "add", "sub", "mul", "div", "true_divide", "atan2", "copysign", "fmax", "fmin", "hypot", "logaddexp",
    "logaddexp2", "maximum", "minimum", "nextafter", "pow", "floor_divide", "xlogy", "eq", "ne", "lt", "le", "gt",
    "ge", "logical_and", "logical_or", "logical_xor", "heaviside",
]
#: Where the signs of zeros differ from PyTorch's, whose own vectors and scalars disagree about some of them.
SIGNLESS = {"erfinv", "softshrink", "fmax", "fmin", "maximum", "minimum"}
#: Functions of one tensor, most of which have no in-place form.
ACTIVATIONS: dict[str, Callable[[Any, Any], Any]] = {
    **{name: lambda lib, x, name=name: getattr(lib.nn.functional, name)(x) for name in (
        "elu", "selu", "celu", "hardtanh", "hardsigmoid", "hardswish", "leaky_relu", "logsigmoid", "mish", "relu",
        "relu6", "silu", "softplus", "softsign", "tanhshrink", "hardshrink", "softshrink")},
    "clamp": lambda lib, x: lib.clamp(x, -1, 2), "clamp to infinity": lambda lib, x: x.clamp(-INF, INF),
    "pow 3": lambda lib, x: x ** 3, "pow -1": lambda lib, x: x ** -1, "pow .5": lambda lib, x: x ** .5,
    "2 to the power": lambda lib, x: 2 ** x, "1 /": lambda lib, x: 1 / x, "/ 0": lambda lib, x: x / 0,
    "% 0": lambda lib, x: x % 0, "// 0": lambda lib, x: x // 0, "inf -": lambda lib, x: INF - x,
    "* inf": lambda lib, x: x * INF, "add alpha": lambda lib, x: lib.add(x, x, alpha=3e38),
    "lerp": lambda lib, x: lib.lerp(x, -x, .5), "addcmul": lambda lib, x: lib.addcmul(x, x, x, value=2),
    "addcdiv": lambda lib, x: lib.addcdiv(x, x, x - x, value=2), "threshold": lambda lib, x: lib.threshold(x, 0, NAN),
    "to int": lambda lib, x: x.clamp(-100, 100).nan_to_num().int(), "to half": lambda lib, x: x.half(),
    "masked_fill": lambda lib, x: x.masked_fill(x > 0, INF), "where": lambda lib, x: lib.where(x > 0, x / 0, -x / 0),
    "mse_loss": lambda lib, x: lib.nn.functional.mse_loss(x, -x, reduction="none"),
    "smooth_l1_loss": lambda lib, x: lib.nn.functional.smooth_l1_loss(x, -x, reduction="none"),
    "bce": lambda lib, x: lib.nn.functional.binary_cross_entropy_with_logits(x, x.isnan().to(x.dtype),
                                                                             reduction="none"),
}
REDUCTIONS = [
    "sum", "mean", "prod", "amax", "amin", "argmax", "argmin", "std", "var", "logsumexp", "cumsum", "cumprod",
    "cummax", "cummin", "logcumsumexp", "median", "nansum", "nanmean", "any", "all", "softmax", "log_softmax",
    "max", "min", "norm", "sort", "topk", "argsort",
]
EXTRA = {"topk": (2,)}
PRODUCTS: dict[str, Callable[[Any, Any], Any]] = {
    "mm": lambda lib, x: x @ x.t(), "mv": lambda lib, x: x @ x[0], "dot": lambda lib, x: x[1] @ x[2],
    "bmm": lambda lib, x: x[None] @ x.t()[None], "addmm": lambda lib, x: lib.addmm(x[:, :1], x, x.t(), beta=2),
    "linear": lambda lib, x: lib.nn.functional.linear(x, x, x[:, 0]), "outer": lambda lib, x: lib.outer(x[0], x[1]),
    "conv1d": lambda lib, x: lib.nn.functional.conv1d(x[:, None], x[:2, None]),
    "avg_pool1d": lambda lib, x: lib.nn.functional.avg_pool1d(x[None], 2),
    "max_pool1d": lambda lib, x: lib.nn.functional.max_pool1d(x[None], 2),
    "layer_norm": lambda lib, x: lib.nn.functional.layer_norm(x, (3,)),
    "batch_norm": lambda lib, x: lib.nn.functional.batch_norm(x, None, None, training=True),
    "cross_entropy": lambda lib, x: lib.nn.functional.cross_entropy(x, lib.tensor([0, 1, 2] * 20)[:len(x)]),
    "mse_loss": lambda lib, x: lib.nn.functional.mse_loss(x, -x), "cdist": lambda lib, x: lib.cdist(x[-2:], x[4:6]),
    "normalize": lambda lib, x: lib.nn.functional.normalize(x), "cumsum": lambda lib, x: x.flatten().cumsum(0),
    "index_add": lambda lib, x: x.index_add(0, lib.tensor([0, 0]), x[:2]),
    "scatter_add": lambda lib, x: x.scatter_add(0, lib.tensor([[0, 0, 1]]), x[1:2]),
    "embedding": lambda lib, x: lib.nn.functional.embedding(lib.tensor([1, 3]), x, max_norm=1.0),
}


@contextmanager
def silence() -> Iterator[None]:
    """Check that no RuntimeWarning is emitted, whatever the filters, without changing what runs."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield
    assert not [str(item.message) for item in found if item.category is RuntimeWarning]


def compare(call: Callable[[Any, Any], Any], x: torch.Tensor, form: str, signs: bool = True) -> None:
    """Compare a call's values, dtypes, strides and signs of zeros with PyTorch's."""
    mine = port(x, mindtorch)
    with silence():
        ours = call(mindtorch, mine)
    theirs = call(torch, x)
    try:
        assert_same(ours, theirs)
        assert_same(mine, x)
        if signs and isinstance(theirs, torch.Tensor) and theirs.is_floating_point():
            left, right = array(ours), array(theirs)
            assert (np.signbit(left) == np.signbit(right))[right == 0].all(), "signs of zeros"
    except AssertionError as error:
        raise AssertionError(f"{form}: {error}") from None


def forms(values: Any, dtype: torch.dtype, many: int) -> Iterator[tuple[str, torch.Tensor]]:
    """Tensors with the same values along the first dimension, laid out in ways that take different paths."""
    x = torch.tensor(values, dtype=dtype)
    yield "few", x
    yield "strided", torch.stack([x, torch.full_like(x, 7)], -1)[..., 0]
    yield "several", x.repeat(25, *[1] * (x.ndim - 1))
    yield "many", x.repeat(many // x.numel() + 1, *[1] * (x.ndim - 1))


def of_one(name: str, call: Callable[[Any, Any], Any]) -> None:
    """Compare a function of one tensor in all its forms."""
    signs = name not in SIGNLESS
    for dtype in (torch.float32, torch.float64):
        for form, x in forms(EDGES, dtype, 70_000):
            compare(call, x, f"{form} {dtype}", signs)
    for value in EDGES:
        compare(call, torch.tensor(value), f"{value} alone", signs)


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_tensor(name: str) -> None:
    of_one(name, lambda lib, x: getattr(lib, name)(x))
    signs = name not in SIGNLESS
    for form, x in forms(EDGES, torch.float32, 300):
        result = getattr(torch, name)(x)
        if name not in ("isfinite", "isinf", "isnan", "positive"):
            if name not in ("isneginf", "isposinf", "signbit"):
                compare(lambda lib, x: getattr(x.clone(), f"{name}_")(), x, f"{form} in place", signs)
            compare(lambda lib, x, like=result: getattr(lib, name)(x, out=lib.empty_like(port(like, lib))), x,
                    f"{form} out", signs)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_and_numbers_as_operands(name: str) -> None:
    of_one(name, ACTIVATIONS[name])


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_tensors(name: str) -> None:
    signs = name not in SIGNLESS
    pairs = torch.cartesian_prod(torch.tensor(EDGES), torch.tensor(EDGES))
    for dtype in (torch.float32, torch.float64):
        for repeats in (1, 450):
            both = pairs.to(dtype).repeat(repeats, 1)  # columns of it have strides
            compare(lambda lib, x: getattr(lib, name)(x[:, 0], x[:, 1]), both, f"strided {dtype}", signs)
            compare(lambda lib, x: getattr(lib, name)(*x), both.t().contiguous(), f"contiguous {dtype}", signs)
        compare(lambda lib, x: getattr(lib, name)(x, x[:, None]), torch.tensor(EDGES, dtype=dtype), "broadcast", signs)
    for value in EDGES:
        number = torch.tensor(value)
        if name != "pow":  # which PyTorch computes otherwise by a number than by a tensor: of -inf and 0.5
            compare(lambda lib, x, other=number: getattr(lib, name)(x, port(other, lib)), torch.tensor(EDGES),
                    f"and a tensor of {value}", signs)
        if name not in ("heaviside", "atan2", "hypot", "maximum", "minimum", "fmax", "fmin", "nextafter", "logaddexp",
                        "logaddexp2", "logical_and", "logical_or", "logical_xor"):
            compare(lambda lib, x, other=value: getattr(lib, name)(x, other), torch.tensor(EDGES), f"and {value}",
                    signs)
    columns = pairs.t().contiguous()
    compare(lambda lib, x: getattr(lib, name)(*x, out=lib.empty_like(getattr(lib, name)(*x))), columns, "out", signs)
    if name != "true_divide" and hasattr(torch.Tensor, f"{name}_"):
        compare(lambda lib, x: getattr(x[0].clone(), f"{name}_")(x[1]), columns, "in place", signs)
        compare(lambda lib, x: getattr(x.clone()[:, 0], f"{name}_")(x[:, 1]), pairs, "in place, strided", signs)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_and_scans(name: str) -> None:
    def call(lib: Any, x: Any, dim: int) -> Any:
        return getattr(lib, name)(x, *EXTRA.get(name, ()), dim=dim)

    # In float32, the deviation of 3e38, 3e38 and 1 overflows in PyTorch, but not here.
    lines = [line for line in LINES if name not in ("std", "var") or 3e38 not in map(abs, line)]
    for dtype in (torch.float32, torch.float64):
        for form, x in forms(lines, dtype, 40_000):
            compare(lambda lib, x: call(lib, x, 1), x, f"{form} {dtype}, rows", signs=False)
            if form != "many":
                compare(lambda lib, x: call(lib, x.t(), 0), x, f"{form} {dtype}, columns", signs=False)
    for line in lines:
        compare(lambda lib, x: call(lib, x, 0), torch.tensor(line), f"{line}", signs=False)
        if name in ("sum", "mean", "prod", "max", "min", "std", "var", "norm", "any", "all", "median", "nansum"):
            compare(lambda lib, x: getattr(lib, name)(x), torch.tensor(line), f"all of {line}", signs=False)


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_and_layers(name: str) -> None:
    """Without sums that overflow or not, depending on their order."""
    lines = [[7.0 if abs(x) == 3e38 else x for x in line] for line in LINES]
    for dtype in (torch.float32, torch.float64):
        for form, x in forms(lines, dtype, 300):
            if form not in ("many", "several"):
                compare(PRODUCTS[name], x, f"{form} {dtype}", signs=False)


@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "reciprocal", "sigmoid", "tanh", "abs", "mm", "linear"])
def test_gradients(name: str) -> None:
    function = PRODUCTS.get(name, lambda lib, x: getattr(lib, name)(x))

    def call(lib: Any, x: Any) -> Any:
        x = x.clone().requires_grad_()
        result = function(lib, x)
        result.backward(lib.full_like(result, INF if name in PRODUCTS else 1.0))
        return x.grad

    for form, x in forms([[1.0, 0.0, 2.0], [3.0, -2.0, 0.0]] if name in PRODUCTS else EDGES, torch.float32, 300):
        compare(call, x, form)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(dtype: str) -> None:
    for name in ("add", "sub", "mul", "div"):
        pairs = torch.cartesian_prod(torch.tensor(EDGES), torch.tensor(EDGES)).to(getattr(torch, dtype))
        compare(lambda lib, x, name=name: getattr(lib, name)(*x), pairs.t().contiguous(), name)
    for name in ("exp", "log", "sqrt", "reciprocal", "sigmoid", "sum", "softmax"):
        for form, x in forms(LINES, getattr(torch, dtype), 2_000):
            compare(lambda lib, x, name=name: getattr(lib, name)(x, *[1] * (name == "softmax")), x, f"{name} {form}")


def test_large_tensors() -> None:
    x = torch.tensor(EDGES).repeat((1 << 20) // len(EDGES) + 1)
    for call in (lambda lib, x: x / 0, lambda lib, x: x.log(), lambda lib, x: x.sqrt(), lambda lib, x: x + INF,
                 lambda lib, x: x.clone().sqrt_(), lambda lib, x: lib.exp(x, out=lib.empty_like(x))):
        compare(call, x, "large")


class Payload:
    """Something large that a program keeps in a context variable."""


PROGRAM: ContextVar[Payload] = ContextVar("PROGRAM")


def test_no_context_is_kept_alive() -> None:
    def run() -> weakref.ref[Payload]:
        payload = Payload()
        PROGRAM.set(payload)
        mindtorch.ones(3) / 0, mindtorch.ones(100, 100).t().log(), mindtorch.ones(1 << 21).sqrt()
        return weakref.ref(payload)

    gone = copy_context().run(run)
    gc.collect()
    assert gone() is None


def test_numpys_settings_stay_a_programs_own() -> None:
    """Also in a generator and after an error."""
    before = np.geterr(), np.getbufsize()

    def steps() -> Iterator[mindtorch.Tensor]:
        for x in (mindtorch.ones(3), mindtorch.ones(1 << 21)):
            yield x / 0
            assert (np.geterr(), np.getbufsize()) == before

    for x in steps():
        assert x.isinf().all()
        with pytest.raises(RuntimeError):
            mindtorch.ones(2) + mindtorch.ones(3)
        assert (np.geterr(), np.getbufsize()) == before
    with np.errstate(all="raise"):
        assert all(bool((x / 0).isinf().all()) for x in (mindtorch.ones(3), mindtorch.ones(4, 4)[:, 0]))
        with pytest.raises(FloatingPointError):
            np.ones(1) / 0


@pytest.mark.parametrize("name, check", [("div", test_functions_of_two_tensors), ("log", test_functions_of_one_tensor),
                                         ("sqrt", test_functions_of_one_tensor)])
@pytest.mark.parametrize("path", ["few", "strided", "many"])
def test_a_mistake_on_one_path_is_noticed(name: str, check: Callable[[str], None], path: str,
                                          monkeypatch: pytest.MonkeyPatch) -> None:
    right = getattr(mindtorch, name)

    def wrong(x: Any, *args: Any, **kwargs: Any) -> Any:
        result = right(x, *args, **kwargs)
        taken = "strided" if not x.is_contiguous() else "many" if x.numel() > 300 else "few"
        return result.where(result.isfinite(), 7.0) if taken == path else result

    monkeypatch.setattr(mindtorch, name, wrong)
    with pytest.raises(AssertionError, match="value"):
        check(name)


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, INF])
@pytest.mark.parametrize("count", [4, 70])
def test_gradients_of_distances_that_are_zero_do_not_depend_on_gradients_that_are_not_finite(
        p: float, count: int) -> None:
    """Signs, which are the slopes of norms 1 and infinity, are multiplied by the gradient even where they are 0."""
    x = torch.arange(3.0 * count).reshape(count, 3) % 7
    y, weights = x.roll(2, 0), torch.ones(count, count)
    weights[2, 0], weights[1, count - 1], weights[3, 3] = NAN, INF, -INF

    def gradients(lib: Any, x: Any, y: Any, weights: Any) -> Any:
        x, y = x.requires_grad_(), y.requires_grad_()
        out = lib.cdist(x, y, p, "donot_use_mm_for_euclid_dist")
        pairs = lib.nn.functional.pdist(x, p)
        return [*lib.autograd.grad(out, [x, y], weights), *lib.autograd.grad(pairs, x, pairs.detach().reciprocal())]

    ours, theirs = (gradients(lib, *port([x, y, weights], lib)) for lib in (mindtorch, torch))
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(array(mine), array(other), 1e-5, 1e-5)


#: Products of a column (4, 1), its row (1, 4), or its elements (4), with a matrix (1, 1) or vector of one number.
BY_NUMBER: dict[str, Callable[[Any, Any, Any], Any]] = {
    "mm": lambda lib, x, w: x.mm(w), "mm by a row": lambda lib, x, w: w.mm(x.t()), "mv": lambda lib, x, w: x.mv(w[0]),
    "linear": lambda lib, x, w: lib.nn.functional.linear(x, w), "matmul": lambda lib, x, w: x[None] @ w,
    "linear of lines": lambda lib, x, w: lib.nn.functional.linear(w, x[:, :1], x[:, 0] * 0),
    "bias": lambda lib, x, w: lib.nn.functional.linear(x, w, w[0]), "addmm": lambda lib, x, w: lib.addmm(w, x, w),
    "scaled addmm": lambda lib, x, w: lib.addmm(w, x, w, beta=2), "inner": lambda lib, x, w: lib.inner(x, w),
    "convolution": lambda lib, x, w: lib.nn.functional.conv1d(x.t()[None], w[None]),
    "transposed": lambda lib, x, w: lib.nn.functional.conv_transpose1d(x.t()[None], w[None]),
}


@pytest.mark.parametrize("call", BY_NUMBER.values(), ids=BY_NUMBER)
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_products_by_a_single_zero_are_nan_where_the_other_factor_is_not_finite(
        call: Callable[..., Any], dtype: str) -> None:
    found: list[list[Any]] = []
    for lib in (mindtorch, torch):
        rows: list[Any] = []
        found.append(rows)
        for value in (INF, NAN, INF):  # calls that are the same but for the values
            x = lib.tensor([[1.0], [value], [0.0], [2.0]], dtype=getattr(lib, dtype), requires_grad=True)
            w = lib.zeros(1, 1, dtype=x.dtype, requires_grad=True)
            out = call(lib, x, w)
            for gradient in (x.detach().reshape(out.shape), lib.zeros_like(out)):
                rows += lib.autograd.grad(out, (x, w), gradient, retain_graph=True)
            rows.append(out)
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(array(ours), array(theirs))


@pytest.mark.parametrize("count", [1, 3, 5000])
@pytest.mark.parametrize("call", [
    lambda lib, x, y: x + y, lambda lib, x, y: x - y, lambda lib, x, y: lib.sub(x, y, alpha=1.0),
    lambda lib, x, y: x.add_(y, alpha=1)])
def test_a_sum_multiplies_infinite_complex_numbers_by_its_factor_even_if_that_is_one(
        call: Callable[..., Any], count: int) -> None:
    ours, theirs = (call(lib, lib.ones(count, dtype=lib.complex64), lib.tensor([complex(INF, 1)] * count))
                    for lib in (mindtorch, torch))
    np.testing.assert_array_equal(array(ours), array(theirs))
