"""Hooks: functions that users hang on tensors and nodes, and what backward makes of their results."""
from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from .._base.errors import type_string
from .._base.formats import contiguous_format
from .._dispatch.aten import clone
from .._dispatch.dispatcher import TENSOR_TYPES


class HookDict(dict[int, Any]):
    """Hooks by the id of their handle. A class of our own, so that handles can refer to it weakly."""


class RemovableHandle:
    """What registering a hook returns: ``remove()`` takes the hook away, and so does leaving a with block.

    Mirrors ``torch.utils.hooks.RemovableHandle``; the hook, if given, is added. ``extra_dict`` is a dictionary, or a
    list of some, in which the handle's id is removed as well.
    """

    next_id = 0

    def __init__(self, hooks_dict: Any, hook: Callable[..., Any] | None = None, *, extra_dict: Any = None):
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        if hook is not None:
            hooks_dict[self.id] = hook
        extras = extra_dict if isinstance(extra_dict, list) else [] if extra_dict is None else [extra_dict]
        self.extra_dict_ref = tuple(weakref.ref(extra) for extra in extras)

    def remove(self) -> None:
        """Take the hook away (``torch.utils.hooks.RemovableHandle.remove``)."""
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = reference()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self) -> tuple[Any, ...]:
        return self.hooks_dict_ref(), self.id, tuple(reference() for reference in self.extra_dict_ref)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        hooks, self.id, extras = state
        self.hooks_dict_ref = weakref.ref(HookDict() if hooks is None else hooks)
        self.extra_dict_ref = tuple(weakref.ref(extra) for extra in extras if extra is not None)
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


class NodeHooks:
    """All that hangs on one node.

    ``tensor`` holds the hooks of its outputs by output number, ``retained`` weak references to the outputs that keep
    their gradient, ``pre`` and ``post`` the hooks of the node itself.
    """

    __slots__ = ("tensor", "retained", "pre", "post")

    def __init__(self) -> None:
        self.tensor: dict[int, HookDict] = {}
        self.retained: dict[int, Any] = {}
        self.pre = HookDict()
        self.post = HookDict()

    def run_tensor_hooks(self, gradients: list[Any]) -> None:
        """Run the hooks of the outputs on their gradients, then keep those that are to be retained."""
        for number, hooks in self.tensor.items():
            gradients[number] = run_tensor_hooks(hooks, gradients[number])
        for number, reference in self.retained.items():
            tensor, gradient = reference(), gradients[number]
            if tensor is not None and gradient is not None:
                have = tensor._grad
                tensor._grad = clone(gradient, contiguous_format) if have is None else have + gradient

    def run_pre_hooks(self, gradients: list[Any]) -> list[Any]:
        """What the node's own hooks make of the gradients that come in."""
        for hook in list(self.pre.values()):
            result = hook(tuple(gradients))
            if result is not None:
                gradients = _checked_tuple(hook, result, gradients)
        return gradients

    def run_post_hooks(self, outputs: list[Any], gradients: tuple[Any, ...]) -> list[Any]:
        """What the node's hooks make of the gradients that it computed, from those that had come in."""
        for hook in list(self.post.values()):
            result = hook(tuple(outputs), gradients)
            if result is not None:
                outputs = _checked_tuple(hook, result, outputs)
        return outputs


def run_tensor_hooks(hooks: HookDict, gradient: Any) -> Any:
    """What a tensor's hooks make of its gradient."""
    for hook in list(hooks.values()):
        result = hook(gradient)
        if result is not None:
            gradient = checked(hook, result, gradient)
    return gradient


def _checked_tuple(hook: Any, results: Any, gradients: list[Any]) -> list[Any]:
    if not isinstance(results, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(results).__name__}'")
    if len(results) != len(gradients):
        raise RuntimeError(f"hook '{_name(hook)}' has returned an incorrect number of values (got {len(results)}, but "
                           f"expected {len(gradients)})")
    return [None if r is None else checked(hook, r, g) for r, g in zip(results, gradients, strict=True)]


def checked(hook: Any, result: Any, gradient: Any) -> Any:
    """A hook's result in place of a gradient. Raises TypeError if it is no tensor, RuntimeError if it is not alike."""
    if result.__class__ not in TENSOR_TYPES:
        raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}'")
    if gradient is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    was, got = type_string(gradient), type_string(result)
    if was != got:
        raise RuntimeError(f"hook '{_name(hook)}' has changed the type of value (was {was} got {got})")
    if result.shape != gradient.shape:
        raise RuntimeError(f"hook '{_name(hook)}' has changed the size of value")
    return result


def _name(hook: Any) -> str:
    return getattr(hook, "__name__", type(hook).__name__)
