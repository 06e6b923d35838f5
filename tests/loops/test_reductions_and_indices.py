"""Loops of scans, reductions, and indices compute what NumPy and PyTorch do."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mindtorch

from ..support import port, torch
from .support import OTHERS, SPECIAL, again, numbers, tame


def places(t: Any, x: Any) -> Any:
    """For each element of some lines, one of its line."""
    return (t.arange(x.numel()).view_as(x) * 7919 + x.float().view(t.int32) % 13) % x.shape[-1]


def rows(t: Any, x: Any) -> Any:
    """For each of some lines, one of a hundred rows."""
    return places(t, x)[:, 0] % 100


def scattered(t: Any, x: Any) -> Any:
    """For each element of some lines, one of its line, whatever the numbers."""
    return t.arange(x.numel()).view_as(x) * 7919 % x.shape[-1]


def twice(t: Any, x: Any, *shape: int) -> Any:
    """Return the lines and as many others: enough of them to be computed in blocks."""
    return t.cat([x, x + 1]).view(shape or (-1, 640))


def classified(t: Any, x: Any) -> Any:
    """Return losses of label sequences of several lengths, and the gradients."""
    logits = x.reshape(-1)[:40 * 3 * 8].view(40, 3, 8).double().requires_grad_()
    labels = t.tensor([[1, 1, 2, 7, 3], [4, 5, 4, 5, 0], [6, 0, 0, 0, 0]])
    losses = t.nn.functional.ctc_loss(logits.log_softmax(-1), labels, [40, 23, 9], [5, 4, 1], reduction="none")
    return t.cat([losses.detach(), *[grad.reshape(-1) for grad in t.autograd.grad(losses.sum(), logits)]])


def in_units(x: Any) -> Any:
    """Divide the columns by their largest elements."""
    return x / x.abs().amax(0)


def pooled(t: Any, x: Any, function: str, *args: Any, **settings: Any) -> Any:
    """Return maxima of windows over images, and their places."""
    found = again(lambda x: getattr(t.nn.functional, function)(x, *args, return_indices=True, **settings), x)
    return t.stack([part.double().nan_to_num(99) for part in found])


def with_nan(x: Any) -> Any:
    """Put NaN in place of the largest floats."""
    return x.masked_fill(x >= 8, float("nan")) if x.is_floating_point() else x


def of_dtypes(dtypes: str, scale: float, calls: dict[str, Any]) -> dict[str, Any]:
    """Return calls of lines, times a factor, in each of some dtypes, which their names have for ``{}``."""
    return {name.format(dtype): lambda t, x, dtype=dtype, call=call: call(t, (x * scale).to(getattr(t, dtype)))
            for name, call in calls.items() for dtype in dtypes.split()}


FLOATS, NUMBERS, INTEGERS = "float32 float64", "float32 float64 int32 int64", "int32 int64"
CHOSEN = {
    "add_to_lines": lambda t, x: twice(t, x) + x[0],
    "multiply_lines": lambda t, x: x[:410] * twice(t, x, 4, 410, 640),
    "subtract_from_lines": lambda t, x: twice(t, x) - twice(t, x)[:, :1],
    "subtract_lines": lambda t, x: x[5] - twice(t, x),
    "subtract_lines of images": lambda t, x: x[0, :20, None, None] - twice(t, x, 2, 20, 41, 640),
    "divide_lines": lambda t, x: twice(t, x, 1640, 1, 640) / (x[:, 1:2].repeat(2, 1).view(-1, 1, 1) + 10),
    "divide_by_lines": lambda t, x: x.mT[:20, :1] / (twice(t, x, 82, 20, 640) + 10),
    **of_dtypes(FLOATS, 1, {
        "cumsum_{}": lambda t, x: x.cumsum(1),
        "cumsum_{} down": lambda t, x: x.cumsum(0),
        "cumsum_{} of columns": lambda t, x: x.t().cumsum(0),
        "cumprod_{} in boxes": lambda t, x: (x / 4).view(4, 205, 640).cumprod(1),
        "cumulative_extreme_{}": lambda t, x: t.stack([part.double() for part in x.cummax(1)]),
        "cumulative_extreme_{} down": lambda t, x: t.stack([part.double() for part in x.round().cummin(0)]),
        "distances_{}": lambda t, x: t.stack([
            t.cdist(x[:80, :40], x[80:170, :40], p, "donot_use_mm_for_euclid_dist") for p in (0.0, 1.0, 2.0, t.inf)]),
        "distances_{} of pairs": lambda t, x: t.stack([t.pdist(x[:90, :40], p) for p in (0.0, 1.0, 2.0, t.inf)]),
        **{f"{name}_{{}}{way}": lambda t, x, name=name, other=other: getattr(t, name)(x, other(x))
           for name in ("fmod", "remainder", "floor_divide") for way, other in (
               ("", lambda x: ((x * 9).round() + 0.5).flip(1) / 8), (" by a column", lambda x: x[:, 7:8] + 20),
               (" by a number", lambda x: -0.7),
               (" of large quotients", lambda x: ((x * 9).round() + 0.5).flip(0) / 2**50))},
        **{f"polynomial_{{}} {kind}": lambda t, x, kind=kind: in_units(getattr(t.special, kind)(
            x[:40] / 12, t.arange(640) % 12))
           for kind in (*[f"chebyshev_polynomial_{kind}" for kind in "tuvw"], "shifted_chebyshev_polynomial_t",
                        "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l",
                        "legendre_polynomial_p")},
        **{f"sum_losses_{{}} {name}": lambda t, x, name=name: t.stack([getattr(t.nn.functional, name)(
            x[:400], x[410:810], reduction=reduction) for reduction in ("mean", "sum")]) / x.numel()
           for name in ("mse_loss", "smooth_l1_loss", "huber_loss")},
        "digamma_{}": lambda t, x: (x[:40].round() - 0.3).digamma(),
        **{f"lerp_{{}} by weights {shape}": lambda t, x, shape=shape: x.view(4, 205, 640).lerp(
            x.flip(1).view(4, 205, 640), x.view(-1)[:shape.numel()].view(shape) / 9)
           for shape in map(torch.Size, ((1,), (205, 1), (640,), (4, 205, 640)))},
        "lerp_{} of rows": lambda t, x: t.lerp(x, x[3], x / 9),
        "searchsorted_{}": lambda t, x: t.searchsorted(x.sort()[0], x.flip(1), right=True),
        "sum_bags_{}": lambda t, x: t.nn.functional.embedding_bag(
            places(t, x)[0], x, t.arange(0, 640, 7), padding_idx=3, mode="mean"),
        "sum_bags_{} of weighted rows": lambda t, x: t.nn.functional.embedding_bag(
            places(t, x)[0], x, t.arange(0, 640, 7), mode="sum", per_sample_weights=x[1])}),
    **of_dtypes("complex64 complex128", 1, {
        "cumprod_{}": lambda t, x: t.view_as_real(again(t.cumprod, (1 + x[:99] / 999) * (0.6 + 0.8j), 1))}),
    **of_dtypes("float16 bfloat16", 1, {
        "cumsum_{}": lambda t, x: again(t.cumsum, x, 1), "cumsum_{} down": lambda t, x: again(t.cumsum, x[:100], 0),
        "cumprod_{} in boxes": lambda t, x: (1 + x / 99).view(4, 205, 640).cumprod(1),
        "sum_rows_{}": lambda t, x: again(t.sum, x, 0),
        "sum_rows_{} of boxes": lambda t, x: x.view(4, 205, 640).mean(1),
        "sum_rows_{} of some dimensions": lambda t, x: x.view(2, 5, 82, 640).sum((1, 2), True)}),
    **of_dtypes(f"{INTEGERS} {FLOATS} float16 bfloat16", 1, {
        "maxima_{}": lambda t, x: pooled(
            t, with_nan(x.round())[:16].view(2, 4, 32, 40), "max_pool2d", (3, 2), 2, 1, 2, True),
        "maxima_{} of a transposed volume": lambda t, x: pooled(
            t, x[:8].round().view(4, 16, 10, 8).mT, "max_pool3d", 2),
        "maxima_{} of lines": lambda t, x: pooled(t, x[:3], "max_pool1d", 3, 2, 1),
        "maxima_{} of channels last": lambda t, x: pooled(
            t, x[:16].view(2, 32, 40, 4).permute(0, 3, 1, 2), "max_pool2d", 2)}),
    **of_dtypes(f"{FLOATS} float16 bfloat16", 1, {
        "maxima_{} of threads": lambda t, x: pooled(t, x[:400].view(4, 100, 640), "adaptive_max_pool2d", (9, 7)),
        "maxima_{} of regions": lambda t, x: pooled(
            t, with_nan(x.round())[:16].view(8, 32, 40), "adaptive_max_pool2d", (5, 7)),
        "maxima_{} of regions of volumes": lambda t, x: pooled(
            t, x[:8].view(4, 16, 10, 8).transpose(0, 3), "adaptive_max_pool3d", (5, 3, 2))}),
    **of_dtypes(FLOATS, 1, {
        "maxima_{} of fractions": lambda t, x: pooled(
            t, with_nan(x.round())[:16].view(2, 4, 32, 40).mT, "fractional_max_pool2d", 3, (17, 9),
            _random_samples=(x[20, :16].abs() / 10).view(2, 4, 2)),
        "maxima_{} of fractions of volumes": lambda t, x: pooled(
            t, x[:8].view(2, 4, 10, 8, 8), "fractional_max_pool3d", (2, 3, 1), (5, 1, 4),
            _random_samples=(x[20, :24].abs() / 10).view(2, 4, 3))}),
    **{f"sample_{dtype} {mode} {padding}": lambda t, x, dtype=dtype, mode=mode, padding=padding: again(
        t.nn.functional.grid_sample, (x[:16] / 40).view(2, 4, 32, 40).to(getattr(t, dtype)),
        (x[20:28] / 3).view(2, 32, 40, 2).to(getattr(t, dtype)), mode, padding, False)
       for dtype in ("float32", "float64", "float16", "bfloat16")
       for mode, padding in (("bilinear", "zeros"), ("nearest", "border"), ("bicubic", "reflection"))
       if mode != "bicubic" or dtype in FLOATS},  # which PyTorch rounds elsewhere
    **of_dtypes(FLOATS, 1, {
        "sample_{} of volumes": lambda t, x: again(
            t.nn.functional.grid_sample, x[:16].div(40).view(2, 4, 8, 16, 10), x[20:32].view(2, 4, 16, 20, 3) / 3,
            "bilinear", "reflection", True)}),
    **of_dtypes(NUMBERS, 4, {
        f"top_of_lines_{{}}{way}": lambda t, x, k=k, dim=dim, largest=largest: t.stack(
            [part.double() for part in again(t.topk, x.flip(0), k, dim, largest)][:2 - (k > 1)])
        for way, k, dim, largest in (("", 5, 1, True), (" upwards", 32, -1, False), (" in columns", 3, 0, True))}),
    "cumsum_int64": lambda t, x: x.long().cumsum(0), "cumsum_int64 of int32": lambda t, x: x.int().t().cumsum(0),
    "cumsum_float32 of both parts": lambda t, x: t.view_as_real(t.complex(x, x.flip(0)).t().cumsum(1)),
    **of_dtypes(FLOATS, 1, {
        "spaced_{}": lambda t, x: t.linspace(x[0, 0].item(), x[0, 1].item(), 1 << 20, dtype=x.dtype),
        "spaced_{} of an odd number to zero": lambda t, x: t.linspace(-x[0, 2].item(), 0, 600_001, dtype=x.dtype)}),
    "multiply_along_float64": lambda t, x: (x / 3).double().prod(1),
    "product_of_lines": lambda t, x: (x / 3).prod(1), "product_of_lines of all": lambda t, x: (1 + x / 1000).prod(),
    "moments_of_lines": lambda t, x: x.var(1), "moments_of_lines of all": lambda t, x: x.std(),
    "moments_of_lines of others": lambda t, x: x.view(4, 205, 640).var((0, 2)),
    "moments_of_columns": lambda t, x: t.stack(t.var_mean(x, 0)),
    **of_dtypes(INTEGERS, 9, {
        "cumulative_extreme_{}": lambda t, x: t.stack([part.long() for part in x.cummax(1)]),
        "searchsorted_{}": lambda t, x: t.bucketize(x, x[0].sort()[0]),
        "trunc_divide_{}": lambda t, x: t.div(x, x.flip(0) * 2 + 1, rounding_mode="trunc")}),
    "cumulative_extreme_int32 of truth values": lambda t, x: t.stack([part.int() for part in (x > 9).cummax(1)]),
    "gather_int32": lambda t, x: x.gather(1, places(t, x)),
    "gather_int32 in a box": lambda t, x: x.view(20, -1, 640).gather(-1, places(t, x.view(20, -1, 640))),
    "gather_int64": lambda t, x: x.double()[:, :320].contiguous().gather(1, places(t, x) % 320),
    "gather_down_int64": lambda t, x: x.to(t.complex64).gather(0, places(t, x)),
    "gather_down_int32": lambda t, x: x.gather(0, places(t, x)),
    "gather_down_int32 in boxes": lambda t, x: x.view(5, 164, 640).gather(
        -2, places(t, x).view(5, 164, 640)[:, 9:] % 164),
    **of_dtypes(NUMBERS, 4, {
        "add_at_each_{}": lambda t, x: x.flip(0).scatter_add_(1, places(t, x), x),
        "add_at_each_{} in a box": lambda t, x: t.zeros(20, x.shape[0] // 20, 640, dtype=x.dtype).scatter_add_(
            2, places(t, x).view(20, -1, 640), x.view(20, -1, 640)),
        "multiply_at_each_{}": lambda t, x: x.scatter_reduce(0, places(t, x), x % 3, "prod"),
        "maximum_at_each_{}": lambda t, x: x.scatter_reduce(0, places(t, x), x, "amax", include_self=False),
        "minimum_at_each_{}": lambda t, x: x.scatter_reduce(-1, places(t, x), x, "amin"),
        "add_at_rows_{}": lambda t, x: t.ones(100, 640, dtype=x.dtype).index_add_(0, rows(t, x), x),
        "add_at_rows_{} at pairs of indices": lambda t, x: t.ones(10, 10, 640, dtype=x.dtype).index_put_(
            (rows(t, x) // 10, rows(t, x) % 10 - 10), x, accumulate=True),
        "multiply_at_rows_{}": lambda t, x: x[:100].index_reduce(0, rows(t, x), x % 3, "prod"),
        "maximum_at_rows_{} within boxes": lambda t, x: x[:800].view(8, 100, 640).index_reduce(
            1, rows(t, x), x.repeat(8, 1).view(8, 820, 640), "amax"),
        "minimum_at_rows_{}": lambda t, x: x.index_reduce(1, rows(t, x)[:640], x, "amin", include_self=False)}),
    **of_dtypes(INTEGERS, 1, {"copy_at_each_{}": lambda t, x: x.scatter(1, places(t, x), x.flip(0))}),
    "copy_at_each_int16": lambda t, x: x.short().scatter(1, places(t, x), x.flip(0).short()),
    "copy_at_each_int8": lambda t, x: (x > 1).scatter(1, places(t, x), x.flip(0) > 1).float(),
    "add_at_each_complex64": lambda t, x: t.view_as_real(
        t.complex(x, x.flip(0)).scatter_add(0, places(t, x), t.complex(x, x))),
    "add_at_rows_complex128 of elements": lambda t, x: t.view_as_real(
        x.to(t.complex128).index_add(1, rows(t, x)[:640], x.to(t.complex128))),
    "maximum_at_each_uint8": lambda t, x: (x > 9).scatter_add(1, places(t, x), x.flip(0) > 9).float(),
    "minimum_at_each_uint8": lambda t, x: (x > 1).scatter_reduce(0, places(t, x), x > -9, "prod").float(),
    "copy_at_rows_int32": lambda t, x: x.index_copy(1, t.arange(640).flip(0), x),
    "gather_int16": lambda t, x: x.short().gather(1, places(t, x)),
    "gather_down_int8": lambda t, x: (x > 1).gather(0, places(t, x)).float(),
    **of_dtypes("float16 bfloat16", 1 / 8, {
        "add_at_rows_{}": lambda t, x: t.ones(100, 640, dtype=x.dtype).index_put_(
            (scattered(t, x)[:, 0] % 100,), x, accumulate=True),
        "add_at_rows_{} of elements": lambda t, x: t.ones(640, dtype=x.dtype).index_put_(
            (scattered(t, x),), x, accumulate=True),
        "multiply_at_rows_{}": lambda t, x: x[:100].index_reduce(0, scattered(t, x)[:, 0] % 100, x, "prod")}),
    "add_paths": classified,
    "cube": lambda t, x: x**3,
    "threshold_backward": lambda t, x: t.ops.aten.threshold_backward(x, x.flip(1), 0.5),
    "sum_rows_float32": lambda t, x: t.stack([x, x + 1], 1).sum(0),
    "sum_rows_float32 in a box": lambda t, x: t.cat([x, x]).view(41, 40, 640).mean(0, keepdim=True),
    "sum_rows_float32 of many rows": lambda t, x: twice(t, x).sum(0),
    "sum_rows_float32 of many rows and one": lambda t, x: twice(t, x, 1025, 1024).sum(0),
    "sum_rows_float32 of odd boxes": lambda t, x: x.view(-1)[:3 * 1003 * 160].view(3, 1003, 160).sum(1),
    "sum_rows_float32 of few rows": lambda t, x: x.view(-1)[:20 * 19 * 1300].view(20, 19, 1300).sum((1,)),
    "sum_rows_float64": lambda t, x: x.double().sum(0), "sum_rows_float64 of boxes": lambda t, x: x.double().view(
        20, 41, 640).mean((0, 1)),
    "sum_rows_float32 of 1024 rows": lambda t, x: twice(t, x, -1)[:1 << 20].view(1024, 1024).sum(0),
    **of_dtypes("float16 bfloat16", 1 / 8, {
        "sum_{}_lines": lambda t, x: x.abs().sum(1).float(), "sum_{}_lines of all": lambda t, x: x.abs().sum().float(),
        "sum_{}_lines to means": lambda t, x: x.abs().mean(-1, True).float(),
        "sum_{}_lines to a mean": lambda t, x: x.abs().mean().float()}),
    "extreme_of_lines": lambda t, x: x.amax(1, True),
    "extreme_of_lines in a box": lambda t, x: x.view(41, -1, 640).amin(2),
    "extreme_of_lines of all": lambda t, x: t.stack([x, x - 20]).min(),
    "extreme_in_columns": lambda t, x: t.cat([x, x + 1]).argmax(0),
    "extreme_in_columns in a box": lambda t, x: t.cat([x, x]).view(40, -1, 640).argmin(-3, True),
}
#: What they compute in another order than NumPy.
REORDERED = {*[f"{name}_{kind}" for name in ("polynomial", "digamma", "sum_losses") for kind in FLOATS.split()],
             "add_paths", "product_of_lines", "moments_of_lines", "moments_of_columns",
             "sum_float16_lines", "sum_bfloat16_lines"}


@pytest.mark.parametrize("name", CHOSEN)
@pytest.mark.sampled(5)
def test_scans_reductions_and_indices_agree_with_numpy_and_pytorch(name, by_numpy, used) -> None:
    x, call = tame(numbers()[0])[:820].contiguous(), CHOSEN[name]
    mine = port(x, mindtorch)
    result, without = call(mindtorch, mine), by_numpy(lambda: call(mindtorch, mine))
    assert used - OTHERS == {name.split()[0]} - OTHERS and name.split()[0] in used
    mindtorch.testing.assert_close(result, port(call(torch, x), mindtorch))
    if name.split()[0] in REORDERED:
        mindtorch.testing.assert_close(result, without)
    else:
        assert result.equal(without)


@pytest.mark.parametrize("kind", ["max", "min"])
def test_extremes_are_those_of_pytorch_where_there_are_nan_and_zeros_of_both_signs(kind, used) -> None:
    generator = torch.Generator().manual_seed(1)
    x = torch.tensor(SPECIAL)[torch.randint(0, len(SPECIAL), (1700, 640), generator=generator)]
    x[::3] = x[::3].nan_to_num(0)
    x[:, ::7], x[:, 1::7], x[1, 2::7] = -torch.inf, torch.tensor(0.0), -torch.nan
    mine = port(x, mindtorch)
    for dim in (0, 1):
        found = getattr(mine, f"arg{kind}")(dim), getattr(mine, f"a{kind}")(dim)
        for result, other in zip(found, (getattr(x, f"arg{kind}")(dim), getattr(x, f"a{kind}")(dim)), strict=True):
            np.testing.assert_array_equal(result.numpy(), other.numpy())
    assert getattr(mine, kind)().isnan()
    assert used == {"extreme_of_lines", "extreme_in_columns"}


@pytest.mark.parametrize("wrong", [-1, 640])
def test_a_loop_is_given_no_index_out_of_bounds(wrong, used) -> None:
    x = mindtorch.zeros(900, 640)
    at = mindtorch.zeros(900, 640, dtype=mindtorch.int64)
    at[899, 639] = wrong
    for call in (lambda: x.gather(1, at), lambda: x.t().contiguous().gather(0, at.t().contiguous()),
                 lambda: x.scatter_add_(1, at, mindtorch.ones(900, 640)),
                 lambda: x.t().contiguous().index_add_(0, at[899], mindtorch.ones(640, 900))):
        with pytest.raises(RuntimeError, match=f"index {wrong} is out of bounds for dimension"):
            call()
    assert not x.any()


PADDINGS = {"constant": (2, 1, 0, 3, -1, 2), "reflect": (3, -1, 1, 2), "replicate": (1, 3, 0, 2, 2, -1),
            "circular": (0, 3, 2, 1)}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("mode", PADDINGS)
def test_padding_copies_rows_and_columns_and_its_gradient_adds_copies_as_pytorch(mode, dtype, by_numpy, used) -> None:
    x = torch.arange(3 * 2 * 9 * 12 * 11).view(3, 2, 9, 12, 11).remainder(97).to(getattr(torch, dtype))
    x = x if len(PADDINGS[mode]) == 6 else x[0]

    def program(t, x):
        pad = t.nn.functional.pad
        results = [pad(x, PADDINGS[mode], mode) for _ in range(3)]  # a plan computes all but the first
        if dtype != "float16":
            given = x.clone().requires_grad_()
            for _ in range(3):
                results += t.autograd.grad(pad(given, PADDINGS[mode], mode), given, results[0])
        return results

    mine = port(x, mindtorch)
    results, expected = program(mindtorch, mine), program(torch, x)
    letters = {"float16": "int16", "float32": "int32", "float64": "int64"}
    summed = mode in ("reflect", "replicate") and dtype != "float16"
    assert used >= {f"pad_rows_{letters[dtype]}"} | ({f"add_padded_rows_{dtype}"} if summed else set())
    for others in (by_numpy(lambda: program(mindtorch, mine)), port(expected, mindtorch)):
        for result, other in zip(results, others, strict=True):
            assert mindtorch.equal(result, other)


def test_only_one_line_of_boundaries_is_searched_by_the_loop_too(used) -> None:
    x, lines = mindtorch.randn(3, 2), mindtorch.tensor([[1.0, 2.0], [1.25, 3.0], [-2.0, 0.0]])
    assert mindtorch.searchsorted(lines, x).shape == (3, 2) and any("searchsorted" in name for name in used)
    for _ in range(3):
        with pytest.raises(RuntimeError, match=r"boundaries tensor must be 1 dimension, but got dim\(2\)"):
            mindtorch.bucketize(x, lines)
