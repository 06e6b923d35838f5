"""Solutions of 'streams.waits', right and wrong."""



def conflict(a, b):
    return a.writes in (*b.reads, b.writes) or b.writes in a.reads


def right_with_clocks(program):
    """For each operator, how far each stream is surely done when it is done itself, as PyTorch's sanitizer keeps it."""
    done, last, waits = [], {}, []
    for later, work in enumerate(program):
        clock = dict(last.get(work.stream, {}))
        for earlier in reversed(range(later)):
            other = program[earlier]
            if conflict(other, work) and clock.get(other.stream, -1) < earlier:
                waits.append((earlier, later))
                for stream, position in done[earlier].items():
                    clock[stream] = max(clock.get(stream, -1), position)
        clock[work.stream] = later
        done.append(clock)
        last[work.stream] = clock
    return waits


def right_by_reachability(program):
    """An operator is done if a path of streams and waits leads from it."""
    waits, ways = [], {}

    def surely(earlier, later):
        stack, seen = [later], set()
        while stack:
            at = stack.pop()
            if at == earlier:
                return True
            if at not in seen:
                seen.add(at)
                stack += ways.get(at, [])
        return False

    for later, work in enumerate(program):
        ways[later] = [i for i in range(later) if program[i].stream == work.stream]
        for earlier in range(later - 1, -1, -1):
            if conflict(program[earlier], work) and not surely(earlier, later):
                waits.append((earlier, later))
                ways[later].append(earlier)
    return waits


def simple(program, clash=conflict, same=False):
    """Every pair that conflicts."""
    return [(i, j) for j in range(len(program)) for i in reversed(range(j))
            if clash(program[i], program[j]) and (same or program[i].stream != program[j].stream)]


def sure(program, clash=conflict, forward=False, inherit=True, in_stream=True):
    done, waits = [], []
    for later, work in enumerate(program):
        known = set()
        if in_stream:
            for i in range(later):
                if program[i].stream == work.stream:
                    known |= {i} | done[i]
        for earlier in range(later) if forward else reversed(range(later)):
            if earlier not in known and clash(program[earlier], work):
                waits.append((earlier, later))
                known.add(earlier)
                if inherit:
                    known |= done[earlier]
        done.append(known)
    return waits


def wrong_only_the_nearest(program):
    """An operator may have to wait for several others: do not stop after the first."""
    found = {}
    for earlier, later in sure(program):
        found.setdefault(later, earlier)
    return [(earlier, later) for later, earlier in found.items()]


def wrong_one_wait_a_stream(program):
    """A wait covers operators that were in that stream before the event, not later ones: another wait may be needed."""
    found, waited = [], set()
    for earlier, later in sure(program):
        pair = program[earlier].stream, program[later].stream
        if pair not in waited:
            waited.add(pair)
            found.append((earlier, later))
    return found


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


WRONG = [
    ("No operator waits yet: a pair (i, j) is needed where one operator writes what the other reads or writes.",
     lambda program: []),
    ("An operator waits only for operators that conflict with it, not for everything in other streams.",
     lambda program: [(i, j) for j in range(len(program)) for i in range(j) if program[i].stream != program[j].stream]),
    ("A stream keeps its own order: no wait is needed there.", lambda program: simple(program, same=True)),
    ("Some waits are superfluous", lambda program: simple(program)),
    ("It is not enough that reads wait for writes: a write has to wait, too, for reads of the old values and for "
     "other writes.",
     lambda program: sure(program, clash=lambda a, b: a.writes in b.reads)),
    ("A write has to wait for operators that still read the old values.",
     lambda program: sure(program, clash=lambda a, b: a.writes in b.reads or a.writes == b.writes)),
    ("Two writes into one tensor have to keep their order, too",
     lambda program: sure(program, clash=lambda a, b: a.writes in b.reads or b.writes in a.reads)),
    ("Two operators that only read the same tensor need no order.",
     lambda program: sure(program, clash=lambda a, b: bool({*a.reads, a.writes} & {*b.reads, b.writes}))),
    ("Some waits are superfluous", lambda program: sure(program, forward=True)),
    ("Some waits are superfluous", lambda program: sure(program, inherit=False)),
    ("A pair is (i, j), earlier operator first: j waits for i.",
     lambda program: [(later, earlier) for earlier, later in sure(program)]),
    ("Check all earlier operators, not only the one before.",
     lambda program: [(i, i + 1) for i in range(len(program) - 1) if program[i].stream != program[i + 1].stream
                      and conflict(program[i], program[i + 1])]),
    ("A stream keeps its own order: no wait is needed there.", lambda program: sure(program, in_stream=False)),
]
