"""Simulated kernels of convolution and pooling: the CPU's, with ACLNN's parameters."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
    """``avg_pool``, after that many tensors. ACLNN's divisor 0 is that of the window."""
    row: Callable[..., Array] = CPU[name]

    def kernel(*args: Any) -> None:
        *values, override = args[:tensors + 6]
        store(args[-1], row(*values, override or None))

    return kernel


def max_pool_backward(grad: Array, self: Array, indices: Array, *settings: Any) -> None:
    *rest, out = settings
    store(out, CPU["max_pool2d_with_indices_backward"](grad, self, *rest, indices))


KERNELS: dict[str, Kernel] = {
    "aclnnConvolution": convolution,
    "aclnnConvolutionBackward": convolution_backward,
    "aclnnAvgPool2d": means("avg_pool2d", 1),
    "aclnnAvgPool2dBackward": means("avg_pool2d_backward", 2),
    "aclnnMaxPool2dWithIndices": whole("max_pool2d_with_indices", 2),
    "aclnnMaxPool2dWithIndicesBackward": max_pool_backward,
    "aclnnAdaptiveAvgPool2d": whole("_adaptive_avg_pool2d"),
    "aclnnAdaptiveAvgPool2dBackward": whole("_adaptive_avg_pool2d_backward"),
}
