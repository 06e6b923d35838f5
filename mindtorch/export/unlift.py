"""An exported program as a module again: its tensors are attributes, its arguments the original's."""
from __future__ import annotations

import copy
import re
from typing import Any

from .._tensor import Tensor
from ..fx._codegen import _PyTreeCodeGen, _PyTreeInfo
from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..nn.module import Module
from ..nn.parameter import Parameter
from .exported_program import ExportedProgram
from .graph_signature import InputKind, OutputKind


class GuardsFn(Module):
    """Checks that arguments have the sizes for which the program was exported."""

    def __init__(self, conditions: list[tuple[str, str]], names: list[str]) -> None:
        super().__init__()
        self.conditions, self.names = conditions, names

    def forward(self, *args: Any) -> None:
        """Raise AssertionError for a condition that does not hold."""
        values = {"L": dict(zip(self.names, args, strict=True)), "Max": max, "Min": min}
        for code, shown in self.conditions:
            if not eval(code, values):  # code of ``fx.experimental.size_guards``
                raise AssertionError(f"Guard failed: {shown}")


def assigned(root: Module, path: str, value: Any) -> None:
    """Give a module an attribute at a dotted path, with modules on the way."""
    *parents, name = path.split(".")
    for parent in parents:
        if not hasattr(root, parent):
            root.add_module(parent, Module())
        root = getattr(root, parent)
    if isinstance(value, Parameter):
        root.register_parameter(name, value)
    elif isinstance(value, Tensor):
        root.register_buffer(name, value)
    else:
        setattr(root, name, value)


def module(program: ExportedProgram, check_guards: bool = True) -> GraphModule:
    """Return a module with the original's arguments and results, and this program's tensors as attributes
    (``ExportedProgram.module``). With ``check_guards`` its calls raise AssertionError for other sizes.
    """
    signature, tensors = program.graph_signature, {**program.state_dict, **program.constants}
    root = Module()
    for name, _ in program.graph_module.named_children():
        root.add_module(name, getattr(program.graph_module, name))
    graph, known = Graph(), {}
    nodes = list(program.graph.nodes)
    placeholders = [node for node in nodes if node.op == "placeholder"]
    arguments = []
    for node, spec in zip(placeholders, signature.input_specs, strict=True):
        if spec.kind is InputKind.USER_INPUT:
            known[node] = graph.node_copy(node)
            arguments.append(known[node])
    for node, spec in zip(placeholders, signature.input_specs, strict=True):
        if spec.kind is not InputKind.USER_INPUT:
            assigned(root, str(spec.target), tensors[str(spec.target)])
            known[node] = graph.create_node("get_attr", str(spec.target), name=str(spec.target).replace(".", "_"))
            known[node].meta = copy.copy(node.meta)
    if check_guards and program._guards_code:
        names = program._input_names
        root.add_module("_guards_fn", GuardsFn([(code, shown_guard(code)) for code in program._guards_code], names))
        graph.create_node("call_module", "_guards_fn", tuple(arguments))
    targets = {spec.target: known[node] for node, spec in zip(placeholders, signature.input_specs, strict=True)}
    by_name = {node.name: known[node] for node in placeholders}
    for node in nodes:
        if node.op == "output":
            results = []
            for value, result in zip(node.args[0], signature.output_specs, strict=True):
                made = known.get(value, value) if hasattr(value, "op") else value
                if result.kind is OutputKind.BUFFER_MUTATION:
                    graph.call_function(copy_, (targets[result.target], made))
                elif result.kind is OutputKind.USER_INPUT_MUTATION:
                    graph.call_function(copy_, (by_name[str(result.target)], made))
                else:
                    results.append(made)
            graph.output(tuple(results))
        elif node.op != "placeholder":
            known[node] = graph.node_copy(node, known.__getitem__)
    in_spec, out_spec = program._signature.in_spec, program._signature.out_spec
    graph.set_codegen(_PyTreeCodeGen(_PyTreeInfo(argument_names(program), in_spec, out_spec)))
    made = GraphModule(root, graph)
    for spec in signature.input_specs:
        if spec.kind is not InputKind.USER_INPUT and not spec.persistent and spec.kind is not InputKind.PARAMETER:
            path, _, name = str(spec.target).rpartition(".")
            made.get_submodule(path)._non_persistent_buffers_set.add(name)
    made.train = made.eval = _no_switch  # type: ignore[method-assign]
    return made


def _no_switch(mode: bool = True) -> Any:
    raise NotImplementedError("Calling train() or eval() is not supported for exported modules: they behave as the "
                              "module did when it was exported.")


def argument_names(program: ExportedProgram) -> list[str]:
    """Return the names of the original's arguments, positional ones first."""
    return list(program._signature.forward_arg_names or [])


def shown_guard(code: str) -> str:
    """Return a condition with its arguments by their names."""
    return re.sub(r"L\['(\w+)'\]", r"\1", code)


def copy_(target: Tensor, value: Tensor) -> Tensor:
    """Write the new value of a buffer, or of an argument."""
    return target.copy_(value)


