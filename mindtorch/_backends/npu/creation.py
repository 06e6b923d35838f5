"""Memory on the NPU: the kernels from which every tensor is made."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._device import device as Device
from ..._device import resolve_device
from ..._dispatch.dispatcher import registry
from ..._dtype import DType, get_default_dtype
from ..._tensor import Tensor, empty_tensor
from ..common.layout import Ints, Spec, check_sizes, contiguous_strides


def empty(size: Ints, dtype: DType | None = None, device: Device | None = None) -> Tensor:
    """``torch.empty``."""
    return empty_tensor(Spec(check_sizes(size), dtype or get_default_dtype()), resolve_device(device))


def empty_strided(size: Ints, stride: Ints, dtype: DType | None = None, layout: Any = None,
                  device: Device | None = None) -> Tensor:
    """``torch.empty_strided``."""
    size = check_sizes(size)
    spec = Spec(size, dtype or get_default_dtype(), None if stride == contiguous_strides(size) else stride)
    return empty_tensor(spec, resolve_device(device))


def full(size: Ints, fill_value: Any, dtype: DType | None = None, device: Device | None = None) -> Tensor:
    """``torch.full``."""
    out = empty(size, dtype, device)
    registry["fill_.Scalar"].call(out, fill_value)
    out._cell = None  # the write that filled it does not count
    return out


KERNELS: dict[str, Callable[..., Any]] = {"empty": empty, "empty_strided": empty_strided, "full": full}
