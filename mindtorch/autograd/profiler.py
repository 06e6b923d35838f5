"""``torch.autograd.profiler``: how often operators were called in a block, and how long they took, from observers."""
from __future__ import annotations

import functools
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Any

from .._base import forks
from .._base.files import replace_text
from .._base.interrupts import leaving, uninterrupted
from .._dispatch.dispatcher import registry
from .._dispatch.keys import CPU
from .._dispatch.local import local
from .._dispatch.observers import DispatchEvent, TensorMeta, subscribe
from .._dispatch.registry import Kernel

_active: tuple[profile, ...] = ()
_lock = forks.lock()


def _time(microseconds: float) -> str:
    """Return a time as PyTorch's tables show it."""
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= size:
            return f"{microseconds / size:.3f}{unit}"
    return f"{microseconds:.3f}us"


@dataclass
class FunctionEvent:
    """A call of an operator, a block named by ``record_function``, or the sum of several. Times are in microseconds;
    ``self`` times exclude inner calls (``torch.autograd.profiler_util.FunctionEvent``).
    """

    key: str
    start: float = 0.0
    cpu_time_total: float = 0.0
    self_cpu_time_total: float = 0.0
    count: int = 1
    thread: int = 0
    input_shapes: list[Any] = field(default_factory=list)
    device_time = device_time_total = self_device_time_total = 0.0  # no other device is timed

    @property
    def name(self) -> str:
        """The operator's name, as ``aten::mm``."""
        return self.key

    @property
    def cpu_time(self) -> float:
        """The mean time of a call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    cpu_time_total_str = property(lambda self: _time(self.cpu_time_total))
    self_cpu_time_total_str = property(lambda self: _time(self.self_cpu_time_total))
    cpu_time_str = property(lambda self: _time(self.cpu_time))


class EventList(list[FunctionEvent]):
    """Events, and the table of them (``torch.autograd.profiler_util.EventList``)."""

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events in microseconds."""
        return sum(event.self_cpu_time_total for event in self)

    def key_averages(self, group_by_input_shape: bool = False, **_: Any) -> EventList:
        """Return the events summed up by name, or by name and shapes of inputs."""
        found: dict[Any, FunctionEvent] = {}
        for event in self:
            key = (event.key, str(event.input_shapes) if group_by_input_shape else "")
            total = found.setdefault(key, FunctionEvent(event.key, count=0, input_shapes=event.input_shapes
                                                        if group_by_input_shape else []))
            total.count += event.count
            total.cpu_time_total += event.cpu_time_total
            total.self_cpu_time_total += event.self_cpu_time_total
        return EventList(found.values())

    def total_average(self) -> FunctionEvent:
        """Return all events as one."""
        return FunctionEvent("Total", 0.0, self.self_cpu_time_total, self.self_cpu_time_total,
                             sum(event.count for event in self))

    def table(self, sort_by: str | None = None, row_limit: int = 100, max_name_column_width: int = 55,
              header: str | None = None, **_: Any) -> str:
        """Return the events as text, ordered by the column ``sort_by``, such as ``cpu_time_total``. Raises
        AttributeError if there is no such column. As in PyTorch, ``cuda`` stands for ``device`` in its name.
        """
        columns = {"cpu_time_total", "self_cpu_time_total", "cpu_time", "device_time_total", "self_device_time_total",
                   "device_time", "count", "key", "start"}
        sort_by = sort_by and sort_by.replace("cuda", "device")
        if sort_by is not None and sort_by not in columns:
            raise AttributeError(f"sort_by={sort_by!r} is none of the columns {', '.join(sorted(columns))}")
        events = self if sort_by is None else sorted(self, key=lambda e: getattr(e, sort_by), reverse=sort_by != "key")
        whole = self.self_cpu_time_total or 1.0
        rows: list[tuple[str, ...]] = [
            ("Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls")]
        limit = max_name_column_width - 3
        rows += [(event.key if len(event.key) < limit else event.key[:limit] + "...",
                  f"{event.self_cpu_time_total / whole:.2%}", event.self_cpu_time_total_str,
                  f"{event.cpu_time_total / whole:.2%}", event.cpu_time_total_str,
                  event.cpu_time_str, str(event.count)) for event in events[:row_limit]]
        shapes = ["Input Shapes", *(str(event.input_shapes) for event in events[:row_limit])]
        if any(event.input_shapes for event in events):
            rows = [(*row, shape) for row, shape in zip(rows, shapes, strict=True)]
        widths = [min(max((len(event.key) for event in events), default=0) + 4, max_name_column_width), *[12] * 6,
                  max((len(shape) for shape in shapes[1:]), default=0) + 4][:len(rows[0])]
        rule = "".join("-" * width + "  " for width in widths)
        lines = ["".join(text.rjust(width) + "  " for text, width in zip(row, widths, strict=True)) for row in rows]
        above = [header] if header else []
        return "\n".join([*above, rule, lines[0], rule, *lines[1:], rule,
                          f"Self CPU time total: {_time(self.self_cpu_time_total)}", ""])

    def __str__(self) -> str:
        return self.table()

    def export_chrome_trace(self, path: str) -> None:
        """Write the events to a file that chrome://tracing and Perfetto open."""
        replace_text(path, json.dumps({"traceEvents": [
            {"name": event.key, "ph": "X", "ts": event.start, "dur": event.cpu_time_total, "pid": "CPU functions",
             "tid": event.thread, "args": {"Input Dims": event.input_shapes}} for event in self]}))


class profile:
    """A block whose operators are counted and timed, also those inside others, in all threads
    (``torch.autograd.profiler.profile``). What concerns other devices, memory and stacks is taken and not recorded.
    """

    def __init__(self, enabled: bool = True, *, record_shapes: bool = False, use_cuda: bool = False,
                 use_device: str | None = None, with_flops: bool = False, profile_memory: bool = False,
                 with_stack: bool = False, with_modules: bool = False, use_kineto: bool = True, use_cpu: bool = True):
        self.enabled, self.record_shapes = enabled, record_shapes
        self._found: list[FunctionEvent] = []
        self._end: Callable[[], None] | None = None
        self._events: EventList | None = None

    def __enter__(self) -> profile:
        global _active
        if self.enabled:
            with uninterrupted(), _lock:
                _active = (*_active, self)
                self._found, self._events = [], None
                self._start = perf_counter_ns()
                self._end = subscribe(self._note)
        return self

    @leaving(lambda block: lambda gone: block.__exit__())
    def __exit__(self, *exc: object) -> None:
        global _active
        if self._end is not None:
            with uninterrupted(), _lock:
                self._end()
                self._end = None
                _active = tuple(active for active in _active if active is not self)

    def _note(self, event: DispatchEvent) -> None:
        shapes = ([list(value.shape) if isinstance(value, TensorMeta) else [] for value in event.inputs]
                  if self.record_shapes else [])
        self._add(f"aten::{event.op.partition('.')[0]}", event.start, event.duration, event.thread, shapes)

    def _add(self, name: str, start: int, duration: int, thread: int, shapes: list[Any]) -> None:
        began, took = (start - self._start) / 1000, duration / 1000
        self._found.append(FunctionEvent(name, began, took, took, 1, thread, shapes))

    @property
    def function_events(self) -> EventList:
        """The events, in the order in which they began.

        Raises:
            RuntimeError: inside the block.
        """
        if self._end is not None:
            raise RuntimeError("Profiler didn't finish running")
        if self._events is None:
            self._events = EventList(sorted(self._found, key=lambda event: (event.start, -event.cpu_time_total)))
            _subtract_children(self._events)
        return self._events

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events in microseconds."""
        return self.function_events.self_cpu_time_total

    def key_averages(self, group_by_input_shape: bool = False, **options: Any) -> EventList:
        """Return the events summed up by name (``torch.autograd.profiler.profile.key_averages``)."""
        return self.function_events.key_averages(group_by_input_shape, **options)

    def total_average(self) -> FunctionEvent:
        """Return all events as one."""
        return self.function_events.total_average()

    def table(self, *args: Any, **options: Any) -> str:
        """Return the events as text."""
        return self.function_events.table(*args, **options)

    def export_chrome_trace(self, path: str) -> None:
        """Write the events to a file that chrome://tracing and Perfetto open."""
        self.function_events.export_chrome_trace(path)

    def __str__(self) -> str:
        return str(self.function_events) if self._end is None else "<unfinished profiler>"

    def __iter__(self) -> Iterator[FunctionEvent]:
        return iter(self.function_events)


def _subtract_children(events: EventList) -> None:
    """Take the times of inner events from the ``self`` times of those around them."""
    around: dict[int, list[FunctionEvent]] = {}
    for event in events:
        stack = around.setdefault(event.thread, [])
        while stack and stack[-1].start + stack[-1].cpu_time_total <= event.start:
            stack.pop()
        if stack:
            stack[-1].self_cpu_time_total -= event.cpu_time_total
        stack.append(event)


def _define(schema: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the entry of an operator of the profiler, which takes no tensor."""
    op = registry.define(schema, frozenset({"operator only"}))
    op.kernels[CPU] = Kernel(function, function, registered=True)
    return op.call


@dataclass
class _Block:
    """A named block that has begun."""

    name: str
    args: str | None = None
    started: int = field(default_factory=perf_counter_ns)

    def end(self) -> None:
        for active in _active:
            active._add(self.name, self.started, perf_counter_ns() - self.started, threading.get_ident(), [])


def _begin(name: str, args: str | None = None) -> _Block:
    return _Block(name, args)


#: How PyTorch begins and ends a block: operators, which a ``TorchDispatchMode`` sees and graphs have.
_enter = _define("profiler::_record_function_enter_new(str name, str? args=None) -> Any", _begin)
_exit = _define("profiler::_record_function_exit._RecordFunction(Any _0) -> None", _Block.end)
_define("profiler::_record_function_enter(str name, str? args=None) -> Any", _begin)
_define("profiler::_record_function_exit(Any _0) -> None", _Block.end)


def is_recording() -> bool:
    """Return whether a profile, or a mode of this thread, sees named blocks."""
    return bool(_active or local.dispatch_modes)


class record_function:
    """A block, or a decorated function, that profiles show under a name (``torch.autograd.profiler``)."""

    _block: _Block
    _end: Callable[[_Block], None]

    def __init__(self, name: str, args: str | None = None):
        self.name, self.args = name, args

    def __enter__(self) -> record_function:
        self._end = _exit if local.dispatch_modes else _Block.end
        self._block = (_enter if local.dispatch_modes else _Block)(self.name, self.args)
        return self

    def __exit__(self, *exc: object) -> None:
        self._end(self._block)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name):
                return function(*args, **kwargs)

        return call


__all__ = ["EventList", "FunctionEvent", "profile", "record_function"]
__dir__ = __all__.copy


class emit_nvtx:
    """Ranges for NVIDIA's profiler, which needs CUDA (``torch.autograd.profiler.emit_nvtx``)."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False):
        self.enabled = enabled

    def __enter__(self) -> emit_nvtx:
        if self.enabled:
            raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")
        return self

    def __exit__(self, *exc: object) -> None:
        pass
