"""Normal numbers of given means and deviations, ``out=`` forms that draw in its order, and dropout."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._backends.common.inplace_and_out import resize_output
from .._creation import empty, empty_like, fresh, zeros
from .._dtype import bool_
from .._errors import check
from .._layout import broadcast_shapes
from . import COMPOSITES

# -- normal and bernoulli ------------------------------------------------------------------------------------

def _draw_normal(out: Any, mean: Any, std: Any, generator: Any) -> Any:
    """Fill ``out`` with normal numbers; a number's deviation is drawn with, a tensor's multiplied by."""
    if isinstance(std, (int, float)):
        return out.normal_(0, std, generator=generator).add_(mean)
    check(not std.is_complex(), "normal expects standard deviation to be non-complex")
    check(std.is_meta or bool((std >= 0).all()), "normal expects all elements of std >= 0.0")
    return out.normal_(0, 1, generator=generator).mul_(std).add_(mean)


def _normal(mean: Any, std: Any = 1.0, generator: Any = None) -> Any:
    mean, std = (value.detach() if hasattr(value, "detach") else value for value in (mean, std))
    out = empty(_shape(mean, std), dtype=_like(mean, std).dtype, device=_like(mean, std).device)
    return fresh(_draw_normal(out, mean, std, generator))


def _normal_out(mean: Any, std: Any, generator: Any, out: Any) -> Any:
    # where the deviation is one, PyTorch broadcasts the mean with ``out``
    number = isinstance(std, (int, float))
    return _draw_normal(resize_output(out, _shape(mean, out if number else std)), mean, std, generator)


def _like(mean: Any, std: Any) -> Any:
    return mean if hasattr(mean, "dtype") else std


def _shape(mean: Any, std: Any) -> tuple[int, ...]:
    return broadcast_shapes(*(value.shape for value in (mean, std) if hasattr(value, "shape")))


# -- dropout -------------------------------------------------------------------------------------------------

def native_dropout_backward(grad_output: Any, mask: Any, scale: float) -> Any:
    check(mask._dtype is bool_, lambda: f"Mask should be Bool Scalar Type {mask.dtype}")
    return grad_output * (mask.to(grad_output.dtype) * scale)


ALPHA = 1.7580993408473766  # SELU tends to -ALPHA for large negative numbers


def dropping(inplace: bool = False, feature: bool = False, alpha: bool = False) -> Callable[..., Any]:
    """A dropout: of elements or whole features, to zero or SELU's lowest value, anew or in place."""

    def dropout(self: Any, p: float, train: bool) -> Any:
        check(0 <= p <= 1, lambda: f"dropout probability has to be between 0 and 1, but got {p:g}")
        if p == 0 or not train or not self.numel():
            return self
        multiply = self.mul_ if inplace else self.mul
        if p == 1:
            return multiply(zeros((), dtype=self.dtype, device=self.device))
        noise: Any = (_one_per_feature(self) if feature else empty_like(self)).bernoulli_(1 - p)
        if not alpha:
            return multiply(fresh(noise.div_(1 - p)))
        scale = 1 / ((ALPHA**2 * p + 1) * (1 - p)) ** 0.5  # keeps the variance, as the shift the mean
        shift = noise.add(-1).mul_(ALPHA * scale).add_(ALPHA * scale * p)
        return multiply(fresh(noise.mul_(scale))).add_(shift)

    return dropout


def _one_per_feature(self: Any) -> Any:
    check(self.dim() >= 2, "Feature dropout requires at least 2 dimensions in the input")
    return empty(*self.shape[:2], *(1 for _ in self.shape[2:]), dtype=self.dtype, device=self.device)


COMPOSITES.add(native_dropout_backward)
COMPOSITES.update({
    "normal.Tensor_Tensor": _normal,
    "normal.Tensor_float": _normal,
    "normal.float_Tensor": _normal,
    "normal.Tensor_Tensor_out": _normal_out,
    "normal.Tensor_float_out": _normal_out,
    "normal.float_Tensor_out": _normal_out,
    "bernoulli.out": lambda self, generator, out: resize_output(out, self.shape).bernoulli_(self, generator=generator),
    "dropout": dropping(),
    "dropout_": dropping(inplace=True),
    "feature_dropout": dropping(feature=True),
    "feature_dropout_": dropping(inplace=True, feature=True),
    "alpha_dropout": dropping(alpha=True),
    "alpha_dropout_": dropping(inplace=True, alpha=True),
    "feature_alpha_dropout": dropping(feature=True, alpha=True),
    "feature_alpha_dropout_": dropping(inplace=True, feature=True, alpha=True),
})
