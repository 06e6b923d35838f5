"""Derivatives of products of vectors and matrices."""
from __future__ import annotations

from typing import Any

from ..._dispatch.aten import _trilinear as trilinear, bmm, linalg_cross as cross, mv, norm_except_dim, outer, t
from ..._dispatch.local import local
from ..derivative import derivative
from ..utils import product, reduce_grad


def conj(x: Any) -> Any:
    """The conjugate; a real tensor itself."""
    return x.conj() if x._dtype.is_complex else x


def scaled(grad: Any, factor: Any) -> Any:
    """A gradient times a number's conjugate; itself for 1."""
    return grad if factor == 1 else grad * factor.conjugate()


def adjoint(x: Any) -> Any:
    """A batch of matrices, conjugated and transposed."""
    return conj(x.transpose(-2, -1))


def repeated(grad: Any, batch: Any) -> Any:
    """A matrix as often as a batch has matrices."""
    return grad.unsqueeze(0).expand((batch.shape[0], *grad.shape))


def _is_transposed(shape: Any, stride: Any) -> bool:
    """Whether a matrix is laid out column by column; its gradient is then computed so as well."""
    return stride[0] == 1 and stride[1] == shape[0]


def grad_of_mat1(grad: Any, mat2: Any, shape: Any, stride: Any, alpha: Any = 1) -> Any:
    """The gradient of the left operand of a matrix product."""
    if _is_transposed(shape, stride):
        return scaled(product(conj(mat2), grad, False, True, True), alpha)
    if alpha == 1:
        return product(grad, conj(mat2), False, True)
    return scaled(product(grad, conj(mat2), False, True), alpha)


def grad_of_mat2(grad: Any, mat1: Any, shape: Any, stride: Any, alpha: Any = 1) -> Any:
    """The gradient of the right operand of a matrix product."""
    if _is_transposed(shape, stride):
        return scaled(product(grad, conj(mat1), True, False, True), alpha)
    if alpha == 1:
        return product(conj(mat1), grad, True, False)
    return scaled(product(conj(mat1), grad, True, False), alpha)


derivative("mm", self=lambda grad, mat2, self_shape, self_stride: grad_of_mat1(grad, mat2, self_shape, self_stride),
           mat2=lambda grad, self, mat2_shape, mat2_stride: grad_of_mat2(grad, self, mat2_shape, mat2_stride))
derivative("addmm", self=lambda grad, self_shape, beta: scaled(reduce_grad(grad, self_shape), beta),
           mat1=lambda grad, mat2, mat1_shape, mat1_stride, alpha:
               grad_of_mat1(grad, mat2, mat1_shape, mat1_stride, alpha),
           mat2=lambda grad, mat1, mat2_shape, mat2_stride, alpha:
               grad_of_mat2(grad, mat1, mat2_shape, mat2_stride, alpha))
derivative("bmm", self=lambda grad, mat2: bmm(grad, adjoint(mat2)), mat2=lambda grad, self: bmm(adjoint(self), grad))
derivative("baddbmm", self=lambda grad, beta: scaled(grad, beta),
           batch1=lambda grad, batch2, alpha: scaled(bmm(grad, adjoint(batch2)), alpha),
           batch2=lambda grad, batch1, alpha: scaled(bmm(adjoint(batch1), grad), alpha))
derivative("addbmm", self=lambda grad, beta: scaled(grad, beta),
           batch1=lambda grad, batch2, alpha: scaled(bmm(repeated(grad, batch2), adjoint(batch2)), alpha),
           batch2=lambda grad, batch1, alpha: scaled(bmm(adjoint(batch1), repeated(grad, batch1)), alpha))
derivative("mv", self=lambda grad, vec: outer(grad, conj(vec)), vec=lambda grad, self: mv(conj(t(self)), grad))
derivative("addmv", self=lambda grad, beta: scaled(grad, beta),
           mat=lambda grad, vec, alpha: scaled(outer(grad, conj(vec)), alpha),
           vec=lambda grad, mat, alpha: scaled(mv(conj(t(mat)), grad), alpha))
derivative("addr", self=lambda grad, beta: scaled(grad, beta),
           vec1=lambda grad, vec2, alpha: scaled(mv(grad, conj(vec2).to(grad.dtype)), alpha),
           vec2=lambda grad, vec1, alpha: scaled(mv(t(grad), conj(vec1).to(grad.dtype)), alpha))
derivative("dot", self=lambda grad, tensor: grad * conj(tensor), tensor=lambda grad, self: grad * conj(self))
derivative("vdot", self=lambda grad, other: conj(grad) * other, other=lambda grad, self: grad * self)
derivative("linalg_cross", self=lambda grad, other, dim: cross(conj(other), grad, dim),
           other=lambda grad, self, dim: cross(grad, conj(self), dim))
derivative("_trilinear", i1=lambda grad, i2, i3, expand1, expand2, expand3, sumdim:
               trilinear(grad, conj(i2), conj(i3), sumdim, expand2, expand3, expand1),
           i2=lambda grad, i1, i3, expand1, expand2, expand3, sumdim:
               trilinear(conj(i1), grad, conj(i3), expand1, sumdim, expand3, expand2),
           i3=lambda grad, i1, i2, expand1, expand2, expand3, sumdim:
               trilinear(conj(i1), conj(i2), grad, expand1, expand2, sumdim, expand3))


def weight_norm_grads(grad: Any, v: Any, g: Any, dim: int, result1: Any) -> tuple[Any, Any]:
    # in grad mode the norms are computed anew, so that they have a derivative
    norms = norm_except_dim(v, 2, dim) if local.grad_enabled else result1
    along = (grad * v).sum(tuple(d for d in range(v.ndim) if d != dim), True).view(g.shape)
    return g / norms * (grad - v * (along / (norms * norms))), along / norms


derivative("_weight_norm_interface", None, (0,), **{"v, g": weight_norm_grads})
