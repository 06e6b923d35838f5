"""Functions of numbers that may be symbolic: ``torch.sym_int``, ``sym_max`` and their like."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .._base.symbolic import FLOATS, SymBool, SymFloat, SymInt, as_float
from .._dispatch.torch_function import overridable


@overridable
def sym_int(a: Any) -> Any:
    """Return a number as an integer, rounded to zero; symbolic if it is (``torch.sym_int``)."""
    if isinstance(a, SymInt):
        return a
    return int(a) if not isinstance(a, SymFloat) else math.trunc(a)  # type: ignore[arg-type]


@overridable
def sym_float(a: Any) -> Any:
    """Return a number as a float; symbolic if it is (``torch.sym_float``)."""
    return as_float(a)


@overridable
def sym_not(a: Any) -> Any:
    """Return the opposite of a condition, without asking for its value if it is symbolic (``torch.sym_not``)."""
    return a.__sym_not__() if hasattr(a, "__sym_not__") else not a


@overridable
def sym_max(a: Any, b: Any) -> Any:
    """Return the larger of two numbers, a float if one of them is (``torch.sym_max``)."""
    return _extreme(max, "__sym_max__", a, b)


@overridable
def sym_min(a: Any, b: Any) -> Any:
    """Return the smaller of two numbers, a float if one of them is (``torch.sym_min``)."""
    return _extreme(min, "__sym_min__", a, b)


def _extreme(of_numbers: Callable[..., Any], method: str, a: Any, b: Any) -> Any:
    if isinstance(a, (SymInt, SymFloat)):
        return getattr(a, method)(b)
    if isinstance(b, (SymInt, SymFloat)):  # the same in both orders
        return getattr(b, method)(a)
    found = of_numbers(a, b)
    return float(found) if any(isinstance(number, FLOATS) for number in (a, b)) else found


@overridable
def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """Return ``t`` or ``f`` by a condition, without asking for its value if it is symbolic (``torch.sym_ite``)."""
    if isinstance(b, SymBool):
        return b.__sym_ite__(t, f)
    return t if b else f


@overridable
def sym_sum(args: Any) -> Any:
    """Return the sum of many integers, made at once if some are symbolic (``torch.sym_sum``)."""
    first = next((arg for arg in args if isinstance(arg, SymInt)), None)
    if first is None:
        return sum(args)
    node = first.node
    return SymInt(node.sym_sum([arg.node if isinstance(arg, SymInt) else node.wrap_int(int(arg)) for arg in args]))


def _of_math(name: str) -> Any:
    def function(a: Any) -> Any:
        if isinstance(a, (SymInt, SymFloat)):
            return getattr(a, f"__sym_{name}__")()
        return getattr(math, name)(a)

    function.__name__ = function.__qualname__ = f"_sym_{name}"
    function.__doc__ = f"Return ``math.{name}`` of a number, symbolic if it is (``torch._sym_{name}``)."
    return overridable(function)


_sym_acos, _sym_asin, _sym_atan, _sym_cos, _sym_cosh, _sym_log2, _sym_sin, _sym_sinh, _sym_sqrt, _sym_tan, _sym_tanh = (
    map(_of_math, ("acos", "asin", "atan", "cos", "cosh", "log2", "sin", "sinh", "sqrt", "tan", "tanh")))
sym_sqrt = _sym_sqrt
