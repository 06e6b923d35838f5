"""What is below the transforms: ``debug_unwrap``."""
from __future__ import annotations

from typing import Any

from .._dispatch.keys import AUTOGRAD, DUAL
from .._dispatch.local import local
from .._tensor import Tensor


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """The tensor that a transform has made its own: inside ``vmap`` that of all elements, inside ``grad``, ``vjp`` and
    ``jvp`` its values, without graph and tangents; with ``recurse`` the one below all nested transforms, else ``vmap``
    is looked through first. Outside of transforms it is the tensor itself. It is there to look at while a program is
    debugged (``torch.func.debug_unwrap``).
    """
    below = _below(tensor)
    return below if below is tensor or not recurse else debug_unwrap(below)


def _below(tensor: Any) -> Any:
    if tensor._batched is not None:
        return tensor._batched[0]
    if local.transforms and tensor._keys & (AUTOGRAD | DUAL):
        return tensor._shallow_copy_and_detach()
    return tensor
