"""Solve a comparison for one of its parts (``torch.utils._sympy.solve``)."""
from __future__ import annotations

from typing import Any

import sympy

from .functions import FloorDiv

#: A comparison with its sides exchanged, as multiplying by a negative number does.
MIRRORED = {sympy.Eq: sympy.Eq, sympy.Ne: sympy.Ne, sympy.Lt: sympy.Gt, sympy.Gt: sympy.Lt, sympy.Le: sympy.Ge,
            sympy.Ge: sympy.Le}


def try_solve(expr: Any, thing: Any, floordiv_inequality: bool = True) -> tuple[Any, Any] | None:
    """Return a comparison as ``thing REL rest``, with the rest; None if it is not linear in ``thing`` with a number as
    the factor (``torch.utils._sympy.solve.try_solve``).
    """
    relation = type(expr)
    if relation not in MIRRORED:
        return None
    difference = sympy.expand(expr.lhs - expr.rhs)
    factor, rest = sympy.S.Zero, sympy.S.Zero
    for term in difference.args if difference.is_Add else (difference,):
        number, remaining = term.as_coeff_Mul()
        if remaining == thing:
            factor += number
        elif remaining.has(thing):
            return None
        else:
            rest += term
    if factor.is_zero:
        return None
    if factor.is_negative:
        relation = MIRRORED[relation]
    other = sympy.expand(-rest / factor)
    return relation(thing, other, evaluate=False), other


def integral(expr: Any) -> bool:
    """Return True if an expression is an integer for all values of its symbols, term by term."""
    return bool(expr.is_integer) and all(part.is_integer is not False for part in sympy.preorder_traversal(expr)
                                         if not isinstance(part, FloorDiv))
