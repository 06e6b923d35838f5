"""Derivatives of special functions."""
from __future__ import annotations

import math
from typing import Any

from ..._base.errors import check_takes
from ..._dispatch.aten import (
    digamma, polygamma, special_i0e as i0e, special_i1 as i1, special_i1e as i1e, special_xlog1py as xlog1py,
    special_zeta as zeta, special_zeta_self_scalar as zeta_of_number, where_self as where, xlogy_Tensor as xlogy,
)
from ..._dispatch.dispatcher import TENSOR_TYPES
from ..._dispatch.schemas import registry
from ..._dispatch.schemas.special import POLYNOMIALS
from ..._dtype import finfo
from ..derivative import derivative, not_differentiable
from .pointwise import not_implemented


def mvlgamma_backward(grad: Any, self: Any, p: int) -> Any:
    slope = digamma(self)
    for i in range(1, p):
        slope = slope + digamma(self - i / 2)
    return grad * slope


def gamma_density(grad: Any, self: Any, other: Any) -> Any:
    return grad * ((self - 1) * other.log() - other - self.lgamma()).exp()


def log_times(function: Any, zero: Any) -> Any:
    """The derivative of ``x * log(y)`` in x: 0 where x is 0 and y has no logarithm, infinite at y = ``zero``."""

    def formula(grad: Any, self: Any, other: Any) -> Any:
        if other.__class__ not in TENSOR_TYPES:
            product = function(grad, other)
            return product if other > zero else product.masked_fill(self == 0, 0)
        return function(grad, other).masked_fill((self == 0) & (other <= zero), 0)

    return formula


def away_from_zero(kernel: str, self: Any) -> tuple[Any, Any]:
    """Where elements are not tiny, and elements that may be divided by; not in half precision."""
    check_takes(self._dtype.itemsize > 2, kernel, self._dtype)
    eps = finfo(self._dtype).eps
    large = self.abs() > eps
    return large, where(large, self, eps)


def i1_backward(grad: Any, self: Any, result: Any) -> Any:
    large, safe = away_from_zero("i1_backward", self)
    return grad * where(large, safe.i0() - result / safe, 0.5)


def i1e_backward(grad: Any, self: Any, result: Any) -> Any:
    large, safe = away_from_zero("i1e_backward", self)
    return grad * where(large, i0e(safe) - result * (safe.sgn() + safe.reciprocal()), 0.5)


derivative("erf", self=lambda grad, self: 2 / math.sqrt(math.pi) * (-self.pow(2)).exp() * grad)
derivative("erfc", self=lambda grad, self: -2 / math.sqrt(math.pi) * (-self.pow(2)).exp() * grad)
derivative("erfinv", self=lambda grad, self: 0.5 * math.sqrt(math.pi) * self.erfinv().pow(2).exp() * grad)
derivative("logit", self=registry["logit_backward"])
derivative("lgamma", self=lambda grad, self: grad * digamma(self))
derivative("digamma", self=lambda grad, self: grad * polygamma(1, self))
derivative("polygamma", self=lambda grad, n, self: grad * polygamma(n + 1, self))
derivative("mvlgamma", self=mvlgamma_backward)
derivative("igamma", self=not_implemented("igamma: input"), other=gamma_density)
derivative("igammac",
           self=not_implemented("igammac: input"), other=lambda grad, self, other: -gamma_density(grad, self, other))
derivative("_standard_gamma_grad", self=not_implemented("_standard_gamma_grad"))
derivative("i0", self=lambda grad, self: grad * i1(self))
derivative("special_i0e", "SpecialI0EBackward0",
           self=lambda grad, self, result: grad * (i1e(self) - self.sgn() * result))
derivative("special_i1", self=i1_backward)
derivative("special_i1e", "SpecialI1EBackward0", self=i1e_backward)
derivative("special_entr", self=lambda grad, self: grad * -(1 + self.log()))
derivative("special_erfcx", self=lambda grad, self, result: (2 * self * result - 2 / math.sqrt(math.pi)) * grad)
derivative("special_ndtri", self=lambda grad, result: grad * math.sqrt(2 * math.pi) * (result.square() / 2).exp())
derivative("special_log_ndtr",
           self=lambda grad, self, result: grad / math.sqrt(2 * math.pi) * (-(result + self.pow(2) / 2)).exp())
derivative("xlogy.Tensor", self=log_times(xlogy, 0), other=lambda grad, self, other: grad * self / other)
derivative("xlogy.Scalar_Self", "XlogyBackward1", other=lambda grad, self, other: grad * self / other)
derivative("xlogy.Scalar_Other", "XlogyBackward2", self=log_times(xlogy, 0))
derivative("special_xlog1py", "SpecialXlog1PyBackward0",
           self=log_times(xlog1py, -1), other=lambda grad, self, other: grad * self / (other + 1))
derivative("special_xlog1py.self_scalar", "SpecialXlog1PyBackward1",
           other=lambda grad, self, other: grad * self / (other + 1))
derivative("special_xlog1py.other_scalar", "SpecialXlog1PyBackward2", self=log_times(xlog1py, -1))
derivative("special_zeta",
           self=not_implemented("zeta"), other=lambda grad, self, other: grad * -self * zeta(self + 1, other))
derivative("special_zeta.self_scalar", "SpecialZetaBackward1",
           other=lambda grad, self, other: grad * -self * zeta_of_number(self + 1, other))
derivative("special_zeta.other_scalar", "SpecialZetaBackward2", self=not_implemented("zeta"))

not_differentiable(" ".join(
    f"special_{name}{overload}" for name in POLYNOMIALS for overload in ("", ".n_scalar", ".x_scalar")))
not_differentiable("""
    special_airy_ai special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1
    special_modified_bessel_i0 special_modified_bessel_i1 special_modified_bessel_k0 special_modified_bessel_k1
    special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 special_spherical_bessel_j0
""")
