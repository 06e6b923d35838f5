"""Namespaces of devices that mindtorch lacks: they answer as a PyTorch built without these devices."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from .._base.forks import load_module
from .._device import device as torch_device, no_backend
from .._utils import _get_device_module


class StreamContext:
    """A block on a stream; nothing for None."""

    def __init__(self, stream: Any = None):
        if stream is not None:
            raise no_backend("cuda")

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: object) -> None:
        return None


def refusing(error: Callable[[str], Exception], names: Iterable[str], namespace: str) -> dict[str, Callable[..., Any]]:
    """Make functions of these names that raise ``error(name)``."""

    def make(name: str) -> Callable[..., Any]:
        def refuse(*args: Any, **kwargs: Any) -> Any:
            raise error(name)

        refuse.__name__ = refuse.__qualname__ = name
        refuse.__module__ = f"torch.{namespace}"
        refuse.__doc__ = f"Raises the error of a PyTorch without this device (``torch.{namespace}.{name}``)."
        return refuse

    return {name: make(name) for name in names}


#: What ``torch.cuda`` and ``torch.xpu`` have, and what needs a device.
NEEDS_A_DEVICE = (
    "can_device_access_peer", "change_current_allocator", "current_device", "current_stream", "default_stream",
    "get_device_capability", "get_device_name", "get_device_properties", "get_per_process_memory_fraction",
    "get_rng_state", "init", "initial_seed", "ipc_collect", "is_current_stream_capturing", "make_graphed_callables",
    "mem_get_info", "memory_snapshot", "memory_summary", "memory_usage", "power_draw", "clock_rate", "temperature",
    "reset_accumulated_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached",
    "reset_peak_memory_stats", "set_device", "set_per_process_memory_fraction", "set_rng_state",
    "set_stream", "synchronize", "utilization", "caching_allocator_alloc", "caching_allocator_delete", "cudart",
    "current_blas_handle", "get_sync_debug_mode", "set_sync_debug_mode", "graph_pool_handle", "device_of",
    "get_stream_from_external", "device_memory_used", "list_gpu_processes",
)


def namespace_of(kind: str) -> dict[str, Any]:
    """Return the names of a ``torch.cuda`` or ``torch.xpu`` without devices: seeding passes, most calls raise."""

    def is_available() -> bool:
        """Return False: there is no such device."""
        return False

    def device_count() -> int:
        """Return 0: there is no such device."""
        return 0

    def number_of_bytes(device: Any = None) -> int:
        """Return 0: no memory is in use."""
        return 0

    def memory_stats(device: Any = None) -> dict[str, Any]:
        """Return an empty dictionary: there is no allocator."""
        return {}

    def set_rng_state_all(new_states: Iterable[Any]) -> None:
        """Set the state of each device's generator: of none."""
        if [*new_states]:
            raise no_backend(kind)

    def manual_seed(seed: int) -> None:
        """Do nothing: there is no such device."""
        int(seed)

    def nothing() -> None:
        """Do nothing: there is no such device."""

    def empty_list() -> list[Any]:
        """Return an empty list: there is no such device."""
        return []

    def unsupported(including_emulation: bool = True) -> bool:
        """Return False: there is no such device."""
        return False

    class device:
        """A block in which a device is the current one; nothing for None."""

        def __init__(self, device: Any):
            self.idx = device

        def __enter__(self) -> Any:
            if self.idx is not None:
                raise no_backend(kind)
            return self

        def __exit__(self, *exc: object) -> None:
            return None

    stats = ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved", "memory_cached",
             "max_memory_cached")
    return {
        **refusing(lambda name: no_backend(kind), NEEDS_A_DEVICE, kind),
        **{name: type(name, (), {
            "__init__": refusing(lambda name: RuntimeError(f"Tried to instantiate dummy base class {name}"), [name],
                                 kind)[name],
            "__doc__": f"An object of the device, of which there is none (``torch.{kind}.{name}``).",
        }) for name in ("Event", "ExternalStream", "MemPool", "CUDAGraph", "graph")},
        "Stream": type("Stream", (), {
            "__init__": refusing(lambda name: RuntimeError(f"torch.{kind}.Stream requires {kind.upper()} support"),
                                 ["Stream"], kind)["Stream"]}),
        "StreamContext": StreamContext, "stream": StreamContext, "device": device,
        **dict.fromkeys(stats, number_of_bytes),
        **dict.fromkeys(("memory_stats", "memory_stats_as_nested_dict"), memory_stats),
        **dict.fromkeys(("manual_seed", "manual_seed_all"), manual_seed),
        **dict.fromkeys(("seed", "seed_all", "empty_cache"), nothing),
        **dict.fromkeys(("get_arch_list", "get_rng_state_all"), empty_list),
        **dict.fromkeys(("is_available", "is_initialized"), is_available),
        **dict.fromkeys(("is_bf16_supported", "is_tf32_supported"), unsupported),
        "device_count": device_count, "set_rng_state_all": set_rng_state_all, "get_gencode_flags": str,
        "default_generators": (),
    }


def get_device_module(device: Any = None) -> ModuleType:
    """Return the module of a kind of device, such as ``torch.npu`` (``torch.get_device_module``). Without a device:
    that of the accelerator, else ``torch.cpu``.

    Raises:
        RuntimeError: if there is no such module.
    """
    accelerator = load_module("mindtorch.accelerator").current_accelerator
    kind = torch_device(device).type if device is not None else getattr(accelerator(), "type", "cpu")
    return _get_device_module(kind)
