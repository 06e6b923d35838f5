"""Registers formatters, magics, their completion and short tracebacks, and takes every trace of them away."""
from __future__ import annotations

from typing import Any

from .. import introspect, viz
from .._tensor import Tensor
from .inspection import hide_operators, show_operators
from .magics import MindtorchMagics
from .reloading import AfterCells
from .tracebacks import fold_tracebacks, unfold_tracebacks

MODULE = "mindtorch.nn.module", "Module"  #: the class by its name: ``nn`` is loaded when a program uses it


def load(ip: Any) -> None:
    """``%load_ext mindtorch``."""

    def card(tensor: Tensor) -> str:
        return str(viz.tensor_card(tensor, introspect.names_of(ip.user_ns)))

    def both(tensor: Tensor) -> dict[str, str]:
        # The card first: it never waits, and shows what is pending. The text waits, as PyTorch's does.
        html = card(tensor)
        try:
            return {"text/html": html, "text/plain": repr(tensor)}
        except RuntimeError as error:  # the pipeline failed: the card says so too
            return {"text/html": card(tensor), "text/plain": f"<no values: {error}>"}

    def tree(module: Any) -> str:
        return str(viz.module_page(introspect.module_facts(module, introspect.module_name(module, ip.user_ns))))

    unload(ip)
    ip.display_formatter.mimebundle_formatter.for_type(Tensor, both)
    ip.display_formatter.formatters["text/html"].for_type_by_name(*MODULE, tree)
    magics = MindtorchMagics(ip)
    ip.register_magics(magics)
    ip.Completer.custom_matchers.append(magics.complete)
    ip.events.register("post_run_cell", AfterCells(ip))
    fold_tracebacks(ip)
    show_operators(ip)


def unload(ip: Any) -> None:
    """``%unload_ext mindtorch``."""
    introspect.watch_writes(False)
    unfold_tracebacks(ip)
    for callback in [found for found in ip.events.callbacks["post_run_cell"] if isinstance(found, AfterCells)]:
        ip.events.unregister("post_run_cell", callback)
    hide_operators(ip)
    ip.display_formatter.mimebundle_formatter.pop(Tensor, None)
    ip.display_formatter.formatters["text/html"].pop(".".join(MODULE), None)
    magics = ip.magics_manager.registry.pop(MindtorchMagics.__name__, None)
    if magics is None:
        return
    for kind, names in magics.magics.items():
        for name in names:
            ip.magics_manager.magics[kind].pop(name, None)
    ip.configurables.remove(magics)
    ip.Completer.custom_matchers.remove(magics.complete)
