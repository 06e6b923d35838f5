"""Normal numbers from uniform ones, as PyTorch's CPU kernels compute them."""
from __future__ import annotations

import numpy as np

from ..._base import loops
from ..._base.loops.coefficients import COSINE, FOUR_OVER_PI, LOG, LOG_2, PI_OVER_4, SINE, SQRT_HALF, TWO_PI
from .numerics import libm

f32 = np.float32
#: How much longer NumPy takes for an element than for one of a plain pass; of how many its calls take the time.
SLOW, CALLS = 16, 1 << 14


def blocks(u: np.ndarray) -> np.ndarray:
    """Write standard normals over uniforms in [0, 1) of shape (k, 16), float32 or float64.

    In each block the first eight uniforms give the radii, the last eight the angles
    (``at::native::templates::cpu::NormalFill16``).
    """
    loop = loops.box_muller.compiled(SLOW * u.size + CALLS) if u.dtype == f32 else None
    if loop is not None:
        loop(u.reshape(-1))
        return u
    radii_and_angles = _float32 if u.dtype == f32 else _float64
    halves = u.view(np.dtype((np.void, 8 * u.itemsize)))  # eight numbers move as one element
    radii, angles = (np.ascontiguousarray(halves[:, i]).view(u.dtype) for i in (0, 1))
    radius, cosine, sine = radii_and_angles(np.subtract(1, radii, out=radii), angles)
    for i, factor in enumerate((cosine, sine)):
        halves[:, i] = np.multiply(radius, factor, out=factor).view(halves.dtype)
    return u


def _float64(u1: np.ndarray, u2: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    log = libm(np.log, u1, u1.dtype)
    angle = TWO_PI * u2
    # NumPy's float64 sine and cosine are the C library's
    return np.sqrt(-2 * log), np.cos(angle), np.sin(angle)


def _float32(u1: np.ndarray, u2: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    sine, cosine = _sincosf(f32(TWO_PI) * u2)
    return np.sqrt(f32(-2) * _logf(u1)), cosine, sine


def _logf(x: np.ndarray) -> np.ndarray:
    bits = x.view(np.int32)  # of normal numbers above 0, which these are, np.frexp does the same one by one
    exponent = (bits >> 23) - 126
    x = (bits & 0x7FFFFF | 0x3F000000).view(f32)
    small = x < SQRT_HALF
    exponent = (exponent - small).astype(f32)
    x = x - 1 + x * small
    z = x * x
    y = _polynomial(x, LOG) * x
    y = _fma(y, z, exponent * LOG_2[0]) - z * f32(0.5)
    return x + y + exponent * LOG_2[1]


def _sincosf(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    octant = (x * FOUR_OVER_PI).astype(np.int32) + 1 & ~1
    for part in PI_OVER_4:
        x = _fma(octant, -part, x)
    z = x * x
    sine = _fma(_polynomial(z, SINE) * z, x, x)
    cosine = _fma(_polynomial(z, COSINE) * z, z, z * f32(-0.5)) + 1
    # On the bits, because np.where is slow on random conditions: swap the two, then set the signs.
    sine_bits, cosine_bits = sine.view(np.int32), cosine.view(np.int32)
    swapped = (sine_bits ^ cosine_bits) & -(octant >> 1 & 1)
    sine_bits ^= swapped ^ (octant & 4) << 29
    cosine_bits ^= swapped ^ (octant + 2 & 4) << 29
    return sine, cosine


def _polynomial(x: np.ndarray, coefficients: tuple[f32, ...]) -> np.ndarray:
    x = x.astype(np.float64)
    y = x * coefficients[0]
    rounded = np.empty(x.shape, f32)
    for coefficient in coefficients[1:-1]:
        y += coefficient
        rounded[...] = y
        y[...] = rounded
        y *= x
    y += coefficients[-1]
    return y.astype(f32)


def _fma(a: np.ndarray, b: np.ndarray | f32, c: np.ndarray) -> np.ndarray:
    """Compute ``a * b + c`` in float32, rounded once."""
    return (np.multiply(a, b, dtype=np.float64) + c).astype(f32)
