"""Derivatives of linear algebra."""
from __future__ import annotations

from typing import Any

from ..._dispatch.schemas import registry
from ..derivative import derivative

mm, bmm, t = (registry[n].call for n in ("mm", "bmm", "t"))


def _conj(x: Any) -> Any:
    return x.conj() if x._dtype.is_complex else x


def _scaled(grad: Any, factor: Any) -> Any:
    """A gradient times a number's conjugate; itself for 1."""
    return grad if factor == 1 else grad * factor.conjugate()


def _is_transposed(shape: Any, stride: Any) -> bool:
    """Whether a matrix is laid out column by column; its gradient is then computed so as well."""
    return stride[0] == 1 and stride[1] == shape[0]


def grad_of_mat1(grad: Any, mat2: Any, shape: Any, stride: Any, alpha: Any = 1) -> Any:
    """The gradient of the left operand of a matrix product."""
    if _is_transposed(shape, stride):
        return _scaled(t(mm(_conj(mat2), t(grad))), alpha)
    return _scaled(mm(grad, _conj(t(mat2))), alpha)


def grad_of_mat2(grad: Any, mat1: Any, shape: Any, stride: Any, alpha: Any = 1) -> Any:
    """The gradient of the right operand of a matrix product."""
    if _is_transposed(shape, stride):
        return _scaled(t(mm(t(grad), _conj(mat1))), alpha)
    return _scaled(mm(_conj(t(mat1)), grad), alpha)


derivative("mm",
           self=lambda grad, mat2, self_shape, self_stride: grad_of_mat1(grad, mat2, self_shape, self_stride),
           mat2=lambda grad, self, mat2_shape, mat2_stride: grad_of_mat2(grad, self, mat2_shape, mat2_stride))
derivative("addmm",
           self=lambda grad, beta: _scaled(grad, beta),
           mat1=lambda grad, mat2, mat1_shape, mat1_stride, alpha: grad_of_mat1(grad, mat2, mat1_shape, mat1_stride, alpha),
           mat2=lambda grad, mat1, mat2_shape, mat2_stride, alpha: grad_of_mat2(grad, mat1, mat2_shape, mat2_stride, alpha))
derivative("bmm",
           self=lambda grad, mat2: bmm(grad, _conj(mat2.transpose(1, 2))),
           mat2=lambda grad, self: bmm(_conj(self.transpose(1, 2)), grad))
