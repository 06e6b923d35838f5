"""Kernels that compute many elements in another way than few agree with PyTorch, at special values, too."""
from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch
from tests.support import assert_same, torch

Lib = Any
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 3.0, -3.0, 0.5, -0.5, 6.0, 100.0, -100.0]


def numbers(lib: Lib, dtype: str, seed: int = 0, count: int = 5000) -> Any:
    """Draw normal numbers, among them special ones."""
    values = np.random.RandomState(seed).standard_normal(count)
    values[seed::97] = np.resize(np.roll(SPECIAL, seed), len(values[seed::97]))
    return lib.tensor(values.tolist(), dtype=getattr(lib, dtype))


def gradient(function: Callable[..., Any]) -> Callable[[Lib, Any, Any], Any]:
    def call(lib: Lib, x: Any, y: Any) -> Any:
        x.requires_grad_()
        function(lib.nn.functional, x, y).backward(y)
        return x.grad

    return call


FUNCTIONS: dict[str, Callable[[Lib, Any, Any], Any]] = {
    "erf": lambda lib, x, y: lib.erf(x),
    "erfinv": lambda lib, x, y: lib.erfinv(x / 3),
    "logaddexp": lambda lib, x, y: lib.logaddexp(x, y),
    "hardswish": lambda lib, x, y: lib.nn.functional.hardswish(x),
    "hardswish backward": gradient(lambda F, x, y: F.hardswish(x)),
    "hardsigmoid": lambda lib, x, y: lib.nn.functional.hardsigmoid(x),
    "hardtanh": lambda lib, x, y: lib.nn.functional.hardtanh(x, -2, 0.5),
    "softshrink": lambda lib, x, y: lib.nn.functional.softshrink(x, 0.7),
    "prelu": lambda lib, x, y: lib.nn.functional.prelu(x.view(500, 10), y[100:110]),
    "leaky_relu": lambda lib, x, y: lib.nn.functional.leaky_relu(x, -1.5),
    "leaky_relu backward": gradient(lambda F, x, y: F.leaky_relu(x, 0.3)),
    "huber_loss": lambda lib, x, y: lib.nn.functional.huber_loss(x, y, reduction="none", delta=0.7),
    "smooth_l1_loss": lambda lib, x, y: lib.nn.functional.smooth_l1_loss(x, y, reduction="none", beta=0.5),
    "max_pool1d": lambda lib, x, y: lib.nn.functional.max_pool1d(x.view(5, 1000), 3, 2, 1),
    "adaptive_max_pool2d": lambda lib, x, y: lib.nn.functional.adaptive_max_pool2d(
        x.view(10, 20, 25), 1, return_indices=True),
    "adaptive_avg_pool2d": lambda lib, x, y: lib.nn.functional.adaptive_avg_pool2d(x.view(10, 20, 25), 1),
    "index_put": lambda lib, x, y: x.view(250, 20).index_put(
        (lib.arange(-500, 500).view(2, 500) % 250 - 1,), y.repeat(4).view(2, 500, 20), accumulate=True),
    "index_add": lambda lib, x, y: x.round().view(10, 5, 100).index_add(
        2, lib.arange(250) % 90, y.round().view(10, 5, 100)[:, :, :50].repeat(1, 1, 5), alpha=2),
    "remainder": lambda lib, x, y: lib.remainder(x, y),
    "remainder of a number": lambda lib, x, y: lib.remainder(x.clamp(-9, 9).nan_to_num() * 4, -0.3),
    "fmod": lambda lib, x, y: lib.fmod(x.clamp(-9, 9).nan_to_num() * 7, y.clamp(0.1, 2).nan_to_num(1)),
    "floor_divide": lambda lib, x, y: x.clamp(-9, 9).nan_to_num().view(500, 10) // y[1:11].clamp(-3, -0.1),
    "sum of a line in each layout": lambda lib, x, y: [
        x.clamp(-9, 9).nan_to_num().round().repeat(14).reshape(shape).sum(dim)
        for shape in ((1, 70000), (70000, 1), (1, 1, 70000)) for dim in range(len(shape))],
    "layer_norm of equal numbers": lambda lib, x, y: [
        lib.nn.functional.layer_norm(rows, (5000,)).abs() < 1e-3 for whole in [lib.full((3, 1), 1.23, dtype=x.dtype)]
        for rows in (whole.expand(3, 5000), whole.repeat(1, 5000), whole.repeat(1, 10000)[:, ::2])],
    "add": lambda lib, x, y: x + y,
    "add a row": lambda lib, x, y: x.view(500, 10) + y[:10],
    "multiply by a number": lambda lib, x, y: x * 1.3,
    "exp": lambda lib, x, y: x.exp(),
    "greater": lambda lib, x, y: x > y,
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_many_elements_are_computed_as_by_pytorch(name: str, dtype: str) -> None:
    ours, theirs = (FUNCTIONS[name](lib, numbers(lib, dtype), numbers(lib, dtype, 1)) for lib in (mindtorch, torch))
    assert_same(ours, theirs, *((2e-3, 1e-3) if dtype == "float16" else ()))  # PyTorch rounds parts of losses


VIEWS: dict[str, Callable[[Any], Any]] = {
    "whole": lambda x: x, "every other column": lambda x: x[:, :, ::2], "transposed": lambda x: x.transpose(0, 2),
    "overlapping windows": lambda x: x.unfold(2, 8, 3), "expanded": lambda x: x[:1].expand(90, 50, 40),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dims", [(0,), (1,), (2,), (1, 2), (0, 2), (0, 1, 2)])
def test_many_elements_are_summed_and_multiplied_as_by_pytorch(view: str, dims: tuple[int, ...]) -> None:
    for name in ("sum", "prod"):
        mixed = [(lib.arange(180_000) * 7919 % 180_000 / 9e6 + 0.99).view(90, 50, 40) for lib in (mindtorch, torch)]
        ours, theirs = map(VIEWS[view], mixed)
        if name == "sum":
            ours, theirs = ours.sum(dims), theirs.sum(dims)
        else:
            ours, theirs = (x.prod() if len(dims) > 1 else x.prod(dims[0], True) for x in (ours, theirs))
        assert_same(ours, theirs, 1e-3 if name == "prod" else 1e-5, 0)


@pytest.mark.parametrize("shapes", [((4, 64, 16, 1), (4, 1, 16, 8)), ((1, 64, 1, 8), (4, 64, 16, 1)),
                                    ((100, 1, 4), (50, 4)), ((30, 1, 3, 1), (1, 20, 1, 5)),
                                    ((5, 1, 7, 1, 2), (6, 1, 4, 2))])
@pytest.mark.parametrize("dtype", ["float32", "int64", "bfloat16"])
def test_operands_that_broadcast_along_short_rows_agree(shapes: tuple[tuple[int, ...], ...], dtype: str) -> None:
    def results(lib: Lib) -> list[Any]:
        x, y = (lib.arange(1, 1 + np.prod(shape)).remainder(97).view(shape).to(getattr(lib, dtype)) for shape in shapes)
        strided = lib.cat([y, y], -1)[..., :y.shape[-1]]
        return [call for _ in range(3) for call in (x * y, y + x, x < y, lib.maximum(x, strided), strided - x, x / y)]

    for ours, theirs in zip(results(mindtorch), results(torch), strict=True):
        assert_same(ours, theirs)


ALONG_LINES: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda lib, x: x.sum(-1), "mean": lambda lib, x: x.mean(-1, keepdim=True), "prod": lambda lib, x: x.prod(-1),
    "norm": lambda lib, x: x.norm(2, -1), "amax": lambda lib, x: x.amax(-1), "argmin": lambda lib, x: x.argmin(-1),
    "var": lambda lib, x: x.var(-1), "logsumexp": lambda lib, x: x.logsumexp(-1), "nansum": lambda lib, x: x.nansum(-1),
    "cumsum": lambda lib, x: x.cumsum(-1), "softmax": lambda lib, x: x.softmax(-1),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("name", ALONG_LINES)
def test_lines_of_whole_blocks_and_one_element_more_or_less_agree(name: str, dtype: str) -> None:
    """Lines are computed in blocks whose lengths are powers of two: nothing, or one element, is left over."""
    for length in (power + over for power in (1 << 12, 1 << 15, 1 << 16) for over in (-1, 0, 1)):
        for count in (1, 2):
            ours, theirs = ((lib.arange(count * length) % 61 / 61 + 0.5).to(getattr(lib, dtype)).view(count, length)
                            for lib in (mindtorch, torch))
            for _ in range(2):  # the second call may find a plan
                found = ALONG_LINES[name](mindtorch, ours)
            assert_same(found, ALONG_LINES[name](torch, theirs), *((1e-2, 1e-2) if dtype == "float16" else (3e-5, 0)))


NORMS: dict[str, Callable[[Any, Any], Any]] = {
    "batch_norm": lambda f, x: f.batch_norm(x, None, None, training=True),
    "group_norm": lambda f, x: f.group_norm(x, 2), "instance_norm": lambda f, x: f.instance_norm(x),
    "layer_norm": lambda f, x: f.layer_norm(x, x.shape[2:]),
}


@pytest.mark.parametrize("name", NORMS)
def test_many_numbers_are_normalised_to_the_last_digits(name: str) -> None:
    ours, exact = ((lib.arange(2 * 1_000_003) * 7919 % 1_000_003 / 1e6).to(dtype).view(1, 2, -1).requires_grad_()
                   for lib, dtype in ((mindtorch, mindtorch.float32), (torch, torch.float64)))
    results = []
    for lib, x in ((mindtorch, ours), (torch, exact)):
        y = NORMS[name](lib.nn.functional, x)
        (gradient,) = lib.autograd.grad((y * y * y).sum(), x)
        results.append((y.detach().numpy(), gradient.numpy()))
    for mine, theirs in zip(*results, strict=True):
        assert np.abs(mine - theirs).max() < 3e-6 * np.abs(theirs).max()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_few_numbers_are_searched_in_a_long_line_of_half_precision_without_a_copy_of_it(dtype: str) -> None:
    values = np.sort(np.random.RandomState(0).standard_normal(1 << 14))
    lines = [lib.tensor(values.tolist(), dtype=getattr(lib, dtype)) for lib in (mindtorch, torch)]
    for at in (0, 77, -1):
        for right in (False, True):
            mine, theirs = (lib.bucketize(line[at], line, right=right)
                            for lib, line in zip((mindtorch, torch), lines, strict=True))
            assert_same(mine, theirs)
    tracemalloc.start()
    try:
        mindtorch.bucketize(lines[0][5], lines[0], right=True)
        assert tracemalloc.get_traced_memory()[1] < lines[0].nbytes
    finally:
        tracemalloc.stop()


ROWS: dict[str, Callable[[Any], Any]] = {
    "steps": lambda x: x[::2], "expanded": lambda x: x[:1].expand(640), "a column": lambda x: x.view(640, 2)[:, 1],
    "of one row": lambda x: x[None, ::2], "behind an element": lambda x: x[1:641]}


@pytest.mark.parametrize("view", ROWS)
@pytest.mark.parametrize("way", ["rows", "columns"])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_lines_and_rows_anywhere_in_memory_are_combined(name: str, way: str, view: str) -> None:
    def combined(lib: Lib) -> list[Any]:
        x, y = numbers(lib, "float32", 0, 640 * 640).view(640, 640), ROWS[view](numbers(lib, "float32", 1, 1280))
        y = y if way == "rows" else y.reshape(-1)[:, None].expand(640, 3)[:, 1:2]
        return [getattr(lib, name)(x, y), getattr(lib, name)(y, x)]

    assert_same(combined(mindtorch), combined(torch))


FRUGAL: dict[str, tuple[Callable[[Any], Any], Callable[[Lib, Any], Any]]] = {
    "logcumsumexp": (lambda x: x, lambda lib, x: x.logcumsumexp(1)),
    "logcumsumexp down": (lambda x: x, lambda lib, x: x.logcumsumexp(0)),
    "median": (lambda x: x, lambda lib, x: x.median(1)), "median down": (lambda x: x, lambda lib, x: x.median(0)),
    "kthvalue": (lambda x: x, lambda lib, x: x.kthvalue(3)), "histc": (lambda x: x, lambda lib, x: x.histc(100)),
    "softmax": (lambda x: x.bfloat16(), lambda lib, x: x.softmax(1)),
    "softmax down": (lambda x: x.half(), lambda lib, x: x.softmax(0)),
    "std": (lambda x: x.bfloat16(), lambda lib, x: x.std(1)), "prod": (lambda x: x.half(), lambda lib, x: x.prod(1)),
    "logsumexp": (lambda x: x.bfloat16(), lambda lib, x: x.logsumexp(1)),
    "norm down": (lambda x: x, lambda lib, x: x.norm(dim=0)),
    "rand": (lambda x: x, lambda lib, x: lib.rand(1024, 1024)),
    "randn": (lambda x: x, lambda lib, x: lib.randn(1024, 1024)),
    "randint": (lambda x: x, lambda lib, x: lib.randint(0, 9, (1024, 1024))),
    "randperm": (lambda x: x, lambda lib, x: lib.randperm(1 << 20)),
    "dropout": (lambda x: x, lambda lib, x: lib.nn.functional.dropout(x)),
    "multinomial": (lambda x: x.abs(), lambda lib, x: x.multinomial(3)), "frac": (lambda x: x, lambda lib, x: x.frac()),
    "rsqrt": (lambda x: x.abs(), lambda lib, x: x.rsqrt()), "logit": (lambda x: x.half(), lambda lib, x: x.logit()),
    "nonzero": (lambda x: x > 1, lambda lib, x: x.nonzero()),
    "arange": (lambda x: x, lambda lib, x: lib.arange(5, 1 << 20)),
    "interpolate": (lambda x: x.view(64, 1, 128, 128), lambda lib, x: lib.nn.functional.interpolate(
        x, scale_factor=2, mode="bilinear"))}


@pytest.mark.parametrize("name", FRUGAL)
def test_many_elements_are_computed_in_little_more_memory_than_the_result_takes(name: str) -> None:
    """The results are PyTorch's, too, though they are made block by block."""
    libs: list[Lib] = [torch, mindtorch]
    values = np.random.RandomState(0).standard_normal((1024, 1024)).astype(np.float32)
    made, (prepared, function) = [], FRUGAL[name]
    for lib in libs:
        given = prepared(lib.from_numpy(values))
        lib.manual_seed(0)
        made.append(function(lib, given))
    assert_same(made[1], made[0], 1e-2 if given.dtype is not mindtorch.float32 else None)
    function(mindtorch, given)
    tracemalloc.start()
    try:
        made = function(mindtorch, given)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    parts = made if isinstance(made, tuple) else (made,)
    assert peak < sum(part.nbytes for part in parts) + 1.5 * values.nbytes
