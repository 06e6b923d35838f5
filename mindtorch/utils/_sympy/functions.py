"""Python's arithmetic as sympy functions (``torch.utils._sympy.functions``).

Sympy's own division, power and rounding are those of real numbers; these are those of Python's ints and floats, and
are computed as Python computes them once their arguments are numbers. They simplify themselves where a rule holds for
all values.
"""
from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import sympy
from sympy import S
from sympy.core.logic import fuzzy_and
from sympy.printing.precedence import PRECEDENCE

Max, Min = sympy.Max, sympy.Min


def _terms(expr: Any) -> tuple[Any, ...]:
    return expr.args if expr.is_Add else (expr,)


def quotient(expr: Any, divisor: Any) -> Any:
    """Return ``expr / divisor`` if that is an integer for all values of the symbols, else None."""
    found = S.Zero
    for term in _terms(expr):
        part = sympy.cancel(term / divisor) if divisor.free_symbols else term / divisor
        if not part.is_integer or part.as_numer_denom()[1] != 1:
            return None
        found += part
    return found


def common_factor(*exprs: Any) -> Any:
    """Return the product of the factors that all terms of all expressions have in common."""
    coefficients, shared = [], None
    for expr in exprs:
        for term in _terms(expr):
            number, rest = term.as_coeff_Mul()
            if not number.is_Integer:
                return S.One
            coefficients.append(abs(int(number)))
            factors = {base: power for base, power in rest.as_powers_dict().items()
                       if base is not S.One and power.is_Integer and power > 0}
            shared = factors if shared is None else {base: min(power, factors[base])
                                                     for base, power in shared.items() if base in factors}
    return math.gcd(*coefficients) * sympy.prod(base ** power for base, power in (shared or {}).items())


class FloorDiv(sympy.Function):
    """``a // b`` of integers."""

    nargs = (2,)
    is_integer = is_real = True
    precedence = PRECEDENCE["Mul"] - 1

    @property
    def base(self) -> Any:
        """The dividend."""
        return self.args[0]

    @property
    def divisor(self) -> Any:
        """The divisor."""
        return self.args[1]

    @classmethod
    def eval(cls, base: Any, divisor: Any) -> Any:
        """Return the quotient where it is known."""
        if divisor.is_zero:
            raise ZeroDivisionError("division by zero")
        if base.is_zero:
            return S.Zero
        if base.is_Number and divisor.is_Number:
            return sympy.Integer(math.floor(base / divisor))
        if base == divisor:
            return S.One
        if divisor == 1:
            return base
        if divisor == -1:
            return -base
        if isinstance(base, FloorDiv):
            return FloorDiv(base.base, base.divisor * divisor)
        known, rest = S.Zero, S.Zero
        for term in _terms(base):
            part = quotient(term, divisor)
            known, rest = (known, rest + term) if part is None else (known + part, rest)
        if known != 0:
            return known + FloorDiv(rest, divisor)
        factor = common_factor(base, divisor)
        if factor != 1:
            return FloorDiv(sympy.expand(base / factor), sympy.expand(divisor / factor))
        return None

    def _eval_is_nonnegative(self) -> bool | None:
        return True if all(arg.is_nonnegative for arg in self.args) else None

    def _sympystr(self, printer: Any) -> str:
        base, divisor = (printer.parenthesize(arg, PRECEDENCE["Atom"] - 0.5) for arg in self.args)
        return f"({base}//{divisor})"

    _pythoncode = _sympystr


class CleanDiv(FloorDiv):
    """``a // b`` of integers that leave no remainder."""


class _Remainder(sympy.Function):
    nargs = (2,)
    is_integer = True
    precedence = PRECEDENCE["Mul"] - 1

    @classmethod
    def eval(cls, p: Any, q: Any) -> Any:
        """Return the remainder where it is known."""
        if q.is_zero:
            raise ZeroDivisionError("Modulo by zero")
        if p.is_zero or p == q or q == 1 or q == -1:
            return S.Zero
        if p.is_Number and q.is_Number:
            return sympy.Integer(int(p) % int(q))
        if quotient(p, q) is not None:
            return S.Zero
        if p.is_Add and q.is_Number:
            kept = sympy.Add(*[term for term in p.args if quotient(term, q) is None])
            if kept != p and (cls is PythonMod or kept.is_nonnegative):
                return cls(kept, q)
        if isinstance(p, _Remainder) and quotient(p.args[1], q) is not None:
            return cls(p.args[0], q)
        if p.is_nonnegative and (p < q) == True:  # noqa: E712 (sympy's True)
            return p
        return None

    def _eval_is_nonnegative(self) -> bool | None:
        return True if self.args[1].is_positive else None

    def _pythoncode(self, printer: Any) -> str:
        p, q = (printer.parenthesize(arg, PRECEDENCE["Atom"] - 0.5) for arg in self.args)
        return f"({p} % {q})"


class PythonMod(_Remainder):
    """``a % b`` of integers, whose sign is the divisor's."""


class Mod(_Remainder):
    """``a % b`` of integers that are not negative."""

    is_nonnegative = True


def _number(value: Any) -> Any:
    """Return a sympy number as Python's."""
    return bool(value) if value in (S.true, S.false) else int(value) if value.is_Integer else float(value)


def _computed(name: str, function: Callable[..., Any], doc: str, code: str = "", *, integer: bool = False,
              real: bool = True) -> Any:
    """Return a sympy function that is computed once its arguments are numbers.

    ``code`` is the Python expression of a call, with ``{0}``, ``{1}`` for the arguments.
    """

    def evaluate(cls: Any, *args: Any) -> Any:
        if all(arg.is_Number or arg in (S.true, S.false) for arg in args):
            result = function(*map(_number, args))
            return sympy.Integer(result) if integer else sympy.Float(result)
        return None

    def written(self: Any, printer: Any) -> str:
        args = [printer.parenthesize(arg, PRECEDENCE["Atom"] - 0.5) for arg in self.args]
        return code.format(*args) if code else f"{name}({', '.join(args)})"

    return type(name, (sympy.Function,), {
        "__doc__": doc, "__module__": __name__, "eval": classmethod(evaluate), "is_integer": integer or None,
        "is_real": real, "_pythoncode": written})


FloatTrueDiv = _computed("FloatTrueDiv", operator.truediv, "``a / b`` of floats.", "({0} / {1})")
FloatPow = _computed("FloatPow", operator.pow, "``a ** b`` of floats.", "({0} ** {1})")
LShift = _computed("LShift", operator.lshift, "``a << b``.", "({0} << {1})", integer=True)
RShift = _computed("RShift", operator.rshift, "``a >> b``.", "({0} >> {1})", integer=True)
RoundDecimal = _computed("RoundDecimal", round, "``round(a, digits)``.", "round({0}, {1})")
RoundToInt = _computed("RoundToInt", round, "``round(a)``.", "round({0})", integer=True)
TruncToInt = _computed("TruncToInt", math.trunc, "``math.trunc(a)``.", "math.trunc({0})", integer=True)
TruncToFloat = _computed("TruncToFloat", math.trunc, "``float(math.trunc(a))``.", "float(math.trunc({0}))")
FloorToInt = _computed("FloorToInt", math.floor, "``math.floor(a)``.", "math.floor({0})", integer=True)
CeilToInt = _computed("CeilToInt", math.ceil, "``math.ceil(a)``.", "math.ceil({0})", integer=True)
BitwiseFn_bitwise_and = _computed("BitwiseFn_bitwise_and", operator.and_, "``a & b``.", "({0} & {1})", integer=True)
BitwiseFn_bitwise_or = _computed("BitwiseFn_bitwise_or", operator.or_, "``a | b``.", "({0} | {1})", integer=True)
BitwiseFn_bitwise_xor = _computed("BitwiseFn_bitwise_xor", operator.xor, "``a ^ b``.", "({0} ^ {1})", integer=True)


class IntTrueDiv(_computed("IntTrueDiv", operator.truediv, "``a / b`` of integers.", "({0} / {1})")):  # type: ignore[misc]
    """``a / b`` of integers, which is a float."""

    @classmethod
    def eval(cls, base: Any, divisor: Any) -> Any:
        """Return the quotient of numbers."""
        if divisor.is_zero:
            raise ZeroDivisionError("division by zero")
        if base.is_Number and divisor.is_Number:
            return sympy.Float(int(base) / int(divisor))
        return None


class PowByNatural(sympy.Function):
    """``a ** b`` of an integer and one that is not negative."""

    is_integer = True

    @classmethod
    def eval(cls, base: Any, exponent: Any) -> Any:
        """Return sympy's power for an exponent that is a number."""
        return base ** exponent if exponent.is_Integer else None

    def _pythoncode(self, printer: Any) -> str:
        base, exponent = (printer.parenthesize(arg, PRECEDENCE["Atom"] - 0.5) for arg in self.args)
        return f"({base} ** {exponent})"


class ToFloat(sympy.Function):
    """``float(a)`` of an integer."""

    is_real, is_integer = True, None
    nargs = (1,)

    @classmethod
    def eval(cls, number: Any) -> Any:
        """Return the float of a number."""
        return sympy.Float(int(number)) if number.is_Integer else None

    def _pythoncode(self, printer: Any) -> str:
        return f"float({printer.doprint(self.args[0])})"


class IsNonOverlappingAndDenseIndicator(sympy.Function):
    """1 if the sizes and strides (one after the other) are those of a tensor without gaps, else 0."""

    is_integer = True

    @classmethod
    def eval(cls, *args: Any) -> Any:
        """Return the answer where it is known from sizes that are 1 and products that follow on each other."""
        sizes, strides = args[:len(args) // 2], args[len(args) // 2:]
        if len(sizes) == 1:  # a vector: a single element, or elements side by side
            if strides[0] == 1 or sizes[0] == 1:
                return S.One
            return S.Zero if sizes[0].is_Number and strides[0].is_Number and sizes[0] > 1 else None
        expected, rest = S.One, [(size, stride) for size, stride in zip(sizes, strides, strict=True) if size != 1]
        while rest:
            found = next((pair for pair in rest if sympy.expand(pair[1] - expected) == 0), None)
            if found is None:
                return None if fuzzy_and([arg.is_Number for arg in args]) is not True else S.Zero
            rest.remove(found)
            expected = sympy.expand(expected * found[0])
        return S.One


_MATHS: dict[str, Any] = {}


def opaque_unary(name: str) -> Any:
    """Return the function of ``math`` of that name as a sympy function, ``OpaqueUnaryFn_<name>``."""
    if name not in _MATHS:
        _MATHS[name] = _computed(f"OpaqueUnaryFn_{name}", getattr(math, name), f"``math.{name}(a)``.",
                                 f"math.{name}({{0}})")
    return _MATHS[name]


def __getattr__(name: str) -> Any:
    prefix, _, function = name.partition("OpaqueUnaryFn_")
    if not prefix and function and hasattr(math, function):
        return opaque_unary(function)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
