"""TorchDynamo: functions are captured as graphs by interpreting their bytecode (``torch._dynamo``), in the order in
which it handles a call.

======================  ====================================================================
file                    idea
======================  ====================================================================
``eval_frame``          ``torch.compile``, and what it makes of functions and modules
``convert_frame``       compiled frames: programs by guards, recompiles, frames that are skipped
``bytecode_analysis``   bytecode by name, handlers, live variables
``symbolic_convert``    the interpreter: an opcode is a method
``variables``           what it knows about values: constants, tensors, containers, functions, objects
``trace_rules``         which functions it looks into, and which are nodes of the graph
``output_graph``        the graph, its inputs, its examples (``fakes``)
``source``, ``guards``  where values are read, and the conditions on them
``side_effects``        writes that are repeated after the graph
``codegen``             the Python that runs
``break_code``          the code behind a break, and ``resume_execution``: the rest of the function
``backends``            what makes a function of a graph
``export``              a function as one graph with its signature
======================  ====================================================================

``comptime`` is left out: the interpreter has no state that would be alike PyTorch's.
"""
from __future__ import annotations

from .._compile import config
from .._compile.stance import set_stance
from . import backends, exc, testing, utils
from .backends import debugging as _debugging, inductor as _inductor
from .backends.registry import list_backends, lookup_backend, register_backend
from .breaks import error_on_graph_break
from .decorators import (
    allow_in_graph, assume_constant_result, disable, disallow_in_graph, forbid_in_graph, graph_break, is_compiling,
    is_dynamo_compiling, is_inductor_supported, nonstrict_trace, skip, skip_frame, substitute_in_graph,
)
from .eval_frame import OptimizedModule, is_dynamo_supported, optimize, optimize_assert, reset, run
from .explain import explain
from .export import export
from .marks import mark_dynamic, mark_static, mark_static_address, mark_unbacked, maybe_mark_dynamic

__all__ = ["OptimizedModule", "allow_in_graph", "assume_constant_result", "backends", "config", "disable",
           "disallow_in_graph", "error_on_graph_break", "exc", "explain", "export", "forbid_in_graph", "graph_break",
           "is_compiling", "is_dynamo_compiling", "is_dynamo_supported", "is_inductor_supported",
           "list_backends", "lookup_backend", "mark_dynamic",
           "mark_static", "mark_static_address", "mark_unbacked", "maybe_mark_dynamic", "nonstrict_trace",
           "optimize", "optimize_assert", "register_backend", "reset", "run", "set_stance", "skip", "skip_frame",
           "substitute_in_graph", "testing", "utils"]
__dir__ = __all__.copy
_loaded = (_debugging, _inductor)  # which register their backends
