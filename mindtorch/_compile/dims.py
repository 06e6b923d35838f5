"""Sizes that change from call to call, in graphs and the text of programs: numbers that know how they are computed."""
from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .._base.symbolic import SymInt
from .breaks import CannotCompile
from .graph import Graph, Step, Value


class Dim(int):
    """A size that is a symbol, or computed of symbols. Where a graph's form is chosen it is the number of the example;
    it equals only what is computed alike, and is printed as Python that computes it.
    """

    expr: Any  #: sympy's
    text: str

    def __new__(cls, hint: int, expr: Any) -> Any:
        """Return a size, or a number if the expression is one."""
        if expr.is_number:
            return int(expr)
        made = super().__new__(cls, hint)
        printed = printed_as_python(expr)
        made.expr, made.text = expr, printed if printed.isidentifier() else f"({printed})"
        return made

    def __eq__(self, other: object) -> bool:
        return other.__class__ is Dim and self.expr == other.expr and int(self) == int(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.expr)

    def __repr__(self) -> str:
        return self.text

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return self.text

    def __add__(self, other: Any) -> Any:
        return combined(operator.add, operator.add, self, other)

    def __radd__(self, other: Any) -> Any:
        return combined(operator.add, operator.add, other, self)

    def __sub__(self, other: Any) -> Any:
        return combined(operator.sub, operator.sub, self, other)

    def __rsub__(self, other: Any) -> Any:
        return combined(operator.sub, operator.sub, other, self)

    def __mul__(self, other: Any) -> Any:
        return combined(operator.mul, product_of, self, other)

    def __rmul__(self, other: Any) -> Any:
        return combined(operator.mul, product_of, other, self)

    def __floordiv__(self, other: Any) -> Any:
        return combined(operator.floordiv, quotient_of, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return combined(operator.floordiv, quotient_of, other, self)

    def _refuse(self, *others: Any) -> Any:
        """Raise CannotCompile: the result would be that of the example's number."""
        raise CannotCompile(f"the size {self.text} would become a number")

    __mod__ = __rmod__ = __divmod__ = __rdivmod__ = __pow__ = __rpow__ = __truediv__ = __rtruediv__ = _refuse
    __neg__ = __float__ = _refuse


def combined(of_numbers: Callable[[Any, Any], Any], of_expressions: Callable[[Any, Any], Any], first: Any,
             second: Any) -> Any:
    """Compute a function of two sizes."""
    if not isinstance(first, int) or not isinstance(second, int):
        return NotImplemented
    return Dim(of_numbers(int(first), int(second)), of_expressions(expression_of(first), expression_of(second)))


def expression_of(size: int) -> Any:
    from sympy import Integer  # which takes long to import

    return size.expr if size.__class__ is Dim else Integer(int(size))


def product_of(first: Any, second: Any) -> Any:
    from sympy import expand

    return expand(first * second)


def quotient_of(first: Any, second: Any) -> Any:
    """Return a quotient that is whole for any sizes, or is rounded down."""
    from sympy import Poly, cancel

    from ..utils._sympy.functions import FloorDiv
    ratio = cancel(first / second)
    if ratio.is_number:
        return ratio if ratio.is_integer else FloorDiv(first, second)
    is_whole = ratio.is_polynomial() and all(one.is_integer for one in Poly(ratio).coeffs())
    return ratio if is_whole else FloorDiv(first, second)


def printed_as_python(expr: Any) -> str:
    from ..fx.experimental.size_guards import GuardPrinter  # which imports sympy

    text: str = GuardPrinter({}).doprint(expr)
    return text


# -- sizes in graphs ---------------------------------------------------------------------------------------------------

def sized(value: Any) -> Any:
    """Return a traced size as a number or a ``Dim``; another value as it is.

    Raises:
        CannotCompile: for a size that no example has, since data decides it, or that is 0 or 1 in the example, which
            are sizes of their own.
    """
    if value.__class__ is not SymInt:
        return value
    node = value.node
    if node.hint is None:
        raise CannotCompile(f"data decides the size {value}")
    if node.hint < 2 and not node.expr.is_number:
        raise CannotCompile(f"the size {value} is {node.hint}")
    return Dim(int(node.hint), node.expr)


def has_dims(value: Any) -> bool:
    """Return whether a value, or one in a list or tuple of them, is a ``Dim`` or has one in its layout."""
    kind = value.__class__
    if kind is list or kind is tuple:
        return any(map(has_dims, value))
    return kind is Dim or (kind is Value and has_dims((*value.shape, *value.stride, value.offset)))


def is_sized(step: Step) -> bool:
    """Return whether a step's results depend on symbols, in their layout or otherwise."""
    return has_dims(step.args) or has_dims(step.outputs)


def symbols_of(text: str, symbols: Iterable[str]) -> list[str]:
    """Return the symbols that a text names."""
    return [name for name in symbols if re.search(rf"\b{name}\b", text)]


def places_of(graph: Graph) -> dict[str, tuple[Value, int]]:
    """Return for each symbol an input and its dimension of that size."""
    found: dict[str, tuple[Value, int]] = {}
    for value in graph.inputs:
        for d, size in enumerate(value.shape):
            if size.__class__ is Dim and size.text.isidentifier():
                found.setdefault(size.text, (value, d))
    return found


def named_in(graph: Graph) -> set[str]:
    """Return the symbols that a graph's steps and values are computed of."""
    return {str(symbol) for dim in dims_in(graph) for symbol in dim.expr.free_symbols}


def dims_in(graph: Graph) -> Iterator[Dim]:
    stack: list[Any] = [*graph.inputs, *graph.outputs, *[value for pair in graph.writes for value in pair],
                        *[one for step in graph.steps for one in (step.args, step.outputs)]]
    while stack:
        one = stack.pop()
        if one.__class__ in (list, tuple):
            stack.extend(one)
        elif one.__class__ is Value:
            stack += *one.shape, *one.stride, one.offset
        elif one.__class__ is Dim:
            yield one


def evaluated(value: Any, sizes: dict[str, int]) -> Any:
    """Return a layout with numbers in place of what is computed of symbols."""
    kind = value.__class__
    if kind is tuple:
        return tuple([evaluated(one, sizes) for one in value])
    return eval(value.text, dict(sizes)) if kind is Dim else value
