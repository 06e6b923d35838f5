"""``torch.utils._pytree``: nested tuples, lists and dicts."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._transforms.pytree import (
    TreeSpec as TreeSpec, tree_flatten as tree_flatten, tree_leaves as tree_leaves, tree_map as _tree_map,
    tree_unflatten as tree_unflatten,
)

PyTree = Any


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Any = None) -> Any:
    """Apply ``func`` to each leaf of a nested value, and the matching leaves of other trees."""
    if not rests:
        return _tree_map(func, tree)
    leaves, spec = tree_flatten(tree)
    return tree_unflatten(map(func, leaves, *map(tree_leaves, rests)), spec)


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any) -> Any:
    """Call ``func`` with each leaf, and return the value itself."""
    tree_map(func, tree, *rests)
    return tree


def tree_map_only(type_or_types: Any, func: Callable[[Any], Any], tree: Any, is_leaf: Any = None) -> Any:
    """Return a nested value with ``func`` applied to each leaf of a type, or for which a function is true."""
    wanted = (type_or_types if callable(type_or_types) and not isinstance(type_or_types, type)
              else lambda leaf: isinstance(leaf, type_or_types))
    return _tree_map(lambda leaf: func(leaf) if wanted(leaf) else leaf, tree)


def tree_all(pred: Callable[[Any], bool], tree: Any) -> bool:
    """Return True if ``pred`` is true of all leaves."""
    return all(map(pred, tree_leaves(tree)))


def tree_any(pred: Callable[[Any], bool], tree: Any) -> bool:
    """Return True if ``pred`` is true of any leaf."""
    return any(map(pred, tree_leaves(tree)))


def tree_all_only(type_or_types: Any, pred: Callable[[Any], bool], tree: Any) -> bool:
    """Return True if ``pred`` is true of all leaves of a type."""
    return all(pred(leaf) for leaf in tree_leaves(tree) if isinstance(leaf, type_or_types))


def tree_any_only(type_or_types: Any, pred: Callable[[Any], bool], tree: Any) -> bool:
    """Return True if ``pred`` is true of any leaf of a type."""
    return any(pred(leaf) for leaf in tree_leaves(tree) if isinstance(leaf, type_or_types))


def tree_structure(tree: Any) -> TreeSpec:
    """Return the structure of a nested value, without its leaves."""
    return tree_flatten(tree)[1]
