"""Memory on the NPU, filled with a number or copied."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._base.layout import Spec
from ..._device import device as Device
from ..._dtype import DType, bool_, dtypes
from ..._tensor import Tensor, empty_tensor
from ..common import convert
from ..common.creation import creation_kernels, filled_by_operator
from .aclnn import launched
from .bindings import binding
from .memory import read_in_stream
from .runtime import current_queue


def _to_copy(self: Tensor, dtype: DType | None = None, device: Device | None = None, non_blocking: bool = False,
             memory_format: Any = None) -> Tensor:
    """``Tensor.to``; to the host without waiting, into page-locked memory, if ``non_blocking``."""
    if (dtype is not None and dtype is not self._dtype and (device is None or device == self._device) and self.numel()
            and {dtype, self._dtype} <= CAST and (dtype.is_complex or not self._dtype.is_complex)):
        out = empty_tensor(Spec(tuple(self.shape), dtype, convert.strides_for(self, memory_format)), self._device)
        if launched([("aclnnCast", (self, dtype, out))], current_queue(self._device.index or 0), "_to_copy"):
            return out
    if device is None or device.type != "cpu" or not non_blocking:
        return convert._to_copy(self, dtype, device, non_blocking, memory_format)
    return read_in_stream(self if dtype in (None, self._dtype) else convert._to_copy(self, dtype))


def filled(spec: Spec, value: Any, device: Device) -> Tensor:
    """Return a tensor filled with a number; ones have an operator of their own."""
    if value.__class__ is not int or value != 1 or spec.dtype not in ONES:
        return filled_by_operator(spec, value, device)
    out = empty_tensor(spec, device)
    if out.numel() and not launched([("aclnnInplaceOne", (out,))], current_queue(device.index or 0), "ones"):
        return filled_by_operator(spec, value, device)
    return out


def equal(self: Tensor, other: Tensor) -> bool:
    """``torch.equal``: whether shapes and all elements are equal, as a bool."""
    if self.shape == other.shape and self.numel() and self._dtype is other._dtype and self._dtype in EQUAL:
        result = empty_tensor(Spec((1,), bool_), self._device)
        if launched([("aclnnEqual", (self, other, result))], current_queue(self._device.index or 0), "equal"):
            return bool(result.item())
    return self.shape == other.shape and bool((self == other).all())


#: The dtypes that these operators take.
ONES, EQUAL, CAST = (dtypes(binding(name).takes) for name in ("aclnnInplaceOne", "aclnnEqual", "aclnnCast"))
KERNELS: dict[str, Callable[..., Any]] = {**creation_kernels("npu", filled), "_to_copy": _to_copy, "equal": equal}
