"""``torch.distributed.checkpoint.filesystem``: a folder with a file for each process, and ``.metadata``.

A save writes files of new names, then ``.metadata`` under another name, which is renamed at last, and only then removes
the files of the checkpoint before: whoever is killed on the way leaves the last whole one.
"""
from __future__ import annotations

import dataclasses
import io
import os
import pickle
import uuid
from collections import defaultdict
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...serialization import load, save
from ...serialization.names import find
from ...serialization.saving import _pickler
from .default_planner import box_of
from .metadata import Metadata, MetadataIndex, StorageMeta
from .planner import LoadItemType, LoadPlan, LoadPlanner, SavePlan, SavePlanner
from .storage import StorageReader, StorageWriter, WriteResult

__all__ = ["FileSystemReader", "FileSystemWriter"]
METADATA = ".metadata"
VERSION = "1.0.0"
#: What ``.metadata`` may refer to, beside the classes of this package: nothing that runs.
HARMLESS = {("torch", "Size"), ("torch.serialization", "_get_layout"), ("collections", "OrderedDict"),
            ("pathlib", "PosixPath"), ("pathlib", "PurePosixPath"), ("pathlib", "WindowsPath")}


@dataclass
class _StorageInfo:
    """Where an item's bytes are."""

    relative_path: str
    offset: int
    length: int
    transform_descriptors: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if value is not None}


@dataclass
class _StoragePrefix:
    """How the names of a process's files begin, and the number of the first."""

    prefix: str
    first: int = 0


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if module.startswith("torch.distributed.checkpoint.") or (module, name) in HARMLESS:
            return find(module, name) if module.startswith("torch") else super().find_class(module, name)
        found = find(module, name) if module == "torch" else None
        if type(found).__name__ not in ("DType", "layout", "memory_format", "dtype"):
            raise pickle.UnpicklingError(f"{METADATA} refers to {module}.{name}, which no checkpoint needs")
        return found


class FileSystemWriter(StorageWriter):
    """Writes to a folder (``torch.distributed.checkpoint.FileSystemWriter``).

    Args:
        path: the folder, which is made if it is not there.
        sync_files: wait until the disk has the files.
        overwrite: replace a checkpoint that is there, which is else an error.
    """

    def __init__(self, path: str | os.PathLike[str], single_file_per_rank: bool = True, sync_files: bool = True,
                 thread_count: int = 1, per_thread_copy_ahead: int = 10_000_000, cache_staged_state_dict: bool = False,
                 overwrite: bool = True, _extensions: Any = None, serialization_format: Any = None):
        self.path, self.sync_files, self.overwrite = Path(path), sync_files, overwrite
        self.save_id = uuid.uuid4().hex

    @property
    def checkpoint_id(self) -> str | os.PathLike[str]:
        """The folder."""
        return self.path

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """Begin a checkpoint, in another folder if one is given."""
        if checkpoint_id:
            self.path = Path(checkpoint_id)
        self.save_id = uuid.uuid4().hex

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Do nothing: all processes write to the folder."""

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        """Make the folder.

        Raises:
            RuntimeError: if it has a checkpoint, and is not to be overwritten.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        if (self.path / METADATA).exists() and not self.overwrite:
            raise RuntimeError(f"Checkpoint already exists at {self.path} and overwrite is False")
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """Choose names that no file has."""
        numbers = [int(file.stem.rpartition("_")[2]) for file in self.path.glob("__*_*.distcp")]
        return [dataclasses.replace(plan, storage_data=_StoragePrefix(f"__{rank}_", max(numbers, default=-1) + 1))
                for rank, plan in enumerate(plans)]

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        """Write the items to one file; return a future of the results."""
        name, results = f"{plan.storage_data.prefix}{plan.storage_data.first}.distcp", []
        if plan.items:
            with open(self.path / name, "wb") as file:
                for item in plan.items:
                    start, data = file.tell(), planner.resolve_data(item)
                    if isinstance(data, io.BytesIO):
                        file.write(data.getbuffer())
                    else:
                        save(data.detach().cpu().clone(), file)
                    length = file.tell() - start
                    results.append(WriteResult(item.index, length, _StorageInfo(name, start, length)))
                self._sync(file)
        future: Future[list[WriteResult]] = Future()
        future.set_result(results)
        return future

    def _sync(self, file: Any) -> None:
        file.flush()
        if self.sync_files:
            os.fsync(file.fileno())

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Write the metadata, and remove the files of the checkpoint that it replaces."""
        metadata.storage_data = {result.index: result.storage_data for several in results for result in several}
        metadata.storage_meta, metadata.version = self.storage_meta(), VERSION
        with open(self.path / f"{METADATA}.tmp", "wb") as file:
            _pickler(file, pickle, 4, lambda item: None).dump(metadata)
            self._sync(file)
        os.replace(self.path / f"{METADATA}.tmp", self.path / METADATA)
        used = {info.relative_path for info in metadata.storage_data.values()}
        for old in self.path.glob("__*_*.distcp"):
            if old.name not in used:
                old.unlink()

    def storage_meta(self) -> StorageMeta:
        """Return the folder, as text."""
        return StorageMeta(checkpoint_id=str(self.path), save_id=self.save_id)


class FileSystemReader(StorageReader):
    """Reads from a folder (``torch.distributed.checkpoint.FileSystemReader``)."""

    def __init__(self, path: str | os.PathLike[str], _extension_registry: Any = None):
        self.path, self.load_id = Path(path), uuid.uuid4().hex
        self.storage_data: dict[MetadataIndex, Any] = {}

    @property
    def checkpoint_id(self) -> str | os.PathLike[str]:
        """The folder."""
        return self.path

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """Begin a checkpoint, in another folder if one is given."""
        if checkpoint_id:
            self.path = Path(checkpoint_id)
        self.load_id = uuid.uuid4().hex

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """Return the metadata; it may refer to nothing that runs."""
        with open(self.path / METADATA, "rb") as file:
            metadata: Metadata = _Unpickler(file).load()
        metadata.storage_meta = metadata.storage_meta or StorageMeta()
        metadata.storage_meta.load_id = self.load_id
        return metadata

    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Take where the items are."""
        self.storage_data = metadata.storage_data

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        """Return the plan."""
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        """Return the plans."""
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        """Read the items, file by file; return a future that is done."""
        by_file = defaultdict(list)
        for item in plan.items:
            by_file[self.storage_data[item.storage_index].relative_path].append(item)
        for name, items in by_file.items():
            with open(self.path / name, "rb") as file:
                for item in items:
                    info = self.storage_data[item.storage_index]
                    file.seek(info.offset)
                    data = io.BytesIO(file.read(info.length))
                    if item.type is LoadItemType.BYTE_IO:
                        planner.load_bytes(item, data)
                        continue
                    source = box_of(load(data, map_location="cpu", weights_only=True), item.storage_offsets,
                                    item.lengths)
                    target = planner.resolve_tensor(item).detach()
                    target.copy_(source)
                    planner.commit_tensor(item, target)
        future: Future[None] = Future()
        future.set_result(None)
        return future
