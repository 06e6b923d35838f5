"""Results of float32 are as exact as float64 computes them, to about a unit in the last place, in every layout."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import mindtorch as torch
from mindtorch._base import loops

UNIT = float(np.finfo(np.float32).eps)
Array = np.ndarray


def numbers(*shape: int) -> Array:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def units(result: torch.Tensor, exact: Array) -> float:
    """Return the largest relative error in units of the precision."""
    return float((abs(result.double().numpy() - exact) / abs(exact)).max() / UNIT)


KINDS: dict[str, Callable[[Array], Array]] = {
    "centred": lambda x: x, "far from zero": lambda x: x + 1000, "with outliers": lambda x: np.sign(x) * np.exp(x * x),
}
VIEWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "whole": lambda x: x, "turned": lambda x: x.permute(2, 1, 0), "in steps": lambda x: x[:, ::2],
    "few": lambda x: x[:2, :9],
}


@pytest.mark.parametrize("dim", [None, 0, 1, 2, (0, 1), (1, 2), (0, 2)])
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("kind", KINDS)
def test_variances_and_their_means_are_rounded_once(kind: str, view: str, dim: Any) -> None:
    x = VIEWS[view](torch.from_numpy(KINDS[kind](numbers(20, 30, 15)).astype(np.float32)))
    exact = x.double().numpy()
    axis = dim if dim is not None else (0, 1, 2)
    found, mean = torch.var_mean(x, dim, keepdim=True)
    assert units(found, exact.var(axis, ddof=1, keepdims=True)) < 0.51
    assert units(mean, exact.mean(axis, keepdims=True)) < 0.51
    assert units(x.std(dim), exact.std(axis, ddof=1)) < 0.51


@pytest.mark.parametrize("shape", [(20_000,), (3, 5000), (100_001,)])
def test_products_of_many_numbers_are_exact(shape: tuple[int, ...]) -> None:
    """Without a loop, NumPy rounds each step."""
    x, limit = (1 + numbers(*shape) / 1000).astype(np.float32), 6 if loops.product_of_lines.compiled(2**15) else 200
    assert units(torch.from_numpy(x).prod(-1), x.astype(np.float64).prod(-1)) < limit


@pytest.mark.parametrize("columns", [1000, 1023, 1087])
def test_what_vectors_leave_of_a_line_is_added_at_its_end(columns: int) -> None:
    """Added one by one to the sum of the others, which is larger, each of them would be rounded."""
    x = numbers(40, columns) + 1000
    exact = abs(x[:, None].astype(np.float64) - x).sum(-1)
    away = torch.from_numpy(abs(x[:, None] - x))
    assert units(away.sum(-1) + torch.eye(40), exact + np.eye(40)) < 1.5
    assert units(torch.pdist(torch.from_numpy(x), 1), exact[np.triu_indices(40, 1)]) < 1.5


@pytest.mark.parametrize("number", [2049, 4096, 16_384, 16_385, 100_003, 131_072, 1 << 20])
def test_sums_of_many_numbers_are_exact_however_they_are_cut(number: int) -> None:
    x = abs(numbers(2, number))
    exact = x.astype(np.float64)
    for mine in (torch.from_numpy(x), torch.from_numpy(np.pad(x, ((0, 0), (0, 9))))[:, :number],
                 torch.from_numpy(x.reshape(2, 1, number)).transpose(0, 1)):
        assert units(mine.sum(), exact.sum()) < 3
        assert units(mine.mean(-1).ravel(), exact.mean(-1)) < 5
    assert units(mine[0, 0].sum(), exact[0].sum()) < 2


@pytest.mark.parametrize("shaped", [lambda x: x.T, lambda x: x[:, ::3], lambda x: x.reshape(7, 300, -1)])
def test_sums_along_strided_axes_of_few_numbers_are_exact(shaped: Callable[[Any], Any]) -> None:
    x = abs(numbers(300, 21))
    assert units(shaped(torch.from_numpy(x)).sum(1), shaped(x.astype(np.float64)).sum(1)) < 0.51


@pytest.mark.parametrize("count", [1000, 10_000])
@pytest.mark.parametrize(("name", "exact"), [("erf", special.erf), ("erfinv", special.erfinv)])
def test_the_error_function_and_its_inverse_keep_a_unit(name: str, exact: Any, count: int) -> None:
    """SciPy computes few numbers, and a loop, where there is one, many."""
    limit = 1.0 if loops.erf.compiled(count) or count < 2000 else 6.0
    line = np.linspace(1e-4, 1, count, endpoint=False, dtype=np.float32) * (4 if name == "erf" else 1)
    for x in (line, line / 1000, 1 - line[:-1] / 1000 if name == "erfinv" else line):
        wide = exact(x.astype(np.float64))
        assert units(getattr(torch, name)(torch.from_numpy(x)), wide) < limit
        assert units(getattr(torch, name)(torch.from_numpy(np.stack([x, x], 1))[:, 0]), wide) < limit
    ends = torch.tensor([0.0, -0.0, 1.0, -1.0, float("nan"), 2.0] * (count // 6))
    found, wide = getattr(torch, name)(ends).numpy(), exact(ends.double().numpy()).astype(np.float32)
    np.testing.assert_array_max_ulp(found[:4], wide[:4], 1)
    assert np.signbit(found[1]) and np.isnan(found[4]) and (np.isnan(found[5]) or name == "erf")


@pytest.mark.parametrize("count", [1000, 300_000])
@pytest.mark.parametrize("name", ["asin", "acos", "atan"])
def test_angles_keep_a_unit(name: str, count: int) -> None:
    """NumPy computes few numbers, and a loop, where there is one, many."""
    limit = 1.1 if loops.angles[getattr(np, f"arc{name[1:]}")].compiled(count) else 4.0
    line = np.linspace(-0.9999, 0.9998, count, dtype=np.float32)
    far = line * 1000 if name == "atan" else np.copysign(1 - np.float32(1e-6) - abs(line) / 1000, line)
    for x in (line, line / 1000, far, line.reshape(2, -1).T):
        found, exact = torch.from_numpy(x), getattr(np, f"arc{name[1:]}")(x.astype(np.float64))
        assert units(getattr(found, name)(), exact) < limit
        if x.flags.c_contiguous:
            assert units(getattr(found.clone(), f"{name}_")(), exact) < limit
    ends = torch.tensor([0.0, -0.0, 1.0, -1.0, float("nan"), 2.0, float("inf"), -float("inf")] * (count // 8))
    with np.errstate(invalid="ignore"):
        exact = getattr(np, f"arc{name[1:]}")(ends.double().numpy())
    found = getattr(ends, name)().numpy()
    np.testing.assert_allclose(found, exact, rtol=1e-6)
    assert (np.signbit(found) == np.signbit(exact))[~np.isnan(exact)].all()


def test_spherical_bessel_keeps_its_digits_far_from_zero() -> None:
    x = np.array([0.5, 3.0, 100.25, 1000.5, 12345.0], np.float32)
    exact = special.spherical_jn(0, x.astype(np.float64))
    assert units(torch.special.spherical_bessel_j0(torch.from_numpy(x)), exact) < 3


def test_the_tanh_form_of_gelu_keeps_its_digits_where_it_is_almost_zero() -> None:
    x = np.linspace(-5, -1, 100, dtype=np.float32)
    wide = x.astype(np.float64)
    exact = wide * special.expit(2 * np.sqrt(2 / np.pi) * (wide + 0.044715 * wide**3))
    assert units(torch.nn.functional.gelu(torch.from_numpy(x), approximate="tanh"), exact) < 20


def test_a_common_part_of_gradients_does_not_pass_a_normalisation() -> None:
    x = torch.from_numpy(numbers(8, 3, 40)).requires_grad_()
    weights = torch.from_numpy(numbers(8, 3, 40))
    out = torch.nn.functional.batch_norm(x, None, None, training=True)
    first, second = (torch.autograd.grad(out, x, weights + far, retain_graph=True)[0] for far in (0, 1000))
    assert (first - second).abs().max() < 1e-3


@pytest.mark.parametrize(("out", "limit"), [((2, 3), 0.51), ((1, 1), 0.51), ((60, 51), 0.01), ((7, 3), 1.5)])
def test_gradients_of_means_over_regions_are_rounded_once(out: tuple[int, int], limit: float) -> None:
    """Where regions overlap, their shares are added."""
    gradients = [torch.from_numpy(abs(numbers(2, 3, *out)) + 1) for _ in range(2)]
    found, exact = (torch.autograd.grad(torch.nn.functional.adaptive_avg_pool2d(x, out), x, gradient)[0]
                    for x, gradient in ((torch.ones(2, 3, 60, 51, requires_grad=True), gradients[0]),
                                        (torch.ones(2, 3, 60, 51, dtype=torch.float64, requires_grad=True),
                                         gradients[1].double())))
    assert units(found, exact.numpy()) < limit


def test_the_gradient_of_mish_keeps_its_digits_where_mish_is_almost_a_line() -> None:
    x = np.linspace(-4, 4, 100_000, dtype=np.float32)
    wide = x.astype(np.float64)
    tanh = np.tanh(np.log1p(np.exp(wide)))
    exact = tanh + wide * special.expit(wide) * (1 - tanh * tanh)
    leaf = torch.from_numpy(x).requires_grad_()
    torch.nn.functional.mish(leaf).sum().backward()
    assert abs(leaf.grad.numpy() - exact).max() < 4 * UNIT


def test_close_rows_keep_their_distance_beside_an_outlier() -> None:
    x = numbers(60, 8)
    x[0] *= 1e6
    rows = torch.from_numpy(x)
    exact = np.sqrt(((x[1:, None].astype(np.float64) - x[1:]) ** 2).sum(-1))
    assert np.abs(torch.cdist(rows, rows)[1:, 1:].numpy() - exact).max() < 5e-3


def test_distances_of_at_most_25_rows_are_those_of_their_differences() -> None:
    """Of more, PyTorch makes them by a product of matrices."""
    x = numbers(25, 8) / 100 + 1000
    x[0] += 1e5
    exact = np.sqrt(((x[:, None].astype(np.float64) - x) ** 2).sum(-1))
    assert units(torch.cdist(*[torch.from_numpy(x)] * 2)[1:, 1:] + torch.eye(24), exact[1:, 1:] + np.eye(24)) < 1


def test_losses_of_classes_are_added_in_float64() -> None:
    x = np.where(np.arange(999)[:, None] % 2, 100, -100) + numbers(999, 4)
    logs, target = torch.from_numpy(x.astype(np.float32)), torch.arange(999) % 4
    exact = -x.astype(np.float32).astype(np.float64)[np.arange(999), np.arange(999) % 4].mean()
    assert abs(torch.nn.functional.nll_loss(logs, target).item() - exact) < 1e-6
