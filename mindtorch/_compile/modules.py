"""``torch.compile`` of a module: a module around it whose call is compiled."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..nn.module import Module


class OptimizedModule(Module):
    """A module whose call is compiled (``torch._dynamo.OptimizedModule``). It has the attributes of ``_orig_mod``; its
    ``state_dict`` has that prefix, as in PyTorch. Copies compile anew.
    """

    def __init__(self, mod: Module, compiled: Callable[..., Any]) -> None:
        super().__init__()
        self._orig_mod = mod
        object.__setattr__(self, "_compiled", compiled)

    @property
    def training(self) -> bool:
        """True if the module is in training mode."""
        return self._orig_mod.training

    @training.setter
    def training(self, mode: bool) -> None:
        if "_orig_mod" in self.__dict__.get("_modules", ()):
            self._orig_mod.training = mode

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the compiled module."""
        return self._compiled(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the compiled module."""
        return self._compiled(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        modules = self.__dict__.get("_modules", {})
        if "_orig_mod" not in modules:  # while a copy is made
            raise AttributeError(name)
        return modules["_orig_mod"] if name == "_orig_mod" else getattr(modules["_orig_mod"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("_orig_mod", "training") or "_modules" not in self.__dict__ or "_orig_mod" not in self._modules:
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)

    def __dir__(self) -> list[str]:
        return dir(self._orig_mod)

    def extra_repr(self) -> str:
        """Return nothing: the module inside describes itself."""
        return ""
