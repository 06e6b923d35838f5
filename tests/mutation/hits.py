"""Which statements of some modules run: their functions are compiled with a note before each statement.

That costs what the notes cost and nothing elsewhere, unlike a tracer, which every line of the tests would pay.
"""
from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterable
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType
from typing import Any


class Hits(MetaPathFinder):
    """Finds the modules of these files, to be imported after ``install``; ``lines`` of each are those where a statement
    began that ran since ``clear``.
    """

    def __init__(self, files: Iterable[str]) -> None:
        self.lines: dict[str, set[int]] = {file: set() for file in files}

    def install(self) -> None:
        for i, lines in enumerate(self.lines.values()):
            setattr(builtins, _name(i), lines.add)
        sys.meta_path.insert(0, self)

    def clear(self) -> None:
        for lines in self.lines.values():
            lines.clear()

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path)
        if spec is None or spec.origin not in self.lines:
            return None
        spec.loader = _Loader(name, spec.origin, list(self.lines).index(spec.origin))
        return spec


class _Loader(SourceFileLoader):
    def __init__(self, name: str, path: str, number: int) -> None:
        super().__init__(name, path)
        self.number = number

    def get_code(self, fullname: str) -> CodeType:
        tree = _Noting(self.number).visit(ast.parse(self.get_data(self.path)))
        return compile(ast.fix_missing_locations(tree), self.path, "exec", dont_inherit=True)


class _Noting(ast.NodeTransformer):
    """Puts a call before each statement of a function."""

    def __init__(self, number: int) -> None:
        self.number, self.depth = number, 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if self.depth and not isinstance(node, ast.ClassDef):
            for field in "body", "orelse", "finalbody":
                if isinstance(statements := getattr(node, field, None), list):
                    setattr(node, field, [new for statement in statements for new in self._noted(statement)])
        return node

    def _noted(self, statement: ast.stmt) -> list[ast.stmt]:
        if isinstance(statement, ast.Global | ast.Nonlocal) or _is_text(statement):
            return [statement]
        call = ast.Call(ast.Name(_name(self.number), ast.Load()), [ast.Constant(first_line(statement))], [])
        return [ast.copy_location(ast.Expr(call), statement), statement]


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _name(number: int) -> str:
    return f"__hit_{number}__"


def first_line(statement: ast.stmt) -> int:
    """Where a statement begins, with its decorators."""
    return min([statement.lineno, *(decorator.lineno for decorator in getattr(statement, "decorator_list", ()))])


def statement_at(source: str, line: int) -> tuple[range, bool, bool]:
    """Return the lines of the innermost statement at a line; whether it defines a function; and whether it runs
    when the module is imported.
    """
    around = [statement for statement in ast.walk(ast.parse(source)) if isinstance(statement, ast.stmt)
              and first_line(statement) <= line <= (statement.end_lineno or 0)]
    *outer, innermost = sorted(around, key=first_line)
    lines = range(first_line(innermost), (innermost.end_lineno or 0) + 1)
    return lines, isinstance(innermost, ast.FunctionDef), not any(isinstance(s, ast.FunctionDef) for s in outer)
