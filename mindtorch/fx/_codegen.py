"""The Python that a graph prints itself as: names, the lines of the nodes, and the function around them."""
from __future__ import annotations

import builtins
import enum
import inspect
import itertools
import keyword
import math
import re
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .._base.symbolic import SymBool, SymFloat, SymInt
from .._device import device
from .._dispatch.overloads import OpOverload
from .._tensor import Tensor
from ..utils import _pytree as pytree
from ..utils._dtype_abbrs import dtype_abbrs
from . import _pytree as fx_pytree
from ._names import PACKAGE, is_from_torch, qualified_name, torch, type_name
from .node import Node

reflectable_magic_methods = {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "floordiv": "{} // {}", "truediv": "{} / {}",
    "div": "{} / {}", "mod": "{} % {}", "pow": "{} ** {}", "lshift": "{} << {}", "rshift": "{} >> {}",
    "and_": "{} & {}", "or_": "{} | {}", "xor": "{} ^ {}", "getitem": "{}[{}]", "matmul": "{} @ {}",
}
magic_methods = {
    "eq": "{} == {}", "ne": "{} != {}", "lt": "{} < {}", "gt": "{} > {}", "le": "{} <= {}", "ge": "{} >= {}",
    "pos": "+{}", "neg": "-{}", "invert": "~{}", **reflectable_magic_methods,
}
inplace_methods = {
    "iadd": "{} += {}", "iand": "{} &= {}", "ifloordiv": "{} //= {}", "ilshift": "{} <<= {}", "imod": "{} %= {}",
    "imul": "{} *= {}", "imatmul": "{} @= {}", "ior": "{} |= {}", "ipow": "{} **= {}", "irshift": "{} >>= {}",
    "isub": "{} -= {}", "itruediv": "{} /= {}", "ixor": "{} ^= {}", "setitem": "{}[{}] = {}",
}


class _CustomBuiltin(NamedTuple):
    """A global of all generated code, and the statement that imports it where code is saved."""

    import_str: str
    obj: Any


_custom_builtins: dict[str, _CustomBuiltin] = {}
#: Names that a node cannot have, with the only object that can; keywords have none.
_illegal_names: dict[str, Any] = {**{name: object() for name in keyword.kwlist}, **vars(builtins)}


def _register_custom_builtin(name: str, import_str: str, obj: Any) -> None:
    _custom_builtins[name] = _CustomBuiltin(import_str, obj)
    _illegal_names[name] = obj


for _name, _import, _value in (
    ("inf", "from math import inf", math.inf),
    ("nan", "from math import nan", math.nan),
    ("NoneType", "NoneType = type(None)", type(None)),
    ("torch", f"import {PACKAGE} as torch", torch),
    ("device", f"from {PACKAGE} import device", device),
    ("fx_pytree", f"import {fx_pytree.__name__} as fx_pytree", fx_pytree),
    ("pytree", f"import {pytree.__name__} as pytree", pytree),
):
    _register_custom_builtin(_name, _import, _value)


def snake_case(name: str) -> str:
    """Return a name in lower case with underscores: ``MaxPool`` as ``max_pool``."""
    return re.sub("(?<=[a-z])([A-Z])", r"_\1", name).lower()


class _Namespace:
    """Names that are given once: a name that is taken gets a number."""

    def __init__(self) -> None:
        self._obj_to_name: dict[Any, str] = {}
        self._used_names: set[str] = set()
        self._base_count: dict[str, int] = {}

    def create_name(self, candidate: str, obj: Any) -> str:
        """Return a free name close to ``candidate``, the same one for the same object."""
        if obj is not None and obj in self._obj_to_name:
            return self._obj_to_name[obj]
        candidate = re.sub("[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        base, number = re.fullmatch(r"([a-zA-Z_][0-9a-zA-Z_]*?)(?:_(\d+))?", candidate).groups()  # type: ignore[union-attr]
        count = int(number) if number is not None else 0
        if number is None or candidate in self._used_names:
            count = self._base_count.get(base, 0)
            if _illegal_names.get(candidate, obj) is not obj:
                count += 1
                candidate = f"{base}_{count}"
        while candidate in self._used_names:
            count += 1
            candidate = f"{base}_{count}"
        self._used_names.add(candidate)
        self._base_count[base] = count
        if obj is not None:
            self._obj_to_name[obj] = candidate
        return candidate

    def associate_name_with_obj(self, name: str, obj: Any) -> None:
        """Record the name of an object that has none."""
        assert self._obj_to_name.setdefault(obj, name) is name, "obj is already associated"

    def _rename_object(self, obj: Any, name: str) -> None:
        assert obj in self._obj_to_name, f"Object {obj} is not in _obj_to_name"
        self._obj_to_name[obj] = name
        self._used_names.add(name)


@dataclass
class PythonCode:
    """The source of a function, its globals, and the node of each line (``torch.fx.graph.PythonCode``)."""

    src: str
    globals: dict[str, Any]
    _lineno_map: dict[int, int | None] | None = None
    _prologue_start: int = 0


def _format_target(base: str, target: str) -> str:
    """Return the expression that reads a path of attributes."""
    for name in target.split("."):
        base = f"{base}.{name}" if name.isidentifier() else f'getattr({base}, "{name}")'
    return base


class _Line(str):
    """A piece of code that belongs to the node of this number."""

    node: int

    @classmethod
    def of(cls, text: str, node: int) -> _Line:
        line = cls(text)
        line.node = node
        return line


COLORS = {"blue": "\033[34m", "red": "\033[31m", "dim": "\033[2m", "dim_blue": "\033[2m\033[34m",
          "dim_green": "\033[2m\033[32m"}


def _summary(trace: str | None) -> str:
    """Return the innermost line of a stack trace, as comments show it."""
    lines = (trace or "").strip().split("\n")
    for above, line in reversed(list(itertools.pairwise(lines))):
        if found := re.fullmatch(r'File "(.+)", line (\d+), in (.+)', above.strip()):
            file, number, name = found.groups()
            return f"File: {file}:{number} in {name}, code: {line.strip()}"
    return "No stacktrace found for following nodes"


@dataclass
class _Printer:
    """The state while one graph is printed: globals that the code needs, parameters and lines so far."""

    codegen: CodeGen
    root_module: str
    namespace: _Namespace
    verbose: bool = False
    include_stride: bool = False
    include_device: bool = False
    colored: bool = False
    expanded_def: bool = False
    additional_meta: list[str] | None = None
    globals: dict[str, Any] = field(default_factory=dict)
    wrapped: dict[str, None] = field(default_factory=dict)
    parameters: list[str] = field(default_factory=list)
    returns: str = ""

    # -- names and values --------------------------------------------------------------------------------------

    def add_global(self, hint: str, value: Any) -> str:
        """Return the name of an object in the code; one that ``torch`` does not have becomes a global."""
        if value is not device and is_from_torch(value, hint):
            return hint
        name = self.namespace.create_name(hint, value)
        known = self.globals.setdefault(name, value)
        assert known is value or known == value, f"Global name {name} already assigned to different object"
        return name

    def color(self, name: str, text: str) -> str:
        """Return a text in a color of the terminal, if colors are wanted."""
        return f"{COLORS[name]}{text}\033[0m" if self.colored else text

    def type(self, value: Any) -> str:
        """Return a type as an annotation, and have its parts among the globals."""
        if value == ():
            return "()"
        shown = type_name(value)
        if isinstance(value, types.UnionType) and "|" in shown:
            return "|".join(map(self.type, typing.get_args(value)))
        if (origin := getattr(value, "__origin__", None)) is None:
            return self.add_global(shown, value)
        if isinstance(value, typing._GenericAlias):  # type: ignore[attr-defined]
            origin = {list: typing.List, dict: typing.Dict, set: typing.Set, frozenset: typing.FrozenSet,  # noqa: UP006
                      tuple: typing.Tuple}.get(origin, origin)  # noqa: UP006
        name = self.add_global(type_name(origin), origin)
        items = getattr(value, "dims", None) or typing.get_args(value)
        return f"{name}[{','.join(map(self.type, items))}]" if items else name

    def value(self, arg: Any) -> str:
        """Return an argument as an expression."""
        if isinstance(arg, Node):
            return repr(arg)
        if isinstance(arg, tuple) and hasattr(arg, "_fields"):
            return f"{self.add_global(qualified_name(type(arg)), type(arg))}{tuple(arg)!r}"
        if isinstance(arg, OpOverload):
            return self.add_global(qualified_name(arg), arg)
        if isinstance(arg, enum.Enum):
            return f"{self.add_global(type(arg).__name__, type(arg))}.{arg.name}"
        if isinstance(arg, Tensor):
            return f"torch.Tensor(size={list(arg.shape)}, dtype={str(arg.dtype).removeprefix('torch.')})"
        if isinstance(arg, tuple):
            return f"({', '.join(map(self.value, arg))}{',' * (len(arg) == 1)})"
        if isinstance(arg, list):
            return f"[{', '.join(map(self.value, arg))}]"
        if isinstance(arg, slice):
            return f"slice({self.value(arg.start)}, {self.value(arg.stop)}, {self.value(arg.step)})"
        return self.color("blue", repr(arg))

    def arguments(self, args: Iterable[Any], kwargs: dict[str, Any]) -> str:
        """Return the arguments of a call."""
        return ", ".join([*map(self.value, args), *(f"{key} = {self.value(value)}" for key, value in kwargs.items())])

    # -- nodes -------------------------------------------------------------------------------------------------

    def annotation(self, node: Node) -> str:
        """Return the annotation of a node's result: its type, or in verbose code the dtype and shape of its value."""
        if self.verbose:
            value = node.meta.get("val", node.meta.get("tensor_meta", node.meta.get("example_value")))
            if isinstance(value, Tensor):
                shown = self.tensor(value, value.stride() if self.include_stride else None,
                                    value.device if self.include_device else "")
                plain = type(value) is Tensor or type(value).__name__ == "FakeTensor"
                return f': "{shown}"' if plain else f': "{type(value).__name__}({shown})"'
            if isinstance(value, (SymInt, SymFloat, SymBool)):
                return f': "Sym({self.codegen._sym_repr(value)})"'
            if value is not None and hasattr(value, "dtype") and hasattr(value, "shape"):  # a TensorMetadata
                return f': "{dtype_abbrs[value.dtype]}[{", ".join(map(str, value.shape))}]"'
        return "" if node.type is None else f" : {self.type(node.type)}"

    def tensor(self, value: Tensor, stride: Sequence[int] | None, on: Any) -> str:
        """Return ``f32[2, 3]`` for a tensor, in colors."""
        strides = "" if stride is None else f"[{', '.join(map(str, stride))}]"
        return (self.color("red", dtype_abbrs[value.dtype])
                + self.color("blue", f"[{', '.join(map(str, value.shape))}]")
                + self.color("dim_blue", strides) + self.color("dim_green", str(on)))

    def comment(self, node: Node) -> str:
        """Return the comment above a node in verbose code: where it was recorded."""
        extra = ", ".join(f"{key}: {node.meta[key]}" for key in self.additional_meta or () if key in node.meta)
        custom = {key: f"{value!s:.40}..." if len(str(value)) > 40 else value
                  for key, value in node.meta.get("custom", {}).items()}
        recompute, region = node.meta.get("recompute"), node.meta.get("ac_graph_id")
        notes = [f"Annotation: {custom}"] if custom else []
        if region is not None:
            notes.append(f"ac_graph_id: {region}" + (f" - {recompute.name}" if recompute is not None else ""))
        elif recompute is not None:
            notes.append(f"recompute: {recompute.name}")
        text = " ".join([*([f"# {extra} #"] if extra else ["#"]), *notes, _summary(node.stack_trace)])
        return f"\n{self.color('dim', text)}\n"

    def statement(self, node: Node) -> str:
        """Return the statement of a node without the end of the line; a placeholder becomes a parameter."""
        name, target, args = repr(node), node.target, node.args
        annotation = self.annotation(node)
        if node.op == "placeholder":
            desc = f"  # {node.meta['desc']}" if self.expanded_def and node.meta.get("desc") is not None else ""
            default = f" = {self.value(args[0])}" if args else ""
            self.parameters.append(f"{target}{annotation}{default}{desc}")
            raw = str(target).replace("*", "")
            return "" if raw == name else f"{name} = {raw}\n"
        if node.op == "output":
            self.returns = f" -> {self.type(node.type)}" if node.type is not None else ""
            descs = node.meta.get("desc") if self.expanded_def else None
            return _call_with_what_it_takes(self.codegen.generate_output, args[0], descs=descs, repr_fn=self.value)
        if node.op == "get_attr":
            return f"{name}{annotation} = {_format_target(self.root_module, str(target))}"
        if node.op == "call_module":
            module = _format_target(self.root_module, str(target))
            return f"{name}{annotation} = {module}({self.arguments(args, node.kwargs)})"
        if node.op == "call_method":
            method = _format_target(self.value(args[0]), str(target))
            return f"{name}{annotation} = {method}({self.arguments(args[1:], node.kwargs)})"
        if getattr(target, "__module__", "") == "_operator":
            if (form := magic_methods.get(target.__name__)) is not None:  # type: ignore[union-attr]
                return f"{name}{annotation} = {form.format(*map(self.value, args))}"
            if (form := inplace_methods.get(target.__name__)) is not None:  # type: ignore[union-attr]
                return f"{form.format(*map(self.value, args))};  {name}{annotation} = {self.value(args[0])}"
        function = self.add_global(qualified_name(target), target)
        if function == "getattr" and len(args) == 2 and isinstance(args[1], str) and args[1].isidentifier():
            return f"{name}{annotation} = {_format_target(self.value(args[0]), args[1])}"
        if node.meta.get("is_wrapped"):
            self.wrapped.setdefault(function)
        return f"{name}{annotation} = {function}({self.arguments(args, node.kwargs)})"

    def deletion(self, node: Node, last: list[Node]) -> str:
        """Return the end of a node's line, which frees the values that it used last, and its own if it has no users."""
        if node.op == "placeholder":
            return ""
        unused = [*last, *([] if node.users else [node])]
        if node.op == "output" or not unused:
            return "\n"
        return f";  {self.color('dim', ' = '.join([*map(repr, unused), 'None']))}\n"

    def lines(self, nodes: Iterable[Node]) -> list[str]:
        """Return the code of all nodes, as one piece for each, and the comments between them."""
        nodes = list(nodes)
        used_last = last_uses(nodes)
        lines: list[str] = []
        before = ""
        for number, node in enumerate(nodes):
            if self.verbose and node.op not in ("placeholder", "output") and (comment := self.comment(node)) != before:
                lines.append(before := comment)
            lines.append(_Line.of(self.statement(node) + self.deletion(node, used_last.get(node, [])), number))
        return [line for line in lines if line] or ["pass\n"]


def last_uses(nodes: Sequence[Node]) -> dict[Node, list[Node]]:
    """Return for each node the nodes whose values it is the last to use."""
    seen: set[Node] = set()
    found: dict[Node, list[Node]] = {}
    for user in reversed(nodes):
        for node in user._input_nodes:
            if node not in seen:
                seen.add(node)
                found.setdefault(user, []).append(node)
    return found


def _call_with_what_it_takes(function: Callable[..., str], *args: Any, **options: Any) -> str:
    """Call a method of a code generator; one that a user wrote need not take the options."""
    takes = inspect.signature(function).parameters
    return function(*args, **{key: value for key, value in options.items() if key in takes})


class CodeGen:
    """Prints graphs as Python; subclasses change the signature, the inputs and the outputs
    (``torch.fx.graph.CodeGen``).
    """

    _sym_repr: Callable[[Any], str] = staticmethod(repr)

    def __init__(self) -> None:
        self._body_transformer: Callable[[list[str]], list[str]] | None = None
        self._func_name = "forward"

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False) -> str:
        """Return the head of the function with these parameters."""
        if free_vars[:1] != ["self"]:
            free_vars.insert(0, "self")
        shown = ", ".join(free_vars)
        if expanded_def:
            lines = (parameter.partition("#") for parameter in free_vars)
            shown = "\n" + "".join(f"    {code.rstrip()},{f'  # {note.lstrip()}' if mark else ''}\n"
                                   for code, mark, note in lines)
        return f"def {self._func_name}({shown}){maybe_return_annotation}:"

    def generate_output(self, output_args: Any, *, descs: Sequence[Any] | None = None,
                        repr_fn: Callable[[Any], str] = repr) -> str:
        """Return the statement that returns a value; ``descs`` comment its items."""
        if descs is None or not isinstance(output_args, (list, tuple)):
            return f"return {repr_fn(output_args)}"
        return f"return {_one_a_line(output_args, descs, repr_fn)}"

    def process_inputs(self, *args: Any) -> Any:
        """Convert the arguments of a call to the values of the placeholders."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """Convert the value of the output node to the result of a call."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Return names and values that the code needs besides those of the nodes."""
        return []

    def _gen_python_code(self, nodes: Iterable[Node], root_module: str, namespace: _Namespace,
                         **options: Any) -> PythonCode:
        printer = _Printer(self, root_module, namespace, **options)
        for name, (_, value) in _custom_builtins.items():
            printer.add_global(name, value)
        body = printer.lines(nodes)
        wraps = "\n".join(f'torch.fx._symbolic_trace.wrap("{name}")' for name in printer.wrapped)
        if self._body_transformer is not None:
            body = self._body_transformer(body)
        for name, value in self.additional_globals():
            printer.add_global(name, value)
        head = _call_with_what_it_takes(self.gen_fn_def, printer.parameters, printer.returns,
                                        expanded_def=printer.expanded_def)
        return _assembled(wraps, head, body, printer.globals)


def _one_a_line(items: Sequence[Any], descs: Sequence[Any], repr_fn: Callable[[Any], str]) -> str:
    """Return a list or tuple with one item a line, and a comment behind it."""
    opening, closing = "()" if isinstance(items, tuple) else "[]"
    return "\n".join([opening, *(f"    {repr_fn(item)},  # {desc}" for item, desc in zip(items, descs, strict=False)),
                      closing])


def _assembled(wraps: str, head: str, body: list[str], globals: dict[str, Any]) -> PythonCode:
    """Return a function of its head and the pieces of its body, and map its lines to the numbers of nodes."""
    start = head.count("\n") + 1
    numbers: dict[int, int | None] = {}
    line, current = 0, None
    for piece in body:
        current = getattr(piece, "node", current)
        for _ in range(piece.count("\n")):
            numbers[line + start] = current
            line += 1
    numbers[line + start] = current
    text = "".join(body).lstrip("\n")
    indented = "\n".join(f"    {line}" for line in text.split("\n"))
    return PythonCode(f"\n{wraps}\n\n{head}\n{indented}", globals, numbers, wraps.count("\n") + 4)


class _BoxedCodeGen(CodeGen):
    """Takes the inputs as one list, which it empties, so that none outlives its last use."""

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False) -> str:
        """Return the head of a function of one list."""
        names = [name.split(":")[0].split("=")[0].strip() for name in free_vars if name != "self"]
        unpack = ["", "args_iter = iter(args_list)", *(f"{name} = next(args_iter)" for name in names),
                  "args_list.clear()"] if names else []
        return f"def {self._func_name}(self, args_list){maybe_return_annotation}:" + "\n    ".join(unpack)


class _PyTreeInfo(NamedTuple):
    """The parameters of the function that was traced, and the structures of its inputs and outputs."""

    orig_args: list[str]
    in_spec: Any
    out_spec: Any


class _PyTreeCodeGen(CodeGen):
    """Takes and returns nested values; the placeholders and the output are their leaves."""

    def __init__(self, pytree_info: _PyTreeInfo):
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *inputs: Any) -> Any:
        """Return the leaves of the inputs."""
        return pytree.tree_leaves(inputs)

    def process_outputs(self, out: Any) -> Any:
        """Return the nested value of these leaves."""
        if self.pytree_info.out_spec is None:
            return out
        return pytree.tree_unflatten(out if isinstance(out, (list, tuple)) else [out], self.pytree_info.out_spec)

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False) -> str:
        """Return the head of the function that was traced, and the statement that flattens its arguments."""
        names = self.pytree_info.orig_args
        if names[:1] == ["self"]:
            free_vars.insert(0, "self")
        head = super().gen_fn_def(names[:], maybe_return_annotation, expanded_def=expanded_def)
        if not free_vars:
            return head
        return head + self._annotations(free_vars, expanded_def) + self.gen_var_bindings(names, free_vars, expanded_def)

    def _annotations(self, free_vars: list[str], expanded_def: bool) -> str:
        annotated = [name for name in free_vars if ":" in name]
        if not annotated:
            return ""
        return "".join(f"\n    {name}" for name in annotated) if expanded_def else (
            "\n    " + "".join(f"{name}; " for name in annotated) + "\n")

    def gen_var_bindings(self, fn_args: list[str], free_vars: list[str], expanded_def: bool) -> str:
        """Return the statement that binds the leaves of the arguments to the placeholders' names."""
        spec = self.pytree_info.in_spec
        given = f"[{', '.join(fn_args)}]"
        if spec.type is tuple and [child.type for child in spec.children()] == [tuple, dict]:  # (args, kwargs)
            positional, keyword = spec.children()
            count = positional.num_children
            names = self.pytree_info.orig_args
            pairs = ", ".join(f"'{key}':{name}" for key, name in zip(keyword.context, names[count:], strict=False))
            given = f"([{', '.join(names[:count])}], {{{pairs}}})"
        leaves = ", ".join(name.split(":")[0].split("#")[0] for name in free_vars)
        return f"\n    {leaves}, = fx_pytree.tree_flatten_spec({given}, self._in_spec)"

    def generate_output(self, output_args: Any, *, descs: Sequence[Any] | None = None,
                        repr_fn: Callable[[Any], str] = repr) -> str:
        """Return the statement that returns the nested value of the leaves."""
        statement = super().generate_output(output_args, descs=descs, repr_fn=repr_fn)
        if self.pytree_info.out_spec is None:
            return statement
        return f"return pytree.tree_unflatten({statement.removeprefix('return ')}, self._out_spec)"
