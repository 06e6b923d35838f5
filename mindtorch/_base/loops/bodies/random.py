"""Random numbers, and waiting for other threads."""
from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types

from .. import rejection
from ..coefficients import COSINE, FOUR_OVER_PI, LOG, LOG_2, PI_OVER_4, SINE, SQRT_HALF, TWO_PI
from .writing import bits_of, f32, float_of, fma, i32, i64, loop, polynomial, u32

WORDS, FAR = 624, 397  # of MT19937's state; how far a word is from the one that it is mixed with


@njit(inline="always")
def twisted(word: Any, following: Any, far: Any) -> Any:
    mixed = u32((word & u32(0x80000000)) | (following & u32(0x7FFFFFFF)))
    return u32(far ^ u32(mixed >> u32(1)) ^ (u32(u32(0) - u32(mixed & u32(1))) & u32(0x9908B0DF)))


@loop("uint32[::1]", "uint32[::1]")
def mt19937(state: Any, words: Any) -> None:
    """Fill an array with the next words of NumPy's generator, given its state: words, and the place of the next."""
    at: Any = i64(state[WORDS])
    done = 0
    while done < len(words):
        if at == WORDS:
            for k in range(WORDS - FAR):
                state[k] = twisted(state[k], state[k + 1], state[k + FAR])
            for k in range(WORDS - FAR, WORDS - 1):
                state[k] = twisted(state[k], state[k + 1], state[k + FAR - WORDS])
            state[WORDS - 1] = twisted(state[WORDS - 1], state[0], state[FAR - 1])
            at = 0
        count: Any = min(WORDS - at, len(words) - done)
        source, target = state[at:at + count], words[done:done + count]
        for i in range(count):
            word = u32(source[i] ^ u32(source[i] >> u32(11)))
            word = u32(word ^ (u32(word << u32(7)) & u32(0x9D2C5680)))
            word = u32(word ^ (u32(word << u32(15)) & u32(0xEFC60000)))
            target[i] = word ^ u32(word >> u32(18))
        at, done = at + count, done + count
    state[WORDS] = at


@njit
def log(x: Any) -> Any:
    """Compute Cephes' ``logf`` of a normal number, rounded as in PyTorch."""
    bits = bits_of(x)
    x = float_of(i32((bits & i32(0x7FFFFF)) | i32(0x3F000000)))
    small = x < SQRT_HALF
    exponent = f32(i32((bits >> i32(23)) - i32(126) - i32(small)))
    x = (x - f32(1)) + (x if small else f32(0))
    z = x * x
    y = fma(polynomial(x, LOG) * x, z, exponent * LOG_2[0]) - z * f32(0.5)
    return x + y + exponent * LOG_2[1]


@loop("float32[::1]")
def box_muller(u: Any) -> None:
    """Write normal numbers over uniform ones, as ``random.box_muller.blocks`` computes them."""
    high, middle, low = PI_OVER_4
    for block in range(len(u) // 16):
        for i in range(8):
            radius = np.sqrt(f32(-2) * log(f32(1) - u[16 * block + i]))
            x = f32(TWO_PI) * u[16 * block + 8 + i]
            octant = i32((i32(x * FOUR_OVER_PI) + i32(1)) & i32(~1))
            x = fma(f32(octant), -low, fma(f32(octant), -middle, fma(f32(octant), -high, x)))
            z = x * x
            sine = bits_of(fma(polynomial(z, SINE) * z, x, x))
            cosine = bits_of(fma(polynomial(z, COSINE) * z, z, z * f32(-0.5)) + f32(1))
            swapped = i32((sine ^ cosine) & -(i32(octant >> i32(1)) & i32(1)))
            cosine = i32(cosine ^ swapped ^ i32((i32(octant + i32(2)) & i32(4)) << i32(29)))
            sine = i32(sine ^ swapped ^ i32((octant & i32(4)) << i32(29)))
            u[16 * block + i], u[16 * block + 8 + i] = radius * float_of(cosine), radius * float_of(sine)


@loop("uint32[::1]", "int64[::1]")
def exchange(words: Any, values: Any) -> None:
    """Exchange each value but the last with itself or a later one, which a word chooses."""
    for place in range(len(words)):
        partner = place + i64(words[place] % u32(len(values) - place))
        values[place], values[partner] = values[partner], values[place]


loop("float64[::1]", "float64[::1]", "int64[::1]", "int64[::1]")(rejection.poisson)
loop("float64[:,::1]", "float64[::1]", "float64[::1]", "int64[::1]")(rejection.binomial)
loop("float64[:,::1]", "float64[::1]", "float64[::1]", "int64[::1]", "float64[::1]")(rejection.gamma)

let_others_run = types.ExternalFunction("sched_yield", types.int32())  # C's; that it is called has memory read anew


@loop("int64[::1]", "int64", "int64", "int64")
def until_other(x: Any, value: Any, patience: Any, after: Any) -> None:
    """Spin until another thread has written a number other than ``value``, then a few turns more."""
    for _ in range(patience):
        if x[0] != value:
            for _ in range(after):
                let_others_run()
            break
        let_others_run()
