"""``torch.distributed._composable.replicate``: DistributedDataParallel without a module around the module."""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from ...nn.module import Module
from ...nn.modules.container import ParameterList
from ...nn.parallel.distributed import DistributedDataParallel
from .._composable_state import _State, applied, contract


class _ReplicateState(_State):
    """The DistributedDataParallel of a module, which is made in the first forward pass."""

    def __init__(self) -> None:
        self.make: Callable[[], DistributedDataParallel] | None = None
        self.hooks: list[tuple[Any, Any]] = []
        self.syncs = True

    @functools.cached_property
    def ddp(self) -> DistributedDataParallel:
        """The parameters' DistributedDataParallel."""
        assert self.make is not None
        made = self.make()
        for hook in self.hooks:
            made.register_comm_hook(*hook)
        return made


class DDP:
    """A module whose gradients are averages over processes."""

    def __deepcopy__(self, memo: Any) -> Any:
        raise AssertionError("DDP does not support deepcopy. Please use state dict for serialization.")

    def set_requires_gradient_sync(self, requires_gradient_sync: bool) -> None:
        """Set whether backward passes average gradients; else these are added up until one does."""
        replicate.state(self).syncs = requires_gradient_sync

    def register_comm_hook(self, state: Any, hook: Callable[[Any, Any], Any]) -> None:
        """Let ``hook(state, bucket)`` average each bucket of gradients."""
        replicate.state(self).hooks.append((state, hook))


def _parameters(module: Module, ignored: set[int]) -> Iterable[Any]:
    """Yield the parameters outside of modules that are sharded, or to be left alone."""
    if applied(module, "fully_shard") or id(module) in ignored:
        return
    yield from (parameter for parameter in module._parameters.values() if parameter is not None)
    for child in module.children():
        yield from _parameters(child, ignored)


@functools.cache
def _class_of(kind: type) -> type:
    return type(f"DDP{kind.__name__}", (DDP, kind), {"__module__": kind.__module__})


@contract(state_cls=_ReplicateState)
def replicate(module: Module, ignored_modules: Iterable[Module] | None = None, **kwargs: Any) -> Module:
    """Average a module's gradients over processes (``torch.distributed._composable.replicate``).

    Args:
        module: the module, changed in place.
        ignored_modules: modules whose parameters are left alone, as are those that ``fully_shard`` has divided.
        kwargs: arguments of ``DistributedDataParallel``; ``device_id`` is the module's device, and ``device_mesh`` of
            one dimension stands for its group.

    Raises:
        RuntimeError: if the module is sharded, or ``device_id`` is no number or device.
    """
    if applied(module, "fully_shard"):
        raise RuntimeError("Cannot apply `replicate()` on a Module already managed by `fully_shard`")
    kwargs.pop("device_id", None)
    mesh = kwargs.pop("device_mesh", None)
    if mesh is not None:
        kwargs["process_group"] = mesh.get_group()
    state: _ReplicateState = replicate.state(module)
    ignored = {id(item) for item in ignored_modules or ()}

    def make() -> DistributedDataParallel:
        unique = dict.fromkeys(_parameters(module, ignored))
        return DistributedDataParallel(ParameterList(unique), **kwargs)

    def before(module: Module, inputs: Any) -> None:
        state.ddp.require_backward_grad_sync = state.syncs
        state.ddp.begin_forward()

    state.make = make
    module.register_forward_pre_hook(before)
    kind: Any = type(module)
    module.__class__ = _class_of(kind)
    return module
