"""CPU kernels of the derivatives of random numbers with respect to their distribution's parameters.

A gamma or beta sample x of parameter a is the function of a that keeps its cdf constant, so its derivative is -(d cdf /
da) / density. It is approximated piecewise, with PyTorch's pieces and constants.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from . import CPU_KERNELS
from .special import psi


def horner(x: Any, coefficients: Any) -> Any:
    """Evaluate a polynomial, with coefficients by increasing power."""
    total = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        total = coefficient + x * total
    return total


# -- gamma ---------------------------------------------------------------------------------------------------

# by power of log(x / a): numerator and denominator, by power of log(a)
GAMMA = np.array([[[0.16009398, -0.094634809, 0.025146376, -0.0030648343], [1, 0.32668115, 0.10406089, 0.0014179084]],
                  [[0.53487893, 0.1298071, 0.065735949, -0.0015649758],
                   [0.16639465, 0.020070113, -0.0035938915, -0.00058392623]],
                  [[0.040121004, -0.0065914022, -0.0026286047, -0.0013441777],
                   [0.017050642, -0.0021309326, 0.00085092367, -1.5247877e-07]]])


def gamma_of_small_x(a: Any, x: Any) -> Any:
    """Use five terms of the Taylor series of the cdf and of its derivative."""
    term, place = np.ones_like(x), a
    series, slopes = 1 / a, 1 / (a * a)
    for i in range(1, 6):
        term, place = term * -x / i, place + 1
        series, slopes = series + term / place, slopes + term / (place * place)
    power = x**a
    slope = (np.log(x) - psi(a)) * power * series - power * slopes
    return np.nan_to_num(-slope / (x ** (a - 1) * np.exp(-x)), nan=0.0, posinf=np.inf, neginf=-np.inf)


def gamma_near_mean(a: Any, x: Any) -> Any:
    """Use a series of Rice's saddle point approximation around its singularity at x = a."""
    polynomial = 1440 * a * a + 6 * x * (53 - 120 * x) - 65 * x * x / a + a * (107 + 3600 * x)
    return (1 + 24 * a * (1 + 12 * a)) * polynomial / (1244160 * a**4)


def gamma_of_large_a(a: Any, x: Any) -> Any:
    """Use Rice's saddle point approximation."""
    width, ratio = np.sqrt(8 * a), np.log(x / a)
    tail = (x - a - a * ratio) ** -1.5
    bracket = ratio * (width / (a - x) + np.where(x < a, -tail, tail)) - np.sqrt(2 / a) * (a + x) / (a - x) ** 2
    stirling = 1 + 1 / (12 * a) * (1 + 1 / (24 * a))
    return -stirling * x * bracket / width


def gamma_between(a: Any, x: Any) -> Any:
    """Use the exponential of a rational function of the logarithms of x / a and a."""
    u, v = np.log(x / a), np.log(a)
    p, q = (horner(v, [horner(u, GAMMA[:, part, power]) for power in range(4)]) for part in (0, 1))
    return np.exp(p / q)


def standard_gamma_grad(a: np.ndarray, x: np.ndarray) -> Any:
    dtype = x.dtype
    a, x = np.broadcast_arrays(a.astype(np.float64), x.astype(np.float64))
    near = (float(np.float32(0.9)) * a <= x) & (x <= float(np.float32(1.1)) * a)
    return np.select([x < float(np.float32(0.8)), (a > 8) & near, a > 8],
                     [gamma_of_small_x(a, x), gamma_near_mean(a, x), gamma_of_large_a(a, x)],
                     gamma_between(a, x)).astype(dtype)


# -- beta ----------------------------------------------------------------------------------------------------

# numerator and denominator, by power of log(x), of log(a / x), and of log(total) - log(a / x)
BETA = np.array([
    [[[1.003668233, -0.01061107488, -0.0657888334, 0.01201642863],
      [0.6336835991, -0.3557432599, 0.05486251648, -0.001465281033],
      [-0.03276231906, 0.004474107445, 0.002429354597, -0.0001557569013]],
     [[0.221950385, -0.3187676331, 0.01799915743, 0.01074823814],
      [-0.2951249643, 0.06219954479, 0.01535556598, 0.001550077057],
      [0.02155310298, 0.004170831599, 0.001292462449, 6.976601077e-05]],
     [[-0.05980841433, 0.008441916499, 0.01085618172, 0.002319392565],
      [0.02911413504, 0.01400243777, -0.002721828457, 0.000751041181],
      [0.005900514878, -0.001936558688, -9.495446725e-06, 5.385558597e-05]]],
    [[[1, -0.02924021934, -0.04438342661, 0.007285809825],
      [0.6357567472, -0.3473456711, 0.05454656494, -0.002407477521],
      [-0.03301322327, 0.004845219414, 0.00231480583, -0.0002307248149]],
     [[0.5925320577, -0.1757678135, 0.01505928619, 0.000564515273],
      [0.1014815858, -0.06589186703, 0.01272886114, -0.0007316646956],
      [-0.007258481865, 0.001096195486, 0.0003934994223, -4.12701925e-05]],
     [[0.06469649321, -0.0236701437, 0.002902096474, -5.896963079e-05],
      [0.001925008108, -0.002869809258, 0.0008000589141, -6.063713228e-05],
      [-0.0003477407336, 6.959756487e-05, 1.097287507e-05, -1.650964693e-06]]],
])


def beta_of_small_x(x: Any, a: Any, b: Any) -> Any:
    """Use ten terms of a Taylor series of the derivative in a."""
    factor = psi(a) - psi(a + b) - np.log(x)
    term, series = np.ones_like(x), (factor + 1 / a) / a
    for i in range(1, 11):
        term = term * (i - b) * x / i
        series = series + term / (a + i) * (factor + 1 / (a + i))
    return np.nan_to_num(x * (1 - x) ** -b * series, nan=0.0, posinf=np.inf, neginf=-np.inf)


def beta_of_small_x_in_b(x: Any, a: Any, b: Any) -> Any:
    """Use eight terms of a Taylor series of the derivative in b."""
    factor = psi(a + b) - psi(b)
    term, product, slope, series = np.ones_like(x), np.ones_like(x), np.zeros_like(x), factor / a
    for i in range(1, 9):
        term = term * -x / i
        slope, product = slope * (b - i) + product, product * (b - i)
        series = series + term / (a + i) * (slope + factor * product)
    return np.nan_to_num(-((1 - x) ** (1 - b)) * series, nan=0.0, posinf=np.inf, neginf=-np.inf)


def beta_near_mean(x: Any, a: Any, b: Any) -> Any:
    """Use a series of Rice's saddle point approximation around its singularity at the mean."""
    total = a + b
    polynomial = horner(a, (47 * x * b**4, (43 + 20 * (16 + 27 * b) * x) * b**3, 3 * (59 + 180 * b - 90 * x) * b * b,
                            (453 + 1620 * b * (1 - x) - 455 * x) * b, 8 * (1 - x) * (135 * b - 11)))
    scale = (1 + 12 * a) * (1 + 12 * b) / (total * total * (1 - x))
    return scale * polynomial / (12960 * a**3 * b * b * (1 + 12 * total))


def stirling(a: Any) -> Any:
    return 1 + 1 / (12 * a) + 1 / (288 * a * a)


def beta_of_large_parameters(x: Any, a: Any, b: Any) -> Any:
    """Use Rice's saddle point approximation."""
    total = a + b
    distance = a * (x - 1) + b * x
    first = ((2 * a * a * (x - 1) + a * b * (x - 1) - x * b * b)
             / (np.sqrt(2 * a / b) * total**1.5 * distance * distance))
    tail = (b * np.log(b / (total * (1 - x))) + a * np.log(a / (total * x))) ** -1.5
    bracket = np.sqrt(8 * a * b / total) / distance + np.where(x < a / total, tail, -tail)
    scale = stirling(a) * stirling(b) / stirling(total) * -x / np.sqrt(2 * a * b / total)
    return scale * (first + 0.5 * np.log(a / (total * x)) * bracket)


def beta_between(x: Any, a: Any, total: Any) -> Any:
    """Use an analytic approximation, corrected by a rational function of logarithms."""
    u = np.log(x)
    v = np.log(a) - u
    w = np.log(total) - v
    p, q = (horner(u, [horner(v, [horner(w, row) for row in rows]) for rows in part]) for part in BETA)
    return p / q * x * (psi(total) - psi(a)) / (total - a)


def dirichlet_grad(x: np.ndarray, a: np.ndarray, total: np.ndarray) -> Any:
    dtype = x.dtype
    x, a, total = np.broadcast_arrays(x, a, total)
    b, boundary = total - a, total * x * (1 - x)
    x64, a64, total64 = x.astype(np.float64), a.astype(np.float64), total.astype(np.float64)
    b64 = total64 - a64
    mean, deviation = a64 / total64, np.sqrt(a64 * b64 / (total64 + 1)) / total64
    near = (mean - 0.1 * deviation <= x64) & (x64 <= mean + 0.1 * deviation)
    large = (a > 6) & (b > 6)
    return np.select(
        [(x <= 0.5) & (boundary < 2.5), (x >= 0.5) & (boundary < 0.75), large & near, large],
        [beta_of_small_x(x, a, b), -beta_of_small_x_in_b(1 - x, b, a), beta_near_mean(x64, a64, b64),
         beta_of_large_parameters(x64, a64, b64)],
        beta_between(x64, a64, total64)).astype(dtype)


CPU_KERNELS.update({"_standard_gamma_grad": standard_gamma_grad, "_dirichlet_grad": dirichlet_grad})
