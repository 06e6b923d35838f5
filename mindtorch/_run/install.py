"""``import torch`` as mindtorch."""
from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from multiprocessing import spawn
from pathlib import Path
from types import ModuleType
from typing import Any

from .._base.forks import load_module
from .._base.lazy import has_module
from .._base.left_out import Absent, is_imported, reason
from .._dispatch.overloads import LIBRARIES

#: Packages through whose ``__dict__`` Pyro walks, where lazy names are not yet.
WALKED = ("mindtorch.distributions", "mindtorch.optim", "mindtorch.optim.lr_scheduler")
PACKAGE = Path(__file__).parents[1]


class _Loader(importlib.abc.Loader):
    """Puts mindtorch's module in the place of PyTorch's, with the modules loaded below it: importing these once more
    would make them attributes of their package, where ``torch.autograd.gradcheck`` is a function.
    """

    def __init__(self, ours: str):
        self.ours = ours

    def create_module(self, spec: Any) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = loaded = importlib.import_module(self.ours)
        if self.ours in WALKED:
            for name in dir(loaded):
                getattr(loaded, name)
        for name, below in list(sys.modules.items()):
            if name.startswith(self.ours + "."):
                sys.modules.setdefault("torch" + name[len("mindtorch"):], below)


class _AbsentLoader(importlib.abc.Loader):
    """Makes a left-out module that can be imported."""

    def create_module(self, spec: Any) -> ModuleType:
        return Absent(spec.name.removeprefix("torch."))

    def exec_module(self, module: ModuleType) -> None:
        pass


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> Any:
        package, _, name = fullname.partition(".")
        if package == "functorch":
            return importlib.machinery.ModuleSpec(fullname, _Loader(f"mindtorch.{fullname}"))
        if package not in ("torch", "mindtorch"):
            return None
        folder, _, last = name.replace(".", "/").rpartition("/")
        if is_imported(name) and not has_module(PACKAGE / folder, last) and package == "torch":
            return importlib.machinery.ModuleSpec(fullname, _AbsentLoader(), is_package=True)
        if (why := reason(name)) is not None and not is_imported(name):
            # With another name than the one that is imported, so that ``from torch import package`` passes it on.
            raise ModuleNotFoundError(why, name=f"mindtorch.{name}")
        if package != "torch":
            return None
        ours = "mindtorch" + fullname[len("torch"):]
        if importlib.util.find_spec(ours) is None:
            elsewhere = getattr(sys.modules["mindtorch"], name, None)  # such as ``return_types``, an attribute alone
            if not isinstance(elsewhere, ModuleType):
                raise ModuleNotFoundError(f"No module named '{fullname}': mindtorch does not have it", name=fullname)
            ours = elsewhere.__name__
        return importlib.machinery.ModuleSpec(fullname, _Loader(ours))


class _Installed:
    """The first object sent to a new process: unpickling it installs mindtorch before the main module."""

    def __reduce__(self) -> Any:
        return install_as_torch, ()


def _preparation_data(name: str) -> dict[str, Any]:
    """Return the data that ``multiprocessing`` sends to a process started by ``spawn`` or ``forkserver``."""
    return {"mindtorch": _Installed(), **_plain_preparation_data(name)}


_finder = _Finder()
_plain_preparation_data = spawn.get_preparation_data


def install_as_torch() -> None:
    """Make ``import torch``, and the names below it, mean mindtorch from now on, in this process and in those that it
    starts by ``multiprocessing``. Raises RuntimeError if PyTorch itself has been imported already.
    """
    loaded = sys.modules.get("torch")
    ours = sys.modules["mindtorch"]
    if loaded is not None and loaded is not ours:
        raise RuntimeError("install_as_torch(): PyTorch has been imported already; call this before anything imports "
                           "torch")
    for library in ("_torchaudio", "libtorchaudio"):
        LIBRARIES[f"lib/{library}"] = lambda: load_module("mindtorch._run.torchaudio").define()
    LIBRARIES["torchvision/_C"] = lambda: load_module("mindtorch._run.torchvision").define()
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    vars(spawn)["get_preparation_data"] = _preparation_data
    vars(ours).update(torch=ours, __name__="torch")  # as in PyTorch, which imports itself


def uninstall_as_torch() -> None:
    """Undo ``install_as_torch``."""
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    vars(spawn)["get_preparation_data"] = _plain_preparation_data
    ours = sys.modules["mindtorch"]
    ours.__name__ = "mindtorch"
    vars(ours).pop("torch", None)
    for name in [n for n, m in sys.modules.items() if n.partition(".")[0] == "torch"
                 and (m is ours or m.__name__.startswith("mindtorch"))]:
        del sys.modules[name]
