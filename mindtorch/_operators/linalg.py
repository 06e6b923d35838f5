"""Linear algebra: products, factorizations, and what is computed by them."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import pairwise
from math import prod
from typing import Any

from .._autograd.utils import product, reduce_grad
from .._backends.common.matrices import check_same_dtype, check_square
from .._backends.common.pointwise import result_type
from .._base.about import about
from .._base.call_site import warn_once
from .._base.errors import NAMES, check, check_number, check_takes
from .._base.layout import Spec, broadcast_shapes, iterator_strides, wrap_dim, wrap_dims
from .._creation.sequences import eye
from .._creation.sizes import ones
from .._dispatch.aten import (
    _trilinear as trilinear, _unsafe_view, _weight_norm_interface, addmm, bmm, cat, clone, dot, linalg_cross,
    linalg_cross as cross, linalg_inv as inverse, mm, mv, norm_except_dim, outer, t, vdot,
)
from .._dispatch.dispatcher import is_unseen
from .._dispatch.keys import AUTOGRAD
from .._dispatch.registry import Operator
from .._dispatch.schemas import registry
from .._dtype import FLOATING, INTEGER, bool_, int64, promote_types
from .._tensor import Tensor
from .._transforms.batching.frames import Frame, lowered
from .._transforms.batching.rules import Rule, along_dimensions, composed
from . import composites, differentiates, operator, schemas
from .pointwise import opmath


def _refuse_bool(kernel: str, *factors: Any) -> None:
    check_takes(factors[0]._dtype is not bool_ or not all(factor.numel() for factor in factors), kernel, bool_)


def conj(x: Any) -> Any:
    """Return the conjugate; a real tensor itself."""
    return x.conj() if x._dtype.is_complex else x


schemas("""
function, method, out, exact dtype:
    mm(Tensor self, Tensor mat2) -> Tensor  # The matrix product of `self` and `mat2`.
    bmm(Tensor self, Tensor mat2) -> Tensor  # The matrix product of each matrix in `self` with the matrix at the same place in `mat2`.
    mv(Tensor self, Tensor vec) -> Tensor  # The product of the matrix `self` and the vector `vec`.
function, method, in-place, out, exact dtype:
    addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor  # `beta` times `self` plus `alpha` times the matrix product of `mat1` and `mat2`.
    addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor  # `beta` times `self` plus `alpha` times the product of the matrix `mat` and the vector `vec`.
    addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor  # `beta` times `self` plus `alpha` times the sum of the matrix products of `batch1` and `batch2` over the batch.
    baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor  # `beta` times `self` plus `alpha` times the matrix products of `batch1` and `batch2`, batch by batch.
function, method, in-place, out:
    addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor  # `beta` times `self` plus `alpha` times the outer product of the vectors `vec1` and `vec2`.
""")  # noqa: E501


def _check_numbers(dtype: Any, beta: Any, alpha: Any) -> None:
    check_number(dtype, beta)
    check_number(dtype, alpha)


def _check_expands(tensor: Tensor, shape: tuple[int, ...]) -> None:
    """Raise PyTorch's error unless a tensor broadcasts to a shape."""
    if (tensor.ndim != len(shape) or tensor.shape != shape) and (
            tensor.ndim > len(shape) or broadcast_shapes(tensor.shape, shape) != shape):
        tensor.expand(shape)


def meta_mm(self: Tensor, mat2: Tensor) -> Spec:
    check(self.ndim == 2, "self must be a matrix", kind="matrices wanted")
    check(mat2.ndim == 2, "mat2 must be a matrix", kind="matrices wanted")
    (n, k), (k2, m) = self.shape, mat2.shape
    check(k == k2, lambda: f"mat1 and mat2 shapes cannot be multiplied ({n}x{k} and {k2}x{m})", kind="matmul shapes")
    check(self._dtype is mat2._dtype, lambda: f"expected m1 and m2 to have the same dtype, but got: {self.dtype} != "
          f"{mat2.dtype}", kind="matmul dtypes")
    _refuse_bool("addmm_impl_cpu_", self, mat2)
    return Spec((n, m), self._dtype)


def meta_bmm(self: Tensor, mat2: Tensor, kernel: str = "bmm") -> Spec:
    check(self.ndim == 3, "batch1 must be a 3D tensor", kind="matrices wanted")
    check(mat2.ndim == 3, "batch2 must be a 3D tensor", kind="matrices wanted")
    b, n, k = self.shape
    check(mat2.shape[:2] == (b, k), lambda: f"Expected size for first two dimensions of batch2 tensor to be: [{b}, "
          f"{k}] but got: {list(mat2.shape[:2])}.", kind="batched matmul shapes")
    _refuse_bool(kernel, self, mat2)
    check(self._dtype is mat2._dtype or not self.numel() or not mat2.numel(),
          lambda: f"expected scalar type {NAMES[self._dtype.name]} but found {NAMES[mat2._dtype.name]}")
    return Spec((b, n, mat2.shape[2]), mat2._dtype)  # which differ where there is nothing to multiply


def _check_addends(self: Tensor, mat1: Any, mat2: Any, shape: tuple[int, int], beta: Any, alpha: Any) -> None:
    """Refuse what cannot be added to a product of matrices, or sums of products of them, of this shape."""
    for name, other in (("self", self), ("mat1", mat1)):
        if other._dtype is not mat2._dtype:
            raise about(RuntimeError(f"{name} and mat2 must have the same dtype, but got {NAMES[other._dtype.name]} "
                                     f"and {NAMES[mat2._dtype.name]}"), "matmul dtypes")
    _check_numbers(opmath(mat1._dtype), beta, alpha)
    _check_expands(self, shape)
    _refuse_bool("addmm_impl_cpu_", mat1, mat2)


def meta_addmm(self: Tensor, mat1: Tensor, mat2: Tensor, beta: Any = 1, alpha: Any = 1) -> Spec:
    check(mat1.ndim == 2, lambda: f"mat1 must be a matrix, got {mat1.ndim}-D tensor", kind="matrices wanted")
    check(mat2.ndim == 2, lambda: f"mat2 must be a matrix, got {mat2.ndim}-D tensor", kind="matrices wanted")
    (n, k), (k2, m) = mat1.shape, mat2.shape
    check(k == k2, lambda: f"mat1 and mat2 shapes cannot be multiplied ({n}x{k} and {k2}x{m})", kind="matmul shapes")
    _check_addends(self, mat1, mat2, (n, m), beta, alpha)
    return Spec((n, m), mat1._dtype)


def _check_dtypes(*tensors: Any) -> None:
    dtypes = [tensor._dtype for tensor in tensors]
    check(len({*dtypes}) == 1,
          lambda: "addmv input tensors must have the same dtype, but got "
                  "{}, {}, and {}".format(*(NAMES[dtype.name] for dtype in dtypes)))


def meta_addmv(self: Tensor, mat: Tensor, vec: Tensor, beta: Any = 1, alpha: Any = 1) -> Spec:
    check(mat.ndim == 2 and vec.ndim == 1 and self.ndim <= 1,
          lambda: f"vector + matrix @ vector expected, got {self.ndim}, {mat.ndim}, {vec.ndim}")
    (n, k), (size,) = mat.shape, self.shape or (1,)
    check(k == vec.shape[0] and size in (n, 1),
          lambda: f"size mismatch, got input ({size}), mat ({n}x{k}), vec ({vec.shape[0]})", kind="matmul vectors")
    _check_dtypes(self, mat, vec)
    _check_numbers(mat._dtype, beta, alpha)
    _refuse_bool("addmv_impl_cpu", mat)
    return Spec((n,), mat._dtype)


def meta_mv(self: Tensor, vec: Tensor) -> Spec:
    self.size(0)  # of which PyTorch makes the output first
    check(self.ndim == 2 and vec.ndim == 1,
          lambda: f"vector + matrix @ vector expected, got 1, {self.ndim}, {vec.ndim}")
    (n, k), (k2,) = self.shape, vec.shape
    check(k == k2, lambda: f"size mismatch, got input ({n}), mat ({n}x{k}), vec ({k2})", kind="matmul vectors")
    _check_dtypes(vec, self, vec)
    _refuse_bool("addmv_impl_cpu", self)
    return Spec((n,), self._dtype)


def meta_addr(self: Tensor, vec1: Tensor, vec2: Tensor, beta: Any = 1, alpha: Any = 1) -> Spec:
    for name, vector in (("vec1", vec1), ("vec2", vec2)):
        if vector.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {vector.ndim}-D")
    dtype, shape = result_type((self, vec1, vec2)), (vec1.shape[0], vec2.shape[0])
    _check_expands(self, shape)
    for name, number in (("beta", beta), ("alpha", alpha)):
        if isinstance(number, bool) and dtype is not bool_:
            raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
        if dtype.category <= INTEGER and not isinstance(number, int):
            raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")
        check_number(dtype, number)
    layouts = ((tuple(self.shape), self._strides()), ((shape[0], 1), (*vec1._strides(), 1)),
               (shape[1:], vec2._strides()))
    return Spec(shape, dtype, iterator_strides(shape, layouts))


def meta_addbmm(self: Tensor, batch1: Tensor, batch2: Tensor, beta: Any = 1, alpha: Any = 1) -> Spec:
    _check_expands(self, (batch1.size(1), batch2.size(2)))
    for name, batch in (("batch1", batch1), ("batch2", batch2)):
        if batch.ndim != 3:
            raise about(RuntimeError(f"{name} must be a 3D tensor"), "matrices wanted")
    (b, n, k), (b2, k2, m) = batch1.shape, batch2.shape
    check(b == b2, lambda: f"batch1 and batch2 must have same number of batches, got {b} and {b2}")
    check(k == k2, lambda: f"Incompatible matrix sizes for bmm ({n}x{k} and {k2}x{m})")
    _check_addends(self, batch1, batch2, (n, m), beta, alpha)
    return Spec((n, m), batch1._dtype)


def meta_baddbmm(self: Tensor, batch1: Tensor, batch2: Tensor, beta: Any = 1, alpha: Any = 1) -> Spec:
    _check_expands(self, (batch1.size(0), batch1.size(1), batch2.size(2)))
    spec = meta_bmm(batch1, batch2, "baddbmm")
    check(self._dtype is batch1._dtype, lambda: f"Input dtypes must be the same, got: input {self.dtype}, batch1: "
          f"{batch1.dtype}, batch2: {batch2.dtype}")
    _check_numbers(opmath(spec.dtype), beta, alpha)
    return spec


def scaled(grad: Tensor, factor: Any) -> Any:
    """Return a gradient times a number's conjugate; itself for 1."""
    return grad if factor == 1 else grad * factor.conjugate()


def adjoint(x: Any) -> Any:
    """Return a batch of matrices, conjugated and transposed."""
    return conj(x.transpose(-2, -1))


def repeated(grad: Tensor, batch: Any) -> Any:
    """Return a matrix expanded to a batch."""
    return grad.unsqueeze(0).expand((batch.shape[0], *grad.shape))


def _is_transposed(shape: Ints, stride: Ints) -> bool:
    """Return True if a matrix is laid out column by column; its gradient is then computed so as well."""
    return stride[0] == 1 and stride[1] == shape[0]


def grad_of_mat1(grad: Tensor, mat2: Any, shape: Any, stride: Any, alpha: Any = 1) -> Any:
    """Return the gradient of the left operand of a matrix product."""
    if _is_transposed(shape, stride):
        return scaled(product(conj(mat2), grad, False, True, True), alpha)
    if alpha == 1:
        return product(grad, conj(mat2), False, True)
    return scaled(product(grad, conj(mat2), False, True), alpha)


def grad_of_mat2(grad: Tensor, mat1: Any, shape: Any, stride: Any, alpha: Any = 1) -> Any:
    """Return the gradient of the right operand of a matrix product."""
    if _is_transposed(shape, stride):
        return scaled(product(grad, conj(mat1), True, False, True), alpha)
    if alpha == 1:
        return product(conj(mat1), grad, True, False)
    return scaled(product(conj(mat1), grad, True, False), alpha)


def product_batch_rule(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """Matrix products, for which ``matmul`` knows batches."""
    registry.meta_rows[op.name](*args[:2])  # check the shapes of one element
    left, right = (lowered(arg, frame) for arg in args[:2])
    if op.packet == "dot":
        return (left * right).sum(-1, dtype=left._dtype)  # integers stay as they are
    if op.packet == "mv":
        return left.matmul(right.unsqueeze(-1)).squeeze(-1)
    return left.matmul(right)


def multiple(value: Any, factor: Any) -> Any:
    """Return a tensor times a number; itself for 1."""
    return value if factor == 1 else value * factor


def added_batch_rule(product: Callable[[Any, Any], Any]) -> Rule:
    """``beta * self + alpha * (left @ right)``; a factor of 0 leaves out what it multiplies."""

    def sums(self: Tensor, left: Any, right: Any, beta: Any = 1, alpha: Any = 1) -> Any:
        found = multiple(product(left, right), alpha)
        return found + multiple(self, beta) if beta != 0 else found

    return composed(sums, checks=True)


operator("mm", meta_mm, batching=product_batch_rule, autocast="lower",
         self=lambda grad, mat2, self_shape, self_stride: grad_of_mat1(grad, mat2, self_shape, self_stride),
         mat2=lambda grad, self, mat2_shape, mat2_stride: grad_of_mat2(grad, self, mat2_shape, mat2_stride))
operator("bmm", meta_bmm, batching=product_batch_rule, autocast="lower",
         self=lambda grad, mat2: bmm(grad, adjoint(mat2)),
         mat2=lambda grad, self: bmm(adjoint(self), grad))
operator("mv", meta_mv, batching=product_batch_rule, autocast="npu lower",
         self=lambda grad, vec: outer(grad, conj(vec)),
         vec=lambda grad, self: mv(conj(t(self)), grad))
operator("addmm", meta_addmm, batching=added_batch_rule(mm), autocast="lower",
         self=lambda grad, self_shape, beta: scaled(reduce_grad(grad, self_shape), beta),
         mat1=lambda grad, mat2, mat1_shape, mat1_stride, alpha:
             grad_of_mat1(grad, mat2, mat1_shape, mat1_stride, alpha),
         mat2=lambda grad, mat1, mat2_shape, mat2_stride, alpha:
             grad_of_mat2(grad, mat1, mat2_shape, mat2_stride, alpha))
operator("addmv", meta_addmv, batching=added_batch_rule(mv), autocast="npu lower",
         self=lambda grad, beta: scaled(grad, beta),
         mat=lambda grad, vec, alpha: scaled(outer(grad, conj(vec)), alpha),
         vec=lambda grad, mat, alpha: scaled(mv(conj(t(mat)), grad), alpha))
operator("addbmm", meta_addbmm, batching=added_batch_rule(lambda left, right: bmm(left, right).sum(0)),
         autocast="lower", self=lambda grad, beta: scaled(grad, beta),
         batch1=lambda grad, batch2, alpha: scaled(bmm(repeated(grad, batch2), adjoint(batch2)), alpha),
         batch2=lambda grad, batch1, alpha: scaled(bmm(adjoint(batch1), repeated(grad, batch1)), alpha))
operator("baddbmm", meta_baddbmm, batching=added_batch_rule(bmm), autocast="lower",
         self=lambda grad, beta: scaled(grad, beta),
         batch1=lambda grad, batch2, alpha: scaled(bmm(grad, adjoint(batch2)), alpha),
         batch2=lambda grad, batch1, alpha: scaled(bmm(adjoint(batch1), grad), alpha))
operator("addr", meta_addr, batching=added_batch_rule(lambda left, right: left.unsqueeze(1) * right),
         autocast="npu lower", self=lambda grad, beta: scaled(grad, beta),
         vec1=lambda grad, vec2, alpha: scaled(mv(grad, conj(vec2).to(grad.dtype)), alpha),
         vec2=lambda grad, vec1, alpha: scaled(mv(t(grad), conj(vec1).to(grad.dtype)), alpha))

schemas("""
function, method, out, exact dtype:
    dot(Tensor self, Tensor tensor) -> Tensor  # The sum of the products of the elements of two vectors, `self` and `tensor`.
    vdot(Tensor self, Tensor other) -> Tensor  # The sum of the products of the complex conjugate of the vector `self` and the vector `other`.
out, exact dtype, no overlap:
    linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor  # The cross product of the vectors of three elements that lie along `dim` in `self` and `other`.
function:
    _trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, int[] sumdim, int unroll_dim=1) -> Tensor  # The sum, over the dimensions `sumdim`, of the product of `i1`, `i2` and `i3`, each with dimensions of size one inserted.
""")  # noqa: E501


def meta_dot(self: Tensor, tensor: Tensor) -> Spec:
    check(self.ndim == 1 and tensor.ndim == 1,
          lambda: f"1D tensors expected, but got {self.ndim}D and {tensor.ndim}D tensors")
    check(self._dtype is tensor._dtype, lambda: "dot : expected both vectors to have same dtype, but found "
          f"{NAMES[self._dtype.name]} and {NAMES[tensor._dtype.name]}")
    n, m = self.shape[0], tensor.shape[0]
    check(n == m, lambda: f"inconsistent tensor size, expected tensor [{n}] and src [{m}] to have the same number of "
          f"elements, but got {n} and {m} elements respectively", kind="matmul vectors")
    check_takes(self._dtype is not bool_, "dot", bool_)
    return Spec((), self._dtype)


def vdot_of_elements(self: Tensor, other: Tensor) -> Tensor:
    meta_dot(self, other)
    return (self.conj() * other).sum(dtype=self._dtype)


def meta_linalg_cross(self: Tensor, other: Tensor, dim: int = -1) -> Spec:
    check(self.ndim == other.ndim, "linalg.cross: inputs must have the same number of dimensions.")
    self.size(dim)
    dim = wrap_dim(dim, self.ndim)
    lengths = [t.shape[dim] if t.ndim else 1 for t in (self, other)]
    check(lengths == [3, 3],
          lambda: f"linalg.cross: inputs dimension {dim} must have length 3. Got {lengths[0]} and {lengths[1]}")
    shape = broadcast_shapes(self.shape, other.shape)
    check_takes(self._dtype is not bool_, "cross", bool_)
    check(self._dtype is other._dtype,
          lambda: f"expected scalar type {NAMES[self._dtype.name]} but found {NAMES[other._dtype.name]}")
    return Spec(shape, self._dtype)


def meta_trilinear(i1: Any, i2: Any, i3: Any, expand1: Any, expand2: Any, expand3: Any, sumdim: Any, unroll_dim: int =
                   1) -> Spec:
    operands = ((i1, expand1), (i2, expand2), (i3, expand3))
    shape = broadcast_shapes(*(unsqueezed(t.shape, dims) for t, dims in operands))
    return Spec(tuple(n for d, n in enumerate(shape) if d not in sumdim), i1._dtype)


def unsqueezed(shape: Any, dims: Any) -> tuple[int, ...]:
    """Return a shape with dimensions of size 1 inserted at these places."""
    rest = iter(shape)
    return tuple(1 if d in dims else next(rest) for d in range(len(shape) + len(dims)))


def decomposed_trilinear(i1: Any, i2: Any, i3: Any, expand1: Any, expand2: Any, expand3: Any, sumdim: Any, unroll_dim:
                         int = 1) -> Any:
    """Return the sum over ``sumdim`` of the product of three tensors, each with the dimensions ``expand`` inserted."""
    operands = []
    for operand, dims in ((i1, expand1), (i2, expand2), (i3, expand3)):
        for d in sorted(dims):
            operand = operand.unsqueeze(d)
        operands.append(operand)
    return (operands[0] * operands[1] * operands[2]).sum(list(sumdim), dtype=i1.dtype)


operator("dot", meta_dot, batching=product_batch_rule, autocast="npu promote",
         self=lambda grad, tensor: grad * conj(tensor),
         tensor=lambda grad, self: grad * conj(self))
operator("vdot", meta_dot, batching=composed(vdot_of_elements), autocast="npu promote",
         self=lambda grad, other: conj(grad) * other,
         other=lambda grad, self: grad * self)
operator("linalg_cross", meta_linalg_cross, batching=along_dimensions,
         self=lambda grad, other, dim: cross(conj(other), grad, dim),
         other=lambda grad, self, dim: cross(grad, conj(self), dim))
operator("_trilinear", meta_trilinear, batching=composed(decomposed_trilinear),
         i1=lambda grad, i2, i3, expand1, expand2, expand3, sumdim:
             trilinear(grad, conj(i2), conj(i3), sumdim, expand2, expand3, expand1),
         i2=lambda grad, i1, i3, expand1, expand2, expand3, sumdim:
              trilinear(conj(i1), grad, conj(i3), expand1, sumdim, expand3, expand2),
         i3=lambda grad, i1, i2, expand1, expand2, expand3, sumdim:
              trilinear(conj(i1), conj(i2), grad, expand1, expand2, sumdim, expand3))

schemas("""
out, exact dtype:
    linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor  # The product of `input` and the transpose of `weight`, plus `bias`.
    linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor  # The dot product of the vectors that lie along `dim` in `x`, conjugated, and in `y`.
""")  # noqa: E501


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``torch.nn.functional.linear``: ``input @ weight.T + bias`` over the last dimension."""
    ndim = input.ndim
    if ndim == 2 and (weight.ndim == 2 or bias is not None):
        return mm(input, t(weight)) if bias is None else addmm(bias, input, t(weight))
    check(ndim and weight.ndim,
          lambda: f"both arguments to linear need to be at least 1D, but they are {ndim}D and {weight.ndim}D")
    if bias is not None and bias.ndim and input.is_contiguous() and (
            weight.ndim == 1 or bias.numel() == weight.shape[0]):
        rows = input.view((prod(input.shape[:-1]), input.shape[-1]))
        return addmm(bias, rows, t(weight)).view((*input.shape[:-1], weight.shape[0]))
    product = input.matmul(t(weight))
    return product if bias is None else product.add_(bias)


def linalg_vecdot(x: Tensor, y: Tensor, dim: int = -1) -> Tensor:
    """``torch.linalg.vecdot``: ``sum(conj(x) * y)`` over a dimension."""
    for name, value in (("x", x), ("y", y)):
        if value._dtype.category < FLOATING:
            raise RuntimeError("linalg.vecdot: Expected a floating point or complex tensor as input. Got "
                               f"{NAMES[value._dtype.name]} for {name}")
    check_same_dtype("linalg.vecdot", x, y, ("x", "y"))
    if x.ndim == y.ndim == 1:
        return vdot(x, y)
    return ((x.conj() if x.is_complex() else x) * y).sum((dim,))


operator("linear", composite=linear,
         batching=composed(lambda x, weight, bias=None: linear(x, weight, bias) if x.ndim == 2 else
                           x @ weight.t() if bias is None else x @ weight.t() + bias),
         autocast="lower")
operator("linalg_vecdot", composite=linalg_vecdot, autocast="lower")

schemas("""
out, exact dtype:
    tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor  # The sum of the products of `self` and `other` over the dimensions `dims_self` of the one and `dims_other` of the other.
function, method, out, exact dtype:
    inner(Tensor self, Tensor other) -> Tensor  # The sum of the products of `self` and `other` over the last dimension of both.
""")  # noqa: E501

Ints = tuple[int, ...]


def inner(self: Any, other: Any) -> Any:
    """``torch.inner``: products over the last dimensions of both."""
    if not self.ndim or not other.ndim:
        return self * other
    check(self.shape[-1] == other.shape[-1], lambda: "inner() the last dimension must match on both input tensors but "
          f"got shapes {list(self.shape)} and {list(other.shape)}")
    return tensordot(self, other, (-1,), (-1,))


def tensordot(self: Any, other: Any, dims_self: Ints, dims_other: Ints) -> Any:
    """``torch.tensordot``: products over these dimensions of both, as one product of matrices."""
    check(len(dims_self) == len(dims_other),
          lambda: f"both dimension lists should have same length, got {list(dims_self)} and {list(dims_other)}")
    check(self._dtype is other._dtype,
          lambda: f"both inputs should have same dtype, got {self.dtype} and {other.dtype}")
    left, right, size = self, other, 1
    for d, e in zip(dims_self, dims_other, strict=True):
        n, m = self.size(d), other.size(e)
        if m == 1:
            left = left.sum(d, keepdim=True, dtype=left.dtype)
        elif n == 1:
            right = right.sum(e, keepdim=True, dtype=right.dtype)
        else:
            if n != m:
                raise RuntimeError(f"contracted dimensions need to match, but first has size {n} in dim {d} and second "
                                   f"has size {m} in dim {e}")
            size *= n
    wrap_dims(dims_self, self.ndim)  # raises for one that is repeated
    wrap_dims(dims_other, other.ndim)
    inside = tuple(wrap_dim(d, self.ndim) for d in dims_self)
    other_inside = tuple(wrap_dim(d, other.ndim) for d in dims_other)
    outside = tuple(d for d in range(self.ndim) if d not in inside)
    other_outside = tuple(d for d in range(other.ndim) if d not in other_inside)
    shape = (*(left.shape[d] for d in outside), *(right.shape[d] for d in other_outside))
    left, right = left.permute(outside + inside), right.permute(other_inside + other_outside)
    if not shape:
        if left.ndim == right.ndim == 1:
            return dot(left, right).view(())
        return (left.squeeze() * right.squeeze()).sum(dtype=left.dtype).reshape(())
    rows, columns = prod(shape[:len(outside)]), prod(shape[len(outside):])
    if rows == columns == 1:
        return dot(left.reshape((size,)), right.reshape((size,))).view(shape)
    return mm(left.reshape((rows, size)), right.reshape((size, columns))).reshape(shape)


composites(inner)
operator("tensordot", composite=tensordot, autocast="npu promote")

schemas("""
out, exact dtype:
    linalg_multi_dot(Tensor[] tensors) -> Tensor  # The matrix product of all `tensors`, in the order of multiplications that takes the fewest steps.
out:
    chain_matmul(Tensor[] matrices) -> Tensor  # The matrix product of all `matrices`, in the order of multiplications that takes the fewest steps.
""")  # noqa: E501


def linalg_multi_dot(tensors: list[Any]) -> Any:
    """``torch.linalg.multi_dot``: the product of matrices in the cheapest order; the first and last may be vectors."""
    count = len(tensors)
    check(count >= 2, lambda: f"multi_dot(): expected at least 2 tensors but got {count}")
    first, *middle, last = tensors
    for i, (name, x) in enumerate((("first", first), ("last", last))):
        if x.ndim not in (1, 2):
            raise RuntimeError(f"multi_dot(): the {name} tensor must be 1D or 2D but got {x.ndim}D (tensor "
                               f"{i * (count - 1)})")
    for i, x in enumerate(middle, 1):
        if x.ndim != 2:
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {x.ndim}D")
    shape = (*first.shape[:-1], *last.shape[1:])
    matrices = [first.unsqueeze(0) if first.ndim == 1 else first, *middle,
                last.unsqueeze(-1) if last.ndim == 1 else last]
    for i, (a, b) in enumerate(pairwise(matrices)):
        if a._dtype is not b._dtype:
            raise RuntimeError(f"multi_dot(): all tensors must have be the same dtype but tensor {i} is {a.dtype} and "
                               f"tensor {i + 1} {b.dtype}")
        if a._device != b._device:
            raise RuntimeError(f"multi_dot(): all tensors must be on the same device but tensor {i} is on {a.device} "
                               f"and tensor {i + 1} on {b.device}")
        if a.shape[1] != b.shape[0]:
            raise RuntimeError(f"multi_dot(): tensors {i} and {i + 1} with shapes {list(tensors[i].shape)} and "
                               f"{list(tensors[i + 1].shape)} cannot be multiplied")
    if count == 2:
        return mm(*matrices).view(shape)
    if count == 3:
        return _product_of_three(*matrices).view(shape)
    split = _cheapest_order([x.shape[0] for x in matrices] + [matrices[-1].shape[1]])
    return _chain(matrices, split, 0, count - 1).view(shape)


def _product_of_three(a: Any, b: Any, c: Any) -> Any:
    (n, k), (m, p) = a.shape, c.shape
    left_first, right_first = (n * m) * (k + p), (k * p) * (n + m)
    return mm(mm(a, b), c) if left_first <= right_first else mm(a, mm(b, c))


def _cheapest_order(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Return for each stretch (i, j) of a chain the matrix after which to split it (Cormen et al., 15.2)."""
    count = len(sizes) - 1
    cost = {(i, i): 0 for i in range(count)}
    split = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            cost[i, j], split[i, j] = min((cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                                          for k in range(i, j))
    return split


def _chain(matrices: list[Any], split: dict[tuple[int, int], int], i: int, j: int) -> Any:
    if i == j:
        return matrices[i]
    return mm(_chain(matrices, split, i, split[i, j]), _chain(matrices, split, split[i, j] + 1, j))


def chain_matmul(matrices: list[Any]) -> Any:
    """``torch.chain_matmul``: the product of matrices in the cheapest order."""
    warn_once("torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use "
              "torch.linalg.multi_dot instead, which accepts a list of two or more tensors rather than multiple "
              "parameters.")
    for i, x in enumerate(matrices):
        if x.ndim != 2:
            raise RuntimeError(f"Tensor dimension is {x.ndim}, expected 2 instead (argument {i} of chain_matmul)")
    check(matrices, "chain_matmul(): Expected one or more matrices")
    return matrices[0].clone() if len(matrices) == 1 else linalg_multi_dot(matrices)


operator("linalg_multi_dot", composite=linalg_multi_dot, autocast="npu lower")
operator("chain_matmul", composite=chain_matmul, autocast="npu lower")

schemas("""
out:
    linalg_matmul(Tensor self, Tensor other) -> Tensor  # The matrix product of `self` and `other`, as of `matmul`.
    linalg_matrix_power(Tensor self, int n) -> Tensor  # The matrix `self` multiplied `n` times with itself; for a negative `n`, its inverse.
function, method, out, exact dtype:
    matmul(Tensor self, Tensor other) -> Tensor  # The product of `self` and `other`: of vectors the dot product, of matrices the matrix product, of more dimensions that of each two matrices, broadcast.
function, method, out:
    matrix_power(Tensor self, int n) -> Tensor  # The matrix `self` multiplied `n` times with itself; for a negative `n`, its inverse.
""")  # noqa: E501


def matmul(self: Any, other: Any) -> Any:
    """``torch.matmul``: by ``dot``, ``mv`` or ``mm`` where it can be, with batch dimensions folded; else by ``bmm``."""
    ndim, other_ndim = self.ndim, other.ndim
    check(ndim and other_ndim, lambda: f"both arguments to matmul need to be at least 1D, but they are {ndim}D and "
          f"{other_ndim}D", kind="no dimensions")
    if ndim == 2 and other_ndim == 2:
        return mm(self, other)
    if ndim == 1 and other_ndim == 1:
        return dot(self, other)
    if ndim == 2 and other_ndim == 1:
        return mv(self, other)
    if ndim == 1 and other_ndim == 2:
        return mm(self.unsqueeze(0), other).squeeze_(0)
    if _folds(self, other):
        return _folded(self, other)
    return _batched(self, other)


def _folds(self: Tensor, other: Any) -> bool:
    """Return True if matmul should fold the batch into rows: to avoid a copy, or a batched gradient."""
    swapped = other.ndim > self.ndim
    many, one = (other, self) if swapped else (self, other)
    if many.ndim < 3 or one.ndim > 2:
        return False
    if one._keys & AUTOGRAD:
        return True
    if self.ndim == 2:
        return False
    shape, stride = list(many.shape), list(many._strides())
    if swapped:
        shape[-2:], stride[-2:] = shape[:-3:-1], stride[:-3:-1]
    return 0 in shape or all(stride[d] == stride[d + 1] * shape[d + 1] for d in range(len(shape) - 2))


def _folded(self: Tensor, other: Any) -> Any:
    swapped = other.ndim > self.ndim
    many, one = (other.mT, t(self) if self.ndim == 2 else self) if swapped else (self, other)
    batch = tuple(many.shape[:-1])
    rows = many.reshape((prod(batch), many.shape[-1]))
    if one.ndim == 1:
        return _unsafe_view(mv(rows, one), batch)
    out = _unsafe_view(mm(rows, one), (*batch, one.shape[1]))
    return out.mT.contiguous() if swapped else out


def _batched(self: Tensor, other: Any) -> Any:
    if self.ndim == other.ndim == 3 and self.shape[0] == other.shape[0] and is_unseen(self, other):
        return bmm(self, other)  # nothing sees that it is not made of views
    if self.ndim == other.ndim == 3 and self.shape[0] != other.shape[0]:
        if self.shape[0] == 1 and self._keys & AUTOGRAD:
            return matmul(self.squeeze(0), other)
        if other.shape[0] == 1 and other._keys & AUTOGRAD:
            return matmul(self, other.squeeze(0))
    rows = tuple(self.shape[-2:]) if self.ndim > 1 else (1, *self.shape)
    columns = tuple(other.shape[-2:])
    batch = broadcast_shapes(self.shape[:-2], other.shape[:-2])
    left = self.expand((*batch, *rows)).reshape((prod(batch), *rows))
    right = other.expand((*batch, *columns)).reshape((prod(batch), *columns))
    shape = batch + rows[:-1] * (self.ndim > 1) + columns[1:]
    if other.ndim > 1:
        return _unsafe_view(bmm(left, right), shape)
    return _unsafe_view(bmm(left, right.unsqueeze(2)).squeeze(-1), shape)


def linalg_matrix_power(self: Any, n: int) -> Any:
    """``torch.linalg.matrix_power``: a product of ``n`` of these matrices, or of their inverses, by squaring."""
    check_square("linalg.matrix_power", self)
    if n == 0:
        unit = eye(self.shape[-1], dtype=self.dtype, device=self.device).expand(tuple(self.shape))
        return clone(self, "contiguous_format").copy_(unit)
    if n == 1:
        return clone(self, "contiguous_format")
    base = inverse(self) if n < 0 else self
    n = abs(n)
    if n == 3:
        return matmul(matmul(base, base), base)
    result = None
    while n:
        if n % 2:
            result = base if result is None else matmul(result, base)
        n //= 2
        if n:
            base = matmul(base, base)
    return result


operator("linalg_matmul", composite=matmul)
operator("linalg_matrix_power matrix_power", composite=linalg_matrix_power)
operator("matmul", composite=matmul, autocast="lower")

schemas("""
function:
    bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor  # For each output feature, the product of `input1`, a matrix of `weight` and `input2`, plus `bias`.
    vander(Tensor x, int? N=None, bool increasing=False) -> Tensor  # The matrix whose `N` columns are powers of the vector `x`, from the highest to 0, or the other way round if `increasing`.
function, method, out, exact dtype:
    cross(Tensor self, Tensor other, int? dim=None) -> Tensor  # The cross product of the vectors of three elements that lie along `dim`, or else along the first dimension of size three, in `self` and `other`.
""")  # noqa: E501


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``torch.nn.functional.bilinear``: ``input1 @ weight[k] @ input2 + bias[k]`` for each k."""
    operands = {"input1": input1, "input2": input2, "weight": weight, "bias": bias}
    dtypes = {name: operand.dtype for name, operand in operands.items() if operand is not None}
    check(len({*dtypes.values()}) == 1, lambda: "All tensors must have the same dtype, got "
          + ", ".join(f"{name}: {dtype}" for name, dtype in dtypes.items()))
    check(input1.ndim == input2.ndim,
          lambda: f"bilinear(): input dimensions do not match: got {input1.ndim} and {input2.ndim}")
    for d, (size1, size2) in enumerate(zip(input1.shape[:-1], input2.shape[:-1], strict=True)):
        if size1 != size2:
            raise RuntimeError(f"bilinear(): input batch dimensions do not match at dim {d}: got {size1} and {size2}")
    for name, given, d in (("input1", input1.size(-1), 1), ("input2", input2.size(-1), 2)):
        if given != weight.size(d):
            raise RuntimeError(f"bilinear(): {name} size does not match weight size: got {given} but expected "
                               f"{weight.size(d)}")
    check(weight.ndim == 3, "number of dimensions must match")
    outputs, size1, size2 = weight.shape
    if bias is not None:
        check(bias.size(0) == outputs,
              lambda: f"bilinear(): bias size does not match weight size: got {bias.size(0)} but expected {outputs}")
    rows1, rows2 = input1.reshape((-1, size1)), input2.reshape((-1, size2))
    out = trilinear(rows1, weight, rows2, (1, 3), (0,), (1, 2), (2, 3), 1)
    out = out.reshape((*input1.shape[:-1], outputs))
    return out if bias is None else out + bias


def composite_cross(self: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """``torch.cross``: over ``dim``, or the first dimension of size 3."""
    if dim is None:
        warnings.warn("Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass "
                      "the dim explicitly or simply use torch.linalg.cross.\nThe default value of dim will "
                      "change to agree with that of linalg.cross in a future release.", stacklevel=2)
        dim = next((d for d, n in enumerate(self.shape) if n == 3), None)
        check(dim is not None, lambda: f"no dimension of size 3 in input, got shape {list(self.shape)}")
    return linalg_cross(self, other, dim)


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """``torch.vander``: rows of the powers N - 1 to 0 of each element of a vector."""
    check(x.ndim == 1, lambda: f"x must be a one-dimensional tensor, got {x.ndim}-D")
    n = x.shape[0] if N is None else N
    check(n >= 0, lambda: f"N must be non-negative, got {n}")
    powers = x.new_empty((x.shape[0], n), dtype=promote_types(x._dtype, int64))
    if n:
        powers.select(1, 0).fill_(1)
    if n > 1:
        powers.narrow(1, 1, n - 1).copy_(x.unsqueeze(1))
        powers.narrow(1, 1, n - 1).copy_(powers.narrow(1, 1, n - 1).cumprod(1))
    return powers if increasing else powers.flip((1,))


composites(vander)
operator("bilinear", composite=bilinear, autocast="npu promote")
operator("cross", composite=composite_cross, autocast="npu promote")

schemas("""
function, method, out:
    outer(Tensor self, Tensor vec2) -> Tensor  # The product of each element of the vector `self` with each of `vec2`.
    ger(Tensor self, Tensor vec2) -> Tensor  # The product of each element of the vector `self` with each of `vec2`; another name for `outer`.
    kron(Tensor self, Tensor other) -> Tensor  # The Kronecker product: a block for each element of `self`, which is that element times `other`.
operator only:
    linalg_vander(Tensor x, *, int? N=None) -> Tensor  # The matrix whose `N` columns are the powers of the vector `x` from 0 on.
function:
    norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor  # The norms of order `pow` of `v` over all dimensions but `dim`, which are kept with size 1; over all if `dim` is -1.
    _weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor  # `v` scaled so that its norms over all dimensions but `dim` are `g`.
""")  # noqa: E501


def composite_outer(self: Tensor, vec2: Tensor) -> Tensor:
    """``torch.outer``: all products of the elements of two vectors."""
    for name, vector in (("self", self), ("vec2", vec2)):
        if vector.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {vector.ndim}-D")
    return self.reshape((self.shape[0], 1)) * vec2


def kron(self: Tensor, other: Tensor) -> Tensor:
    """``torch.kron``: each element of ``self`` times all of ``other``, side by side."""
    ndim = max(self.ndim, other.ndim)
    a, b = ((1,) * (ndim - x.ndim) + tuple(x.shape) for x in (self, other))
    left = _unsafe_view(self, tuple(n for size in a for n in (size, 1)))
    right = _unsafe_view(other, tuple(n for size in b for n in (1, size)))
    return _unsafe_view(left * right, tuple(n * m for n, m in zip(a, b, strict=True)))


def linalg_vander(x: Tensor, N: int | None = None) -> Tensor:
    """``torch.linalg.vander``: rows of the powers 0 to N - 1 of each element."""
    check(x._dtype is not bool_ and x._dtype.name not in ("float16", "bfloat16"), lambda: "linalg.vander supports "
          f"floating point, complex, and integer tensors, but got {NAMES[x._dtype.name]}")
    n = x.size(-1) if N is None else N
    check(n > 1, lambda: f"N must be greater than 1, got {n}")
    x = x if x.ndim else x.unsqueeze(0)
    powers = x.unsqueeze(-1).expand((*x.shape, n - 1)).cumprod(-1)
    return cat([ones((*x.shape, 1), dtype=powers.dtype, device=x.device), powers], -1)


def composite_norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """Return the norms of order ``pow`` over all dimensions but ``dim``; over all if it is -1."""
    if dim == -1:
        return v.norm(pow)
    if dim == 0:
        return v.contiguous().view((v.size(0), -1)).norm(pow, 1).view((v.size(0), *[1] * (v.ndim - 1)))
    if dim == v.ndim - 1:
        return v.contiguous().view((-1, v.size(-1))).norm(pow, 0).view((*[1] * (v.ndim - 1), v.size(-1)))
    return composite_norm_except_dim(v.transpose(0, dim), pow, 0).transpose(0, dim)


def _weight_norm(v: Any, g: Any, dim: int = 0) -> Any:
    check(v.device == g.device,
          lambda: f"weight_norm: expected v and g to be on the same device, but v is on {v.device} and g on {g.device}")
    if dim in (0, v.ndim - 1) and v._dtype.itemsize != 2:
        return _weight_norm_interface(v.contiguous(), g.contiguous(), dim)[0]
    return v * (g / composite_norm_except_dim(v, 2, dim))


composites(kron, linalg_vander, _weight_norm)
operator("outer ger", composite=composite_outer)
operator("norm_except_dim", composite=composite_norm_except_dim)

schemas("""
function:
    _weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor result0, Tensor result1)  # `v` scaled so that its norms over all dimensions but `dim`, the first or the last, are `g`; and the norms that it had.
""")  # noqa: E501


def weight_norm_interface(v: Any, g: Any, dim: int = 0) -> tuple[Spec, Spec]:
    check(dim in (0, v.ndim - 1), "fused kernels can only be applied for first or last dim")
    return Spec(tuple(v.shape), v._dtype), Spec(tuple(g.shape), g._dtype)


def weight_norm_grads(grad: Tensor, v: Any, g: Any, dim: int, result1: Any) -> tuple[Any, Any]:
    # in grad mode the norms are computed anew, so that they have a derivative
    norms = norm_except_dim(v, 2, dim) if differentiates(grad, v) else result1
    along = (grad * v).sum(tuple(d for d in range(v.ndim) if d != dim), True).view(g.shape)
    return g / norms * (grad - v * (along / (norms * norms))), along / norms


operator("_weight_norm_interface", weight_norm_interface, outputs=(0,), jointly={"v, g": weight_norm_grads})
