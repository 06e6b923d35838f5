"""Solutions of 'profiles.own_times', right and wrong."""


def right_by_looking_for_the_shortest(events):
    """Each event's parent is the shortest that contains it."""
    own = [event[3] - event[2] for event in events]
    for i, (_, thread, start, end) in enumerate(events):
        parents = [j for j, other in enumerate(events) if j != i and other[1] == thread
                   and other[2] <= start and end <= other[3]]
        if parents:
            own[min(parents, key=lambda j: events[j][3] - events[j][2])] -= end - start
    return own


def right_by_parentheses(events):
    """Starts and ends as one sequence, as brackets."""
    result = [0] * len(events)
    for thread in {event[1] for event in events}:
        marks = []
        for number, event in enumerate(events):
            if event[1] == thread:
                length = event[3] - event[2]
                marks.append((event[3], 0, length, number))
                marks.append((event[2], 1, -length, number))
        open_now, before = [], None
        for time, is_start, _, number in sorted(marks):
            if open_now:
                result[open_now[-1]] += time - before
            before = time
            if is_start:
                open_now.append(number)
            else:
                open_now.remove(number)
    return result


def wrong_whole(events):
    """That is the whole time"""
    return [end - start for name, thread, start, end in events]


def wrong_all(events):
    """Only events directly inside count"""
    times = []
    for _, thread, start, end in events:
        inside = [b - a for other, t, a, b in events if t == thread and start <= a and b <= end]
        times.append(end - start - (sum(inside) - (end - start)))
    return times


def wrong_names(events):
    """two calls of one name are two events"""
    found = {}
    for event, own in zip(events, right_by_parentheses(events)):
        found[event[0]] = found.get(event[0], 0) + own
    return found


def right_by_a_pass(events):
    """With lists that are sorted before."""
    rows = sorted(([start, -end, place, thread] for place, (_, thread, start, end) in enumerate(events)))
    own, running = {}, {}
    for start, minus_end, place, thread in rows:
        end = -minus_end
        above = running.setdefault(thread, [])
        while above and above[-1][1] <= start:
            above.pop()
        own[place] = end - start
        if above:
            own[above[-1][0]] -= end - start
        above.append((place, end))
    return [own[place] for place in range(len(events))]


EDITED = right_by_a_pass
EDITS = [
    ("order in which the events were given", "[own[place] for place in range(len(events))]", "list(own.values())"),
    ("keep a stack for each", "running.setdefault(thread, [])", "running.setdefault(None, [])"),
    ("pop until the top still runs", "while above and", "if above and"),
    ("not for <", "above[-1][1] <= start", "above[-1][1] < start"),
    ("pop it before you look", "while above and above[-1][1] <= start:", "while False:"),
    ("directly around it", "own[above[-1][0]] -=", "own[above[0][0]] -="),
    ("Subtract; time inside", "own[above[-1][0]] -=", "own[above[-1][0]] +="),
    ("the later end comes first", "in rows:", "in sorted(rows, key=lambda row: (row[0], -row[1])):"),
]
