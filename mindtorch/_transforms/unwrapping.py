"""The tensors below the transforms: ``debug_unwrap``."""
from __future__ import annotations

from typing import Any

from .._dispatch.keys import AUTOGRAD, DUAL
from .._dispatch.local import local
from .._tensor import Tensor
from .batching import Frame, batched


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """Return a transform's tensor from below it, for debugging (``torch.func.debug_unwrap``).

    Inside ``vmap`` it is the tensor of all elements; inside ``grad``, ``vjp`` and ``jvp`` the values, without graph and
    tangents. With ``recurse`` it is the tensor below all nested transforms, else below the innermost one. Outside
    transforms it is the tensor itself.
    """
    below = _below(tensor)
    return below if below is tensor or not recurse else debug_unwrap(below)


def _below(tensor: Any) -> Any:
    if tensor._batched is not None:
        whole, _, frame = tensor._batched
        if not _differentiates_inside(frame) or _values(tensor) is tensor:
            return whole
    return _values(tensor) if local.transforms else tensor


def _differentiates_inside(frame: Frame) -> bool:
    """Return True if a derivative is taken inside a call of ``vmap``: by a transform that was entered later."""
    return frame in local.frames and local.transforms > frame.level - 1 - local.frames.index(frame)


def _values(tensor: Any) -> Any:
    """Return a tensor, possibly a batch's element, without graph and tangents; itself if it has neither."""
    if tensor._batched is not None:
        whole, dim, frame = tensor._batched
        values = _values(whole)
        return tensor if values is whole else batched(values, dim, frame)
    return tensor._shallow_copy_and_detach() if tensor._keys & (AUTOGRAD | DUAL) else tensor
