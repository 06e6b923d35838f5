"""Ranges of values, and the range of an expression from those of its symbols (``torch.utils._sympy.value_ranges``)."""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import sympy
from sympy import S

from .functions import CeilToInt, FloorDiv, FloorToInt, IntTrueDiv, Mod, PowByNatural, PythonMod, ToFloat, TruncToInt
from .numbers import IntInfinity, int_oo


def _bound(value: Any) -> Any:
    """Return a bound as Python's number: an int, a float, a bool, or an infinity of its kind."""
    if isinstance(value, (bool, int, float)):
        return value
    if value in (S.true, S.false):
        return bool(value)
    if value is sympy.oo or value is -sympy.oo:
        return float(value)
    return int(value) if value.is_Integer else float(value)


class ValueRanges:
    """The values from ``lower`` to ``upper``, both included (``torch.utils._sympy.value_ranges.ValueRanges``)."""

    __slots__ = ("lower", "upper")

    def __init__(self, lower: Any, upper: Any) -> None:
        self.lower, self.upper = _bound(lower), _bound(upper)
        if self.lower > self.upper:
            raise ValueRangeError(f"Invalid ranges [{lower}:{upper}]")

    @property
    def is_bool(self) -> bool:
        """True if the values are conditions."""
        return isinstance(self.lower, bool)

    @property
    def is_int(self) -> bool:
        """True if the values are integers."""
        return not self.is_bool and all(isinstance(end, (int, IntInfinity)) for end in (self.lower, self.upper))

    @property
    def is_float(self) -> bool:
        """True if the values are floating point numbers."""
        return not self.is_bool and not self.is_int

    @classmethod
    def unknown(cls) -> ValueRanges:
        """Return the range of all numbers."""
        return cls(-math.inf, math.inf)

    @classmethod
    def unknown_int(cls) -> ValueRanges:
        """Return the range of all integers."""
        return cls(-int_oo, int_oo)

    @classmethod
    def unknown_bool(cls) -> ValueRanges:
        """Return the range of both conditions."""
        return cls(False, True)

    def is_singleton(self) -> bool:
        """Return True if there is one value."""
        return self.lower == self.upper

    def issubset(self, other: ValueRanges) -> bool:
        """Return True if another range has all values of this one."""
        return other.lower <= self.lower and self.upper <= other.upper

    def __contains__(self, value: Any) -> bool:
        return self.lower <= _bound(value) <= self.upper

    def __and__(self, other: ValueRanges) -> ValueRanges:
        return ValueRanges(max(self.lower, other.lower), min(self.upper, other.upper))

    def __or__(self, other: ValueRanges) -> ValueRanges:
        return ValueRanges(min(self.lower, other.lower), max(self.upper, other.upper))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ValueRanges) and (self.lower, self.upper) == (other.lower, other.upper)

    def __hash__(self) -> int:
        return hash((self.lower, self.upper))

    def __repr__(self) -> str:
        return f"VR[{self.lower}, {self.upper}]"


class ValueRangeError(RuntimeError):
    """A range without values."""


def _corners(function: Callable[..., Any]) -> Callable[..., ValueRanges]:
    """Return the range of a function that is monotonic in each argument: its extremes lie at the ranges' ends."""

    def bound(*ranges: ValueRanges) -> ValueRanges:
        ends = [function(*corner) for corner in product(*[(r.lower, r.upper) for r in ranges])]
        lower, upper = min(ends), max(ends)
        if all(r.is_int for r in ranges):
            lower, upper = (IntInfinity(end) if isinstance(end, float) and math.isinf(end) else end
                            for end in (lower, upper))
        return ValueRanges(lower, upper)

    return bound


def _times(a: Any, b: Any) -> Any:
    return 0 if a == 0 or b == 0 else a * b


def _floor_div(a: Any, b: Any) -> Any:
    if math.isinf(b):
        return 0 if math.isfinite(a) and (a >= 0) == (b > 0) else (-1 if math.isfinite(a) else a * b)
    return a * (1 if b > 0 else -1) if math.isinf(a) else a // b


def _true_div(a: Any, b: Any) -> float:
    return 0.0 if math.isinf(b) else a / b


def _power(base: ValueRanges, exponent: ValueRanges) -> ValueRanges:
    if exponent.is_singleton() and isinstance(exponent.lower, int) and exponent.lower >= 0:
        power = exponent.lower
        ends = [end ** power if math.isfinite(end) else (end if power % 2 else abs(end)) for end in
                (base.lower, base.upper)] if power else [1]
        least = 0 if power and power % 2 == 0 and 0 in base else min(ends)
        return ValueRanges(*[IntInfinity(end) if isinstance(end, float) and base.is_int else end
                             for end in (least, max(ends))])
    if base.lower >= 1 and exponent.lower >= 0:
        return ValueRanges(1, int_oo)
    return ValueRanges.unknown()


def _remainder(p: ValueRanges, q: ValueRanges) -> ValueRanges:
    if q.lower > 0:
        if p.lower >= 0 and p.upper < q.lower:
            return p
        return ValueRanges(0, q.upper - 1 if p.lower < 0 else min(q.upper - 1, p.upper))
    return ValueRanges.unknown_int()


def _divided(function: Callable[..., Any], unknown: Callable[[], ValueRanges]) -> Callable[..., ValueRanges]:
    return lambda a, b: unknown() if 0 in b else _corners(function)(a, b)


def _whole(function: Callable[[float], int]) -> Callable[[ValueRanges], ValueRanges]:
    def bound(a: ValueRanges) -> ValueRanges:
        return ValueRanges(*[IntInfinity(end) if math.isinf(end) else function(end) for end in (a.lower, a.upper)])

    return bound


def _compare(decided: Callable[[ValueRanges, ValueRanges], bool | None]) -> Callable[..., ValueRanges]:
    def bound(a: ValueRanges, b: ValueRanges) -> ValueRanges:
        truth = decided(a, b)
        return ValueRanges.unknown_bool() if truth is None else ValueRanges(truth, truth)

    return bound


def _less(a: ValueRanges, b: ValueRanges) -> bool | None:
    return True if a.upper < b.lower else False if a.lower >= b.upper else None


def _equal(a: ValueRanges, b: ValueRanges) -> bool | None:
    if a.upper < b.lower or b.upper < a.lower:
        return False
    return True if a.is_singleton() and b.is_singleton() and a.lower == b.lower else None


def _opposite(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


#: By sympy class: the range of the result from those of the arguments.
BOUNDS: dict[Any, Callable[..., ValueRanges]] = {
    sympy.Add: _corners(lambda a, b: a + b), sympy.Mul: _corners(_times), sympy.Max: _corners(max),
    sympy.Min: _corners(min), sympy.Pow: _power, PowByNatural: _power, Mod: _remainder, PythonMod: _remainder,
    FloorDiv: _divided(_floor_div, ValueRanges.unknown_int), IntTrueDiv: _divided(_true_div, ValueRanges.unknown),
    ToFloat: lambda a: ValueRanges(float(a.lower), float(a.upper)),
    TruncToInt: _whole(math.trunc), FloorToInt: _whole(math.floor), CeilToInt: _whole(math.ceil),
    sympy.Lt: _compare(_less), sympy.Ge: _compare(lambda a, b: _opposite(_less(a, b))),
    sympy.Gt: _compare(lambda a, b: _less(b, a)), sympy.Le: _compare(lambda a, b: _opposite(_less(b, a))),
    sympy.Eq: _compare(_equal), sympy.Ne: _compare(lambda a, b: _opposite(_equal(a, b))),
    sympy.And: _corners(lambda a, b: a and b), sympy.Or: _corners(lambda a, b: a or b),
    sympy.Not: lambda a: ValueRanges(not a.upper, not a.lower),
}
ASSOCIATIVE = (sympy.Add, sympy.Mul, sympy.Max, sympy.Min, sympy.And, sympy.Or)


def bound_sympy(expr: Any, ranges: Mapping[Any, ValueRanges] | None = None) -> ValueRanges:
    """Return a range that holds all values of an expression (``torch.utils._sympy.value_ranges.bound_sympy``)."""
    if isinstance(expr, (bool, int, float)):
        return ValueRanges(expr, expr)
    if expr.is_Symbol:
        found = (ranges or {}).get(expr)
        if found is not None:
            return found
        return ValueRanges(1 if expr.is_positive else 0 if expr.is_nonnegative else -int_oo, int_oo)
    if expr.is_Number or expr in (S.true, S.false):
        return ValueRanges(expr, expr)
    rule = BOUNDS.get(type(expr))
    if rule is None and isinstance(expr, FloorDiv):
        rule = BOUNDS[FloorDiv]
    if rule is None:
        if getattr(expr, "is_Boolean", False):
            return ValueRanges.unknown_bool()
        return ValueRanges.unknown_int() if expr.is_integer else ValueRanges.unknown()
    parts = [bound_sympy(arg, ranges) for arg in expr.args]
    if isinstance(expr, ASSOCIATIVE):
        found = parts[0]
        for part in parts[1:]:
            found = rule(found, part)
        return found
    return rule(*parts)
