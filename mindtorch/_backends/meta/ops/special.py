"""Meta kernels of special functions."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...._base.errors import NAMES, check, check_takes
from ...._base.layout import Spec, broadcast_shapes
from ...._dispatch.schemas.special import POLYNOMIALS
from ...._dtype import FLOATING, DType
from ...common.pointwise import Pointwise
from . import META_KERNELS


def function(kernel: str, count: int = 1, takes: str = "bool|integral|floating", opmath: bool = True) -> Pointwise:
    return Pointwise("float", count, takes, kernel, opmath=opmath)


def check_polygamma(promoted: DType, n: int, self: Any) -> None:
    check(n >= 0, "polygamma(n, x) does not support negative n.")


def check_mvlgamma(promoted: DType, self: Any, p: int) -> None:
    check(p >= 1, "p has to be greater than or equal to 1")


def same_floating(kernel: str) -> Callable[..., Spec]:
    """The meta kernel of an operator on tensors of one dtype, float32 or float64, that are broadcast."""

    def meta(first: Any, *others: Any) -> Spec:
        dtype = first._dtype
        check_takes(dtype.category == FLOATING and dtype.itemsize >= 4, kernel, dtype)
        for other in others:
            check(other._dtype is dtype, f"Found dtype {NAMES[other._dtype.name]} but expected {NAMES[dtype.name]}")
        return Spec(broadcast_shapes(first.shape, *(other.shape for other in others)), dtype)

    return meta


META_KERNELS.update({
    "_standard_gamma_grad": same_floating("_standard_gamma_grad_cpu"),
    "_dirichlet_grad": same_floating("_dirichlet_grad_cpu"),
    **{name: function(f"{name}_vml_cpu", takes="bool|real") for name in ("erf", "erfc", "erfinv", "lgamma", "i0")},
    **{f"special_{name}": function(f"{name}_cpu", takes="bool|real") for name in ("entr", "i0e", "i1", "i1e")},
    "logit": function("logit_cpu", takes="bool|real", opmath=False),
    "digamma": function("digamma", takes="bool|real"),
    "polygamma": Pointwise("float", 2, "bool|real", "polygamma", unpromoted=(0,), check=check_polygamma, fast=False),
    "mvlgamma": Pointwise("float", 1, "bool|real", "mvlgamma_cpu", check=check_mvlgamma, fast=False),
    "igamma": Pointwise("default", 2, "reduced|floating", "igamma_cpu"),
    "igammac": Pointwise("default", 2, "reduced|floating", "igammac_cpu"),
    **{f"xlogy.{overload}": function("xlogy_cpu", 2, "bool|real", opmath=False)
       for overload in ("Tensor", "Scalar_Other", "Scalar_Self")},
    **{f"special_xlog1py{overload}": function("xlog1py_cpu", 2, "bool|real", opmath=False)
       for overload in ("", ".other_scalar", ".self_scalar")},
    **{f"special_zeta{overload}": function("zeta_cpu", 2) for overload in ("", ".other_scalar", ".self_scalar")},
    **{f"special_{name}": function(f"{name}_cpu")
       for name in ("erfcx", "ndtri", "log_ndtr", "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1",
                    "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1",
                    "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "spherical_bessel_j0")},
    **{f"special_{name}{overload}": function(f"{name}_cpu", 2)
       for name in POLYNOMIALS for overload in ("", ".n_scalar", ".x_scalar")},
})
