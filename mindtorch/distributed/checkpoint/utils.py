"""``torch.distributed.checkpoint.utils``: what planners of one's own find by the keys of a checkpoint."""
from __future__ import annotations

from typing import Any

from ..._tensor import Tensor
from ..tensor._api import DTensor
from .api import CheckpointException
from .metadata import MetadataIndex

__all__ = ["CheckpointException", "find_state_dict_object"]


def find_state_dict_object(state_dict: dict[str, Any], index: MetadataIndex) -> Any:
    """Return the object of a key, of a DTensor this process's part.

    Raises:
        ValueError: if there is no such key, or it has an offset, and the object is no part of a tensor.
    """
    if index.fqn not in state_dict:
        raise ValueError(f"Could not find FQN: '{index.fqn}'")
    found = state_dict[index.fqn]
    if isinstance(found, DTensor):
        return found._local_tensor
    if index.offset is not None and (any(index.offset) or not isinstance(found, Tensor)):
        raise ValueError(f"FQN: '{index.fqn}' is not a ShardedTensor or a DTensor, can't find by offset: "
                         f"'{index.offset}'")
    return found
