"""Simulated kernels of operators on lists of tensors: what is done for one tensor, for one after the other."""
from __future__ import annotations

from typing import Any

import numpy as np

from ....cpu.ops.reduction import to_opmath
from .forms import Kernel, named, number, pointwise, store


def each(kernel: Kernel | str) -> Kernel:
    """Make an operator on lists. The outputs, a list, come last; an argument that is not a list is used for all."""
    one = pointwise(kernel) if isinstance(kernel, str) else kernel

    def run(*args: Any) -> None:
        for i in range(len(args[-1])):
            one(*[arg[i] if isinstance(arg, (list, tuple)) else arg for arg in args])

    return run


def norm(x: Any, order: Any, out: Any) -> None:
    store(out, np.linalg.norm(to_opmath(x).reshape(-1), number(order)))


KERNELS: dict[str, Kernel] = {
    **named(each, """
        ForeachAddListV2 add.Tensor           ForeachSubListV2 sub.Tensor
        ForeachMulList mul.Tensor             ForeachMulScalarV2 mul.Tensor         ForeachMulScalarList mul.Tensor
        ForeachDivList div.Tensor             ForeachDivScalarV2 div.Tensor         ForeachDivScalarList div.Tensor
        ForeachMaximumList maximum            ForeachMinimumList minimum            ForeachAddcmulScalarV2 addcmul
        ForeachAddcdivScalarV2 addcdiv        ForeachLerpList lerp.Tensor           ForeachLerpScalar lerp.Scalar
        ForeachAbs abs                        ForeachExp exp                        ForeachNeg neg
        ForeachReciprocal reciprocal          ForeachSigmoid sigmoid                ForeachSqrt sqrt
        ForeachTanh tanh
    """),
    **dict.fromkeys(("aclnnForeachAddScalarV2", "aclnnForeachAddScalarList"), each(pointwise(np.add))),
    **dict.fromkeys(("aclnnForeachSubScalarV2", "aclnnForeachSubScalarList"), each(pointwise(np.subtract))),
    "aclnnForeachNorm": each(norm),
    "aclnnForeachCopy": each(lambda x, out: store(out, x)),
}
