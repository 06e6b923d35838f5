"""The user's functions as lists: lines of source, and instructions of bytecode with the lines that they belong to."""
from __future__ import annotations

import ast
import dis
import linecache
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from .._base.call_site import cell_of

Place = tuple[str, int]  #: a file and the number of a line
HIDDEN = {"RESUME", "CACHE", "NOP", "MAKE_CELL", "COPY_FREE_VARS", "EXTENDED_ARG", "PRECALL"}
LONGEST = 80  #: lines of one function


def is_users_file(file: str, libraries: tuple[str, ...]) -> bool:
    """Return whether a file holds the user's code: it is a cell, or neither a library's nor generated."""
    return cell_of(file) is not None or not file.startswith((*libraries, "<"))


@dataclass(frozen=True)
class Listing:
    """A function, or a statement outside of functions: its name, its file, its numbered lines, and its code."""

    name: str
    file: str
    lines: tuple[tuple[int, str], ...]
    code: types.CodeType | None = None


def code_of(function: Any) -> types.CodeType | None:
    """Return the code of a function, a method, or a module's ``forward``; None if it has none in Python."""
    function = getattr(function, "forward", function)
    return getattr(getattr(function, "__func__", function), "__code__", None)


def listings_of(places: Iterable[Place], codes: list[Any]) -> list[Listing]:
    """Return the functions and statements that hold some lines; those of ``codes``, which were compiled, come first."""
    wanted = [(code.co_filename, code.co_firstlineno) for code in codes]
    found: dict[tuple[str, int, int], Listing] = {}
    trees: dict[str, ast.Module | None] = {}
    for file, line in [*wanted, *places]:
        if not file or not line:
            continue
        text = linecache.getlines(file)
        if file not in trees:
            trees[file] = _parsed(text)
        tree = trees[file]
        node = None if tree is None else _around(tree, line)
        start, end = (line, line) if node is None else _extent(node)
        if (file, start, end) in found or not text:
            continue
        body = [one.rstrip("\n") for one in text[start - 1:min(end, start + LONGEST)]]
        indent = min((len(one) - len(one.lstrip()) for one in body if one.strip()), default=0)
        lines = tuple((start + number, one[indent:]) for number, one in enumerate(body))
        name = node.name if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else ""
        own = next((code for code in codes if code.co_filename == file and start <= code.co_firstlineno <= end
                    and (not name or code.co_name == name)), None)
        code = own or _code_in(text, file, name, start, end)
        found[file, start, end] = Listing(name or _title(file), file, lines, code)
    return [*found.values()]


def _title(file: str) -> str:
    cell = cell_of(file)
    return f"cell {cell}" if cell is not None else PurePath(file).name


def _parsed(lines: list[str]) -> ast.Module | None:
    try:
        return ast.parse("".join(lines))
    except SyntaxError:  # a magic in the cell
        return None


def _around(tree: ast.Module, line: int) -> ast.stmt | None:
    """Return the innermost function with a line, or else the statement."""
    best: ast.stmt | None = next((node for node in tree.body if node.lineno <= line <= (node.end_lineno or 0)), None)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            start, end = _extent(node)
            inner = not isinstance(best, (ast.FunctionDef, ast.AsyncFunctionDef)) or start >= _extent(best)[0]
            if start <= line <= end and inner:
                best = node
    return best


def _extent(node: ast.stmt) -> tuple[int, int]:
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)]), node.end_lineno or node.lineno


def _code_in(lines: list[str], file: str, name: str, start: int, end: int) -> types.CodeType | None:
    """Return the code of a function in a file, compiled from its source as Python compiled it."""
    if not name:
        return None
    try:
        stack = [compile("".join(lines), file, "exec", dont_inherit=True)]
    except SyntaxError:
        return None
    while stack:
        code = stack.pop()
        if code.co_name == name and start <= code.co_firstlineno <= end:
            return code
        stack += [one for one in code.co_consts if isinstance(one, types.CodeType)]
    return None


def instructions_of(listing: Listing) -> Iterator[tuple[int, str]]:
    """Yield the instructions of a function with the numbers of their lines, without those that do no work."""
    if listing.code is None:
        return
    line = 0
    for one in dis.get_instructions(listing.code):
        where = one.positions.lineno if one.positions is not None else None
        line = where or line
        if one.opname not in HIDDEN:
            yield line, f"{one.opname} {one.argrepr}".rstrip()
