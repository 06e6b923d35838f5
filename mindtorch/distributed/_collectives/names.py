"""Names of ``torch.distributed`` beside groups and collectives: backends, levels of checks, older and newer forms."""
from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import timedelta
from enum import Enum
from typing import Any, NewType

from ..._base.interrupts import contextmanager
from ..._tensor import Tensor
from .engine import Work, purpose
from .groups import DEVICES, ProcessGroup, get_world_size, new_subgroups_by_enumeration, resolve
from .operations import all_gather, all_gather_into_tensor, all_reduce, reduce_scatter_tensor
from .reduce_op import ReduceOp

GroupName = NewType("GroupName", str)
all_gather_single, reduce_scatter_single = all_gather_into_tensor, reduce_scatter_tensor  # the newer names


class Backend(str):
    """The name of a backend, in small letters (``torch.distributed.Backend``). ``init_process_group`` knows gloo, mpi
    and hccl.
    """

    UNDEFINED, GLOO, NCCL, UCC, MPI, XCCL, HCCL, FAKE = (
        "undefined", "gloo", "nccl", "ucc", "mpi", "xccl", "hccl", "fake")

    def __new__(cls, name: str) -> str:  # type: ignore[misc]
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return name.lower()

    @classmethod
    def register_backend(cls, name: str, func: Any, extended_api: bool = False, devices: Any = None) -> None:
        """Raise NotImplementedError: all groups are MPI's."""
        raise NotImplementedError(f"Backend.register_backend({name!r}): all groups communicate by way of MPI; give the "
                                  "backend 'gloo', 'mpi' or 'hccl'")


class DebugLevel(Enum):
    """What ``TORCH_DISTRIBUTED_DEBUG`` asks for (``torch.distributed.DebugLevel``). Calls of ranks are compared at
    every level.
    """

    OFF = 0
    INFO = 1
    DETAIL = 2


def _level() -> DebugLevel:
    name = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if name not in DebugLevel.__members__:
        raise RuntimeError("The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL.")
    return DebugLevel[name]


_set_level: list[DebugLevel] = []


def get_debug_level() -> DebugLevel:
    """Return the level: what was set, else the environment's (``torch.distributed.get_debug_level``)."""
    return _set_level[0] if _set_level else _level()


def set_debug_level(level: DebugLevel) -> None:
    """Set the level (``torch.distributed.set_debug_level``)."""
    _set_level[:] = [level]


def set_debug_level_from_env() -> None:
    """Set the level that the environment has now (``torch.distributed.set_debug_level_from_env``)."""
    set_debug_level(_level())


def get_default_backend_for_device(device: Any) -> str:
    """Return the backend of a kind of device (``torch.distributed.get_default_backend_for_device``).

    Raises:
        ValueError: if there is none.
    """
    kind = device.partition(":")[0] if isinstance(device, str) else device.type
    found = {"cpu": "gloo", "npu": "hccl"}.get(kind)
    if found is None:
        raise ValueError(f"Default backend not registered for device : {device}")
    return found


def get_backend_config(group: ProcessGroup | None = None) -> str:
    """Return a group's devices and their backends (``torch.distributed.get_backend_config``)."""
    backend = resolve(group).backend
    return backend if ":" in backend else f"{DEVICES[backend]}:{backend}"


def supports_complex(reduceOp: ReduceOp) -> bool:
    """Return whether complex tensors can be reduced so (``torch.distributed.supports_complex``)."""
    return reduceOp in (ReduceOp.SUM, ReduceOp.AVG)


@contextmanager
def record_comm(name: str) -> Iterator[None]:
    """Give the collectives of a block a name in profiles and timelines (``torch.distributed.record_comm``)."""
    before = purpose.set(name)
    try:
        yield
    finally:
        purpose.reset(before)


def all_reduce_coalesced(tensors: Sequence[Tensor], op: ReduceOp = ReduceOp.SUM, group: Any = None,
                         async_op: bool = False) -> Work | None:
    """Reduce several tensors in place (``torch.distributed.all_reduce_coalesced``, deprecated there).

    Returns:
        With ``async_op`` the work of the last one: a group's collectives end in order.
    """
    works = [all_reduce(tensor, op, group, async_op) for tensor in tensors]
    return works[-1] if works else None


def all_gather_coalesced(output_tensor_lists: Sequence[Sequence[Tensor]], input_tensor_list: Sequence[Tensor],
                         group: Any = None, async_op: bool = False) -> Work | None:
    """Gather several tensors of each rank: ``output_tensor_lists`` has a list for each rank
    (``torch.distributed.all_gather_coalesced``, deprecated there).

    Returns:
        With ``async_op`` the work of the last one: a group's collectives end in order.
    """
    works = [all_gather([row[place] for row in output_tensor_lists], tensor, group, async_op)
             for place, tensor in enumerate(input_tensor_list)]
    return works[-1] if works else None


def split_group(parent_pg: ProcessGroup | None = None, split_ranks: Sequence[Sequence[int]] | None = None,
                timeout: timedelta | None = None, pg_options: Any = None, group_desc: str | None = None,
                backend: str | None = None) -> ProcessGroup | None:
    """Divide a group into groups (``torch.distributed.split_group``); all processes of the world make this call.

    Args:
        parent_pg: the group; the world unless given.
        split_ranks: the ranks in it of each new group; no rank is in two.
        timeout, backend: the world's, unless given.

    Returns:
        The new group of this process; None if it is in none.

    Raises:
        ValueError: if there are no ranks, or one comes twice or does not exist.
        NotImplementedError: if the group is not the whole world.
    """
    if not split_ranks or any(not ranks for ranks in split_ranks):
        raise ValueError("split_ranks cannot be None or empty")
    if get_world_size(parent_pg) != get_world_size():
        raise NotImplementedError("split_group of a part of the world: all processes make groups together; call "
                                  "new_group in all of them")
    ranks = resolve(parent_pg).ranks
    return new_subgroups_by_enumeration([[ranks[rank] for rank in part] for part in split_ranks], timeout, backend,
                                        pg_options, group_desc)[0]
