"""The Batched key: tensors that stand for one element of a batch inside ``vmap``.

A batched tensor has the shape, dtype and device of one element. Its ``_batched`` holds the tensor of the whole batch,
the dimension that counts the elements, and the ``Frame`` of the ``vmap`` that made it. In nested calls that tensor is
itself batched, for the frames outside; a call is led down one frame at a time, the innermost first. History and
tangents belong to the tensor of the whole batch, below all frames: to autograd, ``vmap`` is what it calls.

An operator runs on the batch by the rule in its family (``_operators``); a composite through the operators that it is
written in; and any other once for each element, with PyTorch's warning. A rule sees each batch in front.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from ..._base.lazy import lazily

if TYPE_CHECKING:
    from .frames import (
        Frame, batched, filled, frame_at, is_batched, lowered, lowered_all, moved, opened, placed, raised_all,
    )
    from .functions import generated_rule
    from .key import on_batched, registered

__all__ = ["Frame", "batched", "filled", "frame_at", "generated_rule", "is_batched", "lowered", "lowered_all", "moved",
           "on_batched", "opened", "placed", "raised_all", "registered"]
if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, __file__)
