"""``torch.profiler``: profiles of the steps of a training that a schedule names."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from pathlib import Path
from time import time_ns
from typing import Any

from ._base.interrupts import leaving
from .autograd.profiler import EventList, profile as _profile, record_function as record_function


class ProfilerActivity(Enum):
    """The kinds of work that can be profiled; here, operators on the host (``torch.profiler.ProfilerActivity``)."""

    CPU = 0
    XPU = 1
    CUDA = 2


class ProfilerAction(Enum):
    """A profiler's action in a step (``torch.profiler.ProfilerAction``)."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0,
             skip_first_wait: int = 0) -> Callable[[int], ProfilerAction]:
    """Return a function from a step's number to a profiler's action (``torch.profiler.schedule``): in each cycle,
    nothing for ``wait`` steps, a warm-up for ``warmup``, and recording for ``active``.
    """
    length = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        if repeat and step >= repeat * length:
            return ProfilerAction.NONE
        place = step % length
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if place == length - 1 else ProfilerAction.RECORD

    return action


def supported_activities() -> set[ProfilerActivity]:
    """Return the activities that can be profiled (``torch.profiler.supported_activities``)."""
    return {ProfilerActivity.CPU}


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None,
                              use_gzip: bool = False) -> Callable[[profile], None]:
    """Return a function that writes a profile into a folder as a Chrome trace (``torch.profiler``)."""
    def write(profiler: profile) -> None:
        folder = Path(dir_name)
        folder.mkdir(parents=True, exist_ok=True)
        profiler.export_chrome_trace(str(folder / f"{worker_name or 'worker'}.{time_ns()}.pt.trace.json"))

    return write


class profile:
    """A block whose operators are counted and timed, in all of it, or in the steps that ``schedule`` says; call
    ``step`` after each (``torch.profiler.profile``). ``on_trace_ready`` is called with this object when a record
    is complete.
    """

    def __init__(self, *, activities: Iterable[ProfilerActivity] | None = None,
                 schedule: Callable[[int], ProfilerAction] | None = None,
                 on_trace_ready: Callable[[profile], Any] | None = None, record_shapes: bool = False,
                 profile_memory: bool = False, with_stack: bool = False, with_flops: bool = False,
                 with_modules: bool = False, **other: Any):
        self._schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self._on_trace_ready, self._record_shapes = on_trace_ready, record_shapes
        self.step_num = 0
        self._running: _profile | None = None
        self._last: _profile | None = None

    def _continue(self) -> None:
        """Start, continue or stop recording as the schedule demands."""
        if self._schedule(self.step_num) in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            if self._running is None:
                self._running = _profile(record_shapes=self._record_shapes)
                self._running.__enter__()
        else:
            self._finish()

    def _finish(self) -> None:
        if self._running is not None:
            self._running.__exit__()
            self._last, self._running = self._running, None
            if self._on_trace_ready is not None:
                self._on_trace_ready(self)

    def start(self) -> None:
        """Begin the first step."""
        self._continue()

    def stop(self) -> None:
        """End the last step."""
        self._finish()

    def __enter__(self) -> profile:
        self.start()
        return self

    @leaving(lambda block: lambda gone: block.stop())
    def __exit__(self, *exc: object) -> None:
        self.stop()

    def step(self) -> None:
        """End a step, and begin the next (``torch.profiler.profile.step``)."""
        self.step_num += 1
        if self._schedule(self.step_num - 1) is ProfilerAction.RECORD_AND_SAVE:
            self._finish()
        self._continue()

    def events(self) -> EventList:
        """Return the events of the last record; RuntimeError if nothing was recorded yet."""
        if self._last is None:
            raise RuntimeError("Profiler didn't finish running: nothing was recorded")
        return self._last.function_events

    def key_averages(self, group_by_input_shape: bool = False, **options: Any) -> EventList:
        """Return the events of the last record, summed up by name (``torch.profiler.profile.key_averages``)."""
        return self.events().key_averages(group_by_input_shape, **options)

    def export_chrome_trace(self, path: str) -> None:
        """Write the last record to a file that chrome://tracing and Perfetto open."""
        self.events().export_chrome_trace(path)


__all__ = ["ProfilerAction", "ProfilerActivity", "profile", "record_function", "schedule", "supported_activities",
           "tensorboard_trace_handler"]
__dir__ = __all__.copy


def kineto_available() -> bool:
    """Return True: profiles of steps can be made (``torch.profiler.kineto_available``, where Kineto makes them)."""
    return True
