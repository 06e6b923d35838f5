"""A module's state: what ``state_dict`` gives and ``load_state_dict`` takes."""
from __future__ import annotations

import warnings
import weakref
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .._autograd.grad_mode import no_grad
from .._autograd.hooks import RemovableHandle
from .._base.about import about
from .._tensor import Tensor
from .._tensor.swap import get_swap_module_params_on_conversion, swap_tensors
from ._hooks import HookHandle, Hooks
from .parameter import Parameter, is_lazy

EXTRA_STATE = "_extra_state"  #: the key suffix of what ``get_extra_state`` returns


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """Result of ``load_state_dict``."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"

    __str__ = __repr__


class State:
    """The part of a module that saves and loads its parameters and buffers."""

    _version: int = 1
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _state_dict_hooks: Hooks
    _state_dict_pre_hooks: Hooks
    _load_state_dict_pre_hooks: Hooks
    _load_state_dict_post_hooks: Hooks

    def get_extra_state(self) -> Any:
        """Return a further entry of the state dict; subclasses define it (``torch.nn.Module.get_extra_state``)."""
        raise RuntimeError(f"{type(self).__name__}.get_extra_state() was called but is not defined")

    def set_extra_state(self, state: Any) -> None:
        """Take what ``get_extra_state`` returned; subclasses define it (``torch.nn.Module.set_extra_state``)."""
        raise RuntimeError(f"{type(self).__name__}.set_extra_state() was called but is not defined")

    def _saved_members(self) -> Iterator[tuple[str, Any]]:
        """Yield the parameters and persistent buffers that are not None, by name."""
        for name, param in self._parameters.items():
            if param is not None:
                yield name, param
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                yield name, buffer

    # -- saving ----------------------------------------------------------------------------------------------

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """Return the parameters and persistent buffers of this module and its submodules by name, detached unless
        ``keep_vars`` (``torch.nn.Module.state_dict``).

        The result is ``destination``, or a new ``OrderedDict`` with the modules' versions in its ``_metadata``.
        """
        if args:
            warnings.warn("Positional args are being deprecated, use kwargs instead.", FutureWarning, stacklevel=2)
            given = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
            destination, prefix = given.get("destination", destination), given.get("prefix", prefix)
            keep_vars = given.get("keep_vars", keep_vars)
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for pre_hook in list(self._state_dict_pre_hooks.values()):
            pre_hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in list(self._state_dict_hooks.values()):
            replaced = hook(self, destination, prefix, metadata)
            if getattr(hook, "_from_public_api", False):
                if replaced is not None:
                    raise RuntimeError("state_dict post-hook must return None")
            elif replaced is not None:
                destination = replaced
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Put this module's own parameters, buffers and extra state into a state dict."""
        for name, member in self._saved_members():
            destination[prefix + name] = member if keep_vars else member.detach()
        if type(self).get_extra_state is not State.get_extra_state:
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    # -- loading ---------------------------------------------------------------------------------------------

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True,
                        assign: bool = False) -> _IncompatibleKeys:
        """Copy a state dict into this module and its submodules, or with ``assign`` take its tensors
        (``torch.nn.Module.load_state_dict``). Raises TypeError if ``state_dict`` is not a mapping, and RuntimeError if
        shapes differ, or, if ``strict``, keys are missing or unexpected.
        """
        if not isinstance(state_dict, Mapping):
            raise about(TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}."),
                        "state dict type", state=state_dict, given=type(state_dict).__name__)
        missing: list[str] = []
        unexpected: list[str] = []
        errors: list[str] = []
        metadata = getattr(state_dict, "_metadata", None)
        copied: Any = OrderedDict(state_dict)
        if metadata is not None:
            copied._metadata = metadata
        _load_into(self, copied, "", metadata or {}, assign, _IncompatibleKeys(missing, unexpected), errors)
        if strict:
            for keys, what in ((unexpected, "Unexpected"), (missing, "Missing")):
                if keys:
                    names = ", ".join(f'"{key}"' for key in keys)
                    errors.insert(0, f"{what} key(s) in state_dict: {names}. ")
        if errors:
            listed = "\n\t".join(errors)
            raise about(RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{listed}"),
                        "state dict", module=self, state=copied, missing=missing, unexpected=unexpected)
        return _IncompatibleKeys(missing, unexpected)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: dict[str, Any], strict: bool,
                              missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str]) -> None:
        """Load this module's own parameters, buffers and extra state; add what goes wrong to the lists."""
        for hook in list(self._load_state_dict_pre_hooks.values()):
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        members = dict(self._saved_members())
        for name, member in members.items():
            key = prefix + name
            if key in state_dict:
                error = self._load_member(name, member, key, state_dict[key],
                                          local_metadata.get("assign_to_params_buffers"))
                if error is not None:
                    error_msgs.append(error)
            elif strict:
                missing_keys.append(key)
        extra = prefix + EXTRA_STATE
        if type(self).set_extra_state is not State.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra:
                    name, dot, _ = key[len(prefix):].partition(".")
                    if name not in (self._modules if dot else members):
                        unexpected_keys.append(key)

    def _load_member(self, name: str, member: Any, key: str, value: Any, assign: Any) -> str | None:
        """Load one parameter or buffer; what went wrong, or None."""
        if not isinstance(value, Tensor):
            return (f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object '
                    f"from checkpoint but received {type(value)}")
        if is_lazy(value) and is_lazy(member):
            return None
        if not member.ndim and value.shape == (1,):
            value = value[0]
        if value.shape != member.shape:
            return (f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, the "
                    f"shape in current model is {member.shape}.")
        if member.is_meta and not value.is_meta and not assign:
            warnings.warn(f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the "
                          "current model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the "
                          "state dictionary to their corresponding key in the module instead of copying them in "
                          "place?)", stacklevel=6)
        try:
            with no_grad():
                if get_swap_module_params_on_conversion():
                    loaded = member.module_load(value, assign=bool(assign))
                    if loaded is value or loaded is member:
                        raise RuntimeError("module_load returned one of self or other, please .detach() the result if "
                                           "returning one of the inputs in module_load")
                    if isinstance(member, Parameter):
                        loaded = (loaded.requires_grad_(member.requires_grad) if isinstance(loaded, Parameter)
                                  else Parameter(loaded, requires_grad=member.requires_grad))
                    swap_tensors(member, loaded)
                elif not assign:
                    member.copy_(value)
                elif not isinstance(member, Parameter):
                    setattr(self, name, value)
                elif isinstance(value, Parameter):
                    setattr(self, name, value.requires_grad_(member.requires_grad))
                else:
                    setattr(self, name, Parameter(value, requires_grad=member.requires_grad))
        except Exception as error:
            action = "swapping" if get_swap_module_params_on_conversion() else "copying"
            return (f'While {action} the parameter named "{key}", whose dimensions in the model are {member.size()} '
                    f"and whose dimensions in the checkpoint are {value.size()}, an exception occurred : {error.args}.")
        return None

    # -- hooks -----------------------------------------------------------------------------------------------

    def register_state_dict_pre_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Have ``hook(module, prefix, keep_vars)`` called before ``state_dict`` collects (``torch.nn.Module``)."""
        return HookHandle(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Any) -> RemovableHandle:
        """Have ``hook(module, state_dict, prefix, local_metadata)``, which returns None, called after ``state_dict``
        collected (``torch.nn.Module.register_state_dict_post_hook``).
        """
        hook._from_public_api = True
        return HookHandle(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Any) -> RemovableHandle:
        """Register a hook that may return another state dict (older than ``register_state_dict_post_hook``)."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError("Cannot register the same function as the state dict post hook that was "
                               "previously registered via register_state_dict_post_hook")
        return HookHandle(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Have ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)``
        called before this module loads (``torch.nn.Module.register_load_state_dict_pre_hook``).
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook: Callable[..., None],
                                           with_module: bool = False) -> RemovableHandle:
        """Register a hook that gets the module only if asked for (older form)."""
        return HookHandle(self._load_state_dict_pre_hooks, _LoadHook(hook, self if with_module else None))

    def register_load_state_dict_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Have ``hook(module, incompatible_keys)`` called after loading; it may change the lists
        (``torch.nn.Module.register_load_state_dict_post_hook``).
        """
        return HookHandle(self._load_state_dict_post_hooks, hook)


class _LoadHook:
    """A hook of loading, with the module that it belongs to where it wants it."""

    def __init__(self, hook: Callable[..., None], module: State | None):
        self.hook = hook
        self.module = None if module is None else weakref.ref(module)  # the module has the hook: no cycle

    def __call__(self, *args: Any) -> None:
        if self.module is None:
            self.hook(*args)
        elif (module := self.module()) is not None:
            self.hook(module, *args)

    def __getstate__(self) -> dict[str, Any]:
        return {"hook": self.hook, "module": None if self.module is None else self.module()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]


def _load_into(module: Any, state: Any, prefix: str, metadata: Mapping[str, Any], assign: bool,
               keys: _IncompatibleKeys, errors: list[str]) -> None:
    """Load a module and its submodules, each from its part of the state."""
    local = metadata.get(prefix[:-1], {})
    if assign:
        local["assign_to_params_buffers"] = assign
    module._load_from_state_dict(state, prefix, local, True, keys.missing_keys, keys.unexpected_keys, errors)
    for name, child in module._modules.items():
        if child is not None:
            below = f"{prefix}{name}."
            part = {key: value for key, value in state.items() if key.startswith(below)}
            _load_into(child, part, below, metadata, assign, keys, errors)
    for hook in list(module._load_state_dict_post_hooks.values()):
        if hook(module, keys) is not None:
            raise AssertionError("Hooks registered with ``register_load_state_dict_post_hook`` are not "
                                 "expected to return new values, if incompatible_keys need to be modified, "
                                 "it should be done inplace.")
