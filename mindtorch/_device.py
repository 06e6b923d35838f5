"""Devices: ``torch.device``, the default device, and devices as context managers."""
from __future__ import annotations

import operator
import re
import threading
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from ._base.about import about
from ._base.backend import backends
from ._base.interrupts import attributes, leaving

KINDS = ("cpu", "meta", "npu")
#: Kinds that PyTorch knows. They have names here, so that programs can speak of them, and no backend.
ELSEWHERE = ("cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy",
             "vulkan", "mps", "hpu", "mtia", "privateuseone")
_SPELLING = re.compile(r"([a-z_]+)(?::(0|[1-9][0-9]*))?\Z")


class _LocalStack(threading.local):
    stack: tuple[device, ...] = ()
    default: device


_local = _LocalStack()


_devices: dict[tuple[str, int | None], device] = {}


class device:
    """The place where a tensor lives, as ``device('npu:1')``, ``device('npu', 1)`` or ``device('cpu')``
    (``torch.device``).

    As a context manager it is this thread's default device in the block. Raises RuntimeError for an unknown kind, a
    malformed string or a negative index.

    There is one object of each device, so that cache keys compare devices by identity.
    """

    __slots__ = ("type", "index")
    type: str
    index: int | None

    def __new__(cls, type: Any, index: int | None = None) -> device:
        if index is None and isinstance(type, (device, int)) and not isinstance(type, bool):
            type, index = (type.type, type.index) if isinstance(type, device) else ("npu", int(type))
        elif not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' must be str, not {type.__class__.__name__}")
        if index.__class__ is not int and index is not None:
            if isinstance(index, bool) or not hasattr(index, "__index__"):
                raise TypeError(f"device(): argument 'index' must be int, not {index.__class__.__name__}")
            index = operator.index(index)
        match = _SPELLING.match(type)
        if match is None:
            raise RuntimeError(f"Invalid device string: '{type}'")
        if match.group(2) is not None:
            if index is not None:
                raise RuntimeError("type (string) must not include an index because index was passed explicitly: "
                                   f"{type}")
            index = int(match.group(2))
        if match.group(1) not in KINDS and match.group(1) not in ELSEWHERE:
            known = ", ".join(KINDS + ELSEWHERE)
            raise about(RuntimeError(f"Expected one of {known} device type at start of device string: "
                                     f"{match.group(1)}"), "no such device", asked=match.group(1))
        if index is not None and index < 0:
            raise RuntimeError(f"Device index must not be negative, got {index}")
        if (found := _devices.get((match.group(1), index))) is not None:
            return found
        self = object.__new__(cls)
        object.__setattr__(self, "type", match.group(1))
        object.__setattr__(self, "index", index)
        return _devices.setdefault((self.type, index), self)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"attribute '{name}' of 'torch.device' objects is not writable")

    def __repr__(self) -> str:
        return (f"device(type='{self.type}')" if self.index is None
                else f"device(type='{self.type}', index={self.index})")

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return (device, (self.type,) if self.index is None else (self.type, self.index))

    def __enter__(self) -> device:
        _local.stack = (*_local.stack, self)
        return self

    @leaving(attributes(_local, "stack"))
    def __exit__(self, *exc: object) -> None:
        _local.stack = _local.stack[:-1]



CPU = device("cpu")
META = device("meta")
_LocalStack.default = CPU  # until a thread sets another


def get_default_device() -> device:
    """Return the device that factory functions use by default (``torch.get_default_device``)."""
    return _local.stack[-1] if _local.stack else _local.default


def chosen_device() -> device | None:
    """Return the chosen default device, or None. ``as_tensor`` and its like move tensors there, too."""
    return _local.stack[-1] if _local.stack else None if _local.default is CPU else _local.default


def set_default_device(device_: device | str | None) -> None:
    """Set the device that factory functions use by default in this thread (``torch.set_default_device``)."""
    _local.default = CPU if device_ is None else device(device_)


def no_backend(kind: str, asserted: Iterable[str] = ("cuda", "xpu")) -> Exception:
    """Return PyTorch's error of using a device that it was not built for, an AssertionError for ``asserted`` kinds."""
    error = (AssertionError(f"Torch not compiled with {kind.upper()} enabled") if kind in asserted
             else RuntimeError(f"PyTorch is not linked with support for {kind} devices"))
    return about(error, "no such device", asked=kind)


@lru_cache(64)
def device_named(spelled: str) -> device:
    """Return the device of a text such as ``"npu:1"``."""
    return device(spelled)


def resolve_device(spec: device | str | int | None) -> device:
    """Return the device that a ``device=`` argument means; the default device for None."""
    if spec is None:
        found = _local.stack[-1] if _local.stack else _local.default
    elif spec.__class__ is str:
        found = device_named(spec)
    else:
        found = spec if spec.__class__ is device else device(spec)
    if found is CPU or (found.type == "cpu" and found.index is None):
        return CPU
    if found.type not in backends:
        raise no_backend(found.type)
    if found.index is not None:
        return found
    index = backends[found.type].current_index()
    return found if index is None else device(found.type, index)
