"""Special functions, element by element."""

SCHEMAS = """
operator only, explicit:
    logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> Tensor
function, method, in-place, out:
    erf(Tensor self) -> Tensor  # The error function of each element x of `self`: 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x.
    erfc(Tensor self) -> Tensor  # One minus the error function of each element of `self`, accurate for large elements too.
    erfinv(Tensor self) -> Tensor  # The number whose error function is each element of `self`.
    logit(Tensor self, float? eps=None) -> Tensor  # The logarithm of x / (1 - x) for each element x of `self`, which is first limited to the range from `eps` to 1 - `eps`.
    lgamma(Tensor self) -> Tensor  # The logarithm of the absolute value of the gamma function of each element of `self`.
    digamma(Tensor self) -> Tensor  # The derivative of the logarithm of the gamma function at each element of `self`.
    mvlgamma(Tensor self, int p) -> Tensor  # The logarithm of the multivariate gamma function of dimension `p` of each element of `self`.
    igamma(Tensor self, Tensor other) -> Tensor  # The regularized lower incomplete gamma function of the parameter `self` at `other`.
    igammac(Tensor self, Tensor other) -> Tensor  # The regularized upper incomplete gamma function of the parameter `self` at `other`.
    i0(Tensor self) -> Tensor  # The modified Bessel function of the first kind and order 0 of each element of `self`.
    xlogy.Tensor(Tensor self, Tensor other) -> Tensor  # The product of `self` and the logarithm of `other`, which is zero where `self` is zero.
    xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor
function, method, out:
    polygamma(int n, Tensor self) -> Tensor  # The `n`th derivative of the digamma function at each element of `self`.
method:
    polygamma_(Tensor(a!) self, int n) -> Tensor(a!)  # Replaces each element of `self` by the `n`th derivative of the digamma function there.
function, out:
    xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor
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
    special_i1(Tensor self) -> Tensor  # The modified Bessel function of the first kind and order 1 of each element of `self`.
    special_i1e(Tensor self) -> Tensor  # The modified Bessel function of the first kind and order 1 of each element x of `self`, multiplied by exp(-|x|).
    special_xlog1py(Tensor self, Tensor other) -> Tensor  # The product of `self` and the logarithm of one plus `other`, which is zero where `self` is zero.
    special_xlog1py.other_scalar(Tensor self, Scalar other) -> Tensor
    special_xlog1py.self_scalar(Scalar self, Tensor other) -> Tensor
    special_zeta(Tensor self, Tensor other) -> Tensor  # The Hurwitz zeta function: the sum of the powers -`self` of `other`, `other` + 1, `other` + 2, ...
    special_zeta.other_scalar(Tensor self, Scalar other) -> Tensor
    special_zeta.self_scalar(Scalar self, Tensor other) -> Tensor
out, exact dtype, no overlap:
    special_round(Tensor self, *, int decimals=0) -> Tensor  # Each element of `self` rounded to `decimals` decimals, halves to the even neighbour.

out:
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
"""

#: Orthogonal polynomials in x of degree n; either may be a number.
POLYNOMIALS = {
    "chebyshev_polynomial_t": "Chebyshev polynomial of the first kind",
    "chebyshev_polynomial_u": "Chebyshev polynomial of the second kind",
    "chebyshev_polynomial_v": "Chebyshev polynomial of the third kind",
    "chebyshev_polynomial_w": "Chebyshev polynomial of the fourth kind",
    "shifted_chebyshev_polynomial_t": "shifted Chebyshev polynomial of the first kind",
    "shifted_chebyshev_polynomial_u": "shifted Chebyshev polynomial of the second kind",
    "shifted_chebyshev_polynomial_v": "shifted Chebyshev polynomial of the third kind",
    "shifted_chebyshev_polynomial_w": "shifted Chebyshev polynomial of the fourth kind",
    "hermite_polynomial_h": "physicist's Hermite polynomial", "hermite_polynomial_he": "probabilist's Hermite polynomial",
    "laguerre_polynomial_l": "Laguerre polynomial", "legendre_polynomial_p": "Legendre polynomial",
}
SCHEMAS += "out:\n" + "".join(
    f"    special_{name}(Tensor x, Tensor n) -> Tensor  # The {said} of degree `n` at each element of `x`.\n"
    f"    special_{name}.n_scalar(Tensor x, Scalar n) -> Tensor\n"
    f"    special_{name}.x_scalar(Scalar x, Tensor n) -> Tensor\n"
    for name, said in POLYNOMIALS.items()
)
