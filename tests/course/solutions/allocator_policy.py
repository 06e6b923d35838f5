"""Solutions of 'allocator.policy'. The hint has a wrong one's docstring, or the text in `WRONG`."""


def right_with_min(free, size):
    return min(range(len(free)), key=lambda place: free[place][1] - size)


def right_by_sorting(free, size):
    return sorted((room - size, address, place) for place, (address, room) in enumerate(free))[0][-1]


def wrong_none(free, size):
    """here a hole is large enough"""
    if not any(room < size for _, room in free):
        return None
    return 0


def wrong_larger(free, size):
    """A hole of exactly the size is the best of all: it leaves nothing."""
    larger = [(room, place) for place, (_, room) in enumerate(free) if room > size]
    return min(larger)[1] if larger else 0


def wrong_stops(free, size):
    """do not stop at the first"""
    for place in range(1, len(free)):
        if free[place][1] < free[place - 1][1]:
            return place
    return 0


WRONG = [
    ("Return the position in the list, not the hole's bytes.", lambda free, size: min(room for _, room in free)),
]
