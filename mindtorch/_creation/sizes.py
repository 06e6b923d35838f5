"""Tensors from sizes: the factories of the namespace, their ``*_like`` forms and their ``new_*`` methods."""
from __future__ import annotations

from typing import Any

from .._backends.sparse.parts import nothing
from .._dispatch.binding import make_function
from .._dispatch.factory import Factory
from .._dispatch.keys import SPARSES
from .._tensor import Tensor
from .functions import copied, factory, overloads


def _zeroed(factory: Factory, out: Tensor, given: dict[str, Any]) -> Tensor:
    """Set ``out`` to zeros; a sparse tensor drops all its values."""
    if out._keys & SPARSES:
        return out.sparse_resize_and_clear_(given["size"], len(given["size"]), 0)
    return copied(factory, out, given)


empty = factory("empty", copied, nothing=nothing)
empty_strided = factory("empty_strided")
empty_permuted = factory("empty_permuted")
full = factory("full", copied)
zeros = factory("zeros", _zeroed, nothing=nothing)
ones = factory("ones", copied)
scalar_tensor = factory("scalar_tensor")
empty_like = factory("empty_like")
full_like = factory("full_like")
zeros_like = factory("zeros_like")
ones_like = factory("ones_like")
METHODS = ("new_empty", "new_empty_strided", "new_full", "new_zeros", "new_ones")
for _name in METHODS:
    setattr(Tensor, _name, make_function(_name, True, overloads(_name)))
