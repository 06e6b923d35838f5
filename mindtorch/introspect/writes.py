"""Who wrote to a tensor in place: what an observer noted while it was asked to, and what the program's text tells."""
from __future__ import annotations

import ast
import linecache
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import PurePath
from types import CodeType
from typing import Any

from .._dispatch.observers import DispatchEvent
from .libraries import libraries
from .library import Library

KEPT = 4096  #: writes at most that are remembered


@dataclass(frozen=True)
class Write:
    """A write in place: the operator, the user's file and line, the version that it led to (None if that is not known:
    it is read from the program's text), and which version counter it moved.
    """

    operator: str
    file: str
    line: int
    version: int | None
    counter: int = 0


_noted: deque[Write] = deque(maxlen=KEPT)
_watched: list[Library] = []
_blocks = ExitStack()


def watch_writes(on: bool = True) -> None:
    """Note from now on which line makes every write in place, or stop and forget them.

    It observes every operator of the libraries that are loaded, which takes time, and keeps no tensor. Of PyTorch's,
    those of this thread. Where PyTorch was imported since, another call begins with its operators, too.
    """
    if not on:
        _blocks.close()
        _watched.clear()
        _noted.clear()
        return
    for library in libraries():
        if library not in _watched:
            _blocks.enter_context(library.watching_writes(_note))
            _watched.append(library)


def watching_writes() -> bool:
    """Return True if writes in place are noted."""
    return bool(_watched)


def _note(event: DispatchEvent, written: Sequence[tuple[Any, int]]) -> None:
    if not event.error:
        _noted.extend(Write(event.op, *event.site[:2], version, counter) for counter, version in written)


def writes_to(counter: Any, after: int, now: int) -> list[Write]:
    """Return the noted writes that led a version counter from ``after`` to what it is ``now``, one per version."""
    found: dict[int, Write] = {}
    below = None
    for write in reversed(_noted):  # a counter that is gone may have had the same identity: its versions are no sequel
        if write.counter != counter or write.version is None:
            continue
        if below is not None and write.version > below:
            break
        below = write.version
        if after < write.version <= now:
            found.setdefault(write.version, write)  # the outermost of nested operators ends last
    return sorted(found.values(), key=lambda write: write.version or 0)


def suspected_writes(names: Iterable[str], codes: Iterable[CodeType]) -> list[Write]:
    """Return lines of functions, and of their notebook cells, that write in place to one of these names."""
    ours = set(names)
    spans = {code.co_filename: _span(code) for code in codes}
    if any(map(is_cell, spans)):
        cells = [name for name in linecache.cache if is_cell(name)]
        spans |= {name: range(1, len(linecache.getlines(name)) + 1) for name in cells}
    found: dict[tuple[str, int], Write] = {}
    for file, span in spans.items():
        for line, target, operator in _written("".join(linecache.getlines(file))):
            if target in ours and line in span:
                found[file, line] = Write(operator, file, line, None)
    return list(found.values())


def _span(code: CodeType) -> range:
    """Return the lines of a function or module."""
    lines = [line for _, _, line in code.co_lines() if line]
    return range(code.co_firstlineno, max(lines, default=0) + 1)


def is_cell(file: str) -> bool:
    """Return True if a file name is IPython's for a cell or a typed line."""
    return PurePath(file).parent.name.startswith("ipykernel_") or file.startswith("<ipython-input")


def _written(source: str) -> Iterator[tuple[int, str, str]]:
    """Line, name and operator of every write in place in a program: ``x.add_()``, ``x += 1``, ``x[0] = 1``."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.AugAssign):
            yield node.lineno, _base(node.target), "an assignment with an operator"
        elif isinstance(node, ast.Assign):
            yield from ((node.lineno, _base(t), "an assignment to a part") for t in node.targets
                        if isinstance(t, ast.Subscript))
        elif (isinstance(node, ast.Call) and isinstance(function := node.func, ast.Attribute)
              and function.attr.endswith("_") and not function.attr.endswith("__")):
            yield node.lineno, _base(function.value), f"{function.attr}()"


def _base(node: ast.expr) -> str:
    while isinstance(node, ast.Subscript):
        node = node.value
    return ast.unparse(node)
