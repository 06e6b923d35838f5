"""Meta kernels of norms and distances."""
from __future__ import annotations

from math import inf
from typing import Any

from ...._base.errors import NAMES, check, check_takes
from ...._base.layout import Spec, broadcast_shapes, wrap_dim, wrap_dims
from ...._dtype import FLOATING, bfloat16, float16
from ...common.pointwise import result_type
from . import META_KERNELS
from .core import like_input
from .pointwise import check_sub
from .reduction import check_norm_of_nothing, linalg_vector_norm, reduced_shape


def check_norm(dtype: Any) -> None:
    check(dtype.category >= FLOATING,
          lambda: f"norm(): input dtype should be either floating point or complex. Got {NAMES[dtype.name]} instead.")


def norm(self: Any, p: Any, dim: Any, keepdim: bool = False) -> Spec:
    check_norm(self._dtype)
    check_norm_of_nothing(self, 2 if p is None else p, dim)
    return Spec(reduced_shape(self.shape, wrap_dims(dim, self.ndim), keepdim), self._dtype.to_real())


def dist(self: Any, other: Any, p: Any = 2) -> Spec:
    dtype = result_type((self, other))
    check_sub(dtype, self, other)
    check_norm(dtype)
    shape = broadcast_shapes(self.shape, other.shape)
    check(0 not in shape or 0 <= p < inf, lambda: f"linalg.vector_norm cannot compute the {p} norm on an empty tensor "
          "because the operation does not have an identity")
    return Spec((), dtype.to_real())


def cdist(x1: Any, x2: Any, p: float, compute_mode: int | None = None) -> Spec:
    shape = broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    if x1.numel() and x2.numel():
        check_takes(x1._dtype not in (float16, bfloat16), "cdist", x1._dtype)
        check(x1._dtype is x2._dtype,
              lambda: f"expected scalar type {NAMES[x1._dtype.name]} but found {NAMES[x2._dtype.name]}")
    return Spec((*shape, x1.shape[-2], x2.shape[-2]), x1._dtype)


def pdist(self: Any, p: float = 2.0) -> Spec:
    check_takes(self._dtype not in (float16, bfloat16) or not self.numel(), "pdist", self._dtype)
    return Spec((self.shape[0] * (self.shape[0] - 1) // 2,), self._dtype)


def renorm(self: Any, p: Any, dim: int, maxnorm: Any) -> Spec:
    check(not isinstance(p, complex), "renorm: p must be real-valued")
    check(p > 0, "renorm: non-positive-norm not supported")
    check(not isinstance(maxnorm, complex), "renorm: maxnorm must be real-valued")
    check(maxnorm >= 0, lambda: f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    check(self.ndim > 1, lambda: f"renorm: input needs at least 2 dimensions, got {self.ndim} dimensions")
    kept = wrap_dim(dim, self.ndim)
    linalg_vector_norm(self, p, [d for d in range(self.ndim) if d != kept])
    return Spec(tuple(self.shape), self._dtype)


META_KERNELS.add(dist, renorm)
META_KERNELS.update({
    "norm.ScalarOpt_dim": norm,
    "_cdist_forward": cdist,
    "_cdist_backward": like_input,
    "_euclidean_dist": lambda x1, x2: cdist(x1, x2, 2.0),
    "_pdist_forward": pdist,
    "_pdist_backward": like_input,
})
