"""Simulated kernels of losses and normalisations. A loss's ``reduction``: 0 none, 1 mean, 2 sum, and of kl_div 3."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....cpu.ops.nn import MEAN, reduced
from ....cpu.precision import to_opmath
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


Axes = tuple[int, ...]


def moments(x: Array, axes: Axes, eps: float) -> tuple[Array, Array, Array]:
    """Mean, variance and the reciprocal of the standard deviation, with the axes kept."""
    mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    return mean, var, 1 / np.sqrt(var + eps)


def affine(x: Array, weight: Any, bias: Any) -> Array:
    return (x if weight is None else x * weight) + (0 if bias is None else bias)


def input_grad(grad: Array, normal: Array, rstd: Array, axes: Axes) -> Array:
    """Through the normalisation, whose mean and variance depend on the input."""
    mean_of_product = (grad * normal).mean(axes, keepdims=True)
    return rstd * (grad - grad.mean(axes, keepdims=True) - normal * mean_of_product)


def put(*pairs: tuple[Array | None, Any]) -> None:
    """Store results in the outputs that are wanted."""
    for out, result in pairs:
        if out is not None:
            store(out, result)


# -- layer norm --------------------------------------------------------------------------------------------------------

def layer_norm(self: Array, shape: Any, weight: Any, bias: Any, eps: float, out: Array, mean_out: Any,
               rstd_out: Any) -> None:
    x, weight, bias = map(to_opmath, (self, weight, bias))
    mean, _, rstd = moments(x, tuple(range(x.ndim - len(shape), x.ndim)), eps)
    put((out, affine((x - mean) * rstd, weight, bias)), (mean_out, mean), (rstd_out, rstd))


def layer_norm_backward(grad: Array, self: Array, shape: Any, mean: Array, rstd: Array, weight: Any, bias: Any,
                        mask: Any, grad_input: Any, grad_weight: Any, grad_bias: Any) -> None:
    grad, x, mean, rstd, weight = map(to_opmath, (grad, self, mean, rstd, weight))
    outer, inner = tuple(range(x.ndim - len(shape))), tuple(range(x.ndim - len(shape), x.ndim))
    each = (*x.shape[: len(outer)], *(1,) * len(inner))
    mean, rstd = mean.reshape(each), rstd.reshape(each)
    normal = (x - mean) * rstd
    put((grad_input if mask[0] else None, input_grad(affine(grad, weight, None), normal, rstd, inner)),
        (grad_weight if mask[1] else None, (grad * normal).sum(outer)),
        (grad_bias if mask[2] else None, grad.sum(outer)))


def rms_norm(x: Array, gamma: Array, eps: float, out: Array, rstd_out: Array) -> None:
    wide, weight = map(to_opmath, (x, gamma))
    rstd = 1 / np.sqrt(np.square(wide).mean(tuple(range(x.ndim - gamma.ndim, x.ndim)), keepdims=True) + eps)
    put((out, wide * rstd * weight), (rstd_out, rstd))


def rms_norm_grad(grad: Array, x: Array, rstd: Array, gamma: Array, dx: Array, dgamma: Array) -> None:
    grad, wide, weight = map(to_opmath, (grad, x, gamma))
    outer, inner = tuple(range(x.ndim - gamma.ndim)), tuple(range(x.ndim - gamma.ndim, x.ndim))
    rstd = rstd.reshape(*x.shape[: len(outer)], *(1,) * len(inner))
    normal = wide * rstd
    through = grad * weight
    put((dx, rstd * (through - normal * (through * normal).mean(inner, keepdims=True))),
        (dgamma, (grad * normal).sum(outer)))


# -- batch norm: statistics by channel, which is dimension 1 -----------------------------------------------------------

def by_channel(values: Any, x: Array) -> Any:
    return None if values is None else to_opmath(values).reshape(1, -1, *(1,) * (x.ndim - 2))


def others(x: Array) -> Axes:
    return tuple(axis for axis in range(x.ndim) if axis != 1)


def batch_norm(self: Array, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool,
               momentum: float, eps: float, out: Array, save_mean: Array, save_invstd: Array) -> None:
    """In training the running statistics are updated, and what the backward needs is saved."""
    x = to_opmath(self)
    if training:
        mean, var, invstd = moments(x, others(x), eps)
        put((save_mean, mean), (save_invstd, invstd))
        unbiased = var * (x.size // x.shape[1] / max(x.size // x.shape[1] - 1, 1))
        for running, batch in ((running_mean, mean), (running_var, unbiased)):
            if running is not None:
                store(running, to_opmath(running) * (1 - momentum) + batch.reshape(-1) * momentum)
    else:
        mean, invstd = by_channel(running_mean, x), 1 / np.sqrt(by_channel(running_var, x) + eps)
    put((out, affine((x - mean) * invstd, by_channel(weight, x), by_channel(bias, x))))


def batch_norm_backward(grad: Array, self: Array, weight: Any, running_mean: Any, running_var: Any, save_mean: Any,
                        save_invstd: Any, training: bool, eps: float, mask: Any, grad_input: Any, grad_weight: Any,
                        grad_bias: Any) -> None:
    grad, x = map(to_opmath, (grad, self))
    if training:
        mean, invstd = by_channel(save_mean, x), by_channel(save_invstd, x)
    else:
        mean, invstd = by_channel(running_mean, x), 1 / np.sqrt(by_channel(running_var, x) + eps)
    normal, through = (x - mean) * invstd, affine(grad, by_channel(weight, x), None)
    of_input = input_grad(through, normal, invstd, others(x)) if training else through * invstd
    put((grad_input if mask[0] else None, of_input),
        (grad_weight if mask[1] else None, (grad * normal).sum(others(x))),
        (grad_bias if mask[2] else None, grad.sum(others(x))))


# -- group norm: statistics by sample and group of channels ------------------------------------------------------------

def group_norm(self: Array, gamma: Any, beta: Any, n: int, c: int, hxw: int, group: int, eps: float, out: Array,
               mean_out: Array, rstd_out: Array) -> None:
    wide = to_opmath(self)
    x = wide.reshape(n, group, c // group * hxw)
    mean, _, rstd = moments(x, (2,), eps)
    normal = ((x - mean) * rstd).reshape(n, c, hxw)
    put((out, affine(normal, by_channel(gamma, normal), by_channel(beta, normal))), (mean_out, mean), (rstd_out, rstd))


def group_norm_backward(grad: Array, self: Array, mean: Array, rstd: Array, gamma: Any, n: int, c: int, hxw: int,
                        group: int, mask: Any, grad_input: Any, grad_gamma: Any, grad_beta: Any) -> None:
    grad, x, mean, rstd = map(to_opmath, (grad, self, mean, rstd))
    grad, rstd = grad.reshape(n, c, hxw), rstd.reshape(n, group, 1)
    normal = (x.reshape(n, group, c // group * hxw) - mean.reshape(n, group, 1)) * rstd
    through = affine(grad, by_channel(gamma, grad), None).reshape(normal.shape)
    put((grad_input if mask[0] else None, input_grad(through, normal, rstd, (2,))),
        (grad_gamma if mask[1] else None, (grad * normal.reshape(grad.shape)).sum((0, 2))),
        (grad_beta if mask[2] else None, grad.sum((0, 2))))


# -- optimizer ---------------------------------------------------------------------------------------------------------

def adam_w(var: Array, m: Array, v: Array, peak: Array | None, grad: Array, step: Array, lr: float, beta1: float,
           beta2: float, weight_decay: float, eps: float, amsgrad: bool, maximize: bool) -> None:
    """``step`` counts the steps before this one."""
    states = [part for part in (var, m, v, peak) if part is not None]
    wide = [part.astype(np.float32) for part in states]
    CPU["_fused_adamw_"]([wide[0]], [to_opmath(grad)], [wide[1]], [wide[2]], wide[3:], [np.array(step.item() + 1.0)],
                         lr, beta1, beta2, weight_decay, eps, amsgrad, maximize)
    put(*zip(states, wide, strict=True))


KERNELS |= {
    "aclnnLayerNorm": layer_norm,
    "aclnnLayerNormBackward": layer_norm_backward,
    "aclnnRmsNorm": rms_norm,
    "aclnnRmsNormGrad": rms_norm_grad,
    "aclnnBatchNorm": batch_norm,
    "aclnnBatchNormBackward": batch_norm_backward,
    "aclnnGroupNorm": group_norm,
    "aclnnGroupNormBackward": group_norm_backward,
    "aclnnApplyAdamWV2": adam_w,
}
