"""Mistakes that readers of lesson 11 make, each with its hint, and cases that only graders run."""
from __future__ import annotations

from mindtorch.course.lessons.streams import _after_read, _after_write, _both_write, _conflict
from mindtorch.course.masters import Mistake, solution

place_waits = solution("streams.waits")


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

MISTAKES_OF = {"waits": MISTAKES}
HIDDEN = {"waits": (("A: x = f(); B: y = f(x); A: x = f(); C: z = f(y, x); B: y = f(z)",),)}
