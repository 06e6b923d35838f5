"""Memory on the NPU, filled with a number or copied."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._device import device as Device
from ..._dtype import DType
from ..._tensor import Tensor
from ..common import convert
from ..common.creation import creation_kernels
from .memory import read_in_stream


def _to_copy(self: Tensor, dtype: DType | None = None, device: Device | None = None, non_blocking: bool = False,
             memory_format: Any = None) -> Tensor:
    """``Tensor.to``; to the host without waiting, into page-locked memory, if ``non_blocking``."""
    if device is None or device.type != "cpu" or not non_blocking:
        return convert._to_copy(self, dtype, device, non_blocking, memory_format)
    return read_in_stream(self if dtype in (None, self._dtype) else convert._to_copy(self, dtype))


KERNELS: dict[str, Callable[..., Any]] = {**creation_kernels("npu"), "_to_copy": _to_copy}
