"""``torch.distributed.checkpoint._nested_dict``: nested dictionaries as one, and back."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._traverse import Path, set_element, traverse_state_dict


def flatten_state_dict(state_dict: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Path]]:
    """Return nested dictionaries, and lists of tensors, as one dictionary with joined keys; and their paths.

    Raises:
        ValueError: if two paths have one joined key.
    """
    flat: dict[str, Any] = {}
    paths: dict[str, Path] = {}

    def visit(path: Path, value: Any) -> None:
        name = ".".join(map(str, path))
        if name in flat:
            raise ValueError(f"duplicated flatten key {name}")
        flat[name], paths[name] = value, path

    traverse_state_dict(state_dict, visit)
    return flat, paths


def unflatten_state_dict(state_dict: Mapping[str, Any], mapping: Mapping[str, Path]) -> dict[str, Any]:
    """Return the nested dictionaries of a flat one."""
    nested: dict[str, Any] = {}
    for name, value in state_dict.items():
        set_element(nested, mapping[name], value)
    return nested


__all__ = ["flatten_state_dict", "unflatten_state_dict"]
