"""``torch.distributed.checkpoint.state_dict_saver``: ``save`` and ``async_save``."""
from __future__ import annotations

import os
import warnings
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

from ..._autograd.grad_mode import no_grad
from ..._tensor import Tensor
from ...utils._pytree import tree_map
from .._collectives.groups import ProcessGroup, calling_line, is_initialized, new_group, resolve, started_at
from ..tensor._api import DTensor
from ._together import Together
from .default_planner import DefaultSavePlanner
from .filesystem import FileSystemWriter
from .metadata import Metadata
from .planner import SavePlanner
from .stateful import Stateful
from .storage import StorageWriter

__all__ = ["async_save", "save", "save_state_dict"]
_side: dict[ProcessGroup, ProcessGroup] = {}  # groups of the same processes, for saves beside the training


def stateless(state_dict: dict[str, Any]) -> dict[str, Any]:
    """Return a ``state_dict`` with the states of objects that have some."""
    return {name: value.state_dict() if isinstance(value, Stateful) else value for name, value in state_dict.items()}


def writer_of(checkpoint_id: Any, storage_writer: StorageWriter | None) -> StorageWriter:
    if storage_writer is None:
        if not checkpoint_id:
            raise RuntimeError("`checkpoint_id` must be specified if storage_reader and storage_writer is None.")
        return FileSystemWriter(checkpoint_id)
    storage_writer.reset(checkpoint_id)
    return storage_writer


@no_grad()
def save(state_dict: dict[str, Any], *, checkpoint_id: str | os.PathLike[str] | None = None,
         storage_writer: StorageWriter | None = None, planner: SavePlanner | None = None,
         process_group: ProcessGroup | None = None, no_dist: bool = False, use_collectives: bool = True) -> Metadata:
    """Write a checkpoint, each process its parts (``torch.distributed.checkpoint.save``).

    Args:
        state_dict: tensors, DTensors, other objects, dictionaries and lists of them, and objects with ``state_dict``.
        checkpoint_id: the folder.
        storage_writer, planner: what writes, and what decides who writes what.
        process_group: the processes that make this call; all unless given.
        no_dist: this process alone.

    Returns:
        The metadata.

    Raises:
        CheckpointException: in all processes, if one fails.
    """
    return _save(stateless(state_dict), writer_of(checkpoint_id, storage_writer), planner or DefaultSavePlanner(),
                 Together(process_group, 0, no_dist))


def save_state_dict(state_dict: dict[str, Any], storage_writer: StorageWriter,
                    process_group: ProcessGroup | None = None, coordinator_rank: int = 0, no_dist: bool = False,
                    planner: SavePlanner | None = None) -> Metadata:
    """Write a checkpoint: the old name of ``save`` (``torch.distributed.checkpoint.save_state_dict``)."""
    warnings.warn("`save_state_dict` is deprecated and will be removed in future versions. Please use `save` instead.",
                  FutureWarning, stacklevel=2)
    storage_writer.reset()
    with no_grad():
        return _save(state_dict, storage_writer, planner or DefaultSavePlanner(),
                     Together(process_group, coordinator_rank, no_dist))


def _save(state_dict: dict[str, Any], writer: StorageWriter, planner: SavePlanner, together: Together) -> Metadata:
    kept: list[Metadata] = []

    def local() -> Any:
        planner.set_up_planner(state_dict, writer.storage_meta(), together.is_coordinator)
        writer.set_up_storage_writer(together.is_coordinator)
        return writer.prepare_local_plan(planner.create_local_plan())

    def everywhere(plans: list[Any]) -> list[Any]:
        found, metadata = planner.create_global_plan(plans)
        kept.append(metadata)
        return writer.prepare_global_plan(found)

    plan = together.plan("plan", local, everywhere)

    def write() -> Any:
        future = writer.write_data(planner.finish_plan(plan), planner)
        return future.result() if hasattr(future, "result") else future.wait()

    def finish(results: list[Any]) -> Metadata:
        writer.finish(kept[0], results)
        return kept[0]

    return together.finish("write", write, finish)


@no_grad()
def async_save(state_dict: dict[str, Any], *, checkpoint_id: str | os.PathLike[str] | None = None,
               storage_writer: StorageWriter | None = None, planner: SavePlanner | None = None,
               process_group: ProcessGroup | None = None, async_checkpointer_type: Any = None,
               async_stager: Any = None, no_dist: bool = False, use_collectives: bool = True) -> Future[Metadata]:
    """Copy a ``state_dict``, and write the copy as ``save`` does while the program goes on
    (``torch.distributed.checkpoint.async_save``).

    Returns:
        A future, whose ``result()`` is the metadata.
    """
    copy = tree_map(_copied, stateless(state_dict))
    group = None
    if is_initialized() and not no_dist:
        group = resolve(process_group)
        if group not in _side:
            _side[group] = new_group(group.ranks) if process_group is None else group
        group = _side[group]
    together = Together(group, 0, no_dist)
    writer = writer_of(checkpoint_id, storage_writer)
    pool = ThreadPoolExecutor(1, thread_name_prefix="mindtorch checkpoint")
    context = copy_context()
    context.run(started_at.set, calling_line())
    future = pool.submit(context.run, no_grad()(_save), copy, writer, planner or DefaultSavePlanner(), together)
    pool.shutdown(wait=False)
    return future


def _copied(value: Any) -> Any:
    if isinstance(value, DTensor):
        return DTensor(value._local_tensor.detach().clone(), value._spec)
    return value.detach().clone() if isinstance(value, Tensor) else value
