"""Helpers of the rows."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._dispatch.overloads import ops
from .._dtype import DType, bfloat16, float16, float32
from .._tensor import Tensor
from .._transforms.pytree import tree_map
from .table import register_decomposition

aten = ops.aten
Row = Callable[..., Any]
HALVES = (float16, bfloat16)


def row(*operators: Any) -> Callable[[Row], Row]:
    """Decorate the decomposition of operators."""
    return register_decomposition(list(operators))


def opmath(dtype: DType) -> DType:
    """Return the dtype in which a sum of this dtype is computed: float32 for half precision."""
    return float32 if dtype in HALVES else dtype


def in_opmath(function: Row) -> Row:
    """Wrap a row to compute in float32 on tensors of half precision, and to return their dtype."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        halves = [arg._dtype for arg in (*args, *kwargs.values()) if isinstance(arg, Tensor) and arg._dtype in HALVES]
        if not halves:
            return function(*args, **kwargs)
        given, named = tree_map(lambda leaf: leaf.to(float32) if isinstance(leaf, Tensor) and leaf._dtype in HALVES
                                else leaf, (args, kwargs))
        return tree_map(lambda leaf: leaf.to(halves[0]) if isinstance(leaf, Tensor) and leaf._dtype is float32
                        else leaf, function(*given, **named))

    return wrapped


def reduced(loss: Any, reduction: int) -> Any:
    """Return a loss by ATen's number of a reduction: 0 none, 1 mean, 2 sum."""
    return loss.mean() if reduction == 1 else loss.sum() if reduction == 2 else loss
