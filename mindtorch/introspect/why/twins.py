"""Twins: what stands in mindtorch for the tensors, modules and functions that a program of PyTorch's holds.

A twin has the shape, strides, dtype and place in a graph of what it stands for, and a copy of its values where these
are few. So what was done to the one can be done again to the other, and nothing of the program's is changed or run.
"""
from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import EllipsisType, ModuleType
from typing import Any

import numpy as np

from ... import nn
from ..._base.size import Size
from ..._creation import empty_strided
from ..._device import device as Device
from ..._dtype import DTYPES
from ..libraries import is_tensor, library_of
from .wrote import is_module

VALUES = 1 << 16  #: elements at most of a tensor whose values are copied
PLAIN = (bool, int, float, complex, str, bytes, slice, range, EllipsisType, type(None), np.generic)
#: PyTorch's modules whose functions and classes have twins: they compute, and change nothing else.
SPACES = ("", ".nn", ".nn.functional", ".linalg", ".fft", ".special", ".autograd", ".optim")


class NoTwin(Exception):
    """Nothing in mindtorch stands for this value."""


class Twins:
    """Makes twins, each once, and knows whose they are."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[Any, Any]] = {}  # the original, and the twin, by the original's identity
        self._originals: dict[int, Any] = {}
        self.elsewhere = False  #: whether the meta device stands for another, such as a GPU

    def of(self, value: Any) -> Any:
        """Return the twin of a value; NoTwin if there is none."""
        if isinstance(value, PLAIN):
            return value
        if id(value) not in self._made:
            make = next((make for applies, make in self._kinds() if applies(value)), None)
            if make is None:
                raise NoTwin(type(value).__name__)
            twin = make(value)
            self._made[id(value)], self._originals[id(twin)] = (value, twin), value
        return self._made[id(value)][1]

    def original(self, value: Any) -> Any:
        """Return the original of a twin, also inside lists, tuples and dicts; other values are returned unchanged."""
        if id(value) in self._originals:
            return self._originals[id(value)]
        if type(value) in (list, tuple):
            return type(value)(map(self.original, value))
        return {key: self.original(item) for key, item in value.items()} if type(value) is dict else value

    def identity(self, identity: int) -> int:
        """Return the identity of a twin's original, or the object's own."""
        return id(self._originals[identity]) if identity in self._originals else identity

    def _kinds(self) -> tuple[tuple[Callable[[Any], bool], Callable[[Any], Any]], ...]:
        return ((is_tensor, self._tensor), (is_module, self._module),
                (lambda value: type(value).__name__ == "Size", lambda value: Size(tuple(value))),
                (lambda value: type(value) in (list, tuple, set), lambda value: type(value)(map(self.of, value))),
                (lambda value: isinstance(value, dict), lambda value: {k: self.of(v) for k, v in value.items()}),
                (lambda value: type(value).__name__ == "dtype", lambda value: _known(DTYPES, str(value)[6:])),
                (lambda value: type(value).__name__ == "device", self._device),
                (lambda value: isinstance(value, np.ndarray) and value.size <= VALUES, _array),
                (lambda value: isinstance(value, ModuleType), _space),
                (callable, _function))

    def _tensor(self, tensor: Any) -> Any:
        library = library_of(tensor)
        look, record = library.layout(tensor), library.record(tensor, 1)
        if look.without or not look.materialized or look.dtype.name not in DTYPES:
            raise NoTwin(look.without or look.dtype.name)
        if record.base is not None and (base := library.layout(record.base)).dtype == look.dtype and base.strided:
            return self.of(record.base).as_strided(look.shape, look.stride, look.offset - base.offset)
        twin = empty_strided(look.shape, look.stride, dtype=DTYPES[look.dtype.name], device=self._device(look.device))
        values = library.values(tensor) if twin.numel() <= VALUES else None
        if values is not None and twin._array is not None:
            np.copyto(twin._array, values)
        if record.requires_grad:
            twin.requires_grad_()
            if record.history and isinstance(record.history[0], str):
                return twin.clone() if twin.numel() <= VALUES else twin.view_as(twin)
        if (grad := library.grad(tensor)) is not None:
            twin._grad = self.of(grad)
        return twin

    def _device(self, device: Any) -> Device:
        """Return the CPU for the CPU, and the meta device for any other."""
        self.elsewhere = self.elsewhere or str(device) not in ("cpu", "meta")
        return Device("cpu" if str(device) == "cpu" else "meta")

    def _module(self, module: Any) -> Any:
        """Build the twin of a library module; a class of the program's own only holds its members."""
        kind, state = type(module), vars(module)
        own = kind.__module__.startswith("torch.")
        if not own and "forward" in dir(kind) and not kind.forward.__module__.startswith("torch."):
            twin_class: Any = type(kind.__name__, (nn.Module,), {"forward": _refused})
        elif own:
            twin_class = _of_ours(nn, kind.__name__)
        else:
            twin_class = type(kind.__name__, (nn.Module,), {})
        twin = object.__new__(twin_class)
        if "_parameters" not in state:  # its __init__ has not run
            return twin
        nn.Module.__init__(twin)
        for name, value in state.items():
            if name in ("_parameters", "_buffers", "_modules"):
                vars(twin)[name] = {key: self.of(item) for key, item in value.items()}
            elif name not in vars(twin) or name == "training":
                try:
                    vars(twin)[name] = self.of(value)
                except NoTwin:  # an attribute of the program's own
                    continue
        return twin


def _array(array: np.ndarray) -> np.ndarray:
    """Copy an array, keeping the directions in which it runs through memory."""
    ways = tuple(slice(None, None, -1 if step < 0 else 1) for step in array.strides)
    return np.array(array[ways])[ways]


def _refused(self: Any, *args: Any, **kwargs: Any) -> Any:
    raise NoTwin("a forward of the program's own")


def _known(table: Mapping[str, Any], name: str) -> Any:
    if name not in table:
        raise NoTwin(name)
    return table[name]


def _of_ours(space: ModuleType, name: str) -> Any:
    if not hasattr(space, name):
        raise NoTwin(name)
    return getattr(space, name)


def _space(module: ModuleType) -> ModuleType:
    path = module.__name__.removeprefix("torch")
    if path not in SPACES or not module.__name__.startswith("torch"):
        raise NoTwin(module.__name__)
    return import_module(f"mindtorch{path}")


def _function(function: Any) -> Any:
    """Return mindtorch's function or class of the same name and place."""
    name = getattr(function, "__name__", "")
    for path in SPACES:
        if getattr(sys.modules.get(f"torch{path}"), name, None) is function:
            return _of_ours(import_module(f"mindtorch{path}"), name)
    raise NoTwin(name)


