"""Calls with tensors on several devices: 0-d CPU tensors may join any device, other mixtures are errors."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._base.about import about
from ..._dispatch.dispatcher import TENSOR_TYPES, has_derivative, keys_of, registry, resolve, tensors_of
from ..._dispatch.keys import BACKENDS, CPU
from ..._dispatch.registry import Operator
from .pointwise import Pointwise

#: Operators that run on their first argument's device, wherever the others are.
FIRST_DECIDES = {"copy_", "_to_copy", "to.device", "index.Tensor", "index_put", "index_put_", "_fused_adam_",
                 "_fused_adamw_", "_fused_adagrad_"}


def _devices(args: tuple[Any, ...]) -> list[Any]:
    return list(dict.fromkeys(t._device for t in tensors_of(args) if t.ndim or t._device.type != "cpu"))


def mixed(op: Operator, args: tuple[Any, ...]) -> RuntimeError:
    """Return PyTorch's error for tensors that should be on one device."""
    names = [str(device) for device in dict.fromkeys(t._device for t in tensors_of(args))]
    return about(RuntimeError("Expected all tensors to be on the same device, but found at least two devices, "
                              f"{names[0]} and {names[1]}! (when calling aten::{op.name})"), "mixed devices")


def check_indices(self: Any, indices: Any) -> None:
    """Raise PyTorch's RuntimeError for indices that are neither on the CPU nor with the tensor."""
    for index in indices:
        if index is not None and index._device.type != "cpu" and index._device != self._device:
            raise about(RuntimeError("indices should be either on cpu or on the same device as the indexed tensor "
                                     f"({self.device})"), "mixed devices")


def on_several_devices(op: Operator, keys: int) -> Callable[..., Any]:
    """Return the function for a key set with several backends."""
    functional = op.functional or op
    kernel = op.kernel(BACKENDS & -BACKENDS)
    if kernel is not None and kernel.composite and not has_derivative(op):
        return kernel.fn  # the operators it calls check the devices, or it only needs sizes

    def call(*args: Any) -> Any:
        devices = _devices(args)
        if op.name in FIRST_DECIDES:
            if op.packet.startswith("index"):
                check_indices(args[0], args[1])
            if op.packet.startswith("index_put") and args[2]._device != args[0]._device:
                if args[2].ndim:
                    raise mixed(op, (args[0], args[2]))
                args = (*args[:2], args[2].to(args[0]._device), *args[3:])
            target = keys_of(args[:1]) & BACKENDS
            return (op.table.get(found := keys & ~BACKENDS | target) or resolve(op, found))(*args)
        if len(devices) == 1 and isinstance(registry.meta_rows.get(functional.name), Pointwise):
            found = keys & ~CPU
            moved = [arg.to(devices[0]) if arg.__class__ in TENSOR_TYPES and arg._device != devices[0] else arg
                     for arg in args]
            return (op.table.get(found) or resolve(op, found))(*moved)
        raise mixed(op, args)

    return call
