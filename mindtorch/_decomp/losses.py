"""Losses and their derivatives, as functions of tensors."""
from __future__ import annotations

from typing import Any

from .rows import aten, in_opmath, reduced, row

MEAN = 1


@row(aten.mse_loss.default)
@in_opmath
def mse_loss(self: Any, target: Any, reduction: int = MEAN) -> Any:
    return reduced((self - target) ** 2, reduction)


@row(aten.mse_loss_backward.default)
@in_opmath
def mse_loss_backward(grad_output: Any, self: Any, target: Any, reduction: int) -> Any:
    return (2.0 / self.numel() if reduction == MEAN else 2.0) * (self - target) * grad_output


@row(aten.smooth_l1_loss.default)
@in_opmath
def smooth_l1_loss(self: Any, target: Any, reduction: int = MEAN, beta: float = 1.0) -> Any:
    distance = (self - target).abs()
    return reduced(aten.where.self(distance < beta, 0.5 * distance ** 2 / beta, distance - 0.5 * beta), reduction)


@row(aten.smooth_l1_loss_backward.default)
@in_opmath
def smooth_l1_loss_backward(grad_output: Any, self: Any, target: Any, reduction: int, beta: float) -> Any:
    scale = 1.0 / self.numel() if reduction == MEAN else 1.0
    difference = self - target
    scaled = scale * grad_output
    return aten.where.self(difference.abs() < beta, scaled * difference / beta, scaled * difference.sign())


@row(aten.huber_loss.default)
@in_opmath
def huber_loss(self: Any, target: Any, reduction: int = MEAN, delta: float = 1.0) -> Any:
    distance = (self - target).abs()
    return reduced(aten.where.self(distance < delta, 0.5 * distance * distance, delta * (distance - 0.5 * delta)),
                   reduction)


@row(aten.huber_loss_backward.default)
@in_opmath
def huber_loss_backward(grad_output: Any, self: Any, target: Any, reduction: int, delta: float) -> Any:
    scale = 1.0 / self.numel() if reduction == MEAN else 1.0
    difference = self - target
    inner = aten.where.self(difference > delta, scale * grad_output * delta, scale * difference * grad_output)
    return aten.where.self(difference < -delta, -scale * grad_output * delta, inner)


@row(aten.soft_margin_loss.default)
@in_opmath
def soft_margin_loss(self: Any, target: Any, reduction: int = MEAN) -> Any:
    return reduced((-self * target).exp().log1p(), reduction)


@row(aten.soft_margin_loss_backward.default)
@in_opmath
def soft_margin_loss_backward(grad_output: Any, self: Any, target: Any, reduction: int = MEAN) -> Any:
    gradient = target * grad_output * ((target * self).sigmoid() - 1)
    return gradient / self.numel() if reduction == MEAN else gradient


@row(aten.binary_cross_entropy.default)
@in_opmath
def binary_cross_entropy(self: Any, target: Any, weight: Any = None, reduction: int = MEAN) -> Any:
    loss = ((target - 1) * (-self).log1p().clamp_min(-100) - target * self.log().clamp_min(-100))
    return reduced(loss if weight is None else loss * weight, reduction)


@row(aten.binary_cross_entropy_backward.default)
@in_opmath
def binary_cross_entropy_backward(grad_output: Any, self: Any, target: Any, weight: Any = None,
                                  reduction: int = MEAN) -> Any:
    gradient = grad_output * (self - target) / (self * (1 - self)).clamp_min(1e-12)
    gradient = gradient if weight is None else gradient * weight
    return gradient / self.numel() if reduction == MEAN else gradient


@row(aten.binary_cross_entropy_with_logits.default)
def binary_cross_entropy_with_logits(self: Any, target: Any, weight: Any = None, pos_weight: Any = None,
                                     reduction: int = MEAN) -> Any:
    log_sigmoid = aten.log_sigmoid_forward.default(self)[0]
    if pos_weight is None:
        loss = (1 - target) * self - log_sigmoid
    else:
        loss = (1 - target) * self - ((pos_weight - 1) * target + 1) * log_sigmoid
    return reduced(loss if weight is None else loss * weight, reduction)


@row(aten.nll_loss_forward.default, aten.nll_loss2d_forward.default)
def nll_loss_forward(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> tuple[Any, Any]:
    channels = 0 if self.dim() == 1 else 1
    if weight is not None:
        shaped = weight.view([-1 if d == channels else 1 for d in range(self.dim())]) if self.dim() > 1 else weight
        self = self * shaped
    is_kept = target != ignore_index
    safe = aten.where.self(is_kept, target, aten.scalar_tensor.default(0, dtype=target.dtype, device=target.device))
    chosen = -self.gather(channels, safe.unsqueeze(channels)).squeeze(channels)
    zero = aten.scalar_tensor.default(0, dtype=self.dtype, device=self.device)
    loss = aten.where.self(is_kept, chosen, zero)
    if reduction == 0 and self.dim() > 1:
        return loss, self.new_full((), 0.0)
    if weight is None:
        total = is_kept.sum().to(self.dtype)
    else:
        wide = shaped.expand(self.shape)
        total = aten.where.self(is_kept, wide.gather(channels, safe.unsqueeze(channels)).squeeze(channels), zero).sum()
    return (loss.sum() / total if reduction == MEAN else loss.sum()), total


@row(aten.nll_loss_backward.default, aten.nll_loss2d_backward.default)
def nll_loss_backward(grad_output: Any, self: Any, target: Any, weight: Any, reduction: int, ignore_index: int,
                      total_weight: Any) -> Any:
    channels = 0 if self.dim() < 2 else 1
    grad_output = grad_output / total_weight if reduction == MEAN else grad_output
    target = target.unsqueeze(channels)
    zero = aten.scalar_tensor.default(0, dtype=target.dtype, device=target.device)
    safe = aten.where.self(target != ignore_index, target, zero)
    gradient = aten.zeros_like.default(self).scatter(channels, safe, -1.0)
    if gradient.dim() > grad_output.dim() > 0:
        grad_output = grad_output.unsqueeze(channels)
    if weight is not None:
        grad_output = grad_output * weight.reshape([-1 if d == channels else 1 for d in range(self.dim())])
    none = aten.scalar_tensor.default(0, dtype=grad_output.dtype, device=grad_output.device)
    return gradient * aten.where.self(target != ignore_index, grad_output, none)


@row(aten.multi_margin_loss.default)
def multi_margin_loss(self: Any, target: Any, p: Any = 1, margin: Any = 1, weight: Any = None,
                      reduction: int = MEAN) -> Any:
    scores, target = (self.unsqueeze(0), target.reshape(1, 1)) if self.dim() < 2 else (self, target.unsqueeze(1))
    z = (margin - scores.gather(1, target) + scores).clamp_min(0)
    z = z if p == 1 else z * z
    z = z if weight is None else z * weight[target]
    places = aten.arange.default(scores.shape[1], device=self.device)
    loss = aten.where.self(places != target, z, aten.scalar_tensor.default(0, dtype=z.dtype, device=z.device)).mean(1)
    return reduced(loss.squeeze(0) if self.dim() < 2 and reduction == 0 else loss, reduction)


@row(aten.multilabel_margin_loss_forward.default)
def multilabel_margin_loss_forward(self: Any, target: Any, reduction: int) -> tuple[Any, Any]:
    shape = target.shape
    scores, labels = (self.unsqueeze(0), target.unsqueeze(0)) if self.dim() < 2 else (self, target)
    places = aten.arange.default(scores.shape[1], device=self.device)
    end = aten.amin.default(aten.where.self(labels == -1, places, scores.shape[1]), [-1], True)
    is_label = places < end
    zero = aten.scalar_tensor.default(0, dtype=labels.dtype, device=self.device)
    safe = aten.where.self(is_label, labels, zero)
    is_target = (is_label.unsqueeze(-1) & (places == safe.unsqueeze(-1))).any(1)
    margins = 1.0 - scores.gather(1, safe).unsqueeze(-1) + scores.unsqueeze(1)
    margins = margins.clamp_min(0) * is_label.unsqueeze(-1) * ~is_target.unsqueeze(1)
    loss = margins / scores.shape[1]
    loss = loss.sum((1, 2)) if reduction == 0 else loss.sum((1, 2)).mean() if reduction == MEAN else loss.sum()
    loss = loss.squeeze(0) if self.dim() < 2 and reduction == 0 else loss
    return loss, is_target.to(self.dtype).reshape(shape)
