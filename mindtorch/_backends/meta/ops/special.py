"""Meta kernels of special functions."""
from __future__ import annotations

from typing import Any

from ...._errors import check
from ...common.pointwise import Pointwise
from ...._dispatch.schemas.special import POLYNOMIALS
from ...._dtype import DType
from . import META_KERNELS
from .pointwise import FLOATS

FULL_FLOATS = "bif"  # without half precision


def function(kernel: str, count: int = 1, takes: str = FULL_FLOATS) -> Pointwise:
    return Pointwise("float", count, takes, kernel)


def check_polygamma(promoted: DType, n: int, self: Any) -> None:
    check(n >= 0, "polygamma(n, x) does not support negative n.")


def check_mvlgamma(promoted: DType, self: Any, p: int) -> None:
    check(p >= 1, "p has to be greater than or equal to 1")


META_KERNELS.update({
    "erf": function("erf_vml_cpu", takes=FLOATS),
    "erfc": function("erfc_vml_cpu", takes=FLOATS),
    "erfinv": function("erfinv_vml_cpu", takes=FLOATS),
    "logit": function("logit_cpu", takes=FLOATS),
    "lgamma": function("lgamma_vml_cpu", takes=FLOATS),
    "digamma": function("digamma", takes=FLOATS),
    "polygamma": Pointwise("float", 2, FLOATS, "polygamma", untyped=(0,), check=check_polygamma, lane=False),
    "mvlgamma": Pointwise("float", 1, FLOATS, "mvlgamma_cpu", check=check_mvlgamma, lane=False),
    "igamma": Pointwise("default", 2, "hf", "igamma_cpu"),
    "igammac": Pointwise("default", 2, "hf", "igammac_cpu"),
    "i0": function("i0_vml_cpu", takes=FLOATS),
    **{f"xlogy.{overload}": function("xlogy_cpu", 2, FLOATS)
       for overload in ("Tensor", "Scalar_Other", "Scalar_Self")},
    "special_entr": function("entr_cpu", takes=FLOATS),
    "special_erfcx": function("erfcx_cpu"),
    "special_ndtri": function("ndtri_cpu"),
    "special_log_ndtr": function("log_ndtr_cpu"),
    "special_i0e": function("i0e_cpu", takes=FLOATS),
    "special_i1": function("i1_cpu", takes=FLOATS),
    "special_i1e": function("i1e_cpu", takes=FLOATS),
    **{f"special_xlog1py{overload}": function("xlog1py_cpu", 2, FLOATS)
       for overload in ("", ".other_scalar", ".self_scalar")},
    **{f"special_zeta{overload}": function("zeta_cpu", 2)
       for overload in ("", ".other_scalar", ".self_scalar")},
    **{f"special_{name}": function(f"{name}_cpu")
       for name in ("airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_i0",
                    "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k0",
                    "scaled_modified_bessel_k1", "spherical_bessel_j0")},
    **{f"special_{name}{overload}": function(f"{name}_cpu", 2)
       for name in POLYNOMIALS for overload in ("", ".n_scalar", ".x_scalar")},
})
