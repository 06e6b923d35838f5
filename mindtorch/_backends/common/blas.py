"""Direct calls to NumPy's BLAS, for products and settings that NumPy does not expose."""
from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

#: From this many elements on, a call through ctypes costs less than a pass over them.
MANY = 1 << 15
_ROW_MAJOR, _AS_IT_IS = 101, 111  # of <cblas.h>


@cache
def _path() -> str | None:
    """Return the path of the OpenBLAS with 64-bit integers in NumPy's wheel, or None if NumPy uses another BLAS."""
    folder = Path(np.__file__).parent.parent / "numpy.libs"
    found = str(next(iter(sorted(folder.glob("libscipy_openblas*"))), ""))
    return found if found and hasattr(ctypes.CDLL(found), "scipy_openblas_set_num_threads64_") else None


# -- threads -----------------------------------------------------------------------------------------------------------

@cache
def _settings() -> Any:
    """Load the library for calls too short to release the GIL."""
    path = _path()
    return None if path is None else ctypes.PyDLL(path)


def thread_count() -> int | None:
    """Return the number of threads that multiply matrices, or None if it is unknown."""
    return _settings().scipy_openblas_get_num_threads64_() if _settings() else None


def set_thread_count(count: int) -> None:
    """Set the number of threads that multiply matrices, if the library allows it."""
    if _settings():
        _settings().scipy_openblas_set_num_threads64_(count)


# -- products ----------------------------------------------------------------------------------------------------------

#: The parameters of BLAS's functions: flags, sizes, factors of the dtype, arrays.
PARAMETERS = {"gemm": "flag flag flag size size size factor array size array size factor array size",
              "axpy": "size factor array size array size"}


@cache
def _function(name: str, dtype: np.dtype) -> Any:
    """Return a BLAS function for a dtype, or None if there is none."""
    path, letter = _path(), {"float32": "s", "float64": "d"}.get(dtype.name)
    if path is None or letter is None:
        return None
    types = {"flag": ctypes.c_int, "size": ctypes.c_int64, "array": ctypes.c_void_p,
             "factor": ctypes.c_float if letter == "s" else ctypes.c_double}
    function = ctypes.CDLL(path)[f"scipy_cblas_{letter}{name}64_"]
    function.argtypes, function.restype = [types[kind] for kind in PARAMETERS[name].split()], None
    return function


def add_scaled(out: np.ndarray, values: np.ndarray, factor: Any) -> bool:
    """Add a scaled contiguous array to another of its shape and dtype in one pass (axpy).

    Return whether BLAS did it: not for small arrays, complex numbers, or a factor of 0, for which axpy ignores NaN.
    """
    axpy = _function("axpy", out.dtype) if out.size >= MANY and factor else None
    if axpy is None:
        return False
    axpy(out.size, factor, values.ctypes.data, 1, out.ctypes.data, 1)
    return True


def add_product(out: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
    """Add the product of two matrices to a third, all contiguous and of one dtype; large ones in place by gemm."""
    gemm = _function("gemm", out.dtype) if out.size >= MANY else None
    if gemm is None:
        out += np.matmul(left, right)
        return
    (rows, columns), depth = out.shape, len(right)
    gemm(_ROW_MAJOR, _AS_IT_IS, _AS_IT_IS, rows, columns, depth, 1, left.ctypes.data, depth, right.ctypes.data, columns,
         1, out.ctypes.data, columns)
