"""By which names pickles know things: PyTorch's in files, whatever this library is called and where it keeps them."""
from __future__ import annotations

import sys
from functools import partial
from importlib import import_module
from typing import Any

from .._autograd import grad_mode
from .._autograd.hooks import RemovableHandle
from .._backends.random import Generator
from .._base.formats import LAYOUTS, layout, memory_format
from .._dispatch import return_types
from .._dtype import DTYPES, RARE, DType
from .._methods import functions
from .._storage import TypedStorage, UntypedStorage
from .._tensor import Tensor
from .._utils import _rebuild_from_type_v2

_TUPLES = "torch.return_types"
OURS, THEIRS = __name__.partition(".")[0], "torch"
#: What PyTorch keeps elsewhere, or calls otherwise.
NAMES: dict[Any, tuple[str, str]] = {
    UntypedStorage: ("torch.storage", "UntypedStorage"), TypedStorage: ("torch.storage", "TypedStorage"),
    _rebuild_from_type_v2: ("torch._tensor", "_rebuild_from_type_v2"), DType: ("torch", "dtype"),
    Generator: ("torch._C", "Generator"), RemovableHandle: ("torch.utils.hooks", "RemovableHandle"),
    grad_mode.no_grad: ("torch.autograd.grad_mode", "no_grad"),
    grad_mode.enable_grad: ("torch.autograd.grad_mode", "enable_grad"),
    **{dtype: ("torch", name) for name, dtype in (DTYPES | RARE).items()},
}
_THINGS = {name: thing for thing, name in NAMES.items()} | {
    ("torch._C", "_VariableFunctionsClass"): functions, ("torch._C", "_VariableFunctions"): functions,
    ("torch._C", "TensorBase"): Tensor, ("torch.tensor", "Tensor"): Tensor,
}
#: Modules that are one file in PyTorch and a package here.
_PACKAGES = ("torch.nn.functional", "torch.functional", "torch.serialization", "torch.autograd.function",
             "torch.optim.lr_scheduler")


def find(module: str, name: str) -> Any:
    """Return the object of a PyTorch name, from its module or the packages above; AttributeError if absent."""
    if (module, name) in _THINGS:
        return _THINGS[module, name]
    if module == _TUPLES:
        return partial(return_types.again, name)
    place = OURS + module.removeprefix(THEIRS)
    if place.startswith(f"{OURS}._C"):
        place = f"{OURS}.nn.functional" if module == "torch._C._nn" else OURS
        name = name.removeprefix(f"{module.rpartition('._')[2]}_")
    lowest = OURS if module == THEIRS or "._" in f"{module}." else ".".join(place.split(".")[:2])
    while len(place) >= len(lowest):
        try:
            found: Any = import_module(place)
            for part in name.split("."):
                found = getattr(found, part)
            return found
        except (ImportError, AttributeError):
            place = place.rpartition(".")[0]
    raise AttributeError(f"the file refers to {module}.{name}, which mindtorch does not have")


def torch_name(thing: Any, name: str | None = None) -> tuple[str, str] | None:
    """Return the module and the name that PyTorch has for an object of this library; None for other objects."""
    module = getattr(thing, "__module__", None)
    if module == _TUPLES:
        return module, thing.__name__
    if not isinstance(module, str) or module.partition(".")[0] != OURS:
        return None
    try:
        if thing in NAMES:
            return NAMES[thing]
    except TypeError:  # what has no hash is under no name
        return None
    name = name or getattr(thing, "__qualname__", None) or thing.__name__
    place = THEIRS + module.removeprefix(OURS)
    for package in _PACKAGES:
        if place.startswith(f"{package}."):
            place = package
    if "._" in place and not place.startswith("torch._utils"):
        for package in ("", ".nn.functional", ".linalg", ".fft", ".special", ".optim"):
            shown = name.removeprefix(f"{package[1:]}_")
            if getattr(sys.modules.get(OURS + package), shown, None) is thing:
                return THEIRS + package, shown
    return "torch.nn.modules.module" if place == "torch.nn.module" else place, name


def path_of(thing: Any) -> str:
    """Return a class's or function's dotted path, as it is in files."""
    module, name = torch_name(thing) or (thing.__module__, thing.__qualname__)
    return f"{module}.{name}"


def _get_layout(name: str) -> layout:
    """Return the layout that ``torch.`` and its name stand for; AttributeError for other names."""
    place, _, kind = name.rpartition(".")
    if place != THEIRS or kind not in LAYOUTS:
        raise AttributeError(f"mindtorch has no layout {name}")
    return LAYOUTS[kind]


def reduced(thing: Any) -> Any:
    """Return the form of named objects that are not classes in files: a string, or a function and arguments."""
    if isinstance(thing, layout):
        return _get_layout, (repr(thing),)
    if type(thing).__module__ == _TUPLES:
        return type(thing), (tuple(thing), {})
    return thing.name if isinstance(thing, (DType, memory_format)) else NotImplemented
