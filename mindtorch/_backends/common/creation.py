"""Uninitialised memory, from which every tensor is made: the same on every kind of device."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._determinism import filled
from ..._device import device as Device, resolve_device
from ..._dtype import DType, get_default_dtype
from ..._layout import Ints, Spec, check_sizes, contiguous_strides
from ..._tensor import Tensor, empty_tensor


def creation_kernels(kind: str) -> dict[str, Callable[..., Any]]:
    """``torch.empty`` and ``torch.empty_strided`` on devices of a kind, the current one unless given."""
    own = Device(kind)

    def empty(size: Ints, dtype: DType | None = None, device: Device | None = None) -> Tensor:
        return filled(empty_tensor(Spec(check_sizes(size), dtype or get_default_dtype()),
                                   resolve_device(device or own)))

    def empty_strided(size: Ints, stride: Ints, dtype: DType | None = None, layout: Any = None,
                      device: Device | None = None) -> Tensor:
        size = check_sizes(size)
        spec = Spec(size, dtype or get_default_dtype(), None if stride == contiguous_strides(size) else stride)
        return filled(empty_tensor(spec, resolve_device(device or own)))

    return {"empty": empty, "empty_strided": empty_strided}
