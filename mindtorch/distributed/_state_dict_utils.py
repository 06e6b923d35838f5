"""``torch.distributed._state_dict_utils``: whole states of states in parts, and back."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from io import BytesIO
from typing import Any

from .._autograd.grad_mode import no_grad
from .._tensor import Tensor
from ..utils._pytree import tree_map
from ._collectives.groups import get_rank, is_initialized
from .tensor._api import DTensor, distribute_tensor

__all__ = ["_distribute_tensors", "_gather_state_dict", "_offload_state_dict_to_cpu"]


def _mapped(state_dict: Any, function: Callable[[Tensor], Tensor], ranks_only: tuple[int, ...],
            type_check: bool) -> Any:
    def of_leaf(leaf: Any) -> Any:
        if isinstance(leaf, Tensor):
            return function(leaf)
        if type_check and not isinstance(leaf, (int, float, str, bytes, BytesIO, type(None))):
            raise ValueError(f"Unexpected value type {type(leaf)}")
        return leaf

    found = tree_map(of_leaf, state_dict)
    return found if not ranks_only or not is_initialized() or get_rank() in ranks_only else {}


def _gather_state_dict(state_dict: dict[str, Any], *, pg: Any = None, device: Any = None, cpu_offload: bool = False,
                       ranks_only: tuple[int, ...] = (), type_check: bool = True) -> dict[str, Any]:
    """Return a state of whole tensors; it is empty in other ranks than ``ranks_only``, if some are named.

    Raises:
        ValueError: with ``type_check``, for objects that no checkpoint holds.
    """
    def whole(tensor: Tensor) -> Tensor:
        tensor = tensor.full_tensor() if isinstance(tensor, DTensor) else tensor
        return tensor.cpu() if cpu_offload else tensor

    return _mapped(state_dict, whole, ranks_only, type_check)


def _offload_state_dict_to_cpu(state_dict: dict[str, Any], *, ranks_only: tuple[int, ...] = (),
                               type_check: bool = True) -> dict[str, Any]:
    """Return a state in host memory; it is empty in other ranks than ``ranks_only``, if some are named."""
    return _mapped(state_dict, lambda tensor: tensor.cpu(), ranks_only, type_check)


@no_grad()
def _distribute_tensors(local_state_dict: dict[str, Any], keys: Iterable[str], device: Any, pg: Any = None) -> None:
    """Put DTensors in the place of pairs of a DTensor and a whole tensor: the first, with the second's elements; a
    new one, if the first has none (on the meta device).
    """
    for key in keys:
        pair = local_state_dict.get(key)
        if not isinstance(pair, (tuple, list)):
            continue
        mine, whole = pair
        part = distribute_tensor(whole.detach(), mine.device_mesh, mine.placements, src_data_rank=None)
        if mine.is_meta:
            # a copy, since the processes' states may share the whole
            part = DTensor(part._local_tensor.clone(), part._spec, requires_grad=mine.requires_grad)
        else:
            mine._local_tensor.copy_(part._local_tensor)
        local_state_dict[key] = part if mine.is_meta else mine
