"""Lesson 11: who waits for whom?"""
from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from ..tasks import Lab, lesson


@dataclass(frozen=True)
class Work:
    """An operator: its stream, and the names of the tensors that it reads and of the one that it writes."""

    stream: str
    reads: tuple[str, ...]
    writes: str


def _after_write(a, b):
    return a.writes in b.reads


def _after_read(a, b):
    return b.writes in a.reads


def _both_write(a, b):
    return a.writes == b.writes


def _conflict(a, b):
    return _after_write(a, b) or _after_read(a, b) or _both_write(a, b)


def _work(text):
    """Read a program from lines such as 'A: x = f(y)'."""
    rows = []
    for line in text.split("; "):
        stream, _, rest = line.partition(": ")
        target, _, call = rest.partition(" = ")
        reads = call[call.index("(") + 1:-1]
        rows.append(Work(stream, tuple(reads.split(", ")) if reads else (), target))
    return rows


PROGRAMS = (
    "A: x = f(); B: y = f(x)",
    "A: x = f(); A: y = f(x)",
    "A: x = f(); B: y = f()",
    "A: y = f(x); B: x = f()",
    "A: x = f(); B: x = f()",
    "A: y = f(x); B: z = f(x)",
    "A: x = f(); B: y = f(); C: z = f(x, y)",
    "A: x = f(); A: y = f(); B: z = f(x, y)",
    "A: x = f(); B: y = f(x); C: z = f(x, y)",
    "A: x = f(); B: y = f(x); B: z = f(x)",
    "A: x = f(); A: y = f(); B: u = f(x); B: v = f(y)",
    "A: x = f(); B: y = f(); A: z = f(); B: u = f(x)",
)


def _run(function, program):
    """Check the waits: their order, races, superfluous waits, their number."""
    program = _work(program)
    waits = function(list(program))
    if not isinstance(waits, list | tuple | set) or not all(isinstance(w, list | tuple) and len(w) == 2 for w in waits):
        return {"the waits": waits}
    waits = [tuple(w) for w in waits]
    if not all(type(i) is int for w in waits for i in w):
        return {"the waits": sorted(map(str, waits))}
    seen = {"pairs (i, j) in which i is not before j": [w for w in waits if not 0 <= w[0] < w[1] < len(program)]}
    if seen["pairs (i, j) in which i is not before j"]:
        return seen
    done, needed = [], []  # for each operator: what is done when it begins, and what has to be
    for i, work in enumerate(program):
        before = [j for j in range(i) if program[j].stream == work.stream]
        found = {j for j, later in waits if later == i} | set(before)
        must = set(before) | {j for j in range(i) if _conflict(program[j], work)}
        done.append(found.union(*(done[j] for j in found)))
        needed.append(must.union(*(needed[j] for j in must)))
    return {**seen, "pairs of operators that race":
                [(j, i) for i in range(len(program)) for j in sorted(needed[i] - done[i])],
            "pairs (i, j) in which j waits for i without need":
                [(j, i) for i in range(len(program)) for j in sorted(done[i] - needed[i])],
            "the number of waits": len(waits)}


LESSON = lesson(
    "streams", waits=partial(
        Lab, cases=tuple((name,) for name in PROGRAMS),
        run=_run, describe=lambda program: program))
