"""Simulated kernels of reductions and scans. An empty list of dimensions stands for all of them."""
from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ....._base.layout import wrap_dims
from ....cpu.ops.reduction import count, to_opmath, variance
from .forms import Array, Kernel, named, whole


def moments(self: Array, dim: Any, correction: int, keepdim: bool) -> tuple[Any, Any]:
    """Variance and mean."""
    axis = wrap_dims(dim, self.ndim)
    return variance(to_opmath(self), axis, max(count(self, axis) - correction, 0), keepdim)


def deviations(*args: Any) -> tuple[Any, Any]:
    """Compute standard deviation and mean."""
    spread, middle = moments(*args)
    return np.sqrt(spread), middle


KERNELS: dict[str, Kernel] = {
    **named(whole, """
        ReduceSum sum.dim_IntList             ReduceNansum nansum                   Mean mean.dim
        Prod prod                             ProdDim prod.dim_int                  All all.dim
        Any any.dim                           Amax amax                             Amin amin
        Max max                               Min min                               ArgMax argmax
        ArgMin argmin                         LogSumExp logsumexp                   Norm linalg_vector_norm
        LinalgVectorNorm linalg_vector_norm   Cumsum cumsum                         Cumprod cumprod
        Median median                         NanMedian nanmedian
    """),
    "aclnnVarCorrection": whole(lambda *args: moments(*args)[0]),
    "aclnnVarMean": whole(moments, 2),
    "aclnnStd": whole(lambda *args: deviations(*args)[0]),
    "aclnnStdMeanCorrection": whole(deviations, 2),
    **named(partial(whole, outs=2), """
        AminmaxDim aminmax                    AminmaxAll aminmax
        MaxDim max.dim                        MinDim min.dim
        MedianDim median.dim                  NanMedianDim nanmedian.dim            Cummax cummax
        Cummin cummin
    """),
}
