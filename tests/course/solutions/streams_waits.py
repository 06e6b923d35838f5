"""Solutions of 'streams.waits'. The hint has a wrong one's docstring, or the text in `WRONG`."""


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


def wrong_lists(program):
    """for all operators together"""
    waits = right_by_clocks(program)
    return [[a for a, b in waits if b == i] for i in range(len(program))]


WRONG = [
    ("A read has to wait for the write: other.writes in work.reads.",
     lambda program: without_known(program, lambda a, b: b.writes in (*a.reads, a.writes))),
    ("not names of streams",
     lambda program: [(program[a].stream, program[b].stream) for a, b in right_by_clocks(program)]),
]
