"""Hooks that users register on tensors and nodes, and the checks of their results."""
from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from .._base.errors import type_string
from .._base.formats import contiguous_format
from .._dispatch.aten import clone
from .._dispatch.dispatcher import TENSOR_TYPES


class HookDict(dict[int, Any]):
    """Hooks by the id of their handle. A subclass of dict, so that handles can refer to it weakly."""


class RemovableHandle:
    """The handle of a registered hook: ``remove()``, or the end of a ``with`` block, removes the hook.

    Mirrors ``torch.utils.hooks.RemovableHandle``. A ``hook``, if given, is added to ``hooks_dict``. ``extra_dict`` is a
    dictionary, or a list of dictionaries, from which ``remove`` deletes the handle's id as well.
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
        """Remove the hook (``torch.utils.hooks.RemovableHandle.remove``)."""
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
    """All hooks of one node.

    ``tensor`` holds the hooks of its outputs by output number, ``retained`` weak references to the outputs that retain
    their gradient, ``pre`` and ``post`` the hooks of the node itself.
    """

    __slots__ = ("tensor", "retained", "pre", "post")

    def __init__(self) -> None:
        self.tensor: dict[int, HookDict] = {}
        self.retained: dict[int, Any] = {}
        self.pre = HookDict()
        self.post = HookDict()

    def run_tensor_hooks(self, gradients: list[Any]) -> None:
        """Run the hooks of the outputs on their gradients, then store the gradients that are to be retained."""
        for number, hooks in self.tensor.items():
            gradients[number] = run_tensor_hooks(hooks, gradients[number])
        for number, reference in self.retained.items():
            tensor, gradient = reference(), gradients[number]
            if tensor is not None and gradient is not None:
                have = tensor._grad
                tensor._grad = clone(gradient, contiguous_format) if have is None else have + gradient

    def run_pre_hooks(self, gradients: list[Any]) -> list[Any]:
        """Return the incoming gradients, as replaced by the node's pre-hooks."""
        for hook in list(self.pre.values()):
            result = hook(tuple(gradients))
            if result is not None:
                gradients = _checked_tuple(hook, result, gradients)
        return gradients

    def run_post_hooks(self, outputs: list[Any], gradients: tuple[Any, ...]) -> list[Any]:
        """Return the computed gradients, as replaced by the node's post-hooks; ``gradients`` are the incoming ones."""
        for hook in list(self.post.values()):
            result = hook(tuple(outputs), gradients)
            if result is not None:
                outputs = _checked_tuple(hook, result, outputs)
        return outputs


def run_tensor_hooks(hooks: HookDict, gradient: Any) -> Any:
    """Return a gradient, as replaced by its tensor's hooks."""
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
    """Return a hook's replacement of a gradient. Raises TypeError or RuntimeError if it is not a similar tensor."""
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
