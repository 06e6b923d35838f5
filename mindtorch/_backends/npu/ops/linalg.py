"""NPU rows of products of matrices. ``cubeMathType`` 0 (KEEP_DTYPE) computes in the operands' own precision."""
from __future__ import annotations

from . import ACLNN_CALLS
from .row import Aclnn

KEEP_DTYPE = 0


def product(name: str) -> Aclnn:
    return Aclnn(name, lambda self, other, out: (self, other, out, KEEP_DTYPE))


def sum_of_products(name: str) -> Aclnn:
    return Aclnn(name, lambda self, first, second, beta, alpha,
                 out: (self, first, second, beta, alpha, out, KEEP_DTYPE))


ACLNN_CALLS.update({
    "mm": product("aclnnMm"),
    "bmm": product("aclnnBatchMatMul"),
    "mv": product("aclnnMv"),
    "dot": Aclnn("aclnnDot"),
    "addmm": sum_of_products("aclnnAddmm"),
    "baddbmm": sum_of_products("aclnnBaddbmm"),
    "addbmm": sum_of_products("aclnnAddbmm"),
    "addmv": Aclnn("aclnnAddmv", lambda self, mat, vec, beta, alpha, out: (
        self, mat, vec, alpha, beta, out, KEEP_DTYPE)),
    "addr": Aclnn("aclnnAddr"),
    "linalg_cross": Aclnn("aclnnLinalgCross"),
    "_pdist_forward": Aclnn("aclnnPdistForward"),
    "renorm": Aclnn("aclnnRenorm", lambda self, p, dim, maxnorm, out: (self, p, dim % self.ndim, maxnorm, out)),
})
