"""``torch.save``."""
from __future__ import annotations

import inspect
import io
import pickle
import struct
import sys
import warnings
from collections.abc import Callable
from types import FunctionType
from typing import Any

from .._dtype import DType, uint8
from .._storage import LEGACY_STORAGES, NAMES, StorageBase, TypedStorage, UntypedStorage
from .._utils import loading
from ..nn.module import Module
from ..utils.serialization import config
from .archive import Writer, is_path, open_writer, opened
from .locations import location_tag
from .names import find, reduced, torch_name

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001


class SourceChangeWarning(Warning):
    """The source of a class is not what it was when the file was saved (``torch.serialization``)."""


def save(obj: Any, f: Any, pickle_module: Any = pickle, pickle_protocol: int = 2,
         _use_new_zipfile_serialization: bool = True, _disable_byteorder_record: bool = False) -> None:
    """Save an object to a file, in PyTorch's format (``torch.save``).

    ``f`` is a path, or an object with ``write`` and ``flush``. Storages are saved once, however many tensors share
    them. With ``_use_new_zipfile_serialization=False`` the format is that of PyTorch before 1.6. Raises AttributeError
    if ``f`` is neither, and RuntimeError if storages share memory under different dtypes.
    """
    if not is_path(f) and not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    if not _use_new_zipfile_serialization and loading.skip_data:
        raise RuntimeError("Cannot use skip_data=True with _use_new_zipfile_serialization=False")
    if _use_new_zipfile_serialization:
        with open_writer(f) as archive:
            _save_zip(obj, archive, pickle_module, pickle_protocol, not _disable_byteorder_record)
    else:
        with opened(f, "wb") as file:
            _save_legacy(obj, file, pickle_module, pickle_protocol)


def _pickler(file: Any, module: Any, protocol: int, persistent_id: Callable[[Any], Any]) -> Any:
    """Build a pickler that writes PyTorch's names, on pickle's in Python: the one in C has no such hook."""
    base: Any = pickle._Pickler if module is pickle else module.Pickler

    class Pickler(base):
        def persistent_id(self, obj: Any) -> Any:
            return persistent_id(obj)

        def reducer_override(self, obj: Any) -> Any:
            found = reduced(obj)
            override = getattr(super(), "reducer_override", None)
            return found if found is not NotImplemented or override is None else override(obj)

        def save_global(self, obj: Any, name: str | None = None) -> None:
            found = torch_name(obj, name)
            if found is None:
                super().save_global(obj, name)
            elif "." in found[1] and self.proto < 4:
                parent, _, last = found[1].rpartition(".")
                self.save_reduce(getattr, (find(found[0], parent), last), obj=obj)
            elif self.proto >= 4:
                for part in found:
                    self.save(part)
                self.write(pickle.STACK_GLOBAL)
                self.memoize(obj)
            else:
                self.write(pickle.GLOBAL + "{}\n{}\n".format(*found).encode())
                self.memoize(obj)

        if hasattr(base, "dispatch"):
            dispatch = {**base.dispatch, FunctionType: save_global}

    return Pickler(file, protocol=protocol)


class _Storages:
    """The storages of the saved object, by key."""

    def __init__(self) -> None:
        self.of_key: dict[str, tuple[UntypedStorage, DType]] = {}
        self._keys: dict[int, str] = {}
        self._dtypes: dict[int, DType] = {}

    def enter(self, found: StorageBase) -> tuple[Any, ...]:
        """Return a storage's class, key, location and numel; RuntimeError if it has two dtypes."""
        storage = found.untyped()
        dtype = found.dtype if isinstance(found, TypedStorage) else uint8
        address = 0 if storage.device.type == "meta" else storage.data_ptr()
        if address and self._dtypes.setdefault(address, dtype) is not dtype:
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types")
        key = self._keys.setdefault(id(storage), str(len(self._keys)))
        self.of_key.setdefault(key, (storage, dtype))
        kind = LEGACY_STORAGES[NAMES[dtype]] if isinstance(found, TypedStorage) else UntypedStorage
        return kind, key, location_tag(storage), len(found)


def _bytes_of(storage: UntypedStorage) -> Any:
    return storage.cpu()._host_bytes()


def _save_zip(obj: Any, archive: Writer, module: Any, protocol: int, byteorder: bool) -> None:
    storages = _Storages()

    def persistent_id(thing: Any) -> Any:
        return ("storage", *storages.enter(thing)) if isinstance(thing, StorageBase) else None

    pickled = io.BytesIO()
    _pickler(pickled, module, protocol, persistent_id).dump(obj)
    archive.write_record("data.pkl", pickled.getvalue())
    archive.write_record(".format_version", "1")
    archive.write_record(".storage_alignment", str(config.save.storage_alignment))
    if byteorder:
        archive.write_record("byteorder", sys.byteorder)
    for key, (storage, _) in storages.of_key.items():
        archive.write_record(f"data/{key}", None if loading.skip_data else _bytes_of(storage), storage.nbytes())


def _save_legacy(obj: Any, file: Any, module: Any, protocol: int) -> None:
    storages = _Storages()
    containers: set[type] = set()

    def persistent_id(thing: Any) -> Any:
        if isinstance(thing, StorageBase):
            return ("storage", *storages.enter(thing), None)
        if isinstance(thing, type) and issubclass(thing, Module) and thing not in containers:
            containers.add(thing)
            return ("module", thing, *source_of(thing))
        return None

    sizes = {"short": struct.calcsize("=h"), "int": struct.calcsize("=i"), "long": struct.calcsize("=l")}
    for part in (MAGIC_NUMBER, PROTOCOL_VERSION, {
            "protocol_version": PROTOCOL_VERSION, "little_endian": sys.byteorder == "little", "type_sizes": sizes}):
        module.dump(part, file, protocol=protocol)
    _pickler(file, module, protocol, persistent_id).dump(obj)
    module.dump(sorted(storages.of_key), file, protocol=protocol)
    for key in sorted(storages.of_key):
        storage, dtype = storages.of_key[key]
        file.write(struct.pack("<q", storage.nbytes() // dtype.itemsize))
        file.write(memoryview(_bytes_of(storage)))


def source_of(kind: type) -> tuple[str | None, str | None]:
    """Return the file and the source of a class, if they can be found."""
    try:
        return inspect.getsourcefile(kind), inspect.getsource(kind)
    except (OSError, TypeError):
        warnings.warn(f"Couldn't retrieve source code for container of type {kind.__name__}. It won't be checked for "
                      "correctness upon loading.", stacklevel=3)
        return None, None
