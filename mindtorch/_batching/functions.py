"""The rule that ``generate_vmap_rule`` asks for: a Function of all elements, made from the Function of one."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._autograd.function import Function
from .frames import Frame, VmapInfo, batched, filled, lowered, moved
from .rules import is_tensor


class Context:
    """What the static methods of the Function of one element see as ``ctx``: its tensors are of one element."""

    def __init__(self, ctx: Any):
        self._ctx = ctx
        self._to_save: tuple[Any, ...] = ()
        self.needs_input_grad = ctx.needs_input_grad

    def save_for_backward(self, *tensors: Any) -> None:
        self._to_save = tensors

    save_for_forward = save_for_backward

    def mark_non_differentiable(self, *outputs: Any) -> None:
        self._non_differentiable = outputs

    def set_materialize_grads(self, value: bool) -> None:
        self._ctx.set_materialize_grads(value)


def generated_rule(function: type[Function]) -> Callable[..., Any]:
    """The static method ``vmap`` of a Function whose own methods run on a batch as on one element."""

    def rule(info: VmapInfo, in_dims: tuple[Any, ...], *args: Any) -> Any:
        frame = Frame(info.batch_size, info.randomness)

        def raised(values: Any, dims: Any) -> list[Any]:
            return [v if d is None or not is_tensor(v) else batched(v, d, frame)
                    for v, d in zip(values, dims, strict=True)]

        def inside(call: Callable[..., Any], *given: Any) -> Any:
            with frame.entered():
                return call(*given)

        class OfAll(Function):
            @staticmethod
            def forward(*wholes: Any) -> Any:
                outputs = inside(function.forward, *raised(wholes, in_dims))
                return (filled(outputs, frame) if is_tensor(outputs) else
                        tuple([filled(o, frame) if is_tensor(o) else o for o in outputs]))

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                ctx.of_one = one = Context(ctx)
                outputs = [output] if is_tensor(output) else list(output)
                ones = raised(outputs, [0] * len(outputs))
                inside(function.setup_context, one, tuple(raised(inputs, in_dims)),
                       ones[0] if is_tensor(output) else tuple(ones))
                ctx.save_for_backward(*[lowered(t, frame) if is_tensor(t) else t for t in one._to_save])
                ctx.saved_dims = [0 if is_tensor(t) and lowered(t, frame) is not t else None for t in one._to_save]
                constant = getattr(one, "_non_differentiable", ())
                ctx.mark_non_differentiable(*[whole for whole, o in zip(outputs, ones, strict=True)
                                              if any(o is c for c in constant)])
                one._to_save = ()

            @staticmethod
            def backward(ctx: Any, *grads: Any) -> Any:
                ctx.of_one.saved_tensors = tuple(raised(ctx.saved_tensors, ctx.saved_dims))
                found = inside(function.backward, ctx.of_one, *raised(grads, [0] * len(grads)))
                return tuple([gradient(g, d) for g, d in
                              zip(found if isinstance(found, tuple) else (found,), in_dims, strict=True)])

        def gradient(value: Any, dim: Any) -> Any:
            """The gradient of an input in which the elements lie along ``dim``, or that all of them share."""
            if not is_tensor(value):
                return value
            whole = filled(value, frame)
            return moved(whole, 0, dim) if dim is not None else whole.sum(0)

        OfAll.__name__ = f"Vmapped{function.__name__}"
        return OfAll.apply(*args), 0

    return rule
