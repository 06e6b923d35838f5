"""Simulated kernels of reductions, scans, sorting, searching and selecting. No dimensions stand for all of them."""
from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ....._base.layout import wrap_dims
from ....cpu.ops.moments import variance
from ....cpu.ops.reduction import count
from ....cpu.precision import to_opmath
from .forms import CPU, Array, Kernel, counted, named, whole


def moments(self: Array, dim: Any, correction: int, keepdim: bool) -> tuple[Any, Any]:
    """Variance and mean."""
    axis = wrap_dims(dim, self.ndim)
    both = variance(to_opmath(self), axis, max(count(self, axis) - correction, 0))
    return (np.expand_dims(both[0], axis), np.expand_dims(both[1], axis)) if keepdim else both


def deviations(*args: Any) -> tuple[Any, Any]:
    """Compute standard deviation and mean."""
    spread, middle = moments(*args)
    return np.sqrt(spread), middle


#: UniqueConsecutive's ``dim`` for "none".
NO_DIM = 1000


def sort(self: Array, stable: bool, dim: int, descending: bool) -> Any:
    return CPU["sort"](self, dim, descending)


def searchsorted(sequence: Array, values: Any, out_int32: bool, right: bool, sorter: Array | None) -> Any:
    return CPU["searchsorted.Tensor"](sequence, values, out_int32, right, None, sorter)


def unique_consecutive(self: Array, inverse: bool, counts: bool, dim: int) -> Any:
    return CPU["unique_consecutive"](self, inverse, counts, None if dim == NO_DIM else dim)


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
    **named(whole, "IsInTensorScalar isin.Tensor_Tensor   IsInScalarTensor isin.Tensor_Tensor   Histc histc"),
    **named(partial(whole, outs=2), "Topk topk   Kthvalue kthvalue"),
    **named(counted, "Nonzero nonzero   MaskedSelect masked_select"),
    "aclnnSort": whole(sort, 2),
    "aclnnArgsort": whole(lambda self, dim, descending: CPU["sort"](self, dim, descending)[1]),
    **dict.fromkeys(("aclnnSearchSorted", "aclnnSearchSorteds"), whole(searchsorted)),
    "aclnnUnique2": counted("_unique2", 3),
    "aclnnUniqueConsecutive": counted(unique_consecutive, 3),
}
