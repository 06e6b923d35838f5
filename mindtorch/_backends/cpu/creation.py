"""Factory kernels of the CPU."""
from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ..._base.determinism import filled as settled
from ..._base.errors import check_fill
from ..._base.formats import contiguous_format, preserve_format, strided as dense
from ..._base.layout import Ints, Spec, check_sizes
from ..._base.quiet import quietly
from ..._device import device as Device
from ..._dispatch.keys import CPU, NONCONTIGUOUS
from ..._dtype import FLOATING, INTEGER, DType, bool_, dtype_of_number, get_default_dtype
from ..._storage import allocate
from ..._tensor import Tensor, empty_tensor, from_array, new
from ..common.blocks import fill as fill_array, filled
from ..common.creation import creation_kernels
from .fast_paths import held
from .plans import SEEN, Plans, exact
from .rows import MOST, order_of, strided


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
        elif dtype.category == FLOATING:  # bfloat16 rejects an int of more than 63 bits; halves round from float32
            value = np.float32(value) if dtype.itemsize == 2 else float(value)
    out = empty_tensor(spec)
    quietly(fill_array, out._array, value)
    return out


KERNELS = creation_kernels("cpu", fill)


def of(value: int) -> Callable[..., Tensor]:
    """Return the kernel of ``ones`` or ``zeros``. Every dtype holds the number, so nothing is checked."""

    def kernel(size: Ints, dtype: DType | None = None, *options: Any) -> Tensor:
        dtype = dtype or get_default_dtype()
        return from_array(filled(check_sizes(size), dtype.np, value), dtype)

    return kernel


#: Options of a factory that leave device, layout and dense strides as they are, and those of a format in rows.
AS_IT_IS = {None, False, preserve_format, "preserve_format", dense, Device("cpu")}
IN_ROWS = {contiguous_format, "contiguous_format"}


def made_like(self: Tensor, options: tuple[Any, ...], number: Any = None) -> Tensor | None:
    """Return a tensor of the layout of another, filled with a number, or not for None; None for a call that leaves more
    to decide than a dtype.
    """
    array: Any = self._array
    dtype, shape, stride, strides = self._dtype, array.shape, self._stride, self._keys & NONCONTIGUOUS
    if any(options) and not AS_IT_IS.issuperset(options):
        if len(options) == 5 and options[4] in IN_ROWS:
            strides, options = 0, options[:4]
        if not AS_IT_IS.issuperset(options[1:]):
            return None
        dtype = options[0] or dtype
    if number and number != 1 and (number := held(dtype, number)) is None:
        return None
    if not strides:
        return from_array(allocate(shape, dtype.np) if number is None else filled(shape, dtype.np, number), dtype)
    if stride is None or (found := order_of(shape, stride)) is None:
        return None
    order, back = found
    shape = tuple([shape[d] for d in order])
    data = allocate(shape, dtype.np) if number is None else filled(shape, dtype.np, number)
    return strided(data, data.transpose(back), dtype, stride)


def empty_like(general: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return the kernel of ``empty_like``."""
    def kernel(self: Tensor, *options: Any) -> Tensor:
        out = made_like(self, options)
        return general(self, *options) if out is None else settled(out)

    return kernel


def like(general: Callable[..., Tensor], *value: int) -> Callable[..., Tensor]:
    """Return the kernel of ``ones_like`` or ``zeros_like`` given its number, else of ``full_like``, which takes one. A
    small result is kept as a plan, and copied for each call.
    """
    plans = Plans()

    def kernel(self: Tensor, *options: Any) -> Tensor:
        kept: Any
        array: Any
        try:
            kept = plans.get(key := (self._layout or self._layout_of_plans(), options if value else (
                exact(options[0]), *options[1:])))
        except TypeError:  # a number that is not hashable
            return general(self, *options)
        if kept is not None and kept is not SEEN:
            array, stride = kept._array.copy("K"), kept._stride
            if stride is not None:
                order: Any = order_of(array.shape, stride)
                return strided(array.transpose(order[0]), array, kept._dtype, stride)
            out = new(Tensor)
            out._array, out._dtype, out._keys, out._layout = array, kept._dtype, CPU, kept._layout
            return out
        made = made_like(self, options if value else options[1:], value[0] if value else options[0])
        if made is None:
            return general(self, *options)
        array = made._array
        if array.size <= MOST:
            kept = plans.keep(key, SEEN if kept is None else from_array(array.copy("K"), made._dtype))
            if kept is not SEEN:
                kept._stride, kept._layout = made._stride, made._layout_of_plans()
        return made

    return kernel


def full(general: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return the kernel of ``full``, fast for a number that the dtype surely holds."""

    def kernel(size: Ints, value: Any, dtype: DType | None = None, *options: Any) -> Tensor:
        dtype = dtype or dtype_of_number(value)
        if (number := held(dtype, value)) is None:
            return general(size, value, dtype, *options)
        return from_array(filled(check_sizes(size), dtype.np, number), dtype)

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
                "full": full(KERNELS["full"]), "full_like": like(KERNELS["full_like"]),
                "empty_like": empty_like(KERNELS["empty_like"]), "zeros_like": like(KERNELS["zeros_like"], 0),
                "ones_like": like(KERNELS["ones_like"], 1)})
