"""Simulated kernels of reductions and scans. An empty list of dimensions stands for all of them."""
from __future__ import annotations

from typing import Any

import numpy as np

from ....._layout import wrap_dims
from ....cpu.ops.reduction import count, to_opmath, variance
from .forms import Array, Kernel, whole


def moments(self: Array, dim: Any, correction: int, keepdim: bool) -> tuple[Any, Any]:
    """Variance and mean."""
    axis = wrap_dims(dim, self.ndim)
    return variance(to_opmath(self), axis, max(count(self, axis) - correction, 0), keepdim)


def deviations(*args: Any) -> tuple[Any, Any]:
    """Standard deviation and mean."""
    spread, middle = moments(*args)
    return np.sqrt(spread), middle


KERNELS: dict[str, Kernel] = {
    "aclnnReduceSum": whole("sum.dim_IntList"),
    "aclnnReduceNansum": whole("nansum"),
    "aclnnMean": whole("mean.dim"),
    "aclnnProd": whole("prod"),
    "aclnnProdDim": whole("prod.dim_int"),
    "aclnnVar": whole(lambda self, dim, unbiased, keepdim: moments(self, dim, int(unbiased), keepdim)[0]),
    "aclnnVarCorrection": whole(lambda *args: moments(*args)[0]),
    "aclnnVarMean": whole(moments, 2),
    "aclnnStd": whole(lambda *args: deviations(*args)[0]),
    "aclnnStdMeanCorrection": whole(deviations, 2),
    "aclnnAll": whole("all.dim"),
    "aclnnAny": whole("any.dim"),
    "aclnnAmax": whole("amax"),
    "aclnnAmin": whole("amin"),
    "aclnnAminmaxDim": whole("aminmax", 2),
    "aclnnMax": whole("max"),
    "aclnnMin": whole("min"),
    "aclnnMaxDim": whole("max.dim", 2),
    "aclnnMinDim": whole("min.dim", 2),
    "aclnnArgMax": whole("argmax"),
    "aclnnArgMin": whole("argmin"),
    "aclnnLogSumExp": whole("logsumexp"),
    "aclnnNorm": whole("linalg_vector_norm"),
    "aclnnLinalgVectorNorm": whole("linalg_vector_norm"),
    "aclnnCumsum": whole("cumsum"),
    "aclnnCumprod": whole("cumprod"),
    "aclnnCummax": whole("cummax", 2),
    "aclnnCummin": whole("cummin", 2),
    "aclnnMedian": whole("median"),
    "aclnnMedianDim": whole("median.dim", 2),
    "aclnnNanMedian": whole("nanmedian"),
    "aclnnNanMedianDim": whole("nanmedian.dim", 2),
}
