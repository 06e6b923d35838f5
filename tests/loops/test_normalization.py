"""Loops of normalised lines and channels compute what NumPy and PyTorch do, on any number of threads."""
from __future__ import annotations

from typing import Any

import pytest

import mindtorch

from ..support import port, torch
from .support import LARGE, normalised


def named(dtype: Any, *names: str) -> set[str]:
    return {f"{name}_{str(dtype)[6:]}" for name in names}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("same", [False, True], ids=["gradients", "one gradient"])
@pytest.mark.parametrize("affine", [False, True], ids=["plain", "affine"])
def test_normalised_lines_and_their_gradients_agree_with_numpy_and_pytorch(affine, same, dtype, agree, used) -> None:
    x = (torch.randn(LARGE + 640, generator=torch.Generator().manual_seed(1)) * 2 + 3).to(dtype)
    if not affine:  # else these lines reach all elements of the gradients of weight and bias
        x[2048:2050], x[4096] = torch.inf, torch.nan
    assert all(result.isfinite().any() for result in agree(normalised, x, affine, same,
                                                                scaled=affine and dtype.itemsize == 2))
    assert used >= named(dtype, "layer_norm", "layer_norm_backward")


def test_normalised_lines_do_not_depend_on_the_number_of_threads(with_threads, used) -> None:
    x = port(torch.randn(1 << 21), mindtorch)
    found = [with_threads(count, lambda: normalised(mindtorch, x, True, False)) for count in (1, 2, 3)]
    assert used >= named(torch.float32, "layer_norm", "layer_norm_backward")
    for first, *others in zip(*found, strict=True):
        assert all(first.equal(other) for other in others)


def in_groups_of_channels(lib: Any, groups: int, x: Any, weight: Any, bias: Any) -> list[Any]:
    """Normalise by channel (no groups), or by group, and return all gradients and moments."""
    inputs = [part if part is None else part.clone().requires_grad_() for part in (x, weight, bias)]
    running = [lib.zeros(x.shape[1], dtype=x.dtype), lib.ones(x.shape[1], dtype=x.dtype)]
    f = lib.nn.functional
    out = f.group_norm(inputs[0], groups, *inputs[1:]) if groups else f.batch_norm(
        inputs[0], *running, *inputs[1:], training=True)
    out.backward(out.detach().sin())
    return [out.detach(), *running, *(part.grad for part in inputs if part is not None)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("affine", [False, True], ids=["plain", "affine"])
@pytest.mark.parametrize("groups", [0, 1, 4], ids=["batch", "one group", "groups"])
@pytest.mark.parametrize("shape", [(64, 80), (3, 8, 300), (4, 8, 20, 33)], ids=str)
@pytest.mark.sampled(5)
def test_normalised_channels_and_their_gradients_agree_with_numpy_and_pytorch(shape, groups, affine, dtype, agree,
                                                                              used) -> None:
    generator = torch.Generator().manual_seed(1)
    x = (torch.randn(shape, generator=generator) * 2 + 3).to(dtype)
    weight, bias = [torch.randn(shape[1], generator=generator).to(dtype) for _ in range(2)] if affine else (None, None)
    agree(in_groups_of_channels, groups, x, weight, bias, scaled=dtype.itemsize == 2)
    assert used >= named(dtype, "normalise", "normalise_backward")
