"""Which memory is whose: a number for every storage, by which pictures give it a letter and a colour."""
from __future__ import annotations

import itertools
import weakref
from typing import Any

from .libraries import library_of

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
