"""Mutants of a module: its source with one node of the syntax tree changed.

The node's text alone is replaced, so that every other line keeps its number and its text, which the library shows in
pictures and messages.
"""
from __future__ import annotations

import ast
import copy
import difflib
import functools
import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {  # the boundary moved, and the other way round
    ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.GtE), ast.Gt: (ast.GtE, ast.Lt), ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitAnd,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}
REMOVED = ast.Expr | ast.Assign | ast.AugAssign | ast.Raise | ast.Continue | ast.Break | ast.Delete


@dataclass(frozen=True)
class Mutant:
    """A module with the text of one node replaced."""

    path: str
    source: str
    index: int  #: among the mutants of the module
    start: int  #: of the node, in bytes
    stop: int
    text: str  #: what stands there instead
    lines: range

    @property
    def mutated(self) -> str:
        source = self.source.encode()
        return (source[:self.start] + self.text.encode() + source[self.stop:]).decode()

    @property
    def changed_lines(self) -> list[str]:
        """The lines that are not the same any more, after a minus sign, and what they became, after a plus sign."""
        diff = difflib.unified_diff(self.source.splitlines(), self.mutated.splitlines(), lineterm="", n=0)
        return list(diff)[3:]

    @property
    def around(self) -> str:
        """The changed lines, and the names of the functions and classes around them."""
        names = [node.name for node in ast.walk(ast.parse(self.source))
                 if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
                 and node.lineno <= self.lines.start <= (node.end_lineno or 0)]
        return "\n".join([*names, *self.source.splitlines()[self.lines.start - 1:self.lines.stop - 1]])

    @property
    def diff(self) -> str:
        return "\n".join([f"{self.path}:{self.lines.start}", *self.changed_lines])

    @property
    def change(self) -> tuple[str, str]:
        """The changed lines before and after, without the space around them."""
        before, after = ("\n".join(line[1:].strip() for line in self.changed_lines if line[0] == sign) for sign in "-+")
        return before, after


def mutants(path: str, source: str) -> list[Mutant]:
    """All mutants of a module."""
    starts = [0, *itertools.accumulate(map(len, source.encode().splitlines(keepends=True)))]
    found = []
    for index, (place, other) in enumerate(all_changes(ast.parse(source))):
        assert isinstance(place, ast.stmt | ast.expr) and place.end_lineno and place.end_col_offset is not None
        start, stop = starts[place.lineno - 1] + place.col_offset, starts[place.end_lineno - 1] + place.end_col_offset
        found.append(Mutant(path, source, index, start, stop, text(other), range(place.lineno, place.end_lineno + 1)))
    return found


def draw(top: Path, number: int, seed: int) -> list[Mutant]:
    """Draw mutants of all modules below ``mindtorch``: a line as often as any other, one of its module's mutants."""
    lines = {path: path.read_text().count("\n") for path in sorted(top.glob("mindtorch/**/*.py"))}
    generator, drawn = random.Random(seed), dict[tuple[str, int], Mutant]()
    found = functools.cache(lambda path: mutants(str(path.relative_to(top)), path.read_text()))
    while len(drawn) < number:
        path, = generator.choices(list(lines), list(lines.values()))
        if found(path):
            mutant = generator.choice(found(path))
            drawn[mutant.path, mutant.index] = mutant
    return list(drawn.values())


def text(node: ast.AST) -> str:
    """Return what stands in a node's place, on one line."""
    return ast.unparse(node) if isinstance(node, ast.stmt | ast.Constant) else f"({ast.unparse(node)})"


def all_changes(tree: ast.Module) -> list[tuple[ast.AST, ast.AST]]:
    """List the changes of a module, in the order of its text."""
    return [change for node in walk(tree) for change in changes(node)]


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that run with the module or at import: no annotations, docstrings, ``__all__``, patterns."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "type_comment") or (name == "values" and isinstance(node, ast.JoinedStr)):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not silent(child):
                yield child
                yield from walk(child)


def silent(node: ast.AST) -> bool:
    match node:
        case ast.Expr(value=ast.Constant()) | ast.Import() | ast.ImportFrom():
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")) | ast.Assign(targets=[ast.Name(id="__all__" | "__slots__")]):
            return True
        case ast.pattern():  # where no expression may stand
            return True
    return False


def changes(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Nodes, ``node`` or its condition, and what may stand in their place."""
    match node:
        case ast.Compare(ops=ops):
            for i, op in enumerate(ops):
                for compared in COMPARED[type(op)]:
                    yield node, changed(node, "ops", [*ops[:i], compared(), *ops[i + 1:]])
        case ast.BoolOp(op=op):
            yield node, changed(node, "op", ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in COMPUTED:
            yield node, changed(node, "op", COMPUTED[type(op)]())
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert(), operand=operand):
            yield node, operand
        case ast.Constant(value=bool() | int() | float() | str() as value):
            other = not value if isinstance(value, bool) else value + ("?" if isinstance(value, str) else 1)  # type: ignore[operator]
            yield node, ast.Constant(other)
        case ast.JoinedStr(values=values):
            yield node, changed(node, "values", [*values, ast.Constant("?")])
        case ast.Call(args=args, keywords=keywords):
            for field, given in ("args", args), ("keywords", keywords):
                for i in range(len(given)):
                    yield node, changed(node, field, given[:i] + given[i + 1:])
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            yield value, ast.Constant(None)
    if isinstance(node, REMOVED):
        yield node, ast.Pass()
    for condition in conditions(node):
        yield condition, ast.UnaryOp(ast.Not(), condition)


def conditions(node: ast.AST) -> list[ast.expr]:
    """Those that decide what a node does, but those whose negation is a mutant of their own."""
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) | ast.match_case(guard=ast.expr() as test):
            found = [test]
        case ast.comprehension(ifs=found):
            pass
        case _:
            return []
    return [test for test in found if not isinstance(test, ast.Compare | ast.UnaryOp)]


def changed(node: ast.AST, field: str, value: object) -> ast.AST:
    """Return a node with another value of a field."""
    other = copy.copy(node)
    setattr(other, field, value)
    return other
