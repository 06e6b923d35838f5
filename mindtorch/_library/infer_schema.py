"""Schemas of operators from the annotations of functions."""
from __future__ import annotations

import inspect
import json
import typing
from collections.abc import Callable, Sequence
from typing import Any

from .._device import device
from .._dtype import DType
from .._tensor import Tensor

#: ATen's types of parameters, by Python's annotations.
_TYPES: dict[Any, str] = {Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str",
                          DType: "ScalarType", device: "Device", complex: "complex"}


def _type_of(annotation: Any) -> str:
    """Return ATen's type of an annotation; ValueError if there is none."""
    if annotation in _TYPES:
        return _TYPES[annotation]
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if type(None) in inner:
        return _type_of(typing.Union[tuple(kind for kind in inner if kind is not type(None))]) + "?"  # noqa: UP007
    if set(inner) == {int, float, bool} or set(inner) == {int, float}:
        return "Scalar"
    if origin in (list, Sequence, tuple) and inner:
        return _type_of(inner[0]) + "[]"
    raise ValueError(f"infer_schema(func): unsupported type {annotation}: supported are Tensor, int, float, bool, str, "
                     "dtype, device, and Optional and List of these")


def infer_schema(prototype_function: Callable[..., Any], /, *, mutates_args: Any, op_name: str | None = None) -> str:
    """Return a schema from a function's annotations (``torch.library.infer_schema``): ``(Tensor x, *, float y=1.) ->
    Tensor``. ``mutates_args`` names the arguments that are written. Raises ValueError if an annotation is missing, or
    of a type that schemas do not have; if ``mutates_args`` names no parameter.
    """
    hints, signature = typing.get_type_hints(prototype_function), inspect.signature(prototype_function)
    strange = {*(() if mutates_args == "unknown" else mutates_args)} - {*signature.parameters}
    if strange:
        raise ValueError(f"infer_schema(func): {strange} in mutates_args were not found in the custom op's signature. "
                         "mutates_args should contain the names of all args that the custom op mutates, or just the "
                         f"string 'unknown' if you don't know. Got func with signature {signature})")
    parts, alias = [], iter("abcdefgh")
    for name, parameter in signature.parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ValueError("infer_schema(func): We do not support positional-only args, varargs, or varkwargs. Got "
                             f"func with signature {signature})")
        if name not in hints:
            raise ValueError(f"infer_schema(func): Parameter {name} must have a type annotation. Got func with "
                             f"signature {signature})")
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        kind = _type_of(hints[name])
        if mutates_args == "unknown" or name in mutates_args:
            if mutates_args != "unknown" and not kind.startswith("Tensor"):
                raise ValueError(f"infer_schema(func): Parameter {name} is in mutable_args but only Tensors or "
                                 "collections of Tensors can be mutated")
            kind = kind.replace("Tensor", f"Tensor({next(alias)}!)") if "Tensor" in kind else kind
        default = parameter.default
        if isinstance(default, str):
            default = json.dumps(default)
        elif isinstance(default, DType):
            default = default.name
        shown = "" if default is parameter.empty else f"={default}"
        parts.append(f"{kind} {name}{shown}")
    if "return" not in hints:
        raise ValueError(f"infer_schema(func): No return type annotation was provided. Got func with signature "
                         f"{signature})")
    returned = hints["return"]
    several = typing.get_args(returned) if typing.get_origin(returned) is tuple else ()
    result = "()" if returned is type(None) else f"({', '.join(map(_type_of, several))})" if several else (
        _type_of(returned))
    return f"{op_name or ''}({', '.join(parts)}) -> {result}"
