"""NPU rows of losses and normalisation."""
from __future__ import annotations

from typing import Any

from . import ACLNN_CALLS
from .pointwise import named
from .row import Aclnn


def weights(self: Any, weight: Any) -> Any:
    """The weights of the classes, which ACLNN needs in any case."""
    return self.new_ones(self.shape[1 if self.ndim > 1 else 0]) if weight is None else weight


ACLNN_CALLS.update({
    **named("""
        mse_loss MseLoss                      mse_loss_backward MseLossBackward
        smooth_l1_loss SmoothL1Loss           smooth_l1_loss_backward SmoothL1LossBackward
        soft_margin_loss SoftMarginLoss       soft_margin_loss_backward SoftMarginLossBackward
        binary_cross_entropy BinaryCrossEntropy
        binary_cross_entropy_backward BinaryCrossEntropyBackward
    """),
    "nll_loss_forward": Aclnn("aclnnNLLLoss", lambda self, target, weight, reduction, ignore, *outs: (
        self, target, weights(self, weight), reduction, ignore, *outs)),
    "nll_loss_backward": Aclnn(
        "aclnnNLLLossBackward", lambda grad, self, target, weight, reduction, ignore, total, out: (
            grad, self, target, weights(self, weight), reduction, ignore, total, out)),
    "nll_loss2d_forward": Aclnn("aclnnNLLLoss2d", lambda self, target, weight, reduction, ignore, *outs: (
        self, target, weights(self, weight), reduction, ignore, *outs)),
    "nll_loss2d_backward": Aclnn(
        "aclnnNLLLoss2dBackward", lambda grad, self, target, weight, reduction, ignore, total, out: (
            grad, self, target, weights(self, weight), reduction, ignore, total, out)),
})
