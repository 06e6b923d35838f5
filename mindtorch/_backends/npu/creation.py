"""Memory on the NPU, filled or copied."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._device import device as Device, resolve_device
from ..._dispatch.aten import fill__Scalar as fill_
from ..._dispatch.dispatcher import registry
from ..._dtype import DType, get_default_dtype
from ..._layout import Ints, Spec, check_sizes
from ..._tensor import Tensor, empty_tensor
from ..common import convert
from ..common.creation import creation_kernels
from .memory import read_in_stream


def full(size: Ints, fill_value: Any, dtype: DType | None = None, device: Device | None = None) -> Tensor:
    """``torch.full``."""
    return filled(Spec(check_sizes(size), dtype or get_default_dtype()), fill_value, resolve_device(device))


def filled(spec: Spec, value: Any, device: Device) -> Tensor:
    """A tensor of a specification, filled with a number."""
    out = empty_tensor(spec, device)
    fill_(out, value)
    out._version_counter = None  # the write that filled it does not count
    return out


def zeros_like(self: Tensor) -> Tensor:
    """``torch.zeros_like``."""
    return filled(registry["zeros_like"].meta(self), 0, self._device)


def ones_like(self: Tensor) -> Tensor:
    """``torch.ones_like``."""
    return filled(registry["ones_like"].meta(self), 1, self._device)


def _to_copy(self: Tensor, dtype: DType | None = None, device: Device | None = None, non_blocking: bool = False,
             memory_format: Any = None) -> Tensor:
    """``Tensor.to``; to the host without waiting, into page-locked memory, if ``non_blocking``."""
    if device is None or device.type != "cpu" or not non_blocking:
        return convert._to_copy(self, dtype, device, non_blocking, memory_format)
    return read_in_stream(self if dtype in (None, self._dtype) else convert._to_copy(self, dtype))


KERNELS: dict[str, Callable[..., Any]] = {**creation_kernels("npu"), "full": full, "zeros_like": zeros_like,
                                          "ones_like": ones_like, "_to_copy": _to_copy}
