"""The infinite integer (``torch.utils._sympy.numbers``)."""
from __future__ import annotations

from math import inf


class IntInfinity(float):
    """More than every integer, and where it is negative less: the end of a range that has none."""

    def __new__(cls, value: float = inf) -> IntInfinity:
        return super().__new__(cls, value)

    def __repr__(self) -> str:
        return "int_oo" if self > 0 else "-int_oo"

    __str__ = __repr__

    def __neg__(self) -> IntInfinity:
        return IntInfinity(-float(self))


int_oo = IntInfinity()
