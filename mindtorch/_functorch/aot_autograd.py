"""AOTAutograd: a function and its derivative as graphs, before either runs (``torch._functorch.aot_autograd``).

The function runs on functional tensors, first to find out what it does besides computing, then to be traced, together
with its backward pass. A partitioner divides the joint graph into a forward and a backward graph, and a compiler makes
a function of each. ``_aot_autograd`` has a module for each stage.
"""
from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from .._autograd.grad_mode import enable_grad, modes_before, no_grad
from .._backends.random import get_rng_state, set_rng_state
from .._dispatch.local import local
from .._dispatch.overloads import ops
from .._dispatch.python import enable_python_dispatcher
from .._tensor import Tensor
from .._transforms.pytree import tree_flatten, tree_unflatten
from ..fx.graph_module import GraphModule
from ..fx.node import map_aggregate
from ..nn.module import Module
from ..nn.utils.stateless import _functional_call
from . import config as config_of_module
from ._aot_autograd.collect_metadata_analysis import (
    run_functionalized_fw_and_collect_metadata as run_functionalized_fw_and_collect_metadata,
)
from ._aot_autograd.graph_capture import trace_forward, trace_joint
from ._aot_autograd.inputs import Fakes, Inputs, fake_inputs
from ._aot_autograd.joint_nodes import is_tangent
from ._aot_autograd.logging_utils import (
    get_aot_compilation_context as get_aot_compilation_context, get_aot_graph_name as get_aot_graph_name,
    get_graph_being_compiled as get_graph_being_compiled, set_model_name as set_model_name, track_graph_compiling,
)
from ._aot_autograd.runtime_wrappers import (
    autograd_function, count_writes, layouts_of, outputs_of, shown, versions_of, write_inputs,
)
from ._aot_autograd.schemas import (
    AOTConfig as AOTConfig, InputAliasInfo as InputAliasInfo, MutationType as MutationType,
    OutputAliasInfo as OutputAliasInfo, OutputType as OutputType, ViewAndMutationMeta as ViewAndMutationMeta,
)
from .partitioners import default_partition

AOT_COUNTER = itertools.count()


def make_boxed_func(f: Callable[..., Any]) -> Callable[[list[Any]], Any]:
    """Return a function that takes a list of the arguments of ``f``, which frees them when it likes
    (``make_boxed_func``).
    """

    def boxed(args: list[Any]) -> Any:
        return f(*args)

    boxed._boxed_call = True  # type: ignore[attr-defined]
    return boxed


def make_boxed_compiler(compiler: Callable[..., Any]) -> Callable[..., Any]:
    """Return a compiler whose functions take a list of their arguments (``make_boxed_compiler``)."""

    @functools.wraps(compiler)
    def boxed(fx_g: GraphModule, inps: Any) -> Any:
        return make_boxed_func(compiler(fx_g, inps))

    return boxed


def as_boxed(compiled: Any) -> Callable[[list[Any]], Any]:
    """Return a compiler's function as one of a list that returns a list."""
    call = compiled if getattr(compiled, "_boxed_call", False) else make_boxed_func(compiled)

    def run(args: list[Any]) -> list[Any]:
        found = call(args)
        return list(found) if isinstance(found, (list, tuple)) else [found]

    return run


@dataclass
class Traced:
    """A function's graph for inputs like the given ones, and what it does besides computing."""

    inputs: Inputs
    fakes: Fakes
    meta: ViewAndMutationMeta
    graph: GraphModule
    is_joint: bool  #: whether the graph has a backward pass


def trace(f: Callable[..., Any], args: list[Any], config: AOTConfig, joint: bool | None = None) -> Traced:
    """Trace a function of flat arguments, with its backward pass if it has one, or as ``joint`` says."""
    state, switched_back = get_rng_state(), modes_before(None)
    try:
        inputs = Inputs(f, args, config)
        fakes = fake_inputs(inputs.prepared(args), config)
        with fakes.mode, enable_python_dispatcher():
            meta = inputs.describe(fakes.args)
        if config.is_export:
            inputs.check_exported(args, meta)
        if inputs.merge(args, meta):
            fakes = fake_inputs(inputs.prepared(args), config)
        with fakes.mode, enable_python_dispatcher():
            meta = inputs.describe(fakes.args) if inputs.groups else meta
            if joint is None:
                joint = any(meta.returns_with_tangents) and any(
                    isinstance(arg, Tensor) and arg.requires_grad for arg in fakes.args)
            if joint and meta.mutated_graph_handled_indices:  # the halves of a joint graph write nothing
                inputs.keep = False
                meta = inputs.describe(fakes.args)
            graph = (trace_joint if joint else trace_forward)(inputs.function, fakes.args, meta, config)
    finally:
        set_rng_state(state)
        switched_back(None)  # a function that raises may be in the middle of a mode
    return Traced(inputs, fakes, meta, graph, joint)


def create_aot_dispatcher_function(f: Callable[..., Any], args: list[Any],
                                   config: AOTConfig) -> Callable[[list[Any]], list[Any]]:
    """Return a function of flat arguments, compiled for arguments like these."""
    traced = trace(f, args, config)
    meta, inputs = traced.meta, traced.inputs
    run = _compiled_joint(traced, config) if traced.is_joint else _compiled_forward(traced, config)
    written = meta.num_mutated_inp_runtime_indices

    def call(flat: list[Any]) -> list[Any]:
        given = inputs.prepared(flat)
        if config_of_module.debug_assert:
            check_assumptions(flat, given, traced, config.aot_id)
        layouts, versions = layouts_of(given, meta), versions_of(given, meta)
        results = run([*given])
        write_inputs(given, results[:written], meta)
        count_writes(versions)
        outputs = outputs_of(given, layouts, results[written:], meta)
        if meta.grad_enabled_mutation is not None:
            local.grad_enabled = meta.grad_enabled_mutation
        return outputs

    return call


def check_assumptions(flat: list[Any], given: list[Any], traced: Traced, number: int) -> None:
    """Raise AssertionError if an argument that was given twice when the function was traced is now two tensors, or an
    input requires grad and did not.
    """
    inputs = traced.inputs
    twice = (f"input {i} would be a duplicate of input {inputs.taken[place]}" for i, place in enumerate(inputs.place)
             if flat[i] is not flat[inputs.taken[place]])
    requiring = (f"input {i} would not require grad" for i, (now, then) in enumerate(
        zip(given, traced.fakes.args, strict=True))
        if isinstance(now, Tensor) and now.requires_grad and not then.requires_grad)
    for assumption in itertools.chain(twice, requiring):
        raise AssertionError(f"At compilation time, graph {number} was compiled under the assumption that {assumption}"
                             ", but at runtime this was not the case.  This indicates a guard bug in AOTAutograd or "
                             "Dynamo, please file a bug to PyTorch.")


def _compiled_forward(traced: Traced, config: AOTConfig) -> Callable[[list[Any]], list[Any]]:
    """Compile a graph without a backward pass."""
    compiler = config.inference_compiler or config.fw_compiler
    assert compiler is not None
    with traced.fakes.mode, track_graph_compiling(config, "inference"):
        forward = as_boxed(compiler(traced.graph, traced.fakes.args))

    def run(given: list[Any]) -> list[Any]:
        with no_grad():
            return forward([arg.detach() if isinstance(arg, Tensor) and arg.requires_grad else arg for arg in given])

    return run


def _compiled_joint(traced: Traced, config: AOTConfig) -> Callable[[list[Any]], list[Any]]:
    """Divide a joint graph, compile its halves, and return the ``autograd.Function`` that runs them."""
    meta = traced.meta
    assert config.partition_fn is not None and config.fw_compiler is not None and config.bw_compiler is not None
    forward_graph, backward_graph = config.partition_fn(
        traced.graph, (traced.fakes.args, meta.traced_tangents), num_fwd_outputs=meta.num_forward_returns)
    saved = next(iter(reversed(forward_graph.graph.nodes))).args[0][meta.num_forward_returns:]
    with traced.fakes.mode, track_graph_compiling(config, "forward"):
        forward = as_boxed(config.fw_compiler(forward_graph, traced.fakes.args))

    @functools.cache
    def compiled_backward() -> Any:  # when a gradient is first asked for
        assert config.bw_compiler is not None
        values = [node.meta["val"] for node in backward_graph.graph.nodes if node.op == "placeholder"]
        with traced.fakes.mode, track_graph_compiling(config, "backward"):
            return as_boxed(config.bw_compiler(backward_graph, values))

    def backward(args: list[Any]) -> Any:
        return compiled_backward()(args)

    function = autograd_function(forward, backward, meta, len(saved))

    def run(given: list[Any]) -> list[Any]:
        with enable_grad():  # which the function may have been for some results
            return list(map(shown, function.apply(*given)))

    return run


def aot_function(fn: Callable[..., Any], fw_compiler: Callable[..., Any], bw_compiler: Callable[..., Any] | None = None,
                 partition_fn: Callable[..., Any] = default_partition,
                 decompositions: Mapping[Any, Callable[..., Any]] | None = None, num_params_buffers: int = 0,
                 keep_inference_input_mutations: bool = False, inference_compiler: Callable[..., Any] | None = None,
                 *, dynamic: bool = False, enable_log: bool = True) -> Callable[..., Any]:
    """Return a function that is traced and compiled at its first call, with its backward pass
    (``functorch.compile.aot_function``).

    A compiler takes a ``GraphModule`` and example inputs, fake tensors, and returns a function of such inputs that
    returns the graph's results. ``partition_fn`` divides the joint graph, ``decompositions`` replace operators.

    Raises:
        RuntimeError: if the backward pass is differentiated again.
    """
    config = AOTConfig(fw_compiler, bw_compiler or fw_compiler, partition_fn, decompositions or {}, num_params_buffers,
                       next(AOT_COUNTER), keep_inference_input_mutations, inference_compiler=inference_compiler)
    compiled: list[Any] = []

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        flat, spec = tree_flatten((args, kwargs))
        if not compiled:
            run, specs = flattened(fn, spec)
            compiled[:] = create_aot_dispatcher_function(run, flat, config), specs[0]
        run, out_spec = compiled
        return tree_unflatten(run(flat), out_spec)

    return call


def flattened(fn: Callable[..., Any], spec: Any) -> tuple[Callable[..., list[Any]], list[Any]]:
    """Return a function of flat arguments that returns flat results, and a list with their structure once it ran."""
    specs: list[Any] = []

    def run(*flat: Any) -> list[Any]:
        args, kwargs = tree_unflatten(flat, spec)
        results, out_spec = tree_flatten(fn(*args, **kwargs))
        specs[:] = [out_spec]
        return results

    return run, specs


def of_parameters(mod: Module) -> tuple[list[str], list[Any], Callable[..., Any]]:
    """Return the names of a module's parameters and buffers, these tensors, and the module as a function of them
    and its arguments.
    """
    named = {**dict(mod.named_parameters(remove_duplicate=False)), **dict(mod.named_buffers(remove_duplicate=False))}

    def call(*args: Any, **kwargs: Any) -> Any:
        tensors = dict(zip(named, args, strict=False))
        return _functional_call(mod, tensors, args[len(named):], kwargs)

    return [*named], [*named.values()], call


def aot_module(mod: Module, *args: Any, **kwargs: Any) -> Module:
    """Return a module that is compiled as ``aot_function`` compiles a function (``functorch.compile.aot_module``)."""
    compiled = aot_function(of_parameters(mod)[2], *args, **kwargs)

    class AOTModule(Module):
        """The compiled module."""

        def __init__(self) -> None:
            super().__init__()
            self.orig_module = mod

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            """Run the compiled forward pass."""
            return compiled(*of_parameters(mod)[1], *args, **kwargs)

    return AOTModule()


def aot_module_simplified(mod: Module, args: Sequence[Any], fw_compiler: Callable[..., Any],
                          bw_compiler: Callable[..., Any] | None = None,
                          partition_fn: Callable[..., Any] = default_partition,
                          decompositions: Mapping[Any, Callable[..., Any]] | None = None,
                          keep_inference_input_mutations: bool = False,
                          inference_compiler: Callable[..., Any] | None = None, **_: Any) -> Callable[..., Any]:
    """Return a captured module's forward pass, compiled now for flat arguments like ``args``
    (``torch._functorch.aot_autograd.aot_module_simplified``).

    Arguments and results are flat, and parameters are those that the module has when it is called.
    """
    names, tensors, call = of_parameters(mod)
    config = AOTConfig(fw_compiler, bw_compiler or fw_compiler, partition_fn, decompositions or {}, len(names),
                       next(AOT_COUNTER), keep_inference_input_mutations, inference_compiler=inference_compiler)

    def flat(*flat_args: Any) -> list[Any]:
        results = call(*flat_args)
        if not isinstance(results, (tuple, list)):
            raise RuntimeError("Graph output must be a (). This is so that we can avoid pytree processing of the "
                               "outputs. Please change the module to have tuple outputs or use aot_module instead.")
        return list(results)

    run = create_aot_dispatcher_function(flat, [*tensors, *args], config)

    def forward(*runtime_args: Any) -> Any:
        return tuple(run([*of_parameters(mod)[1], *runtime_args]))

    forward.zero_grad = mod.zero_grad  # type: ignore[attr-defined]
    forward.named_parameters = mod.named_parameters  # type: ignore[attr-defined]
    forward.named_buffers = mod.named_buffers  # type: ignore[attr-defined]
    return forward


@dataclass
class GraphSignature:
    """Kinds of inputs and outputs of an exported graph (``torch._functorch.aot_autograd.GraphSignature``)."""

    parameters: list[str]
    buffers: list[str]
    user_inputs: list[str]
    user_outputs: list[str]
    inputs_to_parameters: dict[str, str]
    inputs_to_buffers: dict[str, str]
    buffers_to_mutate: dict[str, str]
    user_inputs_to_mutate: dict[str, str]
    in_spec: Any
    out_spec: Any
    backward_signature: BackwardSignature | None


@dataclass
class BackwardSignature:
    """Which outputs of an exported joint graph are gradients, and of what."""

    gradients_to_parameters: dict[str, str]
    gradients_to_user_inputs: dict[str, str]
    loss_output: str


def aot_export_module(mod: Module, args: Sequence[Any], *,
                      decompositions: Mapping[Any, Callable[..., Any]] | None = None, trace_joint: bool,
                      output_loss_index: int | None = None, pre_dispatch: bool = False, dynamic_shapes: bool = False,
                      kwargs: Mapping[str, Any] | None = None) -> tuple[GraphModule, GraphSignature]:
    """Return the graph of a module's forward pass, or with ``trace_joint`` of the training step whose loss is the
    output at ``output_loss_index``, and its signature (``torch._functorch.aot_autograd.aot_export_module``).

    The graph takes parameters, buffers and arguments, and returns written buffers and arguments, outputs and, with
    ``trace_joint``, gradients. With ``pre_dispatch``, it has composites and switches of grad mode, to be run under
    autograd. With ``dynamic_shapes``, data may decide sizes.

    Raises:
        RuntimeError: if ``trace_joint`` and ``output_loss_index`` do not fit, the loss is not a scalar that requires
            grad, another output does, or a parameter is written; or if inputs are given twice or share memory, and
            are written.
    """
    if trace_joint and output_loss_index is None:
        raise RuntimeError("If trace_joint=Trueit is required that one of your forward outputs must be a scalar loss. "
                           "You must specify the which (index) output is the loss with output_loss_index.")
    if pre_dispatch and trace_joint:
        raise RuntimeError("pre_dispatch is not supported when trace_joint is True.")
    if not trace_joint and output_loss_index is not None:
        raise RuntimeError("output_loss_index was specified, but trace_joint=False")
    parameters = [name for name, _ in mod.named_parameters(remove_duplicate=False)]
    names, tensors, call = of_parameters(mod)
    flat, spec = tree_flatten(((*tensors, *args), dict(kwargs or {})))
    run, specs = flattened(call, spec)
    count = len(names)

    def with_gradients(*flat_args: Any) -> list[Any]:
        results = run(*flat_args)
        loss = results[output_loss_index or 0]
        if not isinstance(loss, Tensor) or not loss.requires_grad:
            raise RuntimeError(f"output_loss_index ({output_loss_index}) must be a tensor that requires grad")
        if loss.numel() != 1:
            raise RuntimeError("We require the output marked as the loss (at index "
                               f"{output_loss_index}) to be a scalar, but it has shape {loss.shape}")
        for i, result in enumerate(results):
            if isinstance(result, Tensor) and result.requires_grad and result is not loss:
                raise RuntimeError(
                    "Found an output of the forward that requires gradients, that was not the scalar loss.\n"
                    "The backward graph is that of the scalar loss alone: call .detach() on each other output.\n"
                    f"The output at index {output_loss_index} is the loss, but that at index {i} requires gradients.")
        return results

    config = AOTConfig(None, None, None, decompositions or {}, count, next(AOT_COUNTER), is_export=True,
                       dynamic_shapes=dynamic_shapes, pre_dispatch=pre_dispatch)
    with enable_grad() if trace_joint else nullcontext() if pre_dispatch else no_grad():
        traced = trace(with_gradients if trace_joint else run, flat, config, trace_joint)
    graph = traced.graph
    if trace_joint:
        graph = _without_tangents(graph)
    return graph, _signature(graph, traced.meta, parameters, names, specs[0], spec, output_loss_index)


def _without_tangents(graph: GraphModule) -> GraphModule:
    """Replace the gradient of the loss, an input of a joint graph, by one."""
    for node in [*graph.graph.nodes]:
        if is_tangent(node):
            with graph.graph.inserting_after(node):
                value = node.meta["val"]
                one = graph.graph.call_function(ops.aten.full.default, ([*value.shape], 1), {
                    "dtype": value.dtype, "layout": value.layout, "device": value.device, "pin_memory": False})
                one.meta = dict(node.meta)
            node.replace_all_uses_with(one)
            graph.graph.erase_node(node)
    graph.recompile()
    return graph


def _signature(graph: GraphModule, meta: ViewAndMutationMeta, parameters: list[str], names: list[str], out_spec: Any,
               in_spec: Any, loss: int | None) -> GraphSignature:
    """Return the names of an exported graph's inputs and outputs."""
    inputs = [node.name for node in graph.graph.nodes if node.op == "placeholder"]
    results: list[Any] = []
    map_aggregate(next(iter(reversed(graph.graph.nodes))).args[0], results.append)
    outputs: list[Any] = [getattr(result, "name", None) for result in results]
    written = meta.mutated_inp_runtime_indices
    owners = dict(zip(inputs, names, strict=False))
    for i in written:
        if owners.get(inputs[i]) in parameters:
            raise RuntimeError(f"Found a graph input that requires gradients, and received a mutation: "
                               f"{owners[inputs[i]]}. This is currently not supported.")
    first, last = len(written), len(written) + meta.num_outputs
    mutated = {outputs[k]: inputs[i] for k, i in enumerate(written)}
    gradients = dict(zip(inputs, outputs[last:], strict=False)) if loss is not None else {}
    backward = None if loss is None else BackwardSignature(
        {gradient: owners[name] for name, gradient in gradients.items() if gradient and owners.get(name) in parameters},
        {gradient: name for name, gradient in gradients.items() if gradient and name not in owners},
        outputs[first + loss])
    return GraphSignature(
        parameters, names[len(parameters):], inputs[len(names):], outputs[first:last],
        {name: owner for name, owner in owners.items() if owner in parameters},
        {name: owner for name, owner in owners.items() if owner not in parameters},
        {output: owners[name] for output, name in mutated.items() if name in owners},
        {output: name for output, name in mutated.items() if name not in owners}, in_spec, out_spec, backward)


def aot_export_joint_simple(func: Callable[..., Any], args: Sequence[Any], *, trace_joint: bool,
                            num_params_buffers: int = 0,
                            decompositions: Mapping[Any, Callable[..., Any]] | None = None) -> GraphModule:
    """Return the joint graph of a function of tensors that writes nothing, or its forward graph
    (``torch._functorch.aot_autograd.aot_export_joint_simple``).

    Raises:
        RuntimeError: if the function writes inputs, or returns inputs or views of them.
    """
    config = AOTConfig(None, None, None, decompositions or {}, num_params_buffers, next(AOT_COUNTER), is_export=True)
    flat, spec = tree_flatten((tuple(args), {}))
    run, _specs = flattened(func, spec)
    with enable_grad() if trace_joint else no_grad():
        traced = trace(run, flat, config, trace_joint)
    meta = traced.meta
    if meta.mutated_inp_runtime_indices:
        raise RuntimeError("aot_export_joint_simple does not support input mutations. "
                           f"{meta.mutated_inp_runtime_indices}")
    if any(info.output_type is not OutputType.non_alias for info in meta.output_info):
        raise RuntimeError("aot_export_joint_simple does not support outputs that alias inputs. "
                           f"{meta.output_info}")
    return traced.graph


