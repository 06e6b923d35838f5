"""``torch.distributed.algorithms._checkpoint.checkpoint_wrapper``: modules that keep fewer activations.

The names in a ``state_dict`` and of ``named_parameters`` are those without the wrappers.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum, auto
from functools import partial
from typing import Any

from ....autograd.graph import save_on_cpu
from ....nn.module import Module
from ....utils.checkpoint import checkpoint
from ...fsdp.wrap import CustomPolicy, ModuleWrapPolicy

__all__ = ["ActivationWrapper", "CheckpointImpl", "CheckpointWrapper", "OffloadWrapper",
           "apply_activation_checkpointing", "checkpoint_wrapper", "offload_wrapper"]
_CHECKPOINT_WRAPPED_MODULE = "_checkpoint_wrapped_module"
_CHECKPOINT_PREFIX = f"{_CHECKPOINT_WRAPPED_MODULE}."


class CheckpointImpl(Enum):
    """The way of recomputation (``torch.utils.checkpoint.checkpoint`` with ``use_reentrant`` or without)."""

    REENTRANT = auto()
    NO_REENTRANT = auto()


def _renamed(state_dict: dict[str, Any], old: str, new: str) -> None:
    """Exchange the beginnings of names, in place."""
    for name in [name for name in state_dict if name.startswith(old)]:
        state_dict[new + name[len(old):]] = state_dict.pop(name)


class ActivationWrapper(Module):
    """A module around a module, with its attributes and its names."""

    def __init__(self, mod: Module):
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self._register_state_dict_hook(self._post_state_dict_hook)
        self.register_load_state_dict_pre_hook(self._pre_load_state_dict_hook)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__(_CHECKPOINT_WRAPPED_MODULE), name)

    def __getitem__(self, key: Any) -> Any:
        return self._checkpoint_wrapped_module[key]  # type: ignore[index]

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """Yield the parameters under the names that they have without wrappers."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace(_CHECKPOINT_PREFIX, ""), parameter

    @staticmethod
    def _post_state_dict_hook(module: Module, state_dict: dict[str, Any], prefix: str, *args: Any) -> dict[str, Any]:
        _renamed(state_dict, prefix + _CHECKPOINT_PREFIX, prefix)
        return state_dict

    @staticmethod
    def _pre_load_state_dict_hook(module: Module, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        _renamed(state_dict, prefix, prefix + _CHECKPOINT_PREFIX)


class OffloadWrapper(ActivationWrapper):
    """A module whose saved activations are kept in host memory."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module."""
        with save_on_cpu(pin_memory=True):
            return self._checkpoint_wrapped_module(*args, **kwargs)


class CheckpointWrapper(ActivationWrapper):
    """A module whose activations are computed again in the backward pass."""

    def __init__(self, mod: Module, checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
                 checkpoint_fn: Callable[..., Any] | None = None, **checkpoint_fn_kwargs: Any):
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        if checkpoint_fn is None:
            checkpoint_fn_kwargs["use_reentrant"] = checkpoint_impl is CheckpointImpl.REENTRANT
        self.checkpoint_fn = partial(checkpoint_fn or checkpoint, **checkpoint_fn_kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module by the function of recomputation, which takes positional arguments only if it is reentrant.
        """
        module = self._checkpoint_wrapped_module
        if self.checkpoint_impl is CheckpointImpl.REENTRANT and kwargs:
            names, count = tuple(kwargs), len(args)
            return self.checkpoint_fn(
                lambda *given: module(*given[:count], **dict(zip(names, given[count:], strict=True))),
                *args, *kwargs.values())
        return self.checkpoint_fn(module, *args, **kwargs)


def offload_wrapper(module: Module) -> Module:
    """Return a module whose saved activations are kept in host memory
    (``torch.distributed.algorithms._checkpoint.checkpoint_wrapper.offload_wrapper``).
    """
    return OffloadWrapper(module)


def checkpoint_wrapper(module: Module, checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
                       checkpoint_fn: Callable[..., Any] | None = None, **checkpoint_fn_kwargs: Any) -> Module:
    """Return a module whose activations are computed again in the backward pass
    (``torch.distributed.algorithms._checkpoint.checkpoint_wrapper.checkpoint_wrapper``).

    Args:
        module: the module.
        checkpoint_impl: whether the recomputation is reentrant.
        checkpoint_fn: a function in the place of ``torch.utils.checkpoint.checkpoint``.
        checkpoint_fn_kwargs: keywords for that function.
    """
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def apply_activation_checkpointing(
        model: Module, checkpoint_wrapper_fn: Callable[[Module], Module] = checkpoint_wrapper,
        check_fn: Callable[[Module], bool] = lambda module: True,
        auto_wrap_policy: Callable[..., bool] | ModuleWrapPolicy | CustomPolicy | None = None) -> None:
    """Wrap a model's submodules, in place, the innermost first
    (``torch.distributed.algorithms._checkpoint.checkpoint_wrapper.apply_activation_checkpointing``).

    Args:
        model: the model, which is not wrapped itself.
        checkpoint_wrapper_fn: the wrapper.
        check_fn: returns whether a submodule is wrapped.
        auto_wrap_policy: a policy of ``fsdp.wrap``, in the place of ``check_fn``.
    """
    for name, child in list(model.named_children()):
        apply_activation_checkpointing(child, checkpoint_wrapper_fn, check_fn, auto_wrap_policy)
        size = sum(parameter.numel() for parameter in child.parameters())
        if check_fn(child) if auto_wrap_policy is None else auto_wrap_policy(module=child, recurse=False,
                                                                             nonwrapped_numel=size):
            setattr(model, name, checkpoint_wrapper_fn(child))
