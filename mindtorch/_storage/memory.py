"""Memory of the host as NumPy computes fast in it: aligned to cache lines, and kept from one array for the next.

A page that the system hands out costs as much as ten passes over it that find it in the cache, and an output that does
not begin on a cache line is written half as fast.
"""
from __future__ import annotations

import ctypes
import os
import sys
from math import prod
from typing import Any

import numpy as np

from .._base.about import about

#: Bytes of a cache line, and from which on an array begins on one.
LINE, LARGE = 64, 1 << 15
#: Free bytes that are kept, and from which on an array's pages are its own, and go back to the system with it.
KEPT, OWN = 1 << 28, 1 << 25
_BYTE = np.dtype(np.uint8)
#: The offset of an array's address in NumPy's ``PyArrayObject``, which takes an eighth of the time to read that NumPy's
#: ``__array_interface__`` takes.
DATA = object.__basicsize__
_word = ctypes.c_size_t.from_address
MAX_DIMS = 64  #: NumPy's


def allocate(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return an uninitialised array. Raises PyTorch's RuntimeError if there is not that much memory."""
    size = prod(shape) * dtype.itemsize
    try:
        if size < LARGE:
            return np.empty(shape, dtype)
        memory = np.empty(size + LINE, _BYTE)
        return np.ndarray(shape, dtype, memory, -_word(id(memory) + DATA).value % LINE)
    except (MemoryError, ValueError):
        raise out_of_host_memory(shape, dtype) from None


def out_of_host_memory(shape: tuple[int, ...], dtype: np.dtype) -> RuntimeError:
    """Return PyTorch's error for an array beyond the host's memory, or NumPy's limit of dimensions."""
    if len(shape) > MAX_DIMS:
        return RuntimeError(f"a tensor of {len(shape)} dimensions: NumPy has at most {MAX_DIMS}")
    size = prod(shape) * dtype.itemsize
    if not can_be(shape, dtype):
        return about(RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}"), "out of memory",
                     asked=size, host=True)
    return about(RuntimeError(f"DefaultCPUAllocator: can't allocate memory: you tried to allocate {size} bytes."),
                 "out of memory", asked=size, host=True)


def can_be(shape: tuple[int, ...], dtype: np.dtype) -> bool:
    """Return True if NumPy supports an array of this shape, memory aside. NumPy counts bytes as if no size were 0."""
    return len(shape) <= MAX_DIMS and prod([max(size, 1) for size in shape]) * dtype.itemsize < 2**63


def _libc() -> Any:
    """Return the C library if it is glibc, whose ``malloc`` has settings; else None."""
    library = ctypes.CDLL(None) if sys.platform == "linux" else None
    return library if hasattr(library, "malloc_trim") else None


def keep_pages() -> None:
    """Have ``malloc`` keep up to ``KEPT`` bytes for later, unless the user has said how it should be."""
    trim_threshold, mmap_threshold = -1, -3  # of <malloc.h>
    if (libc := _libc()) and not os.environ.keys() & {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"}:
        libc.mallopt(trim_threshold, KEPT)
        libc.mallopt(mmap_threshold, OWN)
