"""PyTorch's operators with the times that its own profiler measures, and the modules that called them.

The profiler knows neither modules nor lines of a program. When modules and steps of optimizers begin and end is noted
on the profiler's clock, with the line that calls the outermost module or the step: the operators in between are theirs.

The profiler takes some tenths of a microsecond an event, which adds a fifth to a step of a small model. What an event
takes is measured on a small forward and backward pass that runs unseen and seen by turns, so that both have the same
share of a busy processor, and is taken out of all times.
"""
from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from time import perf_counter_ns, thread_time_ns, time_ns
from typing import Any, NamedTuple

from ..._base.interrupts import contextmanager
from .dispatching import user_site

BLOCK = "mindtorch: a block"
NODE = "autograd::engine::evaluate_function: "  #: how the profiler's names of the graph's nodes begin
PASSES = 40  #: unseen and seen by the profiler, that measure what it takes


class Ran(NamedTuple):
    """An operator that ran: times in nanoseconds since the block began; ``own`` without the operators inside it, which
    are one ``depth`` further down. ``part`` is ``forward``, ``backward`` or ``optimizer``, ``node`` that of the graph
    that a backward pass ran, ``site`` file and line, ('', 0) if they are not known, ``module`` the innermost one.
    """

    name: str
    start: int
    end: int
    own: int
    depth: int
    part: str
    node: str
    site: tuple[str, int]
    module: Any


class Around(NamedTuple):
    """A call of a module, or a step of an optimizer (``module`` is None): when it ran, and how deep inside others;
    ``noting`` is what noting its start and its end took, right after them.
    """

    start: int
    end: int
    module: Any
    site: tuple[str, int]
    depth: int
    noting: tuple[int, int]


class Overhead(NamedTuple):
    """What PyTorch's profiler took of a block: so many ``events`` at ``each`` nanoseconds, of which the middle half of
    the passes that measured it lies between ``low`` and ``high``; ``absent`` is how long the thread did not run.
    """

    events: int = 0
    each: float = 0
    low: float = 0
    high: float = 0
    absent: int = 0

    @property
    def doubt(self) -> float:
        """The nanoseconds by which the block's time may be wrong."""
        return self.events * max(self.each - self.low, self.high - self.each)


@dataclass
class Measured:
    """What a block ran, in the order of starts; ``began`` is when it began, on the clock ``perf_counter_ns``, and
    ``measuring`` the nanoseconds of measuring that have been taken out of all other times.
    """

    ran: list[Ran] = field(default_factory=list)
    around: list[Around] = field(default_factory=list)
    measuring: int = 0
    began: int = 0
    overhead: Overhead = field(default_factory=Overhead)


@contextmanager
def measured() -> Iterator[Measured]:
    """Measure the operators of this thread in a block by PyTorch's profiler."""
    torch = sys.modules["torch"]
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # else it writes to stderr when it starts, and when it stops
    found = Measured()
    noted, modules, steps = _Noted(found), torch.nn.modules.module, sys.modules[torch.optim.Optimizer.__module__]
    profiler = torch.autograd.profiler.profile(use_kineto=True)
    passes, absent = (0.0, 0.0, 0.0), 0
    try:
        with profiler, ExitStack() as block:
            passes = _taken_by_a_pass(torch)
            for handle in (modules.register_module_forward_pre_hook(noted.entered),
                           modules.register_module_forward_hook(noted.left, always_call=True),
                           steps.register_optimizer_step_pre_hook(noted.entered),
                           steps.register_optimizer_step_post_hook(noted.left)):
                block.callback(handle.remove)
            block.enter_context(torch.autograd.profiler.record_function(BLOCK))
            found.began, ran = perf_counter_ns(), thread_time_ns()
            try:
                yield found
            finally:
                absent = max(0, perf_counter_ns() - found.began - thread_time_ns() + ran)
    finally:
        if profiler.kineto_results is not None:
            _read(profiler.kineto_results.events(), found, passes, absent)


def _taken_by_a_pass(torch: Any) -> tuple[float, float, float]:
    """Return the nanoseconds that the profiler takes of a small forward and backward pass: the quartiles."""
    seen = torch.autograd._enable_record_function

    def timed(weights: Sequence[Any]) -> int:
        start = perf_counter_ns()
        found = torch.mm(weights[0], weights[1]).mul(weights[2]).relu().sum()
        torch.autograd.grad(found, weights)
        return perf_counter_ns() - start

    taken = []
    with torch.inference_mode(False), torch.enable_grad():
        weights = [torch.ones(2, 2, device="cpu", dtype=torch.float32, requires_grad=True) for _ in range(3)]
        for _ in range(PASSES):
            seen(False)
            try:
                alone = timed(weights)
            finally:
                seen(True)
            taken.append(timed(weights) - alone)
    taken.sort()
    low, middle, high = (taken[len(taken) * quarter // 4] for quarter in (1, 2, 3))
    return low, middle, high


class _Noted:
    """Notes when modules are called and optimizers take steps."""

    def __init__(self, found: Measured):
        self.found = found
        self.open: list[tuple[int, tuple[str, int], int]] = []

    def entered(self, module: Any, *args: Any) -> None:
        start = time_ns()
        site = self.open[-1][1] if self.open else user_site()[:2]
        self.open.append((start, site, time_ns() - start))

    def left(self, module: Any, *args: Any) -> None:
        end = time_ns()
        if self.open:
            start, site, noting = self.open.pop()
            called = module if hasattr(module, "_parameters") else None
            self.found.around.append(Around(start, end, called, site, len(self.open), (noting, time_ns() - end)))


def _read(events: Any, found: Measured, passes: tuple[float, float, float], absent: int) -> None:
    """Nest the profiler's events and the noted calls by their times, and keep the operators; ``passes`` are the
    quartiles of what the profiler took of a pass.
    """
    spans = [(event.start_ns(), event.start_ns() + event.duration_ns(), event.name(), event.start_thread_id())
             for event in events if event.device_type().name == "CPU"]
    block = next((span for span in spans if span[2] == BLOCK), None)
    if block is None:
        return
    begin, thread = block[0], block[3]
    before = sum(1 for start, *_, number in spans if number == thread and start < begin)
    rows: list[tuple[int, int, str, Around | None]] = [
        (start, -end, name, None) for start, end, name, number in spans if number == thread and start >= begin]
    low, each, high = (max(0.0, PASSES * taken / max(1, before)) for taken in passes)
    found.overhead = Overhead(len(rows), each, low, high, absent)
    rows += [(call.start, -call.end, "", call) for call in found.around]
    clock, found.measuring = _without_measuring(begin, rows, each)
    stack: list[_Range] = []
    kept: list[_Range] = []
    for start, minus, name, call in sorted(rows, key=lambda row: row[:2]):
        while stack and stack[-1].until <= start:
            stack.pop()
        this = _Range(name, -minus, clock[start], clock[-minus], stack[-1] if stack else None, call)
        stack.append(this)
        if this.is_operator:
            kept.append(this)
    found.ran = [Ran(this.name.removeprefix("aten::"), this.start, this.end,
                     max(0, this.end - this.start - this.inside), this.depth, this.part, this.node, this.site,
                     this.module) for this in kept]
    found.around = [call._replace(start=clock[call.start], end=clock[call.end]) for call in found.around]


def _without_measuring(begin: int, rows: Sequence[tuple[int, int, str, Around | None]], each: float
                       ) -> tuple[dict[int, int], int]:
    """Return, for each time at which something begins or ends, the nanoseconds since ``begin`` without those of
    measuring, and their sum. The profiler takes half of ``each`` right before an event, and half right after it. Where
    there is not so much time between two events, the rest is taken out of the next gap between events.
    """
    half = round(each / 2)
    moments = []
    for start, minus, _, call in rows:
        moments += [(start, half, 0), (-minus, 0, half)] if call is None else [
            (start, 0, call.noting[0]), (-minus, 0, call.noting[1])]
    clock, time, last, owed, debt = {}, 0, begin, 0, 0
    for moment, before, after in sorted(moments):
        taken = owed + before + debt if owed + before else 0  # what an operator took by itself stays
        debt = max(0, taken - moment + last) if taken else debt
        time += max(0, moment - last - taken)
        clock[moment], last, owed = time, moment, after
    return clock, last - begin - time


class _Range:
    """An event of the profiler or a noted call: what is known of those around it holds for it, too."""

    def __init__(self, name: str, until: int, start: int, end: int, outer: _Range | None, call: Around | None):
        self.name, self.until, self.start, self.end, self.inside = name, until, start, end, 0
        self.is_operator = "::" in name and not name.startswith(NODE)
        self.part: str = "forward" if outer is None else outer.part
        self.node: str = "" if outer is None else outer.node
        self.site: tuple[str, int] = ("", 0) if outer is None else outer.site
        self.module: Any = None if outer is None else outer.module
        if name.startswith(NODE):
            self.part, self.node = "backward", name.removeprefix(NODE)
        if call is not None:
            self.site, self.module = call.site, call.module
            self.part = self.part if call.module is not None else "optimizer"
        above: _Range | None = outer.operator if outer is not None else None
        self.operator: _Range | None = above  #: the innermost one, this one included
        self.depth: int = above.depth + 1 if above is not None else 0
        if self.is_operator:
            self.operator = self
            if above is not None:
                above.inside += end - start
