"""``torch._C._functorch``: questions about tensors inside of ``vmap``."""
from __future__ import annotations

from .._dispatch.local import local
from .._tensor import Tensor
from .._transforms.batch import _add_batch_dim as _add_batch_dim, _remove_batch_dim as _remove_batch_dim
from .._transforms.batching.frames import filled, is_batched


def is_batchedtensor(tensor: Tensor) -> bool:
    """Return True if the tensor stands for one element of a batch that ``vmap`` runs."""
    return any(is_batched(tensor, frame) for frame in local.frames)


def is_functorch_wrapped_tensor(tensor: Tensor) -> bool:
    """Return True if a function of functions wraps the tensor: here, if ``vmap`` does."""
    return is_batchedtensor(tensor)


def maybe_current_level() -> int | None:
    """Return the number of functions of functions that run, None outside of all."""
    return (len(local.frames) + local.transforms) or None


def get_unwrapped(tensor: Tensor) -> Tensor:
    """Return all elements of a batch that ``vmap`` runs; another tensor itself."""
    for frame in reversed(local.frames):
        if is_batched(tensor, frame):
            return filled(tensor, frame)
    return tensor
