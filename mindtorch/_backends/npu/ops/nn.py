"""NPU rows of losses, normalisation, and the steps of optimizers."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from . import ACLNN_CALLS
from .pointwise import named
from .row import Aclnn, Call, Each


def weights(self: Any, weight: Any) -> Any:
    """The weights of the classes, which ACLNN needs in any case."""
    return self.new_ones(self.shape[1 if self.ndim > 1 else 0]) if weight is None else weight


def fused_sgd(params: Any, grads: Any, buffers: Any, weight_decay: float, momentum: float, lr: float, dampening: float,
              nesterov: bool, maximize: bool, is_first_step: bool, grad_scale: Any, found_inf: Any) -> Iterator[Call]:
    """Run ``_fused_sgd_`` in ACLNN's arithmetic, one parameter after the other."""
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
            elif dampening:
                yield "aclnnMuls", (buffer, momentum, buffer)
                yield "aclnnAdd", (buffer, step, 1 - dampening, buffer)
            else:
                yield "aclnnAdd", (step, buffer, momentum, buffer)
            if nesterov:
                ahead = param.new_empty(param.shape)
                yield "aclnnAdd", (step, buffer, momentum, ahead)
                step = ahead
            else:
                step = buffer
        yield "aclnnAdd", (param, step, -lr, param)


def fused_adam(decoupled: bool) -> Callable[..., Iterator[Call]]:
    """``_fused_adam_``, or ``_fused_adamw_``, in ACLNN's arithmetic; the step counts are usually on the host."""

    def calls(params: Any, grads: Any, averages: Any, squares: Any, peaks: Any, steps: Any, lr: float, beta1: float,
              beta2: float, weight_decay: float, eps: float, amsgrad: bool, maximize: bool, grad_scale: Any,
              found_inf: Any) -> Iterator[Call]:
        for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
            count, average, square = steps[i].item(), averages[i], squares[i]
            correction = (1 - beta2**count) ** 0.5
            if maximize:
                opposite = grad.new_empty(grad.shape)
                yield "aclnnMuls", (grad, -1, opposite)
                grad = opposite
            if weight_decay and decoupled:
                yield "aclnnMuls", (param, 1 - lr * weight_decay, param)
            elif weight_decay:
                decayed = param.new_empty(param.shape)
                yield "aclnnAdd", (grad, param, weight_decay, decayed)
                grad = decayed
            yield "aclnnLerps", (average, grad, 1 - beta1, average)
            yield "aclnnMuls", (square, beta2, square)
            yield "aclnnAddcmul", (square, grad, grad, 1 - beta2, square)
            if amsgrad:
                yield "aclnnMaximum", (peaks[i], square, peaks[i])
                square = peaks[i]
            scale = param.new_empty(param.shape)
            yield "aclnnSqrt", (square, scale)
            yield "aclnnAdds", (scale, eps * correction, 1, scale)
            yield "aclnnAddcdiv", (param, average, scale, -lr / (1 - beta1**count) * correction, param)

    return calls


def plain(*args: Any) -> bool:
    """Whether there is no gradient scaling, which looks at data before it decides."""
    return args[-1] is None and args[-2] is None


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
    "_fused_sgd_": Each("", fused_sgd, when=plain),
    "_fused_adam_": Each("", fused_adam(decoupled=False), when=plain),
    "_fused_adamw_": Each("", fused_adam(decoupled=True), when=plain),
})
