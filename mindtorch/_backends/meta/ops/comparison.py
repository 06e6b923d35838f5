"""Meta kernels of comparisons, tests, logic, bits, minimum and maximum, and choices."""
from __future__ import annotations

from typing import Any

from ...._base.about import about
from ...._base.errors import CPP_NAMES, NAMES, check, check_broadcast, check_fill, check_number, check_takes
from ...._base.layout import Spec, broadcast_shapes
from ...._base.warnings import warn_once
from ...._dispatch.dispatcher import TENSOR_TYPES
from ...._dtype import COMPLEX, DType, bool_, uint8
from ...common.overlap import deprecated_on, with_overlap
from ...common.pointwise import Pointwise
from . import META_KERNELS
from .pointwise import refuse_complex


def extremum(name: str) -> Pointwise:
    """The meta kernel of an extremum of two operands."""
    refuse = refuse_complex(f"{name} not implemented for complex tensors.", RuntimeError)
    return Pointwise("default", 2, "bool|real", check=refuse)


def infinite(name: str) -> Pointwise:
    """A test for one of the infinities."""
    refuse = refuse_complex(f"{name} does not support complex inputs.", RuntimeError)
    return Pointwise("bool", 1, "bool|real", check=refuse)


def check_bounds(promoted: DType, self: Any, min: Any = None, max: Any = None) -> None:
    check(min is not None or max is not None, "torch.clamp: At least one of 'min' or 'max' must not be None")
    check(promoted.category != COMPLEX, "clamp is not supported for complex types", NotImplementedError)
    if min == min and max == max:  # a NaN makes all elements NaN, whatever the other bound
        for bound in (min, max):
            if bound is not None:
                check_number(promoted, bound)


def check_tensor_bounds(promoted: DType, self: Any, min: Any = None, max: Any = None) -> None:
    check(min is not None or max is not None, "torch.clamp: At least one of 'min' or 'max' must not be None")
    check(not self._dtype.is_complex, "clamp is not supported for complex types", NotImplementedError)
    broadcast_shapes(*(t.shape for t in (self, min, max) if t is not None))
    check_takes(promoted is not bool_ or min is None or max is None, "clamp_cpu", promoted)


def check_heaviside(promoted: DType, self: Any, values: Any) -> None:
    dtype = values._dtype if values.__class__ in TENSOR_TYPES else promoted
    check(promoted.category != COMPLEX, "heaviside is not yet implemented for complex tensors.")
    check(self._dtype is dtype, "heaviside is not yet implemented for tensors with different dtypes.")


def check_condition(promoted: DType, condition: Any, self: Any, other: Any) -> None:
    check(condition._dtype in (bool_, uint8),
          lambda: about(RuntimeError("where expected condition to be a boolean tensor, but got a tensor with dtype "
                                     f"{NAMES[condition._dtype.name]}"), "mask dtype", mask=condition))
    if condition._dtype is uint8:
        warn_once("where received a uint8 condition tensor. This behavior is deprecated and will be removed in a "
                  "future version of PyTorch. Use a boolean condition instead.")
    for choice in (self, other):
        if choice.__class__ not in TENSOR_TYPES:
            check_fill(promoted, choice, 1)


def masked_fill(self: Any, mask: Any, value: Any) -> Spec:
    check(mask._dtype is bool_,
          lambda: f"masked_fill_ only supports boolean masks, but got mask with dtype {CPP_NAMES[mask._dtype.name]}",
          kind="mask dtype")
    if value.__class__ in TENSOR_TYPES:
        check(not value.ndim, lambda: "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
              f"{value.ndim} dimension(s).")
    else:
        check_number(self._dtype, value)
    return Spec(broadcast_shapes(self.shape, mask.shape), self._dtype)


def masked_fill_(self: Any, mask: Any, value: Any) -> None:
    check_broadcast(masked_fill(self, mask, value).shape, self.shape)


#: It may write to one element several times, and reads the value before.
MASKED_FILL_ = with_overlap(masked_fill_, deprecated_on("masked_fill_"))
CLAMP = Pointwise("default", 3, "real", "clamp_scalar_cpu", check=check_bounds, fast_half=False,
                  iterates_numbers=False)
CLAMP_ONE = Pointwise("default", 2, "real", "clamp_scalar_cpu", check=check_bounds, fast_half=False,
                      iterates_numbers=False)
SHIFTS = {f"bitwise_{side}_shift.{overload}": Pointwise("default", 2, "integral", f"{side[0]}shift_cpu")
          for side in ("left", "right") for overload in ("Tensor", "Scalar_Tensor")}
BITS = {f"bitwise_{name}.{overload}": Pointwise("default", 2, "bool|integral|unsigned", f"bitwise_{name}_cpu")
        for name in ("and", "or", "xor") for overload in ("Tensor", "Scalar_Tensor")}

META_KERNELS.update({
    **{f"{name}.Tensor": Pointwise("bool", 2, "all|unsigned|complex32", f"{name}_cpu") for name in ("eq", "ne")},
    **{f"{name}.Tensor": Pointwise("bool", 2, "bool|real", f"{name}_cpu") for name in ("lt", "le", "gt", "ge")},
    **{name: Pointwise("bool", 1, "all|unsigned|complex32") for name in ("isnan", "isinf", "isfinite", "isreal")},
    "logical_not": Pointwise("bool", 1, kernel="logical_not_cpu"),
    **{f"logical_{name}": Pointwise("bool", 2, kernel=f"logical_{name}_cpu") for name in ("and", "or", "xor")},
    **{name: infinite(name) for name in ("isposinf", "isneginf")},
    **{name: extremum(name) for name in ("maximum", "minimum", "fmax", "fmin")},
    **BITS,
    **SHIFTS,
    "bitwise_not": Pointwise("default", 1, "bool|integral", "bitwise_not_cpu"),
    "clamp": CLAMP,
    "clamp.Tensor": Pointwise("default", 3, "bool|real", "maximum_cpu", check=check_tensor_bounds, fast=False),
    "clamp_min": CLAMP_ONE,
    "clamp_min.Tensor": Pointwise("default", 2, "bool|real", "maximum_cpu"),
    "clamp_max": CLAMP_ONE,
    "clamp_max.Tensor": Pointwise("default", 2, "bool|real", "minimum_cpu"),
    "heaviside": Pointwise("default", 2, "bool|real", check=check_heaviside),
    "nan_to_num": Pointwise("default", 1, "all|unsigned", opmath=False),
    "where.self": Pointwise("default", 3, "all|unsigned|complex32", unpromoted=(0,), check=check_condition, fast=False),
    "masked_fill.Scalar": masked_fill,
    "masked_fill.Tensor": masked_fill,
    "masked_fill_.Scalar": MASKED_FILL_,
    "masked_fill_.Tensor": MASKED_FILL_,
})
