"""Simulated kernels of convolution, in any number of dimensions, and pooling: sums over a moving window's places."""
from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from ....cpu.ops.indexing import extreme
from ....cpu.ops.reduction import to_opmath
from .forms import Array, Kernel, store

Ints = tuple[int, ...]


def full(values: Any, count: int) -> Ints:
    """One number per dimension, from one number for all."""
    return tuple(values) * count if len(values) == 1 else tuple(values)


def last(*keys: Any) -> Any:
    """The key that has these in the last dimensions."""
    return (..., *keys)


def padded(x: Array, low: Ints, high: Ints, value: Any = 0) -> Array:
    """The last dimensions with more elements at both ends."""
    return np.pad(x, [(0, 0)] * (x.ndim - len(low)) + list(zip(low, high, strict=True)), constant_values=value)


def places(out: Ints, kernel: Ints, stride: Ints, dilation: Ints) -> Iterator[tuple[Ints, Any]]:
    """Each position in the window, and the key of the elements that are there, one for each place of the window."""
    for at in product(*map(range, kernel)):
        starts = [a * d for a, d in zip(at, dilation, strict=True)]
        yield at, last(*[slice(a, a + (n - 1) * s + 1, s) for a, s, n in zip(starts, stride, out, strict=True)])


# -- convolution: grouped, input (N, G, C, ...), weight (G, O, C, ...), output (N, G, O, ...) --------------------------

def grouped(x: Array, groups: int, axis: int) -> Array:
    shape = list(x.shape)
    shape[axis : axis + 1] = groups, shape[axis] // groups
    return x.reshape(shape)


def correlate(x: Array, weight: Array, out: Array, stride: Ints, dilation: Ints) -> None:
    for at, key in places(out.shape[3:], weight.shape[3:], stride, dilation):
        out += np.einsum("ngc...,goc->ngo...", x[key], weight[last(*at)], optimize=True)


def convolve_transposed(grad: Array, weight: Array, x: Array, stride: Ints, dilation: Ints) -> None:
    """The transposed of it: what each output gives to each input."""
    for at, key in places(grad.shape[3:], weight.shape[3:], stride, dilation):
        x[key] += np.einsum("ngo...,goc->ngc...", grad, weight[last(*at)], optimize=True)


def weigh(x: Array, grad: Array, weight: Array, stride: Ints, dilation: Ints) -> None:
    """The gradient of the weight."""
    samples, channels = grad.shape[:3], x.shape[2]
    flat = grad.reshape(*samples, -1)
    for at, key in places(grad.shape[3:], weight.shape[3:], stride, dilation):
        part = x[key].reshape(samples[0], samples[1], channels, -1)
        weight[last(*at)] = np.einsum("ngcl,ngol->goc", part, flat, optimize=True)


def geometry(weight: Array, *settings: Any) -> list[Ints]:
    return [full(values, weight.ndim - 2) for values in settings]


def room(x_size: Ints, out_size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> tuple[Ints, Ints]:
    """How many elements there must be before and behind the input for all places of the window."""
    reach = [(n - 1) * s + (k - 1) * d + 1 for n, s, k, d in zip(out_size, stride, kernel, dilation, strict=True)]
    return padding, tuple(max(r - p - n, 0) for r, p, n in zip(reach, padding, x_size, strict=True))


def inside(x: Array, size: Ints, low: Ints) -> Array:
    return x[last(*[slice(a, a + n) for a, n in zip(low, size, strict=True)])]


def convolution(self: Array, weight: Array, bias: Array | None, stride: Any, padding: Any, dilation: Any,
                transposed: bool, output_padding: Any, groups: int, out: Array, cube_math_type: int) -> None:
    stride, padding, dilation = geometry(weight, stride, padding, dilation)
    x, w, b = map(to_opmath, (self, weight, bias))
    small, large = (x.shape[2:], out.shape[2:]) if transposed else (out.shape[2:], x.shape[2:])
    low, high = room(large, small, w.shape[2:], stride, padding, dilation)
    result = np.zeros(out.shape, x.dtype)
    x, w, y = grouped(x, groups, 1), grouped(w, groups, 0), grouped(result, groups, 1)
    if transposed:
        target = padded(y, low, high)
        convolve_transposed(x, w, target, stride, dilation)
        y[...] = inside(target, large, low)
    else:
        correlate(padded(x, low, high), w, y, stride, dilation)
    if b is not None:
        result += b.reshape(-1, *(1,) * (result.ndim - 2))
    store(out, result)


def convolution_backward(grad: Array, self: Array, weight: Array, bias_sizes: Any, stride: Any, padding: Any,
                         dilation: Any, transposed: bool, output_padding: Any, groups: int, mask: Any,
                         cube_math_type: int, grad_input: Array | None, grad_weight: Array | None,
                         grad_bias: Array | None) -> None:
    stride, padding, dilation = geometry(weight, stride, padding, dilation)
    g, x, w = map(to_opmath, (grad, self, weight))
    if mask[2] and grad_bias is not None:
        store(grad_bias, g.sum((0, *range(2, g.ndim))))
    small, large = (x, g) if transposed else (g, x)
    size = large.shape[2:]
    low, high = room(size, small.shape[2:], w.shape[2:], stride, padding, dilation)
    small, large, w = grouped(small, groups, 1), padded(grouped(large, groups, 1), low, high), grouped(w, groups, 0)
    if mask[0] and grad_input is not None:
        if transposed:
            result = np.zeros(small.shape, x.dtype)
            correlate(large, w, result, stride, dilation)
        else:
            result = np.zeros(large.shape, x.dtype)
            convolve_transposed(small, w, result, stride, dilation)
            result = inside(result, size, low)
        store(grad_input, result.reshape(grad_input.shape))
    if mask[1] and grad_weight is not None:
        result = np.zeros(w.shape, x.dtype)
        weigh(large, small, result, stride, dilation)
        store(grad_weight, result.reshape(grad_weight.shape))


# -- pooling: the last two dimensions ----------------------------------------------------------------------------------

def window(kernel: Any, stride: Any, padding: Any) -> tuple[Ints, Ints, Ints]:
    """Kernel, stride (the kernel's size if none is given) and padding of two dimensions."""
    kernel = full(kernel, 2)
    return kernel, full(stride, 2) if len(stride) else kernel, full(padding, 2)


def divisors(size: Ints, out: Ints, kernel: Ints, stride: Ints, padding: Ints, include_pad: bool,
             override: int) -> Array:
    """How many elements each place of the window has: with those of the padding, or without."""
    counts = []
    for n, places_, k, s, p in zip(size, out, kernel, stride, padding, strict=True):
        start = np.arange(places_) * s - p
        low, high = (start, n + p) if include_pad else (np.maximum(start, 0), n)
        counts.append(np.minimum(start + k, high) - low)
    return np.full(out, override) if override else np.outer(*counts)


def avg_pool(self: Array, kernel: Any, stride: Any, padding: Any, ceil_mode: bool, include_pad: bool, override: int,
             cube_math_type: int, out: Array) -> None:
    kernel, stride, padding = window(kernel, stride, padding)
    x = to_opmath(self)
    size, places_ = x.shape[-2:], out.shape[-2:]
    x = padded(x, *room(size, places_, kernel, stride, padding, (1, 1)))
    total = sum(x[key] for _, key in places(places_, kernel, stride, (1, 1)))
    store(out, total / divisors(size, places_, kernel, stride, padding, include_pad, override).astype(x.dtype))


def avg_pool_backward(grad: Array, self: Array, kernel: Any, stride: Any, padding: Any, ceil_mode: bool,
                      include_pad: bool, override: int, cube_math_type: int, grad_input: Array) -> None:
    kernel, stride, padding = window(kernel, stride, padding)
    g = to_opmath(grad)
    size, places_ = self.shape[-2:], g.shape[-2:]
    low, high = room(size, places_, kernel, stride, padding, (1, 1))
    target = padded(np.zeros(self.shape, g.dtype), low, high)
    share = g / divisors(size, places_, kernel, stride, padding, include_pad, override).astype(g.dtype)
    for _, key in places(places_, kernel, stride, (1, 1)):
        target[key] += share
    store(grad_input, inside(target, size, low))


def max_pool(self: Array, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, out: Array,
             indices: Array) -> None:
    """The indices count the elements of the last two dimensions. NaN wins."""
    kernel, stride, padding = window(kernel, stride, padding)
    dilation = full(dilation, 2)
    size = self.shape[-2:]
    around = room(size, out.shape[-2:], kernel, stride, padding, dilation)
    x = to_opmath(self)
    x = padded(x, *around, extreme(False, x.dtype))
    numbers = padded(np.arange(size[0] * size[1]).reshape(size), *around, -1)
    keys = [key for _, key in places(out.shape[-2:], kernel, stride, dilation)]
    values, where = np.stack([x[key] for key in keys]), np.stack([numbers[key] for key in keys])
    inside_ = where.reshape(len(keys), *(1,) * (x.ndim - 2), *where.shape[1:]) >= 0
    best = np.where(inside_, values, extreme(False, x.dtype)).argmax(0)
    first = inside_.argmax(0)  # where everything is the lowest number
    best = np.where(np.take_along_axis(np.broadcast_to(inside_, values.shape), best[None], 0)[0], best, first)
    store(out, np.take_along_axis(values, best[None], 0)[0])
    store(indices, np.take_along_axis(np.broadcast_to(where.reshape(inside_.shape), values.shape), best[None], 0)[0])


def max_pool_backward(grad: Array, self: Array, indices: Array, kernel: Any, stride: Any, padding: Any, dilation: Any,
                      ceil_mode: bool, grad_input: Array) -> None:
    g = to_opmath(grad)
    planes = int(np.prod(self.shape[:-2]))
    total = np.zeros((planes, self.shape[-2] * self.shape[-1]), g.dtype)
    np.add.at(total, (np.arange(planes)[:, None], indices.reshape(planes, -1)), g.reshape(planes, -1))
    store(grad_input, total.reshape(self.shape))


def adaptive_regions(size: Ints, out: Ints) -> Iterator[tuple[Any, Any]]:
    """Each place of the output, and the region of the input that it is the mean of."""
    spans = [[slice(i * n // m, -(-(i + 1) * n // m)) for i in range(m)] for n, m in zip(size, out, strict=True)]
    for i, rows in enumerate(spans[0]):
        for j, columns in enumerate(spans[1]):
            yield (..., i, j), (..., rows, columns)


def adaptive_avg_pool(self: Array, output_size: Any, out: Array) -> None:
    x = to_opmath(self)
    for place, region in adaptive_regions(x.shape[-2:], out.shape[-2:]):
        out[place] = x[region].mean((-2, -1))


def adaptive_avg_pool_backward(grad: Array, self: Array, out: Array) -> None:
    g = to_opmath(grad)
    total = np.zeros(self.shape, g.dtype)
    for place, region in adaptive_regions(self.shape[-2:], g.shape[-2:]):
        part = total[region]
        part += g[place][..., None, None] / (part.shape[-2] * part.shape[-1])
    store(out, total)


KERNELS: dict[str, Kernel] = {
    "aclnnConvolution": convolution,
    "aclnnConvolutionBackward": convolution_backward,
    "aclnnAvgPool2d": avg_pool,
    "aclnnAvgPool2dBackward": avg_pool_backward,
    "aclnnMaxPool2dWithIndices": max_pool,
    "aclnnMaxPool2dWithIndicesBackward": max_pool_backward,
    "aclnnAdaptiveAvgPool2d": adaptive_avg_pool,
    "aclnnAdaptiveAvgPool2dBackward": adaptive_avg_pool_backward,
}
