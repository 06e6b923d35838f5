"""Which devices have operators on lists of tensors and fused steps of optimizers (``torch.utils._foreach_utils``)."""
from __future__ import annotations

from typing import Any

from .._device import device as Device


def _get_foreach_kernels_supported_devices() -> list[str]:
    return ["npu"]


def _get_fused_kernels_supported_devices() -> list[str]:
    return ["cpu", "npu"]


def _device_has_foreach_support(device: Device) -> bool:
    return device.type in ("cpu", "npu")


def _has_foreach_support(tensors: list[Any], device: Device) -> bool:
    return _device_has_foreach_support(device)


def _group_tensors_by_device_and_dtype(
        tensorlistlist: list[list[Any]],
        with_indices: bool = False) -> dict[tuple[Device, Any], tuple[list[list[Any]], list[int]]]:
    """Split lists by the device and dtype of the first list's tensors; return their places, too."""
    groups: dict[Any, list[int]] = {}
    for i, x in enumerate(tensorlistlist[0]):
        groups.setdefault((x.device, x.dtype), []).append(i)
    return {key: ([[tensors[i] for i in chosen] if tensors else [] for tensors in tensorlistlist],
                  chosen if with_indices else []) for key, chosen in groups.items()}
