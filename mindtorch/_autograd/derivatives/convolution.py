"""Derivatives of convolution, which is linear in its input, its weight and its bias."""
from __future__ import annotations

from typing import Any

from ..._dispatch.aten import convolution, convolution_backward
from ..derivative import derivative


def convolution_grads(grad: Any, input: Any, weight: Any, bias_shape: Any, stride: Any, padding: Any, dilation: Any,
                      transposed: bool, output_padding: Any, groups: int, output_mask: Any) -> Any:
    return convolution_backward(grad, input, weight, bias_shape, stride, padding, dilation, transposed, output_padding,
                                groups, output_mask)


def total(terms: list[Any]) -> Any:
    """The sum of those that there are; None without any."""
    found = None
    for term in terms:
        if term is not None:
            found = term if found is None else found + term
    return found


def double_grads(grads: Any, grad_output: Any, input: Any, weight: Any, stride: Any, padding: Any, dilation: Any,
                 transposed: bool, output_padding: Any, groups: int) -> tuple[Any, ...]:
    """The gradients of ``convolution_backward``: each of its outputs is linear in two of its inputs.

    They are computed whether asked for or not: ``output_mask`` is here the operator's own, of its outputs.
    """
    of_input, of_weight, of_bias = grads
    settings = stride, padding, dilation, transposed, output_padding, groups
    of_grad, to_input, to_weight = [], None, None
    if of_input is not None:
        of_grad.append(convolution(of_input, weight, None, *settings))
        to_weight = convolution_backward(grad_output, of_input, weight, None, *settings, (False, True, False))[1]
    if of_weight is not None:
        of_grad.append(convolution(input, of_weight, None, *settings))
        to_input = convolution_backward(grad_output, input, of_weight, None, *settings, (True, False, False))[0]
    if of_bias is not None:
        of_grad.append(of_bias.reshape([-1 if d == 1 else 1 for d in range(grad_output.ndim)])
                       .expand(grad_output.shape))
    return total(of_grad), to_input, to_weight


derivative("convolution", **{"input, weight, bias": convolution_grads})
derivative("convolution_backward", **{"grad_output, input, weight": double_grads})
