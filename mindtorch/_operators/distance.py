"""Norms as torch.norm has them, and distances. The overload ``norm.python`` is PyTorch's Python function."""
from __future__ import annotations

from math import inf
from typing import Any

from .._autograd.grad_mode import no_grad
from .._backends.common.pointwise import result_type
from .._base.errors import NAMES, check, check_takes
from .._base.layout import Spec, broadcast_shapes, like_strides, wrap_dim, wrap_dims
from .._dispatch.aten import (
    _cdist_backward as cdist_backward, _cdist_forward as cdist_forward, _euclidean_dist,
    _pdist_backward as pdist_backward, _pdist_forward as pdist_forward, add_Scalar, clamp_min,
    linalg_matrix_norm_str_ord, linalg_vector_norm as vector_norm, norm_ScalarOpt_dim, scalar_tensor,
)
from .._dispatch.dispatcher import is_unseen
from .._dtype import FLOATING, bfloat16, float16, float32
from .._tensor import Tensor
from .._transforms.batching.rules import along_dimensions, composed, each_element, trailing
from . import composites, operator, schemas
from .core import like_input
from .pointwise import check_sub, not_implemented
from .reduction import check_norm_of_nothing, meta_linalg_vector_norm, norm_grad, reduced_shape

schemas("""
function, method, out, exact dtype:
    norm.python(Tensor self, Any p="fro", int[1]? dim=None, bool keepdim=False, ScalarType? dtype=None) -> Tensor  # The `p`-norm of `self` over the dimensions `dim`, or over all elements; for 'fro' the 2-norm, for 'nuc' the sum of a matrix's singular values.
out, exact dtype, explicit:
    norm.Scalar(Tensor self, Scalar p=2) -> Tensor
out, exact dtype:
    norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor
function, method:
    dist(Tensor self, Tensor other, Scalar p=2) -> Tensor  # The `p`-norm of `self` minus `other`.
function, method, in-place, out, exact dtype:
    renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor  # `self` with each slice along `dim` whose `p`-norm exceeds `maxnorm` scaled down to it.
""")  # noqa: E501


def check_norm(dtype: Any) -> None:
    check(dtype.category >= FLOATING,
          lambda: f"norm(): input dtype should be either floating point or complex. Got {NAMES[dtype.name]} instead.")


def meta_norm(self: Tensor, p: Any, dim: Any, keepdim: bool = False) -> Spec:
    check_norm(self._dtype)
    check_norm_of_nothing(self, 2 if p is None else p, dim)
    return Spec(reduced_shape(self.shape, wrap_dims(dim, self.ndim), keepdim), self._dtype.to_real())


def meta_dist(self: Tensor, other: Tensor, p: Any = 2) -> Spec:
    dtype = result_type((self, other))
    check_sub(dtype, self, other)
    check(not isinstance(p, complex), "linalg.vector_norm: Expected a non-complex scalar as the order of norm.")
    check_norm(dtype)
    shape = broadcast_shapes(self.shape, other.shape)
    check(0 not in shape or 0 <= p < inf, lambda: f"linalg.vector_norm cannot compute the {p} norm on an empty tensor "
          "because the operation does not have an identity")
    return Spec((), dtype.to_real())


def meta_renorm(self: Tensor, p: Any, dim: int, maxnorm: Any) -> Spec:
    check(not isinstance(p, complex), "renorm: p must be real-valued")
    check(p > 0, "renorm: non-positive-norm not supported")
    check(not isinstance(maxnorm, complex), "renorm: maxnorm must be real-valued")
    check(maxnorm >= 0, lambda: f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    check(self.ndim > 1, lambda: f"renorm: input needs at least 2 dimensions, got {self.ndim} dimensions")
    kept = wrap_dim(dim, self.ndim)
    meta_linalg_vector_norm(self, p, [d for d in range(self.ndim) if d != kept])
    return Spec(tuple(self.shape), self._dtype)


def norm(self: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """``torch.norm``: a vector norm, or for 'nuc' the nuclear norm of a matrix."""
    if p == "nuc":
        dim = (-2, -1) if dim is None else dim
        return linalg_matrix_norm_str_ord(self, "nuc", dim, keepdim, dtype)
    check(not isinstance(p, str) or p == "fro", lambda: f"only valid string values are 'fro' and 'nuc', found {p}")
    return vector_norm(self, 2 if p is None or p == "fro" else p, dim, keepdim, dtype)


def renorm_grad(grad: Tensor, self: Tensor, p: Any, dim: int, maxnorm: Any) -> Any:
    """Return the gradient of ``renorm``: the rows that were scaled down depend on their norm, too."""
    others = tuple(d for d in range(self.ndim) if d != dim % self.ndim)
    norm = vector_norm(self, p, others, True, None)
    product = (self.conj() * grad).sum(others, True)
    through_norm = norm_grad(product.real if product.is_complex() else product, self, p, norm, others, True)
    inverse = (norm + 1e-7).reciprocal()
    return (maxnorm * inverse * (grad - inverse * through_norm)).where(norm > maxnorm, grad)


def decomposed_renorm(self: Any, p: Any, dim: int, maxnorm: Any) -> Any:
    """``renorm``: slices along a dimension whose norm is too large, made as large as they may be."""
    norms = vector_norm(self, p, [d for d in range(self.ndim) if d != dim % self.ndim], True, None)
    return self * (maxnorm / (norms + 1e-7)).where(norms > maxnorm, 1)


def decomposed_dist(self: Tensor, other: Tensor, p: Any = 2) -> Tensor:
    """``dist``: the norm of the difference."""
    return vector_norm(self - other, p, None, False, None)


operator("norm.python", composite=norm, autocast="npu float32")
operator("norm.Scalar", composite=lambda self, p=2: norm_ScalarOpt_dim(self, p, []))
operator("norm.ScalarOpt_dim", meta_norm, batching=along_dimensions, autocast="npu float32", node="NormBackward1",
         self=lambda grad, self, p, result, dim, keepdim: (
             norm_grad(grad, self, 2 if p is None else p, result, dim, keepdim)))
operator("dist", meta_dist, batching=composed(decomposed_dist), autocast="npu float32",
         self=lambda grad, self, other, p, result: norm_grad(grad, self - other, p, result),
         other=lambda grad, self, other, p, result: -norm_grad(grad, self - other, p, result))
operator("renorm", meta_renorm, batching=composed(decomposed_renorm), autocast="npu float32", self=renorm_grad)

schemas("""
function:
    pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=1e-06, bool keepdim=False) -> Tensor  # The `p`-norm of `x1` minus `x2` plus `eps`, over the last dimension.
    cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor  # The cosine of the angle between `x1` and `x2` along `dim`, with `eps` as the smallest length that is divided by.
""")  # noqa: E501


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """``torch.pairwise_distance``: the p-norm of the rows' differences plus ``eps``."""
    away = add_Scalar(x1 - x2, eps)
    return norm_ScalarOpt_dim(away, p, (max(x1.ndim, x2.ndim) - 1,), keepdim)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """``torch.cosine_similarity``: the product of the vectors over their norms, each at least ``eps``."""
    dtype = result_type((x1, x2))
    check(dtype.category == FLOATING,
          lambda: f"expected common dtype to be floating point, yet common dtype is {NAMES[dtype.name]}")
    check(eps >= 0, lambda: f"eps must be non-negative, got: {eps:g}")
    if x1.shape == x2.shape and x1._dtype is x2._dtype and is_unseen(x1, x2):
        lengths = [clamp_min(vector_norm(x, 2, (dim,), True), eps) for x in (x1, x2)]
        return (x1 / lengths[0] * (x2 / lengths[1])).sum(dim)
    shape = broadcast_shapes(x1.shape, x2.shape)
    x1, x2 = (x if x._dtype.category == FLOATING else x.to(dtype) for x in (x1, x2))
    x1, x2 = (x if x.shape == shape else x.expand(shape) for x in (x1, x2))
    norms = [vector_norm(x, 2, (dim,), True).clone() for x in (x1, x2)]
    with no_grad():
        least = scalar_tensor(eps, dtype, None, x1._device)
        for length in norms:
            length.clamp_min_(least)
    return (x1 / norms[0] * (x2 / norms[1])).sum(dim)


composites(pairwise_distance)
operator("cosine_similarity", composite=cosine_similarity, autocast="npu float32")

schemas("""
function:
    cdist(Tensor x1, Tensor x2, float p=2., str compute_mode='use_mm_for_euclid_dist_if_necessary') -> Tensor  # The `p`-norm distance between each row of `x1` and each row of `x2`, batch by batch.
    _euclidean_dist(Tensor x1, Tensor x2) -> Tensor  # The Euclidean distance between each row of `x1` and each row of `x2`, computed through a matrix product.
operator only:
    _cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor  # The `p`-norm distance between each row of `x1` and each row of `x2`, batch by batch, for `cdist`.
    _cdist_backward(Tensor grad, Tensor x1, Tensor x2, float p, Tensor cdist) -> Tensor
""")  # noqa: E501


def meta_cdist(x1: Tensor, x2: Tensor, p: float, compute_mode: int | None = None) -> Spec:
    if x1.numel() and x2.numel():
        check_takes(x1._dtype not in (float16, bfloat16), "cdist", x1._dtype)
    return meta_euclidean_dist(x1, x2)


def meta_euclidean_dist(x1: Tensor, x2: Tensor) -> Spec:
    shape = broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    if x1.numel() and x2.numel():
        check(x1._dtype is x2._dtype,
              lambda: f"expected scalar type {NAMES[x1._dtype.name]} but found {NAMES[x2._dtype.name]}")
    return Spec((*shape, x1.shape[-2], x2.shape[-2]), x1._dtype)


def meta_cdist_backward(grad: Tensor, x1: Tensor, x2: Tensor, p: float, result: Tensor) -> Spec:
    shape = tuple(x1.shape)
    return Spec(shape, x1._dtype, None if grad.numel() and x1.numel() else like_strides(shape, x1._strides()))


MODES = {"use_mm_for_euclid_dist_if_necessary": 0, "use_mm_for_euclid_dist": 1, "donot_use_mm_for_euclid_dist": 2}


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """``torch.cdist``: the distances of all rows of ``x1`` from all rows of ``x2``."""
    check(compute_mode in MODES, lambda: f"{compute_mode} is not a valid value for compute_mode", ValueError)
    for name, x in (("X1", x1), ("X2", x2)):
        if x.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x.ndim}D")
    check(x1.shape[-1] == x2.shape[-1],
          lambda: f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    for name, x in (("X1", x1), ("X2", x2)):
        if x._dtype.category != FLOATING:
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {NAMES[x._dtype.name]}")
    check(p >= 0, "cdist only supports non-negative p values")
    mode, many = MODES[compute_mode], max(x1.shape[-2], x2.shape[-2]) > 25
    if p == 2 and (mode == 1 or (mode == 0 and many)) and x1.numel() and x2.numel():
        out = _euclidean_dist(x1, x2)
        return out.view(out.shape)
    return cdist_forward(x1, x2, p, None)


def euclidean_grad(grad: Tensor, x1: Any, x2: Any, result: Tensor) -> tuple[Any, Any]:
    """Return the gradients; of half precision through float32, since rows far from 0 overflow in products."""
    if x1._dtype in (float16, bfloat16):
        wide = euclidean_grad(*[tensor.to(float32) for tensor in (grad, x1, x2, result)])
        return wide[0].to(x1._dtype), wide[1].to(x2._dtype)
    ratio = (grad / result).masked_fill(result == 0, 0)
    return (x1 * ratio.sum(-1, True) - ratio.matmul(x2),
            x2 * ratio.sum(-2).unsqueeze(-1) - ratio.transpose(-2, -1).matmul(x1))


def second_cdist_grad(grad: Tensor, x1: Any, x2: Any, p: float, result: Tensor) -> Tensor:
    result = result.transpose(-2, -1).contiguous()
    return cdist_backward(grad.transpose(-2, -1).contiguous(), x2, x1, p, result)


operator("cdist", composite=cdist, autocast="float32")
operator("_euclidean_dist", meta_euclidean_dist, jointly={"x1, x2": euclidean_grad})
operator("_cdist_forward", meta_cdist, batching=trailing(), node="CdistBackward0",
         x1=lambda grad, x1, x2, p, result: cdist_backward(grad.contiguous(), x1, x2, p, result), x2=second_cdist_grad)
operator("_cdist_backward", meta_cdist_backward, jointly={"grad, x1, x2, cdist": not_implemented("_cdist_backward")})

schemas("""
function:
    pdist(Tensor self, float p=2.) -> Tensor  # The `p`-norm distances between every two different rows of the matrix `self`.
operator only:
    _pdist_forward(Tensor self, float p=2.) -> Tensor  # The `p`-norm distances between every two different rows of the matrix `self`, for `pdist`.
    _pdist_backward(Tensor grad, Tensor self, float p, Tensor pdist) -> Tensor
""")  # noqa: E501


def meta_pdist(self: Tensor, p: float = 2.0) -> Spec:
    check_takes(self._dtype not in (float16, bfloat16) or not self.numel(), "pdist", self._dtype)
    return Spec((self.shape[0] * (self.shape[0] - 1) // 2,), self._dtype)


def pdist(self: Tensor, p: float = 2.0) -> Tensor:
    """``torch.pdist``: the distances of all pairs of rows."""
    check(self.ndim == 2, lambda: f"pdist only supports 2D tensors, got: {self.ndim}D")
    check(self._dtype.category == FLOATING, "pdist only supports floating-point dtypes")
    check(p >= 0, "pdist only supports non-negative p values")
    return pdist_forward(self.contiguous(), p)


operator("pdist", composite=pdist, autocast="npu float32")
operator("_pdist_forward", meta_pdist, batching=each_element, node="PdistBackward0",
         self=lambda grad, self, p, result: pdist_backward(grad, self, p, result))
operator("_pdist_backward", like_input, jointly={"grad, self, pdist": not_implemented("_pdist_backward")})
