"""The gradients of convolutions as functions; mirrors ``torch.nn.grad``."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._dispatch.aten import convolution_backward
from .._tensor import Tensor
from ._sizes import ntuple

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]
__dir__ = __all__.copy


def _gradient(dims: int, which: int, grad_output: Tensor, input: Tensor, weight: Tensor, *settings: Any) -> Tensor:
    """Compute the gradient of the input (0) or the weight (1); of that one, only the shape is read."""
    *sizes, groups = settings
    stride, padding, dilation = map(ntuple(dims), sizes)
    return convolution_backward(grad_output, input, weight, None, stride, padding, dilation, False, [0] * dims, groups,
                                [which == 0, which == 1, False])[which]


def _input(dims: int) -> Callable[..., Tensor]:
    def gradient(input_size: Any, weight: Tensor, grad_output: Tensor, stride: Any = 1, padding: Any = 0,
                 dilation: Any = 1, groups: int = 1) -> Tensor:
        input = grad_output.new_empty(1).expand(input_size)
        return _gradient(dims, 0, grad_output, input, weight, stride, padding, dilation, groups)

    gradient.__doc__ = (f"The gradient of ``conv{dims}d`` in its input, of shape ``input_size`` (N, C, ...)\n"
                        f"    (``torch.nn.grad.conv{dims}d_input``).")
    gradient.__name__ = gradient.__qualname__ = f"conv{dims}d_input"
    return gradient


def _weight(dims: int) -> Callable[..., Tensor]:
    def gradient(input: Tensor, weight_size: Any, grad_output: Tensor, stride: Any = 1, padding: Any = 0,
                 dilation: Any = 1, groups: int = 1) -> Tensor:
        weight = grad_output.new_empty(1).expand(weight_size)
        return _gradient(dims, 1, grad_output, input, weight, stride, padding, dilation, groups)

    gradient.__doc__ = (f"The gradient of ``conv{dims}d`` in its weight, of shape ``weight_size``\n"
                        f"    (O, C / groups, ...) (``torch.nn.grad.conv{dims}d_weight``).")
    gradient.__name__ = gradient.__qualname__ = f"conv{dims}d_weight"
    return gradient


conv1d_input, conv2d_input, conv3d_input = map(_input, (1, 2, 3))
conv1d_weight, conv2d_weight, conv3d_weight = map(_weight, (1, 2, 3))
