"""Element by element: other names, and what is written in other operators."""
from __future__ import annotations

from collections.abc import Callable
from math import nan, sqrt
from typing import Any

from .._backends.common.casts import check_cast
from .._backends.common.pointwise import check_alpha, result_type
from .._base.errors import NAMES, check
from .._dispatch.aten import (
    _conj, _conj_physical, mul_Tensor as mul, pow_Scalar as pow_of_number, pow_Tensor_Scalar as pow_number,
    pow_Tensor_Tensor as pow_, round_decimals, rsub_Scalar as rsub, where_self,
)
from .._dispatch.registry import inplace_name
from .._dispatch.schemas import registry
from .._dtype import FLOATING, bool_, complex128, float64, get_default_dtype
from . import COMPOSITES

#: name: the operator that it is another name of, with its in-place form if it has one.
ALIASES = {
    "subtract.Tensor": "sub.Tensor", "multiply.Tensor": "mul.Tensor", "divide.Tensor": "div.Tensor",
    "divide.Tensor_mode": "div.Tensor_mode", "true_divide.Tensor": "div.Tensor", "negative": "neg",
    "absolute": "abs", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh",
    "arctanh": "atanh", "arctan2": "atan2", "fix": "trunc", "not_equal.Tensor": "ne.Tensor",
    "less.Tensor": "lt.Tensor", "less_equal.Tensor": "le.Tensor", "greater.Tensor": "gt.Tensor",
    "greater_equal.Tensor": "ge.Tensor", "clip": "clamp", "clip.Tensor": "clamp.Tensor",
}


def positive(self: Any) -> Any:
    """``torch.positive``: the tensor itself. Raises RuntimeError for bools."""
    check(self._dtype is not bool_, "The `+` operator, on a bool tensor is not supported.")
    return self


def conj(self: Any) -> Any:
    """``torch.conj``: a view of a complex tensor that is conjugated when it is read; a real tensor itself."""
    return _conj(self) if self._dtype.is_complex else self


def conj_physical(self: Any) -> Any:
    """``torch.conj_physical``: conjugated in memory; a real tensor is returned itself."""
    return _conj_physical(self) if self._dtype.is_complex else self


def conj_physical_(self: Any) -> Any:
    """``Tensor.conj_physical_``."""
    return self.copy_(_conj_physical(self))


def _powered(self: Any, exponent: Any, power: Callable[[Any, Any], Any]) -> Any:
    dtype = complex128 if result_type((self, exponent)).is_complex else float64
    return power(*(x.to(dtype) if hasattr(x, "_dtype") else x for x in (self, exponent)))


def float_power_(self: Any, exponent: Any) -> Any:
    """``Tensor.float_power_``. Raises RuntimeError if the tensor is not of double precision."""
    dtype = complex128 if result_type((self, exponent)).is_complex else float64
    check(self._dtype is dtype, lambda: f"the base given to float_power_ has dtype {NAMES[self._dtype.name]} but the "
          f"operation's result requires dtype {NAMES[dtype.name]}")
    exponent = exponent.to(dtype) if hasattr(exponent, "_dtype") else exponent
    return self.pow_(exponent)


def isclose(self: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
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


def add_to_number(self: Any, other: Any, alpha: Any = 1) -> Any:
    """``torch.add`` of a number and a tensor."""
    dtype = result_type((self, other))
    check_alpha(dtype, alpha)
    return (other if alpha == 1 else mul(other.to(dtype), alpha).to(dtype)).add(self)


def where(condition: Any) -> Any:
    """``torch.where`` of a condition alone: the indices at which it holds, one tensor per dimension."""
    return condition.nonzero(as_tuple=True)


def special_ndtr(self: Any) -> Any:
    """``torch.special.ndtr``: the area under the normal density left of each element."""
    x = self * sqrt(0.5)
    return (1 + x.erf()) * 0.5


def polygamma_(self: Any, n: int) -> Any:
    """``Tensor.polygamma_``."""
    result = self.clone().polygamma(n)
    check_cast(result._dtype, self._dtype)
    return self.copy_(result)


def logit_backward(grad_output: Any, self: Any, eps: float | None = None) -> Any:
    low, high = (0.0, 1.0) if eps is None else (eps, 1 - eps)
    slope = grad_output / (self * (1 - self))
    return where_self((self >= low) & (self <= high), slope, nan if eps is None else 0.0)


COMPOSITES.add(logit_backward, positive, conj, conj_physical, conj_physical_, isclose, where, special_ndtr,
               polygamma_)
COMPOSITES.update({
    **{name: registry[target].call for name, target in ALIASES.items()},
    **{inplace_name(name): registry[inplace_name(target)].call for name, target in ALIASES.items()},
    "square": lambda self: pow_number(self, 2),
    "square_": lambda self: self.pow_(2),
    "float_power.Tensor_Tensor": lambda self, exponent: _powered(self, exponent, pow_),
    "float_power.Tensor_Scalar": lambda self, exponent: _powered(self, exponent, pow_number),
    "float_power.Scalar": lambda self, exponent: _powered(self, exponent, pow_of_number),
    "float_power_.Tensor_Tensor": float_power_,
    "float_power_.Tensor_Scalar": float_power_,
    "add.Scalar_Tensor": add_to_number,
    "sub.Scalar_Tensor": lambda self, other, alpha=1: rsub(other, self, alpha),
    "mul.Scalar_Tensor": lambda self, other: mul(other, self),
    "div.Scalar_Tensor": lambda self, other: other.reciprocal() * self,
    "true_divide.Scalar_Tensor": lambda self, other: other.reciprocal() * self,
    "special_round": lambda self, decimals=0: round_decimals(self, decimals),
})
