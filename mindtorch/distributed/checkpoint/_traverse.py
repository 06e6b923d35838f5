"""``torch.distributed.checkpoint._traverse``: nested dictionaries and lists, by the paths of what is in them."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from ..._tensor import Tensor

Path = tuple[Any, ...]


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor)


def traverse_state_dict(state_dict: Mapping[str, Any], visitor: Callable[[Path, Any], None],
                        keep_traversing: Callable[[Any], bool] = _is_tensor) -> None:
    """Call ``visitor(path, value)`` for all values of dictionaries, and of lists that hold tensors or dictionaries."""
    def is_leaf(value: Any) -> bool:
        if isinstance(value, Mapping):
            return False
        return not isinstance(value, list) or not any(
            keep_traversing(item) or (isinstance(item, (Mapping, list)) and not is_leaf(item)) for item in value)

    def visit(path: Path, value: Any) -> None:
        if isinstance(value, Mapping):
            for key, item in value.items():
                visit((*path, str(key)), item)
        elif is_leaf(value):
            visitor(path, value)
        else:
            for index, item in enumerate(value):
                visit((*path, index), item)

    visit((), state_dict)


def set_element(root_dict: Any, path: Path, value: Any) -> None:
    """Put a value at a path, with the dictionaries and lists on the way; a key may be a number where the path has its
    text.
    """
    container = root_dict
    for key, following in pairwise(path):
        key = _room(container, key)
        if isinstance(container, list) and container[key] is None:
            container[key] = {} if isinstance(following, str) else []
        elif isinstance(container, Mapping) and key not in container:
            container[key] = {} if isinstance(following, str) else []  # type: ignore[index]
        container = container[key]
    container[_room(container, path[-1])] = value


def _room(container: Any, key: Any) -> Any:
    """Return the key that a container has for a path's; a list gets as many elements."""
    if isinstance(container, list):
        container.extend([None] * (key + 1 - len(container)))
    elif key not in container:
        return next((other for other in container if str(other) == key), key)
    return key


def get_element(root_dict: Any, path: Path, default_value: Any = None) -> Any:
    """Return the value at a path, or the default."""
    found = root_dict
    for key in path:
        if not (isinstance(found, list) and key < len(found) if isinstance(key, int) else
                isinstance(found, Mapping) and key in found):
            return default_value
        found = found[key]
    return found


__all__ = ["get_element", "set_element", "traverse_state_dict"]
