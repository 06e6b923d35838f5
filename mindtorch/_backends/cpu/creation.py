"""Factory kernels of the CPU."""
from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from ..._base.determinism import filled as settled
from ..._base.errors import check_fill
from ..._base.formats import contiguous_format, preserve_format
from ..._base.layout import Ints, Spec, check_sizes
from ..._device import device as Device
from ..._dispatch.keys import NONCONTIGUOUS
from ..._dtype import FLOATING, INTEGER, DType, bool_, dtype_of_number, get_default_dtype, int64
from ..._storage import allocate
from ..._tensor import Tensor, empty_tensor, from_array
from ..common.blocks import fill as fill_array, filled
from ..common.creation import creation_kernels
from .fast_paths import LARGEST, PLAIN


def fill(spec: Spec, value: Any, device: Device) -> Tensor:
    """Return a filled tensor. Raises RuntimeError if the dtype cannot hold the number; negative ones wrap if unsigned.
    """
    dtype = spec.dtype
    if value.__class__ is complex or (value != 0 and value != 1):
        check_fill(dtype, value, prod(spec.shape or ()))
        if isinstance(value, complex) and not dtype.is_complex:
            value = bool(value) if dtype is bool_ else value.real
        elif dtype.category == INTEGER and not dtype.is_signed and value < 0:
            value %= 1 << 8 * dtype.itemsize
        elif dtype.category == FLOATING:  # bfloat16 rejects an int of more than 63 bits
            value = float(value)
    out = empty_tensor(spec)
    fill_array(out._array, value)  # type: ignore[arg-type]
    return out


KERNELS = creation_kernels("cpu", fill)


def of(value: int) -> Callable[..., Tensor]:
    """Return the kernel of ``ones`` or ``zeros``. Every dtype holds the number, so nothing is checked."""

    def kernel(size: Ints, dtype: DType | None = None, *options: Any) -> Tensor:
        dtype = dtype or get_default_dtype()
        return from_array(filled(check_sizes(size), dtype.np, value), dtype)

    return kernel


#: Options of a factory that leave dtype, device and a contiguous layout as they are.
AS_IT_IS = {None, False, contiguous_format, preserve_format, "contiguous_format", "preserve_format"}


def like(value: int, general: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return the kernel of ``ones_like`` or ``zeros_like``, fast if options change nothing, as when a backward pass
    begins.
    """

    def kernel(self: Tensor, *options: Any) -> Tensor:
        if self._keys & NONCONTIGUOUS or not AS_IT_IS.issuperset(options):
            return general(self, *options)
        return from_array(filled(self._array.shape, self._dtype.np, value), self._dtype)  # type: ignore[union-attr]

    return kernel


def holds(dtype: DType, value: Any) -> bool:
    """Return True if a dtype surely holds a number, so that nothing is to be checked or converted."""
    kind = value.__class__
    return (dtype in PLAIN and (kind is float or kind is int) and -LARGEST < value < LARGEST) or (
        dtype is int64 and kind is int and -1 << 63 <= value < 1 << 63)


def full(general: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return the kernel of ``full``, fast for a number that the dtype surely holds."""

    def kernel(size: Ints, value: Any, dtype: DType | None = None, *options: Any) -> Tensor:
        held = dtype or dtype_of_number(value)
        if not holds(held, value):
            return general(size, value, dtype, *options)
        return from_array(filled(check_sizes(size), held.np, value), held)

    return kernel


def full_like(general: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return the kernel of ``full_like``, fast for such numbers if options change nothing."""

    def kernel(self: Tensor, value: Any, *options: Any) -> Tensor:
        if self._keys & NONCONTIGUOUS or not AS_IT_IS.issuperset(options) or not holds(self._dtype, value):
            return general(self, value, *options)
        return from_array(filled(self._array.shape, self._dtype.np, value), self._dtype)  # type: ignore[union-attr]

    return kernel


def empty(general: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return the kernel of ``empty``, fast without a memory format."""

    def kernel(size: Ints, dtype: DType | None = None, layout: Any = None, device: Any = None,
               pin_memory: bool | None = None, memory_format: Any = None) -> Tensor:
        if memory_format is not None:
            return general(size, dtype, layout, device, pin_memory, memory_format)
        dtype = dtype or get_default_dtype()
        return settled(from_array(allocate(check_sizes(size), dtype.np), dtype))

    return kernel


KERNELS.update({"empty.memory_format": empty(KERNELS["empty.memory_format"]), "zeros": of(0), "ones": of(1),
                "full": full(KERNELS["full"]), "full_like": full_like(KERNELS["full_like"]),
                "zeros_like": like(0, KERNELS["zeros_like"]), "ones_like": like(1, KERNELS["ones_like"])})
