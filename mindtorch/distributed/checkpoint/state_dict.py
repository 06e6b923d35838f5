"""``torch.distributed.checkpoint.state_dict``: the states of models and optimizers by the parameters' names, whatever
strategy spreads them over processes.
"""
from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..._autograd.grad_mode import no_grad
from ..._dispatch.aten import zeros_like
from ..._tensor import Tensor
from ...nn._state import _IncompatibleKeys
from ...nn.module import Module
from ...nn.parallel.distributed import DistributedDataParallel
from ...optim.optimizer import Optimizer
from .._collectives.groups import is_initialized
from .._collectives.objects import broadcast_object_list
from .._state_dict_utils import _distribute_tensors, _gather_state_dict, _offload_state_dict_to_cpu
from ..algorithms._checkpoint.checkpoint_wrapper import _CHECKPOINT_PREFIX
from ..fsdp.fully_sharded_data_parallel import FullyShardedDataParallel
from ..tensor._api import DTensor, distribute_tensor

_PG, _STATE = "param_groups", "state"
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


def _inside(module: Module) -> str | None:
    """Return the attribute in which a wrapper has its module."""
    if isinstance(module, (DistributedDataParallel, FullyShardedDataParallel)):
        return "module"
    return "_orig_mod" if "_orig_mod" in module._modules else None  # a compiled module's


def _plain(model: Module) -> Module:
    """Return the module in wrappers."""
    while (name := _inside(model)) is not None:
        model = getattr(model, name)
    return model


def _namer(model: Module) -> Callable[[str], str]:
    """Return a function that takes the wrappers out of a name."""
    begins = [(f"{name}.{inside}.".replace(_CHECKPOINT_PREFIX, ""), f"{name}.".replace(_CHECKPOINT_PREFIX, ""))
              for name, module in reversed(list(model.named_modules())) if (inside := _inside(module)) is not None]

    def named(name: str) -> str:
        name = name.replace(_CHECKPOINT_PREFIX, "")
        for begin, without in begins:
            if name.startswith(begin):
                name = without + name[len(begin):]
        return name

    return named


def _shown(state: Any, options: StateDictOptions) -> Any:
    """Return a state with whole tensors, and in host memory, if they are asked for."""
    if options.full_state_dict:
        return _gather_state_dict(state, cpu_offload=options.cpu_offload, type_check=False,
                                  ranks_only=(0,) if options.cpu_offload else ())
    return _offload_state_dict_to_cpu(state, type_check=False) if options.cpu_offload else state


@no_grad()
def get_model_state_dict(model: Module, *, submodules: set[Module] | None = None,
                         options: StateDictOptions | None = None) -> dict[str, Any]:
    """Return a model's state (``torch.distributed.checkpoint.state_dict.get_model_state_dict``)."""
    options, model = options or StateDictOptions(), _plain(model)
    named = _namer(model)
    state = {named(name): value for name, value in _own(model, "state_dict")().items()}
    if submodules:
        warnings.warn("Getting submodules only model/optim state_dict is deprecated and will be removed in 2.5. This "
                      "feature can be achieved by manually filtering out the state_dict returned from get_state_dict.",
                      FutureWarning, stacklevel=3)
        prefixes = [f"{named(name)}." for name, module in model.named_modules() if module in submodules]
        state = {name if options.keep_submodule_prefixes else name[len(prefix):]: value
                 for name, value in state.items() for prefix in prefixes if name.startswith(prefix)}
    if options.ignore_frozen_params:
        frozen = {named(name) for name, parameter in model.named_parameters(remove_duplicate=False)
                  if not parameter.requires_grad}
        state = {name: value for name, value in state.items() if name not in frozen}
    return _shown(state, options)


def _names(model: Module, optimizer: Optimizer) -> dict[int, str]:
    """Return the names of an optimizer's parameters, by their numbers in its ``state_dict``."""
    model = _plain(model)
    named = _namer(model)
    name_of = {id(parameter): named(name) for name, parameter in reversed(list(model.named_parameters()))}
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    return {number: name_of[id(parameter)] for number, parameter in enumerate(parameters)}


def _begin(optimizer: Optimizer) -> None:
    """Let an optimizer that has made no step make its state, without changing parameters."""
    if optimizer.state:
        return
    parameters = [p for group in optimizer.param_groups for p in group["params"] if p.requires_grad]
    if any(parameter.grad is not None for parameter in parameters):
        return  # of an optimizer without state, or one that is given its state now
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
        names, state = _names(model, optimizer), _own(optimizer, "state_dict")()
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
    for group in _own(optimizer, "state_dict")()["param_groups"]:
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
    named, own = _namer(model), _own(model, "state_dict")()
    given = _given(_with_names(model, model_state_dict, named), options)
    name_of = {named(name): name for name in own}
    state = {name_of.get(name, name): value for name, value in given.items()}
    for name, value in state.items():
        mine = own.get(name)
        if isinstance(mine, DTensor) and type(value) is not DTensor and value.shape == mine.shape:
            state[name] = mine, value
    _distribute_tensors(state, list(state), None)
    assign = any(isinstance(own.get(name), Tensor) and own[name].is_meta for name in state)
    return _own(model, "load_state_dict")(state, strict=options.strict, assign=assign)


def _with_names(model: Module, state: dict[Any, Any], named: Callable[[str], str]) -> dict[str, Any]:
    """Return one state of a model where there are states of submodules."""
    if not state or not isinstance(next(iter(state)), Module):
        return state
    warnings.warn("Passing model_state_dict as a ``Dict[nn.Module, Dict[str, Any]]``is deprecated and will be removed "
                  "in 2.5. If you need this feature, please preprocess the model_state_dict to achieve the same "
                  "functionality.", FutureWarning, stacklevel=4)
    return {f"{named(name)}.{key}": value for name, module in model.named_modules() if module in state
            for key, value in state[module].items()}


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
        number_of, own = {name: number for number, name in names.items()}, _own(optimizer, "state_dict")()
        values = {number_of[name]: {key: _like(value, own["state"].get(number_of[name], {}).get(key))
                                    for key, value in entries.items()}
                  for name, entries in state["state"].items() if name in number_of}
        theirs = {name: group for group in state["param_groups"] for name in group["params"]}
        groups = [{**group, **{key: value for key, value in theirs.get(names[group["params"][0]], {}).items()
                               if key != "params"}} if group["params"] else group for group in own["param_groups"]]
        _own(optimizer, "load_state_dict")({"state": values, "param_groups": groups})


def set_state_dict(model: Module, optimizers: Optimizer | Iterable[Optimizer], *, model_state_dict: dict[str, Any],
                   optim_state_dict: dict[str, Any], options: StateDictOptions | None = None) -> Any:
    """Set a model's and its optimizers' states (``torch.distributed.checkpoint.state_dict.set_state_dict``)."""
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    if not model_state_dict and not (options and options.broadcast_from_rank0):
        return _IncompatibleKeys([], [])  # the optimizers' alone
    return set_model_state_dict(model, model_state_dict, options=options)


def _own(owner: Any, name: str) -> Callable[..., Any]:
    """Return a method of a model or an optimizer, without what the two functions below have put in its place."""
    found = getattr(owner, name)
    return partial(getattr(type(owner), name), owner) if isinstance(found, partial) and found.func in (
        get_model_state_dict, set_model_state_dict, get_optimizer_state_dict, set_optimizer_state_dict) else found


def _patch_model_state_dict(model: Module, *, options: StateDictOptions | None = None) -> None:
    """Let a model's ``state_dict`` and ``load_state_dict`` be the functions of this module."""
    model.state_dict = partial(get_model_state_dict, model, options=options)  # type: ignore[method-assign]
    model.load_state_dict = partial(set_model_state_dict, model, options=options)  # type: ignore[method-assign]


def _patch_optimizer_state_dict(model: Module, *, optimizers: Optimizer | Iterable[Optimizer],
                                options: StateDictOptions | None = None) -> None:
    """Let each optimizer's ``state_dict`` and ``load_state_dict`` be those of all optimizers, by names."""
    several = _listed(optimizers)
    for optimizer in several:
        optimizer.state_dict = partial(  # type: ignore[method-assign]
            get_optimizer_state_dict, model, several, options=options)
        optimizer.load_state_dict = partial(  # type: ignore[method-assign]
            set_optimizer_state_dict, model, several, options=options)
