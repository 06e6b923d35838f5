"""``torch.save`` and ``torch.load``: PyTorch's files, written and read (``torch.serialization``)."""
import os
from collections.abc import Callable
from typing import IO, Any

from .archive import (
    Reader as PyTorchFileReader, is_zipfile as _is_zipfile, open_reader as _open_zipfile_reader,
    open_writer as _open_zipfile_writer, opened as _open_file_like,
)
from .loading import get_unsafe_globals_in_checkpoint, load
from .locations import default_restore_location, location_tag, register_package
from .names import _get_layout
from .options import (
    LoadEndianness, add_safe_globals, clear_safe_globals, get_crc32_options, get_default_load_endianness,
    get_default_mmap_options, get_safe_globals, safe_globals, set_crc32_options, set_default_load_endianness,
    set_default_mmap_options, skip_data,
)
from .saving import MAGIC_NUMBER, PROTOCOL_VERSION, SourceChangeWarning, save
from .weights_only import StorageType

DEFAULT_PROTOCOL = 2  #: pickle's, as in PyTorch
FileLike = str | os.PathLike[str] | IO[bytes]
MAP_LOCATION = Callable[[Any, str], Any] | Any | str | dict[str, str] | None

__all__ = [
    "DEFAULT_PROTOCOL", "FileLike", "MAP_LOCATION", "PyTorchFileReader",
    "LoadEndianness", "MAGIC_NUMBER", "PROTOCOL_VERSION", "SourceChangeWarning", "StorageType", "add_safe_globals",
    "clear_safe_globals", "default_restore_location", "get_crc32_options", "get_default_load_endianness",
    "get_default_mmap_options", "get_safe_globals", "get_unsafe_globals_in_checkpoint", "load", "location_tag",
    "register_package", "safe_globals", "save", "set_crc32_options", "set_default_load_endianness",
    "set_default_mmap_options", "skip_data",
]
__dir__ = __all__.copy
