"""What the dispatcher did, by what asked for it: the program's lines, nodes of a backward pass, steps of optimizers."""
from __future__ import annotations

import linecache
import os
import reprlib
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple, TypeVar

from .._autograd.node import Node
from .._base.call_site import PACKAGE
from .._dispatch.observers import DispatchEvent, TensorMeta, Trace, tracing
from .libraries import watching
from .pytorch import asked
from .repeats import repeats

OPTIM = os.path.join(PACKAGE, "optim", "")
ENGINE = os.path.join(PACKAGE, "_autograd", "engine.py")
T = TypeVar("T")
_warm: set[Hashable] = set()  # the kernels that a trace has seen at work


class Asked(NamedTuple):
    """What asked for an operator besides a line of the program: ``backward``, and there a ``node`` by its name, or
    ``step of Adam``; both '' in a forward pass. The node is '' where gradients from several nodes add up.
    """

    part: str = ""
    node: str = ""


@dataclass
class AskedTrace(Trace):
    """A trace, and what asked for its events, by their sequence numbers; ``first`` are the numbers of those that were
    the first calls of their kernels that a trace of this process saw. They take longer than later ones do.
    """

    asked: dict[int, Asked] = field(default_factory=dict)
    first: set[int] = field(default_factory=set)

    def note(self, event: DispatchEvent) -> None:
        super().note(event)
        self.asked[event.sequence] = _asked() or Asked(*asked())
        if (kernel := (event.op, event.file, event.line)) not in _warm:
            _warm.add(kernel)
            self.first.add(event.sequence)


@dataclass(frozen=True)
class EventRun:
    """Calls one after the other; ``again`` are those that followed and are the same, once or several times."""

    events: tuple[DispatchEvent, ...]
    again: tuple[DispatchEvent, ...]


@dataclass(frozen=True)
class NodeCalls:
    """The calls that a node of the graph made, or, if ``node`` is '', that no node did."""

    node: str
    runs: tuple[EventRun, ...]


@dataclass(frozen=True)
class LineCalls:
    """The calls that a line of the program led to; ``part`` is that of ``Asked``, ``text`` the line itself."""

    file: str
    line: int
    text: str
    part: str
    events: tuple[DispatchEvent, ...]
    nodes: tuple[NodeCalls, ...]


@dataclass(frozen=True)
class LineRun:
    """Lines one after the other; ``again`` are those that followed and did the same, as those of a loop do."""

    lines: tuple[LineCalls, ...]
    again: tuple[LineCalls, ...]


def watch_dispatch() -> AbstractContextManager[AskedTrace]:
    """Record this thread's dispatched calls in a block, as ``observe`` does, with their callers."""
    return tracing(AskedTrace(), watching)


def _asked() -> Asked | None:
    """Return the caller of the operator that has just run: mindtorch's innermost node or optimizer among the frames."""
    frame, is_the_librarys = sys._getframe(1), True
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(PACKAGE):
            if code.co_name == "apply" and isinstance(node := frame.f_locals.get("self"), Node):
                return Asked("backward", node.name())
            if is_the_librarys and code.co_name == "step" and code.co_filename.startswith(OPTIM):
                return Asked(f"step of {type(frame.f_locals['self']).__name__}")
            if code.co_filename == ENGINE:
                return Asked("backward")
        else:  # a closure that an optimizer calls is not its own doing
            is_the_librarys = False
        frame = frame.f_back  # type: ignore[assignment]
    return None


def by_line(events: Iterable[DispatchEvent], asked: Mapping[int, Asked] | None = None) -> tuple[LineRun, ...]:
    """Group calls, in their order, by the lines that led to them, and by what else asked for them, if that is known."""
    found = asked or {}

    def asked_for(event: DispatchEvent) -> Asked:
        return found.get(event.sequence, Asked())

    groups = groupby(events, key=lambda event: (*event.site[:2], asked_for(event).part))
    lines = [_line(file, line, part, tuple(group), asked_for) for (file, line, part), group in groups]
    keys = [(line.file, line.line, line.part, *map(_key, line.events)) for line in lines]
    return tuple(LineRun(*parts) for parts in _folded(lines, keys))


def _line(file: str, line: int, part: str, events: tuple[DispatchEvent, ...],
          asked_for: Callable[[DispatchEvent], Asked]) -> LineCalls:
    nodes = []
    for node, group in groupby(events, key=lambda event: asked_for(event).node):
        inner = list(group)
        runs = (EventRun(*parts) for parts in _folded(inner, [_key(event) for event in inner]))
        nodes.append(NodeCalls(node, tuple(runs)))
    return LineCalls(file, line, linecache.getline(file, line).strip(), part, events, tuple(nodes))


def _key(event: DispatchEvent) -> Hashable:
    """Equal for calls that look the same."""
    types = argument_text((event.inputs, event.outputs))
    return event.op, event.depth, event.path, event.error, types


def argument_text(value: Any) -> str:
    """Format an operator's argument or result briefly: ``float32[2, 3]`` for a tensor."""
    if isinstance(value, tuple):
        return f"({', '.join(map(argument_text, value))}{',' * (len(value) == 1)})"
    return str(value) if isinstance(value, TensorMeta) else reprlib.repr(value)


def _folded(items: Sequence[T], keys: Sequence[Hashable]) -> Iterator[tuple[tuple[T, ...], tuple[T, ...]]]:
    """Items, and those after them that repeat them."""
    for start, period, times in repeats(keys):
        rest = start + period
        yield tuple(items[start:rest]), tuple(items[rest : start + period * times])
