"""``torch.mps``, as in a PyTorch without Apple's GPUs."""
from __future__ import annotations

from ._methods.elsewhere import refusing


def is_available() -> bool:
    """Return False: there is no such device (``torch.mps.is_available``)."""
    return False


def device_count() -> int:
    """Return 0: there is no such device (``torch.mps.device_count``)."""
    return 0


def manual_seed(seed: int) -> None:
    """Do nothing: there is no such device (``torch.mps.manual_seed``)."""
    int(seed)


_needing = {
    "Event": "acquireEvent", "compile_shader": "compileShader", "current_allocated_memory": "getCurrentAllocatedMemory",
    "driver_allocated_memory": "getDriverAllocatedMemory", "empty_cache": "emptyCache",
    "get_rng_state": "getDefaultGenerator", "recommended_max_memory": "getRecommendedMaxMemory",
    "seed": "getDefaultGenerator", "set_per_process_memory_fraction": "setMemoryFraction",
    "set_rng_state": "getDefaultGenerator", "synchronize": "deviceSynchronize",
}
globals().update(refusing(
    lambda name: RuntimeError(f"Cannot execute {_needing[name]}() without MPS backend."), _needing, "mps"))
__all__ = sorted([*_needing, "device_count", "is_available", "manual_seed"])
__dir__ = __all__.copy
