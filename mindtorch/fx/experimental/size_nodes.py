"""The nodes of symbolic numbers in a trace: an input's size for a symbol, and arithmetic for an expression.

They are written where a number is first used, from its expression, so that a trace need not follow each operation.
"""
from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import sympy

from ..._base.symbolic import MATHS, OF_TYPE, SYMBOLIC
from ..._dispatch.overloads import ops
from ..._methods import symbolic
from ..._methods.symbolic import sym_float, sym_ite, sym_max, sym_min, sym_not
from ...utils._sympy import functions

#: Python's function of an expression's parts, by sympy class. Sums and products take their parts two by two.
OPERATIONS: dict[Any, Callable[..., Any]] = {
    sympy.Add: operator.add, sympy.Mul: operator.mul, sympy.Pow: operator.pow, functions.PowByNatural: operator.pow,
    functions.FloatPow: operator.pow,
    functions.FloorDiv: operator.floordiv, functions.CleanDiv: operator.floordiv, functions.Mod: operator.mod,
    functions.PythonMod: operator.mod, functions.IntTrueDiv: operator.truediv,
    functions.FloatTrueDiv: operator.truediv, functions.ToFloat: sym_float, functions.TruncToInt: math.trunc,
    functions.FloorToInt: math.floor, functions.CeilToInt: math.ceil, functions.RoundToInt: round,
    sympy.Max: sym_max, sympy.Min: sym_min, sympy.Eq: operator.eq, sympy.Ne: operator.ne, sympy.Lt: operator.lt,
    sympy.Le: operator.le, sympy.Gt: operator.gt, sympy.Ge: operator.ge, sympy.Not: sym_not,
    sympy.And: operator.and_, sympy.Or: operator.or_, functions.LShift: operator.lshift,
    functions.RShift: operator.rshift, functions.BitwiseFn_bitwise_and: operator.and_,
    functions.BitwiseFn_bitwise_or: operator.or_, functions.BitwiseFn_bitwise_xor: operator.xor,
    **{functions.opaque_unary(name): getattr(symbolic, f"_sym_{name}") for name in MATHS},
}


class SizeNodes:
    """The proxies of one trace's symbolic numbers, by expression."""

    def __init__(self, tracer: Any) -> None:
        self.tracer = tracer
        self._proxies: dict[Any, Any] = {}
        self._places: dict[Any, tuple[Any, Any, int | None]] = {}

    def bind(self, tensor: Any, proxy: Any) -> None:
        """Note the symbols that are sizes, strides or the offset of a tensor, if they are new."""
        numbers = [(ops.aten.sym_size.int, i, n) for i, n in enumerate(tensor.shape)]
        numbers += [(ops.aten.sym_stride.int, i, n) for i, n in enumerate(tensor.stride())]
        for function, place, number in [*numbers, (ops.aten.sym_storage_offset.default, None, tensor.storage_offset())]:
            if number.__class__ in SYMBOLIC and number.node._expr.is_Symbol:
                self._places.setdefault(number.node._expr, (function, proxy, place))
                self._places.setdefault(number.node.expr, (function, proxy, place))

    def track(self, number: Any, proxy: Any) -> None:
        """Note the proxy of a number that a node returns."""
        self._proxies.setdefault(number.node._expr, proxy)
        self._proxies.setdefault(number.node.expr, proxy)

    def find(self, number: Any) -> Any:
        """Return the proxy of a number, after writing the nodes that it needs; None if a symbol is of no input."""
        expr = number.node.expr
        if expr in self._proxies:
            return self._proxies[expr]
        known = self._proxies.keys() | self._places.keys()
        if not expr.free_symbols <= known:
            return None
        return self._of(expr, number.node)

    def _of(self, expr: Any, node: Any) -> Any:
        if expr.is_Integer or expr.is_Float or expr in (sympy.true, sympy.false):
            return bool(expr) if expr in (sympy.true, sympy.false) else int(expr) if expr.is_Integer else float(expr)
        if expr not in self._proxies:
            self._proxies[expr] = self._of_symbol(expr, node) if expr.is_Symbol else self._of_operation(expr, node)
        return self._proxies[expr]

    def _of_symbol(self, symbol: Any, node: Any) -> Any:
        function, proxy, place = self._places[symbol]
        return self._written(function, (proxy, place) if place is not None else (proxy,), symbol, node)

    def _of_operation(self, expr: Any, node: Any) -> Any:
        if isinstance(expr, sympy.Piecewise):
            (value, condition), (other, _) = expr.args
            parts = [self._of(part, node) for part in (condition, value, other)]
            return self._written(sym_ite, tuple(parts), expr, node)
        if expr.is_Mul and expr.args[0] == -1:
            return self._written(operator.neg, (self._of(-expr, node),), expr, node)
        function = OPERATIONS.get(type(expr))
        if function is None:
            raise NotImplementedError(f"no function of Python computes {expr} in a graph")
        parts = [self._of(part, node) for part in expr.as_ordered_terms()] if expr.is_Add else [
            self._of(part, node) for part in expr.args]
        if expr.is_Mul:  # the symbol before the number, as programs write it
            parts.sort(key=lambda part: isinstance(part, (int, float)))
        if len(parts) <= 2:
            return self._written(function, tuple(parts), expr, node)
        return reduce(lambda left, right: self._written(function, (left, right), None, node), parts)

    def _written(self, function: Any, args: tuple[Any, ...], expr: Any, node: Any) -> Any:
        proxy = self.tracer.create_proxy("call_function", function, args, {})
        if expr is not None:
            kind = bool if getattr(expr, "is_Boolean", False) else int if expr.is_integer else float
            proxy.node.meta["val"] = OF_TYPE[kind](type(node)(expr, node.shape_env, kind))
        return proxy
