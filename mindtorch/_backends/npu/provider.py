"""Which NPU there is: CANN's, where it loads, or the simulator behind the same interface.

``MINDTORCH_NPU`` chooses: ``cann``, ``sim``, ``off``, or ``auto`` (the default: CANN where it loads, else the
simulator).
"""
from __future__ import annotations

import importlib.util
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..._base import forks
from . import acl_loader
from .libraries import Libraries

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
