"""Options of ``torch.save`` and ``torch.load`` for who cannot pass them (``torch.utils.serialization.config``)."""
from __future__ import annotations

import mmap as mmap_module
from collections.abc import Iterator, Mapping
from typing import Any

from ..._base.interrupts import contextmanager


class load:
    """Options of ``torch.load``."""

    mmap: bool = False  #: whether files are mapped by default
    endianness: Any = None  #: the byte order of files that do not tell theirs; None: little
    mmap_flags: int | None = getattr(mmap_module, "MAP_PRIVATE", None)  #: whether writes go to a mapped file
    calculate_storage_offsets: bool = False  #: taken for PyTorch's sake: offsets are always read


class save:
    """Options of ``torch.save``."""

    compute_crc32: bool = True  #: whether records have a checksum
    use_pinned_memory_for_d2h: bool = False  #: taken for PyTorch's sake
    storage_alignment: int = 64  #: what the offsets of storages are multiples of


@contextmanager
def patch(changes: str | Mapping[str, Any] = (), value: Any = None,  # type: ignore[assignment]
          **more: Any) -> Iterator[None]:
    """Run a block with other options: ``patch("load.mmap", True)`` or ``patch({"load.mmap": True})``. Raises
    AttributeError for an unknown option.
    """
    wanted = {changes: value} if isinstance(changes, str) else {**dict(changes), **more}
    before = []
    for path, new in wanted.items():
        part, _, name = path.partition(".")
        options = {"load": load, "save": save}.get(part)
        if options is None or not hasattr(options, name):
            raise AttributeError(f"{path} is no option of {__name__}")
        before.append((options, name, getattr(options, name), new))
    try:
        for options, name, _, new in before:
            setattr(options, name, new)
        yield
    finally:
        for options, name, old, _ in before:
            setattr(options, name, old)
