"""``torch.distributed.checkpoint.state_dict``: the states of models and optimizers by the parameters' names, whatever
strategy spreads them over processes.
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..._autograd.grad_mode import no_grad
from ..._dispatch.aten import zeros_like
from ..._tensor import Tensor
from ...nn.module import Module
from ...nn.parallel.distributed import DistributedDataParallel
from ...optim.optimizer import Optimizer
from ...utils._pytree import tree_map
from .._collectives.groups import get_rank, is_initialized
from .._collectives.objects import broadcast_object_list
from ..tensor._api import DTensor, distribute_tensor

__all__ = ["StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict",
           "set_model_state_dict", "set_optimizer_state_dict", "set_state_dict"]


@dataclass
class StateDictOptions:
    """What the states hold (``torch.distributed.checkpoint.state_dict.StateDictOptions``).

    ``full_state_dict``: whole tensors instead of DTensors; with ``cpu_offload`` only in rank 0.
    ``ignore_frozen_params``: without parameters that need no gradient. ``strict``: as of ``load_state_dict``.
    ``broadcast_from_rank0``: rank 0 has the states that are set.
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False


def _plain(model: Module) -> Module:
    """Return the module in a ``DistributedDataParallel``."""
    return model.module if isinstance(model, DistributedDataParallel) else model


def _shown(state: Any, options: StateDictOptions) -> Any:
    """Return a state with whole tensors, if they are asked for."""
    if options.full_state_dict:
        state = tree_map(lambda x: x.full_tensor() if isinstance(x, DTensor) else x, state)
        if options.cpu_offload and is_initialized() and get_rank():
            return {}
    return state


@no_grad()
def get_model_state_dict(model: Module, *, submodules: set[Module] | None = None,
                         options: StateDictOptions | None = None) -> dict[str, Any]:
    """Return a model's state (``torch.distributed.checkpoint.state_dict.get_model_state_dict``)."""
    options, model = options or StateDictOptions(), _plain(model)
    state = model.state_dict()
    if submodules:
        prefixes = tuple(f"{name}." for name, module in model.named_modules() if module in submodules)
        state = {name: value for name, value in state.items() if name.startswith(prefixes)}
    if options.ignore_frozen_params:
        frozen = {name for name, parameter in model.named_parameters(remove_duplicate=False)
                  if not parameter.requires_grad}
        state = {name: value for name, value in state.items() if name not in frozen}
    return _shown(dict(state), options)


def _names(model: Module, optimizer: Optimizer) -> dict[int, str]:
    """Return the names of an optimizer's parameters, by their numbers in its ``state_dict``."""
    name_of = {id(parameter): name for name, parameter in reversed(list(_plain(model).named_parameters()))}
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    return {number: name_of[id(parameter)] for number, parameter in enumerate(parameters)}


def _begin(optimizer: Optimizer) -> None:
    """Let an optimizer that has made no step make its state, without changing parameters."""
    if optimizer.state:
        return
    parameters = [p for group in optimizer.param_groups for p in group["params"] if p.requires_grad]
    if any(parameter.grad is not None for parameter in parameters):
        raise RuntimeError("the optimizer has gradients, but no state: make a step, or zero_grad() first")
    before = [(group, group["lr"], group.get("weight_decay")) for group in optimizer.param_groups]
    for parameter in parameters:
        parameter.grad = zeros_like(parameter)
    kept = [parameter.detach().clone() for parameter in parameters]
    for group, rate, _ in before:
        group["lr"] = zeros_like(rate) if isinstance(rate, Tensor) else 0.0
    optimizer.step()
    for group, rate, _ in before:
        group["lr"] = rate
    for parameter, old in zip(parameters, kept, strict=True):
        parameter.detach().copy_(old)
    optimizer.zero_grad(set_to_none=True)


def _listed(optimizers: Optimizer | Iterable[Optimizer]) -> list[Optimizer]:
    return [optimizers] if isinstance(optimizers, Optimizer) else list(optimizers)


@no_grad()
def get_optimizer_state_dict(model: Module, optimizers: Optimizer | Iterable[Optimizer], *,
                             submodules: set[Module] | None = None,
                             options: StateDictOptions | None = None) -> dict[str, Any]:
    """Return optimizers' states by the parameters' names
    (``torch.distributed.checkpoint.state_dict.get_optimizer_state_dict``).
    """
    options = options or StateDictOptions()
    found: dict[str, Any] = {"state": {}, "param_groups": []}
    for optimizer in _listed(optimizers):
        _begin(optimizer)
        names, state = _names(model, optimizer), optimizer.state_dict()
        found["state"] |= {names[number]: value for number, value in state["state"].items()}
        found["param_groups"] += [{**group, "params": [names[number] for number in group["params"]]}
                                  for group in state["param_groups"]]
    if options.flatten_optimizer_state_dict:
        found = _flat(found)
    return _shown(found, options)


def _flat(state: dict[str, Any]) -> dict[str, Any]:
    out = {f"state.{name}.{key}": value for name, values in state["state"].items() for key, value in values.items()}
    return out | {f"param_groups.{name}.{key}": value for group in state["param_groups"] for name in group["params"]
                  for key, value in group.items() if key != "params"}


def _unflat(state: dict[str, Any], names: dict[int, str], optimizer: Optimizer) -> dict[str, Any]:
    """Return a flat state as one by names."""
    values: dict[str, Any] = {name: {} for name in names.values()}
    for name in names.values():
        begin = f"state.{name}."
        values[name] = {key[len(begin):]: value for key, value in state.items() if key.startswith(begin)}
    groups, number = [], 0
    for group in optimizer.state_dict()["param_groups"]:
        mine = [names[number + place] for place in range(len(group["params"]))]
        number += len(mine)
        groups.append({"params": mine, **{key: state[f"param_groups.{mine[0]}.{key}"] for key in group
                                          if key != "params" and f"param_groups.{mine[0]}.{key}" in state}})
    return {"state": {name: value for name, value in values.items() if value}, "param_groups": groups}


def get_state_dict(model: Module, optimizers: Optimizer | Iterable[Optimizer], *,
                   submodules: set[Module] | None = None,
                   options: StateDictOptions | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a model's and its optimizers' states (``torch.distributed.checkpoint.state_dict.get_state_dict``)."""
    return (get_model_state_dict(model, submodules=submodules, options=options),
            get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options))


def _given(state: Any, options: StateDictOptions) -> Any:
    """Return a state that is set: rank 0's, if it alone has it."""
    if not (options.broadcast_from_rank0 and is_initialized()):
        return state
    box = [state]
    broadcast_object_list(box, src=0)
    return box[0]


def _like(value: Any, own: Any) -> Any:
    """Return a whole tensor as a DTensor that lies as the one that it is set to."""
    if isinstance(own, DTensor) and isinstance(value, Tensor) and not isinstance(value, DTensor) and (
            value.shape == own.shape):
        return distribute_tensor(value.detach(), own.device_mesh, own.placements, src_data_rank=None)
    return value


@no_grad()
def set_model_state_dict(model: Module, model_state_dict: dict[str, Any], *,
                         options: StateDictOptions | None = None) -> Any:
    """Set a model's state, of DTensors or of whole tensors
    (``torch.distributed.checkpoint.state_dict.set_model_state_dict``).
    """
    options, model = options or StateDictOptions(), _plain(model)
    state, own = _given(model_state_dict, options), model.state_dict()
    return model.load_state_dict({name: _like(value, own.get(name)) for name, value in state.items()},
                                 strict=options.strict)


@no_grad()
def set_optimizer_state_dict(model: Module, optimizers: Optimizer | Iterable[Optimizer],
                             optim_state_dict: dict[str, Any], *, options: StateDictOptions | None = None) -> None:
    """Set optimizers' states, which have the parameters' names
    (``torch.distributed.checkpoint.state_dict.set_optimizer_state_dict``).
    """
    options = options or StateDictOptions()
    given = _given(optim_state_dict, options)
    for optimizer in _listed(optimizers):
        _begin(optimizer)
        names = _names(model, optimizer)
        state = given if "param_groups" in given else _unflat(given, names, optimizer)
        number_of, own = {name: number for number, name in names.items()}, optimizer.state_dict()
        values = {number_of[name]: {key: _like(value, own["state"].get(number_of[name], {}).get(key))
                                    for key, value in entries.items()}
                  for name, entries in state["state"].items() if name in number_of}
        theirs = {name: group for group in state["param_groups"] for name in group["params"]}
        groups = [{**group, **{key: value for key, value in theirs.get(names[group["params"][0]], {}).items()
                               if key != "params"}} if group["params"] else group for group in own["param_groups"]]
        optimizer.load_state_dict({"state": values, "param_groups": groups})


def set_state_dict(model: Module, optimizers: Optimizer | Iterable[Optimizer], *, model_state_dict: dict[str, Any],
                   optim_state_dict: dict[str, Any], options: StateDictOptions | None = None) -> Any:
    """Set a model's and its optimizers' states (``torch.distributed.checkpoint.state_dict.set_state_dict``)."""
    found = set_model_state_dict(model, model_state_dict, options=options)
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return found
