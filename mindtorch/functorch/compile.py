"""``functorch.compile``: AOTAutograd, its partitioners and compilers."""
from .._functorch import config as config
from .._functorch.aot_autograd import (
    aot_function, aot_module, aot_module_simplified, get_aot_compilation_context, get_aot_graph_name,
    get_graph_being_compiled, make_boxed_compiler, make_boxed_func, set_model_name,
)
from .._functorch.compilers import (
    debug_compile, default_decompositions, memory_efficient_fusion, nop, print_compile, ts_compile,
)
from .._functorch.partitioners import default_partition, min_cut_rematerialization_partition

compiled_function, compiled_module = aot_function, aot_module
__all__ = ["aot_function", "aot_module", "aot_module_simplified", "compiled_function", "compiled_module",
           "debug_compile", "default_decompositions", "default_partition", "get_aot_compilation_context",
           "get_aot_graph_name", "get_graph_being_compiled", "make_boxed_compiler", "make_boxed_func",
           "memory_efficient_fusion", "min_cut_rematerialization_partition", "nop", "print_compile",
           "set_model_name", "ts_compile"]
