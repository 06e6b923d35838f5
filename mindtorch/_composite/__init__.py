"""Composite operators: written in other operators, so they run on every backend and have derivatives by themselves."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._dispatch.dispatcher import registry
from .._dispatch.registry import Kernel, Operator
from . import (
    core, activation, distance, einsum, factorizations, fft, histogram, indexing, linalg, padding, pointwise, random,
    reduction, scan, search, shape, softmax, sorting, views, nn,
)  # fmt: skip

ROWS: dict[str, Callable[..., Any]] = {}
for _family in (
    core, activation, distance, einsum, factorizations, fft, histogram, indexing, linalg, padding, pointwise, random,
    reduction, scan, search, shape, softmax, sorting, views, nn,
):
    ROWS.update(_family.ROWS)


def find(op: Operator, backend: int) -> Kernel | None:
    """A composite's function is its kernel on every backend; an ``out=`` form, which has a row of its own where it
    draws random numbers into ``out``, keeps autograd's check.
    """
    row = ROWS.get(op.name)
    return None if row is None else Kernel(row, row, composite=not op.is_out)


registry.add_finder(find, first=True)  # before the forms derived from a functional operator
