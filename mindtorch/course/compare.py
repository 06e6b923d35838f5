"""Comparison of a reader's value with the right one, and their difference in one sentence."""
from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np

from .._dispatch.dispatcher import TENSOR_TYPES
from .._tensor.printing import type_text

#: Relative and absolute tolerance, by the size of a float in bytes. PyTorch's own fused attention is 1.5e-6 from the
#: formula in a gradient whose terms nearly cancel.
TOLERANCES = {2: (1e-2, 1e-3), 4: (1e-5, 3e-6), 8: (1e-9, 1e-12)}


@dataclass(frozen=True)
class Difference:
    """The difference of a reader's value: a sentence, and for tensors of one shape both of them, for a picture."""

    text: str
    expected: Any = None
    got: Any = None


def difference(expected: Any, got: Any) -> Difference | None:
    """Return how ``got`` differs or None; lists equal tuples, tensors need shape, dtype and close values."""
    if got is None and expected is not None:
        return Difference(f"it returned nothing, where {shown(expected)} is right")
    if isinstance(got, np.bool_):
        got = bool(got)
    if _is_tensor(expected):
        return _of_tensors(expected, got)
    if isinstance(expected, tuple | list):
        return _of_sequences(expected, got)
    if isinstance(expected, dict):
        return _of_dicts(expected, got)
    if isinstance(expected, bool) and not isinstance(got, bool):
        return Difference(f"it returned {shown(got)}, where True or False is right")
    if isinstance(expected, Number):
        got = got.item() if _is_tensor(got) and got.numel() == 1 else got
        if not isinstance(got, Number) or not _close(expected, got):
            return Difference(f"it returned {shown(got)}, where {shown(expected)} is right")
        return None
    if isinstance(expected, np.ndarray) or isinstance(got, np.ndarray) or _is_tensor(got):
        same = type(expected) is type(got) is np.ndarray and np.array_equal(expected, got, equal_nan=True)
    else:
        same = expected is got or bool(expected == got)
    return None if same else Difference(f"it returned {shown(got)}, where {shown(expected)} is right")


def _is_tensor(value: Any) -> bool:
    return value.__class__ in TENSOR_TYPES


def _close(expected: Any, got: Any) -> bool:
    if isinstance(expected, int) and isinstance(got, int | np.integer):
        return int(expected) == int(got)
    return bool(expected == got) or math.isclose(expected, got, rel_tol=1e-5, abs_tol=1e-6) or (
        expected != expected and got != got)


def _of_tensors(expected: Any, got: Any) -> Difference | None:
    if not _is_tensor(got):
        return Difference(f"it returned {shown(got)}, where a tensor {type_text(expected)} is right")
    if tuple(got.shape) != tuple(expected.shape):
        return Difference(f"its shape is {list(got.shape)}, where {list(expected.shape)} is right")
    if got.dtype != expected.dtype:
        return Difference(f"its dtype is {got.dtype}, where {expected.dtype} is right")
    if "meta" in (expected.device.type, got.device.type):
        if got.device.type != expected.device.type:
            return Difference(f"it is on {got.device}, where {expected.device} is right")
        return None
    right, mine = (np.asarray(value.detach().to("cpu").double() if value.dtype.is_floating_point
                              else value.detach().to("cpu")) for value in (expected, got))
    relative, absolute = TOLERANCES.get(expected.dtype.itemsize, TOLERANCES[8]) if (
        expected.dtype.is_floating_point) else (0, 0)
    wrong = ~np.isclose(right, mine, rtol=relative, atol=absolute, equal_nan=True)
    if not wrong.any():
        return None
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    at = f" at {list(place)}" if place else ""
    count = f"{int(wrong.sum())} of {wrong.size} values are wrong, the first{at}" if wrong.size > 1 else "it is wrong"
    return Difference(f"{count}: {_number(mine[place])}, where {_number(right[place])} is right", expected, got)


def _of_sequences(expected: Any, got: Any) -> Difference | None:
    if not isinstance(got, tuple | list):
        return Difference(f"it returned {shown(got)}, where a tuple or a list is right: {shown(expected)}")
    if len(got) != len(expected):
        return Difference(f"it returned {shown(got)}, with {len(got)} entries where {len(expected)} are right")
    for i, (right, mine) in enumerate(zip(expected, got, strict=True)):
        found = difference(right, mine)
        if found is not None and any(map(_is_tensor, expected)):
            return Difference(f"of entry {i}, {found.text}", found.expected, found.got)
        if found is not None:
            return Difference(f"it returned {shown(got)}, where {shown(expected)} is right")
    return None


def _of_dicts(expected: dict[str, Any], got: Any) -> Difference | None:
    """Compare dictionaries of observations by name."""
    if not isinstance(got, dict):
        return Difference(f"it returned {shown(got)}, where {shown(expected)} is right")
    for name, right in expected.items():
        if name not in got:  # something else was observed instead
            return Difference("; ".join(f"{other}: {shown(got[other])}" for other in got if other not in expected)
                              or f"{name}: nothing was observed")
        found = difference(right, got[name])
        if found is not None:
            return Difference(f"{name}: {_observed(right, got[name], found.text)}", found.expected, found.got)
    return None


def _observed(expected: Any, got: Any, text: str) -> str:
    """Return the sentence for an observed value, which no function returned."""
    if got is None:
        return f"none, where {shown(expected)} is right"
    if isinstance(expected, tuple | list) and not len(expected):
        return f"{', '.join(map(shown, got))}"
    return text.removeprefix("it returned ")


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)


def shown(value: Any) -> str:
    """Return a value's text for a sentence."""
    if _is_tensor(value):
        return f"a tensor {type_text(value)}"
    text = repr(tuple(value) if isinstance(value, list | tuple) else value)
    return text if len(text) <= 60 else f"{text[:57]}..."
