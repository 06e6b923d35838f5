"""Which modules, parameters and buffers ``fully_shard`` of a module is about."""
from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from ....nn.module import Module
from ..._composable_state import applied


def _get_managed_modules(root_modules: Iterable[Module]) -> list[Module]:
    """Return the modules below these, and these, without those that ``fully_shard`` or ``replicate`` manages."""
    roots = list(root_modules)
    found: dict[Module, None] = {}

    def visit(module: Module) -> None:
        if module in found or applied(module, "replicate") or (module not in roots and applied(module, "fully_shard")):
            return
        found[module] = None
        for child in module.children():
            visit(child)

    for root in roots:
        visit(root)
    return list(found)


def _get_managed_states(modules: Iterable[Module],
                        ignored_params: Collection[Any] | None = None) -> tuple[list[Any], list[Any]]:
    """Return the modules' own parameters, each once, and buffers."""
    ignored = {id(parameter) for parameter in ignored_params or ()}
    parameters: dict[Any, None] = {}
    buffers: dict[Any, None] = {}
    for module in modules:
        parameters |= {parameter: None for parameter in module._parameters.values()
                       if parameter is not None and id(parameter) not in ignored}
        buffers |= {buffer: None for buffer in module._buffers.values() if buffer is not None}
    return list(parameters), list(buffers)
