"""Simulated kernels of losses. ``reduction``: 0 none, 1 mean, 2 sum, and of kl_div 3 the mean over the batch."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....cpu.ops.nn import MEAN, reduced
from ....cpu.ops.reduction import to_opmath
from .forms import CPU, Array, Kernel, named, pointwise, store, whole

BATCH_MEAN = 3


def loss(row: str) -> Kernel:
    """Make a loss from the CPU's, which has the same parameters in the same order."""
    return whole(lambda *args: CPU[row](*[to_opmath(a) if isinstance(a, Array) else a for a in args]))


def gradient(slope: Callable[..., Any], at: int = 0) -> Kernel:
    """Make a loss's backward from its slope by element; ``reduction`` is argument ``at`` after the two tensors."""

    def kernel(grad: Any, self: Any, target: Any, *rest: Any) -> Any:
        share = grad / self.size if rest[at] == MEAN else grad
        return slope(self, target, *rest[:at], *rest[at + 1 :]) * share

    return pointwise(kernel)


def smooth_l1_slope(x: Any, y: Any, beta: float) -> Any:
    away = x - y
    return np.where(np.abs(away) < beta, away / beta if beta else 0, np.sign(away))


def bce_slope(x: Any, y: Any, weight: Any) -> Any:
    slope = (x - y) / np.maximum((1 - x) * x, 1e-12)
    return slope if weight is None else slope * weight


def bce_with_logits_slope(x: Any, y: Any, weight: Any, pos_weight: Any) -> Any:
    sigmoid = CPU["sigmoid"](x)
    slope = sigmoid - y if pos_weight is None else (pos_weight * y + 1 - y) * sigmoid - pos_weight * y
    return slope if weight is None else slope * weight


def l1_loss(self: Array, target: Array, reduction: int) -> Any:
    return reduced(np.abs(np.subtract(*map(to_opmath, (self, target)))), reduction)


def kl_div(self: Array, target: Array, reduction: int, log_target: bool) -> Any:
    """Compute the divergence. A target that is not positive gives NaN, unlike ATen's."""
    x, y = map(to_opmath, (self, target))
    values = np.exp(y) * (y - x) if log_target else np.where(y > 0, y * (np.log(y) - x), np.nan)
    return values.sum() / len(values) if reduction == BATCH_MEAN else reduced(values, reduction)


def kl_div_backward(grad: Any, x: Any, y: Any, reduction: int, log_target: bool) -> Any:
    share = {MEAN: x.size, BATCH_MEAN: len(x)}.get(reduction, 1)
    return -grad * (np.exp(y) if log_target else np.where(y > 0, y, 0)) / share


def nll_loss(self: Array, target: Array, weight: Array, reduction: int, ignore: int, out: Array, total: Array) -> None:
    x, weights = map(to_opmath, (self, weight))
    results = CPU["nll_loss_forward"](x, target.astype(np.int64), weights, reduction, ignore)
    for place, result in zip((out, total), results, strict=True):
        store(place, result)


def nll_loss_backward(grad: Array, self: Array, target: Array, weight: Array, reduction: int, ignore: int, total: Array,
                      out: Array) -> None:
    grad, x, weights, total = map(to_opmath, (grad, self, weight, total))
    shared = grad if reduction == 0 else grad.reshape(())
    store(out,
          CPU["nll_loss_backward"](shared, x, target.astype(np.int64), weights, reduction, ignore, total.reshape(())))


KERNELS: dict[str, Kernel] = {
    **named(loss, """
        MseLoss mse_loss                      SmoothL1Loss smooth_l1_loss           SoftMarginLoss soft_margin_loss
        BinaryCrossEntropy binary_cross_entropy
        BinaryCrossEntropyWithLogits binary_cross_entropy_with_logits
    """),
    "aclnnMseLossBackward": gradient(lambda x, y: 2 * (x - y)),
    "aclnnL1Loss": whole(l1_loss),
    "aclnnL1LossBackward": gradient(lambda x, y: np.sign(x - y)),
    "aclnnSmoothL1LossBackward": gradient(smooth_l1_slope),
    "aclnnSoftMarginLossBackward": gradient(lambda x, y: -y / (1 + np.exp(x * y))),
    "aclnnBinaryCrossEntropyBackward": gradient(bce_slope, 1),
    "aclnnBinaryCrossEntropyWithLogitsBackward": gradient(bce_with_logits_slope, 2),
    "aclnnKlDiv": whole(kl_div),
    "aclnnKlDivBackward": pointwise(kl_div_backward),
    **dict.fromkeys(("aclnnNLLLoss", "aclnnNLLLoss2d"), nll_loss),
    **dict.fromkeys(("aclnnNLLLossBackward", "aclnnNLLLoss2dBackward"), nll_loss_backward),
    "aclnnMultilabelMarginLoss": whole(lambda x, *args: CPU["multilabel_margin_loss_forward"](to_opmath(x), *args), 2),
}
