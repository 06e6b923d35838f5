"""Compiled graphs as facts: guards, graphs, programs (``torch._dynamo.explain``)."""
from __future__ import annotations

from dataclasses import dataclass

from .breaks import GraphBreak
from .compiled_graph import CompiledGraph
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


def facts_of(program: Program) -> ProgramFacts:
    """Return a program's facts."""
    kernels = tuple((name, tuple(step.op.name for step in group.steps), group.size)
                    for name, group in program.kernels.items())
    return ProgramFacts(program.source, kernels, tuple((b.nbytes, tuple(b.values)) for b in program.buffers))


def compiled_of(graph: CompiledGraph, guards: tuple[str, ...] = (), guards_source: str = "") -> Compiled:
    """Return the facts of a compiled graph, behind guards."""
    if graph.forward is None or graph.recorded is None:
        return Compiled(guards, guards_source, graph_break=graph.broken, seconds=graph.seconds, calls=graph.calls)
    joint = graph.joint
    programs = tuple(facts_of(program) for program in (graph.forward, graph.backward) if program is not None)
    return Compiled(guards, guards_source, str(graph.recorded), str(joint.forward),
                    "" if joint.backward is None else str(joint.backward), len(graph.recorded.steps),
                    tuple(graph.optimised), programs, None, graph.seconds, graph.calls)
