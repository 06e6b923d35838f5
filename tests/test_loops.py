"""Loops that numba compiles compute what NumPy computes without them, on any number of threads."""
from __future__ import annotations

import signal
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import mindtorch
from mindtorch._backends.cpu.plans import Plans
from mindtorch._base import loops
from mindtorch._base.loops import REPAID, Loop, machine_code

from .support import port, torch

pytestmark = pytest.mark.skipif(loops.numba() is None, reason="numba is not installed")
LARGE = 1 << 19  #: elements, for which loops are compiled and some are shared by threads
SPECIAL = [0.0, -0.0, torch.inf, -torch.inf, torch.nan, 1e-45, -1e-40, 88.7, -88.8, -103.9, 65519.99, 65520.0, 3e38,
           -1e38]


@pytest.fixture
def by_numpy(monkeypatch):
    """Return a function that runs another while no loop is compiled."""
    def run(call):
        with monkeypatch.context() as patched:
            patched.setattr(Loop, "compiled", lambda self, size: None)
            return call()

    return run


@pytest.fixture
def used(monkeypatch):
    """Return the names of the loops that run, all of which are taken to be repaid; restore them afterwards."""
    names, compiled = set(), Loop.compiled
    pairs = loops.arithmetic_of_lines.values()
    several = [family.loops.values() for family in (*vars(loops).values(), *loops.at_each.values(),
                                                    *loops.at_rows.values()) if isinstance(family, loops.ByDType)]
    for loop in [*loops.arithmetic.values(), *loops.sum_half_lines.values(), *loops.angles.values(),
                 *vars(loops).values(), *(loop for group in (*pairs, *several) for loop in group)]:
        if isinstance(loop, Loop):
            monkeypatch.setattr(loop, "_function", None)
            monkeypatch.setattr(loop, "_left", 0)

    def noted(self: Loop, size: int) -> Any:
        found = compiled(self, size + REPAID if self.exact else size)
        if found is not None:
            names.add(self.name)
        return found

    monkeypatch.setattr(Loop, "compiled", noted)
    monkeypatch.setattr(Plans, "skip", lambda self: False)  # sizes of earlier tests may have changed at every call
    return names


def numbers(dtype: torch.dtype = torch.float32, scale: float = 3.0) -> torch.Tensor:
    """Many numbers, special ones among them: in pairs, and between others."""
    pairs = torch.stack(torch.meshgrid(*[torch.tensor(SPECIAL)] * 2, indexing="ij")).reshape(2, -1)
    normal = torch.randn(2, LARGE, generator=torch.Generator().manual_seed(1)) * scale
    return torch.cat([normal[:, :777], pairs, normal], 1).to(dtype)


# -- the same bits -----------------------------------------------------------------------------------------------------

EXACT = {
    "float16 to float32": ("widen_float16", "float16", lambda t, x, y: x.exp2()),
    "float32 to float16": ("narrow_float16", "float32", lambda t, x, y: x.half()),
    "bfloat16 to float32": ("widen_bfloat16", "bfloat16", lambda t, x, y: x.sqrt()),
    "float32 to bfloat16": ("narrow_bfloat16", "bfloat16", lambda t, x, y: x.sin()),
    **{f"{name} of {dtype}": (f"arithmetic_{dtype}", dtype, lambda t, x, y, name=name: getattr(t, name)(x, y))
       for dtype in ("float16", "bfloat16") for name in ("add", "sub", "mul", "div")},
    **{f"{mode} quotient of {dtype}": (f"{name}_{dtype}", dtype, lambda t, x, y, mode=mode: t.div(
        x, y, rounding_mode=mode)) for dtype in ("float16", "bfloat16")
       for name, mode in (("floor_divide", "floor"), ("trunc_divide", "trunc"))},
}


@pytest.mark.parametrize(("name", "dtype", "call"), EXACT.values(), ids=EXACT)
def test_loops_of_half_precision_have_the_bits_of_numpy(name, dtype, call, by_numpy, used) -> None:
    x, y = (port(line, mindtorch) for line in numbers(getattr(torch, dtype)))
    mine, other = call(mindtorch, x, y), by_numpy(lambda: call(mindtorch, x, y))
    assert name in used
    assert_same_bits(mine, other)


def assert_same_bits(mine: Any, other: Any) -> None:
    assert mine.dtype is other.dtype
    nan = other.isnan()
    assert mine.isnan().equal(nan)
    integer = {2: mindtorch.int16, 4: mindtorch.int32}[mine.element_size()]
    assert mine[~nan].view(integer).equal(other[~nan].view(integer))


@pytest.mark.parametrize("call", [lambda t, x: x.to(t.float32), lambda t, x: x * x, lambda t, x: x - x.flip(0)],
                         ids=["float", "mul", "sub"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_all_numbers_of_half_precision_agree_with_pytorch(call, dtype, used) -> None:
    every = torch.arange(-1 << 15, 1 << 15, dtype=torch.int16).view(dtype).repeat(8)
    assert_same_bits(call(mindtorch, port(every, mindtorch)), port(call(torch, every), mindtorch))


@pytest.mark.parametrize("n", [1 << 14, (1 << 14) + 5])
def test_normal_numbers_are_those_of_pytorch(n, by_numpy, used) -> None:
    for lib in (mindtorch, torch):
        lib.manual_seed(7)
    mine, theirs = mindtorch.randn(n), torch.randn(n)
    assert "box_muller" in used
    np.testing.assert_array_equal(mine.numpy(), theirs.numpy())
    mindtorch.manual_seed(7)
    np.testing.assert_array_equal(by_numpy(lambda: mindtorch.randn(n)).numpy(), theirs.numpy())


def places(t: Any, x: Any) -> Any:
    """For each element of some lines, one of its line."""
    return (t.arange(x.numel()).view_as(x) * 7919 + x.float().view(t.int32) % 13) % x.shape[-1]


def rows(t: Any, x: Any) -> Any:
    """For each of some lines, one of a hundred rows."""
    return places(t, x)[:, 0] % 100


def twice(t: Any, x: Any, *shape: int) -> Any:
    """Return the lines and as many others: enough of them to be computed in blocks."""
    return t.cat([x, x + 1]).view(shape or (-1, 640))


def in_units(x: Any) -> Any:
    """Divide the columns by their largest elements."""
    return x / x.abs().amax(0)


def again(call: Any, *args: Any) -> Any:
    """Return the result of the third call, for which there is a plan."""
    call(*args), call(*args)
    return call(*args)


CHOSEN = {
    "add_to_lines": lambda t, x: twice(t, x) + x[0],
    "multiply_lines": lambda t, x: x[:410] * twice(t, x, 4, 410, 640),
    "subtract_from_lines": lambda t, x: twice(t, x) - twice(t, x)[:, :1],
    "subtract_lines": lambda t, x: x[5] - twice(t, x), "subtract_lines of images": (
        lambda t, x: x[0, :20, None, None] - twice(t, x, 2, 20, 41, 640)),
    "divide_lines": lambda t, x: twice(t, x, 1640, 1, 640) / (x[:, 1:2].repeat(2, 1).view(-1, 1, 1) + 10),
    "divide_by_lines": lambda t, x: x.mT[:20, :1] / (twice(t, x, 82, 20, 640) + 10),
    **{f"{name}_{dtype}{way}": call for dtype in ("float32", "float64") for name, way, call in (
        ("cumsum", "", lambda t, x, dtype=dtype: x.to(getattr(t, dtype)).cumsum(1)),
        ("cumsum", " down", lambda t, x, dtype=dtype: x.to(getattr(t, dtype)).cumsum(0)),
        ("cumprod", " in boxes", lambda t, x, dtype=dtype: (x / 4).to(getattr(t, dtype)).view(4, 205, 640).cumprod(1)),
        ("cumulative_extreme", "", lambda t, x, dtype=dtype: t.stack(
            [part.double() for part in x.to(getattr(t, dtype)).cummax(1)])),
        ("cumulative_extreme", " down", lambda t, x, dtype=dtype: t.stack(
            [part.double() for part in x.to(getattr(t, dtype)).round().cummin(0)])),
        *[("leaky", f" of slopes {shape}", lambda t, x, dtype=dtype, shape=shape: t.ops.aten._prelu_kernel(
            x.view(4, 205, 640).to(getattr(t, dtype)), x.view(-1)[:shape.numel()].view(shape).to(getattr(t, dtype))))
          for shape in map(torch.Size, ((), (1, 205, 1), (640,)))],
        ("distances", "", lambda t, x, dtype=dtype: t.stack(
            [t.cdist(x[:80, :40].to(getattr(t, dtype)), x[80:170, :40].to(getattr(t, dtype)), p,
                     "donot_use_mm_for_euclid_dist") for p in (0.0, 1.0, 2.0, t.inf)])),
        ("distances", " of pairs", lambda t, x, dtype=dtype: t.stack(
            [t.pdist(x[:90, :40].to(getattr(t, dtype)), p) for p in (0.0, 1.0, 2.0, t.inf)])),
        *[("sample", f" {mode} {padding}", lambda t, x, dtype=dtype, mode=mode, padding=padding:
           again(t.nn.functional.grid_sample, x[:16].div(40).to(getattr(t, dtype)).view(2, 4, 32, 40), (
               x[20:28].to(getattr(t, dtype)).view(2, 32, 40, 2) / 3), mode, padding, False))
          for mode, padding in (("bilinear", "zeros"), ("nearest", "border"), ("bicubic", "reflection"))],
        ("sample", " of volumes", lambda t, x, dtype=dtype: again(
            t.nn.functional.grid_sample, x[:16].div(40).to(getattr(t, dtype)).view(2, 4, 8, 16, 10), (
                x[20:32].to(getattr(t, dtype)).view(2, 4, 16, 20, 3) / 3), "bilinear", "reflection", True)),
        *[(name, way, lambda t, x, dtype=dtype, name=name, other=other: getattr(t, name)(
            x.to(getattr(t, dtype)), other(x.to(getattr(t, dtype)))))
          for name in ("fmod", "remainder", "floor_divide")
          for way, other in (("", lambda x: ((x * 9).round() + 0.5).flip(1) / 8),
                             (" by a column", lambda x: x[:, 7:8] + 20),
                             (" by a number", lambda x: -0.7),
                             (" of large quotients", lambda x: ((x * 9).round() + 0.5).flip(0) / 2**50))],
        *[("polynomial", f" {kind}", lambda t, x, dtype=dtype, kind=kind: in_units(getattr(t.special, kind)(
            (x[:40] / 12).to(getattr(t, dtype)), t.arange(640) % 12)))
          for kind in (*[f"chebyshev_polynomial_{kind}" for kind in "tuvw"], "shifted_chebyshev_polynomial_t",
                       "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l",
                       "legendre_polynomial_p")],
        ("digamma", "", lambda t, x, dtype=dtype: (x[:40].round() - 0.3).to(getattr(t, dtype)).digamma()),
        ("cumsum", " of columns", lambda t, x, dtype=dtype: x.to(getattr(t, dtype)).t().cumsum(0)),
        *[("lerp", f" by weights {shape}", lambda t, x, dtype=dtype, shape=shape: x.to(getattr(t, dtype)).view(
            4, 205, 640).lerp(x.flip(1).to(getattr(t, dtype)).view(4, 205, 640), (
                x.view(-1)[:shape.numel()].view(shape) / 9).to(getattr(t, dtype))))
          for shape in map(torch.Size, ((1,), (205, 1), (640,), (4, 205, 640)))],
        ("lerp", " of rows", lambda t, x, dtype=dtype: t.lerp(*[
            part.to(getattr(t, dtype)) for part in (x, x[3], x / 9)])),
        ("searchsorted", "", lambda t, x, dtype=dtype: t.searchsorted(
            x.to(getattr(t, dtype)).sort()[0], x.to(getattr(t, dtype)).flip(1), right=True)),
        ("sum_bags", "", lambda t, x, dtype=dtype: t.nn.functional.embedding_bag(
            places(t, x)[0], x.to(getattr(t, dtype)), t.arange(0, 640, 7), padding_idx=3, mode="mean")),
        ("sum_bags", " of weighted rows", lambda t, x, dtype=dtype: t.nn.functional.embedding_bag(
            places(t, x)[0], x.to(getattr(t, dtype)), t.arange(0, 640, 7), mode="sum",
            per_sample_weights=x[1].to(getattr(t, dtype)))))},
    **{f"top_of_lines_{dtype}{way}": lambda t, x, dtype=dtype, k=k, dim=dim, largest=largest: t.stack(
        [part.double() for part in again(t.topk, (x * 4).to(getattr(t, dtype)).flip(0), k, dim, largest)][:2 - (k > 1)])
       for dtype in ("float32", "float64", "int32", "int64") for way, k, dim, largest in (
           ("", 5, 1, True), (" upwards", 32, -1, False), (" in columns", 3, 0, True))},
    "multiply_along_float64": lambda t, x: (x / 3).double().prod(1),
    "product_of_lines": lambda t, x: (x / 3).prod(1), "product_of_lines of all": lambda t, x: (1 + x / 1000).prod(),
    "moments_of_lines": lambda t, x: x.var(1), "moments_of_lines of all": lambda t, x: x.std(),
    "moments_of_lines of others": lambda t, x: x.view(4, 205, 640).var((0, 2)),
    "moments_of_columns": lambda t, x: t.stack(t.var_mean(x, 0)),
    **{f"{name}_{dtype}": lambda t, x, dtype=dtype, call=call: call(t, (x * 9).to(getattr(t, dtype)))
       for dtype in ("int32", "int64") for name, call in (
           ("cumulative_extreme", lambda t, x: t.stack([part.long() for part in x.cummax(1)])),
           ("searchsorted", lambda t, x: t.bucketize(x, x[0].sort()[0])),
           ("trunc_divide", lambda t, x: t.div(x, x.flip(0) * 2 + 1, rounding_mode="trunc")))},
    "gather_int32": lambda t, x: x.gather(1, places(t, x)),
    "gather_int32 in a box": lambda t, x: x.view(20, -1, 640).gather(-1, places(t, x.view(20, -1, 640))),
    "gather_int64": lambda t, x: x.double()[:, :320].contiguous().gather(1, places(t, x) % 320),
    "gather_down_int64": lambda t, x: x.to(t.complex64).gather(0, places(t, x)),
    "gather_down_int32": lambda t, x: x.gather(0, places(t, x)),
    "gather_down_int32 in boxes": lambda t, x: x.view(5, 164, 640).gather(
        -2, places(t, x).view(5, 164, 640)[:, 9:] % 164),
    **{f"{name}_at_{way}_{dtype}{of}": lambda t, x, dtype=dtype, call=call: call(t, (x * 4).to(getattr(t, dtype)))
       for dtype in ("float32", "float64", "int32", "int64") for name, way, of, call in (
           ("add", "each", "", lambda t, x: x.flip(0).scatter_add_(1, places(t, x), x)),
           ("add", "each", " in a box", lambda t, x: t.zeros(20, x.shape[0] // 20, 640, dtype=x.dtype).scatter_add_(
               2, places(t, x).view(20, -1, 640), x.view(20, -1, 640))),
           ("multiply", "each", "", lambda t, x: x.scatter_reduce(0, places(t, x), x % 3, "prod")),
           ("maximum", "each", "", lambda t, x: x.scatter_reduce(0, places(t, x), x, "amax", include_self=False)),
           ("minimum", "each", "", lambda t, x: x.scatter_reduce(-1, places(t, x), x, "amin")),
           ("add", "rows", "", lambda t, x: t.ones(100, 640, dtype=x.dtype).index_add_(0, rows(t, x), x)),
           ("add", "rows", " at pairs of indices", lambda t, x: t.ones(10, 10, 640, dtype=x.dtype).index_put_(
               (rows(t, x) // 10, rows(t, x) % 10 - 10), x, accumulate=True)),
           ("multiply", "rows", "", lambda t, x: x[:100].index_reduce(0, rows(t, x), x % 3, "prod")),
           ("maximum", "rows", " within boxes", lambda t, x: x[:800].view(8, 100, 640).index_reduce(
               1, rows(t, x), x.repeat(8, 1).view(8, 820, 640), "amax")),
           ("minimum", "rows", "", lambda t, x: x.index_reduce(1, rows(t, x)[:640], x, "amin", include_self=False)))},
    **{f"copy_at_each_{dtype}": lambda t, x, dtype=dtype: x.to(getattr(t, dtype)).scatter(1, places(t, x), x.flip(
        0).to(getattr(t, dtype))) for dtype in ("int32", "int64")},
    "cube": lambda t, x: x**3,
    "threshold_backward": lambda t, x: t.ops.aten.threshold_backward(x, x.flip(1), 0.5),
    "sum_lines": lambda t, x: x.abs().sum(1), "sum_lines in pieces": lambda t, x: x.view(4, -1).abs().mean(-1, True),
    "sum_lines of all": lambda t, x: x.abs().sum(), "sum_rows": lambda t, x: t.stack([x, x + 1], 1).sum(0),
    "sum_rows in a box": lambda t, x: t.cat([x, x]).view(41, 40, 640).mean(0, keepdim=True),
    "sum_rows of many rows": lambda t, x: twice(t, x).sum(0),
    "sum_rows of many rows and one": lambda t, x: twice(t, x, 1025, 1024).sum(0),
    "sum_rows of 1024 rows": lambda t, x: twice(t, x, -1)[:1 << 20].view(1024, 1024).sum(0),
    "extreme_of_lines": lambda t, x: x.amax(1, True),
    "extreme_of_lines in a box": lambda t, x: x.view(41, -1, 640).amin(2),
    "extreme_of_lines of all": lambda t, x: t.stack([x, x - 20]).min(),
    "extreme_in_columns": lambda t, x: t.cat([x, x + 1]).argmax(0),
    "extreme_in_columns in a box": lambda t, x: t.cat([x, x]).view(40, -1, 640).argmin(-3, True),
}
for _kind in ("float16", "bfloat16"):
    for _way, _sum in {"": lambda x: x.sum(1), " of all": lambda x: x.sum(), " to means": lambda x: x.mean(-1, True),
                       " to a mean": lambda x: x.mean()}.items():
        CHOSEN[f"sum_{_kind}_lines{_way}"] = (
            lambda t, x, kind=_kind, way=_sum: way((x / 8).abs().to(getattr(t, kind))).float())
#: What they compute in another order than NumPy.
REORDERED = {*[f"{name}_{kind}" for name in ("polynomial", "digamma") for kind in ("float32", "float64")],
             "product_of_lines", "moments_of_lines", "moments_of_columns", "sum_lines",
             "sum_float16_lines", "sum_bfloat16_lines"}
#: What may precede them.
OTHERS = {"narrow_float16", "narrow_bfloat16", *[
    f"{name}_{kind}" for name in ("remainder", "add_at_rows", "add_at_each") for kind in ("float32", "float64")]}


@pytest.mark.parametrize("name", CHOSEN)
def test_scans_reductions_and_indices_agree_with_numpy_and_pytorch(name, by_numpy, used) -> None:
    x, call = lines(numbers()[0].nan_to_num(1, 2, 3).clamp(-9, 9))[:820].contiguous(), CHOSEN[name]
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


def convolved(t: Any, x: Any, weight: Any, bias: Any, **settings: Any) -> list[Any]:
    """Return the convolution of images, and the gradients."""
    leaves = [part.clone().requires_grad_() for part in (x, weight, bias)]
    out = (t.nn.functional.conv2d if x.ndim == 4 else t.nn.functional.conv1d)(*leaves, **settings)
    out.backward(out.detach().cos())
    return [out.detach(), *(leaf.grad for leaf in leaves)]


@pytest.mark.parametrize("settings", [{"padding": 1}, {"padding": (2, 0), "dilation": (1, 2)}, {"groups": 2}], ids=str)
def test_convolutions_have_the_bits_of_numpy_and_agree_with_pytorch(settings, by_numpy, used) -> None:
    generator = torch.Generator().manual_seed(1)
    given = [torch.randn(shape, generator=generator) for shape in ((5, 4, 19, 23), (6, 4, 3, 2), (6,))]
    given[1] = given[1][:, :4 // settings.get("groups", 1)].contiguous()
    mine = [port(part, mindtorch) for part in given]
    results = convolved(mindtorch, *mine, **settings)
    without = by_numpy(lambda: convolved(mindtorch, *mine, **settings))
    assert used == {"columns", "real_places", "all_places"}
    for result, other, theirs in zip(results, without, convolved(torch, *given, **settings), strict=True):
        assert result.equal(other)
        mindtorch.testing.assert_close(result, port(theirs, mindtorch), rtol=1e-4, atol=1e-4)


OPTIMIZERS = {
    "sgd": ("SGD", {"lr": 0.1}), "sgd of decayed weights": ("SGD", {"lr": 0.1, "weight_decay": 0.2}),
    "sgd_with_momentum": ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3}),
    "sgd_with_momentum of Nesterov": ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.2}),
    "adam": ("Adam", {}), "adam of decayed weights": ("Adam", {"weight_decay": 0.2, "betas": (0.6, 0.99), "eps": 1e-3}),
    "adam with decoupled decay": ("AdamW", {"weight_decay": 0.2}),
}


def trained(name: str, settings: dict[str, Any]) -> list[Any]:
    """Parameters, large and small, and their state after some steps."""
    generator = mindtorch.Generator().manual_seed(1)
    params = [mindtorch.nn.Parameter(mindtorch.randn(shape, generator=generator))
              for shape in ((700, 900), (33,), (0, 3), ())]
    optimizer = getattr(mindtorch.optim, name)(params, **settings)
    for _ in range(4):
        for param in params:
            param.grad = mindtorch.randn(tuple(param.shape), generator=generator)
        optimizer.step()
    return [*(param.detach() for param in params),
            *(value for state in optimizer.state.values() for value in state.values() if value is not None)]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_of_optimizers_have_the_bits_of_numpy(name, threads, by_numpy, used) -> None:
    before = mindtorch.get_num_threads()
    mindtorch.set_num_threads(threads)
    try:
        mine, without = trained(*OPTIMIZERS[name]), by_numpy(lambda: trained(*OPTIMIZERS[name]))
    finally:
        mindtorch.set_num_threads(before)
    assert used == {name.split()[0], "box_muller"}
    for result, other in zip(mine, without, strict=True):
        assert result.isfinite().all() and result.equal(other)


@pytest.mark.parametrize("settings", [{"maximize": True}, {"amsgrad": True}, {"betas": (0.3, 0.9)}], ids=str)
def test_steps_that_no_loop_is_written_for_are_computed_by_numpy(settings, used) -> None:
    trained("Adam", settings)
    assert used == {"box_muller"}


# -- the same within PyTorch's tolerance -------------------------------------------------------------------------------

def lines(x: Any) -> Any:
    return x[: x.shape[0] // 640 * 640].reshape(-1, 640)


def tame(x: Any) -> Any:
    return lines(x.nan_to_num(1, 2, 3).clamp(-9, 9))


def gradient_of_distances(t: Any, x: Any, y: Any, p: float) -> Any:
    """Return the gradient of 50 features of ``x``; the other ones are the gradients of the distances."""
    away = x[:, None, :50] - y
    return t.ops.aten._cdist_backward(x[:, 50:130] / 100, x[:, :50].contiguous(), y, p, away.abs().amax(-1))


def gradients_of_samples(t: Any, x: Any, mode: int) -> Any:
    """Return the gradients of images and of a grid; the padding has the mode's number."""
    images, grid = x[:120].view(2, 2, 4, 60, 80), x[120:150].view(2, 60, 80, 2) / 9
    backward = t.ops.aten.grid_sampler_2d_backward
    found = again(backward, images[0] / 999, images[1] / 9, grid, mode, mode, False, (True, True))
    return t.cat([part.reshape(2, -1) for part in found], 1)


ROUNDED = {
    "sigmoid": lambda t, x: x.sigmoid(), "sigmoid in steps": lambda t, x: x[::2].sigmoid(),
    "erf": lambda t, x: x.erf(), "erfinv": lambda t, x: (x / (1 + x.abs())).erfinv(),
    "silu": lambda t, x: t.nn.functional.silu(x), "asin": lambda t, x: (x / 6).asin(),
    "acos": lambda t, x: (x / 6).acos(), "atan": lambda t, x: x.atan(), "atan turned": lambda t, x: lines(x).t().atan(),
    "gelu": lambda t, x: t.nn.functional.gelu(x), "gelu_backward": lambda t, x: t.ops.aten.gelu_backward(x * 2, x),
    "softmax": lambda t, x: lines(x).softmax(1),
    "log_softmax": lambda t, x: lines(x).log_softmax(-1),
    **{f"distances_backward_{dtype} for p = {p}": lambda t, x, dtype=dtype, p=p: gradient_of_distances(
        t, tame(x)[:90].to(getattr(t, dtype)), tame(x)[90:170, :50].to(getattr(t, dtype)).contiguous(), p)
       for p in (1.0, 2.0, torch.inf) for dtype in ("float32", "float64")},
    **{f"sample_backward_{dtype} in mode {mode}": lambda t, x, dtype=dtype, mode=mode: gradients_of_samples(
        t, tame(x)[:150].to(getattr(t, dtype)), mode) for mode in (0, 1, 2) for dtype in ("float32", "float64")},
    "softmax_backward": lambda t, x: t.ops.aten._softmax_backward_data(
        tame(x).flip(1), tame(x).abs() / 6400, 1, t.float32),
    "log_softmax_backward": lambda t, x: t.ops.aten._log_softmax_backward_data(
        tame(x).flip(1).abs() / 640, tame(x) - 9, -1, t.float32),
    "softmax_down": lambda t, x: lines(x).softmax(0),
    "log_softmax_down": lambda t, x: lines(x)[:820].view(20, 41, 640).log_softmax(-2),
    "softmax_backward_down": lambda t, x: t.ops.aten._softmax_backward_data(
        tame(x).flip(1), tame(x).abs() / 6400, 0, t.float32),
    "log_softmax_backward_down": lambda t, x: t.ops.aten._log_softmax_backward_data(
        tame(x).flip(1).abs() / 640, tame(x) - 9, 0, t.float32),
}


@pytest.mark.parametrize("name", ROUNDED)
def test_other_loops_agree_with_numpy_and_pytorch(name, by_numpy, used) -> None:
    x = numbers()[0]
    x = x[(x.abs() < 1e38) | x.isnan()] if name == "gelu" else x  # of which PyTorch makes infinities and NaN
    call, mine = ROUNDED[name], port(x, mindtorch)
    result, without = call(mindtorch, mine), by_numpy(lambda: call(mindtorch, mine))
    assert used - OTHERS == {name.split()[0]}
    for other in (without, port(call(torch, x), mindtorch)):
        mindtorch.testing.assert_close(result, other, equal_nan=True)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (3, 5, 7), (32, 128, 128), (10, 32, 33), (65, 100, 90), (7, 16, 64)])
def test_products_of_matrices_of_any_sizes_and_layouts_are_those_of_numpy(sizes) -> None:
    m, count, n = sizes
    random = np.random.default_rng(0)
    first, second = (random.standard_normal(shape).astype(np.float32) for shape in ((m, count), (count, n)))
    plain, transposed = loops.product.compiled(1), loops.product_transposed.compiled(1)
    for a in (first, np.asfortranarray(first), np.repeat(first, 2, 1)[:, ::2]):
        for call, b in ((plain, second), (transposed, second.T.copy())):
            out = np.full((m, n), np.nan, np.float32)
            call(a, b, out)
            np.testing.assert_allclose(out, first.astype(np.float64) @ second, rtol=1e-5, atol=1e-5 * count)


#: Samples, channels, height (0: lines alone) and width, filters, kernel, stride, padding, dilation, and groups.
CONVOLUTIONS = {
    "lines of a tile": (3, 16, 20, 32, 16, (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "lines of several tiles": (3, 8, 9, 77, 12, (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "short lines": (4, 24, 9, 7, 33, (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "strides": (3, 8, 40, 41, 9, (3, 4), (2, 3), (1, 2), (1, 1), 1),
    "dilation": (2, 8, 30, 40, 10, (3, 3), (2, 1), (3, 2), (3, 2), 1),
    "lines alone": (3, 8, 0, 700, 12, (1, 5), (1, 2), (0, 2), (1, 2), 1),
    "groups": (2, 12, 40, 40, 20, (5, 3), (1, 1), (2, 0), (1, 1), 4),
    "a channel a group": (8, 16, 40, 40, 16, (5, 5), (1, 1), (2, 2), (1, 1), 16),
}


@pytest.mark.skipif(not loops.has_wide_vectors(), reason="the processor has no vectors of 16 numbers")
@pytest.mark.parametrize("sizes", CONVOLUTIONS.values(), ids=CONVOLUTIONS)
def test_convolutions_without_im2col_are_those_of_blas_and_pytorch(sizes, by_numpy, used, monkeypatch) -> None:
    for loop in (loops.correlate, loops.weigh):
        monkeypatch.setattr(loop, "_least", 0)
    samples, channels, height, width, filters, kernel, stride, padding, dilation, groups = sizes
    if not height:
        kernel, stride, padding, dilation = kernel[1:], stride[1:], padding[1:], dilation[1:]
    settings = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    generator = torch.Generator().manual_seed(1)
    x, weight, bias = (torch.randn(shape, generator=generator) for shape in (
        (samples, channels, *[height] * (height > 0), width), (filters, channels // groups, *kernel), (filters,)))
    given = [port(part, mindtorch) for part in (x, weight, bias)]
    results = convolved(mindtorch, *given, **settings)
    assert used >= {"correlate", "weigh"}
    for others in (by_numpy(lambda: convolved(mindtorch, *given, **settings)),
                   [port(part, mindtorch) for part in convolved(torch, x, weight, bias, **settings)]):
        for result, other in zip(results, others, strict=True):
            mindtorch.testing.assert_close(result, other, rtol=1e-4, atol=1e-4 * float(other.abs().max()))


@pytest.mark.skipif(not loops.has_wide_vectors(), reason="the processor has no vectors of 16 numbers")
def test_an_infinite_pixel_reaches_the_windows_that_have_it_alone(used, monkeypatch) -> None:
    for loop in (loops.correlate, loops.weigh):
        monkeypatch.setattr(loop, "_least", 0)
    x, weight, bias = torch.randn(2, 8, 33, 20), torch.randn(4, 8, 3, 3), torch.randn(4)
    x[0, 3, 0, 19], x[1, 0, 16, 0] = torch.inf, torch.nan
    results = convolved(mindtorch, *[port(part, mindtorch) for part in (x, weight, bias)], padding=1)
    assert used >= {"correlate", "weigh"}
    for result, other in zip(results, convolved(torch, x, weight, bias, padding=1), strict=True):
        assert result.isfinite().equal(port(other.isfinite(), mindtorch))


def test_a_loop_runs_over_many_rows_of_arrays_at_once() -> None:
    step = loops.sgd.compiled(REPAID + 1)
    rows = [(np.ones(n, np.float32), np.full(n, 2, np.float32)) for n in (1, 5, 40)]
    strange = np.frombuffer(b"-" + np.ones(3, np.float32).tobytes(), np.float32, offset=1)  # not aligned
    given = zip(*rows[:2], (np.ones(3, np.float32), strange), rows[2], strict=True)
    step.each([*map(list, given)], 0.0, np.float32(-0.5))
    assert all((param == 0).all() for param, _ in rows)
    with pytest.raises(TypeError, match="as argument 1"):
        step.each(((rows[0][0], rows[1][0]), [rows[0][1], np.ones(5)]), 0.0, 1.0)
    assert (rows[0][0] == 2).all() and (rows[1][0] == 0).all()


@pytest.mark.parametrize("rate", [np.array(-0.5), np.array([[-0.5]]), np.array(-0.5, np.float32)])
def test_loops_are_called_one_after_the_other_by_one_call(rate) -> None:
    cube, step = (getattr(loops, name).compiled(REPAID + 1) for name in ("cube", "sgd"))

    @loops.in_turn
    def both(x: Any, made: Any, param: Any, decay: Any, rate: Any) -> None:
        """Step by the cube."""
        cube(x, made)
        step(param, made, decay.item(), rate.item())
        cube(param, made)

    x, made, param = np.arange(5, dtype=np.float32), np.empty(5, np.float32), np.ones(5, np.float32)
    both(x, made, param, np.array(0.0), rate)  # where a number has another dtype, calls from there on are Python's
    np.testing.assert_array_equal(param, 1 - x**3 / 2)
    np.testing.assert_array_equal(made, param**3)
    with pytest.raises(TypeError, match="as argument 1"):
        both(x, made.astype(np.float64), param, np.array(0.0), rate)
    with pytest.raises(TypeError, match="as argument 0"):
        both(x, made, param.astype(np.float64), np.array(0.0), rate)
    np.testing.assert_array_equal(made, x**3)  # of the call before the one that is refused
    assert both.__doc__ == "Step by the cube."


def normalised(t: Any, x: Any, affine: bool, same: bool) -> list[Any]:
    """Lines normalised, and the gradients; ``same`` for each line or not."""
    x, weight, bias = (part.detach().clone().requires_grad_() for part in (lines(x) * 2 + 9, x[:640], x[640:1280]))
    out = t.nn.functional.layer_norm(x, (640,), *([weight, bias] if affine else []))
    (out.sum() if same else (out * lines(x.reshape(-1).detach())).sum()).backward()
    return [out.detach(), x.grad, *([weight.grad, bias.grad] if affine else [])]


ATTENTION: dict[str, tuple[Any, dict[str, Any]]] = {
    "plain": (None, {}),
    "causal": (None, {"is_causal": True, "scale": 0.3}),
    "shared keys": (None, {"enable_gqa": True}),
    "causal with shared keys": (None, {"is_causal": True, "enable_gqa": True}),
    "mask": (lambda x: x[0, 0, :, :9] * 3, {}),
    "mask for each batch": (lambda x: (x[:, :1, :1, :9] > 0).log(), {}),
    "mask for each row": (lambda x: x[:1, :, :, :1] * 100, {}),
    "rows without columns": (lambda x: (x[:1, :1, :, :9] > 3).log(), {}),
    "large scores": (lambda x: x[0, 0, :, :9] * 1e4, {}),
}


@pytest.mark.parametrize("case", ATTENTION)
def test_attention_of_few_rows_agrees_with_numpy_and_pytorch(case, by_numpy, used) -> None:
    mask, settings = ATTENTION[case]
    width = 16 + [*ATTENTION].index(case)  # plans of another case would hide the loop
    source = torch.randn(2, 5, 4, width, generator=torch.Generator().manual_seed(1))
    keys = torch.randn(2, 2 if "shared" in case else 4, 9, width, generator=torch.Generator().manual_seed(2))

    def attention(t: Any, x: Any, keys: Any) -> Any:
        term = None if mask is None else mask(x.transpose(1, 2).contiguous())
        return t.nn.functional.scaled_dot_product_attention(x.transpose(1, 2), keys, keys * 2, term, **settings)

    mine = port(source, mindtorch), port(keys, mindtorch)
    result = attention(mindtorch, *mine)
    assert used == {"attention"}
    for other in (by_numpy(lambda: attention(mindtorch, *mine)), port(attention(torch, source, keys), mindtorch)):
        mindtorch.testing.assert_close(result, other, equal_nan=True)
        assert result.stride() == other.stride()


@pytest.mark.parametrize("case", ATTENTION)
def test_gradients_of_attention_of_few_rows_agree_with_pytorch(case, used) -> None:
    """They are made from the logarithms of the sums, which a loop writes beside its results."""
    mask, settings = ATTENTION[case]
    width = 32 + [*ATTENTION].index(case)
    source = torch.randn(2, 4, 5, width, generator=torch.Generator().manual_seed(1))
    keys = torch.randn(2, 2 if "shared" in case else 4, 9, width, generator=torch.Generator().manual_seed(2))

    def gradients(t: Any, *given: Any) -> Any:
        x, keys = (part.clone().requires_grad_() for part in given)
        term = None if mask is None else mask(x.detach())
        out = t.nn.functional.scaled_dot_product_attention(x, keys, keys * 2, term, **settings)
        return t.autograd.grad(out, (x, keys), x.detach().flip(2))

    mine = gradients(mindtorch, port(source, mindtorch), port(keys, mindtorch))
    assert "attention" in used
    for one, other in zip(mine, gradients(torch, source, keys), strict=True):
        mindtorch.testing.assert_close(one, port(other, mindtorch), equal_nan=True, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("same", [False, True], ids=["gradients", "one gradient"])
@pytest.mark.parametrize("affine", [False, True], ids=["plain", "affine"])
def test_normalised_lines_and_their_gradients_agree_with_numpy_and_pytorch(affine, same, by_numpy, used) -> None:
    x = torch.randn(LARGE + 640, generator=torch.Generator().manual_seed(1))
    if not affine:  # else these lines reach all elements of the gradients of weight and bias
        x[2048:2050], x[4096] = torch.inf, torch.nan
    mine, settings = port(x, mindtorch), (affine, same)
    results, without = normalised(mindtorch, mine, *settings), by_numpy(lambda: normalised(mindtorch, mine, *settings))
    assert used >= {"layer_norm", "layer_norm_backward"}
    for others in (without, [port(other, mindtorch) for other in normalised(torch, x, *settings)]):
        for result, other in zip(results, others, strict=True):
            assert result.isfinite().any()
            mindtorch.testing.assert_close(result, other, equal_nan=True, rtol=1e-4, atol=1e-4)


def remembered(lib: Any, parameters: list[Any], x: Any, *states: Any) -> list[Any]:
    """Return outputs, last states, and all gradients of two layers of long short-term memory in both directions."""
    network = lib.nn.LSTM(24, 40, 2, bidirectional=True)
    with lib.no_grad():
        for parameter, values in zip(network.parameters(), parameters, strict=True):
            parameter.copy_(values)
    inputs = [part.clone().requires_grad_() for part in (x, *states)]
    out, last = network(inputs[0], tuple(inputs[1:]))
    (out.sin().sum() + sum((state * state).sum() for state in last)).backward()
    return [out.detach(), *(state.detach() for state in last),
            *(part.grad for part in (*inputs, *network.parameters()))]


@pytest.mark.skipif(not loops.has_wide_vectors(), reason="the processor has no vectors of 16 numbers")
def test_steps_of_long_short_term_memory_agree_with_numpy_and_pytorch(by_numpy, used) -> None:
    generator = torch.Generator().manual_seed(1)
    parameters, given = [[torch.randn(shape, generator=generator) for shape in shapes] for shapes in (
        [parameter.shape for parameter in torch.nn.LSTM(24, 40, 2, bidirectional=True).parameters()],
        [(9, 32, 24), (4, 32, 40), (4, 32, 40)])]
    mine = [[port(values, mindtorch) for values in parts] for parts in (parameters, given)]
    results = remembered(mindtorch, mine[0], *mine[1])
    assert used >= {"lstm_step", "lstm_step_backward"}
    for others in (by_numpy(lambda: remembered(mindtorch, mine[0], *mine[1])),
                   [port(part, mindtorch) for part in remembered(torch, parameters, *given)]):
        for result, other in zip(results, others, strict=True):
            mindtorch.testing.assert_close(result, other, rtol=1e-4, atol=1e-4 * float(other.abs().max()))


def in_groups_of_channels(lib: Any, groups: int, x: Any, weight: Any, bias: Any) -> list[Any]:
    """Normalise by channel (no groups), or by group, and return all gradients and moments."""
    inputs = [part if part is None else part.clone().requires_grad_() for part in (x, weight, bias)]
    running = [lib.zeros(x.shape[1]), lib.ones(x.shape[1])]
    f = lib.nn.functional
    out = f.group_norm(inputs[0], groups, *inputs[1:]) if groups else f.batch_norm(
        inputs[0], *running, *inputs[1:], training=True)
    out.backward(out.detach().sin())
    return [out.detach(), *running, *(part.grad for part in inputs if part is not None)]


@pytest.mark.parametrize("affine", [False, True], ids=["plain", "affine"])
@pytest.mark.parametrize("groups", [0, 1, 4], ids=["batch", "one group", "groups"])
@pytest.mark.parametrize("shape", [(64, 80), (3, 8, 300), (4, 8, 20, 33)], ids=str)
def test_normalised_channels_and_their_gradients_agree_with_numpy_and_pytorch(shape, groups, affine, by_numpy,
                                                                              used) -> None:
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(shape, generator=generator) * 2 + 3
    weight, bias = ([torch.randn(shape[1], generator=generator) for _ in range(2)] if affine else (None, None))
    given = [part if part is None else port(part, mindtorch) for part in (x, weight, bias)]
    results = in_groups_of_channels(mindtorch, groups, *given)
    assert used >= {"normalise", "normalise_backward"}
    for others in (by_numpy(lambda: in_groups_of_channels(mindtorch, groups, *given)),
                   [port(part, mindtorch) for part in in_groups_of_channels(torch, groups, x, weight, bias)]):
        for result, other in zip(results, others, strict=True):
            mindtorch.testing.assert_close(result, other, rtol=1e-4, atol=1e-4)


def test_normalised_lines_do_not_depend_on_the_number_of_threads(used) -> None:
    x, before, found = port(torch.randn(1 << 21), mindtorch), mindtorch.get_num_threads(), []
    try:
        for count in (1, 2, 3):
            mindtorch.set_num_threads(count)
            found.append(normalised(mindtorch, x, True, False))
    finally:
        mindtorch.set_num_threads(before)
    assert used >= {"layer_norm", "layer_norm_backward"}
    for first, *others in zip(*found, strict=True):
        assert all(first.equal(other) for other in others)


@pytest.mark.parametrize("memory", ["read-only", "unaligned"])
def test_loops_take_memory_that_may_not_be_written_to_or_is_not_aligned(memory, used) -> None:
    x = np.random.default_rng(1).standard_normal(LARGE + 640, np.float32)
    given = np.frombuffer(b"?" + x.tobytes(), np.uint8)[1:].copy() if memory == "read-only" else np.frombuffer(
        bytearray(b"?" + x.tobytes()), np.uint8)[1:]
    given = given.view(np.float32)
    given.flags.writeable = memory == "unaligned"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as PyTorch does of arrays that may not be written to
        other, mine = mindtorch.from_numpy(given), mindtorch.from_numpy(x)
    assert other._array.flags.carray is False
    for call in ROUNDED.values():
        assert call(mindtorch, other).equal(call(mindtorch, mine))
    assert normalised(mindtorch, other, True, False)[0].equal(normalised(mindtorch, mine, True, False)[0])
    assert used >= {*(name.split()[0] for name in ROUNDED), "layer_norm", "layer_norm_backward"}


@pytest.mark.parametrize("name", ROUNDED)
def test_results_do_not_depend_on_the_number_of_threads(name, used) -> None:
    x, before, found = port(torch.randn(1 << 21), mindtorch), mindtorch.get_num_threads(), []
    try:
        for count in (1, 2, 3):
            mindtorch.set_num_threads(count)
            found.append(ROUNDED[name](mindtorch, x))
    finally:
        mindtorch.set_num_threads(before)
    assert used - OTHERS == {name.split()[0]}
    assert found[0].equal(found[1]) and found[0].equal(found[2])


def test_what_no_loop_is_written_for_is_computed_by_numpy(used) -> None:
    x = mindtorch.randn(LARGE + 640)
    for y in (x.double(), x.to(mindtorch.complex64)):
        y.sigmoid()
    lines(x.double()).softmax(1), lines(x).t().softmax(0), lines(x).t().softmax(1)
    lines(x.to(mindtorch.complex64)).cumsum(0)
    mindtorch.nn.functional.gelu(x, approximate="tanh")
    assert used <= {"box_muller", "sum_rows", "sum_lines"}  # of softmax, whose exponentials are NumPy's


# -- when they are compiled --------------------------------------------------------------------------------------------

def test_small_tensors_and_few_large_ones_do_not_import_numba() -> None:
    code = ("import sys, mindtorch as t; x = t.randn(100_000); y = x.half(); x.sigmoid()\n"
            "x[:4000].view(100, -1).softmax(1)\n"
            "x.cumsum(0), y * y, y.bfloat16() + 1, t.randn(300_000)\n"
            "assert not {'numba', 'llvmlite'}.intersection(sys.modules)")
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_loop_that_is_kept_on_the_disk_is_loaded_without_numba() -> None:
    assert Loop("silu").compiled(LARGE) is not None
    code = ("import sys, numpy as np; from mindtorch._base import loops; x = np.ones(9, np.float32)\n"
            "loops.silu.compiled(loops.LARGE)(x, x); assert abs(x - 0.7310586).max() < 1e-6, x\n"
            "assert 'numba' not in sys.modules")
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_loop_of_a_compiled_program_is_loaded_from_the_disk_without_numba() -> None:
    code = ("import sys, mindtorch as t; f = t.compile(lambda x, y: t.nn.functional.gelu(x + 1) * y - 2)\n"
            "x = t.linspace(-3, 3, 5000).view(50, 100).t(); y = t.ones(1)\n"
            "assert (f(x, y) - (t.nn.functional.gelu(x + 1) - 2)).abs().max() < 1e-6; found = 'numba' in sys.modules\n")
    subprocess.run([sys.executable, "-c", code], check=True)
    subprocess.run([sys.executable, "-c", f"{code}assert not found"], check=True)


def test_a_loop_refuses_arrays_that_its_code_is_not_for_and_takes_numbers_of_numpy() -> None:
    cube, threshold = (getattr(loops, name).compiled(REPAID + 1) for name in ("cube", "threshold_backward"))
    x, out = np.arange(1, 8, dtype=np.float32), np.empty(7, np.float32)
    for wrong in (x.astype(np.float64), x[::2]):
        with pytest.raises(TypeError, match="takes a contiguous array of float32 with 1 dimensions as argument 0"):
            cube(wrong, out)
    lines = loops.sum_lines.compiled(REPAID)
    with pytest.raises(TypeError, match="of float32 with 2 dimensions as argument 0"):
        lines(x, out)
    cube(x.reshape(1, 7, 1), out)  # a vector is any array's elements
    np.testing.assert_array_equal(out, x**3)
    unaligned = np.frombuffer(b"-" + x.tobytes(), np.float32, offset=1)
    assert not unaligned.flags.aligned and not unaligned.flags.writeable
    cube(unaligned, out)
    np.testing.assert_array_equal(out, x**3)
    threshold(x, x, np.float32(3), out)
    np.testing.assert_array_equal(out, np.where(x <= 3, 0, x))


def test_an_exact_loop_is_compiled_sooner_where_another_one_is() -> None:
    machine_code.llvm()
    loop = Loop("widen_bfloat16", exact=True)
    assert loop.compiled(loops.SOON) is None
    assert loop.compiled(1) is not None


def test_a_loop_that_does_not_repay_the_first_one_is_compiled_where_another_is(monkeypatch) -> None:
    loop = Loop("until_other", True)
    with monkeypatch.context() as patched:
        patched.setattr(machine_code, "is_ready", lambda: False)
        assert loop.if_imported() is None
    machine_code.llvm()
    assert loop.if_imported() is not None


def test_an_exact_loop_is_compiled_when_numpy_has_computed_as_much_as_repays_it(monkeypatch) -> None:
    loop = Loop("widen_bfloat16", exact=True)
    monkeypatch.setattr(machine_code, "is_ready", lambda: False)  # as before another loop was compiled
    assert loop.compiled(REPAID // 2) is None
    assert loop.compiled(REPAID // 2) is None
    assert loop.compiled(1) is loop.compiled(1) is not None


def test_another_loop_computes_all_large_arrays_and_no_small_one() -> None:
    loop = Loop("silu")
    assert loop.compiled(loops.LARGE - 1) is None
    assert loop.compiled(loops.LARGE) is not None
    assert loop.compiled(loops.LARGE - 1) is None
    assert loops.gelu.compiled(loops.SOME) is not None and loops.gelu.compiled(loops.SOME - 1) is None


def test_programs_compute_small_tensors_by_loops_and_few_numbers_by_numpy(used) -> None:
    x = mindtorch.linspace(0, 999, loops.FEW).sin().view(-1, 64).requires_grad_()

    def function(x: Any) -> Any:
        return mindtorch.nn.functional.gelu(x)

    eager = function(x)
    gradient, = mindtorch.autograd.grad(eager.sum(), x)
    assert not used
    compiled = mindtorch.compile(function)
    for _ in range(2):
        result = compiled(x)
        mindtorch.testing.assert_close(result.detach(), eager.detach())
        mindtorch.testing.assert_close(mindtorch.autograd.grad(result.sum(), x)[0], gradient)
    assert used == {"gelu", "gelu_backward"}
    used.clear()
    few = x.detach()[1:]
    for _ in range(2):
        assert compiled(few).equal(function(few))
    assert function(x).equal(eager) and not used


@pytest.fixture
def nothing_kept(monkeypatch) -> None:
    monkeypatch.setattr(machine_code, "kept", lambda name: None)


def test_numpy_computes_where_numba_is_missing(monkeypatch, nothing_kept) -> None:
    monkeypatch.setattr(loops, "numba", lambda: None)
    loop = Loop("silu")
    assert loop.compiled(LARGE) is loop.compiled(LARGE) is None


def test_a_loop_that_cannot_be_compiled_is_told_once(monkeypatch, nothing_kept) -> None:
    from mindtorch._base.loops import bodies

    def fail() -> None:
        raise ValueError("no such instruction")

    monkeypatch.setitem(bodies.LOOPS, "silu", fail)
    loop = Loop("silu")
    with pytest.warns(RuntimeWarning, match="could not compile the loop silu.*no such instruction"):
        assert loop.compiled(LARGE) is None
    assert loop.compiled(LARGE) is None


def test_a_loop_that_cannot_be_kept_on_the_disk_is_compiled_all_the_same(monkeypatch, tmp_path) -> None:
    file = tmp_path / "no directory"
    file.touch()
    monkeypatch.setattr(machine_code, "PLACES", (file,))
    assert machine_code.kept("cube") is None
    assert Loop("cube").compiled(LARGE) is not None


def test_an_interrupt_waits_until_a_loop_is_compiled(monkeypatch, nothing_kept) -> None:
    from mindtorch._base.loops import bodies

    code = bodies.LOOPS["silu"]()

    def make() -> bytes:
        signal.raise_signal(signal.SIGINT)
        return code

    monkeypatch.setitem(bodies.LOOPS, "silu", make)
    loop = Loop("silu")
    with pytest.raises(KeyboardInterrupt):
        loop.compiled(LARGE)
    monkeypatch.setitem(bodies.LOOPS, "silu", None)  # it need not be made again
    assert loop.compiled(LARGE) is not None


def test_loops_take_the_settings_that_the_simulated_npu_has_as_arrays(used) -> None:
    x = mindtorch.randn(64, 64, device="npu").requires_grad_()
    x.relu().backward(mindtorch.ones(64, 64, device="npu"))
    assert x.grad.equal((x > 0).float())  # which waits for the device
    assert "threshold_backward" in used


@pytest.mark.parametrize("error", [OSError("failed to map"), MemoryError("no room")])
def test_numpy_computes_where_numba_finds_no_room_in_memory(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def load_module(name: str) -> None:
        raise error

    monkeypatch.setattr(loops.forks, "load_module", load_module)
    with pytest.warns(RuntimeWarning, match=f"numba cannot be loaded, so NumPy computes all loops: {error}"):
        assert loops.numba.__wrapped__() is None
