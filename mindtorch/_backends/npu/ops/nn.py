"""NPU rows of losses, normalisation, and the steps of optimizers."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .pointwise import named
from .row import Aclnn, Call, Each


def weights(self: Any, weight: Any) -> Any:
    """The weights of the classes, which ACLNN needs in any case."""
    return self.new_ones(self.shape[1 if self.ndim > 1 else 0]) if weight is None else weight


def fused_sgd(params: Any, grads: Any, buffers: Any, weight_decay: float, momentum: float, lr: float, dampening: float,
              nesterov: bool, maximize: bool, is_first_step: bool, grad_scale: Any, found_inf: Any) -> Iterator[Call]:
    """``_fused_sgd_`` in ACLNN's arithmetic, a parameter after the other."""
    for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
        step = grad
        if maximize:
            step, grad = param.new_empty(param.shape), step
            yield "aclnnMuls", (grad, -1, step)
        if weight_decay:
            decayed = param.new_empty(param.shape)
            yield "aclnnAdd", (step, param, weight_decay, decayed)
            step = decayed
        if momentum:
            buffer = buffers[i]
            if is_first_step:
                yield "aclnnInplaceCopy", (buffer, step)
            else:
                yield "aclnnMuls", (buffer, momentum, buffer)
                yield "aclnnAdd", (buffer, step, 1 - dampening, buffer)
            if nesterov:
                ahead = param.new_empty(param.shape)
                yield "aclnnAdd", (step, buffer, momentum, ahead)
                step = ahead
            else:
                step = buffer
        yield "aclnnAdd", (param, step, -lr, param)


def plain(*args: Any) -> bool:
    """Without gradient scaling, which looks at data before it decides."""
    return args[-1] is None and args[-2] is None


ROWS: dict[str, Aclnn] = {
    **named("""
        mse_loss MseLoss                      mse_loss_backward MseLossBackward
        smooth_l1_loss SmoothL1Loss           smooth_l1_loss_backward SmoothL1LossBackward
        soft_margin_loss SoftMarginLoss       soft_margin_loss_backward SoftMarginLossBackward
        binary_cross_entropy BinaryCrossEntropy
        binary_cross_entropy_backward BinaryCrossEntropyBackward
    """),
    "nll_loss_forward": Aclnn("aclnnNLLLoss", lambda self, target, weight, reduction, ignore, *outs: (
        self, target, weights(self, weight), reduction, ignore, *outs)),
    "nll_loss_backward": Aclnn("aclnnNLLLossBackward", lambda grad, self, target, weight, reduction, ignore, total, out: (
        grad, self, target, weights(self, weight), reduction, ignore, total, out)),
    "nll_loss2d_forward": Aclnn("aclnnNLLLoss2d", lambda self, target, weight, reduction, ignore, *outs: (
        self, target, weights(self, weight), reduction, ignore, *outs)),
    "nll_loss2d_backward": Aclnn("aclnnNLLLoss2dBackward", lambda grad, self, target, weight, reduction, ignore, total, out: (
        grad, self, target, weights(self, weight), reduction, ignore, total, out)),
    "_fused_sgd_": Each("", fused_sgd, when=plain),
}
