"""Where the time of a block goes: operators, kernels, lines, modules, and what lies between operators.

Everything is added up while observers tell of each call, so nothing but the sums is kept.
"""
from __future__ import annotations

import sys
import threading
import weakref
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

from .._base.call_site import PACKAGE
from .._base.interrupts import contextmanager
from .._dispatch.local import local
from .._dispatch.observers import DispatchEvent
from .libraries import watching
from .names import module_name
from .pytorch import asked, library_path

CALLS = ("Module.__call__", "Module._call_impl")  #: how modules are called, mindtorch's and PyTorch's


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
    known).

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

    @property
    def inside(self) -> int:
        """The operators' own times."""
        return sum(share.self_time for share in self.operators)

    @property
    def program(self) -> int:
        """What the program took: all but the measuring."""
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


class _Recorder:
    def __init__(self, clock: Callable[[], int] = perf_counter_ns) -> None:
        self.thread, self.clock = threading.get_ident(), clock
        self.levels: dict[int, _Level] = {}
        self.observing = 0
        self.operators, self.kernels, self.lines, self.modules = _Sums(), _Sums(), _Sums(), _Sums()
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
        self.lines.add(event.site[:2], not event.depth, own, event.duration if not event.depth else 0)
        self.modules.add(self._module(), 1, own, own)
        level = self.levels.setdefault(event.depth, _Level(0, 0, {}))
        level.calls += event.duration
        inner.counted[event.op] = event.duration
        for op, time in inner.counted.items():
            level.counted[op] = level.counted.get(op, 0) + time
        cost = self.clock() - event.called - event.duration if event.duration or not event.part else 0
        level.observing += cost
        self.observing += cost

    def _module(self) -> int | str:
        """Return the identity of the innermost module that is running, or a name for another caller."""
        if local.task is not None or asked()[0] == "backward":
            return "(backward)"
        frame = sys._getframe(1)
        while frame is not None:
            code = frame.f_code
            if code.co_qualname in CALLS and code.co_filename.startswith((PACKAGE, library_path())):
                module = frame.f_locals["self"]
                self.seen.setdefault(id(module), (type(module).__name__, weakref.ref(module)))
                return id(module)
            frame = frame.f_back  # type: ignore[assignment]
        return "(no module)"

    def fill(self, profile: Profile, wall: int, namespace: Mapping[str, Any]) -> None:
        """Write the sums down."""

        def called(key: int | str) -> tuple[str, str, int]:
            if isinstance(key, str):
                return key, "", 0
            kind, reference = self.seen[key]
            module = reference()
            name = "" if module is None else module_name(module, namespace)
            return f"{name} ({kind})" if name else kind, "", 0

        profile.wall, profile.observing = wall, self.observing
        profile.outside = wall - sum(level.calls + level.observing for level in self.levels.values())
        profile.operators = self.operators.shares(lambda op: (op, "", 0))
        profile.kernels = self.kernels.shares(lambda key: key)
        profile.lines = self.lines.shares(lambda site: ("", *site))
        profile.modules = self.modules.shares(called)


@contextmanager
def profile(namespace: Mapping[str, Any] | None = None) -> Iterator[Profile]:
    """Profile a block into the profile that it yields, which is filled at its end; ``namespace`` names modules."""
    found, recorder = Profile(), _Recorder()
    start = perf_counter_ns()
    try:
        with watching(recorder.note):
            start = perf_counter_ns()
            yield found
    finally:
        wall = perf_counter_ns() - start
        recorder.fill(found, wall, namespace or {})
