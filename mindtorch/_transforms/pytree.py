"""Nested tuples, lists and dicts as flat lists of leaves and back (``torch.utils._pytree``)."""
from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple


class TreeSpec(NamedTuple):
    """The structure of a nested value: type, a dict's keys, and items' specs; a leaf's type is None."""

    type: Any
    keys: Any
    children: tuple[TreeSpec, ...]

    @property
    def num_leaves(self) -> int:
        """The number of leaves."""
        return 1 if self.type is None else sum(child.num_leaves for child in self.children)

    def __repr__(self) -> str:
        if self.type is None:
            return "*"
        return f"TreeSpec({self.type.__name__}, {self.keys}, [{', '.join(map(repr, self.children))}])"


LEAF = TreeSpec(None, None, ())


def _items(value: Any) -> tuple[Any, Any, Any] | None:
    """Return the type, the keys and the items of a container; None for a leaf."""
    kind = type(value)
    if kind in (tuple, list):
        return kind, None, value
    if kind in (dict, OrderedDict):
        return kind, list(value), value.values()
    if kind is defaultdict:
        return kind, [value.default_factory, list(value)], value.values()
    return (kind, None, value) if isinstance(value, tuple) and hasattr(value, "_fields") else None


def tree_flatten(value: Any) -> tuple[list[Any], TreeSpec]:
    """Return the leaves of a nested value, and its spec."""
    found = _items(value)
    if found is None:
        return [value], LEAF
    kind, keys, items = found
    leaves: list[Any] = []
    specs = []
    for item in items:
        inner, spec = tree_flatten(item)
        leaves += inner
        specs.append(spec)
    return leaves, TreeSpec(kind, keys, tuple(specs))


def tree_leaves(value: Any) -> list[Any]:
    """Return the leaves of a nested value."""
    return tree_flatten(value)[0]


def tree_unflatten(leaves: Iterable[Any], spec: TreeSpec) -> Any:
    """Return the nested value of these leaves and that spec."""
    return _built(iter(leaves), spec)


def _built(leaves: Any, spec: TreeSpec) -> Any:
    kind, keys, children = spec
    if kind is None:
        return next(leaves)
    items = [_built(leaves, child) for child in children]
    if kind is defaultdict:
        return defaultdict(keys[0], zip(keys[1], items, strict=True))
    if keys is not None:
        return kind(zip(keys, items, strict=True))
    return kind(*items) if hasattr(kind, "_fields") else kind(items)


def tree_map(function: Callable[[Any], Any], value: Any) -> Any:
    """Return a nested value with ``function`` applied to each leaf."""
    leaves, spec = tree_flatten(value)
    return tree_unflatten(map(function, leaves), spec)


def broadcast_to(value: Any, spec: TreeSpec) -> list[Any] | None:
    """Return a prefix tree's leaves, each repeated for ``spec``'s leaves below it; None if not a prefix."""
    found = _items(value)
    if found is None:
        return [value] * spec.num_leaves
    kind, keys, items = found
    if (kind, keys, len(items)) != (spec.type, spec.keys, len(spec.children)):
        return None
    parts = [broadcast_to(item, child) for item, child in zip(items, spec.children, strict=True)]
    return None if None in parts else [leaf for part in parts for leaf in part or ()]
