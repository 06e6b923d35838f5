"""The Batched key: it calls the operator's rule, for the innermost frame."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._backends.common.pointwise import Pointwise
from ..._dispatch.dispatcher import has_derivative, refuse_random_out, registry, tensors_of
from ..._dispatch.keys import BACKENDS, BATCHED, CPU
from ..._dispatch.local import local
from ..._dispatch.registry import Operator
from .draws import at_random, self_is_smaller
from .frames import Frame, batched, become, is_batched, lowered
from .rules import Rule, by_element, each_result, filled_like, pointwise, with_own_self


def on_batched(op: Operator, keys: int) -> Callable[..., Any]:
    """Run an operator on all elements of the innermost frame (the Batched key)."""
    backend = keys & BACKENDS or CPU
    kernel = op.kernel(backend & -backend)
    is_random = op.family == "random" and not op.packet.endswith("_backward")
    functional = op.functional if op.is_inplace and op.functional is not None else op
    rule = registry.batching.get(functional.name) or (
        pointwise if isinstance(registry.meta_rows.get(functional.name), Pointwise) else None)
    composite = kernel.fn if kernel is not None and kernel.fn is registry.composites.get(op.name) else None
    drawn_by_parts = op.schema.parameters[0].base == "Tensor" and op.packet != "normal" and not op.is_out
    if composite is not None and (drawn_by_parts if is_random else rule is None):
        return composite if op.is_inplace or not has_derivative(op) else with_own_self(composite)
    rule = rule or by_element

    def call(*args: Any) -> Any:
        found = [t._batched[2] for t in tensors_of(args) if t._keys & BATCHED]
        frame = max(found, key=lambda frame: frame.number) if found else local.frames[-1]
        if frame not in local.frames:
            raise RuntimeError(
                "Either your tensor may have escaped from inside a function being vmapped and this is a user error "
                "(see https://pytorch.org/functorch/stable/ux_limitations.html), or there is an internal functorch "
                f"error in `{op.name}` Please file an issue if it looks like the latter")
        if op.is_out and is_random:
            refuse_random_out()
        if op.is_out:
            raise RuntimeError(f"Batching rule not implemented for aten::{op.name}; the fallback path doesn't work on "
                               "out= or view ops.")
        if is_random:
            return at_random(op, frame, args)
        if op.is_inplace and not is_batched(args[0], frame) and not (frame.tangents_only and frame.widen(args[0])):
            raise self_is_smaller(op)
        if "inplace_view" in op.flags or op.name in IN_PLACE_VIEWS:
            view = registry[op.packet[:-1] + op.name[len(op.packet):]].call(*args)
            become(args[0], view)
            return args[0]
        result = rule(op, frame, args)
        return args[0] if op.is_inplace else wrapped(result, frame)

    return call


IN_PLACE_VIEWS = ("squeeze_", "squeeze_.dim", "squeeze_.dims", "t_", "transpose_", "unsqueeze_")


def registered(function: Callable[..., Any]) -> Rule:
    """Return the rule of a user's function. The function takes ``VmapInfo``, the dimension of the batch in each
    argument (None where there is none), and the arguments; it returns the results and the dimensions of the batch in
    them.
    """
    return lambda op, frame, args: each_result(frame.through_rule(function, args),
                                               lambda t: lowered(filled_like(t, frame), frame))


def wrapped(result: Any, frame: Frame) -> Any:
    """Wrap a rule's results for all elements, which lie in front, as batched tensors."""
    return each_result(result, lambda t: batched(t, 0, frame))
