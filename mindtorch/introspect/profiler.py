"""Where the time of a block goes: phases, operators, kernels, lines, modules, and what lies between operators.

Of mindtorch everything is added up while observers tell of each call, so nothing but the sums is kept. PyTorch's
operators have the times that its own profiler measures.
"""
from __future__ import annotations

import os
import sys
import threading
import weakref
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Any

from .._base.call_site import PACKAGE
from .._base.interrupts import contextmanager
from .._dispatch.local import local
from .._dispatch.observers import DispatchEvent, subscribed
from .libraries import library_of
from .names import modules_by_identity
from .pytorch import Measured, Overhead, Ran, measured, pytorch
from .repeats import pattern, span

UNKNOWN = "outside of modules and steps of optimizers: PyTorch's profiler tells no lines"
ALIKE = 3  #: modules of equal blocks at least that are one
OPTIM = os.path.join(PACKAGE, "optim", "")


@dataclass(frozen=True)
class Share:
    """What belongs to one operator, kernel, line or module. Times are in nanoseconds: ``self_time`` without the
    operators called inside, ``total_time`` with them; ``calls`` counts operators. ``file`` and ``line`` are '' and 0 if
    there is none.
    """

    name: str
    calls: int
    self_time: int
    total_time: int
    file: str = ""
    line: int = 0


@dataclass
class Profile:
    """A block's time in nanoseconds. ``wall`` is all of it, and the sum of the operators' own times, of ``outside``
    (what the program does between operators) and of ``observing`` (what the measuring itself took, as far as it is
    known; ``overhead`` has what of that is PyTorch's profiler's).

    ``phases`` are ``forward``, ``backward`` and ``optimizer``, if they ran operators. PyTorch's kernels are not known.
    It is the host's time: an operator of a device that works asynchronously takes what it takes to enqueue it. Only the
    thread that runs the block is looked at.
    """

    wall: int = 0
    outside: int = 0
    observing: int = 0
    operators: tuple[Share, ...] = ()
    kernels: tuple[Share, ...] = ()
    lines: tuple[Share, ...] = ()
    modules: tuple[Share, ...] = ()
    phases: tuple[Share, ...] = ()
    overhead: Overhead = field(default_factory=Overhead)

    @property
    def inside(self) -> int:
        """The operators' own times."""
        return sum(share.self_time for share in self.operators)

    @property
    def program(self) -> int:
        """The program's own time: all but the measuring."""
        return self.inside + self.outside


class _Sums:
    """Calls, own time and whole time of things of one kind."""

    def __init__(self) -> None:
        self.found: dict[Hashable, list[int]] = defaultdict(lambda: [0, 0, 0])

    def add(self, key: Hashable, calls: int, own: int, whole: int) -> None:
        sums = self.found[key]
        sums[0] += calls
        sums[1] += own
        sums[2] += whole

    def shares(self, named: Callable[[Any], tuple[str, str, int]]) -> tuple[Share, ...]:
        """Return the shares, longest first."""
        merged: dict[tuple[str, str, int], list[int]] = defaultdict(lambda: [0, 0, 0])
        for key, sums in self.found.items():
            row = merged[named(key)]
            row[:] = [a + b for a, b in zip(row, sums, strict=True)]
        rows = (
            Share(name, calls, own, whole, file, line) for (name, file, line), (calls, own, whole) in merged.items())
        return tuple(sorted(rows, key=lambda share: -share.self_time))


@dataclass
class _Level:
    """The ended calls at one depth: time, observers' time, and time by operator, so that recursion counts once."""

    calls: int
    observing: int
    counted: dict[str, int]


def _module_names(seen: Mapping[int, tuple[str, weakref.ref[Any]]], namespace: Mapping[str, Any]) -> dict[int, str]:
    """Return what modules are called, given their classes. Those of equal blocks, whose names differ in numbers only
    and whose parameters are as large, are called the same.
    """
    named = modules_by_identity(namespace) if seen else {}
    alike: dict[tuple[str, str, Hashable], list[tuple[int, str]]] = defaultdict(list)
    for key, (kind, reference) in seen.items():
        name = "" if (module := reference()) is None else named.get(key, "")
        sizes = () if module is None else tuple(library_of(one).layout(one).shape for one in module.parameters())
        alike[pattern(name), kind, sizes].append((key, name))
    found = {}
    for (_, kind, _), members in alike.items():
        names = [name for _, name in members]
        is_folded = len(members) >= ALIKE and bool(names[0])
        for key, name in members:
            found[key] = f"{span(names)} ({len(names)} × {kind})" if is_folded else f"{name} ({kind})" if name else kind
    return found


class _Recorder:
    def __init__(self, clock: Callable[[], int] = perf_counter_ns) -> None:
        self.thread, self.clock = threading.get_ident(), clock
        self.levels: dict[int, _Level] = {}
        self.observing = 0
        self.operators, self.kernels, self.lines, self.modules, self.phases = (_Sums() for _ in range(5))
        self.whole = 0  # of PyTorch's operators, and of measuring them
        self.seen: dict[int, tuple[str, weakref.ref[Any]]] = {}

    def note(self, event: DispatchEvent) -> None:
        """Add a call up; the calls inside it have been noted before."""
        if event.thread != self.thread:
            return
        inner = self.levels.pop(event.depth + 1, None) or _Level(0, 0, {})
        own = event.duration - inner.calls - inner.observing
        whole = event.duration - inner.counted.get(event.op, 0)
        self.operators.add(event.op, 1, own, whole)
        self.kernels.add((event.kernel, event.file, event.line), 1, own, event.duration)
        self.lines.add(("", *event.site[:2]), not event.depth, own, event.duration if not event.depth else 0)
        module, phase = self._caller()
        self.modules.add(module, 1, own, own)
        self.phases.add(phase, 1, own, own)
        level = self.levels.setdefault(event.depth, _Level(0, 0, {}))
        level.calls += event.duration
        inner.counted[event.op] = event.duration
        for op, time in inner.counted.items():
            level.counted[op] = level.counted.get(op, 0) + time
        cost = self.clock() - event.called - event.duration if event.duration or not event.part else 0
        level.observing += cost
        self.observing += cost

    def _caller(self) -> tuple[int | str, str]:
        """Return the identity of the innermost module that is running, or a name for another caller, and the phase."""
        if local.task is not None:
            return "(backward)", "backward"
        frame, phase = sys._getframe(1), "forward"
        while frame is not None:
            code = frame.f_code
            if code.co_filename.startswith(PACKAGE):
                if code.co_qualname == "Module.__call__":
                    return self._noted(frame.f_locals["self"]), phase
                if code.co_name == "step" and code.co_filename.startswith(OPTIM):
                    phase = "optimizer"
            frame = frame.f_back  # type: ignore[assignment]
        return "(no module)", phase

    def _noted(self, module: Any) -> int:
        self.seen.setdefault(id(module), (type(module).__name__, weakref.ref(module)))
        return id(module)

    def take(self, measured: Measured) -> None:
        """Add up what PyTorch's profiler has measured."""
        self.observing += measured.measuring
        self.whole += measured.measuring
        around: list[Ran] = []
        for ran in measured.ran:
            del around[ran.depth:]
            whole = ran.end - ran.start
            self.operators.add(ran.name, 1, ran.own, 0 if any(outer.name == ran.name for outer in around) else whole)
            line = ("" if ran.site[1] else UNKNOWN, *ran.site)
            self.lines.add(line, not ran.depth, ran.own, 0 if ran.depth else whole)
            module: int | str = "(backward)" if ran.part == "backward" else (
                "(no module)" if ran.module is None else self._noted(ran.module))
            self.modules.add(module, 1, ran.own, ran.own)
            self.phases.add(ran.part, 1, ran.own, ran.own)
            self.whole += 0 if ran.depth else whole
            around.append(ran)

    def fill(self, profile: Profile, wall: int, namespace: Mapping[str, Any]) -> None:
        """Write the sums down."""
        named = _module_names(self.seen, namespace)

        def called(key: int | str) -> tuple[str, str, int]:
            return key if isinstance(key, str) else named[key], "", 0

        profile.wall, profile.observing = wall, self.observing
        native = sum(level.calls + level.observing for level in self.levels.values())
        profile.outside = max(0, wall - native - self.whole)
        profile.phases = self.phases.shares(lambda phase: (phase, "", 0))
        profile.operators = self.operators.shares(lambda op: (op, "", 0))
        profile.kernels = self.kernels.shares(lambda key: key)
        profile.lines = self.lines.shares(lambda site: site)
        profile.modules = self.modules.shares(called)


@contextmanager
def profile(namespace: Mapping[str, Any] | None = None) -> Iterator[Profile]:
    """Profile a block into the profile that it yields, which is filled at its end; ``namespace`` names modules."""
    found, recorder, wall, measuring = Profile(), _Recorder(), 0, None
    try:
        with ExitStack() as block:
            measuring = None if pytorch() is None else block.enter_context(measured())
            block.enter_context(subscribed(recorder.note))
            start = perf_counter_ns()
            try:
                yield found
            finally:
                wall = perf_counter_ns() - start
    finally:
        if measuring is not None and measuring.ran:
            recorder.take(measuring)
            found.overhead = measuring.overhead
        recorder.fill(found, wall, namespace or {})
