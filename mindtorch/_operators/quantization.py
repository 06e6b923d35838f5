"""Quantisation as arithmetic: rounding to the numbers that integers stand for, and products of integers.

Quantised tensors themselves are in ``ao``.
"""
from __future__ import annotations

from typing import Any

from .._base.errors import check
from .._dtype import float32, int8, int32, int64
from . import operator, schemas

schemas("""
function:
    fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, int quant_min, int quant_max) -> Tensor  # `self`, each element rounded to a multiple of `scale` that an integer from `quant_min` to `quant_max` stands for.
    fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, int quant_min, int quant_max) -> Tensor
    fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, int quant_max) -> Tensor  # `self`, rounded with a scale and a zero point for each index of the dimension `axis`.
method:
    dequantize.self(Tensor self) -> Tensor  # The numbers of `self` in float32.
function, out:
    _int_mm(Tensor self, Tensor mat2) -> Tensor  # The product of the int8 matrices `self` and `mat2`, in int32.
""")  # noqa: E501


def integers(self: Any, scale: Any, zero_point: Any) -> Any:
    """Return the integers that stand for numbers, before they are limited."""
    inverse = self.new_tensor(1.0) / scale if isinstance(scale, (int, float)) else scale.reciprocal()
    return (self * inverse).round() + zero_point


def check_range(quant_min: int, quant_max: int, zero_point: Any) -> None:
    """Raise RuntimeError for a range without numbers, or one that the zero point is not in."""
    check(quant_min <= quant_max, "`quant_min` should be less than or equal to `quant_max`.")
    inside = (quant_min <= zero_point <= quant_max if isinstance(zero_point, int)
              else bool(((zero_point >= quant_min) & (zero_point <= quant_max)).all()))
    check(inside, "`zero_point` must be between `quant_min` and `quant_max`.")


def per_tensor(self: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int) -> Any:
    check_range(quant_min, quant_max, zero_point)
    limited = integers(self, scale, zero_point).clamp(quant_min, quant_max)
    return ((limited - zero_point) * scale).to(self.dtype).reshape(self.shape)


def by_channel(self: Any, parameter: Any, axis: int) -> Any:
    return parameter.reshape([-1 if d == axis % self.ndim else 1 for d in range(self.ndim)])


def per_channel(self: Any, scale: Any, zero_point: Any, axis: int, quant_min: int, quant_max: int) -> Any:
    check(scale.ndim == 1, "scale should be a 1-D tensor")
    check(zero_point.ndim == 1, "zero point should be a 1-D tensor")
    check(scale.shape == zero_point.shape, "scale and zero-point need to have the same dimensions")
    check(scale.shape[0] == self.shape[axis], "dimensions of scale and zero-point are not consistent with input tensor")
    check(-self.ndim <= axis < self.ndim, "`axis` must be between 0 and number of dimensions of input")
    return per_tensor(self, by_channel(self, scale, axis), by_channel(self, zero_point, axis), quant_min, quant_max)


def passed(grad: Any, self: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int) -> Any:
    """Return the gradient where numbers were within the range: rounding counts as the identity."""
    at = integers(self, scale, zero_point)
    return grad * ((at >= quant_min) & (at <= quant_max))


for _name, _node in (("fake_quantize_per_tensor_affine", ""),
                     ("fake_quantize_per_tensor_affine.tensor_qparams", "TensorQparams")):
    operator(_name, composite=per_tensor, node=f"FakeQuantizePerTensorAffineCachemask{_node}Backward0",
             self=lambda grad, self, scale, zero_point, quant_min, quant_max: passed(
                 grad, self, scale, zero_point, quant_min, quant_max))
operator("fake_quantize_per_channel_affine", composite=per_channel,
         node="FakeQuantizePerChannelAffineCachemaskBackward0",
         self=lambda grad, self, scale, zero_point, axis, quant_min, quant_max: passed(
             grad, self, by_channel(self, scale, axis), by_channel(self, zero_point, axis), quant_min, quant_max))


def int_mm(self: Any, mat2: Any) -> Any:
    """Multiply int8 matrices exactly: sums of products of bytes fit float64, in which they are fast."""
    check(self.ndim == 2, lambda: f"Expected self to be of dimension 2 but got {self.ndim}")
    check(mat2.ndim == 2, lambda: f"Expected mat2 to be of dimension 2 but got {mat2.ndim}")
    check(self.dtype is int8 and mat2.dtype is int8,
          lambda: f"Expected self and mat2 dtype to be of type int8, but got {self.dtype} and {mat2.dtype}")
    check(self.shape[1] == mat2.shape[0],
          lambda: f"self.size(1) needs to match mat2.size(0) but got {self.shape[1]} and {mat2.shape[0]}")
    return (self.double() @ mat2.double()).to(int64).to(int32)


operator("dequantize.self", composite=lambda self: self.to(float32), differentiable=False)
operator("_int_mm", composite=int_mm, differentiable=False)
