"""The loops, as numba compiles them: each for arrays of the types in its signature. Importing this imports numba.

They are written so that LLVM makes vector instructions of them: without calls and branches, in float32 throughout (a
bare number would make float64 of it), and with bits that become numbers, and numbers bits, in the register.
"""
from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from .coefficients import ARTANH_ERF, COSINE, FOUR_OVER_PI, LOG, LOG_2, PI_OVER_4, SINE, SQRT_HALF, TWO_PI

f32, f64, i32, u16, u32, u64 = np.float32, np.float64, np.int32, np.uint16, np.uint32, np.uint64
#: What compiles a loop, by its name: a function of whether it is to be kept on the disk.
LOOPS: dict[str, Callable[[bool], Any]] = {}
#: Sums may be added up in another order, since each step waits for the one before; all else rounds as it is written.
SUMS = {"reassoc"}


def loop(*arrays: str, fastmath: Any = False, result: str = "void") -> Callable[[Any], Any]:
    """A function of arrays, and numbers, of these types."""

    def decorate(function: Any) -> Any:
        LOOPS[function.__name__] = lambda cache: njit(
            f"{result}({', '.join(arrays)})", nogil=True, error_model="numpy", fastmath=fastmath, cache=cache)(function)
        return function

    return decorate


# -- what LLVM has and Python has not ----------------------------------------------------------------------------------

def unary(result: Any, operand: Any, write: Callable[..., Any]) -> Any:
    """A function of one number, which ``write`` makes by LLVM's builder."""
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


# -- half precision ----------------------------------------------------------------------------------------------------

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
    """The nearest, and of two as near the even one; NaN has its sign and one bit, as ml_dtypes makes it."""
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
    """By the place of the operation in ``ARITHMETIC``."""
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
    """By the place of the operation in ``ARITHMETIC``."""
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


# -- lines, and what broadcasts to them --------------------------------------------------------------------------------

def of_lines(name: str, operation: Callable[[Any, Any], Any], lines_first: bool) -> None:
    """The loop of arithmetic of lines and another line, which is that of all, or a column, which has a number of each.
    """

    def body(x: Any, y: Any, out: Any) -> None:
        for row in range(len(x)):
            line, result, other = x[row], out[row], y[row if len(y) > 1 else 0]
            if len(other) == 1:
                number = other[0]
                for i in range(len(line)):
                    result[i] = operation(line[i], number) if lines_first else operation(number, line[i])
            else:
                for i in range(len(line)):
                    result[i] = operation(line[i], other[i]) if lines_first else operation(other[i], line[i])

    body.__name__ = body.__qualname__ = name
    loop("float32[:,::1]", "float32[:,::1]", "float32[:,::1]")(body)


of_lines("add_to_lines", operator.add, True)
of_lines("multiply_lines", operator.mul, True)
of_lines("subtract_from_lines", operator.sub, True)
of_lines("subtract_lines", operator.sub, False)
of_lines("divide_lines", operator.truediv, True)
of_lines("divide_by_lines", operator.truediv, False)


# -- normal numbers ----------------------------------------------------------------------------------------------------

@njit(inline="always")
def polynomial(x: Any, coefficients: Any) -> Any:
    y = coefficients[0]
    for coefficient in coefficients[1:]:
        y = fma(y, x, coefficient)
    return y


@njit
def log(x: Any) -> Any:
    """Cephes' logf of a normal number, rounded where PyTorch's is."""
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
    """Normal numbers from uniform ones, over which they are written, as ``_random.box_muller.blocks`` computes them."""
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


# -- powers ------------------------------------------------------------------------------------------------------------

@loop("float32[::1]", "float32[::1]")
def cube(x: Any, out: Any) -> None:
    for i in range(len(x)):
        out[i] = x[i] * x[i] * x[i]


@loop("float32[::1]", "float32[::1]", "float32", "float32[::1]")
def threshold_backward(grad: Any, x: Any, threshold: Any, out: Any) -> None:
    for i in range(len(x)):
        out[i] = f32(0) if x[i] <= threshold else grad[i]


# -- exponentials ------------------------------------------------------------------------------------------------------

#: The factor of exponents of 2; the logarithm of 2 in two parts; a number beside which float32 holds integers only.
LOG2_E, LN_2, INTEGERS = f32(math.log2(math.e)), (f32(math.log(2)), f32(math.log(2) - f64(f32(math.log(2))))), f32(
    1.5 * 2**23)
#: Exponents beyond which exp is infinite, and 0.
HIGHEST, LOWEST = f32(89), f32(-104)
#: The density of normal numbers at 0.
DENSITY = f32(1 / math.sqrt(2 * math.pi))
#: Taylor's series, which is exact to 6e-9 up to half the logarithm of 2.
EXP = tuple(f32(1 / math.factorial(k)) for k in range(7, -1, -1))


@njit
def exp(x: Any) -> Any:
    x = HIGHEST if x > HIGHEST else x  # in this order NaN stays
    x = LOWEST if x < LOWEST else x
    shifted = fma(x, LOG2_E, INTEGERS)
    whole = shifted - INTEGERS
    rest = fma(whole, -LN_2[1], fma(whole, -LN_2[0], x))
    exponent = i32(bits_of(shifted) - bits_of(INTEGERS))
    half = i32(exponent >> i32(1))  # two factors, since one has not all exponents
    first, second = i32((half + i32(127)) << i32(23)), i32((i32(exponent - half) + i32(127)) << i32(23))
    return polynomial(rest, EXP) * float_of(first) * float_of(second)


@loop("float32[::1]", "float32[::1]")
def sigmoid(x: Any, out: Any) -> None:
    for i in range(len(x)):
        out[i] = f32(1) / (f32(1) + exp(-x[i]))


@loop("float32[::1]", "float32[::1]")
def silu(x: Any, out: Any) -> None:
    for i in range(len(x)):
        out[i] = x[i] / (f32(1) + exp(-x[i]))


@loop("float32[::1]", "float32[::1]")
def gelu(x: Any, out: Any) -> None:
    """``x`` times the area under the normal density left of it, which is ``sigmoid`` of twice what its tanh is of."""
    for i in range(len(x)):
        out[i] = x[i] / (f32(1) + exp(f32(-2) * x[i] * polynomial(x[i] * x[i], ARTANH_ERF)))


@loop("float32[::1]", "float32[::1]", "float32[::1]")
def gelu_backward(grad: Any, x: Any, out: Any) -> None:
    for i in range(len(x)):
        square = x[i] * x[i]
        area = f32(1) / (f32(1) + exp(f32(-2) * x[i] * polynomial(square, ARTANH_ERF)))
        out[i] = grad[i] * (area + x[i] * (DENSITY * exp(f32(-0.5) * square)))


@njit
def ordered(bits: Any) -> Any:
    """The integer that has the place of a number of these bits among integers, and the bits of such an integer."""
    return i32(bits ^ (i32(bits >> i32(31)) & i32(0x7FFFFFFF)))


@njit
def largest(x: Any) -> Any:
    """The largest number, by integers of the same order, of which LLVM makes vectors; whatever comes of NaN, which all
    exponentials of its line are.
    """
    top = i32(-2147483648)
    for i in range(len(x)):
        top = max(top, ordered(bits_of(x[i])))
    return float_of(ordered(top))


@njit
def largest_down(x: Any, start: Any, stop: Any) -> Any:
    """The same of some of the columns."""
    tops = np.full(stop - start, -2147483648, i32)
    for row in range(len(x)):
        line = x[row, start:stop]
        for i in range(len(tops)):
            tops[i] = max(tops[i], ordered(bits_of(line[i])))
    found = np.empty(len(tops), f32)
    for i in range(len(tops)):
        found[i] = float_of(ordered(tops[i]))
    return found


@loop("float32[:,::1]", "float32[:,::1]", fastmath=SUMS)
def softmax(x: Any, out: Any) -> None:
    for row in range(len(x)):
        line, result = x[row], out[row]
        top, total = largest(line), f32(0)
        for i in range(len(line)):
            power = exp(line[i] - top)
            result[i] = power
            total += power
        for i in range(len(line)):
            result[i] /= total


@loop("float32[:,::1]", "float32[:,::1]", fastmath=SUMS)
def log_softmax(x: Any, out: Any) -> None:
    for row in range(len(x)):
        line, result = x[row], out[row]
        top, total = largest(line), f32(0)
        for i in range(len(line)):
            total += exp(line[i] - top)
        total = f32(math.log(total))
        for i in range(len(line)):
            result[i] = (line[i] - top) - total


@loop("float32[:,::1]", "float32[:,::1]", "float32[:,::1]", fastmath=SUMS)
def softmax_backward(grad: Any, result: Any, out: Any) -> None:
    for row in range(len(out)):
        through, line, target, total = grad[row], result[row], out[row], f32(0)
        for i in range(len(line)):
            total += through[i] * line[i]
        for i in range(len(line)):
            target[i] = (through[i] - total) * line[i]


@loop("float32[:,::1]", "float32[:,::1]", "float32[:,::1]", fastmath=SUMS)
def log_softmax_backward(grad: Any, result: Any, out: Any) -> None:
    for row in range(len(out)):
        through, line, target, total = grad[row], result[row], out[row], f32(0)
        for i in range(len(line)):
            total += through[i]
        for i in range(len(line)):
            target[i] = through[i] - exp(line[i]) * total


# The same down some of the columns of matrices, whose sums are kept in float64: many rows are added up one by one.

@loop("float32[:,:,::1]", "float32[:,:,::1]", "int64", "int64")
def softmax_down(x: Any, out: Any, start: Any, stop: Any) -> None:
    for k in range(len(x)):
        tops, totals = largest_down(x[k], start, stop), np.zeros(stop - start)
        for row in range(x.shape[1]):
            line, result = x[k, row, start:stop], out[k, row, start:stop]
            for i in range(len(tops)):
                power = exp(line[i] - tops[i])
                result[i] = power
                totals[i] += power
        parts = (1 / totals).astype(f32)
        for row in range(x.shape[1]):
            result = out[k, row, start:stop]
            for i in range(len(tops)):
                result[i] *= parts[i]


@loop("float32[:,:,::1]", "float32[:,:,::1]", "int64", "int64")
def log_softmax_down(x: Any, out: Any, start: Any, stop: Any) -> None:
    for k in range(len(x)):
        tops, totals = largest_down(x[k], start, stop), np.zeros(stop - start)
        for row in range(x.shape[1]):
            line = x[k, row, start:stop]
            for i in range(len(tops)):
                totals[i] += exp(line[i] - tops[i])
        logs = np.log(totals).astype(f32)
        for row in range(x.shape[1]):
            line, result = x[k, row, start:stop], out[k, row, start:stop]
            for i in range(len(tops)):
                result[i] = (line[i] - tops[i]) - logs[i]


@loop("float32[:,:,::1]", "float32[:,:,::1]", "float32[:,:,::1]", "int64", "int64")
def softmax_backward_down(grad: Any, result: Any, out: Any, start: Any, stop: Any) -> None:
    for k in range(len(out)):
        totals = np.zeros(stop - start)
        for row in range(out.shape[1]):
            through, line = grad[k, row, start:stop], result[k, row, start:stop]
            for i in range(len(totals)):
                totals[i] += through[i] * line[i]
        sums = totals.astype(f32)
        for row in range(out.shape[1]):
            through, line, target = grad[k, row, start:stop], result[k, row, start:stop], out[k, row, start:stop]
            for i in range(len(totals)):
                target[i] = (through[i] - sums[i]) * line[i]


@loop("float32[:,:,::1]", "float32[:,:,::1]", "float32[:,:,::1]", "int64", "int64")
def log_softmax_backward_down(grad: Any, result: Any, out: Any, start: Any, stop: Any) -> None:
    for k in range(len(out)):
        totals = np.zeros(stop - start)
        for row in range(out.shape[1]):
            through = grad[k, row, start:stop]
            for i in range(len(totals)):
                totals[i] += through[i]
        sums = totals.astype(f32)
        for row in range(out.shape[1]):
            through, line, target = grad[k, row, start:stop], result[k, row, start:stop], out[k, row, start:stop]
            for i in range(len(totals)):
                target[i] = through[i] - exp(line[i]) * sums[i]


# -- normalisation -----------------------------------------------------------------------------------------------------

@loop("float32[:,::1]", "float32[::1]", "float32[::1]", "float32", "float32[:,::1]", "float32[::1]", "float32[::1]",
      fastmath=SUMS)
def layer_norm(x: Any, weight: Any, bias: Any, eps: Any, out: Any, means: Any, scales: Any) -> None:
    """Each line less its mean and by its standard deviation, of which the reciprocals are ``scales``."""
    part = f32(1) / f32(x.shape[1])
    for row in range(len(x)):
        line, result = x[row], out[row]
        total, squares = f32(0), f32(0)
        for i in range(len(line)):
            total += line[i]
        mean = total * part
        for i in range(len(line)):
            squares += (line[i] - mean) * (line[i] - mean)
        scale = f32(1) / np.sqrt(squares * part + eps)
        means[row], scales[row] = mean, scale
        for i in range(len(line)):
            result[i] = (line[i] - mean) * scale * weight[i] + bias[i]


@loop("float32[:,::1]", "float32[:,::1]", "float32[::1]", "float32[::1]", "float32[::1]", "float32[:,::1]",
      "float32[::1]", "float32[::1]", fastmath=SUMS)
def layer_norm_backward(grad: Any, x: Any, means: Any, scales: Any, weight: Any, of_x: Any, of_weight: Any,
                        of_bias: Any) -> None:
    """The gradient of the input; to those of weight and bias the lines' are added. A single line of ``grad`` is that of
    all.
    """
    part = f32(1) / f32(x.shape[1])
    for row in range(len(x)):
        line, through, result = x[row], grad[row if len(grad) > 1 else 0], of_x[row]
        mean, scale, along, across = means[row], scales[row], f32(0), f32(0)
        for i in range(len(line)):
            normal = (line[i] - mean) * scale
            of_weight[i] += through[i] * normal
            of_bias[i] += through[i]
            along += through[i] * weight[i]
            across += through[i] * weight[i] * normal
        along, across = along * part, across * part
        for i in range(len(line)):
            result[i] = (through[i] * weight[i] - along - (line[i] - mean) * scale * across) * scale


# -- sums and extrema --------------------------------------------------------------------------------------------------

@loop("float32[:,::1]", "float32[::1]", fastmath=SUMS)
def sum_lines(x: Any, out: Any) -> None:
    """The sums of 2048 elements each are added up in float64, so that rounding errors stay small."""
    for row in range(len(x)):
        total = f64(0)
        for start in range(0, x.shape[1], 2048):
            piece, some = x[row, start:start + 2048], f32(0)
            for i in range(len(piece)):
                some += piece[i]
            total += some
        out[row] = f32(total)


@loop("float32[:,::1]", "float32[:,::1]", "float32[::1]", "int64", "int64")
def sum_rows(x: Any, out: Any, rest: Any, rows: Any, step: Any) -> None:
    """For so many rows each the sum of the sums of ``step`` rows, a multiple of four, and the sum of the rows that are
    over; all are added up one after the other.
    """
    line = np.empty(out.shape[1], f32)
    for k in range(len(out)):
        part, target = x[k * rows:(k + 1) * rows], out[k]
        for start in range(0, len(part), step):
            group = part[start:start + step]
            sums, whole = (line if len(group) == step else rest), len(group) & ~3
            for row in range(0, whole, 4):
                first, second, third, fourth = group[row], group[row + 1], group[row + 2], group[row + 3]
                if row:
                    for i in range(len(sums)):
                        sums[i] = sums[i] + first[i] + second[i] + third[i] + fourth[i]
                else:
                    for i in range(len(sums)):
                        sums[i] = first[i] + second[i] + third[i] + fourth[i]
            for row in range(whole, len(group)):
                for i in range(len(sums)):
                    sums[i] = sums[i] + group[row, i] if row else group[row, i]
            if len(group) == step:
                for i in range(len(sums)):
                    target[i] = target[i] + sums[i] if start else sums[i]


@loop("float32[:,::1]", "float32[::1]", "bool_")
def extreme_of_lines(x: Any, out: Any, lowest: Any) -> None:
    """The largest number of each line, or the lowest; NaN, if it has one."""
    flip = i32(-1) if lowest else i32(0)
    for row in range(len(x)):
        line, top, magnitude = x[row], i32(-2147483648), i32(0)
        for i in range(len(line)):
            bits = bits_of(line[i])
            magnitude = max(magnitude, i32(bits & i32(0x7FFFFFFF)))
            top = max(top, i32(ordered(bits) ^ flip))
        out[row] = f32(np.nan) if magnitude > i32(0x7F800000) else float_of(ordered(i32(top ^ flip)))


@loop("float32[:,::1]", "int64[::1]", "bool_", "int64")
def extreme_in_columns(x: Any, out: Any, lowest: Any, start: Any) -> None:
    """The first row in which the largest number of some of the columns stands, or the lowest, or NaN."""
    flip = i32(-1) if lowest else i32(0)
    tops, rows = np.full(len(out), -2147483648, i32), np.zeros(len(out), i32)
    for row in range(len(x)):
        line = x[row, start:start + len(out)]
        for i in range(len(out)):
            value = i32(ordered(bits_of(line[i] + f32(0))) ^ flip)  # of two zeros none is larger
            key = value if line[i] == line[i] else i32(2147483647)
            rows[i] = i32(row) if key > tops[i] else rows[i]
            tops[i] = max(tops[i], key)
    for i in range(len(out)):
        out[i] = rows[i]


# -- windows that move by single elements, as ``Columns`` lays them out ------------------------------------------------

@loop("int32[::1]", "int32[::1]", *["int64"] * 11)
def columns(x: Any, out: Any, height: Any, width: Any, top: Any, left: Any, room: Any, room_width: Any, kernel: Any,
            kernel_width: Any, down: Any, across: Any, count: Any) -> None:
    """For each plane, with zeros around it that make it ``room`` elements in rows of ``room_width``, ``count`` elements
    from each of those on that the window finds at its first place, which are ``down`` and ``across`` apart.
    """
    wide, target = np.zeros(room, i32), 0
    for plane in range(len(x) // (height * width)):
        for row in range(height):
            source, start = (plane * height + row) * width, (top + row) * room_width + left
            for i in range(width):
                wide[u64(start + i)] = x[u64(source + i)]
        for row in range(kernel):
            for column in range(kernel_width):
                start = row * down * room_width + column * across
                for i in range(count):
                    out[u64(target + i)] = wide[u64(start + i)]
                target += count


@loop("float32[::1]", "float32[::1]", "float32[::1]", "int64", "int64", "int64")
def real_places(x: Any, bias: Any, out: Any, rows: Any, width: Any, line: Any) -> None:
    """Of the lines that the places of each channel are, the real ones, with which they begin, and a bias."""
    source, target = 0, 0
    for channel in range(len(out) // (rows * width)):
        added = bias[u64(channel % len(bias))]
        for row in range(rows):
            for i in range(width):
                out[u64(target + i)] = x[u64(source + row * line + i)] + added
            target += width
        source += (rows - 1) * line + width


@loop("int32[::1]", "int32[::1]", "int64", "int64", "int64")
def all_places(x: Any, out: Any, rows: Any, width: Any, line: Any) -> None:
    """The same back, with zeros at places that are no real ones."""
    source, target = 0, 0
    while source < len(x):
        for row in range(rows):
            for i in range(width):
                out[u64(target + i)] = x[u64(source + i)]
            source, target = source + width, target + width
            if row + 1 < rows:
                for i in range(line - width):
                    out[u64(target + i)] = 0
                target += line - width


# -- steps of optimizers, by the rules of ``_backends.common.optim`` ---------------------------------------------------

@loop("float32[::1]", "float32[::1]", "float32", "float32")
def sgd(param: Any, grad: Any, weight_decay: Any, rate: Any) -> None:
    for i in range(len(param)):
        change = grad[i] + param[i] * weight_decay if weight_decay != f32(0) else grad[i]
        param[i] += change * rate


@loop("float32[::1]", "float32[::1]", "float32[::1]", "float32", "float32", "float32", "float32", "bool_")
def sgd_with_momentum(param: Any, grad: Any, buffer: Any, weight_decay: Any, rate: Any, momentum: Any, share: Any,
                      nesterov: Any) -> None:
    for i in range(len(param)):
        change = grad[i] + param[i] * weight_decay if weight_decay != f32(0) else grad[i]
        moved = buffer[i] * momentum + change * share
        buffer[i] = moved
        param[i] += (change + moved * momentum if nesterov else moved) * rate


@loop("float32[::1]", "float32[::1]", "float32[::1]", "float32[::1]", "float32", "float32", "float32", "float32",
      "float32", "float32", "float32", "float32")
def adam(param: Any, grad: Any, averages: Any, squares: Any, shrink: Any, weight_decay: Any, share: Any, kept: Any,
         share_of_square: Any, correction: Any, eps: Any, rate: Any) -> None:
    for i in range(len(param)):
        before = param[i] * shrink
        change = grad[i] + before * weight_decay if weight_decay != f32(0) else grad[i]
        average = (change - averages[i]) * share + averages[i]
        square = squares[i] * kept + change * share_of_square * change
        averages[i], squares[i] = average, square
        param[i] = before + average * rate / (np.sqrt(square) / correction + eps)


# -- losses ------------------------------------------------------------------------------------------------------------

@loop("float32[:,::1]", "int64[::1]", "int64", 'Array(float32, 0, "C")', 'Array(float32, 0, "C")', result="bool_")
def nll_loss(x: Any, target: Any, ignored: Any, total: Any, count: Any) -> Any:
    """Minus the sum of the elements of the classes, and how many are not ignored; False if one is no class."""
    found, counted = 0.0, 0
    for row in range(len(x)):
        place = target[row]
        if place != ignored:
            if place < 0 or place >= x.shape[1]:
                return False
            found -= x[row, place]
            counted += 1
    total[()], count[()] = f32(found), f32(counted)
    return True


@loop("float32", "int64[::1]", "int64", "float32[:,::1]", result="bool_")
def nll_loss_backward(grad: Any, target: Any, ignored: Any, out: Any) -> Any:
    for row in range(len(out)):
        place, line = target[row], out[row]
        line[:] = f32(0)
        if place != ignored:
            if place < 0 or place >= len(line):
                return False
            line[place] = grad
    return True


# -- scans -------------------------------------------------------------------------------------------------------------

@loop("float32[:,::1]", "float32[:,::1]")
def cumsum(x: Any, out: Any) -> None:
    """The sums up to each element of each line, kept in float64, as PyTorch keeps them."""
    for row in range(len(x)):
        total = f64(0)
        for i in range(x.shape[1]):
            total += x[row, i]
            out[row, i] = f32(total)


@loop("float32[:,::1]", "float32[:,::1]", "int64", "int64")
def cumsum_down(x: Any, out: Any, start: Any, stop: Any) -> None:
    """The same down some of the columns."""
    totals = np.zeros(stop - start)
    for row in range(len(x)):
        for i in range(len(totals)):
            totals[i] += x[row, start + i]
            out[row, start + i] = f32(totals[i])


# -- indices, which are in bounds --------------------------------------------------------------------------------------

@loop("int32[:,::1]", "int64[:,::1]", "int32[:,::1]")
def gather(x: Any, at: Any, out: Any) -> None:
    for row in range(len(at)):
        for i in range(at.shape[1]):
            out[row, i] = x[row, u64(at[row, i])]


@loop("int32[:,:,::1]", "int64[:,:,::1]", "int32[:,:,::1]")
def gather_down(x: Any, at: Any, out: Any) -> None:
    for k in range(len(at)):
        box, places, result = x[k], at[k], out[k]
        for row in range(len(places)):
            for i in range(places.shape[1]):
                result[row, i] = box[u64(places[row, i]), u64(i)]


@loop("float32[:,::1]", "int64[:,::1]", "float32[:,::1]")
def scatter_add(out: Any, at: Any, values: Any) -> None:
    for row in range(len(at)):
        for i in range(at.shape[1]):
            out[row, u64(at[row, i])] += values[row, i]


@loop("float32[:,::1]", "int64[::1]", "float32[:,::1]")
def index_add(out: Any, at: Any, values: Any) -> None:
    for row in range(len(at)):
        line, added = out[u64(at[row])], values[row]
        for i in range(len(line)):
            line[i] += added[i]


@loop("int64[::1]", "int64[:,::1]")
def count(x: Any, out: Any) -> None:
    """How often each number occurs, in ``FOLDS`` counts: one after the other would wait for it to be written."""
    first, second, third, fourth = out[0], out[1], out[2], out[3]
    whole = len(x) & ~3
    for i in range(0, whole, 4):
        first[u64(x[i])] += 1
        second[u64(x[i + 1])] += 1
        third[u64(x[i + 2])] += 1
        fourth[u64(x[i + 3])] += 1
    for i in range(whole, len(x)):
        first[u64(x[i])] += 1
