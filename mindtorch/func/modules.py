"""Modules as functions of their parameters and buffers."""
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from .._methods.api import FUNCTIONS
from ..nn.module import Module
from ..nn.modules.batchnorm import _BatchNorm
from ..nn.utils.stateless import _functional_call


def functional_call(module: Module, parameter_and_buffer_dicts: Any, args: Any = None,
                    kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False) -> Any:
    """Call ``module`` with other tensors in place of its parameters and buffers (``torch.func.functional_call``).

    ``parameter_and_buffer_dicts`` is a dict from names to tensors, or a sequence of such dicts; ``args`` is a tuple, or
    the only argument. A value serves for all names of its parameter unless ``tie_weights`` is False; with ``strict``
    every name has to be given.

    Raises:
        ValueError: if a name is in several dicts, or tied names are given different values.
        RuntimeError: with ``strict``, if names are missing or unknown.
    """
    given = parameter_and_buffer_dicts
    if not isinstance(given, dict):
        if not isinstance(given, Sequence):
            raise ValueError("Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
                             f"{type(given)}")
        if not all(isinstance(part, dict) for part in given):
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        repeated = [name for name, count in Counter(name for part in given for name in part).items() if count > 1]
        if repeated:
            raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        given = {name: value for part in given for name, value in part.items()}
    return _functional_call(module, given, args, kwargs, tie_weights=tie_weights, strict=strict)


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters of several models of one class, stacked by name, and their buffers
    (``torch.func.stack_module_state``).

    The stacked parameters are leaves of their own; a dimension for the models comes first. Raises RuntimeError for no
    model, models of different classes or modes, or if a parameter requires grad in some.
    """
    if not len(models):
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({model.training for model in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(model) for model in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = [dict(model.named_parameters()) for model in models]
    buffers = [dict(model.named_buffers()) for model in models]
    return ({name: _stacked([each[name] for each in parameters], name) for name in parameters[0]},
            {name: _stacked([each[name] for each in buffers], name) for name in buffers[0]})


def _stacked(tensors: list[Any], name: str) -> Any:
    """Stack tensors, as a leaf that requires grad if they do."""
    if len({tensor.requires_grad for tensor in tensors}) > 1:
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    result = FUNCTIONS["stack"](tensors)
    return result.detach().requires_grad_() if tensors[0].requires_grad else result


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Have all batch normalisations in ``root``, which is returned, normalise by their batch alone: they lose their
    running statistics, which ``vmap`` could not write (``torch.func.replace_all_batch_norm_modules_``).
    """
    for module in root.modules():
        if isinstance(module, _BatchNorm) and module.track_running_stats:
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
