"""Which NPU there is: CANN's, where it loads, or the simulator behind the same interface."""
from __future__ import annotations

import ctypes
import glob
import importlib.util
import os
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..._base import forks
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


MODES = ("auto", "sim", "cann", "off")


@dataclass(frozen=True)
class Provider:
    """Where the two halves of CANN's interface come from: ``acl``, pyACL's module, and ``find(name)``, the address of a
    C function of the operator libraries. ``before_reset`` takes a function that lets go of all devices: the simulator
    calls it before it starts anew.
    """

    acl: Any
    find: Callable[[str], int | None]
    simulated: bool
    before_reset: Callable[[Callable[[], None]], None]
    #: Takes a function that destroys what is kept for further calls, called before a search for leaks.
    before_check: Callable[[Callable[[], None]], None]
    #: The cores that an operator runs on, from its name and its values, and in a second line a model's times; '' if
    #: the device does not report them.
    cores: Callable[[str, Any], str] = lambda name, values: ""


_lock = forks.lock()
_loaded: Provider | None = None


def mode() -> str:
    """Return the value of ``MINDTORCH_NPU``. Raises RuntimeError if it is not one of the four."""
    chosen = os.environ.get("MINDTORCH_NPU", "auto").lower() or "auto"
    if chosen not in MODES:
        raise RuntimeError(f"MINDTORCH_NPU={chosen!r} is not one of {', '.join(MODES)}")
    return chosen


def is_installed() -> bool:
    """Return whether there is any sign of CANN on this machine: worth the attempt to load it."""
    return bool(acl_loader._existing_dirs()) or importlib.util.find_spec("acl") is not None


def load() -> Provider:
    """Return the provider, chosen once; RuntimeError if the NPU is switched off or the CANN asked for is missing."""
    global _loaded
    if _loaded is None:
        with _lock:
            if _loaded is None:
                _loaded = _choose(mode())
    return _loaded


def _choose(chosen: str) -> Provider:
    if chosen == "off":
        raise RuntimeError("the NPU is switched off: MINDTORCH_NPU=off. Unset it, or set it to auto, sim or cann.")
    if chosen == "cann":
        try:
            return cann()
        except (ImportError, OSError) as error:
            raise RuntimeError(f"MINDTORCH_NPU=cann, but CANN does not load: {error}") from error
    if chosen == "auto" and is_installed():
        try:
            return cann()
        except (ImportError, OSError) as error:
            warnings.warn(f"CANN seems to be installed, but does not load; the NPU is simulated: {error}", stacklevel=4)
    from . import simulator  # not paid for where there is CANN

    return Provider(simulator.acl, simulator.find, True, simulator.before_reset, simulator.before_check,
                    simulator.cores)


def cann() -> Provider:
    """CANN itself. Raises ImportError if pyACL does not load, OSError if the operator libraries do not."""
    acl = acl_loader.ensure_acl()
    return Provider(acl, Libraries().find, False, lambda finalize: None, lambda release: None)
