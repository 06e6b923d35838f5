"""How a cure is put into the statement that failed: seen from its form, and from what it shares with what was written.

``x.flatten(1)`` takes the place of ``x``, ``F.mse_loss(a, b)`` that of the failing call, ``nn.Linear(3, 2)`` that of
the layer that was called, ``lr=0.1`` that of an argument; ``m.eval()`` stands before the statement.
"""
from __future__ import annotations

import ast
import copy
import inspect
import linecache
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType, TracebackType
from typing import Any

from .expressions import positions

RESULT = "_result_of_the_trial"
KEYWORD = re.compile(r"^(\w+)=(?!=)(\S.*)$", re.DOTALL)
WRITTEN = (ast.Name, ast.Attribute, ast.Subscript, ast.Call)  #: what a cure can take the place of


@dataclass(frozen=True)
class Edit:
    """Statements to run; what the last one computes is the result. ``shown`` are those that differ, if not all do."""

    body: tuple[ast.stmt, ...]
    shown: tuple[ast.stmt, ...] = ()

    @property
    def text(self) -> str:
        """The statements as source."""
        return "\n".join(ast.unparse(ast.fix_missing_locations(part)) for part in self.shown or self.body)

    def run(self, space: dict[str, Any]) -> Any:
        """Run the statements, and return what the last one computes."""
        *before, last = self.body
        if isinstance(last, (ast.Expr, ast.Assign)):
            targets = last.targets if isinstance(last, ast.Assign) else []
            last = ast.Assign([ast.Name(RESULT, ast.Store()), *targets], last.value)
        module = ast.fix_missing_locations(copy.deepcopy(ast.Module([*before, last], [])))
        exec(compile(module, "<trial>", "exec"), space)
        return space.get(RESULT)


@dataclass(frozen=True)
class Place:
    """The statement that failed, and the piece of it that did; ``space`` are the names that it sees."""

    statement: ast.stmt
    piece: ast.AST
    around: ast.AST | None  #: what the piece is a direct part of
    space: Mapping[str, Any]

    @classmethod
    def of(cls, trace: TracebackType, space: Mapping[str, Any]) -> Place | None:
        """Find the place that a frame was running; None without its source."""
        place, tree = positions(trace), source_of(trace)
        if tree is None or None in place:
            return None
        found: list[tuple[ast.stmt, ast.AST, ast.AST | None]] = []

        def search(node: ast.AST, statement: ast.stmt | None, around: ast.AST | None) -> None:
            statement = node if isinstance(node, ast.stmt) else statement
            if statement is not None and position(node) == place:
                found.append((statement, node, around))
            if isinstance(node, ast.Lambda) and trace.tb_frame.f_code.co_name == "<lambda>":
                statement = ast.Expr(node.body)
            for child in ast.iter_child_nodes(node):
                search(child, statement, node)

        search(tree, None, None)
        read = [each for each in found if isinstance(each[1], ast.expr) and not is_target(each[1])]
        for statement, piece, around in [*read[:1], *((each[0], each[0], None) for each in found[:1])]:
            if (run := _runnable(statement)) is not None:
                return cls(run, run if piece is statement else piece, around, space)
        return None

    @property
    def again(self) -> Edit:
        """The statement as it stands."""
        return Edit((self.statement,))

    def variables(self, tree: ast.AST) -> set[str]:
        """Return the names in a tree that do not stand for a module of Python's."""
        return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)
                and not isinstance(self.space.get(node.id), ModuleType)}

    def instead(self, old: ast.AST, new: ast.expr) -> Iterator[Edit]:
        """Put an expression in the place of another one; then in the place of all that are written alike."""
        if old is self.statement:
            yield Edit((ast.Expr(new),))
        elif isinstance(old, ast.expr) and not is_target(old):
            alike = [node for node in ast.walk(self.statement) if isinstance(node, ast.expr) and not is_target(node)
                     and ast.unparse(node) == ast.unparse(old)]
            for nodes in [[old], alike][: 1 + (len(alike) > 1)] if any(node is old for node in alike) else []:
                yield Edit((replaced(self.statement, nodes, new),))


def value(node: ast.expr, space: Mapping[str, Any]) -> Any:
    """Return the value of a name, or of a name in a module; None if it is not known."""
    try:
        return eval(ast.unparse(node), dict(space)) if isinstance(node, (ast.Name, ast.Attribute)) else None
    except Exception:  # whatever reading an attribute may raise
        return None


def source_of(trace: TracebackType) -> ast.Module | None:
    """Parse the file or cell that a frame runs; None if there is none."""
    try:
        return ast.parse("".join(linecache.getlines(trace.tb_frame.f_code.co_filename))) or None
    except SyntaxError:
        return None


def position(node: Any) -> tuple[Any, ...]:
    """Return where a node stands in its file."""
    return tuple(getattr(node, name, None) for name in ("lineno", "end_lineno", "col_offset", "end_col_offset"))


def is_target(node: ast.AST) -> bool:
    """Return True for what is assigned to, or deleted."""
    return isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del))


def replaced(tree: Any, nodes: list[Any], new: ast.AST | list[ast.stmt]) -> Any:
    """Copy a tree with other nodes in the place of some."""

    class Replace(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> Any:
            return copy.deepcopy(new) if id(node) in marked else self.generic_visit(node)

    memo: dict[int, Any] = {}
    made = copy.deepcopy(tree, memo)
    marked = {id(memo[id(node)]) for node in nodes}
    return Replace().visit(made)


def _runnable(statement: ast.stmt) -> ast.stmt | None:
    """Return a statement as one that can be run alone: of a compound one its head, of a return its value."""
    match statement:
        case ast.Return(value=ast.expr()):
            return ast.Expr(statement.value)  # type: ignore[arg-type]
        case ast.If() | ast.While():
            return ast.Expr(ast.Call(ast.Name("bool", ast.Load()), [statement.test], []))
        case ast.For():
            return ast.For(statement.target, statement.iter, [ast.Break()], [])
        case ast.With():
            return ast.With(statement.items, [ast.Pass()])
        case ast.FunctionDef() | ast.ClassDef() | ast.AsyncFunctionDef() | ast.Raise() | ast.Try():
            return None
    return statement


def parse(code: str) -> ast.Module | None:
    """Parse a cure; return None if it is not valid Python, for instance if it has a hole (…)."""
    try:
        return ast.parse(f"dict({code})" if KEYWORD.match(code) else code) if code and "…" not in code else None
    except SyntaxError:
        return None


def edits(place: Place, tree: ast.Module, code: str) -> Iterator[Edit]:
    """Yield the ways in which a cure may be meant, the likeliest first."""
    if keyword := KEYWORD.match(code):
        nodes = (place.piece, place.around, *ast.walk(place.statement))
        yield from (Edit((replaced(place.statement, [node], given),))
                    for node in nodes if isinstance(node, ast.Call)
                    for given in [with_argument(node, keyword[1], tree, value(node.func, place.space))])
    elif len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr):
        yield from _of_expression(place, tree.body[0].value)
    else:
        yield Edit((*tree.body, place.statement))
        if operations(tree) & operations(place.statement):
            yield Edit(tuple(tree.body))


def _of_expression(place: Place, cure: ast.expr) -> Iterator[Edit]:
    parts = [node for node in ast.walk(place.piece) if isinstance(node, ast.expr)]
    called = [place.around] if isinstance(place.around, ast.Call) and place.around.func is place.piece else []
    for node in [*called, *parts]:
        if _alike(cure, node):
            yield from place.instead(node, cure)
    if called and (isinstance(cure, ast.Call) or (isinstance(cure, ast.Attribute) and not called[0].args)):  # no method
        yield from place.instead(called[0], cure)
    whole = getattr(place.piece, "func", getattr(place.piece, "value", None))
    if isinstance(whole, ast.expr) and ast.unparse(whole) == ast.unparse(cure):  # of a call, or a part, too many
        yield from place.instead(place.piece, cure)
    inside = _texts(cure)
    for part in [*parts[1:], *parts[:1]]:
        text = part.value if isinstance(part, ast.Constant) else None
        is_inside = ast.unparse(part) in inside if isinstance(part, WRITTEN) else False
        if is_inside or (isinstance(text, str) and text in ast.unparse(cure)):
            yield from place.instead(part, cure)
    if isinstance(place.piece, ast.Call) and isinstance(cure, ast.Call):
        yield from place.instead(place.piece.func, cure)
    if isinstance(cure, (ast.Constant, ast.UnaryOp)):
        for part in parts:
            if isinstance(part, (ast.Constant, ast.UnaryOp)):
                yield from place.instead(part, cure)
    names = place.variables(cure)
    if place.variables(place.piece) <= names and ast.unparse(cure) not in _texts(place.piece):
        yield from place.instead(parts[0] if parts else place.piece, cure)
    for name in sorted(names & place.variables(place.statement)):
        yield Edit((ast.Assign([ast.Name(name, ast.Store())], cure), place.statement))
    if isinstance(cure, ast.Call):
        yield Edit((ast.Expr(cure), place.statement))


def _alike(cure: ast.expr, node: ast.AST) -> bool:
    """Return True if a cure does what a piece does, otherwise: it calls the same, or is the same operation."""
    if isinstance(cure, ast.Call) and isinstance(node, ast.Call):
        made = cure.func.func if isinstance(cure.func, ast.Call) else cure.func  # of a module: make it, then call it
        ours, theirs = (ast.unparse(function).rpartition(".") for function in (made, node.func))
        return ours[2] == theirs[2] or (bool(ours[0]) and ours[0] == theirs[0])
    if isinstance(cure, ast.BinOp) and isinstance(node, ast.BinOp):
        return type(cure.op) is type(node.op)
    return type(cure) is type(node) and isinstance(cure, (ast.JoinedStr, ast.Compare, ast.UnaryOp, ast.Subscript))


def with_argument(call: ast.Call, name: str, tree: ast.Module, function: Any) -> ast.Call:
    """Return a call with an argument, which ``dict(name=value)`` in a tree names, in the place that it has there."""
    given: ast.expr = tree.body[0].value.keywords[0].value  # type: ignore[attr-defined]
    try:
        at = list(inspect.signature(function).parameters).index(name)
    except (TypeError, ValueError):
        at = len(call.args)
    if at < len(call.args):
        return ast.Call(call.func, [*call.args[:at], given, *call.args[at + 1:]], call.keywords)
    words = [word for word in call.keywords if word.arg != name]
    return ast.Call(call.func, call.args, [*words, ast.keyword(name, given)])


def _texts(tree: ast.AST) -> set[str]:
    """Return the names, attributes, parts and calls in a tree, as written."""
    return {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, WRITTEN)}


def operations(tree: ast.AST) -> set[str]:
    """Return what a tree does: the names that it calls, without the sign of writing in place, its operators, and the
    parts that it assigns to.
    """
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            found.add(ast.unparse(node.func).rpartition(".")[2].rstrip("_"))
        elif isinstance(node, (ast.BinOp, ast.AugAssign)):
            found.add(type(node.op).__name__)
        elif isinstance(node, ast.Subscript) and is_target(node):
            found.add(ast.unparse(node))
    return found
