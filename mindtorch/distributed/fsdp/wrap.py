"""``torch.distributed.fsdp.wrap``: which submodules ``FullyShardedDataParallel`` gathers by themselves."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...nn.module import Module

__all__ = ["CustomPolicy", "ModuleWrapPolicy", "always_wrap_policy", "size_based_auto_wrap_policy",
           "transformer_auto_wrap_policy"]


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """Choose every submodule (``torch.distributed.fsdp.wrap.always_wrap_policy``)."""
    return True


def transformer_auto_wrap_policy(module: Module, recurse: bool, nonwrapped_numel: int,
                                 transformer_layer_cls: Iterable[type[Module]]) -> bool:
    """Choose submodules of some classes (``torch.distributed.fsdp.wrap.transformer_auto_wrap_policy``)."""
    return recurse or isinstance(module, tuple(transformer_layer_cls))


def size_based_auto_wrap_policy(module: Module, recurse: bool, nonwrapped_numel: int,
                                min_num_params: int = int(1e8)) -> bool:
    """Choose submodules with so many elements (``torch.distributed.fsdp.wrap.size_based_auto_wrap_policy``)."""
    return nonwrapped_numel >= min_num_params


class ModuleWrapPolicy:
    """Chooses submodules of some classes (``torch.distributed.fsdp.wrap.ModuleWrapPolicy``)."""

    def __init__(self, module_classes: Iterable[type[Module]]):
        self.module_classes = tuple(module_classes)

    def __call__(self, module: Module, recurse: bool = False, *args: Any, **kwargs: Any) -> bool:
        return recurse or isinstance(module, self.module_classes)


class CustomPolicy:
    """Chooses the submodules for which a function returns True
    (``torch.distributed.fsdp.wrap.CustomPolicy``).
    """

    def __init__(self, lambda_fn: Callable[[Module], bool]):
        self._function = lambda_fn

    def __call__(self, module: Module, recurse: bool = False, *args: Any, **kwargs: Any) -> bool:
        return bool(self._function(module))
