"""NPU rows of losses and normalisation."""
from __future__ import annotations

from typing import Any

from . import ACLNN_CALLS
from .pointwise import named
from .row import Aclnn


def weights(self: Any, weight: Any) -> Any:
    """Return the weights of the classes: ones if there are none, since ACLNN requires them."""
    return self.new_ones(self.shape[1 if self.ndim > 1 else 0]) if weight is None else weight


def nll_loss(self: Any, target: Any, weight: Any, *rest: Any) -> tuple[Any, ...]:
    return self, target, weights(self, weight), *rest


def nll_loss_backward(grad: Any, *args: Any) -> tuple[Any, ...]:
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
