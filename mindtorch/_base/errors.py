"""Checks that many meta kernels make, with PyTorch's exceptions."""
from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from .._dtype import COMPLEX, FLOATING, INTEGER, NAMES as NAMES, DType, complex32, complex64, finfo, float64, iinfo
from .about import about


class _LinAlgError(RuntimeError):
    """A singular or not positive definite matrix, or no convergence (``torch.linalg.LinAlgError``)."""


LinAlgError = _LinAlgError
LinAlgError.__module__, LinAlgError.__qualname__ = "mindtorch.linalg", "LinAlgError"  # where pickles find it


def first_failure(info: Any) -> tuple[str, int] | None:
    """Return the first batch element with a nonzero LAPACK status, in PyTorch's words, and the status; else None."""
    if not info.any():
        return None
    bad = np.flatnonzero(info)
    status = int(info.reshape(-1)[bad[0]])
    return (f"(Batch element {bad[0]}): " if info.ndim else ""), status


class OutOfMemoryError(RuntimeError):
    """The device has no memory left (``torch.OutOfMemoryError``)."""


OutOfMemoryError.__module__ = "mindtorch"  # for pickle

#: C++'s names of the number types.
C_NAMES = {"bool": "bool", "uint8": "uint8_t", "int8": "int8_t", "int16": "int16_t", "int32": "int", "int64": "int64_t",
           "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double",
           "complex64": "c10::complex<float>", "complex128": "c10::complex<double>", "uint16": "uint16_t",
           "uint32": "uint32_t", "uint64": "uint64_t", "complex32": "c10::complex<c10::Half>",
           **{name: f"c10::{NAMES[name]}" for name in NAMES if name.startswith("float8")}}
#: C++'s built-in names of the element types (``caffe2::TypeMeta::name``).
CPP_NAMES = {**C_NAMES, "uint8": "unsigned char", "int8": "signed char", "int16": "short int", "int64": "long int",
             "uint16": "short unsigned int", "uint32": "unsigned int", "uint64": "long unsigned int"}


_LEGACY = {"Byte", "Char", "Short", "Int", "Long", "Half", "Float", "Double"}


def type_string(tensor: Any) -> str:
    """Return a tensor's type as PyTorch's messages spell it: ``torch.FloatTensor``, ``CPUBoolType``."""
    device = tensor._device.type
    if device == "cpu":
        return cpu_type(tensor._dtype)
    return f"{'Meta' if device == 'meta' else device.upper()}{NAMES[tensor._dtype.name]}Type"


def cpu_type(dtype: DType) -> str:
    """Return the type of a CPU tensor of a dtype, as PyTorch's messages spell it."""
    name = NAMES[dtype.name]
    return f"torch.{name}Tensor" if name in _LEGACY else f"CPU{name}Type"


def check(condition: Any, message: str | Callable[[], str | Exception], error: type[Exception] = RuntimeError,
          kind: str = "") -> None:
    """Raise ``error(message)`` unless the condition holds.

    A message that has to be composed is a function without arguments, as ``torch._check`` takes one, and is called only
    on failure. It may return the error itself, with its facts. ``kind`` is for errors without other facts.
    """
    if not condition:
        raise _made(message if isinstance(message, str) else message(), error, kind)


def _made(said: str | Exception, error: type[Exception], kind: str) -> Exception:
    found = said if isinstance(said, Exception) else error(said)
    return about(found, kind) if kind else found


def check_takes(takes: Any, kernel: str, dtype: DType) -> None:
    """Raise PyTorch's error for a kernel that is not implemented for a dtype, unless ``takes``."""
    if not takes:
        raise about(NotImplementedError(f"\"{kernel}\" not implemented for '{NAMES[dtype.name]}'"),
                    "not for this dtype", kernel=kernel, dtype=dtype.name)


def check_real(kernel: str, self: Any) -> None:
    """Raise PyTorch's error in the name of ATen's kernel unless a tensor's dtype is real floating-point."""
    check_takes(self._dtype.category == FLOATING, kernel, self._dtype)


def check_broadcast(common: Any, shape: Any) -> None:
    """Raise RuntimeError if the broadcast shape ``common`` differs from the shape of the tensor to write."""
    if common != shape:
        raise about(RuntimeError(f"output with shape {list(shape)} doesn't match the broadcast shape {list(common)}"),
                    "in-place broadcast")


@cache
def limits(dtype: DType) -> tuple[Any, Any]:
    """Return the least and the greatest finite number of a dtype; cached, since NumPy computes them at each call."""
    facts: Any = iinfo(dtype) if dtype.category == INTEGER else finfo(dtype.to_real())
    return facts.min, facts.max


def check_fits(dtype: DType, *numbers: Any) -> None:
    """Refuse integers that an integer dtype cannot hold; negative ones may wrap around in an unsigned dtype.

    Raises:
        RuntimeError: as PyTorch does.
    """
    if dtype.category == INTEGER:
        least, most = limits(dtype)
        low = least if dtype.is_signed else -most
        for number in numbers:
            check(not isinstance(number, int) or low <= number <= most,
                  lambda: f"value cannot be converted to type {C_NAMES[dtype.name]} without overflow")


def check_number(dtype: DType, number: Any) -> None:
    """Refuse a number that a dtype cannot hold: too large, not finite, or complex.

    Raises:
        RuntimeError: as PyTorch does.
        OverflowError: for an integer of more than 64 bits.
    """
    if isinstance(number, int) and not -(1 << 63) <= number < 1 << 64:
        raise OverflowError("int too big to convert" if number > 0 else "can't convert negative int to unsigned")
    if isinstance(number, complex) and not number.imag and dtype.category != COMPLEX:
        number = number.real
    check_fits(dtype, number)
    parts = (number.real, number.imag) if isinstance(number, complex) else (number,)
    if dtype.category >= FLOATING:
        _, largest = limits(dtype)
        fits = len(parts) == 1 or dtype.category == COMPLEX
        fits = fits and all(part - part != 0 or abs(part) <= largest for part in parts)
    else:
        fits = dtype.category != INTEGER or isinstance(number, int) or (
            len(parts) == 1 and limits(dtype)[0] <= number <= limits(dtype)[1])
    check(fits, lambda: f"value cannot be converted to type {C_NAMES[dtype.name]} without overflow")


def check_fill(dtype: DType, number: Any, count: int) -> None:
    """Refuse a number with which ``count`` elements of a dtype cannot be filled.

    A number too large for half precision becomes infinite where PyTorch converts it by way of a wider dtype: in a
    single real element, and in several complex ones.
    """
    if dtype.itemsize == 2 and dtype.category == FLOATING and count == 1:
        dtype = float64
    elif dtype is complex32 and count != 1:
        dtype = complex64
    check_number(dtype, number)
