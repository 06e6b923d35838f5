"""Lesson 11: who waits for whom?"""
from __future__ import annotations

from dataclasses import dataclass

from ..tasks import Lab, Lesson, Mistake, Prediction

PREDICTIONS = (
    Prediction("returned", "x is on the device. When the line y = x + 1 has returned, has the sum certainly been "
                           "computed?",
               False, "The addition has been put into the stream. The host knows the shape and the dtype of y; its "
                      "values come when the device gets there."),
    Prediction("two", "Each operator takes 100 milliseconds. Two streams get three operators each, which share no "
                      "tensor. How many milliseconds does all of it take at best?", 300,
               "Each stream takes three times 100 milliseconds, and both work at the same time."),
    Prediction("host", "right.wait_event(ready) is called while the left stream has not reached the event. Does the "
                       "host wait in this line?", False,
               "The wait is put into the right stream, like an operator. That stream stops when it gets there; the "
               "host goes on."),
)


@dataclass(frozen=True)
class Work:
    """An operator: its stream, the tensors that it reads, and the one that it writes, by name."""

    stream: str
    reads: tuple[str, ...]
    writes: str


def place_waits(program):
    waits, done = [], []
    for later, work in enumerate(program):
        surely = set()
        for earlier in reversed(range(later)):
            if program[earlier].stream == work.stream:
                surely |= {earlier} | done[earlier]
                break
        for earlier in reversed(range(later)):
            other = program[earlier]
            conflict = other.writes == work.writes or other.writes in work.reads or work.writes in other.reads
            if conflict and earlier not in surely:
                waits.append((earlier, later))
                surely |= {earlier} | done[earlier]
        done.append(surely)
    return waits


def _after_write(a, b):
    return a.writes in b.reads


def _after_read(a, b):
    return b.writes in a.reads


def _both_write(a, b):
    return a.writes == b.writes


def _conflict(a, b):
    return _after_write(a, b) or _after_read(a, b) or _both_write(a, b)


def _waits(*, conflict=_conflict, streams=True, know=True, own=True, order=reversed, most=99, reach=99, through=True):
    """Place waits as it should be, but for what is said."""

    def mine(program):
        waits, done = [], []
        for later, work in enumerate(program):
            surely, count = set(), 0
            before = [i for i in range(later) if program[i].stream == work.stream]
            if own and before:
                surely |= {before[-1]} | done[before[-1]]
            for earlier in order(range(max(0, later - reach), later)):
                other = program[earlier]
                if not conflict(other, work) or (know and earlier in surely) or count == most:
                    continue
                if streams and other.stream == work.stream:
                    continue
                waits.append((earlier, later))
                count += 1
                surely |= {earlier} | (done[earlier] if through else set())
            done.append(surely)
        return waits

    return mine


def _once_a_stream(program):
    """No second wait of a stream for the same other one."""
    first = {}
    for earlier, later in place_waits(program):
        first.setdefault((program[earlier].stream, program[later].stream), (earlier, later))
    return list(first.values())


def _work(text):
    """A program from lines such as 'A: x = f(y)'."""
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
    """What is wrong with the waits."""
    program = _work(program)
    waits = function(list(program))
    if not isinstance(waits, list | tuple | set) or not all(isinstance(w, list | tuple) and len(w) == 2 for w in waits):
        return {"the waits": waits}
    waits = [tuple(w) for w in waits]
    if not all(type(i) is int for w in waits for i in w):
        return {"the waits": sorted(map(str, waits))}
    seen = {"waits of an operator for a later one": [w for w in waits if not 0 <= w[0] < w[1] < len(program)]}
    if seen["waits of an operator for a later one"]:
        return seen
    done, needed = [], []  # for each operator: what is done when it begins, and what has to be
    for i, work in enumerate(program):
        before = [j for j in range(i) if program[j].stream == work.stream]
        found = {j for j, later in waits if later == i} | set(before)
        must = set(before) | {j for j in range(i) if _conflict(program[j], work)}
        done.append(found.union(*(done[j] for j in found)))
        needed.append(must.union(*(needed[j] for j in must)))
    return {**seen, "operators that race": [(j, i) for i in range(len(program)) for j in sorted(needed[i] - done[i])],
            "operators that one waits for without need":
                [(j, i) for i in range(len(program)) for j in sorted(done[i] - needed[i])],
            "the number of waits": len(waits)}


MISTAKES = (
    Mistake("No operator waits yet: a pair (i, j) is needed where one operator writes what the other reads or writes.",
            lambda program: []),
    Mistake("A write has to wait for operators that still read the old values.",
            _waits(conflict=lambda a, b: _after_write(a, b) or _both_write(a, b))),
    Mistake("Two writes into one tensor have to keep their order, too.",
            _waits(conflict=lambda a, b: _after_write(a, b) or _after_read(a, b))),
    Mistake("A read has to wait for the write: other.writes in work.reads.",
            _waits(conflict=lambda a, b: _after_read(a, b) or _both_write(a, b))),
    Mistake("It is not enough that reads wait for writes: a write has to wait, too, for reads of the old values and "
            "for other writes.", _waits(conflict=_after_write)),
    Mistake("Two operators that only read the same tensor need no order.",
            _waits(conflict=lambda a, b: _conflict(a, b) or bool(set(a.reads) & set(b.reads)))),
    Mistake("A stream keeps its own order: no wait is needed there.",
            _waits(streams=False, own=False)),
    Mistake("A stream keeps its own order: no wait is needed there.",
            _waits(streams=False, own=False, know=False)),
    Mistake("A pair is (i, j), earlier operator first: j waits for i.",
            lambda program: [pair[::-1] for pair in place_waits(program)]),
    Mistake("An operator waits only for operators that conflict with it, not for everything in other streams.",
            _waits(conflict=lambda a, b: True)),
    Mistake("An operator waits only for operators that conflict with it, not for everything in other streams.",
            _waits(conflict=lambda a, b: True, know=False)),
    Mistake("Check all earlier operators, not only the one before.", _waits(reach=1)),
    Mistake("An operator may have to wait for several others: do not stop after the first.", _waits(most=1)),
    Mistake("Some waits are superfluous: begin with the latest of the earlier operators; a wait for it covers "
            "everything in its set, too.", _waits(order=list)),
    Mistake("Some waits are superfluous: operators that finished before an event, or before an operator of the same "
            "stream, have finished already.", _waits(know=False)),
    Mistake("Some waits are superfluous: begin with the latest of the earlier operators; a wait for it covers "
            "everything in its set, too.", _waits(through=False)),
    Mistake("Some waits are superfluous: once an operator has waited, the wait holds for every later operator of its "
            "stream.", _waits(own=False)),
    Mistake("A wait covers operators that were in that stream before the event, not later ones: another wait may be "
            "needed.", _once_a_stream),
    Mistake("Return positions in the list, not names of streams.",
            lambda program: [(program[a].stream, program[b].stream) for a, b in place_waits(program)]),
    Mistake("Return one list of pairs for all operators together.",
            lambda program: [[a for a, b in place_waits(program) if b == i] for i in range(len(program))]),
)

LESSON = Lesson(
    11, "streams", "Who waits for whom?", "11_streams", 40, PREDICTIONS,
    (Lab(
        "waits", "Where is an event needed?", place_waits, tuple((name,) for name in PROGRAMS),
        ("Begin with every pair of conflicting operators in different streams. That is correct, but has more waits "
         "than are needed.",
         "Keep for each operator the set of operators guaranteed to have finished when it starts: the previous "
         "operator of its stream and that one's set, and each operator that it waits for and that one's set.",
         "for earlier in reversed(range(later)): if they conflict and earlier is not in the set, append (earlier, "
         "later) to the waits, and add {earlier} | done[earlier] to the set."),
        MISTAKES, 5, run=_run, describe=lambda program: program,
        hidden=(("A: x = f(); B: y = f(x); A: x = f(); C: z = f(y, x); B: y = f(z)",),)),
     ),
)
