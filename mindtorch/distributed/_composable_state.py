"""``torch.distributed._composable_state``: what functions such as ``fully_shard`` keep of the modules they change."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from ..nn.module import Module

_STATES = "_composable_api_states"  # the attribute of a module: states by the functions' names


class _State:
    """The state of a composable function for a module, or for several that it was given together."""


def roots(modules: Sequence[Module]) -> list[Module]:
    """Return the modules that lie in none of the others (``torch.distributed.utils._get_root_modules``)."""
    unique = list(dict.fromkeys(modules))
    inner = {id(child) for module in unique for child in module.modules() if child is not module}
    return [module for module in unique if id(module) not in inner]


def applied(module: Module, name: str) -> bool:
    """Return whether a composable function has been applied to a module."""
    return name in module.__dict__.get(_STATES, ())


def _names(module: Module) -> list[tuple[str, list[str]]]:
    return [("parameters", [name for name, _ in module.named_parameters()]),
            ("buffers", [name for name, _ in module.named_buffers()]),
            ("modules", [name for name, _ in module.named_modules()])]


def contract(state_cls: Callable[[], Any] = _State) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a function that changes a module in place, or several (``torch.distributed._composable.contract``).

    ``function.state(module)`` returns what it keeps of the module, or None.

    Raises:
        AssertionError: of the function, if it has been applied to the module already.
        RuntimeError: of the function, if it changes names of parameters, buffers or modules.
    """
    def decorate(function: Callable[..., Any]) -> Any:
        name = function.__name__

        @wraps(function)
        def apply(module: Any, *args: Any, **kwargs: Any) -> Any:
            state = state_cls()
            modules = [module] if isinstance(module, Module) else roots(module)
            for item in modules:
                if applied(item, name):
                    raise AssertionError("Each distinct composable distributed API can only be applied to a module "
                                         f"once. {name} has already been applied to the following module:\n{item}")
            before = [_names(item) for item in modules]
            for item in modules:
                item.__dict__.setdefault(_STATES, {})[name] = state
            try:
                found = function(module, *args, **kwargs)
            except BaseException:  # the module is as before, and the function may be called again
                for item in modules:
                    del item.__dict__[_STATES][name]
                raise
            found = module if found is None else found
            after = [_names(item) for item in ([found] if isinstance(found, Module) else roots(found))]
            if len(before) != len(after):
                raise AssertionError(f"{name} should return the same number of modules as input modules: it was given "
                                     f"{len(before)}, and returns {len(after)}")
            for (kind, old), (_, new) in [pair for rows in zip(before, after, strict=True)
                                          for pair in zip(*rows, strict=True)]:
                if old != new:
                    raise RuntimeError(f"Checking {kind}: Composable distributed API implementations cannot modify "
                                       + ("FQNs" if set(old) != set(new) else "the order of FQNs")
                                       + f".\nOriginal FQNs: {old}\nNew FQNs: {new}")
            return found

        apply.state = lambda module: module.__dict__.get(_STATES, {}).get(name)  # type: ignore[attr-defined]
        return apply

    return decorate
