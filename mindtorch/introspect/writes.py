"""Who wrote to a tensor in place: what an observer noted while it was asked to, and what the program's text tells."""
from __future__ import annotations

import ast
import linecache
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePath
from types import CodeType
from typing import Any

from .._dispatch.dispatcher import registry
from .._dispatch.observers import DispatchEvent, TensorMeta, subscribe

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
_end: Callable[[], None] | None = None


def watch_writes(on: bool = True) -> None:
    """Note from now on which line makes every write in place, or stop and forget them.

    It observes every operator, which takes time, and keeps no tensor.
    """
    global _end
    if on and _end is None:
        _end = subscribe(_note)
    elif not on and _end is not None:
        _end()
        _end = None
        _noted.clear()


def watching_writes() -> bool:
    """Whether writes in place are noted."""
    return _end is not None


def _note(event: DispatchEvent) -> None:
    if event.error:
        return
    op = registry[event.op]
    pairs = zip(event.inputs, op.schema.parameters, strict=False)
    found = [(tensor.counter, tensor.version + 1) for given, parameter in pairs
             if parameter.writes and isinstance(given, tuple) for tensor in given]
    if op.is_inplace or op.is_out:
        found += [(tensor.counter, tensor.version) for tensor in event.outputs if isinstance(tensor, TensorMeta)]
    _noted.extend(Write(event.op, *event.site[:2], version, counter) for counter, version in found if counter)


def writes_to(counter: Any, after: int) -> list[Write]:
    """Return the noted writes that led a version counter above ``after``, one per version."""
    found: dict[int, Write] = {}
    below = None
    for write in reversed(_noted):  # a counter that is gone may have had the same identity: its versions are no sequel
        if write.counter != counter or write.version is None:
            continue
        if below is not None and write.version > below:
            break
        below = write.version
        if write.version > after:
            found.setdefault(write.version, write)  # the outermost of nested operators ends last
    return sorted(found.values(), key=lambda write: write.version or 0)


def suspected_writes(names: Iterable[str], codes: Iterable[CodeType]) -> list[Write]:
    """Lines of functions, and, if one is of a notebook, of its cells, that write in place to one of these names. What
    they meant when the lines ran is not known.
    """
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
    """The lines of a function, or of a module."""
    lines = [line for _, _, line in code.co_lines() if line]
    return range(code.co_firstlineno, max(lines, default=0) + 1)


def is_cell(file: str) -> bool:
    """Whether a file is what IPython calls a cell of a notebook or a line that was typed."""
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
