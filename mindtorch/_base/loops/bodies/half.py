"""Loops of half precision."""
from __future__ import annotations

from typing import Any

from numba import njit

from .writing import bits_of, float_of, i32, loop, narrowed, u16, u32, widened


@njit
def from_float16(bits: Any) -> Any:
    return widened(bits)


@njit
def to_float16(x: Any) -> Any:
    return narrowed(x)


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


@loop("uint16[::1]", "float32[::1]")
def widen_float16(x: Any, out: Any) -> None:
    for i in range(len(x)):
        out[i] = from_float16(x[i])


@loop("float32[::1]", "uint16[::1]")
def narrow_float16(x: Any, out: Any) -> None:
    for i in range(len(x)):
        out[i] = to_float16(x[i])


@loop("uint16[::1]", "float32[::1]")
def widen_bfloat16(x: Any, out: Any) -> None:
    for i in range(len(x)):
        out[i] = from_bfloat16(x[i])


@loop("float32[::1]", "uint16[::1]")
def narrow_bfloat16(x: Any, out: Any) -> None:
    for i in range(len(x)):
        out[i] = to_bfloat16(x[i])


@loop("uint16[::1]", "uint16[::1]", "uint16[::1]", "int64")
def arithmetic_float16(x: Any, y: Any, out: Any, operation: Any) -> None:
    """Compute the operation that ``operation`` numbers in ``ARITHMETIC``, in float16."""
    if operation == 0:
        for i in range(len(x)):
            out[i] = to_float16(from_float16(x[i]) + from_float16(y[i]))
    elif operation == 1:
        for i in range(len(x)):
            out[i] = to_float16(from_float16(x[i]) - from_float16(y[i]))
    elif operation == 2:
        for i in range(len(x)):
            out[i] = to_float16(from_float16(x[i]) * from_float16(y[i]))
    else:
        for i in range(len(x)):
            out[i] = to_float16(from_float16(x[i]) / from_float16(y[i]))


@loop("uint16[::1]", "uint16[::1]", "uint16[::1]", "int64")
def arithmetic_bfloat16(x: Any, y: Any, out: Any, operation: Any) -> None:
    """Compute the operation that ``operation`` numbers in ``ARITHMETIC``, in bfloat16."""
    if operation == 0:
        for i in range(len(x)):
            out[i] = to_bfloat16(from_bfloat16(x[i]) + from_bfloat16(y[i]))
    elif operation == 1:
        for i in range(len(x)):
            out[i] = to_bfloat16(from_bfloat16(x[i]) - from_bfloat16(y[i]))
    elif operation == 2:
        for i in range(len(x)):
            out[i] = to_bfloat16(from_bfloat16(x[i]) * from_bfloat16(y[i]))
    else:
        for i in range(len(x)):
            out[i] = to_bfloat16(from_bfloat16(x[i]) / from_bfloat16(y[i]))
