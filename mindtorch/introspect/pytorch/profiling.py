"""PyTorch's operators with the times that its own profiler measures, and the modules that called them.

The profiler knows neither modules nor lines of a program. When modules and steps of optimizers begin and end is noted
on the profiler's clock, with the line that calls the outermost module or the step: the operators in between are theirs.
"""
from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from time import perf_counter_ns, time_ns
from typing import Any, NamedTuple

from ..._base.interrupts import contextmanager
from .dispatching import user_site

BLOCK = "mindtorch: a block"
NODE = "autograd::engine::evaluate_function: "  #: how the profiler's names of the graph's nodes begin


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
    """A call of a module, or a step of an optimizer (``module`` is None): when it ran, and how deep inside others."""

    start: int
    end: int
    module: Any
    site: tuple[str, int]
    depth: int


@dataclass
class Measured:
    """What a block ran, in the order of starts, and the nanoseconds that noting calls took; ``began`` is when it began,
    on the clock ``perf_counter_ns``.
    """

    ran: list[Ran] = field(default_factory=list)
    around: list[Around] = field(default_factory=list)
    noting: int = 0
    began: int = 0


@contextmanager
def measured() -> Iterator[Measured]:
    """Measure the operators of this thread in a block by PyTorch's profiler."""
    torch = sys.modules["torch"]
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # else it writes to stderr when it starts, and when it stops
    found = Measured()
    noted, modules, steps = _Noted(found), torch.nn.modules.module, sys.modules[torch.optim.Optimizer.__module__]
    profiler = torch.autograd.profiler.profile(use_kineto=True)
    try:
        with profiler, ExitStack() as block:
            for handle in (modules.register_module_forward_pre_hook(noted.entered),
                           modules.register_module_forward_hook(noted.left, always_call=True),
                           steps.register_optimizer_step_pre_hook(noted.entered),
                           steps.register_optimizer_step_post_hook(noted.left)):
                block.callback(handle.remove)
            block.enter_context(torch.autograd.profiler.record_function(BLOCK))
            found.began = perf_counter_ns()
            yield found
    finally:
        if profiler.kineto_results is not None:
            _read(profiler.kineto_results.events(), found)


class _Noted:
    """Notes when modules are called and optimizers take steps."""

    def __init__(self, found: Measured):
        self.found = found
        self.open: list[tuple[int, tuple[str, int]]] = []

    def entered(self, module: Any, *args: Any) -> None:
        start = time_ns()
        site = self.open[-1][1] if self.open else user_site()[:2]
        self.open.append((start, site))
        self.found.noting += time_ns() - start

    def left(self, module: Any, *args: Any) -> None:
        end = time_ns()
        if self.open:
            start, site = self.open.pop()
            called = module if hasattr(module, "_parameters") else None
            self.found.around.append(Around(start, end, called, site, len(self.open)))
        self.found.noting += time_ns() - end


def _read(events: Any, found: Measured) -> None:
    """Nest the profiler's events and the noted calls by their times, and keep the operators."""
    spans = [(event.start_ns(), event.start_ns() + event.duration_ns(), event.name(), event.start_thread_id())
             for event in events if event.device_type().name == "CPU"]
    block = next((span for span in spans if span[2] == BLOCK), None)
    if block is None:
        return
    begin, thread = block[0], block[3]
    rows: list[tuple[int, int, str, Around | None]] = [
        (start, -end, name, None) for start, end, name, number in spans if number == thread and start >= begin]
    rows += [(call.start, -call.end, "", call) for call in found.around]
    stack: list[_Range] = []
    kept: list[_Range] = []
    for start, minus, name, call in sorted(rows, key=lambda row: row[:2]):
        while stack and stack[-1].end <= start:
            stack.pop()
        this = _Range(name, start, -minus, stack[-1] if stack else None, call)
        stack.append(this)
        if this.is_operator:
            kept.append(this)
    found.ran = [Ran(this.name.removeprefix("aten::"), this.start - begin, this.end - begin,
                     max(0, this.end - this.start - this.inside), this.depth, this.part, this.node, this.site,
                     this.module) for this in kept]
    found.around = [call._replace(start=call.start - begin, end=call.end - begin) for call in found.around]


class _Range:
    """An event of the profiler or a noted call: what is known of those around it holds for it, too."""

    def __init__(self, name: str, start: int, end: int, outer: _Range | None, call: Around | None):
        self.name, self.start, self.end, self.inside = name, start, end, 0
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
