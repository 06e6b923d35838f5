"""Derivatives of comparisons, minimum and maximum, and choices."""
from __future__ import annotations

from collections.abc import Callable
from operator import gt, lt
from typing import Any

from ..._dispatch.aten import where_self as where, zeros_like
from ..derivative import derivative, not_differentiable
from .pointwise import zero_like


def chosen(hides: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """The part of an operand of maximum or minimum: half where both are equal, none where it is hidden."""

    def part(grad: Any, self: Any, other: Any) -> Any:
        half = grad / 2
        return where(self == other, half, grad).masked_fill_(hides(self, other), 0)

    return part


def inside(grad: Any, self: Any, min: Any, max: Any) -> Any:
    """The gradient where a clamp left the elements alone."""
    zero = zero_like(grad)
    if min is None or max is None:
        return where(self <= max if min is None else self >= min, grad, zero)
    return where((self >= min).logical_and_(self <= max), grad, zero)


def bounds(grad: Any, self: Any, min: Any, max: Any) -> Any:
    """The gradients of a clamp's bounds; where they cross, the upper one counts."""
    below, above = None, None
    if min is not None:
        below = where(self < min if max is None else (min < max) & (self < min), grad, 0)
    if max is not None:
        above = where(self > max if min is None else (self > max) | (max < min), grad, 0)
    return below, above


derivative("maximum", self=chosen(lt), other=chosen(gt))
derivative("minimum", self=chosen(gt), other=chosen(lt))
derivative("fmax", self=lambda grad, self, other: grad.masked_fill(~((self >= other) | other.isnan()), 0),
           other=lambda grad, self, other: grad.masked_fill((self >= other) | other.isnan(), 0))
derivative("fmin", self=lambda grad, self, other: grad.masked_fill(~((self <= other) | other.isnan()), 0),
           other=lambda grad, self, other: grad.masked_fill((self <= other) | other.isnan(), 0))
derivative("clamp", "ClampBackward1", self=inside)
derivative("clamp.Tensor", "ClampBackward0", **{"self": inside, "min, max": bounds})
derivative("clamp_min", self=lambda grad, self, min: inside(grad, self, min, None))
derivative("clamp_min.Tensor", "ClampMinBackward1", self=lambda grad, self, min: where(self >= min, grad, 0),
           min=lambda grad, self, min: where(self < min, grad, 0))
derivative("clamp_max", self=lambda grad, self, max: inside(grad, self, None, max))
derivative("clamp_max.Tensor", "ClampMaxBackward1", self=lambda grad, self, max: where(self <= max, grad, 0),
           max=lambda grad, self, max: where(self > max, grad, 0))
derivative("nan_to_num", self=lambda grad, self: grad * self.isfinite())
derivative("where.self", self=lambda grad, condition: where(condition, grad, 0),
           other=lambda grad, condition: where(condition, 0, grad))
derivative("masked_fill.Scalar", self=lambda grad, mask: grad.masked_fill(mask, 0))
derivative("masked_fill.Tensor", "MaskedFillBackward1", self=lambda grad, mask: grad.masked_fill(mask, 0),
           value=lambda grad, mask: where(mask, grad, 0).sum())

_COMPARISONS = [f"{name}.Tensor" for name in ("eq", "ne", "lt", "le", "gt", "ge")]
not_differentiable(" ".join(_COMPARISONS))
for _name in _COMPARISONS:  # in place, what was compared is lost
    derivative(_name.replace(".", "_."), self=lambda grad: zeros_like(grad), other=lambda grad: zeros_like(grad))
not_differentiable("""
    isnan isinf isposinf isneginf isfinite isreal logical_and logical_or logical_xor logical_not bitwise_not
    bitwise_and.Tensor bitwise_or.Tensor bitwise_xor.Tensor bitwise_left_shift.Tensor bitwise_right_shift.Tensor
""")
