"""NPU rows of convolution and pooling. ``cubeMathType`` 0 (KEEP_DTYPE) computes in the operands' own
precision.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import ACLNN_CALLS
from .linalg import KEEP_DTYPE
from .row import Aclnn


def each(dims: int, *settings: Any) -> list[Any]:
    """Settings with one number for each dimension."""
    return [tuple(values) * dims if len(values) == 1 else tuple(values) for values in settings]


def convolution(input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
                output_padding: Any, groups: int, out: Any) -> tuple[Any, ...]:
    stride, padding, dilation, output_padding = each(weight.ndim - 2, stride, padding, dilation, output_padding)
    return input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, out, KEEP_DTYPE


def convolution_backward(grad: Any, input: Any, weight: Any, bias_sizes: Any, stride: Any, padding: Any, dilation: Any,
                         transposed: bool, output_padding: Any, groups: int, output_mask: Any,
                         *grads: Any) -> tuple[Any, ...]:
    stride, padding, dilation, output_padding = each(weight.ndim - 2, stride, padding, dilation, output_padding)
    return (grad, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups,
            tuple(output_mask), KEEP_DTYPE, *grads)


def means(tensors: int) -> Callable[..., Any]:
    """The arguments of ``avg_pool2d``, after that many tensors. ACLNN's divisor 0 is that of the window."""

    def arguments(*args: Any) -> tuple[Any, ...]:
        given, (kernel, stride, padding, ceil_mode, include, override) = args[:tensors], args[tensors:-1]
        return *given, kernel, stride or kernel, padding, ceil_mode, include, override or 0, KEEP_DTYPE, args[-1]

    return arguments


ACLNN_CALLS.update({
    "convolution": Aclnn("aclnnConvolution", convolution),
    "convolution_backward": Aclnn("aclnnConvolutionBackward", convolution_backward),
    "avg_pool2d": Aclnn("aclnnAvgPool2d", means(1)),
    "avg_pool2d_backward": Aclnn("aclnnAvgPool2dBackward", means(2)),
    "max_pool2d_with_indices": Aclnn(
        "aclnnMaxPool2dWithIndices", lambda self, kernel, stride, padding, dilation, ceil_mode, out, indices: (
            self, kernel, stride or kernel, padding, dilation, ceil_mode, out, indices)),
    "max_pool2d_with_indices_backward": Aclnn(
        "aclnnMaxPool2dWithIndicesBackward",
        lambda grad, self, kernel, stride, padding, dilation, ceil_mode, indices, out: (
            grad, self, indices, kernel, stride or kernel, padding, dilation, ceil_mode, out)),
    "_adaptive_avg_pool2d": Aclnn("aclnnAdaptiveAvgPool2d"),
    "_adaptive_avg_pool2d_backward": Aclnn("aclnnAdaptiveAvgPool2dBackward"),
})
