"""Far out, and where a dtype ends, functions give PyTorch's numbers: infinite, tiny, of a huge degree or size."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch
from tests.both import Program, assert_same_outcome, each_program
from tests.support import Outcome, assert_same, error_differences, port, torch

Call = Callable[..., Any]
INF, NAN = float("inf"), float("nan")
SIGNS = [0.5, 0.0, -0.0, -1.0, INF, -INF, NAN]
FAR = [-1e5, -1e6, -3.0, 1e3, 1e30, INF, -INF, NAN]
SPREADS = [[1e20, -1e20], [1e-30, -1e-30], [1e-25, 0.0], [2.0, 2.0], [INF, 1.0], [NAN, 1.0], [1e30, 1e30]]
#: Lines of few numbers, whose exponentials all fit, or do not, or are too small to be added.
LINES = [[[0.5, -1.0, 3.0], [2.0, 2.0, -70.0]], [[0.5, -1.0, 3.0], [85.0, 2.0, -85.0]], [[1e30, 1.0, -1e30], [0.0] * 3],
         [[-200.0, -201.0, -300.0], [200.0, 201.0, 300.0]], [[NAN, 1.0, 2.0], [1.0, 2.0, 3.0]],
         [[INF, 1.0, 2.0], [-INF, 2.0, 3.0]], [[-INF] * 3, [-30.0, -31.0, -32.0]]]
#: Losses of two and three classes whose sum float32 holds, or does not.
LOSSES = [[[3e38, 1.0], [3e38, 2.0]], [[-3e38, 1.0], [-3e38, 2.0]], [[1e38, 1.0], [-2e38, 0.0]],
          [[NAN, 1.0], [1.0, 2.0]]]
X = [-1.5, -1.0, -0.7, 0.0, 0.3, 0.9, 1.0, 1.001, 2.5]
SIZES = [(3, 5, -2), (5, 3, 1), (4, 0), (2, 2, 9), (9, 2)]
POLYNOMIALS = [*(f"{shifted}chebyshev_polynomial_{kind}" for shifted in ("", "shifted_") for kind in "tuvw"),
               "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"]


def shrunk(name: str, lambd: float) -> Call:
    """Make a call that returns the reciprocal of a shrinkage, which shows the signs of zeros, and its gradient."""

    def call(lib: Any, x: Any) -> Any:
        x = x.requires_grad_()
        y = getattr(lib.nn.functional, name)(x, lambd)
        return 1 / y.detach(), *lib.autograd.grad(y.sum(), x)

    return call


def gelus(lib: Any, x: Any) -> Any:
    """One number at a time, and the gradient: of many, PyTorch's vectors have NaN where one alone is infinite."""
    for each in x.tolist():
        for approximate in ("none", "tanh"):
            one = lib.tensor([each], dtype=x.dtype, requires_grad=True)
            y = lib.nn.functional.gelu(one, approximate=approximate)
            yield y.detach()
            yield from lib.autograd.grad(y, one)


CASES: dict[str, tuple[Call, Any, str]] = {
    "relu": (lambda lib, x: 1 / lib.relu(x), SIGNS, "float32"),
    **{f"leaky_relu {slope}": (lambda lib, x, slope=slope: lib.nn.functional.leaky_relu(x, slope), SIGNS, "float32")
       for slope in (0.1, 2.0, INF, -INF)},
    **{f"{name} {lambd} {dtype}": (shrunk(name, lambd), [*SIGNS, lambd, -lambd], dtype)
       for name in ("hardshrink", "softshrink") for lambd in (0.3, 0.0)
       for dtype in ("bfloat16", "float16", "float32")},
    **{f"gelu {dtype}": (lambda lib, x: list(gelus(lib, x)), [INF, -INF, NAN, 3e38, -3e38, 1e4, -1e4, 0.0, -0.0, 0.5],
                         dtype) for dtype in ("float16", "bfloat16", "float32", "float64")},
    **{f"std {values}": (lambda lib, x: (*lib.std_mean(x), x.var()), values, "float32")
       for values in SPREADS if INF not in values},
    "std of columns": (lambda lib, x: x.std(0), [[1e20, 1.0], [-1e20, 2.0]], "float32"),
    **{f"logit {eps} {dtype}": (lambda lib, x, eps=eps: lib.logit(x, eps), [0.2, 0.001, 0.9, 0.0, 1.0, 0.0005], dtype)
       for eps in (None, 1e-3) for dtype in ("float16", "bfloat16", "float32")},
    **{f"{name} {values} {dtype}": (lambda lib, x, name=name: [getattr(x, name)(dim) for dim in (-1, 0)], values, dtype)
       for name in ("softmax", "log_softmax", "sum", "mean", "max", "min", "argmax", "argmin")
       for values in LINES for dtype in ("float32", "float64")},
    **{f"nll_loss {values}": (lambda lib, x: lib.nn.functional.nll_loss(x, lib.tensor([0, 0])), values, "float32")
       for values in LOSSES},
    "lgamma": (lambda lib, x: lib.lgamma(x), [5e-309, 5e-324, 1e-308, -5e-309, -0.0, 0.0, INF, -INF], "float64"),
    "airy_ai": (lambda lib, x: lib.special.airy_ai(x), FAR, "float64"),
    **{f"polygamma {n}": (lambda lib, x, n=n: lib.polygamma(n, x), [0.5, 2.0, -1.5], "float64")
       for n in (30, 171, 1000)},
    **{f"{name} {n}": (lambda lib, x, name=name, n=n: getattr(lib.special, name)(x, n), X, "float64")
       for name in POLYNOMIALS for n in (-1, 1, 7, 30, 400)},
    **{f"{name} 100001": (lambda lib, x, name=name: getattr(lib.special, name)(x, 100001), [-1.0, 0.0, 0.5, 1.0, 3.0],
                          "float64") for name in POLYNOMIALS if "laguerre" not in name},
    **{f"{name}_indices": (lambda lib, _, name=name: [getattr(lib, f"{name}_indices")(*size) for size in SIZES], [0.0],
                           "float32") for name in ("tril", "triu")},
}
#: What asks for more memory than there can be.
HUGE: dict[str, Call] = {
    "tril_indices": lambda lib: lib.tril_indices(2**40, 2),
    "triu_indices": lambda lib: lib.triu_indices(2**40, 2**40),
    "mvlgamma": lambda lib: lib.mvlgamma(lib.tensor([2e14]), 2**46),
    "outer": lambda lib: lib.zeros(2**20).outer(lib.zeros(2**28)),
    "add": lambda lib: lib.zeros(2**20)[:, None] + lib.zeros(2**28),
    "repeat": lambda lib: lib.ones(1).repeat(2**48),
    "arange": lambda lib: lib.arange(2**50),
    "Sobol": lambda lib: lib.quasirandom.SobolEngine(2).draw(2**50),
}
#: What has more elements, bytes or repeats than can be counted.
IMPOSSIBLE: dict[str, Call] = {
    "eye": lambda lib: lib.eye(2**40),
    "eye of one column": lambda lib: lib.eye(2**62, 1),
    "ones": lambda lib: lib.ones(2**62),
    "empty": lambda lib: lib.empty(2**62, 4, 0),
    "arange": lambda lib: lib.arange(0, 1e30),
    "linspace": lambda lib: lib.linspace(0, 1, 2**62),
    "hann_window": lambda lib: lib.hann_window(2**62),
    "histc": lambda lib: lib.histc(lib.ones(2), 2**62),
    "bincount": lambda lib: lib.bincount(lib.tensor([2**63 - 1])),  # one more wraps around
    "repeat_interleave": lambda lib: lib.repeat_interleave(lib.tensor([2**62, 2**62])),
    "mm": lambda lib: lib.ones(1, 1).expand(2**40, 1) @ lib.ones(1, 1).expand(1, 2**40),
    "outer": lambda lib: lib.outer(lib.ones(1).expand(2**40), lib.ones(1).expand(2**40)),
    "expand": lambda lib: lib.ones(1).expand(2**62, 2**62) + 1,
    "as_strided": lambda lib: lib.ones(1).as_strided((2**40, 2**40), (0, 0)) + 1,
    "cat": lambda lib: lib.cat([lib.ones(1).expand(2**62)] * 3),
    "combinations": lambda lib: lib.combinations(lib.arange(50), 25),
    "cartesian_prod": lambda lib: lib.cartesian_prod(*[lib.arange(100)] * 10),
    "adaptive_max_pool2d": lambda lib: lib.nn.functional.adaptive_max_pool2d(lib.ones(1, 1, 2, 2), 2**31),
    "pixel_shuffle": lambda lib: lib.pixel_shuffle(lib.ones(1, 4, 1, 1), 2**40),
}


@pytest.mark.parametrize("name", CASES)
def test_extreme_arguments_give_pytorchs_numbers(name: str) -> None:
    call, values, dtype = CASES[name]
    x = torch.tensor(values, dtype=getattr(torch, dtype))
    assert_same(call(mindtorch, port(x, mindtorch)), call(torch, x), **({"rtol": 1e-9} if dtype == "float64" else {}))


@each_program(*[lambda t, number=number, shape=shape: [  # type: ignore[misc]
                    [t.cosine_similarity(t.full(shape, number), -t.ones(shape), 0).tolist(),
                     t.nn.functional.normalize(t.full(shape, number), dim=0).tolist()] for _ in range(3)]
                for number in (1e30, 1e-30) for shape in ((1, 3), (1,), (1, 2, 3))])
def test_the_length_of_one_number_is_its_size_where_its_square_is_none(program: Program) -> None:
    assert_same_outcome(program)


@pytest.mark.parametrize("name", HUGE)
def test_what_no_memory_can_hold_is_refused_at_once(name: str) -> None:
    with pytest.raises(RuntimeError, match="can't allocate memory: you tried to allocate"):
        HUGE[name](mindtorch)
    assert not list(error_differences(Outcome.of(HUGE[name], mindtorch), Outcome.of(HUGE[name], torch)))


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_what_cannot_be_counted_is_refused_with_pytorchs_type_of_error(name: str) -> None:
    with pytest.raises((RuntimeError, ValueError)) as expected:
        IMPOSSIBLE[name](torch)
    with pytest.raises(expected.type, match="overflow") as raised:
        IMPOSSIBLE[name](mindtorch)
    assert raised.type is expected.type


@pytest.mark.parametrize("call", [
    lambda x: x[None], lambda x: x.unfold(0, 1, 1), lambda x: x.view(1, *x.shape), lambda x: mindtorch.stack([x, x]),
    lambda x: x.expand(1, *x.shape), lambda x: mindtorch.ones(1, *x.shape),
], ids=["None", "unfold", "view", "stack", "expand", "ones"])
def test_more_dimensions_than_numpy_has_are_refused_in_one_way(call: Call) -> None:
    with pytest.raises(RuntimeError, match="a tensor of 65 dimensions: NumPy has at most 64"):
        call(mindtorch.ones((1,) * 64))


def test_repeats_whose_sum_wraps_around_to_0_are_refused() -> None:
    """PyTorch writes them behind its empty result, and crashes."""
    with pytest.raises(RuntimeError, match="overflow"):
        mindtorch.repeat_interleave(mindtorch.tensor([2**62] * 4), output_size=0)


@pytest.mark.parametrize("factory", ["zeros", "empty", "ones", "rand"])
@pytest.mark.parametrize("size", [(2**70,), (2**63,), (2, 2**63), (2**63 - 1,), (2**31, 2**31)])
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_sizes_that_cannot_be_counted_raise_pytorchs_errors(factory: str, size: tuple[int, ...], device: str) -> None:
    assert_same_outcome(lambda t: getattr(t, factory)(*size, device=device))
    assert_same_outcome(lambda t: getattr(t, factory)(size, device=device))


@each_program(
    lambda t: t.ones(3).as_strided((1,), (2**62,)), lambda t: t.ones(3).as_strided((1,), (2**62,)).stride(),
    lambda t: t.ones(3).as_strided((0, 2), (2**62, 1)).stride(), lambda t: t.empty_strided((1,), (2**62,)).stride(),
    lambda t: t.ones(3).as_strided((1, 2), (2**62, 1)).t().stride(), lambda t: t.ones(1).new_zeros(2**63),
    lambda t: t.ones(3).as_strided((1, 2), (2**62, 1))[:, 1:] + 1, lambda t: t.full((2**64,), 1.0),
    lambda t: t.arange(2**62, device="meta"),
)
def test_a_stride_that_no_element_needs_may_be_of_any_size(program: Program) -> None:
    assert_same_outcome(program)
