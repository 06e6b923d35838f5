"""Factories of tensors, for every device. Devices differ only in how they fill memory with a number."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._base.determinism import filled
from ..._base.errors import check
from ..._base.layout import Ints, Spec, check_sizes, contiguous_strides
from ..._device import device as Device, resolve_device
from ..._dispatch.aten import fill__Scalar as fill_
from ..._dtype import DType, complex32, complex64, dtype_of_number, float16, get_default_dtype
from ..._tensor import Tensor, empty_tensor
from .convert import strides_for, strides_in_format

Fill = Callable[[Spec, Any, Device], Tensor]


def empty_like(self: Tensor, dtype: DType | None = None, layout: Any = None, device: Device | None = None,
               pin_memory: bool | None = None, memory_format: Any = None) -> Tensor:
    """Return an uninitialised tensor like another, from and to any device (``torch.empty_like``)."""
    spec = Spec(tuple(self.shape), dtype or self._dtype, strides_for(self, memory_format))
    return filled(empty_tensor(spec, self._device if device is None else resolve_device(device)))


def filled_by_operator(spec: Spec, value: Any, device: Device) -> Tensor:
    """Return a tensor of a specification, filled with a number by ``fill_``."""
    out = empty_tensor(spec, device)
    fill_(out, value)
    return out._forget_writes()


def without_negative(size: Ints, stride: Ints) -> Ints:
    """Replace negative strides as PyTorch does: by the strides of a tensor without gaps."""
    strides = list(stride)
    for d in reversed(range(len(size))):
        if strides[d] < 0:
            strides[d] = max(size[d + 1], 1) * strides[d + 1] if d + 1 < len(size) else 1
    return tuple(strides)


def creation_kernels(kind: str, fill: Fill = filled_by_operator) -> dict[str, Callable[..., Any]]:
    """Return a device type's factory kernels; ``fill`` returns a filled tensor. The default device is its current one.
    """
    own = Device(kind)

    def empty(size: Ints, dtype: DType | None = None, layout: Any = None, device: Device | None = None,
              pin_memory: bool | None = None, memory_format: Any = None) -> Tensor:
        size = check_sizes(size)
        name = getattr(memory_format, "name", memory_format)
        stride = None if name is None else strides_in_format(size, name)
        return filled(empty_tensor(Spec(size, dtype or get_default_dtype(), stride), resolve_device(device or own)))

    def empty_strided(size: Ints, stride: Ints, dtype: DType | None = None, layout: Any = None,
                      device: Device | None = None, pin_memory: bool | None = None) -> Tensor:
        size, stride = check_sizes(size), tuple(stride)
        check(len(size) == len(stride), lambda: f"dimensionality of sizes ({len(size)}) must match dimensionality of "
                                                f"strides ({len(stride)})")
        if any(step < 0 for step in stride):
            check(kind == "meta" or 0 in size or all(s >= 0 or n == 1 for n, s in zip(size, stride, strict=True)),
                  lambda: f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
            stride = without_negative(size, stride)
        spec = Spec(size, dtype or get_default_dtype(), None if stride == contiguous_strides(size) else stride)
        return filled(empty_tensor(spec, resolve_device(device or own)))

    def full(size: Ints, fill_value: Any, dtype: DType | None = None, layout: Any = None,
             device: Device | None = None, pin_memory: bool | None = None) -> Tensor:
        dtype = dtype or dtype_of_number(fill_value)
        if dtype is complex32 and get_default_dtype() is float16:
            dtype = complex64
        return fill(Spec(check_sizes(size), dtype), fill_value, resolve_device(device or own))

    def full_like(self: Tensor, fill_value: Any, dtype: DType | None = None, layout: Any = None,
                  device: Device | None = None, pin_memory: bool | None = None, memory_format: Any = None) -> Tensor:
        spec = Spec(tuple(self.shape), dtype or self._dtype, strides_for(self, memory_format))
        where = self._device if device is None else resolve_device(device)
        return (fill if where.type == kind else filled_by_operator)(spec, fill_value, where)

    def of(value: int) -> Callable[..., Tensor]:
        def filled_with(size: Ints, dtype: DType | None = None, layout: Any = None, device: Device | None = None,
                        pin_memory: bool | None = None) -> Tensor:
            return fill(Spec(check_sizes(size), dtype or get_default_dtype()), value, resolve_device(device or own))

        return filled_with

    def like(value: int) -> Callable[..., Tensor]:
        return lambda self, *options: full_like(self, value, *options)

    return {"empty.memory_format": empty, "empty_strided": empty_strided, "empty_like": empty_like, "full": full,
            "zeros": of(0), "ones": of(1), "full_like": full_like, "zeros_like": like(0), "ones_like": like(1),
            "scalar_tensor": lambda s, dtype=None, *options: full((), s, dtype or get_default_dtype(), *options)}
