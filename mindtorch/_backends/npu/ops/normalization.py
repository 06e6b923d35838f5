"""NPU rows of normalisation."""
from __future__ import annotations

from typing import Any

from ...._dtype import finfo, float32
from . import ACLNN_CALLS
from .row import Aclnn


def same_dtypes(*tensors: Any) -> bool:
    """Return whether all tensors that are given have one dtype, in which ACLNN makes its outputs, too."""
    return len({tensor._dtype for tensor in tensors if tensor is not None}) == 1


def rms_norm(input: Any, shape: Any, weight: Any, eps: float | None, out: Any) -> tuple[Any, ...]:
    """ACLNN needs weights, and a place for what the backward would need."""
    outer = tuple(input.shape[: input.ndim - len(shape)])
    rstd = input.new_empty((*outer, *(1,) * len(shape)), dtype=float32)
    return (input, input.new_ones(shape) if weight is None else weight,
            finfo(float32).eps if eps is None else eps, out, rstd)


ACLNN_CALLS.update({
    "rms_norm": Aclnn("aclnnRmsNorm", rms_norm, when=lambda input, shape, weight, eps: same_dtypes(input, weight)),
    "native_layer_norm": Aclnn("aclnnLayerNorm", when=lambda input, shape, weight, bias, eps:
                               same_dtypes(input, weight, bias)),
    "native_layer_norm_backward": Aclnn(
        "aclnnLayerNormBackward", when=lambda grad, input, shape, mean, rstd, weight, bias, mask:
        same_dtypes(grad, input, weight)),
    "native_group_norm": Aclnn("aclnnGroupNorm", when=lambda input, weight, bias, *rest:
                               same_dtypes(input, weight, bias)),
    "native_group_norm_backward": Aclnn("aclnnGroupNormBackward", when=lambda grad, input, mean, rstd, weight, *rest:
                                        same_dtypes(grad, input, weight)),
    # in evaluation ATen saves nothing, and ACLNN wants a place for what it would save
    "native_batch_norm": Aclnn("aclnnBatchNorm", when=lambda input, weight, bias, mean, var, training, *rest:
                               training and same_dtypes(input, weight, bias, mean, var)),
    "native_batch_norm_backward": Aclnn(
        "aclnnBatchNormBackward", when=lambda grad, input, weight, mean, var, save_mean, save_invstd, *rest:
        same_dtypes(grad, input, weight, mean, var)),
})
