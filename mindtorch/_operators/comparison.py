"""Comparisons, tests, logic, bits, minimum and maximum, and choices, element by element."""
from __future__ import annotations

from collections.abc import Callable
from operator import gt, lt
from typing import Any

from .._backends.common.overlap import deprecated_on, with_overlap
from .._backends.common.pointwise import Pointwise
from .._base.about import about
from .._base.call_site import warn_once
from .._base.errors import CPP_NAMES, NAMES, check, check_broadcast, check_fill, check_number, check_takes
from .._base.layout import Spec, broadcast_shapes
from .._dispatch.aten import where_self as where, zeros_like
from .._dispatch.dispatcher import TENSOR_TYPES
from .._dtype import COMPLEX, FLOATING, DType, bool_, get_default_dtype, uint8
from .._tensor import Tensor
from .._transforms.batching.rules import composed
from . import aliases, composites, operator, schemas
from .pointwise import refuse_complex, zero_like

schemas("""
function, method, in-place, out, wrapped numbers:
    eq.Tensor(Tensor self, Tensor other) -> Tensor  # Whether each element of `self` equals that of `other`.
    ne.Tensor(Tensor self, Tensor other) -> Tensor  # Whether each element of `self` differs from that of `other`.
    lt.Tensor(Tensor self, Tensor other) -> Tensor  # Whether each element of `self` is less than that of `other`.
    le.Tensor(Tensor self, Tensor other) -> Tensor  # Whether each element of `self` is less than or equal to that of `other`.
    gt.Tensor(Tensor self, Tensor other) -> Tensor  # Whether each element of `self` is greater than that of `other`.
    ge.Tensor(Tensor self, Tensor other) -> Tensor  # Whether each element of `self` is greater than or equal to that of `other`.
    not_equal.Tensor(Tensor self, Tensor other) -> Tensor  # Whether each element of `self` differs from that of `other`; another name for `ne`.
    less.Tensor(Tensor self, Tensor other) -> Tensor  # Whether each element of `self` is less than that of `other`; another name for `lt`.
    less_equal.Tensor(Tensor self, Tensor other) -> Tensor  # Whether each element of `self` is less than or equal to that of `other`; another name for `le`.
    greater.Tensor(Tensor self, Tensor other) -> Tensor  # Whether each element of `self` is greater than that of `other`; another name for `gt`.
    greater_equal.Tensor(Tensor self, Tensor other) -> Tensor  # Whether each element of `self` is greater than or equal to that of `other`; another name for `ge`.
function, method:
    isnan(Tensor self) -> Tensor  # Whether each element of `self` is nan.
    isinf(Tensor self) -> Tensor  # Whether each element of `self` is plus or minus infinity.
    isfinite(Tensor self) -> Tensor  # Whether each element of `self` is neither infinite nor nan.
    isreal(Tensor self) -> Tensor  # Whether each element of `self` has no imaginary part.
    isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor  # Whether each element of `self` differs from that of `other` by no more than `atol` plus `rtol` times the absolute value of `other`.
function, method, out, exact dtype, no overlap:
    isposinf(Tensor self) -> Tensor  # Whether each element of `self` is plus infinity.
    isneginf(Tensor self) -> Tensor  # Whether each element of `self` is minus infinity.
function, method, in-place, out:
    logical_and(Tensor self, Tensor other) -> Tensor  # Whether the elements of `self` and `other` are both other than zero.
    logical_or(Tensor self, Tensor other) -> Tensor  # Whether at least one of the elements of `self` and `other` is other than zero.
    logical_xor(Tensor self, Tensor other) -> Tensor  # Whether exactly one of the elements of `self` and `other` is other than zero.
""")  # noqa: E501


def infinite(name: str) -> Pointwise:
    """Return a test for one of the infinities."""
    refuse = refuse_complex(f"{name} does not support complex inputs.", RuntimeError)
    return Pointwise("bool", 1, "bool|real", check=refuse)


def isclose(self: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """``torch.isclose``: ``|self - other| <= atol + rtol * |other|``. Raises RuntimeError for different dtypes."""
    check(self._dtype is other._dtype, lambda: f"{NAMES[self._dtype.name]} did not match {NAMES[other._dtype.name]}")
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if tolerance < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {tolerance:g}")
    close = self == other
    if equal_nan and self._dtype.category >= FLOATING:
        close = close | (self.isnan() & other.isnan())
    if not rtol and not atol:
        return close
    if other._dtype.category < FLOATING:
        self, other = (t.to(get_default_dtype()) for t in (self, other))
    difference = (self - other).abs()
    return close | (difference.isfinite() & (difference <= atol + (rtol * other).abs()))


composites(isclose)
operator("eq.Tensor", Pointwise("bool", 2, "all|unsigned|complex32|float8", "eq_cpu"), differentiable=False)
operator("eq_.Tensor ne_.Tensor lt_.Tensor le_.Tensor gt_.Tensor ge_.Tensor", self=lambda grad: zeros_like(grad),
         other=lambda grad: zeros_like(grad))
operator("ne.Tensor", Pointwise("bool", 2, "all|unsigned|complex32|float8", "ne_cpu"), differentiable=False)
operator("lt.Tensor", Pointwise("bool", 2, "bool|real", "lt_cpu"), differentiable=False)
operator("le.Tensor", Pointwise("bool", 2, "bool|real", "le_cpu"), differentiable=False)
operator("gt.Tensor", Pointwise("bool", 2, "bool|real", "gt_cpu"), differentiable=False)
operator("ge.Tensor", Pointwise("bool", 2, "bool|real", "ge_cpu"), differentiable=False)
operator("isnan", Pointwise("bool", 1, "all|unsigned|complex32|float8"), differentiable=False)
operator("isinf", Pointwise("bool", 1, "all|unsigned|complex32|float8_e5m2", "isinf"), differentiable=False)
operator("isfinite", Pointwise("bool", 1, "all|unsigned|complex32|float8_e5m2|float8_e8m0fnu", "isfinite"),
         differentiable=False)
operator("isreal", Pointwise("bool", 1, "all|unsigned|complex32", opmath=False), differentiable=False)
operator("isposinf", infinite("isposinf"), differentiable=False)
operator("isneginf", infinite("isneginf"), differentiable=False)
operator("logical_and", Pointwise("bool", 2, kernel="logical_and_cpu"), differentiable=False)
operator("logical_or", Pointwise("bool", 2, kernel="logical_or_cpu"), differentiable=False)
operator("logical_xor", Pointwise("bool", 2, kernel="logical_xor_cpu"), differentiable=False)
aliases({
    "not_equal.Tensor": "ne.Tensor", "less.Tensor": "lt.Tensor", "less_equal.Tensor": "le.Tensor",
    "greater.Tensor": "gt.Tensor", "greater_equal.Tensor": "ge.Tensor",
})

schemas("""
function, method, in-place, out:
    logical_not(Tensor self) -> Tensor  # Whether each element of `self` is zero.
function, method, in-place, out, wrapped numbers:
    bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor  # The bits that are set in both `self` and `other`, element by element; of bools, the logical and.
    bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor  # The bits that are set in `self` or `other`, element by element; of bools, the logical or.
    bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor  # The bits that are set in just one of `self` and `other`, element by element; of bools, the exclusive or.
    bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor  # The bits of each element of `self` moved left by `other` places: `self` times 2 to the power `other`.
    bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor  # The bits of each element of `self` moved right by `other` places, with copies of the sign coming in.
function:
    bitwise_and.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
    bitwise_or.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
    bitwise_xor.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
    bitwise_left_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
    bitwise_right_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
function, method, in-place, out, exact dtype, no overlap:
    bitwise_not(Tensor self) -> Tensor  # The inverted bits of each element of `self`; of bools, the logical not.
function, method, out:
    maximum(Tensor self, Tensor other) -> Tensor  # The greater of the elements of `self` and `other`; nan if one of them is nan.
    minimum(Tensor self, Tensor other) -> Tensor  # The lesser of the elements of `self` and `other`; nan if one of them is nan.
    fmax(Tensor self, Tensor other) -> Tensor  # The greater of the elements of `self` and `other`; where one is nan, the other.
    fmin(Tensor self, Tensor other) -> Tensor  # The lesser of the elements of `self` and `other`; where one is nan, the other.
""")  # noqa: E501


def extremum(name: str) -> Pointwise:
    """Return the meta kernel of an extremum of two operands."""
    refuse = refuse_complex(f"{name} not implemented for complex tensors.", RuntimeError)
    return Pointwise("default", 2, "bool|real", check=refuse)


def chosen(hides: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Return the gradient of an operand of maximum or minimum: half where both are equal, none where it is hidden."""

    def part(grad: Tensor, self: Tensor, other: Any) -> Any:
        half = grad / 2
        return where(self == other, half, grad).masked_fill_(hides(self, other), 0)

    return part


operator("logical_not", Pointwise("bool", 1, kernel="logical_not_cpu"), differentiable=False)
operator("bitwise_and.Tensor", Pointwise("default", 2, "bool|integral|unsigned", "bitwise_and_cpu"),
         differentiable=False)
operator("bitwise_and.Scalar_Tensor", Pointwise("default", 2, "bool|integral|unsigned", "bitwise_and_cpu"))
operator("bitwise_or.Tensor", Pointwise("default", 2, "bool|integral|unsigned", "bitwise_or_cpu"), differentiable=False)
operator("bitwise_or.Scalar_Tensor", Pointwise("default", 2, "bool|integral|unsigned", "bitwise_or_cpu"))
operator("bitwise_xor.Tensor", Pointwise("default", 2, "bool|integral|unsigned", "bitwise_xor_cpu"),
         differentiable=False)
operator("bitwise_xor.Scalar_Tensor", Pointwise("default", 2, "bool|integral|unsigned", "bitwise_xor_cpu"))
operator("bitwise_left_shift.Tensor", Pointwise("default", 2, "integral", "lshift_cpu"), differentiable=False)
operator("bitwise_left_shift.Scalar_Tensor", Pointwise("default", 2, "integral", "lshift_cpu"))
operator("bitwise_right_shift.Tensor", Pointwise("default", 2, "integral", "rshift_cpu"), differentiable=False)
operator("bitwise_right_shift.Scalar_Tensor", Pointwise("default", 2, "integral", "rshift_cpu"))
operator("bitwise_not", Pointwise("default", 1, "bool|integral", "bitwise_not_cpu"), differentiable=False)
operator("maximum", extremum("maximum"), self=chosen(lt), other=chosen(gt))
operator("minimum", extremum("minimum"), self=chosen(gt), other=chosen(lt))
operator("fmax", extremum("fmax"),
         self=lambda grad, self, other: grad.masked_fill(~((self >= other) | other.isnan()), 0),
         other=lambda grad, self, other: grad.masked_fill((self >= other) | other.isnan(), 0))
operator("fmin", extremum("fmin"),
         self=lambda grad, self, other: grad.masked_fill(~((self <= other) | other.isnan()), 0),
         other=lambda grad, self, other: grad.masked_fill((self <= other) | other.isnan(), 0))

schemas("""
function, method, in-place, out:
    clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor  # Each element of `self`, limited to the range from `min` to `max`.
    clamp_min.Tensor(Tensor self, Tensor min) -> Tensor  # Each element of `self`, or `min` where it is less.
    clamp_max.Tensor(Tensor self, Tensor max) -> Tensor  # Each element of `self`, or `max` where it is greater.
function, method, in-place, out, exact dtype:
    clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor
function, method, in-place, out, exact dtype, no overlap:
    clamp_min(Tensor self, Scalar min) -> Tensor
    clamp_max(Tensor self, Scalar max) -> Tensor
""")  # noqa: E501


def check_bounds(promoted: DType, self: Tensor, min: Any = None, max: Any = None) -> None:
    check(min is not None or max is not None, "torch.clamp: At least one of 'min' or 'max' must not be None")
    check(promoted.category != COMPLEX, "clamp is not supported for complex types", NotImplementedError)
    if min == min and max == max:  # a NaN makes all elements NaN, whatever the other bound
        for bound in (min, max):
            if bound is not None:
                check_number(promoted, bound)


def check_tensor_bounds(promoted: DType, self: Tensor, min: Any = None, max: Any = None) -> None:
    check(min is not None or max is not None, "torch.clamp: At least one of 'min' or 'max' must not be None")
    check(not self._dtype.is_complex, "clamp is not supported for complex types", NotImplementedError)
    broadcast_shapes(*(t.shape for t in (self, min, max) if t is not None))
    check_takes(promoted is not bool_ or min is None or max is None, "clamp_cpu", promoted)


CLAMP = Pointwise("default", 3, "real", "clamp_scalar_cpu", check=check_bounds, fast_half=False,
                  iterates_numbers=False)

CLAMP_ONE = Pointwise("default", 2, "real", "clamp_scalar_cpu", check=check_bounds, fast_half=False,
                      iterates_numbers=False)


def inside(grad: Tensor, self: Tensor, min: Any, max: Any) -> Any:
    """Return the gradient of a clamp's input: zero outside of the bounds."""
    zero = zero_like(grad)
    if min is None or max is None:
        return where(self <= max if min is None else self >= min, grad, zero)
    above, below = self >= min, self <= max
    return where(above.logical_and_(below) if above.shape == below.shape else above & below, grad, zero)


def bounds(grad: Tensor, self: Tensor, min: Any, max: Any) -> Any:
    """Return the gradients of a clamp's bounds; where they cross, the upper one counts."""
    below, above = None, None
    if min is not None:
        below = where(self < min if max is None else (self < min) & (min < max), grad, 0)
    if max is not None:
        above = where(self > max if min is None else (self > max) | (max < min), grad, 0)
    return below, above


operator("clamp.Tensor", Pointwise("default", 3, "bool|real", "maximum_cpu", check=check_tensor_bounds, fast=False),
         node="ClampBackward0", jointly={"self": inside, "min, max": bounds})
operator("clamp_min.Tensor", Pointwise("default", 2, "bool|real", "maximum_cpu"), node="ClampMinBackward1",
         self=lambda grad, self, min: where(self >= min, grad, 0),
         min=lambda grad, self, min: where(self < min, grad, 0))
operator("clamp_max.Tensor", Pointwise("default", 2, "bool|real", "minimum_cpu"), node="ClampMaxBackward1",
         self=lambda grad, self, max: where(self <= max, grad, 0),
         max=lambda grad, self, max: where(self > max, grad, 0))
operator("clamp", CLAMP, node="ClampBackward1", self=inside)
operator("clamp_min", CLAMP_ONE, self=lambda grad, self, min: inside(grad, self, min, None))
operator("clamp_max", CLAMP_ONE, self=lambda grad, self, max: inside(grad, self, None, max))

schemas("""
function, method, in-place, out:
    clip.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor  # Each element of `self`, limited to the range from `min` to `max`; another name for `clamp`.
function, method, in-place, out, exact dtype:
    clip(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor
function, method, in-place, out, exact dtype, no overlap:
    heaviside(Tensor self, Tensor values) -> Tensor  # The step function of each element of `self`: 0 where it is negative, 1 where it is positive, and the element of `values` where it is zero.
    nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor  # `self` with nan replaced by `nan`, infinity by `posinf` and minus infinity by `neginf`; by default with zero and the dtype's greatest and least number.
function, method, out, wrapped numbers, exact dtype:
    where.self(Tensor condition, Tensor self, Tensor other) -> Tensor  # The element of `self` where `condition` is true, otherwise that of `other`; of a condition alone, the indices where it is true.
function:
    where(Tensor condition) -> Tensor[]
""")  # noqa: E501


def check_heaviside(promoted: DType, self: Tensor, values: Tensor) -> None:
    dtype = values._dtype if values.__class__ in TENSOR_TYPES else promoted
    check(promoted.category != COMPLEX, "heaviside is not yet implemented for complex tensors.")
    check(self._dtype is dtype, "heaviside is not yet implemented for tensors with different dtypes.")


def check_condition(promoted: DType, condition: Any, self: Tensor, other: Any) -> None:
    check(condition._dtype in (bool_, uint8),
          lambda: about(RuntimeError("where expected condition to be a boolean tensor, but got a tensor with dtype "
                                     f"{NAMES[condition._dtype.name]}"), "mask dtype", mask=condition))
    if condition._dtype is uint8:
        warn_once("where received a uint8 condition tensor. This behavior is deprecated and will be removed in a "
                  "future version of PyTorch. Use a boolean condition instead.")
    for choice in (self, other):
        if choice.__class__ not in TENSOR_TYPES:
            check_fill(promoted, choice, 1)


def composite_where(condition: Tensor) -> Any:
    """``torch.where`` of a condition alone: the indices at which it holds, one tensor per dimension."""
    return condition.nonzero(as_tuple=True)


operator("heaviside", Pointwise("default", 2, "bool|real", check=check_heaviside))
operator("nan_to_num", Pointwise("default", 1, "all|unsigned", opmath=False),
         self=lambda grad, self: grad * self.isfinite())
operator("where.self",
         Pointwise("default", 3, "all|unsigned|complex32|float8", unpromoted=(0,), check=check_condition,
                   opmath=False),
         self=lambda grad, condition: where(condition, grad, 0),
         other=lambda grad, condition: where(condition, 0, grad))
operator("where", composite=composite_where)
aliases({"clip.Tensor": "clamp.Tensor", "clip": "clamp"})

schemas("""
function, method, in-place:
    masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor  # `self` with `value` in place of its elements where `mask` is true.
    masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor
""")  # noqa: E501


def meta_masked_fill(self: Tensor, mask: Tensor, value: Any) -> Spec:
    check(mask._dtype is bool_,
          lambda: f"masked_fill_ only supports boolean masks, but got mask with dtype {CPP_NAMES[mask._dtype.name]}",
          kind="mask dtype")
    if value.__class__ in TENSOR_TYPES:
        check(not value.ndim, lambda: "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
              f"{value.ndim} dimension(s).")
    else:
        check_number(self._dtype, value)
    return Spec(broadcast_shapes(self.shape, mask.shape), self._dtype)


def meta_masked_fill_(self: Tensor, mask: Tensor, value: Any) -> None:
    check_broadcast(meta_masked_fill(self, mask, value).shape, self.shape)


#: It may write to one element several times, and reads the value before.
MASKED_FILL_ = with_overlap(meta_masked_fill_, deprecated_on("masked_fill_"))


def decomposed_masked_fill(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    return self.where(~mask, value).to(self._dtype)


operator("masked_fill.Tensor", meta_masked_fill, batching=composed(decomposed_masked_fill), node="MaskedFillBackward1",
         self=lambda grad, mask: grad.masked_fill(mask, 0), value=lambda grad, mask: where(mask, grad, 0).sum())
operator("masked_fill_.Tensor masked_fill_.Scalar", MASKED_FILL_)
operator("masked_fill.Scalar", meta_masked_fill, batching=composed(decomposed_masked_fill),
         self=lambda grad, mask: grad.masked_fill(mask, 0))
