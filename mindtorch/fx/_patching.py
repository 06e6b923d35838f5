"""Functions and methods that are replaced while a program is traced, and ``wrap``, which names functions to replace."""
from __future__ import annotations

import builtins
import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .._base.interrupts import contextmanager
from .node import map_aggregate
from .proxy import Proxy

#: The functions that ``wrap`` names: their modules' globals, by the ``id`` of these and the name.
_wrapped_fns_to_patch: dict[tuple[int, str], dict[str, Any]] = {}
_wrapped_methods_to_patch: list[tuple[type, str]] = []
MISSING = object()


def _find_proxy(*objects_to_search: Any) -> Proxy | None:
    """Return a proxy among nested values, or None."""
    found: list[Proxy] = []
    map_aggregate(objects_to_search, lambda leaf: found.append(leaf) if isinstance(leaf, Proxy) else None)
    return found[-1] if found else None


def _create_wrapped_func(orig_fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that is recorded as one node if a proxy is among its arguments."""

    @functools.wraps(orig_fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return orig_fn(*args, **kwargs)
        result = proxy.tracer.create_proxy("call_function", orig_fn, args, kwargs)
        result.node.meta["is_wrapped"] = True
        return result

    return wrapped


def _create_wrapped_method(cls: type, name: str) -> Callable[..., Any]:
    """Return a method that is recorded as one node if a proxy is among its arguments."""
    orig_fn = getattr(cls, name)

    @functools.wraps(orig_fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return orig_fn(*args, **kwargs)
        return proxy.tracer.create_proxy("call_method", name, args, kwargs)

    return wrapped


class _Patcher:
    """Replacements in namespaces and classes, which are undone at the end of a block."""

    def __init__(self) -> None:
        self.patches_made: list[tuple[Callable[[Any], None], Any, Any]] = []  # how to set it, before, now
        self.visited: set[int] = set()

    def patch(self, frame_dict: dict[str, Any], name: str, new_fn: Any, deduplicate: bool = True) -> None:
        """Replace a function in a namespace, unless it is replaced already; a builtin gets a name there."""
        before = frame_dict.get(name, MISSING)
        assert before is not MISSING or hasattr(builtins, name), f"{name} is not a name of the module"
        if not getattr(before, "__fx_already_patched", False):
            def put(value: Any) -> None:
                frame_dict.update({name: value})
                if value is MISSING:
                    del frame_dict[name]

            self._do(put, before, new_fn, deduplicate)

    def patch_method(self, cls: type, name: str, new_fn: Any, deduplicate: bool = True) -> None:
        """Replace a method of a class, unless it is replaced already."""
        before = getattr(cls, name)
        if not getattr(before, "__fx_already_patched", False):
            self._do(lambda value: setattr(cls, name, value), before, new_fn, deduplicate)

    def _do(self, put: Callable[[Any], None], before: Any, now: Any, deduplicate: bool) -> None:
        vars(now)["__fx_already_patched"] = deduplicate
        self.patches_made.append((put, before, now))
        put(now)

    def visit_once(self, thing: Any) -> bool:
        """Return True at the first call with an object."""
        first = id(thing) not in self.visited
        self.visited.add(id(thing))
        return first

    def revert_all_patches(self) -> None:
        """Undo all replacements, the last one first."""
        for put, before, _ in reversed(self.patches_made):
            put(before)

    def reapply_all_patches(self) -> None:
        """Do all replacements again."""
        for put, _, now in self.patches_made:
            put(now)


CURRENT_PATCHER: _Patcher | None = None


@contextmanager
def _new_patcher() -> Iterator[_Patcher]:
    global CURRENT_PATCHER
    before = CURRENT_PATCHER
    patcher = CURRENT_PATCHER = _Patcher()
    try:
        yield patcher
    finally:
        patcher.revert_all_patches()
        CURRENT_PATCHER = before


@contextmanager
def _maybe_revert_all_patches() -> Iterator[None]:
    """Run a block of a traced program as if it were not traced."""
    patcher = CURRENT_PATCHER
    if patcher is None:
        yield
        return
    patcher.revert_all_patches()
    try:
        yield
    finally:
        patcher.reapply_all_patches()


def _patch_wrapped_functions(patcher: _Patcher) -> None:
    """Replace the functions that ``wrap`` names."""
    for (_, name), namespace in list(_wrapped_fns_to_patch.items()):
        patcher.patch(namespace, name, _create_wrapped_func(namespace.get(name) or getattr(builtins, name)))
    for cls, name in _wrapped_methods_to_patch:
        patcher.patch_method(cls, name, _create_wrapped_method(cls, name))


def _autowrap_check(patcher: _Patcher, frame_dict: dict[str, Any], function_ids: Iterable[int]) -> None:
    """Replace the functions of these ids among the public names of a namespace."""
    if patcher.visit_once(frame_dict):
        for name, value in list(frame_dict.items()):
            if not name.startswith("_") and callable(value) and id(value) in function_ids:
                patcher.patch(frame_dict, name, _create_wrapped_func(value))


def wrap(fn_or_name: Any) -> Any:
    """Have calls of a function be recorded as one node, rather than traced, in the calling module (``torch.fx.wrap``).
    Takes the function, as a decorator, or the name of one that the module imports, or of a builtin.

    Raises:
        RuntimeError: if it is neither.
        NotImplementedError: if it is not called at the top level of a module.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None, "wrap must be called by a module"
    frame = frame.f_back
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    _wrapped_fns_to_patch[id(frame.f_globals), name] = frame.f_globals
    return fn_or_name
