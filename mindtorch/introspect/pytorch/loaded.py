"""Find out if the program has imported PyTorch, and recognise its objects; nothing here imports it."""
from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from functools import wraps
from types import ModuleType
from typing import Any, TypeVar

Answer = TypeVar("Answer", bound=Callable[..., Any])


class _Thread(threading.local):
    """True while an answer is computed: nested answers find everything turned off."""

    is_quiet = False


_thread = _Thread()


def pytorch() -> ModuleType | None:
    """PyTorch's module, if the program has imported it (and ``torch`` does not mean mindtorch)."""
    found = sys.modules.get("torch")
    if found is None or found.__name__ != "torch" or found is sys.modules.get("mindtorch"):
        return None
    return found if all(hasattr(found, name) for name in ("Tensor", "autograd", "_C")) else None  # else half imported


def quietly(answer: Answer) -> Answer:
    """Wrap a function to run outside of all modes, unrecorded, without any class's ``__torch_function__``."""

    @wraps(answer)
    def outside(*args: Any) -> Any:
        if _thread.is_quiet:
            return answer(*args)
        torch = sys.modules["torch"]
        with torch._C.DisableTorchFunction(), torch.no_grad(), torch.utils._python_dispatch._disable_current_modes():
            _thread.is_quiet = True
            try:
                return answer(*args)
            finally:
                _thread.is_quiet = False

    return outside  # type: ignore[return-value]


def library_path() -> str:
    """Return PyTorch's folder, or a name that no file has if PyTorch is not loaded."""
    torch = pytorch()
    return "<PyTorch>" if torch is None else os.path.dirname(torch.__file__ or "")


def is_pytorchs_tensor(value: Any) -> bool:
    """Return True if an object is a tensor of PyTorch's."""
    torch = pytorch()
    return torch is not None and issubclass(type(value), torch.Tensor)


def is_pytorchs_node(value: Any) -> bool:
    """Return True if an object is a node of PyTorch's autograd graph."""
    torch = pytorch()
    return torch is not None and hasattr(type(value), "next_functions") and isinstance(value, torch.autograd.graph.Node)


def is_pytorchs(value: Any) -> bool:
    """Return True if an object is a tensor, a storage or a node of PyTorch's."""
    torch = pytorch()
    return torch is not None and (isinstance(value, (torch.UntypedStorage, torch.TypedStorage))
                                  or is_pytorchs_tensor(value) or is_pytorchs_node(value))


def tensors_in(values: Any) -> Iterator[Any]:
    """PyTorch's tensors in arguments, however they are nested."""
    for value in values.values() if isinstance(values, dict) else values if isinstance(values, (list, tuple)) else ():
        if is_pytorchs_tensor(value):
            yield value
        else:
            yield from tensors_in(value)
