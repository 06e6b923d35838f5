"""Run a program with both libraries, and compare what it returns or raises."""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import mindtorch
from tests.support import Outcome, array, assert_same, is_tensor, name_of, torch


def plain(value: Any) -> Any:
    """A result as plain data: tensors as class, dtype, shape and values, modules as their repr."""
    if isinstance(value, type):
        return value.__name__
    if is_tensor(value):
        return (type(value).__name__, name_of(value.dtype), tuple(value.shape), value.requires_grad,
                None if value.is_meta else array(value).tolist())
    if isinstance(value, (mindtorch.nn.Module, torch.nn.Module)):
        return repr(value)
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def agree(mine: Any, other: Any) -> bool:
    """Whether plain data are the same, numbers up to what rounding in float32 makes of them."""
    if isinstance(mine, dict) and isinstance(other, dict):
        return list(mine) == list(other) and all(agree(mine[key], other[key]) for key in mine)
    if isinstance(mine, (list, tuple)) and type(mine) is type(other):
        return len(mine) == len(other) and all(map(agree, mine, other))
    if isinstance(mine, float) and isinstance(other, float):
        return math.isclose(mine, other, rel_tol=1e-5, abs_tol=5e-5) or (mine != mine and other != other)
    return mine == other


def same(program: Callable[[Any], Any], message: bool = True) -> Any:
    """Assert that ``program(library)`` does with mindtorch what it does with PyTorch; what it returned.

    Exceptions have to be of one type, and say the same unless ``message`` is False.
    """
    torch.manual_seed(0)
    mindtorch.manual_seed(0)
    theirs, ours = Outcome.of(program, torch), Outcome.of(program, mindtorch)
    assert ours.kind() == theirs.kind(), f"{ours.error!r}, torch {theirs.error!r}"
    if theirs.error is not None:
        if message:
            assert str(ours.error).replace("mindtorch", "torch") == str(theirs.error)
        return None
    mine, other = plain(ours.value), plain(theirs.value)
    assert agree(mine, other), f"{mine}\nPyTorch: {other}"
    return ours.value


def close(program: Callable[[Any], Any], rtol: float = 1e-4, atol: float = 1e-4) -> None:
    """Assert the same of a program whose results are many numbers, which may differ in the last places."""
    torch.manual_seed(0)
    mindtorch.manual_seed(0)
    theirs, ours = program(torch), program(mindtorch)
    assert_same(ours, theirs, rtol, atol)
