"""The table of loops, and LLVM's operations that Python lacks."""
from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, njit, types
from numba.core import sigutils
from numba.extending import intrinsic

from ..machine_code import DATA, DIMENSIONS, PROVIDED, SIZES, STRIDES, is_line

f32, f64, i32, i64, u16, u32, u64 = np.float32, np.float64, np.int32, np.int64, np.uint16, np.uint32, np.uint64
#: What compiles a loop, by its name.
LOOPS: dict[str, Callable[[], bytes]] = {}
#: Sums may be added up in another order, since each step waits for the one before; all else rounds as it is written.
SUMS = {"reassoc"}

FLOATS = ("float32", "float64")


def loop(*arrays: str, fastmath: Any = False, of: tuple[str, ...] = (), name: str = "") -> Callable[[Any], Any]:
    """Register a function of arrays and numbers of these types as a loop, perhaps of another name; or as one for each
    dtype of ``of``, which takes the place of ``T``.
    """

    def decorate(function: Any) -> Any:
        function.__name__ = function.__qualname__ = name or function.__name__
        for kind in of or ("T",):
            types = ", ".join(re.sub(r"\bT\b", kind, array) for array in arrays)
            LOOPS[f"{function.__name__}_{kind}" if of else function.__name__] = partial(
                compiled, function, f"void({types})", fastmath)
        return function

    return decorate


def compiled(function: Any, signature: str, fastmath: Any) -> bytes:
    """Compile a loop, and return its code as ``machine_code.load`` takes it.

    Raises:
        RuntimeError: if the code calls what no other process may have.
    """
    arguments, result = sigutils.normalize_signature(signature)
    settings = {"nogil": True, "error_model": "numpy", "fastmath": fastmath}
    space: dict[str, Any] = {"body": njit(**settings)(function), "carray": carray, "field": field, "elements": elements,
                             "as_strided": np.lib.stride_tricks.as_strided}
    given: list[str] = []
    kinds: list[tuple[str, int | None, bool]] = []
    for i, kind in enumerate(arguments):
        if isinstance(kind, types.Array):  # NumPy's object, of which the fields are read
            space[f"pointer{i}"] = pointer_to(kind.dtype)
            sizes, strides = ("".join(f"field(field(a{i}, {words}), {8 * d}), " for d in range(kind.ndim))
                              for words in (SIZES, STRIDES))
            contiguous = kind.layout == "C"
            if is_line(kind.ndim, contiguous):
                sizes = f"elements(a{i}),"
            array = f"carray(pointer{i}(field(a{i}, {DATA})), ({sizes}))"
            given.append(array if contiguous else f"as_strided({array}, ({sizes}), ({strides}))")
            kinds.append((str(kind.dtype), kind.ndim, contiguous))
        else:
            given.append(f"a{i}")
            kinds.append((str(kind), None, True))
    exec(f"def entry({', '.join(f'a{i}' for i in range(len(given)))}): return body({', '.join(given)})", space)
    entries = tuple(types.int64 if isinstance(kind, types.Array) else kind for kind in arguments)
    bare: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    made = njit(result(*entries), **settings, **bare)(space["entry"]).overloads[entries]
    outside = {name for name in re.findall(r'^declare [^@]*@"?([\w.$]+)', made.library.get_llvm_str(), re.MULTILINE)
               if not name.startswith("llvm.")}
    if outside - PROVIDED:
        raise RuntimeError(f"it calls {', '.join(sorted(outside - PROVIDED))}")
    about = {"name": made.fndesc.llvm_func_name, "arguments": kinds, "triple": made.library.codegen._tm.triple}
    return json.dumps(about).encode() + b"\n" + made.library._get_compiled_object()


@intrinsic
def field(typing: Any, place: Any, offset: Any) -> Any:
    """Return the word at an offset from an address."""
    return types.int64(types.int64, types.int64), lambda context, builder, signature, values: builder.load(
        builder.inttoptr(builder.add(*values), ir.IntType(64).as_pointer()))


word: Any = field  # the same, without the types of ``intrinsic``


@njit
def elements(array: Any) -> Any:
    """Return the number of elements of NumPy's object at an address."""
    count, dimensions = 1, word(array, DIMENSIONS) & 0xFFFFFFFF  # half a word
    for d in range(dimensions):
        count *= word(word(array, SIZES), 8 * d)
    return count


def pointer_to(kind: Any) -> Any:
    """Make the function that takes an address for that of elements."""
    return intrinsic(lambda typing, place: (
        types.CPointer(kind)(types.int64),
        lambda context, builder, signature, values: builder.inttoptr(
            values[0], context.get_value_type(signature.return_type))))


def unary(result: Any, operand: Any, write: Callable[..., Any]) -> Any:
    """Make a function of one number from ``write``, which calls LLVM's builder."""
    return intrinsic(lambda typing, value: (
        result(operand), lambda context, builder, signature, values: write(builder, values[0])))


bits_of = unary(types.int32, types.float32, lambda builder, x: builder.bitcast(x, ir.IntType(32)))
float_of = unary(types.float32, types.int32, lambda builder, x: builder.bitcast(x, ir.FloatType()))
wide_bits_of = unary(types.int64, types.float64, lambda builder, x: builder.bitcast(x, ir.IntType(64)))
wide_float_of = unary(types.float64, types.int64, lambda builder, x: builder.bitcast(x, ir.DoubleType()))
widened = unary(types.float32, types.uint16, lambda builder, x: builder.fpext(
    builder.bitcast(x, ir.HalfType()), ir.FloatType()))
narrowed = unary(types.uint16, types.float32, lambda builder, x: builder.bitcast(
    builder.fptrunc(x, ir.HalfType()), ir.IntType(16)))


#: ``a * b + c``, rounded once.
fma: Any = intrinsic(lambda typing, a, b, c: (
    a(a, a, a),
    lambda context, builder, signature, values: builder.fma(*values)))

#: ``a + b`` of a sum whose terms may be added up in another order; all else rounds as it is written.
plus: Any = intrinsic(lambda typing, a, b: (
    types.float32(types.float32, types.float32),
    lambda context, builder, signature, values: builder.fadd(*values, flags=("reassoc",))))


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
