"""``torch.distributed``, as in a PyTorch that was built without it: one process, and no groups."""
from __future__ import annotations

from ._elsewhere import refusing


def is_available() -> bool:
    """Whether processes can form groups: no (``torch.distributed.is_available``)."""
    return False


def is_initialized() -> bool:
    """Whether there is a group of processes: no (``torch.distributed.is_initialized``)."""
    return False


_refused = (
    "all_gather", "all_gather_into_tensor", "all_gather_object", "all_reduce", "all_to_all", "all_to_all_single",
    "barrier", "broadcast", "broadcast_object_list", "destroy_process_group", "gather", "get_backend", "get_rank",
    "get_world_size", "init_process_group", "irecv", "isend", "new_group", "recv", "reduce", "reduce_scatter",
    "reduce_scatter_tensor", "scatter", "send",
)
globals().update(refusing(
    lambda name: RuntimeError(f"torch.distributed.{name}: the distributed package is not available; programs run in "
                              "one process"), _refused, "distributed"))
__all__ = sorted([*_refused, "is_available", "is_initialized"])
__dir__ = __all__.copy
