"""The build, which adds stubs (``.pyi``) of the names that are made when mindtorch is imported.

Type checkers and editors read the stubs. They are made from the operators' schemas and from the sources, without
importing those: a build has none of mindtorch's dependencies.
"""
from __future__ import annotations

import ast
import re
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent / "mindtorch"
HEAD = '''"""{title}

Made by the build, from the schemas: see ``setup.py``.
"""
# Overloads are ATen's, which are told apart by what Python's types do not say; comparisons return tensors.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"
from builtins import bool as _bool, complex as _complex, float as _float, int as _int, str as _str
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, overload

import numpy as np

from {dots}_device import device as _Device
from {dots}_dispatch import return_types
from {dots}_dtype import DType
from {dots}_base.formats import layout as _Layout, memory_format as _MemoryFormat
from {dots}_backends.random.generator import Generator
from {dots}_storage import TypedStorage, UntypedStorage
from {dots}_tensor import Tensor

_Number = _bool | _int | _float | _complex
'''
TYPES = {
    "Tensor": "Tensor", "Scalar": "_Number", "int": "_int", "float": "_float", "bool": "_bool", "str": "_str",
    "ScalarType": "DType", "Device": "_Device | _str | _int", "Generator": "Generator", "Layout": "_Layout",
    "MemoryFormat": "_MemoryFormat", "Storage": "UntypedStorage | TypedStorage",
}
#: Unary operators of Python; all other operators have a second operand.
UNARY = {"neg", "pos", "abs", "invert"}


# -- from schemas ------------------------------------------------------------------------------------------------------


def load(name: str) -> Any:
    """Import a module of ``mindtorch._dispatch`` without the package's own ``__init__`` and its dependencies."""
    if "mindtorch" not in sys.modules:
        package = sys.modules["mindtorch"] = ModuleType("mindtorch")
        package.__path__ = [str(ROOT)]
    return __import__(f"mindtorch._dispatch.{name}", fromlist=["_"])


def annotation(parameter: Any, numbers: bool) -> str:
    """Return a parameter's type."""
    one = TYPES.get(parameter.base, "Any")
    if numbers and one == "Tensor":
        one = "Tensor | _Number"
    if parameter.is_list:
        item = f"{one} | None" if parameter.inner_optional else one
        one = f"Sequence[{item}]" if parameter.size is None else f"{one} | Sequence[{item}]"
    return f"{one} | None" if parameter.optional or parameter.default is None else one


def definitions(name: str, packet: list[Any], method: bool, spelling: str = "") -> str:
    """Write a packet's function or method: one definition per overload."""
    signature, required = load("signature"), load("schema").REQUIRED
    texts = []
    ops = [op for op in packet if not op.is_out and (not method or "self" in op.schema.positions)]
    for (names, schema), op in zip(signature.choices(packet, method), ops, strict=True):
        parts, later, numbers = [], False, "wrapped numbers" in op.flags
        for i, (given, parameter) in enumerate(names.items()):
            if parameter.kwarg_only and "*" not in parts:
                parts.append("*")
            if method and given == "self":
                parts.append("self")
                continue
            later = later or parameter.default is not required
            default = "" if (parameter.kwarg_only and parameter.default is required) or not later else " = ..."
            parts.append(f"{given}: {annotation(parameter, numbers and i > 0)}{default}")
        if signature.has_out([op], method):
            outputs = "Tensor" if len(schema.returns) == 1 else "Sequence[Tensor]"
            parts += ["*"] * ("*" not in parts) + [f"out: {outputs} | None = ..."]
        returned = signature.return_type(op).replace("bool", "_bool").replace("complex", "_Number")
        texts.append(f"({', '.join(parts)}) -> {returned}")
        if signature.takes_varargs(schema, method):
            listed = next(given for given, parameter in names.items() if parameter.is_list)
            options = ", ".join(parts[parts.index("*") + 1:]) if "*" in parts else ""
            texts.append(f"({'self, ' * method}*{listed}: _int{', ' * bool(options)}{options}) -> {returned}")
    texts = list(dict.fromkeys(texts))
    indent = "    " if method else ""
    document = "\n".join(f"{indent}    {line}".rstrip() for line in
                         signature.document(name, packet, method).splitlines()).strip()
    made = ""
    for i, text in enumerate(texts):
        made += f"{indent}@overload\n" if len(texts) > 1 else ""
        made += f"{indent}def {spelling or name}{text}:" + (f'\n{indent}    """{document}"""\n' if not i else " ...\n")
    return made


def canonical(name: str, op: Any) -> str:
    """Write an operator of ``_dispatch.aten``, which takes the schema's arguments by position."""
    required, signature = load("schema").REQUIRED, load("signature")
    parts, later = [], False
    for parameter in op.schema.parameters:
        later = later or parameter.default is not required
        parts.append(f"{signature.spelled(parameter.name)}: Any{' = ...' if later else ''}")
    parts += [f"out: Any{' = ...' if later else ''}"] if op.is_out else []
    returned = "Tensor" if signature.return_type(op) == "Tensor" else "Any"
    return f'def {name}({"".join(f"{part}, " for part in parts)}/) -> {returned}: ...\n'


# -- from sources ------------------------------------------------------------------------------------------------------


def tree(path: str) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


def table(path: str, name: str) -> Any:
    """Return the syntax tree of a module's table."""
    for node in tree(path).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            return node.value  # type: ignore[attr-defined]
    raise LookupError(f"{path} has no table {name}")


def keys(path: str, name: str) -> list[str]:
    """Return the strings in a module's table: the keys of a dictionary, the elements of a set or a tuple."""
    found = table(path, name)
    return [entry.value for entry in (found.keys if isinstance(found, ast.Dict) else found.elts)]


def stub_of(function: ast.FunctionDef, name: str, indent: str = "") -> str:
    """Write the definition of a function without its body."""
    arguments = function.args
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and getattr(decorator.func, "id", "") == "options_of":
            made = definitions(name, overloads(decorator.args[0].id, False), False)
            factory: Any = ast.parse(made).body[0]
            own = {a.arg for a in arguments.args + arguments.kwonlyargs}
            for argument, default in zip(factory.args.kwonlyargs, factory.args.kw_defaults, strict=True):
                if argument.arg not in own:
                    arguments.kwonlyargs.append(argument)
                    arguments.kw_defaults.append(default)
            arguments.kwarg = None
    annotated = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    for argument in annotated:
        if argument is not None and argument.annotation is not None:
            argument.annotation = ast.Name(prefixed(ast.unparse(argument.annotation)))
    arguments.defaults = [ast.Constant(...)] * len(arguments.defaults)
    arguments.kw_defaults = [default and ast.Constant(...) for default in arguments.kw_defaults]
    returned = prefixed(ast.unparse(function.returns)) if function.returns else "Any"
    body = ast.get_docstring(function) or ""
    return (f"{indent}def {name}({ast.unparse(arguments)}) -> {returned}:\n"
            f'{indent}    """{body}"""\n'.replace("\n\n", "\n"))


def overloads(name: str, writes: bool) -> list[Any]:
    """Return the overloads of a factory as its public function has them."""
    made, write = load("factory").Factory, (lambda *args: None) if writes else None
    return [made(op, write) if "device" in op.schema.positions else op for op in load("schemas").registry.packets[name]]


def factories(path: str) -> str:
    """Write a module's public functions, among them the ones that the binder makes: ``zeros = factory("zeros")``."""
    calls: list[Any] = [node.value for node in tree(path).body if isinstance(node, ast.Assign)
                        and getattr(getattr(node.value, "func", None), "id", "") == "factory"]
    return defined(path) + "".join(definitions(name, overloads(name, len(call.args) > 1), False)
                                   for call in calls for name in [call.args[0].value])


def prefixed(annotation: str) -> str:
    """Prefix the names of Python's types in an annotation, which could otherwise mean methods or dtypes."""
    return re.sub(r"\b(bool|int|float|complex|str)\b", r"_\1", annotation)


def attached() -> str:
    """Write the methods that ``@tensor_method("name")`` makes."""
    made = ""
    for path in sorted(ROOT.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "@tensor_method(" not in text:
            continue
        for node in ast.parse(text).body:
            for decorator in getattr(node, "decorator_list", ()):
                if isinstance(decorator, ast.Call) and getattr(decorator.func, "id", "") == "tensor_method":
                    made += stub_of(node, decorator.args[0].value, "    ")  # type: ignore[attr-defined, arg-type]
    return made


def reexported(path: str) -> str:
    """Write a module's re-exports: ``from .x import name as name``."""
    shown = ""
    for node in [part for block in tree(path).body for part in (block.body if isinstance(block, ast.If) else [block])]:
        if isinstance(node, ast.ImportFrom) and node.module != "__future__":
            node.names = [name for name in node.names if name.name == name.asname or
                          (name.asname and name.asname[0] != "_")]
            shown += f"{ast.unparse(node)}\n" if node.names else ""
    return shown


def defined(path: str) -> str:
    """Write the public functions that a module defines."""
    return "".join(stub_of(node, node.name) for node in tree(path).body
                   if isinstance(node, ast.FunctionDef) and node.name[0] != "_")


# -- the stubs ---------------------------------------------------------------------------------------------------------


def methods(registry: Any) -> str:
    """Write the base class of the tensor with the attached methods."""
    own = {node.name for statement in tree("_tensor/__init__.py").body if isinstance(statement, ast.ClassDef)
           for node in statement.body if isinstance(node, ast.FunctionDef)}
    made = ('class Methods:\n    """What is attached to tensors when mindtorch is imported."""\n'
            "    def __init__(self, *data: Any, device: Any = ...) -> None: ...\n")
    others = attached()
    own |= set(re.findall(r"^    def (\w+)", others, re.M))
    for name in attached_names(registry, "method"):
        made += definitions(name, registry.packets[name], method=True) if name not in own else ""
    for name in keys("_creation/sizes.py", "METHODS"):
        made += definitions(name, overloads(name, False), method=True)
    api = "_methods/api.py"
    for name in keys(api, "OPERATORS"):
        forms = ["", "r" * (name in keys(api, "COMMUTATIVE") or name in keys(api, "REFLECTED"))]
        forms += ["i"] * (name not in keys(api, "COMPARISONS"))
        for form in dict.fromkeys(forms):
            kind = "object" if name in ("eq", "ne") else "Tensor | _Number"
            made += f"    def __{form}{name}__(self, other: {kind}) -> Tensor: ...\n"
    for name in keys(api, "METHODS"):
        made += f"    def __{name}__(self{'' if name in UNARY else ', other: Tensor | _Number'}) -> Tensor: ...\n"
    for name in keys(api, "VIEWS"):
        made += f"    @property\n    def {name}(self) -> Tensor: ...\n"
        if name in ("real", "imag"):
            made += f"    @{name}.setter\n    def {name}(self, value: Tensor | _Number) -> None: ...\n"
    for name in [*keys("_dtype.py", "DTYPE_ALIASES"), *keys("_creation/conversion.py", "CONVERSIONS")]:
        made += f"    def {name}(self, memory_format: _MemoryFormat | None = ...) -> Tensor: ...\n"
    return made + others


def attached_names(registry: Any, flag: str) -> list[str]:
    """Return the packets that the flag makes functions or methods."""
    names = load("signature").attached_names
    return [*dict.fromkeys(name for packet in registry.packets for name in names(registry, packet, flag))]


def functions(registry: Any) -> str:
    return "".join(definitions(name, packet, False) for name, packet in registry.packets.items())


def namespace(registry: Any, prefix: str) -> str:
    """Write the functions of ``torch.linalg`` and the like."""
    made = "".join(definitions(name, packet, False, name.removeprefix(prefix))
                   for name, packet in registry.packets.items() if name.startswith(prefix))
    path = f"{prefix[:-1]}.py"
    return reexported(path) + made + defined(path)


def special(registry: Any) -> str:
    names = ast.literal_eval(table("special.py", "ALIASES"))
    return namespace(registry, "special_") + "".join(
        definitions(packet, registry.packets[packet], False, name) for name, packet in names.items())


def torch(registry: Any) -> str:
    """Write the package itself: its modules, functions, dtypes and tensor types."""
    dtypes = [*keys("_dtype.py", "DTYPE_ALIASES"), *(
        ast.literal_eval(node.value.args[0]) for node in tree("_dtype.py").body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        and getattr(node.value.func, "id", "") == "DType")]
    legacy = "".join(f"class {name}Tensor(Tensor):\n"
                     "    def __init__(self, *args: Any, device: Any = ...) -> None: ...\n"
                     f"class {name}Storage(TypedStorage): ...\n"
                     for name in ast.literal_eval(table("_dtype.py", "NAMES")).values())
    shown = reexported("__init__.py")
    own = {name.asname for node in ast.parse(shown).body for name in node.names}  # type: ignore[attr-defined]
    made = [f"{name} as {name}" for name in attached_names(registry, "function") if name not in own]
    return (shown + f"from ._methods.functions import {', '.join(made)}\n" + legacy
            + "".join(f"{name}: dtype\n" for name in dtypes) + defined("__init__.py"))


def operators(registry: Any) -> str:
    """Write ``mindtorch._dispatch.aten``."""
    found = {name: ops[0] for name, ops in registry.packets.items()}
    found |= {name.replace(".", "_"): op for name, op in registry.operators.items()}
    return "".join(canonical(name, op) for name, op in found.items())


def return_types(registry: Any) -> str:
    made = ""
    for name, packet in registry.packets.items():
        named = next((op.schema for op in packet if op.schema.is_named_tuple), None)
        if named is not None:
            fields = "".join(f"    {field}: Any\n" if field == "bin_edges" else f"    {field}: Tensor\n"
                             for field in named.returns)
            made += f"class {name}(NamedTuple):\n{fields}"
    return (made + "def named_tuple(name: _str, fields: tuple[_str, ...]) -> Any: ...\n"
            "def pack(op: Any, outputs: list[Any]) -> Any: ...\n"
            "def packer(op: Any) -> Any: ...\n"
            "def again(name: _str, fields: Any, extra: Any = ...) -> Any: ...\n")


def write_stubs(target: Path) -> list[Path]:
    """Write the stubs into a folder that holds the package."""
    registry = load("schemas").registry
    made = {
        "__init__.pyi": ("The names of ``torch``.", torch(registry)),
        "_creation/sizes.pyi": ("Tensors from sizes.", factories("_creation/sizes.py")),
        "_creation/random.pyi": ("Random tensors.", factories("_creation/random.py")),
        "_creation/sequences.pyi": ("Sequences.", factories("_creation/sequences.py")),
        "_methods/functions.pyi": ("The operators as functions.", functions(registry)),
        "_tensor/methods.pyi": ("The operators as methods of tensors.", methods(registry)),
        "_dispatch/aten.pyi": ("The operators, with canonical arguments.", operators(registry)),
        "_dispatch/return_types.pyi": ("The named tuples that operators return.", return_types(registry)),
        "linalg.pyi": ("Linear algebra: ``torch.linalg``.", namespace(registry, "linalg_")),
        "fft.pyi": ("Fourier transforms: ``torch.fft``.", namespace(registry, "fft_")),
        "special.pyi": ("Special functions: ``torch.special``.", special(registry)),
    }
    paths = []
    for name, (title, text) in made.items():
        path = target / "mindtorch" / name
        text = HEAD.format(title=title, dots="." * (1 + name.count("/"))) + text
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    return paths


if __name__ == "__main__":
    from setuptools import setup
    from setuptools.command.build_py import build_py

    class BuildWithStubs(build_py):
        """Beside the sources, the stubs, in an editable install next to them; in a wheel the notebooks, too."""

        def run(self) -> None:
            super().run()
            write_stubs(ROOT.parent if self.editable_mode else Path(self.build_lib))
            if not self.editable_mode:
                shutil.copytree(ROOT.parent / "notebooks", Path(self.build_lib, "mindtorch", "notebooks"),
                                ignore=shutil.ignore_patterns(".ipynb_checkpoints", "__pycache__"), dirs_exist_ok=True)

    setup(cmdclass={"build_py": BuildWithStubs})
