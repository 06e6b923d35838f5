"""Records of a pipeline: which operators were recorded where, when the queue ran and why, and failures."""
from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import perf_counter_ns
from types import FrameType
from typing import Any

from .._base.call_site import PACKAGE, call_site
from .._base.interrupts import contextmanager
from .._dispatch.observers import TensorMeta, describe
from .._dispatch.pipeline import Entry, Pipeline
from .._dispatch.registry import Kernel, Operator

#: What methods do that have the queue run; others are called by their names.
REASONS = {"__exit__": "the block ended", "flush": "flush() was called", "__bool__": "a truth value was asked for",
           "__repr__": "a tensor was printed", "__float__": "a number was asked for",
           "__int__": "a number was asked for", "__index__": "a number was asked for",
           "__array__": "NumPy asked for the values", "numpy": "numpy() shares the values",
           "item": "item() reads a value", "tolist": "tolist() reads the values", "backward": "backward() was called",
           "grad": "autograd.grad() was called", "to": "to() moves the values"}
#: The library's own functions on the way from there to the queue.
INNER = ("_", "<", "call", "function", "method", "flush_for", "binary", "wrapped")


@dataclass
class Recorded:
    """An operator that a pipeline was asked for. ``outputs`` are known at once: their shapes and dtypes.

    ``state`` is ``pending``, ``run``, ``failed``, ``given up`` (after a failure), or ``at once`` (its result's shape
    depends on values, so it could not be recorded); ``flush`` is the number of the flush that it ran in, ``duration``
    the nanoseconds that it took.
    """

    number: int
    operator: str
    outputs: tuple[str, ...]
    file: str
    line: int
    text: str
    state: str = "pending"
    flush: int | None = None
    duration: int = 0


@dataclass
class Flush:
    """A run of the queue: why, at which line, how many operators ran in how many nanoseconds, the error if any."""

    number: int
    reason: str
    file: str
    line: int
    ran: int = 0
    duration: int = 0
    error: str = ""


@dataclass
class PipelineFacts:
    """The record of a pipeline: operators and flushes as they came."""

    recorded: list[Recorded] = field(default_factory=list)
    flushes: list[Flush] = field(default_factory=list)


class _Watched(Pipeline):
    """A pipeline that writes down what it does."""

    def __init__(self) -> None:
        super().__init__()
        self.facts = PipelineFacts()
        self._numbers: dict[int, Recorded] = {}  # by the identity of entries that are in the queue

    def _new(self, op: Operator, outputs: Any, site: tuple[str, int, str]) -> Recorded:
        file, line, _ = site
        text = linecache.getline(file, line).strip()
        listed = outputs if isinstance(outputs, (list, tuple)) else (outputs,)
        shown = tuple(str(meta) for meta in describe(listed) if isinstance(meta, TensorMeta))
        recorded = Recorded(len(self.facts.recorded), op.name, shown, file, line, text)
        self.facts.recorded.append(recorded)
        return recorded

    def _record(self, op: Operator, kernel: Kernel, backend: int, args: tuple[Any, ...]) -> Any:
        before = len(self.pending)
        result = super()._record(op, kernel, backend, args)
        if len(self.pending) > before:
            entry = self.pending[-1]
            self._numbers[id(entry)] = self._new(op, result, entry.site)
        return result

    def _run_now(self, op: Operator, args: tuple[Any, ...]) -> Any:
        start = perf_counter_ns()
        result = super()._run_now(op, args)
        recorded = self._new(op, result, call_site())
        recorded.state, recorded.duration = "at once", perf_counter_ns() - start
        return result

    def flush(self) -> None:
        if not self.pending:
            return super().flush()
        queue = [self._numbers.pop(id(entry)) for entry in self.pending]
        reason, file, line = _reason(sys._getframe(1))
        flush = Flush(len(self.facts.flushes), reason, file, line)
        self.facts.flushes.append(flush)
        self._running = iter(queue)
        start = perf_counter_ns()
        try:
            super().flush()
        except RuntimeError as error:
            flush.error = str(error)
            raise
        finally:
            flush.duration = perf_counter_ns() - start
            for recorded in queue:
                recorded.flush = flush.number
                recorded.state = "given up" if recorded.state == "pending" else recorded.state
            flush.ran = sum(recorded.state == "run" for recorded in queue)
        return None

    def _run(self, entry: Entry) -> None:
        recorded = next(self._running)
        start = perf_counter_ns()
        recorded.state = "failed"
        super()._run(entry)
        recorded.state, recorded.duration = "run", perf_counter_ns() - start

    def _abandon(self, message: str, entries: list[Entry]) -> None:
        super()._abandon(message, entries)
        for recorded in self._numbers.values():  # of a block that was left: in a flush there are none any more
            recorded.state = "given up"
        self._numbers.clear()


def _reason(frame: FrameType | None) -> tuple[str, str, int]:
    """Why the queue runs: what the program called, and at which line."""
    asked = "the values were needed"
    operator = ""
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        code, name = frame.f_code, frame.f_code.co_name
        if name == "_run_now":
            operator = f"the shape of aten::{frame.f_locals['op'].name} depends on values"
        if code.co_qualname == "Pipeline.__exit__":
            return REASONS[name], "", 0
        asked = REASONS.get(name, asked if name.startswith(INNER) else f"{name}() needed the values")
        frame = frame.f_back
    place = ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
    return operator or asked, *place


@contextmanager
def watch_pipeline() -> Iterator[PipelineFacts]:
    """Run ``torch.pipeline()``, and note everything that it does in the facts that it yields. No tensor is kept."""
    pipeline = _Watched()
    with pipeline:
        yield pipeline.facts
