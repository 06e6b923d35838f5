"""Simulated kernels of products of matrices and vectors, norms of slices and distances."""
from __future__ import annotations

from typing import Any

import numpy as np

from .forms import CPU, Kernel, named, number, pointwise, row_of, store, whole


def product(row: Any) -> Kernel:
    """Make an operator whose last parameter, cubeMathType, makes no difference here."""
    row = row_of(row)
    return lambda *args: store(args[-2], row(*map(number, args[:-2])))


def addmv(self: Any, mat: Any, vec: Any, alpha: Any, beta: Any) -> Any:
    """ACLNN's order of the two factors is not ATen's."""
    return CPU["addmv"](self, mat, vec, beta, alpha)


def addr(self: Any, vec1: Any, vec2: Any, beta: Any, alpha: Any) -> Any:
    return CPU["addr"](self, vec1, vec2, 1 if beta is None else beta, 1 if alpha is None else alpha)


KERNELS: dict[str, Kernel] = {
    **named(product, """
        Mm mm                                 Matmul mm                             BatchMatMul bmm
        Addmm addmm                           Baddbmm baddbmm                       Addbmm addbmm
        Mv mv
    """),
    **named(whole, "Dot dot   LinalgCross linalg_cross   PdistForward _pdist_forward   Renorm renorm"),
    "aclnnAddmv": product(addmv),
    "aclnnAddr": pointwise(addr),
    "aclnnTrace": whole(lambda self: np.trace(self, dtype=np.int64 if self.dtype.kind in "biu" else None)),
}
