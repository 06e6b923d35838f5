"""Modules called with other parameters than their own; mirrors ``torch.nn.utils.stateless``."""
from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from ..._base.interrupts import contextmanager
from ..._tensor import Tensor
from ..module import Module
from ._named_member_accessor import swap_tensor

__all__ = ["functional_call"]
__dir__ = __all__.copy

Tensors = dict[str, Tensor]


def _with_tied(module: Module, given: Tensors) -> Tensors:
    """Repeat tensors under their parameters' other names; ValueError if one parameter gets two values."""
    names: dict[int, list[str]] = {}
    for kind in (module.named_parameters, module.named_buffers):
        for name, tensor in kind(remove_duplicate=False):
            names.setdefault(id(tensor), []).append(name)
    untied = dict(given)
    for tied in names.values():
        values = [given[name] for name in tied if name in given]
        if len({id(value) for value in values}) > 1:
            raise ValueError(f"functional_call got multiple values for keys {sorted(tied)}, which are tied. "
                             "Consider using tie_weights=False")
        if values:
            untied.update(dict.fromkeys(tied, values[0]))
    return untied


def _check_keys(module: Module, given: Tensors) -> None:
    own = [name for kind in (module.named_parameters, module.named_buffers)
           for name, _ in kind(remove_duplicate=False)]
    messages = [f"{what} key(s): {', '.join(map(repr, sorted(keys)))}." for what, keys in (
        ("Unexpected", given.keys() - set(own)), ("Missing", set(own) - given.keys())) if keys]
    if messages:
        raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:\n\t" + "\n\t".join(messages))


def _swap(module: Module, path: str, value: Any) -> Any:
    """Put a tensor in the place of a parameter, buffer or attribute, and return what was there."""
    prefix, _, name = path.rpartition(".")
    return swap_tensor(module.get_submodule(prefix), name, value, allow_missing=True)


@contextmanager
def _reparametrize_module(module: Module, parameters_and_buffers: Tensors, tie_weights: bool = False,
                          strict: bool = False) -> Iterator[None]:
    """Give the module these tensors within the block; replacements that it stores meanwhile are written back."""
    given = _with_tied(module, parameters_and_buffers) if tie_weights else dict(parameters_and_buffers)
    if strict:
        _check_keys(module, given)
    before: dict[str, Any] = {}
    names: dict[tuple[int, str], str] = {}  # the first name of each place: a module may stand twice
    first: dict[str, str] = {}
    try:
        for name, tensor in given.items():
            prefix, _, last = name.rpartition(".")
            first[name] = names.setdefault((id(module.get_submodule(prefix)), last), name)
            before.setdefault(first[name], _swap(module, name, tensor))
        yield
    finally:
        after = {name: _swap(module, name, tensor) for name, tensor in before.items()}
        parameters_and_buffers.update({name: after[first[name]] for name in parameters_and_buffers
                                       if first.get(name) in after})


def _functional_call(module: Module, parameters_and_buffers: Mapping[str, Tensor], args: Any = None,
                     kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False) -> Any:
    arguments = args if isinstance(args, tuple) else () if args is None else (args,)
    tensors: Any = parameters_and_buffers
    with _reparametrize_module(module, tensors, tie_weights, strict):
        return module(*arguments, **(kwargs or {}))


def functional_call(module: Module, parameters_and_buffers: dict[str, Tensor], args: Any = None,
                    kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False) -> Any:
    """Call ``module`` with these tensors in place of the parameters and buffers of their names
    (``torch.nn.utils.stateless.functional_call``); ``torch.func.functional_call`` supersedes it.

    A value serves for all names of its parameter unless ``tie_weights`` is False; with ``strict`` every name has to be
    given.

    Raises:
        ValueError: if tied names are given different values.
        RuntimeError: with ``strict``, if names are missing or unknown.
    """
    warnings.warn("`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a "
                  "future version of PyTorch. Please use `torch.func.functional_call` instead which is a drop-in "
                  "replacement.", FutureWarning, stacklevel=2)
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)
