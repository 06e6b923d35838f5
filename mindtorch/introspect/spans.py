"""Timelines: spans of time on lanes (host threads, streams), noted while a block runs."""
from __future__ import annotations

import linecache
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import groupby
from time import perf_counter_ns
from typing import Any

from .._base.call_site import place_of
from .._base.interrupts import contextmanager
from .._dispatch.observers import ActivityEvent, DispatchEvent, TensorMeta, subscribed
from .names import modules_by_identity
from .npu import settle
from .pytorch import Measured, Overhead, measured, pytorch
from .races import Race, RaceWatch, is_watched

KINDS = ("enqueue", "run", "copy", "wait", "sync", "free", "exchange")  #: of spans
NETWORK = "network"  #: the lane of what processes send each other
PHASES, MODULES = "host phases", "host modules"  #: lanes of what PyTorch's operators are for


@dataclass(frozen=True)
class Span:
    """Something that took from ``start`` to ``end`` (nanoseconds of one clock) on a lane; ``kind`` is one of ``KINDS``.

    ``detail`` says more, '' if there is no more to say; ``line`` is the program's line that an operator is called in.
    """

    lane: str
    name: str
    kind: str
    start: int
    end: int
    detail: str = ""
    line: str = ""


@dataclass(frozen=True)
class Arrow:
    """What made something begin: at ``start`` on lane ``source``, so that it began at ``end`` on lane ``target``.

    ``kind`` is ``enqueue``, from where a thread put an operator, a copy or a wait into a stream to where it began
    there, or ``event``, from the end of what an event was recorded after to the end of the wait for it. ``name`` is
    that of what began or waited, ``cause`` that of what it came from.
    """

    kind: str
    name: str
    cause: str
    source: str
    start: int
    target: str
    end: int


@dataclass(frozen=True)
class OperatorPath:
    """The way of an operator from the host to the device's cores, in nanoseconds: planned (``phase_one``) and put into
    the task queue (``phase_two``) by the host, waiting there (``queued``), and running on ``cores``, '' if the device
    does not say which; a second line there is what the simulator's model says of the times.
    """

    name: str
    lane: str
    phase_one: int
    phase_two: int
    queued: int
    runs: int
    cores: str


@dataclass
class Timeline:
    """Spans in the order of their starts, the lanes in the order in which they are drawn, ``arrows`` from causes to
    effects, and ``races``, which are arrows that are missing. It is ``sanitized`` if the simulator's sanitizer looked
    for races; None where there is no simulator. ``clocks`` says of a timeline of several processes how their clocks
    were aligned; ``paths`` are those of the operators that streams ran, in their order; ``measuring`` is how long
    PyTorch's profiler held the program up, which is left out of its times, and ``overhead`` how that is known.
    """

    spans: tuple[Span, ...] = ()
    lanes: tuple[str, ...] = ()
    arrows: tuple[Arrow, ...] = ()
    races: tuple[Race, ...] = ()
    sanitized: bool | None = None
    clocks: str = ""
    paths: tuple[OperatorPath, ...] = ()
    measuring: int = 0
    overhead: Overhead = field(default_factory=Overhead)

    @property
    def start(self) -> int:
        """When the first span begins; 0 if there is none."""
        return min((span.start for span in self.spans), default=0)

    @property
    def end(self) -> int:
        """When the last span ends; 0 if there is none."""
        return max((span.end for span in self.spans), default=0)

    def at(self, time: int) -> tuple[Span, ...]:
        """Return the spans that contain a time."""
        return tuple(span for span in self.spans if span.start <= time <= span.end)

    def events(self) -> tuple[int, ...]:
        """Return the times at which something begins or ends."""
        return tuple(sorted({time for span in self.spans for time in (span.start, span.end)}))


@contextmanager
def timeline(namespace: Mapping[str, Any] | None = None) -> Iterator[Timeline]:
    """Record the operators of every thread and the work of all streams in a block; the timeline is filled at its end.

    The host's lanes have the operators (``enqueue`` what goes to a stream or into a pipeline, ``run`` what the host
    computes), the copies that it makes itself, and its waits (``sync``). A stream's lane has what it ran, copied and
    waited for, by the device's own clock, and when memory was free that it still needed after the host had let go. The
    lane of the network has the calls of ``torch.distributed``: until all ranks have made one (``wait``), and then until
    it is done (``exchange``). At the end, streams that something was put into are synchronised, since only then their
    times are known. The races that the simulator's sanitizer reports, where it is on, name tensors and streams as
    ``namespace`` does. PyTorch's operators have the times that its own profiler measures; above those that the program
    calls are the calls of modules, and the phases of a training. Raises AclError if that synchronisation finds that an
    operator failed, unless the block itself raises.
    """
    found = Timeline()
    calls: list[DispatchEvent] = []
    activities: list[ActivityEvent] = []
    finished, theirs = 0, None
    races = RaceWatch(namespace)

    def note(event: DispatchEvent) -> None:
        calls.append(event)
        races.look()  # while what the operator was given is there

    try:
        with ExitStack() as block:
            theirs = None if pytorch() is None else block.enter_context(measured())
            block.enter_context(subscribed(note, activities.append))
            try:
                yield found
                finished = perf_counter_ns()
                if (failed := settle()) is not None:
                    raise failed
            except Exception as error:
                if not finished:
                    finished = perf_counter_ns()
                    if (failed := settle()) is not None:
                        error.add_note(f"and in a stream: {failed}")
                raise
    finally:
        races.look()
        _arrange(found, calls, activities, finished or perf_counter_ns(), races)
        if theirs is not None and theirs.ran:
            _add_pytorchs(found, theirs, namespace or {})


def _add_pytorchs(found: Timeline, measured: Measured, namespace: Mapping[str, Any]) -> None:
    """Add what PyTorch's profiler measured in this thread: phases, calls of modules, and outermost operators."""
    zero, host, phases, names = measured.began, "host", [], modules_by_identity(namespace)
    outermost = [ran for ran in measured.ran if not ran.depth]
    for part, group in groupby(outermost, key=lambda ran: ran.part):
        run = list(group)
        phases.append(Span(PHASES, part, "run", zero + run[0].start, zero + run[-1].end,
                           f"{len(run):,} operators that it calls"))
    modules = [Span(MODULES, _called(call.module, names), "run", zero + call.start, zero + call.end,
                    f"called at {place_of(*call.site)}" if call.site[1] else "")
               for call in sorted(measured.around, key=lambda call: (call.start, -call.end)) if call.module is not None]
    operators = [Span(host, ran.name, "run", zero + ran.start, zero + ran.end,
                      ", ".join(filter(None, [f"for {ran.node}" if ran.node else "", ran.part])),
                      linecache.getline(*ran.site).strip()) for ran in outermost]
    found.spans = tuple(sorted((*found.spans, *phases, *modules, *operators), key=lambda span: (span.start, -span.end)))
    lanes = [PHASES, *([MODULES] if modules else []), host]
    found.lanes = (*lanes, *(lane for lane in found.lanes if lane not in lanes))
    found.measuring, found.overhead = measured.measuring, measured.overhead


def _called(module: Any, names: Mapping[int, str]) -> str:
    """Return the end of a module's name, with the number of a block that of the blocks, and its class."""
    *outer, last = names.get(id(module), "").split(".")
    return " ".join(filter(None, (".".join([*outer[-1:], last]) if last.isdecimal() else last, type(module).__name__)))


def _arrange(found: Timeline, calls: list[DispatchEvent], activities: list[ActivityEvent], finished: int,
             races: RaceWatch) -> None:
    """Fill a timeline: this thread's lane, other threads' as they appear, streams' by device and number."""
    threads = _thread_lanes(calls, activities)
    spans = [_of_call(event, threads[event.thread]) for event in calls]
    streams: dict[tuple[str, int], str] = {}

    def lane_of(event: ActivityEvent) -> str:
        if _is_the_hosts(event):
            return threads[event.thread]
        name = event.device if event.device == NETWORK else f"{event.device} stream {event.stream}"
        return streams.setdefault((event.device, event.stream), name)

    spans += [_of_activity(event, lane_of(event), finished) for event in activities]
    used = {span.lane for span in spans}
    lanes = [*threads.values(), *(streams[key] for key in sorted(streams))]
    found.spans = tuple(sorted(spans, key=lambda span: (span.start, -span.end)))
    found.lanes = tuple(lane for lane in lanes if lane in used)
    found.arrows = tuple(sorted(_arrows(calls, activities, threads, streams), key=lambda arrow: arrow.start))
    ran = sorted((event for event in activities if event.phases[1] and event.kind == "run"), key=lambda e: e.start)
    found.paths = tuple(OperatorPath(event.name, lane_of(event), *event.phases, max(0, event.start - event.queued
                             - event.phases[1]), event.duration, event.cores) for event in ran)
    found.races, found.sanitized = tuple(races.races(activities, lane_of)), is_watched()


def _arrows(calls: list[DispatchEvent], activities: list[ActivityEvent], threads: Mapping[int, str],
            streams: Mapping[tuple[str, int], str]) -> Iterator[Arrow]:
    """Yield arrows from the host to its work in streams, and from the work before an event to the waits for it."""
    ran = {(event.device, event.stream, event.number): event for event in activities if event.kind in ("run", "copy")}
    for event in activities:
        lane = streams.get((event.device, event.stream))
        if lane is None or not event.queued:
            continue
        around = [call for call in calls
                  if call.thread == event.thread and call.start <= event.queued <= call.start + call.duration]
        cause = max(around, key=lambda call: call.depth).op if around else ""
        yield Arrow("enqueue", event.name, cause, threads[event.thread], event.queued, lane, event.start)
        before = ran.get((event.device, *event.after)) if event.after else None
        if before is not None:
            end = before.start + before.duration
            yield Arrow("event", event.name, before.name, streams[before.device, before.stream], end, lane,
                        max(end, event.start + event.duration))


def _thread_lanes(calls: list[DispatchEvent], activities: list[ActivityEvent]) -> dict[int, str]:
    """Return the threads' names by identifier."""
    names = {thread.ident: thread.name for thread in threading.enumerate()} | {e.thread: e.thread_name for e in calls}
    seen = dict.fromkeys([threading.get_ident(), *(e.thread for e in calls), *(e.thread for e in activities)])
    shared = Counter(names.get(ident) for ident in seen)
    lanes = {}
    for ident in seen:
        name = names.get(ident, f"thread {ident}")
        lanes[ident] = "host" if name == "MainThread" else f"host {name}" + (f" {ident}" if shared[name] > 1 else "")
    return lanes


def _is_the_hosts(event: ActivityEvent) -> bool:
    """Return True if the host did the work: a stream's operators and copies have a number there."""
    return event.kind == "sync" or (event.kind == "copy" and not event.number)


def _of_call(event: DispatchEvent, lane: str) -> Span:
    outputs = ", ".join(str(value) for value in event.outputs if isinstance(value, TensorMeta))
    said = [f"→ {outputs}" if outputs else "", "into the pipeline" if event.pending else ""]
    said += [f"on {event.stream}" if event.stream and not event.pending else "", event.error or ""]
    said += [f"called at {place_of(*event.site[:2])}"]
    kind = "enqueue" if event.stream or event.pending else "run"
    return Span(lane, event.op, kind, event.start, event.start + event.duration, ", ".join(filter(None, said)),
                linecache.getline(*event.site[:2]).strip())


def _of_activity(event: ActivityEvent, lane: str, finished: int) -> Span:
    if event.detail:
        return Span(lane, event.name, event.kind, event.start, event.start + event.duration, event.detail)
    detail = f"{event.device} stream {event.stream}" if _is_the_hosts(event) else ""
    if event.number and event.kind != "wait":
        detail = f"number {event.number} in the stream"
    if event.kind == "sync" and event.start >= finished:
        detail += ", at the end of the timeline"
    return Span(lane, event.name, event.kind, event.start, event.start + event.duration, detail)
