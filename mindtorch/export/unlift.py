"""An exported program as a module again: its tensors are attributes, its arguments the original's."""
from __future__ import annotations

import copy
import re
from functools import partial
from typing import Any

from .._tensor import Tensor
from .._transforms.pytree import TreeSpec, tree_flatten
from ..fx._codegen import _PyTreeCodeGen, _PyTreeInfo
from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..nn.module import Module
from ..nn.parameter import Parameter
from .exported_program import ExportedProgram
from .graph_signature import InputKind, OutputKind


class GuardsFn(Module):
    """Checks that arguments have the sizes, and Python's values, for which the program was exported."""

    def __init__(self, conditions: list[str], paths: list[tuple[Any, ...]]) -> None:
        super().__init__()
        self.conditions, self.paths = conditions, paths

    def forward(self, *args: Any) -> None:
        """Raise AssertionError for a condition that does not hold."""
        values: dict[Any, Any] = {}
        for path, value in zip(self.paths, args, strict=True):
            place = values
            for key in path[:-1]:
                place = place.setdefault(key, {})
            place[path[-1]] = value
        for code in self.conditions:
            if not eval(code, {"L": values, "Max": max, "Min": min}):  # code of ``fx.experimental.size_guards``
                raise AssertionError(f"Guard failed: {shown_guard(code)}")


def check_structure(in_spec: TreeSpec, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise ValueError for arguments of another structure than ``in_spec``, before a call of an exported module."""
    expected = list(in_spec.children_specs[1].context)
    if sorted(kwargs) != sorted(expected):
        raise ValueError(f"Ran into a kwarg keyword mismatch: Got the following keywords {list(kwargs)} but expected "
                         f"{expected}")
    found = tree_flatten((args, {name: kwargs[name] for name in expected}))[1]
    if found != in_spec:
        raise ValueError(f"Trying to flatten user inputs with exported input tree spec: \n{in_spec}\nbut actually got "
                         f"inputs with tree spec of: \n{found}.\nPlease check that the inputs have the same number and "
                         "type of args and kwargs as the ones you used when tracing.")


def check_inputs(program: ExportedProgram, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise ValueError for arguments of another structure than an exported program's, and RuntimeError for other sizes.
    """
    in_spec = program._signature.in_spec
    check_structure(in_spec, Module(), args, kwargs)
    flat, _ = tree_flatten((args, {name: kwargs[name] for name in in_spec.children_specs[1].context}))
    try:
        GuardsFn(program._guards_code, program._input_paths)(*flat)
    except AssertionError as error:
        raise RuntimeError(f"An input does not fit the exported program: {error}") from None


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
        root.add_module("_guards_fn", GuardsFn(program._guards_code, program._input_paths))
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
    made.register_forward_pre_hook(partial(check_structure, in_spec), with_kwargs=True)
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


