"""Solutions of 'partition.choose', right and wrong."""
from itertools import combinations


def _gettable(values, kept):
    known = set()
    for value in values:
        if value.name in kept or (value.cheap and all(name in known for name in value.reads)):
            known.add(value.name)
    return all(value.name in known for value in values if value.needed)


def right_by_trying(values):
    """Every set, by its bytes."""
    names = {value.name: value.bytes for value in values}
    sets = [kept for count in range(len(names) + 1) for kept in combinations(names, count)]
    return list(min((kept for kept in sets if _gettable(values, kept)), key=lambda kept: sum(names[n] for n in kept)))


def right_by_augmenting(values):
    """Ford and Fulkerson: look for a path with room, and send as much as fits, until there is none."""
    free = 10 ** 9
    room = {}

    def edge(a, b, capacity):
        room.setdefault(a, {})[b] = capacity
        room.setdefault(b, {}).setdefault(a, 0)

    for value in values:
        edge((value.name, 0), (value.name, 1), value.bytes)
        for name in value.reads:
            edge((name, 1), (value.name, 0), free)
        if not value.cheap:
            edge("s", (value.name, 0), free)
        if value.needed:
            edge((value.name, 1), "t", free)
    while True:
        before, todo = {"s": None}, ["s"]
        for point in todo:
            for after, capacity in room.get(point, {}).items():
                if capacity and after not in before:
                    before[after] = point
                    todo.append(after)
        if "t" not in before:
            return {value.name for value in values if (value.name, 0) in before and (value.name, 1) not in before}
        path, at = [], "t"
        while before[at] is not None:
            path.append((before[at], at))
            at = before[at]
        amount = min(room[a][b] for a, b in path)
        for a, b in path:
            room[a][b] -= amount
            room[b][a] += amount


def wrong_all_that_is_needed(values):
    """This keeps all that is needed"""
    return [value.name for value in values if value.needed]


def wrong_inputs(values):
    """This keeps all that is dear"""
    return [value.name for value in values if not value.cheap]


def wrong_nothing(values):
    """they must be kept, or computed from what is kept"""
    return []


def wrong_values(values):
    """Return names, not the values"""
    return [value for value in values if value.needed]


EDITED = right_by_augmenting
EDITS = [
    ("Each value counts by its bytes", "edge((value.name, 0), (value.name, 1), value.bytes)",
     "edge((value.name, 0), (value.name, 1), 1)"),
    ("A value may be computed from several", "for name in value.reads:", "for name in value.reads[:1]:"),
    ("Every dear value lets water in", "if not value.cheap:", "if not value.reads:"),
    ("Cheap values do not let water in", "if not value.cheap:", "if not value.cheap or not value.reads:"),
    ("Water leaves at every value that is needed", "if value.needed:",
     "if value.needed and not any(value.name in other.reads for other in values):"),
    ("Water leaves at what the backward pass needs", "if value.needed:",
     "if not any(value.name in other.reads for other in values):"),
    ("The cut is where the water stops", "(value.name, 0) in before and (value.name, 1) not in before",
     "(value.name, 1) not in before"),
]
