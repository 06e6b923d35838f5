"""Special functions, element by element."""
from __future__ import annotations

import math
from collections.abc import Callable
from math import nan, sqrt
from typing import Any

from .._backends.common.casts import check_cast
from .._backends.common.pointwise import Pointwise
from .._base.errors import NAMES, check, check_takes
from .._base.layout import Spec, broadcast_shapes
from .._dispatch.aten import (
    add_Scalar, digamma, mul_Scalar, polygamma, round_decimals, special_i0e as i0e, special_i1 as i1,
    special_i1e as i1e, special_xlog1py as xlog1py, special_zeta as zeta, special_zeta_self_scalar as zeta_of_number,
    where_self as where, xlogy_Tensor as xlogy,
)
from .._dispatch.dispatcher import TENSOR_TYPES
from .._dispatch.schemas import registry
from .._dtype import FLOATING, DType, finfo
from .._tensor import Tensor
from . import composites, differentiates, operator, schemas
from .pointwise import Contiguous, not_implemented


def function(kernel: str, count: int = 1, takes: str = "bool|integral|floating", opmath: bool = True) -> Pointwise:
    return Pointwise("float", count, takes, kernel, opmath=opmath)


schemas("""
operator only, explicit:
    logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> Tensor
function, method, in-place, out:
    logit(Tensor self, float? eps=None) -> Tensor  # The logarithm of x / (1 - x) for each element x of `self`, which is first limited to the range from `eps` to 1 - `eps`.
    erf(Tensor self) -> Tensor  # The error function of each element x of `self`: 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x.
    erfc(Tensor self) -> Tensor  # One minus the error function of each element of `self`, accurate for large elements too.
    erfinv(Tensor self) -> Tensor  # The number whose error function is each element of `self`.
    lgamma(Tensor self) -> Tensor  # The logarithm of the absolute value of the gamma function of each element of `self`.
    digamma(Tensor self) -> Tensor  # The derivative of the logarithm of the gamma function at each element of `self`.
    mvlgamma(Tensor self, int p) -> Tensor  # The logarithm of the multivariate gamma function of dimension `p` of each element of `self`.
    igamma(Tensor self, Tensor other) -> Tensor  # The regularized lower incomplete gamma function of the parameter `self` at `other`.
    igammac(Tensor self, Tensor other) -> Tensor  # The regularized upper incomplete gamma function of the parameter `self` at `other`.
    i0(Tensor self) -> Tensor  # The modified Bessel function of the first kind and order 0 of each element of `self`.
""")  # noqa: E501


def check_mvlgamma(promoted: DType, self: Tensor, p: int) -> None:
    check(p >= 1, "p has to be greater than or equal to 1")


def logit_backward(grad_output: Tensor, self: Tensor, eps: float | None = None) -> Tensor:
    eps = None if eps is not None and eps < 0 else eps
    low, high = (0.0, 1.0) if eps is None else (eps, 1 - eps)
    slope, beyond = grad_output / (self * (1 - self)), nan if eps is None else 0.0
    outside = (self < low) | (self > high)
    if differentiates(slope):
        return where(outside, slope.new_full((), beyond), slope)
    return slope.masked_fill_(outside, beyond)


def mvlgamma_backward(grad: Tensor, self: Tensor, p: int) -> Tensor:
    slope = digamma(self)
    for i in range(1, p):
        slope = slope + digamma(self - i / 2)
    return grad * slope


def gamma_density(grad: Tensor, self: Tensor, other: Any) -> Any:
    return grad * ((self - 1) * other.log() - other - self.lgamma()).exp()


composites(logit_backward)
operator("logit", function("logit_cpu", takes="bool|real", opmath=False), self=registry["logit_backward"])
operator("erf", function("erf_vml_cpu", takes="bool|real"),
         self=lambda grad, self: 2 / math.sqrt(math.pi) * (-self.pow(2)).exp() * grad)
operator("erfc", function("erfc_vml_cpu", takes="bool|real"),
         self=lambda grad, self: -2 / math.sqrt(math.pi) * (-self.pow(2)).exp() * grad)
operator("erfinv", function("erfinv_vml_cpu", takes="bool|real"), autocast="npu float32",
         self=lambda grad, self: 0.5 * math.sqrt(math.pi) * self.erfinv().pow(2).exp() * grad)
operator("lgamma", function("lgamma_vml_cpu", takes="bool|real"), self=lambda grad, self: grad * digamma(self))
operator("digamma", function("digamma", takes="bool|real"), self=lambda grad, self: grad * polygamma(1, self))
operator("mvlgamma", Contiguous("float", 1, "bool|real", "mvlgamma_cpu", check=check_mvlgamma, fast=False),
         self=mvlgamma_backward)
operator("igamma", Pointwise("default", 2, "reduced|floating", "igamma_cpu"), self=not_implemented("igamma: input"),
         other=gamma_density)
operator("igammac", Pointwise("default", 2, "reduced|floating", "igammac_cpu"), self=not_implemented("igammac: input"),
         other=lambda grad, self, other: -gamma_density(grad, self, other))
operator("i0", function("i0_vml_cpu", takes="bool|real"), self=lambda grad, self: grad * i1(self))

schemas("""
function, method, in-place, out:
    xlogy.Tensor(Tensor self, Tensor other) -> Tensor  # The product of `self` and the logarithm of `other`, which is zero where `self` is zero.
    xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor
function, out:
    xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor
out:
    special_xlog1py(Tensor self, Tensor other) -> Tensor  # The product of `self` and the logarithm of one plus `other`, which is zero where `self` is zero.
    special_xlog1py.other_scalar(Tensor self, Scalar other) -> Tensor
    special_xlog1py.self_scalar(Scalar self, Tensor other) -> Tensor
function, method, out:
    polygamma(int n, Tensor self) -> Tensor  # The `n`th derivative of the digamma function at each element of `self`.
method:
    polygamma_(Tensor(a!) self, int n) -> Tensor(a!)  # Replaces each element of `self` by the `n`th derivative of the digamma function there.
""")  # noqa: E501


def check_polygamma(promoted: DType, n: int, self: Tensor) -> None:
    check(n >= 0, "polygamma(n, x) does not support negative n.")


def polygamma_(self: Tensor, n: int) -> Tensor:
    """``Tensor.polygamma_``."""
    result = self.clone().polygamma(n)
    check_cast(result._dtype, self._dtype)
    return self.copy_(result)


def log_times(function: Any, zero: Any) -> Any:
    """Return d(x log y)/dx: 0 where x is 0 and y has no logarithm, infinite at y = ``zero``."""

    def formula(grad: Tensor, self: Tensor, other: Any) -> Any:
        if other.__class__ not in TENSOR_TYPES:
            product = function(grad, other)
            return product if other > zero else product.masked_fill(self == 0, 0)
        return function(grad, other).masked_fill((self == 0) & (other <= zero), 0)

    return formula


composites(polygamma_)
operator("xlogy.Tensor", function("xlogy_cpu", 2, "bool|real", opmath=False), self=log_times(xlogy, 0.0),
         other=lambda grad, self, other: grad * self / other)
operator("xlogy.Scalar_Other", function("xlogy_cpu", 2, "bool|real", opmath=False), node="XlogyBackward2",
         self=log_times(xlogy, 0.0))
operator("xlogy.Scalar_Self", function("xlogy_cpu", 2, "bool|real", opmath=False), node="XlogyBackward1",
         other=lambda grad, self, other: grad * self / other)
operator("special_xlog1py", function("xlog1py_cpu", 2, "bool|real", opmath=False), node="SpecialXlog1PyBackward0",
         self=log_times(xlog1py, -1.0), other=lambda grad, self, other: grad * self / (other + 1))
operator("special_xlog1py.other_scalar", function("xlog1py_cpu", 2, "bool|real", opmath=False),
         node="SpecialXlog1PyBackward2", self=log_times(xlog1py, -1.0))
operator("special_xlog1py.self_scalar", function("xlog1py_cpu", 2, "bool|real", opmath=False),
         node="SpecialXlog1PyBackward1", other=lambda grad, self, other: grad * self / (other + 1))
operator("polygamma",
         Pointwise("float", 2, "bool|real", "polygamma", unpromoted=(0,), check=check_polygamma, fast=False),
         self=lambda grad, n, self: grad * polygamma(n + 1, self))

schemas("""
function:
    _standard_gamma_grad(Tensor self, Tensor output) -> Tensor  # The derivative of a gamma number `output` in its shape parameter `self`, at a fixed probability of smaller numbers.
    _dirichlet_grad(Tensor x, Tensor alpha, Tensor total) -> Tensor  # The derivative of a beta number `x` in its first parameter `alpha`, where both parameters add up to `total`, divided by 1 - `x`.
out:
    special_entr(Tensor self) -> Tensor  # The entropy -x log x of each element x of `self`, which is 0 at zero and minus infinity below.
    special_erfcx(Tensor self) -> Tensor  # The complementary error function of each element x of `self`, multiplied by exp(x^2).
    special_ndtr(Tensor self) -> Tensor  # The probability that a standard normal variable lies below each element of `self`.
    special_ndtri(Tensor self) -> Tensor  # The number below which a standard normal variable lies with the probability that each element of `self` is.
    special_log_ndtr(Tensor self) -> Tensor  # The logarithm of the probability that a standard normal variable lies below each element of `self`.
    special_i0e(Tensor self) -> Tensor  # The modified Bessel function of the first kind and order 0 of each element x of `self`, multiplied by exp(-|x|).
""")  # noqa: E501


def same_floating(kernel: str) -> Callable[..., Spec]:
    """Return the meta kernel of an operator on tensors of one dtype, float32 or float64, that are broadcast."""

    def meta(first: Any, *others: Any) -> Spec:
        dtype = first._dtype
        check_takes(dtype.category == FLOATING and dtype.itemsize >= 4, kernel, dtype)
        for other in others:
            check(other._dtype is dtype, f"Found dtype {NAMES[other._dtype.name]} but expected {NAMES[dtype.name]}")
        return Spec(broadcast_shapes(first.shape, *(other.shape for other in others)), dtype)

    return meta


def special_ndtr(self: Tensor) -> Tensor:
    """``torch.special.ndtr``: the area under the normal density left of each element."""
    return mul_Scalar(add_Scalar(mul_Scalar(self, sqrt(0.5)).erf(), 1), 0.5)


composites(special_ndtr)
operator("_standard_gamma_grad", same_floating("_standard_gamma_grad_cpu"),
         self=not_implemented("_standard_gamma_grad"))
operator("_dirichlet_grad", same_floating("_dirichlet_grad_cpu"))
operator("special_entr", function("entr_cpu", takes="bool|real"), self=lambda grad, self: grad * -(1 + self.log()))
operator("special_erfcx", function("erfcx_cpu"),
         self=lambda grad, self, result: (2 * self * result - 2 / math.sqrt(math.pi)) * grad)
operator("special_ndtri", function("ndtri_cpu"),
         self=lambda grad, result: grad * math.sqrt(2 * math.pi) * (result.square() / 2).exp())
operator("special_log_ndtr", function("log_ndtr_cpu"),
         self=lambda grad, self, result: grad / math.sqrt(2 * math.pi) * (-(result + self.pow(2) / 2)).exp())
operator("special_i0e", function("i0e_cpu", takes="bool|real"), node="SpecialI0EBackward0",
         self=lambda grad, self, result: grad * (i1e(self) - self.sgn() * result))

schemas("""
out:
    special_i1(Tensor self) -> Tensor  # The modified Bessel function of the first kind and order 1 of each element of `self`.
    special_i1e(Tensor self) -> Tensor  # The modified Bessel function of the first kind and order 1 of each element x of `self`, multiplied by exp(-|x|).
    special_zeta(Tensor self, Tensor other) -> Tensor  # The Hurwitz zeta function: the sum of the powers -`self` of `other`, `other` + 1, `other` + 2, ...
    special_zeta.other_scalar(Tensor self, Scalar other) -> Tensor
    special_zeta.self_scalar(Scalar self, Tensor other) -> Tensor
    special_airy_ai(Tensor x) -> Tensor  # The Airy function Ai of each element of `x`.
    special_bessel_j0(Tensor self) -> Tensor  # The Bessel function of the first kind and order 0 of each element of `self`.
    special_bessel_j1(Tensor self) -> Tensor  # The Bessel function of the first kind and order 1 of each element of `self`.
    special_bessel_y0(Tensor self) -> Tensor  # The Bessel function of the second kind and order 0 of each element of `self`.
    special_bessel_y1(Tensor self) -> Tensor  # The Bessel function of the second kind and order 1 of each element of `self`.
    special_modified_bessel_i0(Tensor self) -> Tensor  # The modified Bessel function of the first kind and order 0 of each element of `self`.
    special_modified_bessel_i1(Tensor self) -> Tensor  # The modified Bessel function of the first kind and order 1 of each element of `self`.
    special_modified_bessel_k0(Tensor self) -> Tensor  # The modified Bessel function of the second kind and order 0 of each element of `self`.
    special_modified_bessel_k1(Tensor self) -> Tensor  # The modified Bessel function of the second kind and order 1 of each element of `self`.
    special_scaled_modified_bessel_k0(Tensor x) -> Tensor  # The modified Bessel function of the second kind and order 0 of each element of `x`, multiplied by its exponential.
    special_scaled_modified_bessel_k1(Tensor x) -> Tensor  # The modified Bessel function of the second kind and order 1 of each element of `x`, multiplied by its exponential.
    special_spherical_bessel_j0(Tensor x) -> Tensor  # The spherical Bessel function of the first kind and order 0 of each element of `x`: its sine divided by itself.
out, exact dtype, no overlap:
    special_round(Tensor self, *, int decimals=0) -> Tensor  # Each element of `self` rounded to `decimals` decimals, halves to the even neighbour.
""")  # noqa: E501


def away_from_zero(kernel: str, self: Tensor) -> tuple[Any, Any]:
    """Where elements are not tiny, and elements that may be divided by; not in half precision."""
    check_takes(self._dtype.itemsize > 2, kernel, self._dtype)
    eps = finfo(self._dtype).eps
    large = self.abs() > eps
    return large, where(large, self, eps)


def i1_backward(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    large, safe = away_from_zero("i1_backward", self)
    return grad * where(large, safe.i0() - result / safe, 0.5)


def i1e_backward(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    large, safe = away_from_zero("i1e_backward", self)
    return grad * where(large, i0e(safe) - result * (safe.sgn() + safe.reciprocal()), 0.5)


operator("special_i1", function("i1_cpu", takes="bool|real"), self=i1_backward)
operator("special_i1e", function("i1e_cpu", takes="bool|real"), node="SpecialI1EBackward0", self=i1e_backward)
operator("special_zeta", function("zeta_cpu", 2), self=not_implemented("zeta"),
         other=lambda grad, self, other: grad * -self * zeta(self + 1, other))
operator("special_zeta.other_scalar", function("zeta_cpu", 2), node="SpecialZetaBackward2",
         self=not_implemented("zeta"))
operator("special_zeta.self_scalar", function("zeta_cpu", 2), node="SpecialZetaBackward1",
         other=lambda grad, self, other: grad * -self * zeta_of_number(self + 1, other))
operator("special_round", composite=lambda self, decimals=0: round_decimals(self, decimals))
for name in (
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_i0", "modified_bessel_i1",
    "modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1",
    "spherical_bessel_j0",
):
    operator(f"special_{name}", function(f"{name}_cpu"), differentiable=False)

schemas("""
out:
    special_chebyshev_polynomial_t(Tensor x, Tensor n) -> Tensor  # The Chebyshev polynomial of the first kind of degree `n` at each element of `x`.
    special_chebyshev_polynomial_u(Tensor x, Tensor n) -> Tensor  # The Chebyshev polynomial of the second kind of degree `n` at each element of `x`.
    special_chebyshev_polynomial_v(Tensor x, Tensor n) -> Tensor  # The Chebyshev polynomial of the third kind of degree `n` at each element of `x`.
    special_chebyshev_polynomial_w(Tensor x, Tensor n) -> Tensor  # The Chebyshev polynomial of the fourth kind of degree `n` at each element of `x`.
    special_shifted_chebyshev_polynomial_t(Tensor x, Tensor n) -> Tensor  # The shifted Chebyshev polynomial of the first kind of degree `n` at each element of `x`.
    special_shifted_chebyshev_polynomial_u(Tensor x, Tensor n) -> Tensor  # The shifted Chebyshev polynomial of the second kind of degree `n` at each element of `x`.
    special_shifted_chebyshev_polynomial_v(Tensor x, Tensor n) -> Tensor  # The shifted Chebyshev polynomial of the third kind of degree `n` at each element of `x`.
    special_shifted_chebyshev_polynomial_w(Tensor x, Tensor n) -> Tensor  # The shifted Chebyshev polynomial of the fourth kind of degree `n` at each element of `x`.
    special_hermite_polynomial_h(Tensor x, Tensor n) -> Tensor  # The physicist's Hermite polynomial of degree `n` at each element of `x`.
    special_hermite_polynomial_he(Tensor x, Tensor n) -> Tensor  # The probabilist's Hermite polynomial of degree `n` at each element of `x`.
    special_laguerre_polynomial_l(Tensor x, Tensor n) -> Tensor  # The Laguerre polynomial of degree `n` at each element of `x`.
    special_legendre_polynomial_p(Tensor x, Tensor n) -> Tensor  # The Legendre polynomial of degree `n` at each element of `x`.
    special_{chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p}.n_scalar(Tensor x, Scalar n) -> Tensor
    special_{chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p}.x_scalar(Scalar x, Tensor n) -> Tensor
""")  # noqa: E501

for name in [packet for packet in registry.packets if "_polynomial_" in packet]:
    operator(f"{name} {name}.n_scalar {name}.x_scalar", function(f"{name.removeprefix('special_')}_cpu", 2),
             differentiable=False)
