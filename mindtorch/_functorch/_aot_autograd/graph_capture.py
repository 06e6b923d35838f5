"""The graphs of a function: of its forward pass alone, or of forward and backward pass together (the joint graph)."""
from __future__ import annotations

from collections.abc import Callable
from itertools import compress
from typing import Any

from ..._autograd.engine import grad
from ..._autograd.grad_mode import no_grad
from ..._dispatch.overloads import ops
from ..._subclasses.functional_tensor import FunctionalTensor, FunctionalTensorMode, value_of
from ..._tensor import Tensor
from ...fx.experimental.proxy_tensor import get_proxy_mode, make_fx
from ...fx.graph_module import GraphModule
from .collect_metadata_analysis import as_leaf, base_or_whole
from .schemas import AOTConfig, MutationType, OutputType, ViewAndMutationMeta


def fresh_input(tensor: Any, info: Any) -> Any:
    """Return an input that the function may write although it is a leaf."""
    if info.mutation_type is not MutationType.MUTATED_OUT_GRAPH or not info.requires_grad:
        return tensor
    made = tensor.clone() if info.mutates_data else tensor.view_as(tensor)
    made._base = None  # the layout of a leaf's view must not be changed
    return made


def prepared(f: Callable[..., Any], meta: ViewAndMutationMeta,
             joint: bool) -> Callable[..., tuple[list[Any], list[Any]]]:
    """Return a function of the inputs that returns all of the graph's results, and the inputs as ``f`` left them."""

    def run(*args: Any) -> tuple[list[Any], list[Any]]:
        given = [fresh_input(arg, info) if joint and isinstance(arg, Tensor) else arg
                 for arg, info in zip(args, meta.input_info, strict=True)]
        outputs = list(f(*given))
        bases = [base_or_whole(output) for output, info in zip(outputs, meta.output_info, strict=True)
                 if info.output_type is OutputType.alias_of_intermediate_save_as_output]
        return [*[given[i] for i in meta.mutated_inp_runtime_indices], *outputs, *bases], given

    return run


def written_in_graph(meta: ViewAndMutationMeta, args: Any, given: list[Any]) -> None:
    """Write the inputs whose writes stay in the graph."""
    with no_grad():
        for i in meta.mutated_graph_handled_indices:
            ops.aten.copy_.default(args[i], value_of(given[i]))


def forward_function(f: Callable[..., Any], meta: ViewAndMutationMeta,
                     config: AOTConfig) -> Callable[..., tuple[Any, ...]]:
    """Return the function whose operators are the forward graph."""
    run = prepared(f, meta, joint=False)

    def forward(*args: Any) -> tuple[Any, ...]:
        mode = FunctionalTensorMode(config.pre_dispatch, config.is_export)
        with mode:
            results, given = run(*[mode.wrap(arg) if isinstance(arg, Tensor) else arg for arg in args])
            values = [value_of(result) for result in results]
            for arg in given:
                value_of(arg)
        written_in_graph(meta, args, given)
        return tuple(values)

    return forward


def joint_function(f: Callable[..., Any], meta: ViewAndMutationMeta,
                   args: list[Any]) -> Callable[[list[Any], list[Any]], tuple[list[Any], list[Any]]]:
    """Return the function of inputs (``primals``) and of gradients of results (``tangents``) whose operators are the
    joint graph for inputs like ``args``. It returns the results, and the gradients of the inputs that require them.
    """
    needed = [isinstance(arg, Tensor) and arg.requires_grad for arg in args]
    run = prepared(f, meta, joint=True)

    def joint(primals: list[Any], tangents: list[Any]) -> tuple[list[Any], list[Any]]:
        mode = FunctionalTensorMode()
        with mode:
            inputs = [mode.wrap(primal) if isinstance(primal, Tensor) else primal for primal in primals]
            for i in compress(range(len(args)), needed):
                inputs[i] = as_leaf(inputs[i], args[i]).requires_grad_()
            results, given = run(*inputs)
            pairs = [(result, mode.wrap(tangent)) for result, tangent in zip(
                [result for result, has in zip(results, meta.returns_with_tangents, strict=True) if has],
                tangents, strict=True) if result.requires_grad]
            leaves = [tensor for tensor, wanted in zip(inputs, needed, strict=True) if wanted]
            found: Any = [None] * len(leaves)
            if pairs and leaves:
                _tag_forward()
                generations = [tensor._memory.generation for tensor in inputs if isinstance(tensor, FunctionalTensor)]
                found = grad([result for result, _ in pairs], leaves, [tangent for _, tangent in pairs],
                             allow_unused=True)
                if generations != [tensor._memory.generation for tensor in inputs
                                   if isinstance(tensor, FunctionalTensor)]:
                    raise RuntimeError("aot_autograd: the backward pass writes an input of the function, as a "
                                       "Function's backward may do; write a copy of it there")
            values = [value_of(result) for result in results]
            of_leaves = iter([value_of(gradient) for gradient in found])
            gradients = [next(of_leaves) if wanted else None for wanted in needed]
            for arg in given:
                value_of(arg)
        written_in_graph(meta, primals, given)
        return values, gradients

    return joint


def _tag_forward() -> None:
    """Mark the nodes that were written so far as the forward pass."""
    mode = get_proxy_mode()
    assert mode is not None
    for node in mode.tracer.graph.nodes:
        node.meta["partitioner_tag"] = "is_forward"


def trace_forward(f: Callable[..., Any], args: list[Any], meta: ViewAndMutationMeta, config: AOTConfig) -> GraphModule:
    """Return the forward graph for inputs, which are fake tensors."""
    traced = make_fx(forward_function(f, meta, config), config.decompositions, pre_dispatch=config.pre_dispatch,
                     _disable_torch_fn_metadata_mode=True)(*args)
    return _cleaned(traced)


def trace_joint(f: Callable[..., Any], args: list[Any], meta: ViewAndMutationMeta, config: AOTConfig) -> GraphModule:
    """Return the joint graph for inputs, which are fake tensors."""
    primals = [arg.detach() if isinstance(arg, Tensor) else arg for arg in args]
    traced = make_fx(joint_function(f, meta, args), config.decompositions, _disable_torch_fn_metadata_mode=True)(
        primals, list(meta.traced_tangents))
    return _cleaned(traced)


def _cleaned(traced: GraphModule) -> GraphModule:
    """Remove nodes without effect."""
    traced.graph.eliminate_dead_code()
    traced.recompile()
    return traced
