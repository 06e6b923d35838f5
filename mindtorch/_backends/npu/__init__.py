"""The Ascend NPU backend: CANN through pyACL and the ACLNN operators, or a simulator behind the same interface.

``api`` lists its public names, which are this package's, too. Importing it loads nothing of CANN, nor the modules
here: that is done by the first tensor on an NPU, or the first look at a name.
"""
from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._base.about import note
from ..._base.backend import MATH, OVERRIDEABLE, Backend, DeviceMemory, register
from ..._base.forks import load_module
from ..._dispatch.keys import NPU

if TYPE_CHECKING:
    from ..._device import device as Device
    from ..._dispatch.registry import Kernel, Operator
    from ..._tensor import Tensor
    from .api import *  # noqa: F403


class NPUBackend(Backend):
    """Ascend NPUs: memory of their own, several devices, streams."""

    name, key = "npu", NPU

    def kernel(self, op: Operator) -> Kernel | None:
        return _part("kernels").kernel_of(op)

    def fallback(self, op: Operator) -> Kernel | None:
        return _part("kernels").fallback_kernel(op)

    def allocate(self, nbytes: int, where: Device) -> DeviceMemory:
        return _part("memory").Memory(nbytes, where)

    def read(self, tensor: Tensor, operation: str) -> np.ndarray:
        try:
            return _part("memory").read(tensor)
        except Exception as error:
            note(error, operation, (tensor,))
            raise

    def write(self, target: Tensor, source: Tensor, non_blocking: bool) -> None:
        _part("memory").write(target, source, non_blocking)

    def pin_memory(self, tensor: Tensor) -> Tensor:
        return _part("memory").pin_memory(tensor)

    def current_index(self) -> int:
        return _part("runtime").thread.device

    def selected(self, where: Device) -> AbstractContextManager[Any]:
        return _part("devices").device(where)

    def accelerates(self) -> bool:
        provider = _part("provider")
        asked = provider.mode()
        found = asked == "sim" or (asked != "off" and provider.is_installed())
        return found and _part("devices").is_available()

    def attention_kernel(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> int:
        row = _part("ops").ACLNN_CALLS["_scaled_dot_product_fused_attention_overrideable"]
        return OVERRIDEABLE if row.when(query, key, value, mask) else MATH

    def stream_type(self) -> type[Any]:
        return _part("streams").Stream

    def event_type(self) -> type[Any]:
        return _part("streams").Event

    def stream_name(self) -> str:
        runtime = _part("runtime")
        queue = runtime.current_queue(runtime.thread.device)
        return f"{queue.runtime.name} stream {queue.number}"


_parts: dict[str, Any] = {}


def _part(module: str) -> Any:
    """Return a module of the backend, imported on first use."""
    found = _parts.get(module)
    if found is None:
        found = _parts[module] = load_module(f"{__name__}.{module}")
    return found


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name == "simulator":
            return _part(name)
        # The import system asks for a module's name here before it looks for its file.
        if not name.startswith("__") and not Path(__file__).with_name(f"{name}.py").exists():
            api = _part("api")
            if name in vars(api):
                return getattr(api, name)
        raise AttributeError(f"module 'torch.npu' has no attribute '{name}'")


register(NPUBackend())
