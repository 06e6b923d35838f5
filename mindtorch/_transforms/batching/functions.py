"""The rule that ``generate_vmap_rule`` asks for: a Function of all elements, made from the Function of one."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._autograd.function import Function, as_tuple
from .frames import Frame, VmapInfo, batched, filled, moved, place, whole
from .rules import is_tensor


class Context:
    """The ``ctx`` of the static methods of the Function of one element: its tensors are of one element."""

    def __init__(self, ctx: Any):
        self._ctx = ctx
        self._kept: dict[str, tuple[Any, ...]] = {}
        self.needs_input_grad = ctx.needs_input_grad

    def save_for_backward(self, *tensors: Any) -> None:
        self._kept["save_for_backward"] = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        self._kept["save_for_forward"] = tensors

    def mark_dirty(self, *inputs: Any) -> None:
        self._kept["mark_dirty"] = inputs

    def mark_non_differentiable(self, *outputs: Any) -> None:
        self._kept["mark_non_differentiable"] = outputs

    def set_materialize_grads(self, value: bool) -> None:
        self._ctx.set_materialize_grads(value)


def generated_rule(function: type[Function]) -> Callable[..., Any]:
    """Return the static method ``vmap`` of a Function whose own methods run on a batch as on one element."""

    def rule(info: VmapInfo, in_dims: tuple[Any, ...], *args: Any) -> Any:
        frame = Frame(info.batch_size, info.randomness)
        out_dims: list[Any] = []

        def raised(values: Any, dims: Any) -> tuple[Any, ...]:
            return tuple([v if d is None or not is_tensor(v) else batched(v, d, frame)
                          for v, d in zip(values, dims, strict=True)])

        def inside(call: Callable[..., Any], *given: Any) -> Any:
            with frame.entered():
                return call(*given)

        def forward(*wholes: Any) -> Any:
            result = inside(function.forward, *raised(wholes, in_dims))
            outputs = [o if place(o, frame) is not None or not is_tensor(o) else batched(filled(o, frame), 0, frame)
                       for o in as_tuple(result)]
            out_dims[:] = [place(o, frame) for o in outputs]
            outputs = [whole(o, frame) for o in outputs]
            return tuple(outputs) if isinstance(result, tuple) else outputs[0]

        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.of_one, ctx.dims = one, dims = Context(ctx), {}
            ones = raised(as_tuple(output), out_dims)
            inside(function.setup_context, one, raised(inputs, in_dims),
                   ones if isinstance(output, tuple) else ones[0])
            for method, tensors in one._kept.items():
                dims[method] = [place(t, frame) for t in tensors]
                getattr(ctx, method)(*[whole(t, frame) for t in tensors])
            one._kept = {}

        def backward(ctx: Any, *grads: Any) -> Any:
            ctx.of_one.saved_tensors = raised(ctx.saved_tensors, ctx.dims.get("save_for_backward", ()))
            found = inside(function.backward, ctx.of_one, *raised(grads, out_dims))
            return tuple([gradient(g, d) for g, d in zip(as_tuple(found), in_dims, strict=True)])

        def jvp(ctx: Any, *tangents: Any) -> Any:
            ctx.of_one.saved_tensors = raised(ctx.saved_tensors, ctx.dims.get("save_for_forward", ()))
            found = as_tuple(inside(function.jvp, ctx.of_one, *raised(tangents, in_dims)))
            return tuple([whole(t, frame) if place(t, frame) == d or not is_tensor(t) else
                          moved(filled(t, frame), 0, d) for t, d in zip(found, out_dims, strict=True)])

        def gradient(value: Any, dim: Any) -> Any:
            """Return the gradient of an input in which the elements lie along ``dim``, or that all of them share."""
            if not is_tensor(value):
                return value
            found = filled(value, frame)
            return moved(found, 0, dim) if dim is not None else found.sum(0)

        methods = {"forward": forward, "setup_context": setup_context, "backward": backward}
        if function.jvp is not Function.jvp:
            methods["jvp"] = jvp
        of_all: Any = type(f"Vmapped{function.__name__}", (Function,), {
            "generate_vmap_rule": True, **{name: staticmethod(method) for name, method in methods.items()}})
        result = of_all.apply(*args)
        return result, tuple(out_dims) if isinstance(result, tuple) else out_dims[0]

    return rule
