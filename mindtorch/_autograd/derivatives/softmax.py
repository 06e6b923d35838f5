"""Derivatives of softmax."""
from __future__ import annotations

from ..._dispatch.aten import _log_softmax_backward_data as log_softmax_grad, _softmax_backward_data as softmax_grad
from ..derivative import derivative

derivative("_softmax", self=lambda grad, result, dim, self_dtype: softmax_grad(grad, result, dim, self_dtype))
derivative("_log_softmax", self=lambda grad, result, dim, self_dtype: log_softmax_grad(grad, result, dim, self_dtype))
derivative("_safe_softmax", self=lambda grad, result, dim, self_dtype: softmax_grad(grad, result, dim, self_dtype))
derivative("_softmax_backward_data", grad_output=lambda grad, output, dim, input_dtype: (
               softmax_grad(grad.to(output.dtype), output, dim, input_dtype)),
           output=lambda grad, grad_output, dim, output: (
               grad * (grad_output - (grad_output * output).sum(dim, True))
               - grad_output * (grad * output).sum(dim, True)))
derivative("_log_softmax_backward_data",
           grad_output=lambda grad, output, dim: grad - (grad * output.exp()).sum(dim, True),
           output=lambda grad, grad_output, dim, output: -grad * output.exp() * grad_output.sum(dim, True))
