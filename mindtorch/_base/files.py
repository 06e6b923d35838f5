"""Files that are written whole or not at all, and errors in words where a disk is full."""
from __future__ import annotations

import errno
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

#: The errors of a full disk, an exhausted quota, and a limit of the sizes of files.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def replacing(path: Any, mode: str = "wb", **options: Any) -> Iterator[Any]:
    """Open a file for writing, which takes its place at ``path`` once it is whole: until then, and after an error, the
    file that was there is as it was. Devices, pipes, and files in folders that may not be written are written directly.
    ``options`` are those of ``open``.
    """
    target = os.path.realpath(os.fsdecode(path))
    exists, folder = os.path.exists(target), os.path.dirname(target)
    if exists and not (os.path.isfile(target) and os.access(target, os.W_OK) and os.access(folder, os.W_OK)):
        with open(path, mode, **options) as file:
            yield file
        return
    beside = os.path.join(folder, f".{os.getpid()}-{threading.get_ident()}.part")
    try:
        with open(beside, mode, **options) as file:
            if exists:
                shutil.copymode(target, beside)
            yield file
        os.replace(beside, target)
    except BaseException as error:
        with suppress(OSError):
            os.remove(beside)
        if isinstance(error, OSError) and error.errno in FULL:
            raise _full(error, path) from error
        if isinstance(error, OSError) and error.filename == beside:
            error.filename = str(path)
        raise


def replace_text(path: Any, text: str) -> None:
    """Write a text as UTF-8, as ``replacing`` does."""
    with replacing(path, "w", encoding="utf-8") as file:
        file.write(text)


@contextmanager
def appending(path: Any, **options: Any) -> Iterator[Any]:
    """Open a file for writing text at its end; after an error it is as long as it was. ``options`` are ``open``'s."""
    before = os.path.getsize(path) if os.path.exists(path) else 0
    try:
        with open(path, "a", **options) as file:
            yield file
    except BaseException as error:
        with suppress(OSError):
            os.truncate(path, before)
        if isinstance(error, OSError) and error.errno in FULL:
            raise _full(error, path) from error
        raise


def _full(error: OSError, path: Any) -> OSError:
    return OSError(error.errno, f"{error.strerror}: nothing was saved, and a file that was there is as it was. "
                   "Make room, or save elsewhere", str(path))
