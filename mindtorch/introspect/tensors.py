"""All tensors of a namespace."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .names import named_tensors, names_of
from .tensor import TensorFacts, tensor_facts


def tensors_facts(namespace: Mapping[str, Any]) -> list[TensorFacts]:
    """The facts of every tensor that the namespace names, those that share a storage next to each other."""
    names = names_of(namespace)
    found = [(name, tensor) for name, tensor in named_tensors(namespace)]
    order: dict[int, int] = {}
    for _, tensor in found:
        order.setdefault(id(tensor._storage) if tensor._storage is not None else id(tensor), len(order))
    found.sort(key=lambda item: order[id(item[1]._storage) if item[1]._storage is not None else id(item[1])])
    return [tensor_facts(tensor, names, name) for name, tensor in found]
