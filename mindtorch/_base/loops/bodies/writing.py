"""The table of loops, and LLVM's operations that Python lacks."""
from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

f32, f64, i32, i64, u16, u32, u64 = np.float32, np.float64, np.int32, np.int64, np.uint16, np.uint32, np.uint64
#: What compiles a loop, by its name: a function of whether it is to be kept on the disk.
LOOPS: dict[str, Callable[[bool], Any]] = {}
#: Sums may be added up in another order, since each step waits for the one before; all else rounds as it is written.
SUMS = {"reassoc"}

FLOATS = ("float32", "float64")


def loop(*arrays: str, fastmath: Any = False, result: str = "void", of: tuple[str, ...] = ()) -> Callable[[Any], Any]:
    """Register a function of arrays and numbers of these types as a loop; or as one for each dtype of ``of``, which
    takes the place of ``T``.
    """

    def decorate(function: Any) -> Any:
        for kind in of or ("T",):
            types = ", ".join(re.sub(r"\bT\b", kind, array) for array in arrays)
            LOOPS[f"{function.__name__}_{kind}" if of else function.__name__] = partial(
                compiled, function, f"{result}({types})", fastmath)
        return function

    return decorate


def compiled(function: Any, signature: str, fastmath: Any, cache: bool) -> Any:
    return njit(signature, nogil=True, error_model="numpy", fastmath=fastmath, cache=cache)(function)


def unary(result: Any, operand: Any, write: Callable[..., Any]) -> Any:
    """Make a function of one number from ``write``, which calls LLVM's builder."""
    return intrinsic(lambda typing, value: (
        result(operand), lambda context, builder, signature, values: write(builder, values[0])))


bits_of = unary(types.int32, types.float32, lambda builder, x: builder.bitcast(x, ir.IntType(32)))
float_of = unary(types.float32, types.int32, lambda builder, x: builder.bitcast(x, ir.FloatType()))
widened = unary(types.float32, types.uint16, lambda builder, x: builder.fpext(
    builder.bitcast(x, ir.HalfType()), ir.FloatType()))
narrowed = unary(types.uint16, types.float32, lambda builder, x: builder.bitcast(
    builder.fptrunc(x, ir.HalfType()), ir.IntType(16)))


#: ``a * b + c`` in float32, rounded once.
fma: Any = intrinsic(lambda typing, a, b, c: (
    types.float32(types.float32, types.float32, types.float32),
    lambda context, builder, signature, values: builder.fma(*values)))


@njit(inline="always")
def polynomial(x: Any, coefficients: Any) -> Any:
    y = coefficients[0]
    for coefficient in coefficients[1:]:
        y = fma(y, x, coefficient)
    return y


@njit
def ordered(bits: Any) -> Any:
    """Map the bits of a float to an integer with the same order, and back."""
    return i32(bits ^ (i32(bits >> i32(31)) & i32(0x7FFFFFFF)))
