"""Calls whose tensors live on several devices: 0-d CPU tensors go along with any, everything else is an error."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._base.about import about
from ..._dispatch.dispatcher import TENSOR_TYPES, has_derivative, keys_of, registry, resolve, tensors_of
from ..._dispatch.keys import BACKENDS, CPU
from ..._dispatch.registry import Operator
from .pointwise import Pointwise

#: Run where their first argument is, wherever the others are.
FIRST_DECIDES = {"copy_", "_to_copy", "to.device", "index.Tensor", "index_put", "index_put_", "_fused_adam_",
                 "_fused_adamw_", "_fused_adagrad_"}


def _devices(args: tuple[Any, ...]) -> list[Any]:
    return list(dict.fromkeys(t._device for t in tensors_of(args) if t.ndim or t._device.type != "cpu"))


def on_several_devices(op: Operator, keys: int) -> Callable[..., Any]:
    """The function for a key set with several backends."""
    functional = op.functional or op
    kernel = op.kernel(BACKENDS & -BACKENDS)
    if kernel is not None and kernel.composite and not has_derivative(op):
        return kernel.fn  # what it calls looks at the devices, or is only interested in sizes

    def call(*args: Any) -> Any:
        devices = _devices(args)
        if op.name in FIRST_DECIDES:
            target = keys_of(args[:1]) & BACKENDS
            return (op.table.get(found := keys & ~BACKENDS | target) or resolve(op, found))(*args)
        if len(devices) == 1 and isinstance(registry.meta_rows.get(functional.name), Pointwise):
            found = keys & ~CPU
            moved = [arg.to(devices[0]) if arg.__class__ in TENSOR_TYPES and arg._device != devices[0] else arg
                     for arg in args]
            return (op.table.get(found) or resolve(op, found))(*moved)
        names = [str(device) for device in dict.fromkeys(t._device for t in tensors_of(args))]
        raise about(RuntimeError("Expected all tensors to be on the same device, but found at least two devices, "
                                 f"{names[0]} and {names[1]}! (when calling aten::{op.name})"), "mixed devices")

    return call
