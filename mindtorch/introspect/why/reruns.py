"""How a cure changes lines that ran before the one that failed: the whole cell is then run again in the copy.

``h = h.detach()`` is put into a loop, ``w = torch.ones(3, requires_grad=True)`` takes the place of the line that made
``w``, ``torch.autograd.grad(y, x, create_graph=True)`` that of the same call, ``super().__init__()`` becomes the first
line of an ``__init__``, ``def __len__`` joins its class.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from .edits import KEYWORD, Edit, replaced, source_of, value, with_argument
from .expressions import positions

LOOPS = (ast.For, ast.While)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
MOST = 6  #: ways at most in which a cure is put into a cell


@dataclass(frozen=True)
class Cell:
    """The statements of a cell or script up to the one in which it failed; ``space`` are the names that it sees."""

    tree: ast.Module
    space: Mapping[str, Any]

    @classmethod
    def of(cls, trace: TracebackType, space: Mapping[str, Any]) -> Cell | None:
        """Return the cell that a module's frame was running; None without its source."""
        tree, line = source_of(trace), positions(trace)[0]
        if tree is None or line is None or trace.tb_frame.f_code.co_name != "<module>":
            return None
        return cls(ast.Module([part for part in tree.body if part.lineno <= line], []), space)

    @property
    def again(self) -> Edit:
        """The cell as it stands."""
        return Edit(tuple(self.tree.body))

    def edits(self, tree: ast.Module, code: str) -> Iterator[Edit]:
        """Yield the ways in which a cure may change the lines that ran before."""
        found = self._changes(tree, code)
        for _, (old, new) in zip(range(MOST), found, strict=False):
            body = tuple(replaced(self.tree, [old], new).body)
            before = {ast.unparse(part) for part in self.tree.body}
            yield Edit(body, tuple(part for part in body if ast.unparse(ast.fix_missing_locations(part)) not in before))

    def _changes(self, tree: ast.Module, code: str) -> Iterator[tuple[Any, Any]]:
        """Yield pairs of a node of the cell, and what takes its place."""
        nodes = list(ast.walk(self.tree))
        cure: Any = tree.body[-1]
        if keyword := KEYWORD.match(code):
            for node in nodes:
                if isinstance(node, ast.Call) and (function := value(node.func, self.space)) is not None:
                    yield node, with_argument(node, keyword[1], tree, function)
            return
        match cure:
            case ast.FunctionDef():
                for node in nodes:
                    if isinstance(node, ast.ClassDef):
                        rest = [part for part in node.body if getattr(part, "name", "") != cure.name]
                        yield node, ast.ClassDef(node.name, node.bases, node.keywords, [*rest, cure], [])
            case ast.Return():
                yield from (_with_body(node, [*node.body, cure]) for node in nodes
                            if isinstance(node, FUNCTIONS) and not isinstance(node.body[-1], ast.Return))
            case ast.Expr() if ast.unparse(cure) == "super().__init__()":
                for node in nodes:
                    if isinstance(node, FUNCTIONS) and node.name == "__init__":
                        rest = [part for part in node.body if "__init__" not in ast.unparse(part)]
                        yield _with_body(node, [cure, *rest])
            case ast.Expr(value=ast.Call(func=called)):
                yield from ((node, cure.value) for node in nodes if isinstance(node, ast.Call)
                            and ast.unparse(node.func) == ast.unparse(called))
                if isinstance(called, ast.Attribute):  # model.requires_grad_(): before the model is called
                    model = ast.unparse(called.value)
                    yield from ((node, [cure, node]) for node in self.tree.body if any(
                        isinstance(part, ast.Call) and ast.unparse(part.func) == model for part in ast.walk(node)))
            case _:
                names = _assigned(cure)
                if names & {ast.unparse(part) for part in ast.walk(getattr(cure, "value", cure))}:
                    for node in nodes:  # h = h.detach(): at an end of a loop, or before it is used
                        if isinstance(node, LOOPS):
                            yield _with_body(node, [*tree.body, *node.body])
                            yield _with_body(node, [*node.body, *tree.body])
                        elif isinstance(node, ast.Assign) and names & _assigned(node):
                            yield node, [*tree.body, node]
                    return
                yield from ((node, tree.body) for node in nodes if isinstance(node, ast.stmt)
                            and not isinstance(node, (ast.With, *LOOPS, *FUNCTIONS, ast.ClassDef, ast.If, ast.Try))
                            and names & _assigned(node) and ast.unparse(node) != ast.unparse(cure))
                yield from (_with_body(node, [*tree.body, *node.body]) for node in nodes if isinstance(node, LOOPS))


def _with_body(node: Any, body: list[ast.stmt]) -> tuple[Any, Any]:
    made = type(node)(**{name: getattr(node, name) for name in node._fields if hasattr(node, name)})
    made.body = body
    return node, ast.copy_location(made, node)


def _assigned(tree: ast.AST) -> set[str]:
    """Return the names and attributes that a statement assigns to, or writes to by a method that works in place."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Assign, ast.AugAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                found |= {ast.unparse(part) for part in
                          (target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target])}
    return found
