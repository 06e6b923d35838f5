"""``torch.distributed.checkpoint.format_utils``: checkpoints of many files as one file of ``torch.save``, and back."""
from __future__ import annotations

import os
from typing import Any

from ..._creation import empty
from ...serialization import load, save
from ._traverse import set_element
from .default_planner import DefaultLoadPlanner
from .filesystem import FileSystemReader
from .metadata import Metadata, TensorStorageMetadata
from .state_dict_loader import load as load_checkpoint
from .state_dict_saver import save as save_checkpoint

__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]


class _WholePlanner(DefaultLoadPlanner):
    """Reads everything that a checkpoint has, into an empty ``state_dict``."""

    def set_up_planner(self, state_dict: dict[str, Any], metadata: Metadata | None = None,
                       is_coordinator: bool = False) -> None:
        assert metadata is not None
        for name, stored in metadata.state_dict_metadata.items():
            path = (metadata.planner_data or {}).get(name, (name,))
            value = (empty(stored.size, dtype=stored.properties.dtype) if isinstance(stored, TensorStorageMetadata)
                     else None)
            set_element(state_dict, path, value)
        super().set_up_planner(state_dict, metadata, is_coordinator)


def dcp_to_torch_save(dcp_checkpoint_dir: str | os.PathLike[str], torch_save_path: str | os.PathLike[str]) -> None:
    """Write a checkpoint's whole state into one file, in this process alone
    (``torch.distributed.checkpoint.format_utils.dcp_to_torch_save``).
    """
    planner = _WholePlanner()
    load_checkpoint({}, storage_reader=FileSystemReader(dcp_checkpoint_dir), planner=planner, no_dist=True)
    save(planner.original_state_dict, torch_save_path)


def torch_save_to_dcp(torch_save_path: str | os.PathLike[str], dcp_checkpoint_dir: str | os.PathLike[str]) -> None:
    """Write the state in a file of ``torch.save`` as a checkpoint, in this process alone
    (``torch.distributed.checkpoint.format_utils.torch_save_to_dcp``).
    """
    save_checkpoint(load(torch_save_path, weights_only=False), checkpoint_id=dcp_checkpoint_dir, no_dist=True)
