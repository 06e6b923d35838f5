"""Mistakes that readers of lesson 23 make, each with its hint, and cases that only graders run."""
from __future__ import annotations

from functools import partial

from mindtorch.course.masters import Mistake, edited

changed = partial(edited, "profiles.own_times")
ORDER = "sorted(range(len(events)), key=lambda place: (events[place][2], -events[place][3]))"


def _all_inside(events):
    """Subtract everything that lies inside."""
    own = [end - start for _, _, start, end in events]
    for i, (_, thread, start, end) in enumerate(events):
        for j, (_, other, first, last) in enumerate(events):
            if i != j and thread == other and start <= first and last <= end:
                own[i] -= last - first
    return own


def _by_name(events):
    """Collect own times by name."""
    found = {}
    for (name, *_), own in zip(events, edited("profiles.own_times", "", ("return own", "return own")).function(events),
                                strict=True):
        found[name] = found.get(name, 0) + own
    return found


MISTAKES = (
    Mistake("That is the whole time: subtract the time of the events directly inside.",
            lambda events: [end - start for _, _, start, end in events]),
    Mistake("Only events directly inside count: what is inside those was already subtracted from them.", _all_inside),
    Mistake("Return a list with an entry for each event: two calls of one name are two events.", _by_name),
    Mistake("An own time is a length: end minus start, less what is inside.",
            lambda events: [end for _, _, _, end in events]),
    changed("Return the times in the order in which the events were given, not in that of their starts.",
            ("return own", "return [own[place] for place in " + ORDER + "]")),
    changed("Sort by start first: events come in any order, often in that of their ends.",
            (ORDER, "range(len(events))")),
    changed("Sort by start, not by end: an event must come after those around it.",
            (ORDER, "sorted(range(len(events)), key=lambda place: (events[place][3], events[place][2]))")),
    changed("Of two events with one start the later end comes first: it is around the other.",
            (ORDER, "sorted(range(len(events)), key=lambda place: events[place][2])")),
    changed("Of two events with one start the later end comes first: it is around the other.",
            (ORDER, "sorted(range(len(events)), key=lambda place: (events[place][2], events[place][3]))")),
    changed("Threads have nothing to do with each other: keep a stack for each.",
            ("around.setdefault(thread, [])", "around.setdefault(0, [])")),
    changed("An event that has ended is around nothing: pop it before you look at the top.",
            ("while stack and events[stack[-1]][3] <= start:", "while False:")),
    changed("Several events may have ended: pop until the top still runs.",
            ("while stack and events[stack[-1]][3] <= start:", "if stack and events[stack[-1]][3] <= start:")),
    changed("An event that ends where another begins is not around it: pop for <=, not for <.",
            ("events[stack[-1]][3] <= start", "events[stack[-1]][3] < start")),
    changed("An event is popped when it has ended before the next one starts, not before that one ends.",
            ("events[stack[-1]][3] <= start", "events[stack[-1]][3] <= end")),
    changed("Subtract from the event directly around it, the top of the stack: push every event, since it may be "
            "around the next one.",
            ("        stack.append(place)", "        if not stack:\n            stack.append(place)")),
    changed("Subtract the whole time of an event from that around it, not its own time.",
            ("own[stack[-1]] -= end - start", "own[stack[-1]] -= own[place] - (end - start) * (len(stack) > 1)")),
    changed("Subtract; time inside does not come on top.", ("own[stack[-1]] -= end", "own[stack[-1]] += end")),
    changed("Take the time from the event around, not from the event itself.",
            ("own[stack[-1]] -= end - start", "own[place] -= end - start")),
)

MISTAKES_OF = {"own_times": MISTAKES}
HIDDEN = {"own_times": (
    (("a", 0, 5, 6), ("b", 0, 4, 7), ("x", 2, 4, 7), ("c", 0, 7, 8), ("d", 0, 4, 8), ("y", 2, 7, 9), ("e", 0, 1, 9)),
    (("e", 3, 0, 9), ("d", 3, 0, 8), ("c", 3, 0, 7), ("b", 3, 1, 7), ("a", 3, 8, 9)),
)}
