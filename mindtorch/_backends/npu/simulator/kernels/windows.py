"""Simulated kernels of convolution, pooling and resampling: the CPU's, with ACLNN's parameters."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....cpu.ops.convolution import convolution as convolve, convolution_backward as convolve_backward
from .forms import CPU, Array, Kernel, store, whole


def convolution(*args: Any) -> None:
    *values, out, _cube_math_type = args
    store(out, convolve(*values))


def convolution_backward(*args: Any) -> None:
    values, outs = args[:11], args[12:]
    for out, result in zip(outs, convolve_backward(*values), strict=True):
        if out is not None and result is not None:
            store(out, result)


def means(name: str, tensors: int) -> Kernel:
    """Make mean pooling of that many tensors. ACLNN's divisor 0 means the window's size."""
    row: Callable[..., Array] = CPU[name]

    def kernel(*args: Any) -> None:
        *values, override = args[:tensors + 6]
        store(args[-1], row(*values, override or None))

    return kernel


def max_pool_backward(name: str) -> Kernel:
    row: Callable[..., Array] = CPU[name]

    def kernel(grad: Array, self: Array, indices: Array, *settings: Any) -> None:
        *rest, out = settings
        store(out, row(grad, self, *rest, indices))

    return kernel


def max_pool_with_mask(self: Array, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, out: Array,
                       mask: Array) -> None:
    """Return a bit a window for each place: whether its maximum is there; CANN leaves the bits' order open."""
    values, indices = CPU["max_pool2d_with_indices"](self, kernel, stride, padding, dilation, ceil_mode)
    store(out, values)
    (high, wide), (down, right), (above, left) = (
        tuple(v) * 2 if len(v) == 1 else tuple(v) for v in (kernel, stride or kernel, padding))
    row = indices // self.shape[-1] + above - down * np.arange(values.shape[-2])[:, None]
    column = indices % self.shape[-1] + left - right * np.arange(values.shape[-1])
    at = (row * wide + column).reshape(*values.shape[:-2], 1, -1)
    bits = np.packbits(at == np.arange(high * wide)[:, None], -1, "little")
    mask[...] = 0
    mask[..., : bits.shape[-1]] = bits.view(np.int8)


def resampled(names: str) -> dict[str, Kernel]:
    """Resampling and its backward: names of ACLNN's and of the CPU's. A scale that is not given is not positive."""

    def of(row: Callable[..., Array]) -> Kernel:
        return lambda *args: store(args[-1], row(*args[:-1]))

    pairs = names.split()
    return {f"aclnnUpsample{theirs}": of(CPU[ours]) for theirs, ours in zip(pairs[::2], pairs[1::2], strict=True)}


KERNELS: dict[str, Kernel] = {
    "aclnnConvolution": convolution,
    "aclnnConvolutionBackward": convolution_backward,
    "aclnnAvgPool2d": means("avg_pool2d", 1),
    "aclnnAvgPool2dBackward": means("avg_pool2d_backward", 2),
    "aclnnAvgPool3d": means("avg_pool3d", 1),
    "aclnnAvgPool3dBackward": means("avg_pool3d_backward", 2),
    "aclnnMaxPool2dWithIndices": whole("max_pool2d_with_indices", 2),
    "aclnnMaxPool2dWithIndicesBackward": max_pool_backward("max_pool2d_with_indices_backward"),
    "aclnnMaxPool2dWithMask": max_pool_with_mask,
    "aclnnMaxPool3dWithArgmax": whole("max_pool3d_with_indices", 2),
    "aclnnMaxPool3dWithArgmaxBackward": max_pool_backward("max_pool3d_with_indices_backward"),
    "aclnnAdaptiveAvgPool2d": whole("_adaptive_avg_pool2d"),
    "aclnnAdaptiveAvgPool2dBackward": whole("_adaptive_avg_pool2d_backward"),
    "aclnnAdaptiveAvgPool3d": whole("_adaptive_avg_pool3d"),
    "aclnnAdaptiveAvgPool3dBackward": whole("_adaptive_avg_pool3d_backward"),
    "aclnnAdaptiveMaxPool2d": whole("adaptive_max_pool2d", 2),
    "aclnnAdaptiveMaxPool3d": whole("adaptive_max_pool3d", 2),
    "aclnnAdaptiveMaxPool3dBackward": whole("adaptive_max_pool3d_backward"),
    **resampled("""
        Nearest1dV2 upsample_nearest1d              Nearest1dBackward upsample_nearest1d_backward
        Nearest2dV2 upsample_nearest2d              Nearest2dBackward upsample_nearest2d_backward
        Nearest3d upsample_nearest3d                Nearest3dBackward upsample_nearest3d_backward
        NearestExact1d _upsample_nearest_exact1d    NearestExact1dBackward _upsample_nearest_exact1d_backward
        NearestExact2d _upsample_nearest_exact2d    NearestExact2dBackward _upsample_nearest_exact2d_backward
        NearestExact3d _upsample_nearest_exact3d    NearestExact3dBackward _upsample_nearest_exact3d_backward
        Linear1d upsample_linear1d                  Linear1dBackward upsample_linear1d_backward
        Bilinear2d upsample_bilinear2d              Bilinear2dBackwardV2 upsample_bilinear2d_backward
        Trilinear3d upsample_trilinear3d            Trilinear3dBackward upsample_trilinear3d_backward
        Bicubic2d upsample_bicubic2d                Bicubic2dBackward upsample_bicubic2d_backward
        Bilinear2dAA _upsample_bilinear2d_aa        Bilinear2dAABackward _upsample_bilinear2d_aa_backward
        Bicubic2dAA _upsample_bicubic2d_aa          Bicubic2dAAGrad _upsample_bicubic2d_aa_backward
    """),
}
