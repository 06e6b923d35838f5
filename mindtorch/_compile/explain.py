"""Compiled functions as facts and as text: guards, graphs, programs, graph breaks (``torch._dynamo.explain``)."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .breaks import GraphBreak
from .program import Program


@dataclass(frozen=True)
class ProgramFacts:
    """One program as Python: its text, its fused kernels (name, operators, elements), and its buffers (bytes, and the
    arrays that use the buffer one after the other).
    """

    source: str
    kernels: tuple[tuple[str, tuple[str, ...], int], ...]
    buffers: tuple[tuple[int, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Compiled:
    """One set of guards and its result: the recorded graph, the optimised graphs and their programs, or a graph break.
    ``seconds`` is the time spent compiling, ``calls`` counts the runs of the program.
    """

    guards: tuple[str, ...]
    guards_source: str
    recorded: str = ""
    forward: str = ""
    backward: str = ""
    operators: int = 0
    optimised: tuple[str, ...] = ()
    programs: tuple[ProgramFacts, ...] = ()
    graph_break: GraphBreak | None = None
    seconds: float = 0.0
    calls: int = 0


@dataclass
class Explanation:
    """Everything compiled for a function so far; ``print`` shows it as text."""

    name: str
    compiled: list[Compiled] = field(default_factory=list)

    @property
    def graph_count(self) -> int:
        """The number of graphs, without backward graphs."""
        return sum(not one.graph_break for one in self.compiled)

    @property
    def graph_break_count(self) -> int:
        """The number of calls that could not become a graph."""
        return len(self.break_reasons)

    @property
    def break_reasons(self) -> list[GraphBreak]:
        """The reasons and places of graph breaks."""
        return [one.graph_break for one in self.compiled if one.graph_break is not None]

    @property
    def op_count(self) -> int:
        """The number of recorded operators."""
        return sum(one.operators for one in self.compiled)

    def __str__(self) -> str:
        lines = [f"Graph Count: {self.graph_count}", f"Graph Break Count: {self.graph_break_count}",
                 f"Op Count: {self.op_count}"]
        for one in self.compiled:
            lines += ["", *text_of(one)]
        return "\n".join(lines)


def text_of(one: Compiled) -> list[str]:
    """Return the lines that describe one set of guards."""
    lines = ["== Guards (TorchDynamo) ==", *(f"  {said}" for said in one.guards)]
    if one.graph_break is not None:
        return [*lines, "== Graph break ==", f"  {one.graph_break}",
                "  calls with these guards run as they are written"]
    lines += ["== Recorded graph (TorchDynamo) ==", one.recorded, "== Optimised graphs (AOTAutograd) ==",
              *(f"  {said}" for said in one.optimised), one.forward, *([one.backward] if one.backward else [])]
    for program in one.programs:
        lines += ["== Program (Inductor) ==", program.source.rstrip()]
        lines += [f"  buffer {number}: {size} bytes, of {', '.join(names)}"
                  for number, (size, names) in enumerate(program.buffers)]
    return lines


def facts_of(program: Program) -> ProgramFacts:
    """Return a program's facts."""
    kernels = tuple((name, tuple(step.op.name for step in group.steps), group.size)
                    for name, group in program.kernels.items())
    return ProgramFacts(program.source, kernels, tuple((b.nbytes, tuple(b.values)) for b in program.buffers))


def explanation_of(compiled: Any) -> Explanation:
    """Return everything compiled for a function so far."""
    found = Explanation(getattr(compiled.function, "__qualname__", type(compiled.function).__name__))
    for entry in compiled.entries:
        guards = tuple(dict.fromkeys(entry.guards.said))
        if entry.forward is None:
            found.compiled.append(Compiled(guards, entry.guards.source, graph_break=entry.broken, seconds=entry.seconds,
                                           calls=entry.calls))
            continue
        joint = entry.joint
        programs = tuple(facts_of(program) for program in (entry.forward, entry.backward) if program is not None)
        found.compiled.append(Compiled(
            guards, entry.guards.source, str(entry.recorded), str(joint.forward),
            "" if joint.backward is None else str(joint.backward), len(entry.recorded.steps), tuple(entry.optimised),
            programs, None, entry.seconds, entry.calls))
    return found
