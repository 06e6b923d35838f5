"""Which memory is whose: a number for every storage, by which pictures give it a letter and a colour."""
from __future__ import annotations

import itertools
import weakref
from typing import Any

from .._dispatch.keys import UNINITIALIZED

_numbers: dict[int, int] = {}  # by the id of a storage, or of a tensor whose storage was not asked for yet
_next = itertools.count().__next__


def shape_of(tensor: Any) -> tuple[int, ...]:
    """A tensor's shape; (0,) for the parameter of a lazy module that has none yet, and would raise an error."""
    return (0,) if tensor._keys & UNINITIALIZED else tuple(tensor.shape)


def known_storage(tensor: Any) -> Any:
    """Return a tensor's storage object if one has been made; None means that no other tensor shares the memory."""
    if tensor._storage is None and tensor._version_counter is not None:
        return tensor._version_counter[1]
    return tensor._storage


def storage_number(tensor: Any) -> int:
    """Return the number of the memory under a tensor, which all tensors that share it have, and no others."""
    storage = known_storage(tensor)
    owner = tensor if storage is None else storage
    number = _numbers.get(id(owner))
    if number is None:
        others = () if storage is None else (tensor, *storage.aliases())
        number = next((_numbers[id(other)] for other in others if id(other) in _numbers), None)
        number = _numbers[id(owner)] = _next() if number is None else number
        weakref.finalize(owner, _numbers.pop, id(owner), None)
    return number
