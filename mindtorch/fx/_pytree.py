"""Flattening by the spec of another value: what generated code does with nested arguments (``torch.fx._pytree``)."""
from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

from ..utils._pytree import TreeSpec, tree_flatten

FlattenFnSpec = Callable[[Any, TreeSpec], list[Any]]
FlattenFnExactMatchSpec = Callable[[Any, TreeSpec], bool]


def _by_key(value: Any, spec: TreeSpec) -> list[Any]:
    return [value[key] for key in spec.context]


def _by_position(value: Any, spec: TreeSpec) -> list[Any]:
    return [value[at] for at in range(spec.num_children)]


def _of_the_size(value: Any, spec: TreeSpec) -> bool:
    return len(value) == spec.num_children


#: How the items that a spec names are found in a value, which may have more of them.
SUPPORTED_NODES: dict[Any, FlattenFnSpec] = {dict: _by_key, list: _by_position, tuple: _by_position,
                                             namedtuple: _by_position}
SUPPORTED_NODES_EXACT_MATCH: dict[Any, FlattenFnExactMatchSpec | None] = dict.fromkeys(SUPPORTED_NODES, _of_the_size)


def register_pytree_flatten_spec(cls: Any, flatten_fn_spec: FlattenFnSpec,
                                 flatten_fn_exact_match_spec: FlattenFnExactMatchSpec | None = None) -> None:
    """Have generated code find the items of a container by this function
    (``torch.fx._pytree.register_pytree_flatten_spec``).
    """
    SUPPORTED_NODES[cls] = flatten_fn_spec
    SUPPORTED_NODES_EXACT_MATCH[cls] = flatten_fn_exact_match_spec


def _deregister_pytree_flatten_spec(cls: Any) -> None:
    del SUPPORTED_NODES[cls], SUPPORTED_NODES_EXACT_MATCH[cls]


def tree_flatten_spec(pytree: Any, spec: TreeSpec) -> list[Any]:
    """Return the leaves of a nested value at the places of a spec's leaves.

    Raises:
        RuntimeError: if a container without a row in ``SUPPORTED_NODES`` differs from the spec.
    """
    if spec.is_leaf():
        return [pytree]
    if spec.type in SUPPORTED_NODES:
        items = SUPPORTED_NODES[spec.type](pytree, spec)
        return [leaf for item, child in zip(items, spec.children(), strict=True)
                for leaf in tree_flatten_spec(item, child)]
    leaves, found = tree_flatten(pytree)
    if found != spec:
        raise RuntimeError(f"Real spec {found} of object {pytree} is different from expected spec {spec}")
    return leaves
