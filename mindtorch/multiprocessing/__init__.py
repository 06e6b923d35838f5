"""``torch.multiprocessing``: Python's ``multiprocessing``, through whose queues and pipes tensors go without being
copied: the sender's storage moves to shared memory, which the receiver's tensor sees as well.
"""
from multiprocessing import *  # noqa: F403

from . import reductions as reductions
from .spawn import (
    ProcessContext, ProcessException, ProcessExitedException, ProcessRaisedException, spawn as spawn, start_processes,
)

__all__ = [
    "ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException",
    "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy", "spawn", "start_processes",
]


def get_all_sharing_strategies() -> set[str]:
    """Return the ways of sharing storages: by file descriptors only (``torch.multiprocessing``)."""
    return {"file_descriptor"}


def get_sharing_strategy() -> str:
    """Return the way of sharing storages (``torch.multiprocessing.get_sharing_strategy``)."""
    return "file_descriptor"


def set_sharing_strategy(new_strategy: str) -> None:
    """Choose the way in which storages are shared (``torch.multiprocessing.set_sharing_strategy``). Names in the file
    system, which outlive a process that is killed, are not used: ``file_system`` shares by descriptors, too.
    """
    if new_strategy not in ("file_descriptor", "file_system"):
        raise AssertionError(f"invalid sharing strategy {new_strategy!r}, expected one of "
                             f"{get_all_sharing_strategies()}")
