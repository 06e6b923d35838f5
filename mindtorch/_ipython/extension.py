"""Registers the display formatter and the magics, and takes every trace of them away."""
from __future__ import annotations

from typing import Any

from ..introspect import names_of
from .._tensor import Tensor
from ..viz import tensor_card
from .magics import MindtorchMagics

_loaded: dict[int, MindtorchMagics] = {}


def load(ip: Any) -> None:
    """``%load_ext mindtorch``."""

    def both(tensor: Tensor) -> dict[str, str]:
        # The card first: it never waits, and shows what is pending. The text waits for the values, as PyTorch's does.
        card = str(tensor_card(tensor, names_of(ip.user_ns)))
        return {"text/html": card, "text/plain": repr(tensor)}

    ip.display_formatter.mimebundle_formatter.for_type(Tensor, both)
    magics = MindtorchMagics(ip)
    ip.register_magics(magics)
    _loaded[id(ip)] = magics


def unload(ip: Any) -> None:
    """``%unload_ext mindtorch``."""
    ip.display_formatter.mimebundle_formatter.pop(Tensor, None)
    magics = _loaded.pop(id(ip), None)
    if magics is None:
        return
    for kind, names in magics.magics.items():
        for name in names:
            ip.magics_manager.magics[kind].pop(name, None)
    ip.magics_manager.registry.pop(type(magics).__name__, None)
    if magics in ip.configurables:
        ip.configurables.remove(magics)
