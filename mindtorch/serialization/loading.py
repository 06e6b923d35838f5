"""``torch.load``."""
from __future__ import annotations

import io
import json
import mmap as mmap_module
import os
import pickle
import re
import struct
import sys
import warnings
from collections.abc import Callable
from typing import Any

from .._creation import empty
from .._creation.interop import frombuffer
from .._device import device as Device
from .._dtype import DTYPES, RARE, DType, uint8
from .._storage import TypedStorage, UntypedStorage
from .._utils import loading
from ..utils.serialization import config
from . import names, weights_only
from .archive import Reader, is_path, is_zipfile, opened, read_bytes
from .locations import Restore, is_meta, restore_location
from .options import LoadEndianness
from .saving import MAGIC_NUMBER, PROTOCOL_VERSION, SourceChangeWarning, source_of
from .weights_only import StorageType, decoded, shown

UNSAFE_MESSAGE = (
    "In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from `False` to "
    "`True`. Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but it can result in "
    "arbitrary code execution. Do it only if you got the file from a trusted source.")
_DOCS = ("\n\nCheck the documentation of torch.load to learn more about types accepted by default with weights_only "
         "https://pytorch.org/docs/stable/generated/torch.load.html.")


def load(f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool | None = None,
         mmap: bool | None = None, **pickle_load_args: Any) -> Any:
    """Load what ``torch.save`` saved, here or in PyTorch (``torch.load``).

    ``f`` is a path, or a file that can be sought in. ``map_location`` says where storages go: a device or its name; a
    dictionary of such names; a function of a storage and the name of its location, which returns the storage in its
    place or None; by default they go where they were. With ``weights_only``, the default, the file can hold nothing but
    tensors, numbers, strings, containers, and what ``torch.serialization.add_safe_globals`` allows; without it, a file
    can run any code. With ``mmap``, storages are read when they are looked at. Raises UnpicklingError for content that
    is not allowed, and for a malformed pickle, and RuntimeError for an archive that is damaged or forged, a storage
    that is not as large as it says, tensors that leave theirs, and devices that are not here, and EOFError if the file
    is too short.
    """
    weights_only = _decided(weights_only, pickle_module)
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if weights_only and pickle_load_args:
        warnings.warn("pickle_load_args only works if `weights_only=False`.", stacklevel=2)
    pickle_load_args.setdefault("encoding", "utf-8")
    mmap = config.load.mmap if mmap is None else mmap
    path = os.fspath(f) if is_path(f) else None
    if path is not None and os.fsdecode(path).endswith(".safetensors"):
        return _load_safetensors(path, map_location)
    before = loading.map_location, loading.resolved, loading.checks
    loading.map_location, loading.resolved, loading.checks = map_location, {}, None
    try:
        with opened(f, "rb") as file:
            unpickler = _unpickler(weights_only, pickle_module or pickle, pickle_load_args)
            if is_zipfile(file):
                return _load_zip(Reader(file), restore_location(map_location), unpickler, path, mmap, weights_only)
            if mmap:
                raise RuntimeError("mmap can only be used with files saved with `torch.save("
                                   f"{f'{f}, ' if isinstance(f, str) else ''}_use_new_zipfile_serialization=True), "
                                   "please torch.save your checkpoint with this option in order to use mmap.")
            return _load_legacy(file, restore_location(map_location), unpickler, weights_only)
    except pickle.UnpicklingError as error:
        if not weights_only:
            raise
        raise pickle.UnpicklingError(_explained(str(error))) from None
    finally:
        loading.map_location, loading.resolved, loading.checks = before


def _decided(weights_only: bool | None, pickle_module: Any) -> bool:
    """Return whether to load weights only: as the caller asks, else as the environment does."""
    forced, forbidden = (os.getenv(f"TORCH_FORCE_{name}WEIGHTS_ONLY_LOAD", "0").lower() in ("1", "y", "yes", "true")
                         for name in ("", "NO_"))
    if forced and forbidden:
        raise RuntimeError("Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` should "
                           "be set, but both were set.")
    if forced:
        return True
    if weights_only is None and forbidden:
        warnings.warn("Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the`weights_only` "
                      "argument was not explicitly passed to `torch.load`, forcing weights_only=False.", stacklevel=3)
        return False
    return pickle_module is None if weights_only is None else weights_only


def _explained(message: str) -> str:
    """Return an error of the unpickler in PyTorch's words."""
    if re.search(r"GLOBAL (\S+) was not an allowed global by default.", message):
        return ("Weights only load failed. This file can still be loaded, to do so you have two options, \033[1mdo "
                f"those steps only if you trust the source of the checkpoint\033[0m. \n\t(1) {UNSAFE_MESSAGE}\n\t(2) "
                "Alternatively, to load with `weights_only=True` please check the recommended steps in the following "
                f"error message.\n\tWeightsUnpickler error: {message}{_DOCS}")
    asked = "" if re.search(r"whose module (\S+) is blocked", message) else (
        "Please file an issue with the following so that we can make `weights_only=True` compatible with your use "
        "case: WeightsUnpickler error: ")
    return f"Weights only load failed. {UNSAFE_MESSAGE}\n{asked}\n\n{message}{_DOCS}"


#: What safetensors calls the dtypes, and mindtorch.
SAFETENSORS = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "I32": "int32",
    "I16": "int16", "I8": "int8", "U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8", "BOOL": "bool",
    "C64": "complex64", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz", "F8_E8M0": "float8_e8m0fnu",
}


def _load_safetensors(path: Any, map_location: Any) -> Any:
    """Read the tensors of a file, whose header the library safetensors checks; SafetensorError is its error."""
    try:
        from safetensors import safe_open
    except ImportError:
        raise RuntimeError("Attempting to load a safetensors file but safetensors is not installed. Please install "
                           "safetensors with: pip install safetensors") from None
    if map_location is not None and not isinstance(map_location, (str, bytes, Device)):
        kind = "dict" if isinstance(map_location, dict) else "callable"
        raise RuntimeError(f"Loading safetensors file with {kind} map_location is not supported. Use a device string "
                           "or torch.device instead.")
    with safe_open(path, "numpy") as checked:
        names = checked.offset_keys()
    loaded = {}
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        for name in names:
            kind, shape, (begin, end) = (header[name][part] for part in ("dtype", "shape", "data_offsets"))
            if kind not in SAFETENSORS:
                raise RuntimeError(f"the tensor {name!r} has the dtype {kind}, which mindtorch does not have")
            file.seek(8 + length + begin)
            dtype = (DTYPES | RARE)[SAFETENSORS[kind]]
            data = read_bytes(file, end - begin)
            tensor = frombuffer(data, dtype=dtype).reshape(shape) if data.size else empty(shape, dtype=dtype)
            loaded[name] = tensor.to(map_location or "cpu")
    return loaded


Load = Callable[[Any, Callable[[Any], Any] | None], Any]


def _unpickler(safe: bool, module: Any, options: dict[str, Any]) -> Load:
    """Return a function that loads one pickle from a file, given a function that loads storages."""
    base: Any = weights_only.Unpickler if safe else module.Unpickler

    class Unpickler(base):
        def find_class(self, module_name: str, name: str) -> Any:
            if safe:
                return super().find_class(module_name, name)
            if "Storage" in name:
                try:
                    return StorageType(name)
                except KeyError:
                    pass
            if module_name.partition(".")[0] == names.THEIRS:
                return names.find(module_name, name)
            return super().find_class(module_name, name)

    def load_one(file: Any, persistent_load: Callable[[Any], Any] | None = None) -> Any:
        unpickler = Unpickler(file, **({"encoding": options["encoding"]} if safe else options))
        if persistent_load is not None:
            unpickler.persistent_load = persistent_load
        return unpickler.load()

    return load_one


def _kind(saved: Any) -> tuple[str, tuple[Any, ...]]:
    if not isinstance(saved, tuple) or not saved:
        raise pickle.UnpicklingError(f"saved_id must be a tuple, got {type(saved).__name__}")
    return decoded(saved[0]), saved[1:]


def _measured(storage_type: Any, numel: Any) -> tuple[DType, int]:
    """Return a storage's dtype and size in bytes; UnpicklingError for other classes and invalid sizes."""
    if storage_type is not UntypedStorage and not isinstance(storage_type, StorageType):
        raise pickle.UnpicklingError(f"expected a class of storages, but got {shown(storage_type)}")
    dtype = storage_type.dtype if isinstance(storage_type, StorageType) else uint8
    if type(numel) is not int or numel < 0:
        raise pickle.UnpicklingError(f"expected the number of elements of a storage, but got {shown(numel)}")
    return dtype, numel * dtype.itemsize


def _location(tag: Any) -> str:
    """Check and return a location. Raises UnpicklingError for other values."""
    tag = decoded(tag)
    if not isinstance(tag, str):
        raise pickle.UnpicklingError(f"expected the location of a storage, but got {shown(tag)}")
    return tag


def _key(key: Any) -> Any:
    """Check and return the key of a storage. Raises UnpicklingError for other values."""
    if not isinstance(key, (str, bytes, int)):
        raise pickle.UnpicklingError(f"expected the key of a storage, but got {shown(key)}")
    return key


def _typed(storage: Any, dtype: DType) -> TypedStorage:
    return storage.untyped().typed(dtype)


def _swapped(archive: Reader) -> bool:
    """Return whether the storages of an archive have the other byte order."""
    order = None
    if archive.has_record("byteorder"):
        order = archive.get_record("byteorder")
        if order not in (b"little", b"big"):
            raise ValueError(f"Unknown endianness type: {order.decode(errors='replace')}")
    else:
        default = config.load.endianness
        if default not in (None, *LoadEndianness):
            raise ValueError("Invalid load endianness type")
        order = {LoadEndianness.BIG: b"big", LoadEndianness.NATIVE: sys.byteorder.encode()}.get(default, b"little")
    return order.decode() != sys.byteorder


def _load_zip(archive: Reader, restore: Restore, load_one: Load, path: Any, mmap: bool, safe: bool) -> Any:
    if archive.has_record("constants.pkl"):
        if safe:
            raise RuntimeError("Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``. "
                               + UNSAFE_MESSAGE)
        raise NotImplementedError("this file is a TorchScript archive, which mindtorch cannot run: save the module's "
                                  "state_dict with torch.save")
    if mmap and path is None:
        raise ValueError("f must be a file path in order to use the mmap argument")
    mapped = None if not mmap else UntypedStorage.from_file(
        os.fsdecode(path), config.load.mmap_flags == mmap_module.MAP_SHARED, os.path.getsize(path))
    swapped = _swapped(archive)
    meta = is_meta(loading.map_location)
    loaded: dict[str, TypedStorage] = {}

    def persistent_load(saved: Any) -> Any:
        typename, data = _kind(saved)
        if typename != "storage" or len(data) != 4:
            raise pickle.UnpicklingError("Unknown typename for persistent_load, expected 'storage' but got "
                                         f"'{typename}'")
        storage_type, key, location, numel = data
        dtype, nbytes = _measured(storage_type, numel)
        if _key(key) in loaded:
            return loaded[key]
        name = f"data/{key}"
        if archive.size(name) != nbytes:
            raise RuntimeError(f"the storage {key!r} should have {nbytes} bytes, but the record {name} has "
                               f"{archive.size(name)}")
        if meta:
            storage = UntypedStorage(nbytes, device="meta")
            storage._checkpoint_offset = archive.get_record_offset(name)
        elif loading.skip_data:
            storage = UntypedStorage(nbytes)
        elif mapped is not None:
            offset = archive.get_record_offset(name, stored=True)
            storage = mapped[offset : offset + nbytes]
            storage._resizable = False
        else:
            storage = UntypedStorage(data=archive.read(name))
        if swapped and not meta:
            storage.byteswap(dtype)
        loaded[key] = _typed(storage if meta else restore(storage, _location(location)), dtype)
        return loaded[key]

    return load_one(io.BytesIO(archive.get_record("data.pkl")), persistent_load)


def _load_legacy(file: Any, restore: Restore, load_one: Load, safe: bool) -> Any:
    """Load a file of PyTorch before 1.6: a sequence of pickles, then the bytes of the storages."""
    start = file.tell()
    if file.read(262)[257:] == b"ustar":
        if safe:
            raise RuntimeError("Cannot use ``weights_only=True`` with files saved in the legacy .tar format. "
                               + UNSAFE_MESSAGE)
        raise NotImplementedError("this file is in the .tar format of PyTorch 0.1; load and save it with PyTorch")
    file.seek(start)
    if load_one(file, None) != MAGIC_NUMBER:
        raise RuntimeError("Invalid magic number; corrupt file?")
    version = load_one(file, None)
    if version != PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {version}")
    load_one(file, None)  # of the machine that saved it, which PyTorch does not ask either
    roots: dict[str, TypedStorage] = {}
    views: dict[Any, TypedStorage] = {}
    unread = _bytes_left(file)

    def persistent_load(saved: Any) -> Any:
        nonlocal unread
        typename, data = _kind(saved)
        if typename == "module":
            kind, *source = data
            if all(source):
                _check_source(kind, *source)
            return kind
        if typename != "storage" or len(data) != 5:
            raise pickle.UnpicklingError(f"Unknown saved id type: {typename}")
        storage_type, key, location, numel, view = data
        dtype, nbytes = _measured(storage_type, numel)
        if _key(key) not in roots:
            unread -= nbytes
            if unread < 0:
                raise RuntimeError(f"the storage {key!r} should have {nbytes} bytes, but the file is shorter")
            roots[key] = _typed(restore(UntypedStorage(nbytes), _location(location)), dtype)
        if view is None:
            return roots[key]
        if not isinstance(view, tuple) or [*map(type, view[1:])] != [int, int]:
            raise pickle.UnpicklingError(f"expected a view of a storage, but got {shown(view)}")
        view_key, offset, size = view
        if _key(view_key) not in views:
            first, last = offset * dtype.itemsize, (offset + size) * dtype.itemsize
            if not 0 <= first <= last <= roots[key].nbytes():
                raise RuntimeError(f"the view {view_key!r} leaves its storage")
            views[view_key] = _typed(roots[key].untyped()[first:last], dtype)
        return views[view_key]

    loading.checks = []
    result = load_one(file, persistent_load)
    keys = load_one(file, None)
    if not isinstance(keys, list):
        raise RuntimeError(f"the file should have a list of storages' keys, but has {shown(keys)}")
    for key in keys:
        if _key(key) not in roots:
            raise RuntimeError(f"the file has data for the storage {key!r}, which nothing in it has")
        if not loading.skip_data:
            _fill(roots[key], file)
    if missing := roots.keys() - set(keys):
        raise RuntimeError(f"the file has no data for the storage {missing.pop()!r}")
    if not loading.skip_data:
        for check in loading.checks:
            check()
    return result


def _bytes_left(file: Any) -> float:
    """Return the number of bytes left in a file; infinity for a file without a known size, such as a compressed one."""
    here = file.tell()
    try:
        return file.seek(0, os.SEEK_END) - here
    except (ValueError, OSError):
        return float("inf")
    finally:
        file.seek(here)


def _fill(storage: TypedStorage, file: Any) -> None:
    """Read a storage's size and its bytes."""
    (numel,) = struct.unpack("<q", read_bytes(file, 8).tobytes())
    if numel != storage.size():
        raise RuntimeError(f"storage has wrong byte size: expected {storage.nbytes()} got "
                           f"{numel * storage.element_size()}")
    data = UntypedStorage(data=read_bytes(file, storage.nbytes()))
    if sys.byteorder == "big":
        data.byteswap(storage.dtype)
    if storage.device.type != "meta":
        storage.untyped().copy_(data)


def _check_source(kind: type, source_file: str, source: str) -> None:
    """Warn if the source of a class has changed since a module of it was saved."""
    current = source_of(kind)[1]
    if current is not None and current != source:
        warnings.warn(f"source code of class '{names.path_of(kind)}' has changed. you can retrieve the original source "
                      "code by accessing the object's source attribute or set `torch.nn.Module.dump_patches = True` "
                      "and use the patch tool to revert the changes.", SourceChangeWarning, stacklevel=2)


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """Return the paths of classes and functions in a file that ``weights_only`` does not allow, without loading it
    (``torch.serialization.get_unsafe_globals_in_checkpoint``). Raises ValueError if the file is none of
    ``torch.save``'s zip archives.
    """
    with opened(f, "rb") as file:
        if not is_zipfile(file):
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        archive = Reader(file)
        if archive.has_record("constants.pkl"):
            raise ValueError("Expected input to be a checkpoint returned by torch.save but got a torchscript "
                             "checkpoint")
        found = weights_only.globals_in(archive.get_record("data.pkl"))
        return list(found - {*weights_only.allowed_globals(), *weights_only.RARE_GLOBALS, *weights_only.user_globals()})
