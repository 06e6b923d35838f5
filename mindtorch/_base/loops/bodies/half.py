"""Loops of half precision."""
from __future__ import annotations

from typing import Any

from numba import njit

from .writing import bits_of, float_of, i32, loop, narrowed, u16, u32, widened


@njit
def from_bfloat16(bits: Any) -> Any:
    return float_of(i32(u32(bits) << u32(16)))


@njit
def to_bfloat16(x: Any) -> Any:
    """Round to the nearest bfloat16, ties to even; NaN keeps its sign and one bit, as in ml_dtypes."""
    bits = u32(bits_of(x))
    upper = u32(bits >> u32(16))
    rounded = u32(bits + u32(0x7FFF) + (upper & u32(1))) >> u32(16)
    return u16(rounded) if x == x else u16((upper & u32(0x8000)) | u32(0x7FC0))


#: By dtype, how bits become numbers of float32, and how those become bits again.
HALVES = {"float16": (widened, narrowed), "bfloat16": (from_bfloat16, to_bfloat16)}


def loops_of(half: str) -> None:
    """Build the loops that convert a dtype of half precision to float32, and back."""
    read, write = HALVES[half]

    @loop("uint16[::1]", "float32[::1]", name=f"widen_{half}")
    def widen(x: Any, out: Any) -> None:
        for i in range(len(x)):
            out[i] = read(x[i])

    @loop("float32[::1]", "uint16[::1]", name=f"narrow_{half}")
    def narrow(x: Any, out: Any) -> None:
        for i in range(len(x)):
            out[i] = write(x[i])


for _half in HALVES:
    loops_of(_half)
