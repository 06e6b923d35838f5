"""Names of live tensors, from a namespace such as a notebook's."""
from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from itertools import islice
from types import NoneType
from typing import Any

from .libraries import is_tensor, library_of
from .library import Named

_numbers: dict[int, int] = {}  # by the id of a storage, or of a tensor whose storage was not asked for yet
_next = itertools.count().__next__


def storage_number(tensor: Any) -> int:
    """Return the number of the memory under a tensor, which all tensors that share it have, and no others."""
    library = library_of(tensor)
    owner = library.owner(tensor)
    number = _numbers.get(id(owner))
    if number is None:
        others = () if owner is tensor else (tensor, *library.aliases(tensor, {}))
        number = next((_numbers[id(other)] for other in others if id(other) in _numbers), None)
        number = _numbers[id(owner)] = _next() if number is None else number
        weakref.finalize(owner, _numbers.pop, id(owner), None)
    return number


MAX_ITEMS = 64  #: of a container, so that a large list does not take long
MAX_KEY = 80  #: characters of a dictionary's key


def named_tensors(namespace: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Find every tensor that a namespace reaches by a short name, and return it with that name.

    Variables come first, then ``model.0.weight`` of modules, ``xs[0]`` and ``d['k']`` of lists, tuples and dicts, also
    of modules in them; then ``Out[3]``, which keeps alive what a cell displayed; then gradients, and what optimizers
    keep of parameters, ``optimizer.state[model.0.weight].exp_avg``. IPython's own variables, which begin with an
    underscore, are left out.
    """
    visible = _visible(namespace)
    seen: set[int] = set()

    def new(name: str, value: Any) -> Iterator[tuple[str, Any]]:
        if id(value) not in seen:
            seen.add(id(value))
            yield name, value

    found = [(name, value) for name, value in visible.items() if is_tensor(value)]
    for name, value in sorted(visible.items(), key=lambda item: not _is_module(item[1])):
        found += _inside(name, value)
    found += _inside("Out", dict(list(_outputs(namespace).items())[-MAX_ITEMS:]))
    for name, value in found:
        yield from new(name, value)
    for name, value in found:
        if (grad := library_of(value).grad(value)) is not None:
            yield from new(f"{name}.grad", grad)
    names = {id(value): name for name, value in reversed(found)}
    for name, value in visible.items():
        for path, item in [(name, value), *_items(name, value)]:
            if _is_optimizer(item):
                for state, kept in _of_optimizer(path, item, names):
                    yield from new(state, kept)


def _outputs(namespace: Mapping[str, Any]) -> dict[Any, Any]:
    """Return the displayed results that IPython keeps, by number."""
    outputs = namespace.get("_oh")
    return outputs if isinstance(outputs, dict) else {}


def _visible(namespace: Mapping[str, Any]) -> dict[str, Any]:
    outputs = _outputs(namespace)
    return {name: value for name, value in namespace.items()
            if isinstance(name, str) and not name.startswith("_") and value is not outputs}


def _inside(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the tensors one level inside a container, or anywhere inside a module."""
    if _is_module(value):
        yield from _of_module(name, value)
    else:
        for path, item in _items(name, value):
            if is_tensor(item):
                yield path, item
            elif _is_module(item):
                yield from _of_module(path, item)


def _items(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the first items of a container with names; mappings other than ``dict`` may have to fetch theirs."""
    inside = None if isinstance(value, Mapping) and not isinstance(value, dict) else items(value)
    return ((f"{name}{label}", item) for label, item in islice(inside or (), MAX_ITEMS))


def items(value: Any) -> Iterator[tuple[str, Any]] | None:
    """Yield a built-in container's items with access paths, ``[0]``, ``['k']``, ``.field``; None for others."""
    if isinstance(value, Mapping):
        return ((f"[{_key(key)}]", item) for key, item in list(value.items()))
    if isinstance(value, tuple) and (names := getattr(value, "__match_args__", ())):  # of C code's named tuples, too
        return ((f".{name}", item) for name, item in zip(names, value, strict=False))
    if isinstance(value, (list, tuple)) and type(value).__name__ != "Size":
        return ((f"[{i}]", item) for i, item in enumerate(value))
    if is_dataclass(value) and not isinstance(value, type):
        return ((f".{field.name}", getattr(value, field.name)) for field in fields(value) if hasattr(value, field.name))
    return None


def _key(key: Any) -> str:
    """Format a dictionary's key, shortened; objects, whose reprs may be slow, by their type."""
    if isinstance(key, tuple):
        text = f"({', '.join(map(_key, key[:MAX_ITEMS]))})"
    else:
        text = repr(key) if isinstance(key, (str, bytes, int, float, NoneType)) else f"<{type(key).__name__}>"
    return text if len(text) <= MAX_KEY else f"{text[:MAX_KEY]}…"


def _is_module(value: Any) -> bool:
    return hasattr(type(value), "named_parameters") and "_parameters" in vars(value)  # without __init__ it has none yet


def _of_module(name: str, module: Any) -> Iterator[tuple[str, Any]]:
    for found in (module.named_parameters, module.named_buffers):
        for path, item in found():
            if is_tensor(item):
                yield f"{name}.{path}", item


def _is_optimizer(value: Any) -> bool:
    return hasattr(type(value), "zero_grad") and {"param_groups", "state"} <= getattr(value, "__dict__", {}).keys()


def _of_optimizer(name: str, optimizer: Any, names: Mapping[int, str]) -> Iterator[tuple[str, Any]]:
    """Yield an optimizer's parameters, which may have no other name, and the state that it keeps of each."""
    for g, group in enumerate(optimizer.param_groups):
        for i, parameter in enumerate(group["params"]):
            place = f"param_groups[{g}]['params'][{i}]"
            yield f"{name}.{place}", parameter
            for key, kept in optimizer.state.get(parameter, {}).items():
                if is_tensor(kept):
                    yield f"{name}.state[{names.get(id(parameter), place)}].{key}", kept


def module_name(module: Any, namespace: Mapping[str, Any]) -> str:
    """Return the name of a module: a variable's name, a path such as ``model.0``, or '' if nothing leads to it."""
    visible = _visible(namespace)
    if found := next((name for name, value in visible.items() if value is module), ""):
        return found
    outer = [(name, value) for name, value in visible.items() if _is_module(value)]
    outer += [item for name, value in visible.items() for item in _items(name, value) if _is_module(item[1])]
    paths = ((name, path) for name, value in outer for path, inner in value.named_modules() if inner is module)
    return next((f"{name}.{path}" if path else name for name, path in paths), "")


def modules_by_identity(namespace: Mapping[str, Any]) -> dict[int, str]:
    """Return the names of all modules that the namespace leads to, by the modules' ``id``."""
    visible = _visible(namespace)
    outer = [(name, value) for name, value in visible.items() if _is_module(value)]
    outer += [item for name, value in visible.items() for item in _items(name, value) if _is_module(item[1])]
    found: dict[int, str] = {}
    for name, value in outer:
        for path, inner in value.named_modules():
            found.setdefault(id(inner), f"{name}.{path}" if path else name)
    return found


def names_of(namespace: Mapping[str, Any] | None) -> Named:
    """Return the first name of every named tensor, by the tensor's ``id``. It keeps the tensors alive."""
    return Named({} if namespace is None else dict(named_tensors(namespace)))
