"""Special functions, element by element."""

SCHEMAS = """
fmio erf(Tensor self) -> Tensor
fmio erfc(Tensor self) -> Tensor
fmio erfinv(Tensor self) -> Tensor
fmio logit(Tensor self, float? eps=None) -> Tensor
fmio lgamma(Tensor self) -> Tensor
fmio digamma(Tensor self) -> Tensor
fmo polygamma(int n, Tensor self) -> Tensor
m   polygamma_(Tensor(a!) self, int n) -> Tensor(a!)
fmio mvlgamma(Tensor self, int p) -> Tensor
fmio igamma(Tensor self, Tensor other) -> Tensor
fmio igammac(Tensor self, Tensor other) -> Tensor
fmio i0(Tensor self) -> Tensor
fmio xlogy.Tensor(Tensor self, Tensor other) -> Tensor
fmio xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor
fo  xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor

o   special_entr(Tensor self) -> Tensor
o   special_erfcx(Tensor self) -> Tensor
o   special_ndtr(Tensor self) -> Tensor
o   special_ndtri(Tensor self) -> Tensor
o   special_log_ndtr(Tensor self) -> Tensor
o   special_i0e(Tensor self) -> Tensor
o   special_i1(Tensor self) -> Tensor
o   special_i1e(Tensor self) -> Tensor
o   special_xlog1py(Tensor self, Tensor other) -> Tensor
o   special_xlog1py.other_scalar(Tensor self, Scalar other) -> Tensor
o   special_xlog1py.self_scalar(Scalar self, Tensor other) -> Tensor
o   special_zeta(Tensor self, Tensor other) -> Tensor
o   special_zeta.other_scalar(Tensor self, Scalar other) -> Tensor
o   special_zeta.self_scalar(Scalar self, Tensor other) -> Tensor
ox  special_round(Tensor self, *, int decimals=0) -> Tensor

o   special_airy_ai(Tensor x) -> Tensor
o   special_bessel_j0(Tensor self) -> Tensor
o   special_bessel_j1(Tensor self) -> Tensor
o   special_bessel_y0(Tensor self) -> Tensor
o   special_bessel_y1(Tensor self) -> Tensor
o   special_modified_bessel_i0(Tensor self) -> Tensor
o   special_modified_bessel_i1(Tensor self) -> Tensor
o   special_modified_bessel_k0(Tensor self) -> Tensor
o   special_modified_bessel_k1(Tensor self) -> Tensor
o   special_scaled_modified_bessel_k0(Tensor x) -> Tensor
o   special_scaled_modified_bessel_k1(Tensor x) -> Tensor
o   special_spherical_bessel_j0(Tensor x) -> Tensor
"""

#: Orthogonal polynomials in x of degree n; either may be a number.
POLYNOMIALS = (
    "chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w",
    "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w", "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l",
    "legendre_polynomial_p",
)  # fmt: skip
SCHEMAS += "".join(
    f"o special_{name}(Tensor x, Tensor n) -> Tensor\n"
    f"o special_{name}.n_scalar(Tensor x, Scalar n) -> Tensor\n"
    f"o special_{name}.x_scalar(Scalar x, Tensor n) -> Tensor\n"
    for name in POLYNOMIALS
)
