"""``torch.export.save`` and ``load``: an exported program in a file.

The file is a zip archive with three members: ``program.json``, the graph, its signature and the ranges of its symbols;
``tensors.pt``, the parameters, buffers and constants, and ``inputs.pt``, the example arguments, in the format of
``torch.save``. Loading runs no code of the file: operators are found by name among the library's, and expressions of
sizes are read by a small parser.
"""
from __future__ import annotations

import ast
import io
import json
import math
import operator
import zipfile
from collections.abc import Callable
from typing import Any

import sympy

from .. import _dtype, fx
from .._base import formats
from .._base.symbolic import OF_TYPE, SYMBOLIC
from .._device import device as Device
from .._dispatch.overloads import OpOverload, ops
from .._methods import symbolic
from .._subclasses.fake_tensor import FakeTensorMode
from .._tensor import Tensor
from ..fx.experimental.shape_env import ShapeEnv
from ..fx.experimental.sym_node import SymNode
from ..nn.module import Module
from ..serialization import load as load_tensors, save as save_tensors
from ..utils import _pytree as pytree
from ..utils._sympy import functions
from ..utils._sympy.numbers import int_oo
from ..utils._sympy.value_ranges import ValueRanges
from . import graph_signature
from .exported_program import ExportedProgram, ModuleCallEntry, ModuleCallSignature
from .graph_signature import ExportGraphSignature, InputKind, InputSpec, OutputKind, OutputSpec

VERSION = 1
#: Python's functions in graphs, by the names that files have for them.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{f"operator.{name}": getattr(operator, name) for name in (
        "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "neg", "eq", "ne", "lt", "le", "gt", "ge", "and_",
        "or_", "xor", "lshift", "rshift", "getitem")},
    **{f"math.{name}": getattr(math, name) for name in ("trunc", "floor", "ceil")},
    **{name: getattr(symbolic, name) for name in ("sym_float", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not")},
}
NAMES = {function: name for name, function in FUNCTIONS.items()}
#: Functions in expressions of sizes.
IN_EXPRESSIONS: dict[str, Any] = {"Max": sympy.Max, "Min": sympy.Min, "Mod": functions.Mod,
                                  "ToFloat": functions.ToFloat, "PythonMod": functions.PythonMod,
                                  "IntTrueDiv": functions.IntTrueDiv,
                                  "TruncToInt": functions.TruncToInt, "FloorToInt": functions.FloorToInt,
                                  "CeilToInt": functions.CeilToInt, "Eq": sympy.Eq, "Ne": sympy.Ne}
ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Pow: operator.pow,
    ast.Div: operator.truediv, ast.FloorDiv: functions.FloorDiv}
COMPARISONS: dict[type, Any] = {ast.Lt: sympy.Lt, ast.LtE: sympy.Le, ast.Gt: sympy.Gt, ast.GtE: sympy.Ge}


def read_expression(text: str, symbols: dict[str, Any]) -> Any:
    """Return the sympy expression that a text prints. Raises ValueError for anything but arithmetic."""

    def read(node: ast.AST) -> Any:
        if isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
            return sympy.sympify(node.value)
        if isinstance(node, ast.Name):
            return symbols[node.id]
        if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
            return ARITHMETIC[type(node.op)](read(node.left), read(node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -read(node.operand)
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
            return COMPARISONS[type(node.ops[0])](read(node.left), read(node.comparators[0]))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in IN_EXPRESSIONS:
            return IN_EXPRESSIONS[node.func.id](*map(read, node.args))
        raise ValueError(f"{text!r} is no expression of sizes")

    return read(ast.parse(text, mode="eval").body)


class _Writer:
    """Writes values as JSON."""

    def __init__(self, program: ExportedProgram) -> None:
        self.program = program

    def value(self, value: Any) -> Any:
        """Return a graph's argument, or a description, as JSON."""
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return {"float": repr(value)}
        if isinstance(value, complex):
            return {"complex": [value.real, value.imag]}
        if isinstance(value, fx.Node):
            return {"node": value.name}
        if isinstance(value, (list, tuple)):
            return {type(value).__name__ if type(value) is tuple else "list": [self.value(item) for item in value]}
        if isinstance(value, dict):
            return {"dict": [[self.value(key), self.value(item)] for key, item in value.items()]}
        if value.__class__ in SYMBOLIC:
            return {"symbolic": [value.node.pytype.__name__, str(value.node.expr)]}
        if isinstance(value, Tensor):
            return {"tensor": [self.value(list(value.shape)), self.value(list(value.stride())), value.dtype.name,
                               str(value.device), value.requires_grad]}
        if isinstance(value, _dtype.DType):
            return {"dtype": value.name}
        if isinstance(value, Device):
            return {"device": str(value)}
        if isinstance(value, (formats.layout, formats.memory_format)):
            return {"format": str(value).rpartition(".")[2]}
        if isinstance(value, slice):
            return {"slice": [self.value(item) for item in (value.start, value.stop, value.step)]}
        raise TypeError(f"a program with {type(value).__name__} in its graph cannot be saved")

    def node(self, node: Any) -> dict[str, Any]:
        """Return a node as JSON."""
        target = node.target
        if isinstance(target, OpOverload):
            target = f"{target.namespace}.{target.__name__}"
        elif callable(target):
            if target not in NAMES:
                raise TypeError(f"a program that calls {target} cannot be saved")
            target = NAMES[target]
        return {"op": node.op, "name": node.name, "target": target, "args": self.value(tuple(node.args)),
                "kwargs": self.value(dict(node.kwargs)),
                "val": self.value(node.meta["val"]) if node.meta.get("val") is not None else None,
                "stack_trace": node.stack_trace, "modules": [*(node.meta.get("nn_module_stack") or {}).items()]}

    def spec(self, spec: Any) -> dict[str, Any]:
        """Return an input or output of the signature as JSON."""
        arg = {"kind": type(spec.arg).__name__, **vars(spec.arg)}
        return {"kind": spec.kind.name, "arg": arg, "target": spec.target,
                **({"persistent": spec.persistent} if isinstance(spec, InputSpec) else {})}

    def document(self) -> dict[str, Any]:
        """Return the program without its tensors as JSON."""
        program, signature = self.program, self.program._signature
        for name, _ in program.graph_module.named_children():
            raise TypeError(f"a program with an operator that takes functions cannot be saved ({name})")
        symbols = {str(symbol): [bool(symbol.is_positive), str(values.lower), str(values.upper)]
                   for symbol, values in program.range_constraints.items()}
        return {"version": VERSION, "nodes": [self.node(node) for node in program.graph.nodes], "symbols": symbols,
                "inputs": [self.spec(spec) for spec in program.graph_signature.input_specs],
                "outputs": [self.spec(spec) for spec in program.graph_signature.output_specs],
                "in_spec": pytree.treespec_dumps(signature.in_spec),
                "out_spec": pytree.treespec_dumps(signature.out_spec),
                "argument_names": signature.forward_arg_names,
                "modules": [entry.fqn for entry in program.module_call_graph], "guards": program._guards_code,
                "paths": program._input_paths,
                "state": list(program.state_dict)}


def save(ep: ExportedProgram, f: Any, *, extra_files: dict[str, Any] | None = None, opset_version: Any = None,
         **options: Any) -> None:
    """Write a program to a path or a file object (``torch.export.save``). Raises TypeError if its graph holds what no
    file can.
    """
    if not isinstance(ep, ExportedProgram):
        raise TypeError(f"The 'ep' parameter must be an instance of 'ExportedProgram', got '{type(ep).__name__}' "
                        "instead.")
    members = {"program.json": json.dumps(_Writer(ep).document(), indent=1).encode()}
    tensors = {**ep.state_dict, **ep.constants}
    for member, content in (("tensors.pt", tensors), ("inputs.pt", ep.example_inputs)):
        buffer = io.BytesIO()
        save_tensors(content, buffer)
        members[member] = buffer.getvalue()
    for name, text in (extra_files or {}).items():
        members[f"extra/{name}"] = text.encode() if isinstance(text, str) else text
    with zipfile.ZipFile(f, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


class _Reader:
    """Reads what ``_Writer`` writes."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self.env = ShapeEnv()
        self.mode = FakeTensorMode(shape_env=self.env)
        self.symbols: dict[str, Any] = {}
        self.ranges: dict[Any, ValueRanges] = {}
        self.nodes: dict[str, Any] = {}
        for name, (positive, lower, upper) in document["symbols"].items():
            symbol = sympy.Symbol(name, integer=True, positive=positive or None)
            ends = [-int_oo if end == "-int_oo" else int_oo if end == "int_oo" else int(end) for end in (lower, upper)]
            self.symbols[name], self.ranges[symbol] = symbol, ValueRanges(*ends)
            self.env.var_to_range[symbol] = ValueRanges(max(ends[0], 2), ends[1]) if positive else ValueRanges(*ends)

    def value(self, value: Any) -> Any:
        """Return the object that JSON describes."""
        if not isinstance(value, dict):
            return value
        [(kind, content)] = value.items()
        return getattr(self, f"_{kind}")(content)

    def _float(self, content: str) -> float:
        return float(content)

    def _complex(self, content: list[float]) -> complex:
        return complex(*content)

    def _node(self, content: str) -> Any:
        return self.nodes[content]

    def _list(self, content: list[Any]) -> list[Any]:
        return [self.value(item) for item in content]

    def _tuple(self, content: list[Any]) -> tuple[Any, ...]:
        return tuple(self._list(content))

    def _dict(self, content: list[Any]) -> dict[Any, Any]:
        return {self.value(key): self.value(item) for key, item in content}

    def _slice(self, content: list[Any]) -> slice:
        return slice(*self._list(content))

    def _symbolic(self, content: list[str]) -> Any:
        kind: Any = {"int": int, "float": float, "bool": bool}[content[0]]
        return OF_TYPE[kind](SymNode(read_expression(content[1], self.symbols), self.env, kind))

    def _tensor(self, content: list[Any]) -> Any:
        shape, stride, dtype, device, requires_grad = content
        made = self.mode.empty(tuple(self.value(shape)), tuple(self.value(stride)), self._dtype(dtype), device)
        return made.requires_grad_() if requires_grad else made

    def _dtype(self, content: str) -> Any:
        return _dtype.DTYPES[content]

    def _device(self, content: str) -> Any:
        return Device(content)

    def _format(self, content: str) -> Any:
        return getattr(formats, content)

    def program(self, tensors: dict[str, Tensor], inputs: Any) -> ExportedProgram:
        """Return the program."""
        graph = fx.Graph()
        for node in self.document["nodes"]:
            target: Any = node["target"]
            if node["op"] == "call_function":
                target = FUNCTIONS[target] if target in FUNCTIONS else _operator(target)
            made = graph.create_node(node["op"], target, self.value(node["args"]), self.value(node["kwargs"]),
                                     node["name"])
            self.nodes[node["name"]] = made
            if node["val"] is not None:
                made.meta["val"] = self.value(node["val"])
            if node["stack_trace"] is not None:
                made.stack_trace = node["stack_trace"]
            if node["modules"]:
                made.meta["nn_module_stack"] = {key: tuple(module) for key, module in node["modules"]}
        state = {name: tensors[name] for name in self.document["state"]}
        signature = ExportGraphSignature(
            [InputSpec(InputKind[spec["kind"]], _argument(spec["arg"]), spec["target"], spec["persistent"])
             for spec in self.document["inputs"]],
            [OutputSpec(OutputKind[spec["kind"]], _argument(spec["arg"]), spec["target"])
             for spec in self.document["outputs"]])
        call = ModuleCallSignature([], [], pytree.treespec_loads(self.document["in_spec"]),
                                   pytree.treespec_loads(self.document["out_spec"]), self.document["argument_names"])
        modules = [ModuleCallEntry(name, None if name else call) for name in self.document["modules"]]
        constants = {name: tensor for name, tensor in tensors.items() if name not in state}
        return ExportedProgram(fx.GraphModule(Module(), graph), None, signature, state, self.ranges, modules, inputs,
                               constants, guards=self.document["guards"],
                               input_paths=[tuple(path) for path in self.document["paths"]])


def _operator(name: str) -> Any:
    namespace, packet, overload = name.split(".")
    return getattr(getattr(getattr(ops, namespace), packet), overload)


def _argument(arg: dict[str, Any]) -> Any:
    kinds = ("TensorArgument", "SymIntArgument", "SymFloatArgument", "SymBoolArgument", "ConstantArgument")
    if arg["kind"] not in kinds:
        raise ValueError(f"unknown kind of argument {arg['kind']!r}")
    return getattr(graph_signature, arg["kind"])(**{key: value for key, value in arg.items() if key != "kind"})


def load(f: Any, *, extra_files: dict[str, Any] | None = None, expected_opset_version: Any = None) -> ExportedProgram:
    """Return the program in a file (``torch.export.load``). Raises RuntimeError if the file is not one of ``save``, or
    of a later version.
    """
    with zipfile.ZipFile(f) as archive:
        if "program.json" not in archive.namelist():
            raise RuntimeError(f"{f} is not a file of torch.export.save")
        document = json.loads(archive.read("program.json"))
        if document["version"] > VERSION:
            raise RuntimeError(f"the file's version is {document['version']}, but this library reads up to {VERSION}")
        tensors = load_tensors(io.BytesIO(archive.read("tensors.pt")))
        inputs = load_tensors(io.BytesIO(archive.read("inputs.pt")))
        for name in extra_files or {}:
            extra_files[name] = archive.read(f"extra/{name}").decode()  # type: ignore[index]
    return _Reader(document).program(tensors, inputs)
