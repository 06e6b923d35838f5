"""Derivatives of pooling. That of maxima goes to the elements that were greatest; that of means is a mean again."""
from __future__ import annotations

from typing import Any

from ..._dispatch.schemas import registry
from ..derivative import derivative


def chosen(dims: int) -> Any:
    """The elements at the places of the maxima: what a gradient of the gradient goes through."""

    def formula(grad: Any, indices: Any) -> Any:
        return grad.flatten(-dims).gather(-1, indices.flatten(-dims)).view(indices.shape)

    return formula


def zeros(grad: Any, self_shape: Any) -> Any:
    return grad.new_zeros(self_shape)


def pooling_derivatives(n: int) -> None:
    """The derivatives of all pooling in ``n`` dimensions."""
    max_backward = registry[f"max_pool{n}d_with_indices_backward"]
    derivative(f"max_pool{n}d_with_indices", f"MaxPool{n}DWithIndicesBackward0", (0,),
               self=lambda grad, self, kernel_size, stride, padding, dilation, ceil_mode, result1:
                   max_backward(grad, self, kernel_size, stride, padding, dilation, ceil_mode, result1))
    adaptive_backward = registry[f"adaptive_max_pool{n}d_backward"]
    derivative(f"adaptive_max_pool{n}d", f"AdaptiveMaxPool{n}DBackward0", (0,),
               self=lambda grad, self, result1: adaptive_backward(grad, self, result1))
    fractional_backward = registry[f"fractional_max_pool{n}d_backward"]
    derivative(f"fractional_max_pool{n}d", f"FractionalMaxPool{n}DBackward0", (0,),
               self=lambda grad, self, kernel_size, output_size, result1:
                   fractional_backward(grad, self, kernel_size, output_size, result1))
    for name, node in (("max_pool{}d_with_indices", "MaxPool{}DWithIndices"),
                       ("adaptive_max_pool{}d", "AdaptiveMaxPool{}D"),
                       ("fractional_max_pool{}d", "FractionalMaxPool{}D")):
        derivative(f"{name.format(n)}_backward", f"{node.format(n)}BackwardBackward0",
                   grad_output=chosen(n), self=zeros)
    derivative(f"max_unpool{n}d", f"MaxUnpool{n}DBackward0", self=chosen(n))

    derivative(f"avg_pool{n}d", f"AvgPool{n}DBackward0", self=registry[f"avg_pool{n}d_backward"])
    avg_pool = registry[f"avg_pool{n}d"]
    derivative(f"avg_pool{n}d_backward", f"AvgPool{n}DBackwardBackward0",
               grad_output=lambda grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override:
                   avg_pool(grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override),
               self=zeros)
    derivative(f"_adaptive_avg_pool{n}d", f"AdaptiveAvgPool{n}DBackward0",
               self=registry[f"_adaptive_avg_pool{n}d_backward"])
    adaptive_avg_pool = registry[f"_adaptive_avg_pool{n}d"]
    derivative(f"_adaptive_avg_pool{n}d_backward", f"AdaptiveAvgPool{n}DBackwardBackward0",
               grad_output=lambda grad, grad_output_shape: adaptive_avg_pool(grad, tuple(grad_output_shape[-n:])),
               self=zeros)


pooling_derivatives(2)
pooling_derivatives(3)
