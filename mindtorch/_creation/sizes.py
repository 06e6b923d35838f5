"""Tensors from sizes: the factories of the namespace, their ``*_like`` forms and their ``new_*`` methods."""
from __future__ import annotations

from typing import Any

from .._backends.sparse.parts import nothing
from .._dispatch.aten import fill__Scalar as fill_, resize_
from .._dispatch.binding import make_function
from .._dispatch.factory import Factory
from .._dispatch.keys import SPARSES
from .._tensor import Tensor
from .functions import copied, factory, overloads


def _filled(factory: Factory, out: Tensor, given: dict[str, Any]) -> Tensor:
    """Fill ``out``, brought to the size; a sparse tensor drops all its values."""
    size = given["size"]
    if out._keys & SPARSES and factory.packet == "zeros":
        return out.sparse_resize_and_clear_(size, len(size), 0)
    if out.shape != size:
        resize_(out, size)
    return fill_(out, given["fill_value"] if "fill_value" in given else int(factory.packet == "ones"))


empty = factory("empty", copied, nothing=nothing)
empty_strided = factory("empty_strided")
empty_permuted = factory("empty_permuted")
full = factory("full", _filled)
zeros = factory("zeros", _filled, nothing=nothing)
ones = factory("ones", _filled)
scalar_tensor = factory("scalar_tensor")
empty_like = factory("empty_like")
full_like = factory("full_like")
zeros_like = factory("zeros_like")
ones_like = factory("ones_like")
METHODS = ("new_empty", "new_empty_strided", "new_full", "new_zeros", "new_ones")
for _name in METHODS:
    setattr(Tensor, _name, make_function(_name, True, overloads(_name)))
