"""Losses in terms of other operators, and the gradients of losses."""
from __future__ import annotations

import math
from typing import Any

from .._base.about import about
from .._base.errors import NAMES, check
from .._dispatch.aten import (
    _log_softmax as log_softmax, empty_like, fill__Scalar as fill_, multilabel_margin_loss_forward, nll_loss2d_forward,
    nll_loss_forward, pairwise_distance, where_self as where, zeros_like,
)
from .._dispatch.dispatcher import is_seen
from .._dtype import FLOATING, bool_
from . import COMPOSITES

NONE, MEAN, SUM = 0, 1, 2


def reduced(values: Any, reduction: int) -> Any:
    """What a loss makes of its values by element; a number that is no reduction leaves them, as PyTorch's."""
    return values.mean() if reduction == MEAN else values.sum() if reduction == SUM else values


def scaled(gradient: Any, grad_output: Any, reduction: int) -> Any:
    """The gradient of a loss from that of its values by element."""
    if reduction == MEAN:
        grad_output = grad_output / gradient.numel()
    return gradient * grad_output


# -- losses by element: their gradients --------------------------------------------------------------------------------

def difference(self: Any, target: Any, grad_output: Any) -> Any:
    """What losses take of bools, too, which ``-`` refuses."""
    if self._dtype is bool_ or target._dtype is bool_:
        return self.to(grad_output._dtype) - target.to(grad_output._dtype)
    return self - target


def mse_loss_backward(grad_output: Any, self: Any, target: Any, reduction: int) -> Any:
    return scaled(2 * difference(self, target, grad_output), grad_output, reduction)


def smooth_l1_loss_backward(grad_output: Any, self: Any, target: Any, reduction: int, beta: float) -> Any:
    z = difference(self, target, grad_output)
    return scaled((z / beta).clamp(-1, 1) if beta else z.sign(), grad_output, reduction)


def huber_loss_backward(grad_output: Any, self: Any, target: Any, reduction: int, delta: float) -> Any:
    return scaled((self - target).clamp(-delta, delta), grad_output, reduction)


def soft_margin_loss_backward(grad_output: Any, self: Any, target: Any, reduction: int) -> Any:
    return scaled(-target * (-target * self).sigmoid(), grad_output, reduction)


def binary_cross_entropy_backward(grad_output: Any, self: Any, target: Any, weight: Any = None,
                                  reduction: int = MEAN) -> Any:
    gradient = grad_output * (self - target) / ((1 - self) * self).clamp(min=1e-12)
    if weight is not None:
        gradient = gradient * weight
    return gradient / gradient.numel() if reduction == MEAN else gradient


# -- losses written in operators ---------------------------------------------------------------------------------------

def l1_loss(self: Any, target: Any, reduction: int = MEAN) -> Any:
    return reduced((self - target).abs(), reduction)


def kl_div(self: Any, target: Any, reduction: int = MEAN, log_target: bool = False) -> Any:
    for given in (self, target):
        check(not given.is_complex(), "kl_div: Complex inputs not supported.")
        check(given.is_floating_point(), "kl_div: Integral inputs not supported.")
    if log_target:
        return reduced(target.exp() * (target - self), reduction)
    product = target * self
    return reduced(target.xlogy(target) - product, reduction)


def poisson_nll_loss(input: Any, target: Any, log_input: bool, full: bool, eps: float, reduction: int) -> Any:
    if log_input:
        product = target * input
        loss = input.exp() - product
    else:
        loss = input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return reduced(loss, reduction)


def less(number: float, tensor: Any) -> Any:
    """``number - tensor`` in the tensor's dtype; as C++ computes it where somebody sees the operators."""
    if is_seen(tensor) or not tensor.is_floating_point():
        return fill_(empty_like(tensor), number).sub_(tensor)
    return number - tensor


def hinge_embedding_loss(self: Any, target: Any, margin: float = 1.0, reduction: int = MEAN) -> Any:
    zeros = zeros_like(self)
    margins = less(margin, self).clamp_min_(0)
    similar = where(target != -1, self, zeros)
    return reduced(where(target != 1, margins, zeros) + similar, reduction)


def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: int = MEAN) -> Any:
    difference = input1 - input2
    return reduced((-target * difference + margin).clamp_min_(0), reduction)


def cosine_embedding_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: int = MEAN) -> Any:
    dim = target.dim()
    check(dim <= 1, "0D or 1D target tensor expected, multi-target not supported", kind="target shape")
    check(input1.dim() == input2.dim() == dim + 1, lambda: f"{dim}D target tensor expects {dim + 1}D input tensors, "
          f"but found inputs with sizes {list(input1.shape)} and {list(input2.shape)}.")
    products = (input1 * input2).sum(dim)
    squares1, squares2 = ((x * x).sum(dim) + 1e-12 for x in (input1, input2))
    cosine = products / (squares1 * squares2).sqrt_()
    zeros = zeros_like(cosine)
    of_similar = less(1, cosine)
    of_dissimilar = (cosine - margin).clamp_min_(0)
    dissimilar = where(target == -1, of_dissimilar, zeros)
    return reduced(where(target == 1, of_similar, zeros) + dissimilar, reduction)


def triplet_margin_loss(anchor: Any, positive: Any, negative: Any, margin: float = 1.0, p: float = 2,
                        eps: float = 1e-6, swap: bool = False, reduction: int = MEAN) -> Any:
    dims = anchor.dim(), positive.dim(), negative.dim()
    check(len(set(dims)) == 1,
          lambda: "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but "
                  "got: anchor {}D, positive {}D, and negative {}D inputs".format(*dims))
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = far.minimum(pairwise_distance(positive, negative, p, eps))
    return reduced((margin + near - far).clamp_min(0), reduction)


def multilabel_margin_loss(self: Any, target: Any, reduction: int = MEAN) -> Any:
    return multilabel_margin_loss_forward(self, target, reduction)[0]


# -- losses by class ---------------------------------------------------------------------------------------------------

def nll_loss(self: Any, target: Any, weight: Any = None, reduction: int = MEAN, ignore_index: int = -100) -> Any:
    return nll_loss_forward(self, target, weight, reduction, ignore_index)[0]


def nll_loss2d(self: Any, target: Any, weight: Any = None, reduction: int = MEAN, ignore_index: int = -100) -> Any:
    return nll_loss2d_forward(self, target, weight, reduction, ignore_index)[0]


def nll_loss_nd(self: Any, target: Any, weight: Any = None, reduction: int = MEAN, ignore_index: int = -100) -> Any:
    """``nll_loss`` for any number of dimensions behind the classes'."""
    shape = self.shape
    ndim = len(shape)
    if ndim != 1:
        check(ndim, "Expected 1 or more dimensions (got 0)", ValueError)
        targets = target.shape[0] if target.ndim else 0
        if shape[0] != targets:
            raise about(ValueError(f"Expected input batch_size ({shape[0]}) to match target batch_size ({targets})."),
                        "loss batch")
    if ndim <= 2:
        return nll_loss_forward(self, target, weight, reduction, ignore_index)[0]
    if ndim == 4:
        return nll_loss2d_forward(self, target, weight, reduction, ignore_index)[0]
    out = (shape[0], *shape[2:])
    check(target.shape[1:] == shape[2:],
          lambda: f"Expected target size {list(out)}, got {list(target.shape)}", kind="target shape")
    flat = (1, -1) if self.numel() else (0, 0)
    losses = nll_loss2d(self.reshape((*shape[:2], *flat)), target.reshape((shape[0], *flat)), weight,
                        reduction, ignore_index)
    return losses.view(out) if reduction == NONE else losses


def check_smoothing(label_smoothing: float) -> None:
    check(0 <= label_smoothing <= 1,
          lambda: f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")


def cross_entropy_loss(self: Any, target: Any, weight: Any = None, reduction: int = MEAN,
                       ignore_index: int = -100, label_smoothing: float = 0.0) -> Any:
    """``torch.nn.functional.cross_entropy``: targets of the input's shape are probabilities, else classes."""
    shape = self.shape
    dim = 0 if len(shape) == 1 else 1
    if target.shape == shape:
        check(target._dtype.category == FLOATING, lambda: "Expected floating point type for target with class "
              f"probabilities, got {NAMES[target._dtype.name]}", kind="loss dtype")
        check(ignore_index < 0, "ignore_index is not supported for floating point target")
        check_smoothing(label_smoothing)
        return _of_probabilities(log_softmax(self, dim, False), dim, target, weight, reduction, label_smoothing)
    if label_smoothing > 0:
        check_smoothing(label_smoothing)
        return _smoothed(log_softmax(self, dim, False), dim, target, weight, reduction, ignore_index, label_smoothing)
    return nll_loss_nd(log_softmax(self, dim, False), target, weight, reduction, ignore_index)


def _as_classes(weight: Any, like: Any, dim: int) -> Any:
    """The classes' weights in a shape that broadcasts with the input's."""
    classes = like.shape[dim]
    check(weight.shape == (classes,), lambda: "cross_entropy: weight tensor should be defined either for all "
          f"{classes} classes or no classes but got weight tensor of shape: {list(weight.shape)}")
    return weight.view([-1 if d == dim else 1 for d in range(like.ndim)])


def _of_probabilities(logs: Any, dim: int, target: Any, weight: Any, reduction: int, label_smoothing: float) -> Any:
    classes = logs.shape[dim]
    if label_smoothing > 0:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    products = logs * target
    if weight is not None:
        products = products * _as_classes(weight, logs, dim)
    if reduction == NONE:
        return -products.sum(dim)
    total = -products.sum()
    return total if reduction == SUM else total / (logs.numel() // classes if classes else 0)


def _smoothed(logs: Any, dim: int, target: Any, weight: Any, reduction: int, ignore_index: int,
              label_smoothing: float) -> Any:
    chosen = nll_loss_nd(logs, target, weight, reduction, ignore_index)
    weighted = logs if weight is None else logs * _as_classes(weight, logs, dim)
    uniform = -weighted.sum(dim)
    ignored = target == ignore_index
    uniform.masked_fill_(ignored, 0)
    if reduction == SUM:
        uniform = uniform.sum()
    elif reduction == MEAN:
        count = (~ignored).sum() if weight is None else weight[target[~ignored]].sum()
        uniform = uniform.sum() / count
    return (1 - label_smoothing) * chosen + uniform * (label_smoothing / logs.shape[dim])


COMPOSITES.add(mse_loss_backward, smooth_l1_loss_backward, huber_loss_backward, soft_margin_loss_backward,
               binary_cross_entropy_backward, l1_loss, kl_div, poisson_nll_loss, hinge_embedding_loss,
               margin_ranking_loss, cosine_embedding_loss, triplet_margin_loss, multilabel_margin_loss, nll_loss,
               nll_loss2d, nll_loss_nd, cross_entropy_loss)
