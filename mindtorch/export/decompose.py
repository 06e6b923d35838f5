"""``ExportedProgram.run_decompositions``: the program traced again, with nothing written and composites decomposed."""
from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

from .. import _decomp
from .._base.symbolic import SYMBOLIC
from .._dispatch.overloads import ops
from .._subclasses.fake_class import FakeTensor
from .._subclasses.functional_tensor import FunctionalTensorMode
from .._tensor import Tensor
from ..func.functionalization import in_mode
from ..fx import traceback as fx_traceback
from ..fx.experimental.proxy_tensor import make_fx
from ..fx.graph_module import GraphModule
from ..fx.interpreter import Interpreter
from ._trace import argument_of
from .decomp_utils import CustomDecompTable
from .exported_program import ExportedProgram
from .graph_signature import ExportGraphSignature, InputKind, InputSpec, OutputKind, OutputSpec, TensorArgument


def default_decompositions() -> CustomDecompTable:
    """Return the decompositions to ATen's core operators (``torch.export.default_decompositions``)."""
    return CustomDecompTable()


def _composite_rows() -> dict[Any, Any]:
    """Return the rows of composites, which stand for these in every functional graph."""
    return {op: row for op, row in _decomp.decomposition_table.rows.items() if op.is_composite}


def run_decompositions(program: ExportedProgram, decomp_table: Mapping[Any, Any] | None = None,
                       decompose_custom_triton_ops: bool = False) -> ExportedProgram:
    """Return the program in operators that write nothing: composites are decomposed, and new values of buffers and
    arguments are outputs (``ExportedProgram.run_decompositions``).
    """
    table = default_decompositions() if decomp_table is None else decomp_table
    table = table.materialize() if isinstance(table, CustomDecompTable) else table
    old = [node for node in program.graph.nodes if node.op == "placeholder"]
    values = [node.meta.get("val") for node in old]
    traced = [value for value in values if isinstance(value, Tensor) or value.__class__ in SYMBOLIC]
    mode = next((value.fake_mode for value in traced if isinstance(value, FakeTensor)), None)

    def run(*flat: Any) -> Any:
        rest = iter(flat)
        given = [next(rest) if isinstance(value, Tensor) or value.__class__ in SYMBOLIC else value for value in values]
        with fx_traceback.preserve_node_meta():
            return Interpreter(program.graph_module).run(*given, enable_io_processing=False)

    with mode if mode is not None else nullcontext():
        functional = in_mode(run, lambda: FunctionalTensorMode(pre_dispatch=True, export=True, recording=True,
                                                               table={**_composite_rows(), **table}))
        gm = make_fx(functional, decomposition_table=table, pre_dispatch=True)(*traced)
    gm.__class__.__name__ = "GraphModule"
    _name(gm, old, values)
    return ExportedProgram(gm, None, _signature(program, gm, old), program.state_dict, program.range_constraints,
                           program.module_call_graph, program.example_inputs, program.constants,
                           guards=list(program._guards_code), input_paths=list(program._input_paths))


def _name(gm: GraphModule, old: list[Any], values: list[Any]) -> None:
    """Give the inputs their names again, and insert those that are constants."""
    nodes = [node for node in gm.graph.nodes if node.op == "placeholder"]
    for node in nodes:
        node._rename(f"__{node.name}")
    rest = iter(nodes)
    place = next(node for node in gm.graph.nodes if node.op != "placeholder")
    for before, value in zip(old, values, strict=True):
        if isinstance(value, Tensor) or value.__class__ in SYMBOLIC:
            node = next(rest)
            gm.graph._graph_namespace._used_names.discard(before.name)
            node._rename(before.name)
            node.target = before.name
        else:
            with gm.graph.inserting_before(place):
                gm.graph.placeholder(before.name).meta["val"] = value
    gm.recompile()


def _signature(program: ExportedProgram, gm: GraphModule, old: list[Any]) -> ExportGraphSignature:
    """Return the signature of the new graph; writes to its inputs become outputs."""
    inputs = [InputSpec(spec.kind, spec.arg, spec.target, spec.persistent)
              for spec in program.graph_signature.input_specs]
    of_input = {spec.arg.name: spec for spec in inputs}
    output = next(iter(reversed(gm.graph.nodes)))
    results, specs = [], []
    for node in list(gm.graph.nodes):
        if node.target is ops.aten.copy_.default and node.args[0].op == "placeholder":
            target, value = node.args[0], node.args[1]
            spec = of_input[target.name]
            kind = {InputKind.BUFFER: OutputKind.BUFFER_MUTATION, InputKind.PARAMETER: OutputKind.PARAMETER_MUTATION
                    }.get(spec.kind, OutputKind.USER_INPUT_MUTATION)
            node.replace_all_uses_with(value)
            gm.graph.erase_node(node)
            results.append(value)
            specs.append(OutputSpec(kind, TensorArgument(value.name), spec.target or target.name))
    for node in output.args[0]:
        results.append(node)
        value = node.meta.get("val") if hasattr(node, "meta") else node
        specs.append(OutputSpec(OutputKind.USER_OUTPUT, argument_of(getattr(node, "name", ""), value), None))
    output.args = (tuple(results),)
    gm.graph.eliminate_dead_code()
    gm.recompile()
    return ExportGraphSignature(inputs, specs)
