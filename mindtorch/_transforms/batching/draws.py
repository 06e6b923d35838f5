"""Random numbers inside ``vmap``: refused, others for each element, or the same for all."""
from __future__ import annotations

from typing import Any

from ..._dispatch.dispatcher import refuse_random
from ..._dispatch.registry import Operator
from .frames import Frame, batched, is_batched, lowered
from .rules import aligned, each_element, each_result, is_tensor


def at_random(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """Draw random numbers for all elements; RuntimeError if ``vmap``'s ``randomness`` is 'error' or unattainable."""
    inside = [is_batched(arg, frame) for arg in args]
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


def different(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """Numbers for all elements, drawn in one call, as PyTorch draws them."""
    size = op.schema.positions.get("size")
    if size is not None:
        return op.call(*args[:size], (frame.size, *args[size]), *args[size + 1:])
    if op.packet == "randperm" or (op.packet == "multinomial" and args[0].ndim > 1):
        return each_element(op, frame, args)
    ndim = max(arg.ndim for arg in args if is_tensor(arg))
    return op.call(*[aligned(arg, ndim, frame) if is_tensor(arg) else arg for arg in args])
