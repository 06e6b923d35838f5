"""Settings of saving and loading: safe globals, byte order, checksums, mapping, storages without data."""
from __future__ import annotations

import mmap
from collections.abc import Iterable
from enum import Enum
from typing import Any

from .._base.interrupts import attributes, leaving
from .._utils import loading
from ..utils.serialization import config
from . import weights_only


class LoadEndianness(Enum):
    """The byte order of files that do not state theirs (``torch.serialization.LoadEndianness``)."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


def get_default_load_endianness() -> LoadEndianness | None:
    """Return the byte order of files that do not state theirs; None is little (``torch.serialization``)."""
    return config.load.endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Set the byte order of files that do not state theirs (``torch.serialization.set_default_load_endianness``).
    Raises TypeError for other values than byte orders.
    """
    if not isinstance(endianness, LoadEndianness) and endianness is not None:
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    config.load.endianness = endianness


def get_crc32_options() -> bool:
    """Return whether ``save`` computes checksums (``torch.serialization.get_crc32_options``)."""
    return config.save.compute_crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Set whether ``save`` computes checksums (``torch.serialization.set_crc32_options``). Without them the archive
    cannot be unzipped, but loaded.
    """
    config.save.compute_crc32 = compute_crc32


def get_default_mmap_options() -> int | None:
    """Return the flag with which ``load`` maps files: ``mmap.MAP_PRIVATE`` or ``MAP_SHARED`` (``torch.serialization``).
    """
    return config.load.mmap_flags


class set_default_mmap_options:
    """Set how ``load`` maps files, for good or in a block: with ``mmap.MAP_SHARED``, writes to tensors go to the file
    (``torch.serialization.set_default_mmap_options``). Raises ValueError for other flags.
    """

    def __init__(self, flags: int):
        if flags not in (mmap.MAP_PRIVATE, mmap.MAP_SHARED):
            raise ValueError("Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or "
                             f"mmap.MAP_SHARED, but got {flags}")
        self.prev = config.load.mmap_flags
        config.load.mmap_flags = flags

    def __enter__(self) -> None:
        pass

    @leaving(lambda block: lambda gone: block.__exit__())
    def __exit__(self, *exc: object) -> None:
        config.load.mmap_flags = self.prev


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Allow ``weights_only`` loads classes and functions, or pairs of one and its path in files
    (``torch.serialization.add_safe_globals``).
    """
    weights_only.add(safe_globals)


def get_safe_globals() -> list[Any]:
    """Return the classes and functions that ``add_safe_globals`` allowed (``torch.serialization.get_safe_globals``)."""
    return weights_only.marked()


def clear_safe_globals() -> None:
    """Forget what ``add_safe_globals`` allowed (``torch.serialization.clear_safe_globals``)."""
    weights_only.remove(weights_only.marked())


class safe_globals:
    """A block in which ``weights_only`` loads may use these classes and functions (``torch.serialization``)."""

    def __init__(self, safe_globals: Iterable[Any]):
        self.safe_globals = list(safe_globals)

    def __enter__(self) -> None:
        weights_only.add(self.safe_globals)

    @leaving(lambda block: lambda gone: block.__exit__())
    def __exit__(self, *exc: object) -> None:
        weights_only.remove(self.safe_globals)


class skip_data:
    """A block in which ``save`` writes zeros in place of the storages' bytes, and ``load`` does not read them
    (``torch.serialization.skip_data``).
    """

    def __init__(self, materialize_fake_tensors: bool = False):
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self) -> None:
        self._before, loading.skip_data = loading.skip_data, True

    @leaving(attributes(loading, "skip_data"))
    def __exit__(self, *exc: object) -> None:
        loading.skip_data = self._before
