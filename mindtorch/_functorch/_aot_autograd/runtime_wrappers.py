"""Side effects of a compiled graph's runs: inputs are written, and aliases made, as the function did."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._autograd.function import Function
from ..._autograd.grad_mode import enable_grad, no_grad
from ..._dispatch.local import local
from ..._tensor import Tensor
from .schemas import COMPUTED, InputAliasInfo, MutationType, OutputType, ViewAndMutationMeta

Boxed = Callable[[list[Any]], Any]
TWICE = ("torch.compile with aot_autograd does not currently support double backward")


def autograd_function(forward: Boxed, backward: Boxed, meta: ViewAndMutationMeta,
                      saved_count: int) -> type[Function]:
    """Return the ``autograd.Function`` whose forward and backward pass are the two compiled graphs.

    Of the forward graph's results, the last ``saved_count`` are saved. The backward graph takes them and the gradients
    of results, and returns the gradients of all inputs.
    """
    returned = meta.num_forward_returns
    written = meta.num_mutated_inp_runtime_indices

    class CompiledFunction(Function):
        """A compiled call."""

        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            results = list(forward(list(args)))
            saved = results[returned:]
            tensors = [value for value in saved if isinstance(value, Tensor)]
            ctx.order = [isinstance(value, Tensor) for value in saved]
            ctx.numbers = [value for value in saved if not isinstance(value, Tensor)]
            inputs = {id(arg) for arg in args if isinstance(arg, Tensor)}
            to_write = [(args[i], meta.input_info[i]) for i in meta.mutated_inp_runtime_indices]
            tensors = [_unwritten(value, to_write) for value in tensors]
            ctx.save_for_backward(*[value if id(value) in inputs else value.detach() for value in tensors])
            results = [value._shallow_copy_and_detach() if isinstance(value, Tensor) and value._base is not None
                       and value._base._storage is value._storage and id(value) not in inputs else value
                       for value in results[:returned]]
            for i, info in enumerate(meta.output_info):
                if info.output_type not in COMPUTED:
                    results[written + i] = Hidden(results[written + i])  # made again from its base
            without = [value for value, has in zip(results, meta.returns_with_tangents, strict=True)
                       if isinstance(value, Tensor) and not has]  # a hidden one may be the value that an input receives
            ctx.mark_non_differentiable(*without)
            return tuple(results)

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            tangents = [
                _in_layout(gradient, like) for gradient, like in zip(
                    [gradient for gradient, has in zip(gradients, meta.returns_with_tangents, strict=True) if has],
                    meta.traced_tangents, strict=True)]
            tensors, numbers = iter(ctx.saved_tensors), iter(ctx.numbers)
            saved = [next(tensors) if is_tensor else next(numbers) for is_tensor in ctx.order]

            class CompiledFunctionBackward(Function):
                """The backward pass of a compiled call, which has no derivative of its own."""

                @staticmethod
                def forward(inner: Any, *args: Any) -> Any:
                    return tuple(backward(list(args)))

                @staticmethod
                def backward(inner: Any, *args: Any) -> Any:
                    raise RuntimeError(TWICE)

            given = [*saved, *tangents]
            if local.grad_enabled and any(isinstance(value, Tensor) and value.requires_grad for value in given):
                return CompiledFunctionBackward.apply(*given)
            return tuple(backward(given))

    return CompiledFunction


def _unwritten(value: Tensor, to_write: list[tuple[Tensor, InputAliasInfo]]) -> Tensor:
    """Return a value to save as it is before inputs are written that it may share memory with."""
    shared = [info for arg, info in to_write if arg.untyped_storage() is value.untyped_storage()]
    if any(info.mutates_data for info in shared):
        return value.detach().clone()
    return value.data if shared else value


def _in_layout(gradient: Tensor, like: Tensor) -> Tensor:
    """Return a gradient with the strides for which the backward graph was traced."""
    if gradient._strides() == like._strides() or tuple(gradient.shape) != tuple(like.shape):
        return gradient
    return gradient.new_empty_strided(tuple(like.shape), like._strides()).copy_(gradient)


class Hidden:
    """A result that autograd must not take for an output (``TensorAlias``)."""

    def __init__(self, value: Any):
        self.value = value


def shown(value: Any) -> Any:
    """Return a result."""
    return value.value if isinstance(value, Hidden) else value


def write_inputs(args: list[Any], updated: list[Any], meta: ViewAndMutationMeta) -> None:
    """Write the inputs that the function wrote, as seen by autograd where the function's writes were.

    Raises:
        RuntimeError: PyTorch's, for a leaf that requires grad.
    """
    for i, value in zip(meta.mutated_inp_runtime_indices, updated, strict=True):
        arg, info = args[i], meta.input_info[i]
        if info.mutates_storage_metadata:
            with no_grad():
                arg.set_(value)
            continue
        if info.mutates_metadata:
            layout = (tuple(value.shape), value._strides(), value._offset)
            if not info.mutates_data:
                arg.as_strided_(*layout)
                continue
            arg.as_strided_(*layout)
        if info.mutations_hidden_from_autograd:
            with no_grad():
                arg.data.copy_(value)
        elif info.mutations_under_no_grad_or_inference_mode:
            with no_grad():
                arg.copy_(value)
        elif info.is_leaf and arg.requires_grad:
            arg.detach().copy_(value)
        else:
            arg.copy_(value)


def layouts_of(args: list[Any], meta: ViewAndMutationMeta) -> dict[int, tuple[Any, ...]]:
    """Return the layouts of the inputs whose layout the call changes."""
    return {i: (tuple(args[i].shape), args[i]._strides(), args[i]._offset)
            for i, info in enumerate(meta.input_info) if info.mutates_metadata and not info.mutates_storage_metadata}


def versions_of(args: list[Any], meta: ViewAndMutationMeta) -> list[tuple[Tensor, int]]:
    """Return the inputs that the call writes, each with the version that it then has."""
    return [(arg, arg._version + info.writes) for arg, info in zip(args, meta.input_info, strict=True)
            if info.mutation_type is not MutationType.NOT_MUTATED and not info.mutates_storage_metadata
            and not arg.is_inference()]


def count_writes(versions: list[tuple[Tensor, int]]) -> None:
    """Give inputs the versions of the function's writes, however many the graph makes of them."""
    for tensor, version in versions:
        assert tensor._version_counter is not None
        tensor._version_counter[0] = version


def outputs_of(args: list[Any], layouts: dict[int, tuple[Any, ...]], results: list[Any],
               meta: ViewAndMutationMeta) -> list[Any]:
    """Return the outputs, of which aliases of inputs and of intermediate tensors are made again.

    Views of inputs begin at the layouts that those had before the call.
    """
    outputs = results[:meta.num_outputs]
    bases = results[meta.num_outputs:]
    owners = {OutputType.alias_of_input: args, OutputType.alias_of_intermediate: bases,
              OutputType.alias_of_intermediate_save_as_output: bases,
              OutputType.alias_of_intermediate_base_is_user_output: outputs}
    for i, info in enumerate(meta.output_info):
        if info.base_idx is not None:
            outputs[i] = args[info.base_idx] if info.output_type is OutputType.is_input else (
                viewed(owners[info.output_type][info.base_idx], outputs[i], info,
                       layouts.get(info.base_idx) if info.output_type is OutputType.alias_of_input else None))
        if info.is_requiring_leaf and not outputs[i].requires_grad:
            outputs[i].requires_grad_()
    return outputs


def viewed(base: Any, traced: Any, info: Any, layout: tuple[Any, ...] | None) -> Any:
    """Return a view of a tensor, or of a layout of its memory, by the steps that were traced, or, if these do not fit,
    by the layout they led to.
    """
    with enable_grad() if info.requires_grad else no_grad():
        if layout is not None:
            base = base.as_strided(*layout)
        if not info.views:
            return base.view_as(base) if info.requires_grad else base.detach()
        found = base
        try:
            for view in info.views:
                found = view.of(found, False)
        except RuntimeError:
            found = None
        if found is None or found.shape != traced.shape:
            found = base.as_strided(tuple(traced.shape), traced._strides(), traced._offset)
    return found
