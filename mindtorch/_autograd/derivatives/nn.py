"""Derivatives of losses."""
from __future__ import annotations

from typing import Any

from ..._dispatch.aten import huber_loss_backward, log_sigmoid, mse_loss_backward, smooth_l1_loss_backward
from ..._dispatch.schemas import registry
from ..derivative import derivative

MEAN = 1


def by_element(gradient: Any, grad: Any, weight: Any, reduction: int) -> Any:
    """The gradient of a weighted loss from that of its values by element."""
    gradient = gradient * grad
    if weight is not None:
        gradient = gradient * weight
    return gradient.div_(gradient.numel()) if reduction == MEAN else gradient


def of_logits(grad: Any, self: Any, target: Any, weight: Any, pos_weight: Any, reduction: int) -> Any:
    if pos_weight is None:
        return by_element(self.sigmoid() - target, grad, weight, reduction)
    positive = pos_weight * target
    return by_element((positive + 1 - target) * self.sigmoid() - positive, grad, weight, reduction)


def of_target_of_logits(grad: Any, self: Any, weight: Any, pos_weight: Any, reduction: int) -> Any:
    if pos_weight is None:
        return by_element(-self, grad, weight, reduction)
    return by_element(log_sigmoid(-self) - pos_weight * log_sigmoid(self), grad, weight, reduction)


derivative("mse_loss", self=registry["mse_loss_backward"],
           target=lambda grad, self, target, reduction: mse_loss_backward(grad, target, self, reduction))
derivative("smooth_l1_loss", "SmoothL1LossBackward0", self=registry["smooth_l1_loss_backward"],
           target=lambda grad, self, target, reduction, beta:
               smooth_l1_loss_backward(grad, target, self, reduction, beta))
derivative("huber_loss", self=registry["huber_loss_backward"],
           target=lambda grad, self, target, reduction, delta:
               huber_loss_backward(grad, target, self, reduction, delta))
derivative("soft_margin_loss", self=registry["soft_margin_loss_backward"])
derivative("binary_cross_entropy", self=registry["binary_cross_entropy_backward"],
           target=lambda grad, self, weight, reduction:
               by_element(-self.logit(), grad, weight, reduction))
derivative("binary_cross_entropy_with_logits", self=of_logits, target=of_target_of_logits)
derivative("nll_loss_forward", "NllLossBackward0", (0,), self=registry["nll_loss_backward"])
derivative("nll_loss2d_forward", "NllLoss2DBackward0", (0,), self=registry["nll_loss2d_backward"])
derivative("nll_loss_backward", grad_output=registry["nll_loss"], self=lambda grad: grad.new_zeros(grad.shape))
derivative("nll_loss2d_backward", "NllLoss2DBackwardBackward0", grad_output=registry["nll_loss2d"],
           self=lambda grad: grad.new_zeros(grad.shape))
derivative("multi_margin_loss", self=registry["multi_margin_loss_backward"])
derivative("multilabel_margin_loss_forward", "MultilabelMarginLossBackward0", (0,),
           self=registry["multilabel_margin_loss_backward"])
