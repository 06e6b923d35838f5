"""Calls of the dispatcher by their causes: lines of the program, nodes of a backward pass, steps of optimizers."""
from __future__ import annotations

import linecache
import os
import reprlib
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import count, groupby
from typing import Any, NamedTuple, TypeVar

from .._autograd.node import Node
from .._base.call_site import PACKAGE
from .._base.interrupts import contextmanager
from .._dispatch.observers import DispatchEvent, TensorMeta, Trace, tracing
from .libraries import libraries, watching
from .pytorch import asked
from .repeats import repeats, span

OPTIM = os.path.join(PACKAGE, "optim", "")
ENGINE = os.path.join(PACKAGE, "_autograd", "engine.py")
T = TypeVar("T")
_calls = count(1)
_warm: set[Hashable] = set()  # the kernels that a trace has seen at work


class Asked(NamedTuple):
    """What asked for an operator besides a line of the program: ``backward``, and there a ``node`` by its name, or
    ``step of Adam``; both '' in a forward pass. The node is '' where gradients from several nodes add up, unless one
    adds its part.
    """

    part: str = ""
    node: str = ""


class ModuleCall(NamedTuple):
    """A call of a module: its ``number``, the module's path from the outermost one, its name in the module above."""

    number: int
    path: str
    name: str
    kind: str


@dataclass
class AskedTrace(Trace):
    """A trace, and what asked for its events, by their sequence numbers; ``first`` are the numbers of those that were
    the first calls of their kernels that a trace of this process saw. They take longer than later ones do. ``modules``
    are those that were running, outermost first.
    """

    asked: dict[int, Asked] = field(default_factory=dict)
    first: set[int] = field(default_factory=set)
    modules: dict[int, tuple[ModuleCall, ...]] = field(default_factory=dict)
    running: list[ModuleCall] = field(default_factory=list, repr=False)
    paths: dict[int, str] = field(default_factory=dict, repr=False)

    def entered(self, module: Any, args: tuple[Any, ...]) -> None:
        """Note that a module is called."""
        if not self.running:
            self.paths = {id(inner): path for path, inner in module.named_modules()}
        path, outer = self.paths.get(id(module), ""), self.running[-1].path if self.running else ""
        self.running.append(ModuleCall(next(_calls), path, path.removeprefix(f"{outer}.") if outer else path,
                                       type(module).__name__))

    def left(self, module: Any, args: tuple[Any, ...], result: Any) -> None:
        """Note that a module's call has ended."""
        if self.running:
            self.running.pop()

    def note(self, event: DispatchEvent) -> None:
        super().note(event)
        self.modules[event.sequence] = tuple(self.running)
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


@dataclass(frozen=True)
class ModuleEvents:
    """Operators of a module, or of ``times`` equal modules in a row; ``parts`` are the first one's."""

    label: str
    kind: str
    events: tuple[DispatchEvent, ...]
    parts: tuple[ModuleEvents | DispatchEvent, ...]
    times: int = 1


@contextmanager
def watch_dispatch() -> Iterator[AskedTrace]:
    """Record this thread's dispatched calls in a block, as ``observe`` does, with their callers."""
    found = AskedTrace()
    with ExitStack() as block:
        for library in libraries():
            block.enter_context(library.modules(found))
        yield block.enter_context(tracing(found, watching))


def by_module(events: Iterable[DispatchEvent], modules: Mapping[int, tuple[ModuleCall, ...]], depth: int = 0
              ) -> tuple[ModuleEvents | DispatchEvent, ...]:
    """Group calls, in their order, by the modules that were running, from a depth of these on; equal ones as one."""
    found: list[ModuleEvents | DispatchEvent] = []
    for call, group in groupby(events, key=lambda event: modules.get(event.sequence, ())[depth : depth + 1]):
        inner = tuple(group)
        found += [ModuleEvents(call[0].name or call[0].kind, call[0].kind, inner, by_module(inner, modules, depth + 1))
                  ] if call else inner
    result: list[ModuleEvents | DispatchEvent] = []
    keys = [(item.kind, *map(_key, item.events)) if isinstance(item, ModuleEvents) else (item.sequence,)
            for item in found]
    for start, period, times in repeats(keys, least=2):
        run = [item for item in found[start : start + period * times] if isinstance(item, ModuleEvents)]
        if times == 1 or period > 1 or not run:
            result += found[start : start + period * times]
        else:
            result.append(replace(run[0], label=span([item.label for item in run]), times=times,
                                  events=tuple(event for item in run for event in item.events)))
    return tuple(result)


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
                adds = code.co_name == "add_part"  # the engine adds what the node would have returned
                return Asked("backward", frame.f_locals["node"].name()) if adds else Asked("backward")
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
    return event.op, event.depth, event.path, event.error, types, event.moves


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
