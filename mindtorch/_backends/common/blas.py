"""NumPy's BLAS, called for what NumPy does not ask of it."""
from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

#: Elements from which on a call through ctypes costs less than a pass over them.
MANY = 1 << 15
_ROW_MAJOR, _AS_IT_IS = 101, 111  # of <cblas.h>


@cache
def _path() -> str | None:
    """The file of the library in NumPy's wheel, an OpenBLAS with integers of 64 bits; None where it is another."""
    folder = Path(np.__file__).parent.parent / "numpy.libs"
    found = str(next(iter(sorted(folder.glob("libscipy_openblas*"))), ""))
    return found if found and hasattr(ctypes.CDLL(found), "scipy_openblas_set_num_threads64_") else None


# -- threads -----------------------------------------------------------------------------------------------------------

@cache
def _settings() -> Any:
    """The library for calls that are too short to let go of Python's lock."""
    path = _path()
    return None if path is None else ctypes.PyDLL(path)


def thread_count() -> int | None:
    """How many threads multiply matrices, where that can be known."""
    return _settings().scipy_openblas_get_num_threads64_() if _settings() else None


def set_thread_count(count: int) -> None:
    """Multiply matrices on so many threads, where that can be set."""
    if _settings():
        _settings().scipy_openblas_set_num_threads64_(count)


# -- products ----------------------------------------------------------------------------------------------------------

#: The parameters of BLAS's functions: flags, sizes, factors of the dtype, arrays.
PARAMETERS = {"gemm": "flag flag flag size size size factor array size array size factor array size",
              "axpy": "size factor array size array size"}


@cache
def _function(name: str, dtype: np.dtype) -> Any:
    """BLAS's function of a name for a dtype, if there is one."""
    path, letter = _path(), {"float32": "s", "float64": "d"}.get(dtype.name)
    if path is None or letter is None:
        return None
    types = {"flag": ctypes.c_int, "size": ctypes.c_int64, "array": ctypes.c_void_p,
             "factor": ctypes.c_float if letter == "s" else ctypes.c_double}
    function = ctypes.CDLL(path)[f"scipy_cblas_{letter}{name}64_"]
    function.argtypes, function.restype = [types[kind] for kind in PARAMETERS[name].split()], None
    return function


def add_scaled(out: np.ndarray, values: np.ndarray, factor: Any) -> bool:
    """Add a contiguous array times a number to another, of the same shape and dtype, in one pass, and say whether BLAS
    has that: not for complex numbers, nor for a factor of 0, for which it does not look at the array.
    """
    axpy = _function("axpy", out.dtype) if out.size >= MANY and factor else None
    if axpy is None:
        return False
    axpy(out.size, factor, values.ctypes.data, 1, out.ctypes.data, 1)
    return True


def add_product(out: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
    """Add the product of two matrices to a third, all contiguous and of one dtype; if that is large, without an array
    between, which NumPy needs.
    """
    gemm = _function("gemm", out.dtype) if out.size >= MANY else None
    if gemm is None:
        out += np.matmul(left, right)
        return
    (rows, columns), depth = out.shape, len(right)
    gemm(_ROW_MAJOR, _AS_IT_IS, _AS_IT_IS, rows, columns, depth, 1, left.ctypes.data, depth, right.ctypes.data, columns,
         1, out.ctypes.data, columns)
