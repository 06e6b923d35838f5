"""The names under which generated code calls functions: those that PyTorch's own graphs print."""
from __future__ import annotations

import builtins
import functools
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any

from .._dispatch.overloads import OpOverload, OpOverloadPacket
from .._methods import functions
from .._tensor import Tensor

#: The package's name, whether or not it is installed as PyTorch.
PACKAGE = __name__.partition(".")[0]
#: The package, as generated code knows it: ``torch``.
torch: Any = sys.modules[PACKAGE]
#: The functions that PyTorch defines in Python, in ``torch.functional``; ``torch`` has them under the same names.
IN_FUNCTIONAL = frozenset((
    "align_tensors", "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors",
    "cartesian_prod", "cdist", "chain_matmul", "einsum", "lu", "meshgrid", "norm", "split", "stft",
    "tensordot", "unique", "unique_consecutive", "unravel_index",
))
#: Functions that are operators here, and Python in PyTorch, with the arguments that it hands on by keyword.
IN_PYTHON = {
    "cdist": ("p", "compute_mode"),
    "glu": ("dim",),
    "norm": ("p", "dim", "keepdim", "out", "dtype"),
    "pad": ("mode", "value"),
    "stft": ("hop_length", "win_length", "window", "center", "pad_mode", "normalized", "onesided", "return_complex",
             "align_to_window"),
    "unique": ("sorted", "return_inverse", "return_counts", "dim"),
    "unique_consecutive": ("return_inverse", "return_counts", "dim"),
}
#: The namespaces whose functions PyTorch defines in C++, and the prefix of their names there.
IN_CPP = {"linalg": "torch._C._linalg.linalg_", "fft": "torch._C._fft.fft_", "special": "torch._C._special.special_"}


@functools.cache
def _names() -> dict[Any, str]:
    """Return PyTorch's name of each public function of the library."""
    found: dict[Any, str] = {}

    def add(value: Any, name: str) -> None:
        if isinstance(value, types.FunctionType):
            found.setdefault(value, name)

    for name in (*torch.__all__, "_assert"):
        add(getattr(torch, name), f"torch.functional.{name}" if name in IN_FUNCTIONAL else f"torch.{name}")
    for name in torch.nn.functional.__all__:
        value = getattr(torch.nn.functional, name)
        in_cpp = value.__module__ == functions.__name__ and name not in IN_PYTHON
        add(value, f"torch._C._nn.{value.packet}" if in_cpp else f"torch.nn.functional.{name}")
    for space, prefix in IN_CPP.items():
        for name in getattr(torch, space).__all__:
            add(getattr(getattr(torch, space), name), prefix + name)
    return found


def qualified_name(function: Any) -> str:
    """Return the name of a function, a class or an operator in generated code: ``torch.nn.functional.relu``.

    Raises:
        RuntimeError: for a lambda without source.
    """
    if isinstance(function, (OpOverload, OpOverloadPacket)):
        return f"torch.ops.{function}"
    name = function.__name__
    if getattr(builtins, name, None) is function:
        return name
    if isinstance(function, types.FunctionType):
        if (public := _names().get(function)) is not None:
            return public
        if function is getattr(Tensor, name, None):
            return f"torch.Tensor.{name}"
    if name == "<lambda>":
        try:
            name = inspect.getsource(function).split("=")[0].strip()
        except OSError as error:
            raise RuntimeError("Unable to represent lambda") from error
    if function.__module__ is None:
        raise RuntimeError(f"cannot find module for {function}")
    return f"{module_of(function)}.{name}"


def module_of(value: Any) -> str:
    """Return PyTorch's name of the module of a class or function; other modules keep their names."""
    module = value.__module__
    if not f"{module}.".startswith(f"{PACKAGE}."):
        return module
    return "torch" if getattr(torch, value.__qualname__, None) is value else "torch" + module[len(PACKAGE):]


def is_from_torch(value: Any, name: str) -> bool:
    """Return True if generated code finds a value under a name that begins with ``torch``; methods become globals."""
    if not name.startswith("torch.") or name.startswith("torch.Tensor."):
        return False
    found: Any = torch
    try:
        for part in name.split(".")[1:]:
            found = getattr(found, part)
    except AttributeError:
        return False
    return found is value or (isinstance(value, OpOverloadPacket) and found == value)


def short_name(function: Callable[..., Any]) -> str:
    """Return the name after which nodes are named: the last part of the function's name in PyTorch."""
    if isinstance(function, types.FunctionType) and (public := _names().get(function)) is not None:
        return public.rpartition(".")[2]
    return function.__name__


def type_name(value: Any) -> str:
    """Return a type as annotations show it."""
    if isinstance(value, type) and not isinstance(value, types.GenericAlias):
        if value.__module__ == "builtins":
            return value.__qualname__
        return f"{module_of(value)}.{value.__qualname__}"
    if value is ...:
        return "..."
    return value.__name__ if isinstance(value, types.FunctionType) else repr(value)
