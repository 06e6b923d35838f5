"""The first run of a function: on functional tensors, to find out what it does besides computing."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import compress
from typing import Any

from ..._autograd.function import BackwardCFunction
from ..._autograd.grad_mode import enable_grad
from ..._autograd.node import Node
from ..._autograd.views import set_history
from ..._dispatch.aten import alias
from ..._dispatch.local import local
from ..._dispatch.schemas import registry
from ..._subclasses.functional_tensor import FunctionalTensor, FunctionalTensorMode, View
from ..._tensor import Tensor
from .schemas import COMPUTED, InputAliasInfo, MutationType, OutputAliasInfo, OutputType, ViewAndMutationMeta


def wrapped_inputs(mode: FunctionalTensorMode, args: Any) -> list[Any]:
    """Return functional tensors in place of tensors: leaves, or not, as these are."""
    made: dict[int, Any] = {}

    def wrap(tensor: Any) -> Any:
        out: Any = mode.wrap(tensor.detach() if tensor.requires_grad else tensor)
        if tensor.requires_grad:
            out = as_leaf(out, tensor)
            out.requires_grad_()
            if tensor._grad_fn is not None:
                set_history(out, Node())  # never run: only that there is one matters, and a clone has other strides
        return out

    return [made.setdefault(id(arg), wrap(arg)) if isinstance(arg, Tensor) else arg for arg in args]


def as_leaf(wrapped: Any, tensor: Any) -> Any:
    """Return a functional tensor that is a view, as a tensor that requires grad may be of one that does not: its views
    are views of that one, and autograd follows a write to them under ``no_grad`` to there.
    """
    if tensor._base is None or tensor._base.requires_grad:
        return wrapped
    with enable_grad():
        leaf: Any = alias(wrapped)  # in its strides, which ``view_as`` may change where a size is 1
    leaf._views = ()  # its way from the memory is that of the tensor, not a step of the function
    return leaf


def run_functionalized_fw_and_collect_metadata(f: Callable[..., Any], *, keep_input_mutations: bool,
                                               aliases_as_eager: bool = False
                                               ) -> Callable[..., ViewAndMutationMeta]:
    """Return a function that runs ``f``, which takes and returns flat values, and returns what it does to them."""

    def inner(*flat_args: Any) -> ViewAndMutationMeta:
        mode, grad_mode = FunctionalTensorMode(), local.grad_enabled
        with mode:
            args = wrapped_inputs(mode, flat_args)
            memories = [arg._memory if isinstance(arg, FunctionalTensor) else None for arg in args]
            versions = [arg._version if isinstance(arg, Tensor) else 0 for arg in args]
            outputs = f(*args)
            with_history = [_has_history(output) for output in outputs]
            left = local.grad_enabled
            local.grad_enabled = grad_mode
        inputs = [_of_input(*each, keep_input_mutations)
                  for each in zip(flat_args, args, memories, versions, strict=True)]
        found, bases = _of_outputs(args, memories, outputs, with_history, aliases_as_eager)
        written = [arg for arg, info in zip(args, inputs, strict=True) if info.has_tangent
                   and info.mutation_type is MutationType.MUTATED_OUT_GRAPH]
        computed = [output for output, info in zip(outputs, found, strict=True)
                    if info.output_type in COMPUTED and info.requires_grad]
        recorded = [base.requires_grad or (grad_mode and not aliases_as_eager) for base in bases]
        tangents = [tensor.value().clone() for tensor in (*written, *computed, *compress(bases, recorded))]
        return ViewAndMutationMeta(inputs, found, len(bases), keep_input_mutations, tangents, recorded,
                                   left if left != grad_mode else None)

    return inner


def _of_input(arg: Any, functional: Any, memory: Any, version: int, keep_input_mutations: bool) -> InputAliasInfo:
    """Describe the changes that a call made to one input."""
    if memory is None:
        return InputAliasInfo(False, False, False, False, False, False, False, 0, keep_input_mutations)
    mutates_data = memory.generation > 0 and not functional._set
    return InputAliasInfo(
        is_leaf=arg._grad_fn is None,
        mutates_data=mutates_data,
        mutates_metadata=functional._moved or functional._set,
        mutations_hidden_from_autograd=functional._version == version,
        mutations_under_no_grad_or_inference_mode=mutates_data and memory.quiet == memory.generation,
        mutates_storage_metadata=functional._set,
        requires_grad=functional.requires_grad,
        writes=functional._version - version,
        keep_input_mutations=keep_input_mutations)


def _has_history(output: Any) -> bool:
    """Return True for a tensor that requires grad, unless it is a view that was taken without grad mode."""
    return isinstance(output, Tensor) and output.requires_grad and (output._base is None or output.grad_fn is not None)


def _of_outputs(args: list[Any], memories: list[Any], outputs: Any,
                with_history: list[bool], aliases_as_eager: bool) -> tuple[list[OutputAliasInfo], list[Any]]:
    """Describe each output; return the tensors, too, that are no outputs, but that several outputs are views of."""
    functional = [output for output in outputs if isinstance(output, FunctionalTensor)]
    aliases = Counter(id(output._memory) for output in functional)
    parts = Counter(id(output._memory) for output in functional  # of views made together, as by ``unbind``
                    if output._views and output._views[-1].number is not None)
    input_of = {id(memory): i for i, memory in reversed([*enumerate(memories)]) if memory is not None}
    output_of = {id(output): i for i, output in reversed([*enumerate(outputs)]) if isinstance(output, Tensor)}
    argument_of = {id(arg): i for i, arg in enumerate(args) if isinstance(arg, Tensor)}
    own_bases = [output._base for output in functional if output._base is not None]
    bases: list[Any] = []

    def kind(output: Any, has_history: bool) -> tuple[Any, int | None, tuple[Any, ...]]:
        if type(output) is not FunctionalTensor:
            return OutputType.non_alias, None, ()
        if aliases_as_eager:
            check_several(output)
        memory = id(output._memory)
        whole = aliases[memory] - parts[memory]  # the outputs on this memory that are not one of several views
        if id(output) in argument_of:
            return OutputType.is_input, argument_of[id(output)], ()
        if memory in input_of:
            if isinstance(output._grad_fn, BackwardCFunction):
                return OutputType.custom_function_view, None, ()
            if aliases_as_eager and id(output._base) in output_of and id(output._base) not in argument_of:
                return of_memory(output)
            if output._grad_fn is not None and not whole and not aliases_as_eager:
                return OutputType.non_alias, None, ()
            return OutputType.alias_of_input, input_of[memory], output._views
        base: Any = output._base
        if aliases_as_eager:
            return of_memory(output)
        if base is not None and output.requires_grad and base.requires_grad:
            if whole <= 1 and has_history:
                return OutputType.unsafe_view_alias, None, ()
            return of_base(output, base)
        if aliases[memory] > 1 and not output.requires_grad:
            same = next((i for i, other in enumerate(outputs) if isinstance(other, FunctionalTensor)
                         and other._memory is output._memory and other.requires_grad
                         and (other.shape, other._strides(), other._offset) == (output.shape, output._strides(),
                                                                               output._offset)), None)
            if same is not None:
                return OutputType.alias_of_intermediate_base_is_user_output, same, ()
        return OutputType.non_alias, None, ()

    def check_several(output: Any) -> None:
        """Raise NotImplementedError for one of several views whose version has grown since: autograd refuses it."""
        if output.requires_grad and any(view.number is not None and view.version != output._version
                                        for view in output._views):
            raise NotImplementedError("one of several views of a tensor that requires grad is written in place")

    def of_memory(output: Any) -> tuple[Any, int | None, tuple[Any, ...]]:
        """Describe an output that shares memory with a tensor of the function's."""
        base = output._base if output._base is not None else part_of(output, [*functional, *own_bases, *bases])
        if base is None:
            return OutputType.non_alias, None, ()
        if output._views[:len(base._views)] != base._views:
            raise NotImplementedError("a view is returned whose base changed its layout in place")
        output_type, number, views = of_base(output, base)
        if output._base is None and not output.requires_grad and all(view.op.name != "detach" for view in views):
            views = *views, View(registry["detach"], (), None)  # so that it has no base there, either
        return output_type, number, views

    def of_base(output: Any, base: Any) -> tuple[Any, int | None, tuple[Any, ...]]:
        """Describe a view of another tensor of the function's, which is an output by itself or becomes one."""
        views = output._views[len(base._views):]
        if id(base) in output_of:
            return OutputType.alias_of_intermediate_base_is_user_output, output_of[id(base)], views
        known = next((i for i, other in enumerate(bases) if other is base), None)
        if known is not None:
            return OutputType.alias_of_intermediate, known, views
        bases.append(base)
        return OutputType.alias_of_intermediate_save_as_output, len(bases) - 1, views

    found: dict[int, OutputAliasInfo] = {}
    for i in sorted(range(len(outputs)), key=lambda i: getattr(outputs[i], "_base", None) is None):
        output, has_history = outputs[i], with_history[i]  # one without a base may be a view of another one's base
        output_type, base, views = kind(output, has_history)
        is_requiring_leaf = isinstance(output, Tensor) and output.requires_grad and not has_history
        found[i] = OutputAliasInfo(output_type, type(output), base, has_history, views, is_requiring_leaf)
    return [found[i] for i in range(len(outputs))], bases


def part_of(output: FunctionalTensor, others: list[Any]) -> Any:
    """Return the tensor that one without a base is a part of: one of the others, or the memory of a tensor that is
    detached or that inference mode made, as one tensor; None if it is no part, or has a history of its own.
    """
    if output._grad_fn is not None:  # written with a history since it was detached, which no step repeats
        return None
    sharing = [other for other in others if other._memory is output._memory and other is not output]
    for other in sharing:
        count = len(other._views)
        if count < len(output._views) and output._views[:count] == other._views:
            return other
    if not output.is_inference() and all(view.op.name != "detach" for view in output._views):
        return None
    whole = base_or_whole(output)
    return None if not sharing and layout_of(whole) == layout_of(output) else whole


def base_or_whole(output: FunctionalTensor) -> Any:
    """Return the base of a view, or for a detached tensor, which has none, its memory as one tensor."""
    return output._mode.whole(output._memory) if output._base is None else output._base


def layout_of(tensor: Any) -> tuple[Any, ...]:
    """Return shape, strides and offset."""
    return tuple(tensor.shape), tensor._strides(), tensor._offset
