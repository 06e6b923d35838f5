"""Solutions of 'streams.waits'. A wrong one's docstring is what the hint has to say."""


def clash(a, b):
    return bool({a.writes} & {b.writes, *b.reads} or {b.writes} & set(a.reads))


def right_by_clocks(program):
    """For each operator and each stream, how many of that stream's operators are done: as PyTorch's sanitizer."""
    clocks, number, last, waits = [], [], {}, []
    for i, work in enumerate(program):
        clock = dict(clocks[last[work.stream]]) if work.stream in last else {}
        for j in range(i - 1, -1, -1):
            other = program[j]
            if other.stream != work.stream and clash(other, work) and clock.get(other.stream, 0) < number[j]:
                waits.append((j, i))
                for stream, count in {**clocks[j], other.stream: number[j]}.items():
                    clock[stream] = max(clock.get(stream, 0), count)
        number.append(clock.get(work.stream, 0) + 1)
        clock[work.stream] = number[i]
        clocks.append(clock)
        last[work.stream] = i
    return waits


def right_by_leaving_out(program):
    """All edges of the order that is needed, without those that a longer path replaces."""
    n = len(program)
    edges = {(a, b) for b in range(n) for a in range(b)
             if program[a].stream == program[b].stream or clash(program[a], program[b])}

    def reaches(a, b, without):
        return any((a, c) in edges and (a, c) != without and (c == b or reaches(c, b, without))
                   for c in range(a + 1, b + 1))

    return {(a, b) for a, b in edges if program[a].stream != program[b].stream and not reaches(a, b, (a, b))}


def pairs(program):
    return [(a, b) for b in range(len(program)) for a in range(b)]


def apart(program):
    return [(a, b) for a, b in pairs(program) if program[a].stream != program[b].stream]


def without_known(program, clashes):
    """The waits for a notion of conflict, as few as can be."""
    waits, done = [], []
    for b, work in enumerate(program):
        known = set()
        for a in range(b - 1, -1, -1):
            if program[a].stream == work.stream:
                known |= {a} | done[a]
        for a in range(b - 1, -1, -1):
            if a not in known and clashes(program[a], work):
                waits.append((a, b))
                known |= {a} | done[a]
        done.append(known)
    return waits


def wrong_none(program):
    """No operator waits yet"""
    return []


def wrong_reads_not_waited_for(program):
    """A write has to wait for operators that still read the old values."""
    return without_known(program, lambda a, b: a.writes in (*b.reads, b.writes))


def wrong_two_writes(program):
    """Two writes into one tensor"""
    return without_known(program, lambda a, b: a.writes in b.reads or b.writes in a.reads)


def wrong_readers_alone(program):
    """It is not enough that reads wait for writes: a write has to wait, too, for reads of the old values and for
    other writes."""
    return without_known(program, lambda a, b: a.writes in b.reads)


def wrong_writers_alone(program):
    """A read has to wait for the write: other.writes in work.reads."""
    return without_known(program, lambda a, b: b.writes in (*a.reads, a.writes))


def wrong_readers_of_one(program):
    """Two operators that only read the same tensor need no order."""
    return without_known(program, lambda a, b: clash(a, b) or not set(a.reads).isdisjoint(b.reads))


def wrong_own_stream(program):
    """A stream keeps its own order: no wait is needed there."""
    return [(a, b) for a, b in pairs(program) if clash(program[a], program[b])]


def wrong_turned(program):
    """A pair is (i, j), earlier operator first: j waits for i."""
    return [(b, a) for a, b in right_by_leaving_out(program)]


def wrong_everything(program):
    """An operator waits only for operators that conflict with it, not for everything in other streams."""
    return apart(program)


def wrong_neighbours(program):
    """Check all earlier operators, not only the one before."""
    return [(a, b) for a, b in apart(program) if b == a + 1 and clash(program[a], program[b])]


def wrong_superfluous(program):
    """Some waits are superfluous"""
    return [(a, b) for a, b in apart(program) if clash(program[a], program[b])]


def wrong_one_wait(program):
    """An operator may have to wait for several others: do not stop after the first."""
    return list({b: (a, b) for a, b in sorted(right_by_clocks(program))}.values())


def wrong_from_the_first(program):
    """begin with the latest"""
    waits, done = [], []
    for b, work in enumerate(program):
        mine = [a for a in range(b) if program[a].stream == work.stream]
        known = set(mine).union(*(done[a] for a in mine))
        for a in range(b):
            if a not in known and clash(program[a], work):
                waits.append((a, b))
                known |= {a} | done[a]
        done.append(known)
    return waits


def wrong_streams(program):
    """not names of streams"""
    return [(program[a].stream, program[b].stream) for a, b in right_by_clocks(program)]


def wrong_lists(program):
    """for all operators together"""
    waits = right_by_clocks(program)
    return [[a for a, b in waits if b == i] for i in range(len(program))]
