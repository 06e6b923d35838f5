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
#: Stirling's series: log(k!) less its approximation, for k from 0 to 9.
_STIRLING_TAIL = (0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
                  0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287)
_SQUEEZE = 0.033100001513957977  #: 0.0331 in float32
_MOST = 709.0  #: whose exponential float64 still holds


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


def binomial(rows: Any, uniforms: Any, samples: Any, place: Any) -> None:
    """Draw binomial numbers, as ``poisson`` does its own. A row holds the number of trials, 0 for none, the probability
    p, log(1 - p), and if transformed rejection (BTRS, Hormann 1993) draws it, the deviation, the odds, the centre and
    the mode; else a sum of geometric numbers does.
    """
    used = 0
    for i in range(place[0], len(rows)):
        place[0], place[1] = i, used
        row = rows[i]
        n, deviation = row[0], row[3]
        if n > 0 and deviation > 0:
            odds, centre, mode = row[4], row[5], row[6]
            b = 1.15 + 2.53 * deviation
            a = -0.0873 + 0.0248 * b + 0.01 * row[1]
            accept, alpha = 0.92 - 4.2 / b, (2.83 + 5.1 / b) * deviation
            while True:
                if used + 2 > len(uniforms):
                    return
                u, v = uniforms[used] - 0.5, uniforms[used + 1]
                used += 2
                us = 0.5 - abs(u)
                x = (2 * a / max(us, TINY) + b) * u + centre
                k = float(math.floor(x)) if abs(x) < 2.0**63 else x
                if k < 0 or k > n:
                    continue
                if us >= 0.07 and v <= accept:
                    break
                bound = ((mode + 0.5) * math.log((mode + 1) / (odds * (n - mode + 1)))
                         + (n + 1) * math.log((n - mode + 1) / (n - k + 1))
                         + (k + 0.5) * math.log(odds * (n - k + 1) / (k + 1)))
                for part in range(4):
                    of = mode if part == 0 else n - mode if part == 1 else k if part == 2 else n - k
                    square = (of + 1) ** 2
                    tail = _STIRLING_TAIL[int(of)] if of < 10 else (
                        1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (of + 1)
                    bound += tail if part < 2 else -tail
                if math.log(max(v, TINY) * alpha / (a / (us * us) + b)) <= bound:
                    break
            samples[i] = k
        elif n > 0:
            successes, trials = 0.0, 0.0
            while True:
                if used == len(uniforms):
                    return
                trials += math.ceil(math.log(max(uniforms[used], TINY)) / row[2])
                used += 1
                if trials > n:
                    break
                successes += 1.0
            samples[i] = successes
    place[0], place[1] = len(rows), used


def gamma(rows: Any, uniforms: Any, samples: Any, place: Any, kept: Any) -> None:
    """Draw gamma numbers, as ``poisson`` does its own, by Marsaglia and Tsang's rejection (2000). A row holds the
    exponent of a uniform factor, 0 for none, d, and c. ``kept[0]`` is the second normal number of a pair, or NaN.
    """
    used, normal = 0, kept[0]
    for i in range(place[0], len(rows)):
        place[0], place[1], kept[0] = i, used, normal
        row = rows[i]
        exponent, d, c = row[0], row[1], row[2]
        if exponent == math.inf:  # of the shape parameter 0
            continue
        scale = 1.0
        if exponent != 0:
            if used == len(uniforms):
                return
            base = 1 - uniforms[used]
            used += 1
            if exponent > 0 or exponent * math.log(base) < _MOST:  # numbers of negative shapes mean nothing
                scale = base ** exponent
        while True:
            x = y = 0.0
            while y <= 0:
                x = normal
                if x == x:
                    normal = math.nan
                else:
                    if used + 2 > len(uniforms):
                        return
                    angle = 2 * math.pi * uniforms[used]
                    radius = math.sqrt(-2 * math.log1p(-uniforms[used + 1]))
                    used += 2
                    x, normal = radius * math.cos(angle), radius * math.sin(angle)
                y = 1 + c * x
            if used == len(uniforms):
                return
            v, u, square = y * y * y, 1 - uniforms[used], x * x
            used += 1
            if not u >= 1 - _SQUEEZE * square * square or math.log(u) < 0.5 * square + d * (1 - v + math.log(v)):
                break
        samples[i] = scale * d * v
    place[0], place[1], kept[0] = len(rows), used, normal
