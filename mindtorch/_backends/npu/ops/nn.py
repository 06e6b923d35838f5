"""NPU rows of losses, embeddings and normalisation."""
from __future__ import annotations

from typing import Any

from ...._dtype import finfo, float32
from ...._tensor import Tensor
from . import ACLNN_CALLS
from .pointwise import named
from .row import Aclnn


def weights(self: Tensor, weight: Any) -> Any:
    """Return the weights of the classes: ones if there are none, since ACLNN requires them."""
    return self.new_ones(self.shape[1 if self.ndim > 1 else 0]) if weight is None else weight


def nll_loss(self: Tensor, target: Tensor, weight: Any, *rest: Any) -> tuple[Any, ...]:
    return self, target, weights(self, weight), *rest


def nll_loss_backward(grad: Tensor, *args: Any) -> tuple[Any, ...]:
    return grad, *nll_loss(*args)


ACLNN_CALLS.update({
    **named("""
        mse_loss MseLoss                      mse_loss_backward MseLossBackward
        smooth_l1_loss SmoothL1Loss           smooth_l1_loss_backward SmoothL1LossBackward
        soft_margin_loss SoftMarginLoss       soft_margin_loss_backward SoftMarginLossBackward
        binary_cross_entropy BinaryCrossEntropy
        binary_cross_entropy_backward BinaryCrossEntropyBackward
        binary_cross_entropy_with_logits BinaryCrossEntropyWithLogits
        multilabel_margin_loss_forward MultilabelMarginLoss
        l1_loss L1Loss                        kl_div KlDiv
    """),
    "nll_loss_forward": Aclnn("aclnnNLLLoss", nll_loss),
    "nll_loss_backward": Aclnn("aclnnNLLLossBackward", nll_loss_backward),
    "nll_loss2d_forward": Aclnn("aclnnNLLLoss2d", nll_loss),
    "nll_loss2d_backward": Aclnn("aclnnNLLLoss2dBackward", nll_loss_backward),
})


ACLNN_CALLS.update({
    "embedding": Aclnn("aclnnEmbedding", lambda weight, indices, padding, scale, sparse, out: (weight, indices, out)),
    "embedding_renorm_": Aclnn("aclnnEmbeddingRenorm"),
    # no row is for padding where it is negative, which ACLNN reads as a number without sign
    "embedding_dense_backward": Aclnn("aclnnEmbeddingDenseBackward", lambda grad, indices, rows, padding, scale, out: (
        grad, indices, rows, padding % 2**64, scale, out)),
})


def same_dtypes(*tensors: Any) -> bool:
    """Return whether all tensors that are given have one dtype, in which ACLNN makes its outputs, too."""
    return len({tensor._dtype for tensor in tensors if tensor is not None}) == 1


def rms_norm(input: Tensor, shape: Any, weight: Any, eps: float | None, out: Tensor) -> tuple[Any, ...]:
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
