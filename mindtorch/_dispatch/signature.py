"""Python signatures of operators: parameters, return types and docstrings, read from their schemas on demand."""
from __future__ import annotations

import re
from inspect import Parameter
from keyword import iskeyword
from typing import Any

from .registry import Operator, OpRegistry, inplace_name
from .schema import REQUIRED, Schema

#: The default shown for a parameter that some overload lacks.
OMITTED: Any = type("Omitted", (), {"__repr__": lambda self: "..."})()
#: Python's types for ATen's return types; all others are ``Any``.
RETURNS = {"Tensor": "Tensor", "Tensor[]": "tuple[Tensor, ...]", "Scalar": "complex", "ScalarType": "DType",
           "()": "None", "bool": "bool", "int": "int", "float": "float"}
#: Prefixes of packets that belong to a namespace of that name.
NAMESPACES = ("linalg", "fft", "special")
_ALIASING = re.compile(r"\(\w(!| -> \*)?\)")
_annotations: dict[str, dict[str, str]] = {"Tensor": {"return": "Tensor"}}


def spelled(name: str) -> str:
    """Return a parameter's name in Python, with an underscore if it is a keyword: ``from_`` of ``random_``."""
    return f"{name}_" if iskeyword(name) else name


def attached_names(registry: OpRegistry, packet: str, flag: str) -> list[str]:
    """Return the names of a packet and its in-place form as a ``function`` or a ``method``, by this flag."""
    flags = frozenset().union(*(op.flags for op in registry.packets[packet]))
    inplace = inplace_name(packet)
    if flag not in flags:
        return []
    return [packet, inplace] if "in-place" in flags and inplace in registry.packets else [packet]


def named(schema: Schema, method: bool) -> dict[str, Any]:
    """Return the parameters by their names in Python; a method's ``self`` comes first."""
    named = {spelled(p.name): p for p in schema.parameters}
    if method:
        return {"self": named.pop("self"), **named}
    return {"input" if name == "self" else name: p for name, p in named.items()}


def choices(packet: list[Operator], method: bool) -> list[tuple[dict[str, Any], Schema]]:
    """Return the overloads of a packet's function or method: their named parameters, and their schemas."""
    schemas = [op.schema for op in packet if not op.is_out]
    return [(named(schema, method), schema) for schema in schemas if not method or "self" in schema.positions]


def takes_varargs(schema: Schema, method: bool) -> bool:
    """Return True if the only list of ints may be given as separate ints: ``x.view(2, 3)``, ``torch.zeros(2, 3)``."""
    rest = [p for p in schema.parameters if p.name != "self"]
    return (method == ("self" in schema.positions) and schema.positional == 1 + method and rest[0].is_list
            and rest[0].base == "int" and rest[0].size is None)


def has_out(packet: list[Operator], method: bool) -> bool:
    """Return True if the function takes ``out=``."""
    return not method and any("out" in op.flags and not op.is_inplace for op in packet)


def merged(packet: list[Operator], method: bool) -> dict[str, Parameter]:
    """Merge all overloads' parameters into one list: those of the longest overload, then the others' as keywords. A
    parameter that some overload lacks has a default, shown as ``...`` if the schema has none.
    """
    every = choices(packet, method)
    longest, schema = max(every, key=lambda choice: choice[1].positional)
    varargs = takes_varargs(schema, method)
    found: dict[str, Parameter] = {}
    is_optional = False
    for name in dict.fromkeys([*longest, *(name for names, _ in every for name in names)]):
        owners = [names[name] for names, _ in every if name in names]
        kind: Any = Parameter.POSITIONAL_OR_KEYWORD
        if name not in longest or longest[name].kwarg_only:
            kind = Parameter.KEYWORD_ONLY
        elif varargs and longest[name].is_list:
            found[name] = Parameter(name, Parameter.VAR_POSITIONAL)
            continue
        default = next((owner.default for owner in owners if owner.default is not REQUIRED), Parameter.empty)
        if default is Parameter.empty and ((is_optional and kind == Parameter.POSITIONAL_OR_KEYWORD)
                                           or len(owners) < len(every)):
            default = None if owners[0].optional else OMITTED
        is_optional = is_optional or default is not Parameter.empty
        are_tensors = not method and all(owner.type_name() == "Tensor" and not owner.optional for owner in owners)
        found[name] = Parameter(name, kind, default=default, annotation="Tensor" if are_tensors else Parameter.empty)
    if has_out(packet, method):
        found["out"] = Parameter("out", Parameter.KEYWORD_ONLY, default=None)
    return dict(sorted(found.items(), key=lambda item: item[1].kind))


def return_type(op: Operator) -> str:
    """Return an operator's return type in Python."""
    outputs = _ALIASING.sub("", op.text.rpartition("-> ")[2]).strip()
    if outputs[0] != "(" or outputs == "()":
        return RETURNS.get(outputs, "Any")
    if op.schema.is_named_tuple:
        return f"return_types.{op.packet}"
    return f"tuple[{', '.join(RETURNS.get(part.split()[0], 'Any') for part in outputs[1:-1].split(','))}]"


def returned(ops: list[Operator]) -> str:
    """Return the union of the overloads' return types."""
    if all(op.text.endswith("-> Tensor") for op in ops):
        return "Tensor"
    return " | ".join(dict.fromkeys(map(return_type, ops)))


def annotations_of(ops: list[Operator]) -> dict[str, str]:
    """Return ``__annotations__`` of a packet's function: one dictionary per return type."""
    text = returned(ops)
    return _annotations.setdefault(text, {"return": text})


def torch_name(name: str, packet: list[Operator], method: bool = False) -> str:
    """Return PyTorch's public name of a packet."""
    prefix, _, rest = name.partition("_")
    if method:
        return f"torch.Tensor.{name}"
    if rest and prefix in NAMESPACES:
        return f"torch.{prefix}.{rest}"
    return f"torch.{name}" if any("function" in op.flags for op in packet) else f"torch.nn.functional.{name}"


def meaning(packet: list[Operator], method: bool) -> str:
    """Return a packet's description, with the parameters' names in Python."""
    return packet[0].sentence if method else packet[0].sentence.replace("`self`", "`input`")


def document(name: str, packet: list[Operator], method: bool) -> str:
    """Return the docstring of a packet's function. (``?`` in a notebook shows more, from the tables of kernels.)"""
    rows = "\n    ".join([op.text for op in packet if not op.is_out])
    return f"``{torch_name(name, packet, method)}``. {meaning(packet, method)}\n\nSchemas:\n    {rows}"
