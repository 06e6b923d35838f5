"""Softmax and its logarithm."""
from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from .._base.errors import check, check_takes
from .._base.layout import Spec, wrap_dim
from .._dispatch.aten import (
    _log_softmax, _log_softmax_backward_data as log_softmax_grad, _softmax, _softmax_backward_data as softmax_grad,
)
from .._dtype import dtypes
from .._tensor import Tensor
from .._transforms.batching.rules import along_dimensions
from . import operator, schemas

schemas("""
function, method, out, exact dtype:
    softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor  # The exponentials of `self`, divided by their sum along `dim`.
    log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor  # The logarithm of the softmax of `self` along `dim`, computed without overflow.
function, out, exact dtype:
    _softmax(Tensor self, int dim, bool half_to_float) -> Tensor  # The exponentials of `self`, divided by their sum along `dim`, for `softmax`.
    _log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor  # The logarithm of the softmax of `self` along `dim`, for `log_softmax`.
    _softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor  # The gradient of softmax with the result `output` along `dim`, for the gradient `grad_output` of its result.
    _log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor  # The gradient of log_softmax with the result `output` along `dim`, for the gradient `grad_output` of its result.
function:
    _safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor  # The softmax of `self` along `dim`, which is zero where all elements are minus infinity.
""")  # noqa: E501


TAKES = dtypes("reduced|floating")


def meta_softmax(name: str) -> Callable[..., Spec]:
    def meta(self: Tensor, dim: int, half_to_float: bool = False) -> Spec:
        last = wrap_dim(dim, self.ndim) == max(self.ndim - 1, 0)
        check(not half_to_float, lambda: f"{name} with half to float conversion is not supported on CPU")
        check_takes(self._dtype in TAKES or not self.numel(),
                    f"{name}{'_lastdim' if last else ''}_kernel_impl", self._dtype)
        return Spec(tuple(self.shape), self._dtype)

    return meta


def backward_data(grad_output: Tensor, output: Any, dim: int, input_dtype: Any) -> Spec:
    wrap_dim(dim, grad_output.ndim)
    check(grad_output.shape == output.shape, lambda: "expected the shapes of grad and output to match, but got "
          f"{list(grad_output.shape)} and {list(output.shape)}")
    check(grad_output._dtype is output._dtype,
          lambda: f"expected grad and output to have the same dtype, but got {grad_output.dtype} and {output.dtype}")
    return Spec(tuple(grad_output.shape), input_dtype)


def softmax(self: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """``torch.softmax``; with ``dtype``, of the input converted to it."""
    return _softmax(self if dtype is None else self.to(dtype), dim, False)


def log_softmax(self: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """``torch.log_softmax``; with ``dtype``, of the input converted to it."""
    return _log_softmax(self if dtype is None else self.to(dtype), dim, False)


def safe_softmax(self: Tensor, dim: int, dtype: Any = None) -> Any:
    """Softmax that is 0 where all elements are -inf (ATen's ``_safe_softmax``)."""
    return softmax(self, dim, dtype).masked_fill((self == -inf).all(dim, True), 0)


operator("softmax.int", composite=softmax, autocast="npu float32")
operator("log_softmax.int", composite=log_softmax, autocast="npu float32")
operator("_softmax", meta_softmax("softmax"), batching=along_dimensions,
         self=lambda grad, result, dim, self_dtype: softmax_grad(grad, result, dim, self_dtype))
operator("_log_softmax", meta_softmax("log_softmax"), batching=along_dimensions,
         self=lambda grad, result, dim, self_dtype: log_softmax_grad(grad, result, dim, self_dtype))
operator("_softmax_backward_data", backward_data, batching=along_dimensions,
         grad_output=lambda grad, output, dim, input_dtype: (
             softmax_grad(grad.to(output.dtype), output, dim, input_dtype)),
         output=lambda grad, grad_output, dim, output: (
             grad * (grad_output - (grad_output * output).sum(dim, True))
             - grad_output * (grad * output).sum(dim, True)))
operator("_log_softmax_backward_data", backward_data, batching=along_dimensions,
         grad_output=lambda grad, output, dim: grad - (grad * output.exp()).sum(dim, True),
         output=lambda grad, grad_output, dim, output: -grad * output.exp() * grad_output.sum(dim, True))
operator("_safe_softmax", composite=safe_softmax, batching=along_dimensions,
         self=lambda grad, result, dim, self_dtype: softmax_grad(grad, result, dim, self_dtype))
