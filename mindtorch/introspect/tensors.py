"""All tensors of a namespace."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .names import named_tensors
from .tensor import TensorFacts, tensor_facts


def tensors_facts(namespace: Mapping[str, Any]) -> list[TensorFacts]:
    """Describe every tensor that the namespace names; those that share a storage stand next to each other.

    The tensors' elements are not looked at, so there are no statistics.
    """
    found = dict(named_tensors(namespace))
    names = {id(tensor): name for name, tensor in found.items()}
    facts = [tensor_facts(tensor, names, values=False) for tensor in found.values()]
    first: dict[int, int] = {}
    for row in facts:
        first.setdefault(row.storage, len(first))
    return sorted(facts, key=lambda row: first[row.storage])
