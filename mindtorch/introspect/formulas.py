"""Derivatives as formulas: the source of the very row of the table that a node computes with, made readable."""
from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

from .._autograd.derivative import OperatorNode, callable_of
from .._dispatch.registry import Operator

SIGNS: dict[str, ast.operator] = {"mul": ast.Mult(), "div": ast.Div(), "add": ast.Add(), "sub": ast.Sub()}
COMPLEX = {"grad._dtype.is_complex", "grad.is_complex()", "grad.is_complex() and (not self_dtype.is_complex)"}
Numbers = frozenset[tuple[str, bool]]
REAL = {"conj", "complex_conj"}  #: functions that leave real numbers as they are


def formulas_of(node: OperatorNode) -> Iterator[tuple[str, str]]:
    """Yield for each input of a node that needs a gradient its name, or several names, and the gradient's formula.

    In it ``grad`` is the gradient that arrives, ``grads`` those of all outputs; other names are inputs and outputs of
    the operator. For real numbers it has no conjugates, and no factor that is 1.
    """
    is_real = not any(output is not None and output[1].is_complex for output in node._outputs)
    kept = zip(node.plan.names, node.saved or (), strict=False)
    numbers = frozenset((name, value == 1) for name, value in kept if type(value) in (int, float))
    names = node.derivative.names
    computed = ((where if isinstance(where, tuple) else (where,), formula) for where, formula, _ in node.plan.formulas)
    for where, formula in sorted(computed, key=lambda one: one[0]):
        inputs = ", ".join(names[i] for i in where)
        yield inputs, formula_text(_origin(node, inputs, formula), is_real, numbers)


def _origin(node: OperatorNode, inputs: str, formula: Any) -> Any:
    """Return the formula as written in the row, with operators in place of their kernels."""
    row = node.derivative.row
    written = {} if row is None else row.formulas
    return written.get(node.derivative.keys.get(inputs.partition(",")[0], ""), formula)


@lru_cache(512)
def formula_text(formula: Any, is_real: bool = True, numbers: Numbers = frozenset()) -> str:
    """Return the last expression that a function returns, or its call if it does more than that."""
    function, given = callable_of(formula)
    names = ", ".join(given)
    if isinstance(formula, Operator):
        return f"{formula.packet}({names})"
    found = _expression(function.__code__)
    if found is None:
        return f"{function.__name__}({names})" if function.__name__.isidentifier() else f"a function of {names}"
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    known = {name: _name(cell.cell_contents) for name, cell in cells}
    readable = _Readable(known, is_real, dict(numbers))
    text = readable.of(found)
    inlined = _inlined(found, function.__globals__, readable)
    return inlined if inlined and len(inlined) <= len(text) else text


def _name(outside: Any) -> str:
    """Name an object that a formula captures."""
    return outside.packet if isinstance(outside, Operator) else getattr(outside, "__name__", None) or repr(outside)


def _inlined(found: ast.expr, namespace: dict[str, Any], readable: _Readable) -> str:
    """Return the body of a function that an expression calls with names and constants, or ''."""
    if not (isinstance(found, ast.Call) and isinstance(found.func, ast.Name) and not found.keywords
            and all(isinstance(given, (ast.Name, ast.Constant)) for given in found.args)):
        return ""
    called = namespace.get(found.func.id)
    inner = _expression(called.__code__) if isinstance(called, FunctionType) else None
    if inner is None or not isinstance(called, FunctionType):
        return ""
    code, defaults = called.__code__, called.__defaults__ or ()
    names = code.co_varnames[:code.co_argcount]
    given = dict(zip(names[len(names) - len(defaults):], map(repr, defaults), strict=True))
    given.update(zip(names, map(ast.unparse, found.args), strict=False))
    return _Readable(given, readable.is_real, readable.numbers).of(inner)


class _Readable(ast.NodeTransformer):
    """Writes what a formula has from outside in place of the names there; leaves out what only complex numbers need,
    and factors that are 1. ``numbers`` says of those that a node has kept whether they are 1.
    """

    def __init__(self, known: dict[str, str], is_real: bool, numbers: dict[str, bool]):
        self.known, self.is_real, self.numbers = known, is_real, numbers

    def of(self, found: ast.expr) -> str:
        """Rewrite an expression for reading."""
        return ast.unparse(self.visit(ast.parse(ast.unparse(found), mode="eval").body))

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.parse(self.known.get(node.id, node.id), mode="eval").body

    def _is_one(self, node: ast.expr) -> bool | None:
        """Return True if an expression is 1; None if that is not known."""
        if isinstance(node, ast.Constant):
            return bool(node.value == 1)
        return self.numbers.get(node.id) if isinstance(node, ast.Name) else None

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        return node.left if isinstance(node.op, ast.Mult) and self._is_one(node.right) else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if self.is_real and name in REAL:
            return node.args[0]
        if name == "scaled" and len(node.args) == 2 and (self.is_real or self._is_one(node.args[1])):
            return node.args[0] if self._is_one(node.args[1]) else ast.BinOp(node.args[0], ast.Mult(), node.args[1])
        if name == "product" and len(node.args) == 4:
            return ast.BinOp(_turned(node.args[0], node.args[2]), ast.MatMult(), _turned(node.args[1], node.args[3]))
        if name in SIGNS and len(node.args) == 2 and not node.keywords:
            return ast.BinOp(node.args[0], SIGNS[name], node.args[1])
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        asks = ast.unparse(node.test)
        is_same = ast.unparse(node.body) == ast.unparse(node.orelse)
        test = node.test
        if isinstance(test, ast.Compare) and ast.unparse(test.comparators[0]) == "1":
            # of a number that is not known the general formula holds, too
            return node.body if bool(self._is_one(test.left)) == isinstance(test.ops[0], ast.Eq) else node.orelse
        if asks in COMPLEX and not is_same:
            return node.orelse if self.is_real else node.body
        return node.orelse if is_same else node


def _turned(matrix: ast.expr, is_transposed: ast.expr) -> ast.expr:
    """Return a factor of ``product``, transposed if its flag is set."""
    return ast.Attribute(matrix, "T") if ast.unparse(is_transposed) == "True" else matrix


def _expression(code: CodeType) -> ast.expr | None:
    """Return the expression of a function that only returns, after early returns for special cases; else None."""
    tree = _parsed("".join(linecache.getlines(code.co_filename)))
    starts = [(line, column) for line, _, column, _ in code.co_positions() if line and column]
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda) and node.lineno == code.co_firstlineno:
            first, last = (node.body.lineno, node.body.col_offset), (node.body.end_lineno, node.body.end_col_offset)
            if all(first <= start < last for start in starts):
                return node.body
        elif isinstance(node, ast.FunctionDef) and node.name == code.co_name and node.lineno == code.co_firstlineno:
            body = node.body[1:] if ast.get_docstring(node) else node.body
            *cases, end = body
            is_known = all(isinstance(case, ast.If) and isinstance(case.body[-1], ast.Return) for case in cases)
            return end.value if is_known and isinstance(end, ast.Return) else None
    return None


@lru_cache(64)
def _parsed(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError:  # of a cell with magics
        return ast.Module([], [])
