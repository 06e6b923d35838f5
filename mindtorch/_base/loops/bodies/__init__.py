"""The loops, as numba compiles them: each for arrays of the types in its signature. Importing this imports numba.

They are written so that LLVM makes vector instructions of them: without calls and branches, in float32 throughout (a
bare number would make float64 of it), and with bits that become numbers, and numbers bits, in the register.
"""
from __future__ import annotations

from . import (
    activation, angles, attention, convolution, distance, division, elements, half, indexing, normalization, pooling,
    product, random, recurrent, reduction, sampling, scan, softmax, special, wide, writing,
)

LOOPS = writing.LOOPS
