"""Shared parts of the simulated kernels: promotion of operands, and writing results into outputs.

Tensors come as arrays over device memory, scalars as NumPy scalars, everything else as plain Python. Rows of the CPU
(`cpu/ops`) do the arithmetic: a string names one. Halves are computed in float32 and rounded once.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import cache, reduce
from typing import Any

import numpy as np

from ....._dtype import DType, from_numpy_dtype, promote_types
from ....cpu.ops import CPU_KERNELS as CPU

Array = np.ndarray
Row = Callable[..., Any]
Kernel = Callable[..., Any]


def row_of(row: Row | str) -> Row:
    return CPU[row] if isinstance(row, str) else row


def named(form: Callable[[str], Kernel], text: str) -> dict[str, Kernel]:
    """Make kernels of one form that are rows of the CPU: pairs of names, ACLNN's and the CPU's."""
    names = text.split()
    return {f"aclnn{theirs}": form(ours) for theirs, ours in zip(names[::2], names[1::2], strict=True)}


def number(value: Any) -> Any:
    """Return a scalar as a Python number, which takes no part in NumPy's promotion, and everything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def store(out: Array, result: Any) -> None:
    """Write a result into an output: converted, broadcast, or with dimensions of size 1 more or less."""
    if result.__class__ is Array and result.dtype is out.dtype and result.shape == out.shape:
        out[...] = result
        return
    result = np.asarray(result)
    if result.dtype.kind == "c" and out.dtype.kind not in "cb":
        result = result.real
    if result.shape != out.shape and result.size == out.size:
        result = result.reshape(out.shape)
    np.copyto(out, result, casting="unsafe")


def computed(dtype: DType) -> np.dtype:
    """Return the dtype that kernels compute in for a dtype: float32 for halves."""
    return np.dtype(np.float32) if dtype.itemsize == 2 and dtype.is_floating_point else dtype.np


@cache
def common(dtypes: tuple[np.dtype, ...]) -> np.dtype:
    """Return the dtype of a computation with tensors of some dtypes."""
    return computed(reduce(promote_types, map(from_numpy_dtype, dtypes)))


def converted(value: Any, dtype: np.dtype) -> Any:
    """Convert an array or a scalar to the dtype of the computation; return everything else as it is."""
    if value.__class__ is Array:
        return value if value.dtype == dtype else value.astype(dtype)
    return np.asarray(value).astype(dtype) if isinstance(value, np.generic) else value


def pointwise(row: Row | str, outs: int = 1) -> Kernel:
    """Make an operator by element. Operands and outputs together determine the dtype of the computation."""
    row = row_of(row)

    def kernel(*args: Any) -> None:
        dtype = common(tuple([a.dtype for a in args if a.__class__ is Array]))
        results = row(*[converted(a, dtype) for a in args[:-outs]])
        for out, result in zip(args[-outs:], results if outs > 1 else (results,), strict=True):
            store(out, result)

    return kernel


def compared(row: Row | str) -> Kernel:
    """Make a test by element. The operands alone determine the dtype; numbers are compared as they are."""
    row = row_of(row)

    def kernel(*args: Any) -> None:
        dtype = common(tuple([a.dtype for a in args[:-1] if a.__class__ is Array]))
        store(args[-1], row(*[converted(number(a), dtype) for a in args[:-1]]))

    return kernel


def whole(row: Row | str, outs: int = 1) -> Kernel:
    """Make an operator on whole tensors; the last ``outs`` of its parameters are outputs."""
    row = row_of(row)

    def kernel(*args: Any) -> None:
        results = row(*map(number, args[:-outs]))
        for out, result in zip(args[-outs:], results if outs > 1 else (results,), strict=True):
            if out is not None:
                store(out, result)

    return kernel


def inplace(row: Row | str) -> Kernel:
    """Make an operator whose row writes into its first tensor."""
    row = row_of(row)
    return lambda *args: row(*map(number, args)) and None


def onto_copy(row: Row | str) -> Kernel:
    """Make an operator whose row writes into an output that starts as a copy of the first tensor."""
    row = row_of(row)

    def kernel(self: Array, *args: Any) -> None:
        store(args[-1], self)
        row(args[-1], *map(number, args[:-1]))

    return kernel


def counted(row: Row | str, outs: int = 1) -> Kernel:
    """Make an operator with data-dependent shapes: results start larger outputs, the kernel returns the shapes."""
    row = row_of(row)

    def kernel(*args: Any) -> list[tuple[int, ...]]:
        results = row(*map(number, args[:-outs]))
        arrays = [np.asarray(result) for result in (results if outs > 1 else (results,))]
        for out, result in zip(args[-outs:], arrays, strict=True):
            if result.size:
                np.copyto(out[(..., *map(slice, result.shape))], result, casting="unsafe")
        return [array.shape for array in arrays]

    return kernel


def scalar_of(value: Any, out: Array) -> Any:
    """Convert a number to an output's dtype, as C does."""
    return np.asarray(number(value)).astype(out.dtype)
