"""Coefficients of the polynomials that loops share with the kernels of NumPy that compute the same."""
from __future__ import annotations

from math import pi

import numpy as np

f32 = np.float32


def float32s(*values: float) -> tuple[f32, ...]:
    return tuple(f32(value) for value in values)


TWO_PI = 2 * pi
# Cephes' logf and sinf/cosf, which PyTorch's vectorised kernel of normal numbers evaluates.
SQRT_HALF = f32(0.707106781186547524)
LOG_2 = float32s(-2.12194440e-4, 0.693359375)  # low and high part
LOG = float32s(7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
               -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)
FOUR_OVER_PI = f32(1.27323954473516)
PI_OVER_4 = float32s(0.78515625, 2.4187564849853515625e-4, 3.77489497744594108e-8)  # high, middle and low part
SINE = float32s(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
COSINE = float32s(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
#: erf(x) is x + x P(x**2) up to ERF_NEAR, and beyond 1 - exp(-|x| - |x| P(|x|)), each to a unit in the last place.
ERF_NEAR = f32(475 / 512)
ERF = float32s(-5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1, -3.76125336e-1, 1.28379166e-1)
ERF_FAR = float32s(-1.72853470e-5, 3.83197126e-4, -3.88396438e-3, 2.42546219e-2, -1.06777877e-1, -6.34846687e-1,
                   -1.28717512e-1)
#: The inverse of erf, divided by x, is a polynomial of w - 2.5 up to 5, where w = -log(1 - x**2), and of sqrt(w) - 3
#: beyond (M. Giles' forms), to 7e-9 each.
ERFINV = (-8.94141406889e-9, 2.32648001252e-8, 4.68266973314e-7, -3.46309306966e-6, -4.97306966764e-6,
          2.18345886773e-4, -1.25272522692e-3, -4.17738847388e-3, 0.246640278481, 1.50140935958)
ERFINV_FAR = (1.27802179716e-4, -3.19499040439e-4, -7.39339052056e-5, 1.49693809689e-3, -3.5888375527e-3,
              5.68266713437e-3, -7.63896972957e-3, 9.4457634026e-3, 1.00167506013, 2.83297679372)
#: The odd polynomial, highest power first, whose tanh is erf(x / sqrt(2)) to 6e-8.
ARTANH_ERF = float32s(1.7563183767534e-9, -1.3226761537608e-7, 3.9647882826494e-6, -5.5306390342718e-5,
                      -3.2594590420638e-5, 3.6333084287575e-2, 0.7978849415133)
#: Powers of 2 from -1/2 to 1/2, highest power first, to 1e-7; exact at 0.
POWER = float32s(1.32647273e-3, 9.67151299e-3, 5.55073358e-2, 0.240222424, 0.693147004, 1)
#: The arcsine of x is x + x z P(z) up to 1/2, where z is the square of x, to 5e-9; the arctangent, up to 1, to 2e-8.
ASIN = float32s(0.0421461966, 0.0241947472, 0.0454662685, 0.0749534355, 0.166667507)
ATAN = float32s(0.00298224692, -0.0166126981, 0.0436065071, -0.0758524405, 0.106812356, -0.142148279, 0.199942195,
                -0.333331709)
