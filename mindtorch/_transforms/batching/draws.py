"""Random numbers inside ``vmap``: refused, others for each element, or the same for all."""
from __future__ import annotations

from typing import Any

from ..._dispatch.dispatcher import refuse_random
from ..._dispatch.local import local
from ..._dispatch.registry import Operator
from .frames import Frame, batched, filled, is_batched, lowered, raised
from .rules import aligned, each_element, each_result, is_tensor


def at_random(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """Draw random numbers for all elements; RuntimeError if ``vmap``'s ``randomness`` is 'error' or unattainable."""
    inside = [is_batched(arg, frame) for arg in args]
    if frame.randomness == "different" and op.is_inplace and any(inside) and not inside[0]:
        raise self_is_smaller(op)
    if frame.randomness == "error" or (op.is_inplace and not inside[0] and frame.randomness == "different"):
        refuse_random(frame)
    with frame.left():
        if frame.randomness == "different":
            result = each_result(different(op, frame, args), lambda t: batched(t, 0, frame))
            return args[0] if op.is_inplace else result
        if not any(inside):
            return op.call(*args)
        if any(inside[1:]) or not op.is_inplace:
            raise RuntimeError("Vmap does not currently support same randomness with a batched tensor input. Please "
                               "file an issue with functorch")
        whole = lowered(args[0], frame)
        whole.copy_(op.call(whole.select(0, 0).clone(), *args[1:]))
        return args[0]


def self_is_smaller(op: Operator) -> RuntimeError:
    """Return the error of an in-place operator whose ``self``, unlike another argument, is shared by all elements."""
    return RuntimeError(
        f"vmap: {op.name}(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that "
        "has more elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped "
        f"over in a vmap. Please try to use out-of-place operators instead of {op.name}. If said operator is being "
        "called inside the PyTorch framework, please file a bug report instead.")


def different(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """Return numbers for all elements, drawn in one call, as PyTorch draws them."""
    size = op.schema.positions.get("size")
    if size is not None:
        return op.call(*args[:size], (frame.size, *args[size]), *args[size + 1:])
    if op.packet == "randperm":
        return each_element(op, frame, args)
    if op.packet == "multinomial" and args[0].ndim > 1:  # rows of all elements below each other
        rows = filled(args[0], frame)
        return op.call(rows.flatten(0, 1), *args[1:]).unflatten(0, rows.shape[:2])
    tensors = [arg for arg in args if is_tensor(arg)]
    ndim = max(tensor.ndim for tensor in tensors)
    if not any(is_batched(tensor, frame) for tensor in tensors):
        shared = tensors[0].expand((frame.size, *(1,) * (ndim - tensors[0].ndim), *tensors[0].shape))
        return op.call(*[shared if arg is tensors[0] else arg for arg in args])
    return op.call(*[aligned(arg, ndim, frame) if is_tensor(arg) else arg for arg in args])


def to_fill(tensor: Any) -> Any:
    """Return a new tensor as one element of a batch, where ``vmap`` fills each with other random numbers."""
    for frame in local.frames:
        if frame.randomness == "different" and not is_batched(tensor, frame):
            tensor = raised(tensor.new_empty((frame.size, *tensor.shape)), 0, frame)
    return tensor
