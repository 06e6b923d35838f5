"""Meta kernels of losses."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...._base.errors import NAMES, check, check_broadcast, check_real
from ...._base.layout import Spec, broadcast_shapes
from ...._dtype import bool_, int64, uint8
from ...common.casts import check_cast
from ...common.pointwise import Pointwise
from . import META_KERNELS
from .core import like_input

NONE, MEAN, SUM = 0, 1, 2
Meta = Callable[..., Any]


def loss(by_element: Meta, at: int = 0) -> Meta:
    """A loss, described by ``by_element`` without its reduction: argument ``at`` after ``self`` and ``target``."""

    def meta(self: Any, target: Any, *rest: Any) -> Spec:
        spec = by_element(self, target, *rest)
        reduction = rest[at] if at < len(rest) else MEAN
        return spec if reduction == NONE else Spec((), spec.dtype)

    return meta


def smooth_l1(self: Any, target: Any, reduction: int = MEAN, beta: float = 1.0) -> Spec:
    check(beta >= 0, "smooth_l1_loss does not support negative values for beta.")
    return Pointwise("default", 2, "reduced|floating", "smooth_l1_cpu")(self, target)


def huber(self: Any, target: Any, reduction: int = MEAN, delta: float = 1.0) -> Spec:
    check(delta > 0, "huber_loss does not support non-positive values for delta.")
    shape, dtype, stride = Pointwise("default", 2, "reduced|floating", "huber_cpu")(self, target)
    check_cast(dtype, self._dtype)
    return Spec(shape, self._dtype, stride)


def soft_margin(self: Any, target: Any, reduction: int = MEAN) -> Spec:
    check(target._dtype is not bool_, "Negation, the `-` operator, on a bool tensor is not supported. If you are "
          "trying to invert a mask, use the `~` or `logical_not()` operator instead.", kind="minus of bools")
    shape, dtype, stride = Pointwise("float", 2)(self, target)
    check_broadcast(shape, self.shape)
    check_cast(dtype, self._dtype)
    return Spec(shape, self._dtype, stride)


def binary_cross_entropy(self: Any, target: Any, weight: Any = None, reduction: int = MEAN) -> Spec:
    check_real("binary_cross_entropy", self)
    check(target._dtype is self._dtype,
          lambda: f"Found dtype {NAMES[target._dtype.name]} but expected {NAMES[self._dtype.name]}", kind="loss dtype")
    shape, dtype, stride = Pointwise("default", 2)(self, target)
    _check_fits(weight, shape)
    return Spec(shape, dtype, stride)


def binary_cross_entropy_with_logits(self: Any, target: Any, weight: Any = None, pos_weight: Any = None,
                                     reduction: int = MEAN) -> Spec:
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


# -- negative log likelihood ---------------------------------------------------------------------------------

def _check_dtypes(kernel: str, self: Any, weight: Any) -> None:
    """What ATen's kernels by class demand of the dtypes."""
    check_real(kernel, self)
    if weight is not None and weight._dtype is not self._dtype:
        raise RuntimeError(f"expected scalar type {NAMES[self._dtype.name]} but found {NAMES[weight._dtype.name]}")


def _check_classes(target: Any) -> None:
    check(target._dtype in (int64, uint8),
          lambda: f"expected target dtype to be Long or Byte, but got {NAMES[target._dtype.name]}", kind="target dtype")


def nll_loss_forward(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> tuple[Spec, Spec]:
    check(self.ndim in (1, 2), "input tensor should be 1D or 2D")
    check(target.ndim <= 1, "0D or 1D target tensor expected, multi-target not supported", kind="target shape")
    if self.ndim == 1:
        check(target.ndim == 0 or target.shape[0] == 1,
              lambda: f"For 1D input, 1D target must have size 1, but got target size: {target.numel()}", ValueError)
    else:
        check(target.ndim == 1 and self.shape[0] == target.shape[0],
              lambda: f"size mismatch (got input: {list(self.shape)}, target: {list(target.shape)})")
    classes = self.shape[-1]
    if weight is not None and weight.shape != (classes,):
        raise RuntimeError(f"weight tensor should be defined either for all {classes} classes or no classes "
                           f"but got weight tensor of shape: {list(weight.shape)}")
    _check_classes(target)
    _check_dtypes("nll_loss_out_frame", self, weight)
    batched = reduction == NONE and self.ndim == 2
    return Spec((self.shape[0],) if batched else (), self._dtype), Spec((), self._dtype)


def nll_loss2d_forward(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> tuple[Spec, Spec]:
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


# -- margins -------------------------------------------------------------------------------------------------

def _check_batch(self: Any) -> None:
    sizes = self.shape
    check((self.ndim <= 1 and self.numel()) or (self.ndim == 2 and sizes[1]),
          lambda: f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(sizes)}")


def _check_labels(target: Any) -> None:
    check(target._dtype is int64, lambda: f"expected scalar type Long but found {NAMES[target._dtype.name]}")


def multi_margin_loss(self: Any, target: Any, p: Any = 1, margin: Any = 1, weight: Any = None,
                      reduction: int = MEAN) -> Spec:
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


def multilabel_margin_loss_forward(self: Any, target: Any, reduction: int) -> tuple[Spec, Spec]:
    _check_batch(self)
    check(self.shape == target.shape,
          lambda: f"inconsistent target size: {list(target.shape)} for input of size: {list(self.shape)}")
    _check_labels(target)
    check_real("multilabel_margin_loss_forward_out_frame", self)
    samples = tuple(self.shape[:1]) if reduction == NONE and self.ndim == 2 else ()
    return Spec(samples, self._dtype), Spec(tuple(target.shape), self._dtype)


META_KERNELS.add(nll_loss_forward, nll_loss2d_forward, multi_margin_loss, multilabel_margin_loss_forward)
META_KERNELS.update({
    "mse_loss": loss(Pointwise("default", 2, "reduced|floating", "mse_cpu")),
    "smooth_l1_loss": loss(smooth_l1),
    "huber_loss": loss(huber),
    "soft_margin_loss": loss(soft_margin),
    "binary_cross_entropy": loss(binary_cross_entropy, at=1),
    "binary_cross_entropy_with_logits": loss(binary_cross_entropy_with_logits, at=2),
    "nll_loss_backward": like_input,
    "nll_loss2d_backward": like_input,
    "multi_margin_loss_backward": like_input,
    "multilabel_margin_loss_backward": like_input,
})
