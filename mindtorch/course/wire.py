"""Values as JSON: outcomes of labs go into files, and between processes that do not trust each other.

Tuples are JSON's arrays; everything that JSON lacks is an object with one key, which names its kind. A value of any
other type becomes an ``Other``, so decoding never runs code.
"""
from __future__ import annotations

import sys
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from .._dispatch.dispatcher import TENSOR_TYPES
from .._dtype import DType

torch = sys.modules[__name__.partition(".")[0]]
DEPTH, ITEMS, LETTERS = 8, 1_000_000, 10_000  #: more than these is not decoded, or shortened
NUMBERS = "biuf"  #: kinds of NumPy's dtypes whose arrays are carried


@dataclass(frozen=True)
class Other:
    """A value of a type that is not carried: the type's name, and its text."""

    kind: str
    text: str = field(compare=False)

    def __repr__(self) -> str:
        return self.text


def encode(value: Any, depth: int = DEPTH) -> Any:
    """Return a value as JSON carries it."""
    if value is None or value.__class__ in (bool, int, float):
        return value
    if value.__class__ is str:
        return value[:LETTERS]
    if isinstance(value, np.bool_ | np.integer | np.floating):
        return value.item()
    if value.__class__ in TENSOR_TYPES:
        return _encode_tensor(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in NUMBERS:
        return {"array": value.tolist(), "dtype": str(value.dtype)}
    if depth and isinstance(value, tuple):
        return [encode(item, depth - 1) for item in value]
    if depth and isinstance(value, list):
        return {"list": [encode(item, depth - 1) for item in value]}
    if depth and isinstance(value, dict) and all(isinstance(name, str) for name in value):
        return {"dict": {name: encode(item, depth - 1) for name, item in value.items()}}
    return {"other": type(value).__name__, "text": repr(value)[:200]}


def _encode_tensor(tensor: Any) -> dict[str, Any]:
    facts = {"tensor": None, "dtype": tensor.dtype.name, "shape": list(tensor.shape)}
    if tensor.device.type == "meta":
        return facts
    return facts | {"tensor": tensor.detach().to("cpu").flatten().tolist()}


def decode(value: Any, depth: int = DEPTH) -> Any:
    """Return the value that was encoded; ValueError if it is not what ``encode`` writes."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict) and value.keys() == {"other", "text"}:  # also what lies too deep to be encoded
        return Other(str(value["other"]), str(value["text"]))
    if not depth:
        raise ValueError("a value is nested too deeply")
    if isinstance(value, list):
        return tuple(decode(item, depth - 1) for item in value)
    match value:
        case {"tensor": values, "dtype": str(dtype), "shape": list(shape)}:
            return _decode_tensor(values, dtype, shape)
        case {"array": values, "dtype": str(dtype)} if np.dtype(dtype).kind in NUMBERS:
            return np.array(values, dtype=dtype)
        case {"list": list(items)}:
            return [decode(item, depth - 1) for item in items]
        case {"dict": dict(items)}:
            return {name: decode(item, depth - 1) for name, item in items.items()}
    raise ValueError("this is not an encoded value")


def _decode_tensor(values: Any, dtype: str, shape: list[Any]) -> Any:
    kind = getattr(torch, dtype, None)
    if not isinstance(kind, DType) or not all(type(size) is int and size >= 0 for size in shape):
        raise ValueError("this is not an encoded tensor")
    if values is None:
        return torch.empty(shape, dtype=kind, device="meta")
    if not isinstance(values, list) or len(values) != prod(shape) or len(values) > ITEMS or not all(
            isinstance(item, bool | int | float) for item in values):
        raise ValueError("this is not an encoded tensor")
    return torch.tensor(values, dtype=kind).reshape(shape)
