"""Losses. ``reduction``: 0 none, 1 mean, 2 sum."""
from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

from .._backends.common.casts import check_cast
from .._backends.common.pointwise import Pointwise, result_type
from .._base.about import about
from .._base.errors import NAMES, check, check_broadcast, check_real
from .._base.layout import Spec, broadcast_shapes
from .._dispatch.aten import (
    _log_softmax as log_softmax, add_Scalar, div_Scalar, empty_like, fill__Scalar as fill_, hardtanh,
    huber_loss_backward, log_sigmoid, mse_loss_backward, mul_Scalar, multilabel_margin_loss_forward, nll_loss2d_forward,
    nll_loss_forward, pairwise_distance, smooth_l1_loss_backward, sub_Scalar, where_self as where, zeros_like,
)
from .._dispatch.dispatcher import is_seen
from .._dispatch.registry import Operator
from .._dispatch.schemas import registry
from .._dtype import FLOATING, bool_, float32, int64, uint8
from .._tensor import Tensor
from .._transforms.batching.frames import Frame, filled
from .._transforms.batching.rules import aligned, composed, each_element, is_tensor, with_defaults
from . import composites, differentiates, operator, schemas
from .core import like_input

NONE, MEAN, SUM = 0, 1, 2

Meta = Callable[..., Any]


def loss(by_element: Meta, at: int = 0) -> Meta:
    """Return a loss's meta kernel from ``by_element``, its form without reduction, the argument at ``at``."""

    def meta(self: Tensor, target: Any, *rest: Any) -> Spec:
        spec = by_element(self, target, *rest)
        reduction = rest[at] if at < len(rest) else MEAN
        return spec if reduction == NONE else Spec((), spec.dtype)

    return meta


def reduced(values: Any, reduction: int) -> Any:
    """Reduce a loss's values by element; an unknown reduction leaves them, as PyTorch's does."""
    return values.mean() if reduction == MEAN else values.sum() if reduction == SUM else values


MEAN = 1


def by_element(gradient: Any, grad: Tensor, weight: Any, reduction: int) -> Any:
    """Return the gradient of a weighted loss from the gradient of its values by element."""
    gradient = gradient * grad
    if weight is not None:
        gradient = gradient * weight
    return gradient.div_(gradient.numel()) if reduction == MEAN else gradient


schemas("""
operator only:
    mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor  # The squared differences of `self` and `target`, or by `reduction` their mean or sum.
    smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.0) -> Tensor  # The absolute differences of `self` and `target` less half of `beta`, or below `beta` their squares over twice `beta`, or by `reduction` their mean or sum.
    huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.0) -> Tensor  # The squared differences of `self` and `target`, halved, and beyond `delta` growing in proportion to the difference only, or by `reduction` their mean or sum.
    soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor  # The logarithms of 1 + exp(-`target` `self`), for targets of 1 and -1, or by `reduction` their mean or sum.
operator only, explicit:
    mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor
    smooth_l1_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float beta) -> Tensor
    huber_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float delta) -> Tensor
    soft_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor
function:
    margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=1) -> Tensor  # How much `input1`, where `target` is 1, fails to exceed `input2` by `margin`, or the other way round where it is -1, or by `reduction` its mean or sum.
""")  # noqa: E501


def smooth_l1(self: Tensor, target: Any, reduction: int = MEAN, beta: float = 1.0) -> Spec:
    check(beta >= 0, "smooth_l1_loss does not support negative values for beta.")
    return Pointwise("default", 2, "reduced|floating", "smooth_l1_cpu")(self, target)


def huber(self: Tensor, target: Any, reduction: int = MEAN, delta: float = 1.0) -> Spec:
    check(delta > 0, "huber_loss does not support non-positive values for delta.")
    shape, dtype, stride = Pointwise("default", 2, "reduced|floating", "huber_cpu")(self, target)
    check_cast(dtype, self._dtype)
    return Spec(shape, self._dtype, stride)


def soft_margin(self: Tensor, target: Any, reduction: int = MEAN) -> Spec:
    check(target._dtype is not bool_, "Negation, the `-` operator, on a bool tensor is not supported. If you are "
          "trying to invert a mask, use the `~` or `logical_not()` operator instead.", kind="minus of bools")
    shape, dtype, stride = Pointwise("float", 2)(self, target)
    check_broadcast(shape, self.shape)
    check_cast(dtype, self._dtype)
    return Spec(shape, self._dtype, stride)


def scaled(gradient: Any, grad_output: Tensor, reduction: int) -> Any:
    """Return the gradient of a loss from the gradient of its values by element."""
    if reduction == MEAN:
        grad_output = grad_output / gradient.numel()
    return gradient * grad_output


def difference(self: Tensor, target: Any, grad_output: Tensor) -> Any:
    """Subtract; losses also take bools, which ``-`` refuses."""
    if self._dtype is bool_ or target._dtype is bool_:
        return self.to(grad_output._dtype) - target.to(grad_output._dtype)
    return self - target


def rounded_once(composite: Callable[..., Any]) -> Callable[..., Any]:
    """Let the gradient of a loss compute half precision in float32, as ATen's loops do."""
    @wraps(composite)
    def call(grad_output: Tensor, self: Tensor, target: Tensor, *settings: Any) -> Any:
        given, dtype = (grad_output, self, target), result_type((grad_output, self, target))
        if dtype.category != FLOATING or dtype.itemsize > 2:
            return composite(*given, *settings)
        return composite(*[x.to(float32) for x in given], *settings).to(dtype)

    return call


@rounded_once
def composite_mse_loss_backward(grad_output: Any, self: Any, target: Any, reduction: int) -> Any:
    return scaled(2 * difference(self, target, grad_output), grad_output, reduction).contiguous()


def clamped(z: Any, bound: float) -> Any:
    """Clamp between two bounds, at which and of NaN the derivative is 0, unlike that of ``clamp``."""
    return hardtanh(z, -bound, bound) * (z == z) if differentiates(z) else z.clamp(-bound, bound)


@rounded_once
def composite_smooth_l1_loss_backward(grad_output: Any, self: Any, target: Any, reduction: int, beta: float) -> Any:
    z = difference(self, target, grad_output)
    return scaled(clamped(z / beta, 1) if beta else z.sign(), grad_output, reduction).contiguous()


@rounded_once
def composite_huber_loss_backward(grad_output: Any, self: Any, target: Any, reduction: int, delta: float) -> Any:
    return scaled(clamped(self - target, delta), grad_output, reduction).contiguous()


def soft_margin_loss_backward(grad_output: Any, self: Any, target: Any, reduction: int) -> Any:
    return scaled(-(target * (-target * self).sigmoid()), grad_output, reduction)  # unsigned targets wrap around once


def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: int = MEAN) -> Any:
    difference = input1 - input2
    return reduced(add_Scalar(-target * difference, margin).clamp_min_(0), reduction)


def loss_batch_rule(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """Reduce the losses of elements for each element of the batch."""
    given, where = with_defaults(op, args), op.schema.positions["reduction"]
    reduction, given[where] = given[where], 0
    ndim = given[0].ndim
    each = op.call(*[a if not is_tensor(a) else filled(a, frame) if a.shape == given[0].shape else
                     aligned(a, ndim, frame) for a in given])
    if reduction == 0 or each.ndim == 1:
        return each
    dims = tuple(range(1, each.ndim))
    return each.mean(dims) if reduction == 1 else each.sum(dims)


composites(soft_margin_loss_backward)
operator("mse_loss", loss(Pointwise("default", 2, "reduced|floating", "mse_cpu")), batching=loss_batch_rule,
         autocast="float32", self=registry["mse_loss_backward"],
         target=lambda grad, self, target, reduction: mse_loss_backward(grad, target, self, reduction))
operator("smooth_l1_loss", loss(smooth_l1), batching=loss_batch_rule, autocast="float32", node="SmoothL1LossBackward0",
         self=registry["smooth_l1_loss_backward"],
         target=lambda grad, self, target, reduction, beta:
             smooth_l1_loss_backward(grad, target, self, reduction, beta))
operator("huber_loss", loss(huber), batching=loss_batch_rule, autocast="float32", self=registry["huber_loss_backward"],
         target=lambda grad, self, target, reduction, delta:
             huber_loss_backward(grad, target, self, reduction, delta))
operator("soft_margin_loss", loss(soft_margin), batching=loss_batch_rule, autocast="float32",
         self=registry["soft_margin_loss_backward"])
operator("mse_loss_backward", composite=composite_mse_loss_backward)
operator("smooth_l1_loss_backward", composite=composite_smooth_l1_loss_backward)
operator("huber_loss_backward", composite=composite_huber_loss_backward)
operator("margin_ranking_loss", composite=margin_ranking_loss, autocast="float32")

schemas("""
operator only:
    l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor  # The absolute differences of `self` and `target`, or by `reduction` their mean or sum.
""")  # noqa: E501


def l1_loss(self: Any, target: Any, reduction: int = MEAN) -> Any:
    return reduced((self - target).abs(), reduction)


operator("l1_loss", composite=l1_loss, autocast="float32")

schemas("""
operator only:
    binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor  # The negative logarithms of the probabilities `self` for the part `target` and of their complements for the rest, times `weight`, or by `reduction` their mean or sum.
operator only, explicit:
    binary_cross_entropy_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor
function:
    binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=1) -> Tensor  # The binary cross entropy of the sigmoid of `self` and `target`, computed without overflow, with positive targets multiplied by `pos_weight`, or by `reduction` its mean or sum.
""")  # noqa: E501


def meta_binary_cross_entropy(self: Any, target: Any, weight: Any = None, reduction: int = MEAN) -> Spec:
    check_real("binary_cross_entropy", self)
    check(target._dtype is self._dtype,
          lambda: f"Found dtype {NAMES[target._dtype.name]} but expected {NAMES[self._dtype.name]}", kind="loss dtype")
    shape, dtype, stride = Pointwise("default", 2)(self, target)
    _check_fits(weight, shape)
    return Spec(shape, dtype, stride)


def meta_binary_cross_entropy_with_logits(self: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction:
                                          int = MEAN) -> Spec:
    check_real("log_sigmoid_cpu", self)
    if pos_weight is not None:  # which PyTorch multiplies into what has the input's shape and dtype
        factor = Pointwise("default", 2)(pos_weight, target)
        check_cast(factor.dtype, self._dtype)
        _check_fits(factor, self.shape)
    shape, dtype, _ = Pointwise("default", 2)(self, target)
    check_cast(dtype, target._dtype)
    check_broadcast(shape, target.shape)
    stride = Pointwise("default", 1)(target).stride  # in which PyTorch computes the rest in place
    _check_fits(pos_weight, shape)
    _check_fits(weight, shape)
    return Spec(shape, target._dtype, stride)


def _check_fits(weight: Any, shape: Any) -> None:
    if weight is not None:
        check_broadcast(broadcast_shapes(shape, weight.shape), shape)


def binary_cross_entropy_backward(grad_output: Tensor, self: Tensor, target: Tensor, weight: Tensor | None = None,
                                  reduction: int = MEAN) -> Tensor:
    gradient = grad_output * (self - target) / ((1 - self) * self).clamp(min=1e-12)
    if weight is not None:
        gradient = gradient * weight
    return gradient / gradient.numel() if reduction == MEAN else gradient


def of_logits(grad: Tensor, self: Tensor, target: Any, weight: Any, pos_weight: Any, reduction: int) -> Any:
    if pos_weight is None:
        return by_element(self.sigmoid() - target, grad, weight, reduction)
    positive = pos_weight * target
    return by_element((positive + 1 - target) * self.sigmoid() - positive, grad, weight, reduction)


def of_target_of_logits(grad: Tensor, self: Tensor, weight: Any, pos_weight: Any, reduction: int) -> Any:
    if pos_weight is None:
        return by_element(-self, grad, weight, reduction)
    return by_element(log_sigmoid(-self) - pos_weight * log_sigmoid(self), grad, weight, reduction)


composites(binary_cross_entropy_backward)
operator("binary_cross_entropy", loss(meta_binary_cross_entropy, at=1), batching=loss_batch_rule,
         autocast="cpu float32", self=registry["binary_cross_entropy_backward"],
         target=lambda grad, self, weight, reduction:
             by_element(-self.logit(), grad, weight, reduction))
operator("binary_cross_entropy_with_logits", loss(meta_binary_cross_entropy_with_logits, at=2),
         batching=loss_batch_rule, autocast="float32", self=of_logits, target=of_target_of_logits)

schemas("""
operator only:
    multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=1) -> Tensor  # For each row of `self`, the mean of how much each other element comes within `margin` of the one of the class `target`, to the power `p`, or by `reduction` their mean or sum.
    multi_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, Scalar p, Scalar margin, Tensor? weight=None, int reduction=1) -> Tensor
    multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) -> (Tensor output, Tensor is_target)  # The multi-label margin loss of `self` and `target`, and which elements are targets.
    multilabel_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, Tensor is_target) -> Tensor
    multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor  # For each row of `self`, how much the elements that are no `target` come within 1 of those that are, over the number of elements, or by `reduction` their mean or sum.
    nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index) -> (Tensor output, Tensor total_weight)  # The negative log likelihood loss of `self` and `target`, and the sum of the weights.
    nll_loss_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index, Tensor total_weight) -> Tensor
    nll_loss2d_forward(Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index) -> (Tensor output, Tensor total_weight)  # The negative log likelihood loss of the images `self` and `target`, and the sum of the weights.
    nll_loss2d_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index, Tensor total_weight) -> Tensor
    nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100) -> Tensor  # The negatives of the log probabilities `self` of the classes `target`, times the `weight` of the class, or by `reduction` their mean or sum, without targets of `ignore_index`.
    nll_loss2d(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100) -> Tensor  # The negatives of the log probabilities `self` of the classes `target` at each pixel, times the `weight` of the class, or by `reduction` their mean or sum, without targets of `ignore_index`.
    nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100) -> Tensor  # The loss that `nll_loss` computes, for `self` and `target` with any number of dimensions after the classes.
    cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100, float label_smoothing=0.0) -> Tensor  # The negative log likelihood of `target`, classes or their probabilities, under the softmax of `self`, or by `reduction` its mean or sum, without targets of `ignore_index`.
""")  # noqa: E501


def _check_dtypes(kernel: str, self: Tensor, weight: Any) -> None:
    """Check the dtypes that ATen's kernels by class demand."""
    check_real(kernel, self)
    if weight is not None and weight._dtype is not self._dtype:
        raise RuntimeError(f"expected scalar type {NAMES[self._dtype.name]} but found {NAMES[weight._dtype.name]}")


def _check_classes(target: Any) -> None:
    check(target._dtype in (int64, uint8),
          lambda: f"expected target dtype to be Long or Byte, but got {NAMES[target._dtype.name]}", kind="target dtype")


def meta_nll_loss_forward(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> tuple[Spec, Spec]:
    check(self.ndim in (1, 2), "input tensor should be 1D or 2D")
    check(target.ndim <= 1, "0D or 1D target tensor expected, multi-target not supported", kind="target shape")
    check(self.ndim == 1 or (target.ndim == 1 and self.shape[0] == target.shape[0]),
          lambda: f"size mismatch (got input: {list(self.shape)}, target: {list(target.shape)})")
    _check_classes(target)
    check(self.ndim == 2 or target.ndim == 0 or target.shape[0] == 1,
          lambda: f"For 1D input, 1D target must have size 1, but got target size: {target.numel()}", ValueError)
    classes = self.shape[-1]
    if weight is not None and weight.shape != (classes,):
        raise RuntimeError(f"weight tensor should be defined either for all {classes} classes or no classes "
                           f"but got weight tensor of shape: {list(weight.shape)}")
    _check_dtypes("nll_loss_out_frame", self, weight)
    batched = reduction == NONE and self.ndim == 2
    return Spec((self.shape[0],) if batched else (), self._dtype), Spec((), self._dtype)


def meta_nll_loss2d_forward(self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index:
                            int) -> tuple[Spec, Spec]:
    check(target.ndim == 3,
          lambda: f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {target.ndim}")
    check(self.ndim == 4,
          lambda: f"only batches of spatial inputs supported (4D tensors), but got input of dimension: {self.ndim}")
    check(weight is None or weight.numel() == self.shape[1], "weight tensor should be defined either for all "
          "or no classes")
    check((self.shape[0], *self.shape[2:]) == target.shape,
          lambda: f"size mismatch (got input: {list(self.shape)} , target: {list(target.shape)}")
    _check_classes(target)
    _check_dtypes("nll_loss2d_forward_out_frame", self, weight)
    return Spec(tuple(target.shape) if reduction == NONE else (), self._dtype), Spec((), self._dtype)


def _check_batch(self: Tensor) -> None:
    sizes = self.shape
    check((self.ndim <= 1 and self.numel()) or (self.ndim == 2 and sizes[1]),
          lambda: f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(sizes)}")


def _check_labels(target: Any) -> None:
    check(target._dtype is int64, lambda: f"expected scalar type Long but found {NAMES[target._dtype.name]}")


def meta_multi_margin_loss(self: Any, target: Any, p: Any = 1, margin: Any = 1, weight: Any = None, reduction: int =
                           MEAN) -> Spec:
    _check_batch(self)
    samples = self.shape[0] if self.ndim == 2 else 1
    check(p in (1, 2), "only p == 1 and p == 2 supported", ValueError)
    check(target.ndim <= 1 and target.numel() == samples, lambda: "multi_margin_loss: target tensor should be 1-D with "
          f"size equal to the number of input samples (batch size). Expected target size [{samples}], but got "
          f"{list(target.shape)}. Input has shape {list(self.shape)}.")
    _check_labels(target)
    if weight is not None:
        classes = self.shape[-1] if self.ndim else 1
        check(weight.ndim <= 1, "weight must be one-dimensional", ValueError)
        check(weight.numel() == classes,
              lambda: f"inconsistent weight size, expected {classes} but got {list(weight.shape)}")
    _check_dtypes("multi_margin_loss_cpu_kernel", self, weight)
    return Spec(tuple(target.shape) if reduction == NONE else (), self._dtype)


def meta_multilabel_margin_loss_forward(self: Tensor, target: Tensor, reduction: int) -> tuple[Spec, Spec]:
    _check_batch(self)
    check(self.shape == target.shape,
          lambda: f"inconsistent target size: {list(target.shape)} for input of size: {list(self.shape)}")
    _check_labels(target)
    check_real("multilabel_margin_loss_forward_out_frame", self)
    samples = tuple(self.shape[:1]) if reduction == NONE and self.ndim == 2 else ()
    return Spec(samples, self._dtype), Spec(tuple(target.shape), self._dtype)


def multilabel_margin_loss(self: Any, target: Any, reduction: int = MEAN) -> Any:
    return multilabel_margin_loss_forward(self, target, reduction)[0]


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
    """Return the classes' weights in a shape that broadcasts with the input's."""
    classes = like.shape[dim]
    check(weight.shape == (classes,), lambda: "cross_entropy: weight tensor should be defined either for all "
          f"{classes} classes or no classes but got weight tensor of shape: {list(weight.shape)}")
    return weight.view([-1 if d == dim else 1 for d in range(like.ndim)])


def _of_probabilities(logs: Any, dim: int, target: Any, weight: Any, reduction: int, label_smoothing: float) -> Any:
    classes = logs.shape[dim]
    if label_smoothing > 0:
        target = add_Scalar(mul_Scalar(target, 1 - label_smoothing), label_smoothing / classes)
    products = logs * target
    if weight is not None:
        products = products * _as_classes(weight, logs, dim)
    if reduction == NONE:
        return -products.sum(dim)
    total = -products.sum()
    return total if reduction == SUM else div_Scalar(total, logs.numel() // classes if classes else 0)


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
    return mul_Scalar(chosen, 1 - label_smoothing) + mul_Scalar(uniform, label_smoothing / logs.shape[dim])


def decomposed_nll_loss(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> tuple[Any, Any]:
    """``nll_loss``: the loss, and the weight of the targets that count."""
    channel = 0 if self.ndim == 1 else 1
    counts = target != ignore_index
    classes = target.where(counts, 0)
    weights = counts.to(self._dtype)
    if weight is not None:
        weights = weights * weight.detach().gather(0, classes.reshape(-1)).reshape(classes.shape)
    losses = -self.gather(channel, classes.unsqueeze(channel)).squeeze(channel) * weights
    losses = losses.masked_fill(~counts, 0)
    total = weights.sum()
    if reduction == 0:
        return losses, total * 0
    return (losses.sum() / total if reduction == 1 else losses.sum()), total


operator("multi_margin_loss", meta_multi_margin_loss, autocast="float32", self=registry["multi_margin_loss_backward"])
operator("multi_margin_loss_backward multilabel_margin_loss_backward", like_input)
operator("multilabel_margin_loss_forward", meta_multilabel_margin_loss_forward, batching=each_element,
         node="MultilabelMarginLossBackward0", outputs=(0,), self=registry["multilabel_margin_loss_backward"])
operator("multilabel_margin_loss", composite=multilabel_margin_loss, autocast="float32")
operator("nll_loss_forward", meta_nll_loss_forward, batching=composed(decomposed_nll_loss, checks=True),
         node="NllLossBackward0", outputs=(0,), self=registry["nll_loss_backward"])
operator("nll_loss_backward", like_input, grad_output=registry["nll_loss"],
         self=lambda grad: zeros_like(grad))
operator("nll_loss2d_forward", meta_nll_loss2d_forward, batching=composed(decomposed_nll_loss, checks=True),
         node="NllLoss2DBackward0", outputs=(0,), self=registry["nll_loss2d_backward"])
operator("nll_loss2d_backward", like_input, node="NllLoss2DBackwardBackward0", grad_output=registry["nll_loss2d"],
         self=lambda grad: zeros_like(grad))
operator("nll_loss", composite=nll_loss, autocast="float32")
operator("nll_loss2d", composite=nll_loss2d, autocast="float32")
operator("nll_loss_nd", composite=nll_loss_nd, autocast="float32")
operator("cross_entropy_loss", composite=cross_entropy_loss, autocast="cpu float32")

schemas("""
function:
    kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor  # The Kullback-Leibler divergence `target` (log `target` - `self`) by element, where `self` holds logarithms, and with `log_target` the target does too, or by `reduction` its mean or sum.
    poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor  # The negative log likelihood of `target` under Poisson distributions with the rates `input`, or with `log_input` their exponentials, or by `reduction` its mean or sum.
    hinge_embedding_loss(Tensor self, Tensor target, float margin=1.0, int reduction=1) -> Tensor  # The elements of `self` where `target` is 1, and where it is -1 how much they fall short of `margin`, or by `reduction` their mean or sum.
    cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=1) -> Tensor  # One minus the cosine similarity of `input1` and `input2` where `target` is 1, and how much the similarity exceeds `margin` where it is -1, or by `reduction` its mean or sum.
""")  # noqa: E501


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
        loss = input - target * add_Scalar(input, eps).log()
    if full:
        stirling = target * target.log() - target + mul_Scalar(mul_Scalar(target, 2 * math.pi).log(), 0.5)
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return reduced(loss, reduction)


def less(number: float, tensor: Tensor) -> Tensor:
    """Return ``number - tensor`` in the tensor's dtype; where it is seen or recorded, as C++ computes it."""
    if is_seen(tensor) or tensor.requires_grad or not tensor.is_floating_point():
        return fill_(empty_like(tensor), number).sub_(tensor)
    return number - tensor


def hinge_embedding_loss(self: Any, target: Any, margin: float = 1.0, reduction: int = MEAN) -> Any:
    zeros = zeros_like(self)
    margins = less(margin, self).clamp_min_(0)
    similar = where(target != -1, self, zeros)
    return reduced(where(target != 1, margins, zeros) + similar, reduction)


def cosine_embedding_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: int = MEAN) -> Any:
    dim = target.dim()
    check(dim <= 1, "0D or 1D target tensor expected, multi-target not supported", kind="target shape")
    check(input1.dim() == input2.dim() == dim + 1, lambda: f"{dim}D target tensor expects {dim + 1}D input tensors, "
          f"but found inputs with sizes {list(input1.shape)} and {list(input2.shape)}.")
    products = (input1 * input2).sum(dim)
    squares1, squares2 = (add_Scalar((x * x).sum(dim), 1e-12) for x in (input1, input2))
    cosine = products / (squares1 * squares2).sqrt_()
    zeros = zeros_like(cosine)
    of_similar = less(1, cosine)
    of_dissimilar = sub_Scalar(cosine, margin).clamp_min_(0)
    dissimilar = where(target == -1, of_dissimilar, zeros)
    return reduced(where(target == 1, of_similar, zeros) + dissimilar, reduction)


operator("kl_div", composite=kl_div, autocast="float32")
operator("poisson_nll_loss", composite=poisson_nll_loss, autocast="float32")
operator("hinge_embedding_loss", composite=hinge_embedding_loss, autocast="float32")
operator("cosine_embedding_loss", composite=cosine_embedding_loss, autocast="float32")

schemas("""
function:
    triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2, float eps=1e-06, bool swap=False, int reduction=1) -> Tensor  # How much the distance of `anchor` from `positive`, plus `margin`, exceeds that from `negative`, or by `reduction` its mean or sum.
""")  # noqa: E501


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
    return reduced((add_Scalar(near, margin) - far).clamp_min(0), reduction)


operator("triplet_margin_loss", composite=triplet_margin_loss, autocast="float32")
