"""Samplers that reject, in Python that is a loop where numba has compiled it."""
from __future__ import annotations

import math
from typing import Any

TINY = 1e-300  #: stands for a uniform 0, which logarithms and division refuse
_LEAST = -(2**63)  # stands for what no integer of 64 bits holds
#: Of the C library's ``lgamma``, from the last one on: its polynomial in the reciprocal's square.
_LGAMMA = (-1.63092934096575273989e-03, 8.36339918996282139126e-04, -5.95187557450339963135e-04,
           7.93650558643019558500e-04, -2.77777777728775536470e-03, 8.33333333333329678849e-02)
_LGAMMA_FIRST = 4.18938533204672725052e-01


def poisson(rates: Any, uniforms: Any, samples: Any, place: Any) -> None:
    """Draw Poisson numbers of the rates from ``place[0]`` on, as many as the uniform numbers suffice for. Write the
    next rate's place, and the number of uniforms used, to ``place``.

    Rates from 10 on are drawn by transformed rejection (PTRS, Hormann 1993), in ATen's order of operations.
    """
    used = 0
    for i in range(place[0], len(rates)):
        place[0], place[1] = i, used
        rate, k = rates[i], 0
        if rate >= 10:
            b = 0.931 + 2.53 * math.sqrt(rate)
            a = -0.059 + 0.02483 * b
            log_inverse_alpha, log_rate = math.log(1.1239 + 1.1328 / (b - 3.4)), math.log(rate)
            accept = 0.9277 - 3.6224 / (b - 2)
            while True:
                if used + 2 > len(uniforms):
                    return
                u, v = uniforms[used] - 0.5, uniforms[used + 1]
                used += 2
                us = 0.5 - abs(u)
                x = (2 * a / max(us, TINY) + b) * u + rate + 0.43
                k = math.floor(x) if abs(x) < 2.0**63 else _LEAST
                if us >= 0.07 and v <= accept:
                    break
                if k < 0 or (us < 0.013 and v > us):
                    continue
                log_factorial = tail = 0.0  # of k, as the C library's lgamma computes it
                if k < 7:
                    factorial = 1.0
                    for factor in range(2, k + 1):
                        factorial *= factor
                    log_factorial = math.log(factorial)
                elif k < 2**58:
                    y = 1 / (k + 1.0)
                    for coefficient in _LGAMMA:
                        tail = tail * (y * y) + coefficient
                    log_factorial = (k + 1.0 - 0.5) * (math.log(k + 1.0) - 1) + (_LGAMMA_FIRST + y * tail)
                else:
                    log_factorial = (k + 1.0) * (math.log(k + 1.0) - 1)
                if (math.log(max(v, TINY)) + log_inverse_alpha - math.log(a / (us * us) + b)
                        <= -rate + k * log_rate - log_factorial):
                    break
        elif rate > 0:
            product, limit, k = 1.0, math.exp(-rate), -1
            while product > limit or k < 0:
                if used == len(uniforms):
                    return
                product *= uniforms[used]
                used += 1
                k += 1
        samples[i] = k
    place[0], place[1] = len(rates), used
