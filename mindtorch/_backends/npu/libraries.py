"""CANN's operator libraries: where a C function lies, whichever library the release put it into."""
from __future__ import annotations

import ctypes
import glob
import os
import threading
from typing import Any

from . import acl_loader

#: Loaded before the operators, which need it.
FIRST = "libnnopbase.so"
#: The operators: one library in older releases, several in newer ones.
OPERATORS = ("libopapi.so", "libaclnn_ops_infer.so", "libaclnn_math.so", "libaclnn_ops_train.so", "libaclnn_rand.so")
PATTERN = "libopapi_*.so"
RUNTIME = "libascendcl.so"


class Libraries:
    """The libraries of a toolkit, opened on first use; OSError lists what was looked for and where."""

    def __init__(self) -> None:
        self._dirs = acl_loader.library_dirs()
        self._addresses: dict[str, int | None] = {}
        self._lock = threading.Lock()
        self.paths: list[str] = []
        self._opened = [self._open(FIRST)]
        split = {os.path.basename(path) for folder in self._dirs for path in glob.glob(os.path.join(folder, PATTERN))}
        operators = [name for name in (*OPERATORS, *sorted(split)) if self._path(name)]
        if not operators:
            raise OSError(f"no operator library: none of {', '.join(OPERATORS)} or {PATTERN} is in "
                          f"{', '.join(self._dirs)}")
        self._opened += [self._open(name) for name in operators]
        if self._path(RUNTIME):
            self._opened.append(self._open(RUNTIME))

    def _path(self, name: str) -> str | None:
        return acl_loader.find_library(name, self._dirs)

    def _open(self, name: str) -> Any:
        path = self._path(name)
        if path is None:
            raise OSError(f"{name} is in none of {', '.join(self._dirs)}")
        self.paths.append(path)
        return acl_loader.load_library(path, self._dirs)

    def find(self, name: str) -> int | None:
        """Return the address of a C function, None if no library exports it."""
        with self._lock:
            if name not in self._addresses:
                self._addresses[name] = self._look_up(name)
            return self._addresses[name]

    def _look_up(self, name: str) -> int | None:
        for library in self._opened:
            try:
                return ctypes.cast(getattr(library, name), ctypes.c_void_p).value
            except AttributeError:
                continue
        return None
