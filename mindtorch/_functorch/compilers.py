"""Compilers for the graphs of AOTAutograd (``torch._functorch.compilers``): some that only show them or run them."""
from __future__ import annotations

from typing import Any

from .._decomp import get_decompositions
from .._dispatch.overloads import ops
from ..fx.graph_module import GraphModule
from .aot_autograd import aot_function, aot_module, make_boxed_compiler
from .partitioners import min_cut_rematerialization_partition


@make_boxed_compiler
def nop(fx_g: GraphModule, _: Any) -> GraphModule:
    """Return the graph itself, which runs operator by operator (``functorch.compile.nop``)."""
    return fx_g


def print_compile(fx_g: GraphModule, _: Any) -> GraphModule:
    """Print a graph's code, and return the graph (``functorch.compile.print_compile``)."""
    print(fx_g.code)
    return fx_g


def ts_compile(fx_g: GraphModule, inps: Any) -> Any:
    """Raise an error: PyTorch compiles by TorchScript here (``functorch.compile.ts_compile``).

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError("ts_compile compiles by TorchScript, which mindtorch does not have: use nop, which runs "
                              "the graph as it is, or another compiler")


aten = ops.aten
#: The decompositions with which ``memory_efficient_fusion`` traces (``functorch.compile.default_decompositions``).
default_decompositions = get_decompositions([
    aten.detach, aten.gelu_backward, aten.leaky_relu_backward, aten.sigmoid_backward, aten.threshold_backward,
    aten.hardtanh_backward, aten.hardsigmoid_backward, aten.hardswish_backward, aten.tanh_backward,
    aten.silu_backward, aten.elu_backward, aten._softmax_backward_data, aten._log_softmax_backward_data])


def memory_efficient_fusion(fn: Any, **kwargs: Any) -> Any:
    """Compile a function or a module with the min-cut partitioner (``functorch.compile.memory_efficient_fusion``)."""
    options = {"fw_compiler": nop, "bw_compiler": nop, "partition_fn": min_cut_rematerialization_partition,
               "decompositions": default_decompositions, **kwargs}
    compile = aot_function if not hasattr(fn, "parameters") else aot_module
    return compile(fn, **options)


def debug_compile(fx_g: GraphModule, inps: Any) -> GraphModule:
    """Print a graph and the layout of its inputs, and return the graph (``functorch.compile.debug_compile``)."""
    print(fx_g.code)
    print([(tuple(tensor.shape), tensor.stride(), tensor.dtype) for tensor in inps])
    return fx_g
