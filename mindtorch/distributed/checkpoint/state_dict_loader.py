"""``torch.distributed.checkpoint.state_dict_loader``: ``load``."""
from __future__ import annotations

import os
import warnings
from typing import Any

from ..._autograd.grad_mode import no_grad
from .._collectives.groups import ProcessGroup
from ._together import Together
from .default_planner import DefaultLoadPlanner
from .filesystem import FileSystemReader
from .planner import LoadPlanner
from .state_dict_saver import stateless
from .stateful import Stateful
from .storage import StorageReader

__all__ = ["load", "load_state_dict"]


@no_grad()
def load(state_dict: dict[str, Any], *, checkpoint_id: str | os.PathLike[str] | None = None,
         storage_reader: StorageReader | None = None, planner: LoadPlanner | None = None,
         process_group: ProcessGroup | None = None, no_dist: bool = False) -> None:
    """Read a checkpoint into a ``state_dict``, in place, each process its parts
    (``torch.distributed.checkpoint.load``). Any number of processes may have written it.

    Args:
        state_dict: as for ``save``: tensors are copied to, other objects replaced; objects with ``load_state_dict`` are
            given what was read.
        checkpoint_id: the folder.
        storage_reader, planner: what reads, and what decides who reads what.
        process_group: the processes that make this call; all unless given.
        no_dist: this process alone.

    Raises:
        CheckpointException: in all processes, if one fails, as where the checkpoint lacks a key.
    """
    if storage_reader is None:
        if not checkpoint_id:
            raise RuntimeError("`checkpoint_id` must be specified if storage_reader and storage_writer is None.")
        reader: StorageReader = FileSystemReader(checkpoint_id)
    else:
        reader = storage_reader
        reader.reset(checkpoint_id)
    plain = stateless(state_dict)
    _load(plain, reader, planner or DefaultLoadPlanner(), Together(process_group, 0, no_dist))
    for name, value in state_dict.items():
        if isinstance(value, Stateful):
            value.load_state_dict(plain[name])
        else:
            state_dict[name] = plain[name]


def load_state_dict(state_dict: dict[str, Any], storage_reader: StorageReader,
                    process_group: ProcessGroup | None = None, coordinator_rank: int = 0, no_dist: bool = False,
                    planner: LoadPlanner | None = None) -> None:
    """Read a checkpoint: the old name of ``load`` (``torch.distributed.checkpoint.load_state_dict``)."""
    warnings.warn("`load_state_dict` is deprecated and will be removed in future versions. Please use `load` instead.",
                  FutureWarning, stacklevel=2)
    storage_reader.reset()
    with no_grad():
        _load(state_dict, storage_reader, planner or DefaultLoadPlanner(),
              Together(process_group, coordinator_rank, no_dist))


def _load(plain: dict[str, Any], reader: StorageReader, planner: LoadPlanner, together: Together) -> None:
    def local() -> Any:
        metadata = reader.read_metadata()
        planner.set_up_planner(plain, metadata, together.is_coordinator)
        reader.set_up_storage_reader(metadata, together.is_coordinator)
        return reader.prepare_local_plan(planner.create_local_plan())

    plan = together.plan("plan", local, lambda plans: reader.prepare_global_plan(planner.create_global_plan(plans)))

    def read() -> None:
        future = reader.read_data(planner.finish_plan(plan), planner)
        future.result() if hasattr(future, "result") else future.wait()

    together.finish("read", read, lambda results: None)
