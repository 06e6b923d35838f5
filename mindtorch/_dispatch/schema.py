"""ATen's schema language: ``add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor``.

Schemas are rows of text. They are parsed when arguments are bound or a signature is read, never on the hot path.
"""
from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

REQUIRED: Any = type("Required", (), {"__repr__": lambda self: "<required>"})()
_LITERALS: dict[str, Any] = {"None": None, "True": True, "False": False, "[]": (), "inf": float("inf"),
                             "contiguous_format": None, "Mean": 1, "Sum": 2}
_TYPE = re.compile(
    r"(?P<base>[A-Za-z]+)(?P<alias>\([a-z*]!?[^)]*\)|!)?(?P<inner>\?)?(?P<list>\[(?P<size>\d*)\])?(?P<optional>\?)?\Z"
)


@dataclass(frozen=True)
class Parameter:
    """One parameter: ``base`` is ATen's type name, ``size`` the fixed length of a list such as ``int[2]``."""

    name: str
    base: str
    is_list: bool = False
    size: int | None = None
    optional: bool = False
    inner_optional: bool = False
    writes: bool = False
    default: Any = REQUIRED
    kwarg_only: bool = False

    @property
    def is_tensor(self) -> bool:
        return self.base == "Tensor"

    def type_name(self) -> str:
        """Return the type as PyTorch's error messages spell it."""
        base = {"ScalarType": "torch.dtype", "Device": "torch.device", "Layout": "torch.layout", "Scalar": "Number",
                "MemoryFormat": "torch.memory_format", "Generator": "torch.Generator"}.get(self.base, self.base)
        return f"tuple of {base}s" if self.is_list else base

    def __str__(self) -> str:
        text = f"{self.type_name()} {self.name}"
        if self.default is REQUIRED:
            return text
        return f"{text} = {self.default[0] if self.size and self.default else self.default}"


@dataclass(frozen=True)
class Schema:
    """A parsed schema. ``returns`` holds the names of the outputs, '' for unnamed ones."""

    name: str
    parameters: tuple[Parameter, ...]
    returns: tuple[str, ...]
    returns_list: bool = False
    positions: dict[str, int] = field(default_factory=dict)

    @property
    def is_named_tuple(self) -> bool:
        """True if there are several outputs with names, such as the values and indices of ``max.dim``."""
        return len(self.returns) > 1 and self.returns[0] not in ("", "result0")

    @cached_property
    def positional(self) -> int:
        """The number of parameters that may be given by position."""
        return sum(not p.kwarg_only for p in self.parameters)


def _literal(text: str) -> Any:
    if text in _LITERALS:
        return _LITERALS[text]
    if text[0] == "[":
        return tuple(_literal(part.strip()) for part in text[1:-1].split(","))
    if text[0] in "\"'":
        return text[1:-1]
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    try:
        return float(text)
    except ValueError:
        return text


def _split(text: str) -> list[str]:
    """Split at commas outside brackets."""
    parts, depth, start = [], 0, 0
    for i, char in enumerate(text):
        if char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


def parse_parameter(text: str, kwarg_only: bool = False) -> Parameter:
    """Parse one parameter, such as ``int[1]? dim=None``."""
    declaration, _, default = text.partition("=")
    type_name, _, name = declaration.strip().rpartition(" ")
    match = _TYPE.match(type_name)
    if match is None or not name:
        raise ValueError(f"cannot parse the schema parameter {text!r}: expected 'Type name' or 'Type name=default'")
    value = _literal(default.strip()) if default else REQUIRED
    if match["size"] and isinstance(value, int):  # one number for all
        value = (value,) * int(match["size"])
    optional = bool(match["optional"]) or (bool(match["inner"]) and not match["list"])
    base = {"SymInt": "int", "Any": "Any"}.get(match["base"], match["base"])
    return Parameter(
        name=name, base=base, is_list=bool(match["list"]), size=int(match["size"]) if match["size"] else None,
        optional=optional, inner_optional=bool(match["inner"]) and bool(match["list"]),
        writes="!" in (match["alias"] or ""), kwarg_only=kwarg_only,
        default=value,
    )


def parse(text: str) -> Schema:
    """Parse a schema. Raises ValueError if the text is not of the form ``name.overload(Type name, ...) -> Type``."""
    match = re.fullmatch(r"\s*([\w:]+(?:\.\w+)?)\((.*)\)\s*->\s*(.+?)\s*", text)
    if match is None:
        raise ValueError(f"cannot parse the schema {text!r}: expected 'name.overload(Type name, ...) -> Type'")
    name, inside, outputs = match.groups()
    parameters, kwarg_only = [], False
    for part in _split(inside):
        if part == "*":
            kwarg_only = True
        else:
            parameters.append(parse_parameter(part, kwarg_only))
    if outputs == "()":
        names: list[str] = []
    elif outputs[0] == "(":
        names = [part.rpartition(" ")[2] if " " in part else "" for part in _split(outputs[1:-1])]
    else:
        names = [""]
    return Schema(name, tuple(parameters), tuple(names), returns_list=outputs.endswith("[]"),
                  positions={p.name: i for i, p in enumerate(parameters)})
