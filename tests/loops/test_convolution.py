"""Loops of convolutions compute what NumPy and PyTorch do."""
from __future__ import annotations

from functools import partial
from typing import Any

import pytest

import mindtorch
from mindtorch._base import loops

from ..support import port, torch


def convolved(t: Any, x: Any, weight: Any, bias: Any, **settings: Any) -> list[Any]:
    """Return the convolution of lines, images or volumes, and the gradients."""
    leaves = [part.clone().requires_grad_() for part in (x, weight, bias)]
    out = getattr(t.nn.functional, f"conv{x.ndim - 2}d")(*leaves, **settings)
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


@pytest.fixture
def all_sizes(monkeypatch) -> None:
    """Let loops without im2col compute convolutions of all sizes."""
    if not loops.has_wide_vectors():
        pytest.skip("the processor has no vectors of 16 numbers")
    for loop in (loops.correlate, loops.weigh):
        monkeypatch.setattr(loop, "_least", 0)


#: Samples, channels, height (0: lines alone) and width, filters, kernel, stride, padding, dilation, and groups.
CONVOLUTIONS = {
    "lines of a tile": (3, 16, 20, 32, 16, (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "lines of several tiles": (3, 8, 9, 77, 12, (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "short lines": (4, 24, 9, 7, 33, (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "strides": (3, 8, 40, 41, 9, (3, 4), (2, 3), (1, 2), (1, 1), 1),
    "strides of two": (3, 8, 21, 38, 9, (3, 3), (2, 2), (1, 1), (1, 1), 1),
    "strides of two in groups, the end left out": (3, 8, 44, 46, 10, (3, 3), (2, 2), (0, 0), (1, 1), 2),
    "strides of two in wide windows": (2, 8, 30, 80, 9, (5, 4), (2, 2), (2, 1), (1, 1), 1),
    "one stride, more padding than a window of its remainders": (3, 8, 23, 41, 9, (3, 3), (2, 1), (2, 2), (1, 1), 1),
    "lines alone with strides": (3, 16, 0, 700, 12, (1, 5), (1, 3), (0, 2), (1, 1), 1),
    "dilation": (2, 8, 30, 40, 10, (3, 3), (2, 1), (3, 2), (3, 2), 1),
    "lines alone": (3, 8, 0, 700, 12, (1, 5), (1, 2), (0, 2), (1, 2), 1),
    "groups": (2, 12, 40, 40, 20, (5, 3), (1, 1), (2, 0), (1, 1), 4),
    "a channel a group": (8, 16, 40, 40, 16, (5, 5), (1, 1), (2, 2), (1, 1), 16),
}


@pytest.mark.parametrize("sizes", CONVOLUTIONS.values(), ids=CONVOLUTIONS)
def test_convolutions_without_im2col_are_those_of_blas_and_pytorch(sizes, agree, used, all_sizes) -> None:
    samples, channels, height, width, filters, kernel, stride, padding, dilation, groups = sizes
    if not height:
        kernel, stride, padding, dilation = kernel[1:], stride[1:], padding[1:], dilation[1:]
    settings = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    generator = torch.Generator().manual_seed(1)
    x, weight, bias = (torch.randn(shape, generator=generator) for shape in (
        (samples, channels, *[height] * (height > 0), width), (filters, channels // groups, *kernel), (filters,)))
    agree(partial(convolved, **settings), x, weight, bias, scaled=True)
    assert used >= {"correlate", "weigh"}


@pytest.mark.parametrize("settings", [
    {"padding": 1}, {"stride": (2, 1, 2), "padding": (2, 0, 1)}, {"dilation": (2, 1, 2), "groups": 2}], ids=str)
def test_planes_under_a_window_of_volumes_are_channels_of_a_convolution_of_images(settings, agree, used,
                                                                                    all_sizes) -> None:
    generator = torch.Generator().manual_seed(1)
    x, weight, bias = (torch.randn(shape, generator=generator) for shape in (
        (3, 6, 9, 14, 20), (8, 6 // settings.get("groups", 1), 3, 2, 3), (8,)))
    agree(partial(convolved, **settings), x, weight, bias, scaled=True)
    assert used >= {"correlate", "weigh"}


def test_an_infinite_pixel_reaches_the_windows_that_have_it_alone(used, all_sizes) -> None:
    x, weight, bias = torch.randn(2, 8, 33, 20), torch.randn(4, 8, 3, 3), torch.randn(4)
    x[0, 3, 0, 19], x[1, 0, 16, 0] = torch.inf, torch.nan
    results = convolved(mindtorch, *[port(part, mindtorch) for part in (x, weight, bias)], padding=1)
    assert used >= {"correlate", "weigh"}
    for result, other in zip(results, convolved(torch, x, weight, bias, padding=1), strict=True):
        assert result.isfinite().equal(port(other.isfinite(), mindtorch))
