"""Modules without initial values; mirrors ``torch.nn.utils.init``."""
from __future__ import annotations

import inspect
from typing import Any

from ..module import Module

__all__ = ["skip_init"]
__dir__ = __all__.copy


def skip_init(module_cls: type[Module], *args: Any, **kwargs: Any) -> Module:
    """Make a module whose parameters have no particular values (``torch.nn.utils.skip_init``). Raises RuntimeError if
    ``module_cls`` is not a class of modules, or does not take a ``device``.
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, **kwargs, device="meta").to_empty(device=device)
