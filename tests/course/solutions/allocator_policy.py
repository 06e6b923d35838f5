"""Solutions of 'allocator.policy'. A wrong one's docstring is what the hint has to say."""


def right_with_min(free, size):
    return min(range(len(free)), key=lambda place: free[place][1] - size)


def right_by_sorting(free, size):
    return sorted((room - size, address, place) for place, (address, room) in enumerate(free))[0][-1]


def wrong_first(free, size):
    """the first hole that is large enough"""
    for place, (_, room) in enumerate(free):
        if room >= size:
            return place


def wrong_last(free, size):
    """That is the last hole"""
    found = None
    for place, (_, room) in enumerate(free):
        if room >= size:
            found = place
    return found


def wrong_largest(free, size):
    """That is the largest hole"""
    sizes = [room for _, room in free]
    return sizes.index(max(sizes))


def wrong_address(free, size):
    """Return the position in the list, not the address."""
    return min(free, key=lambda hole: hole[1])[0]


def wrong_hole(free, size):
    """Return the position in the list, not the hole itself."""
    return sorted(free, key=lambda hole: hole[1])[0]


def wrong_bytes(free, size):
    """Return the position in the list, not the hole's bytes."""
    return min(room for _, room in free)


def wrong_rest(free, size):
    """Return the position in the list, not the rest that is left."""
    return min(room - size for _, room in free)


def wrong_counted_from_one(free, size):
    """Positions are counted from 0."""
    return min(enumerate(free, 1), key=lambda pair: pair[1][1])[0]


def wrong_none(free, size):
    """here a hole is large enough"""
    if not any(room < size for _, room in free):
        return None
    return 0


def wrong_exact(free, size):
    """A hole need not match exactly: the rest of it stays free."""
    for place, (_, room) in enumerate(free):
        if room == size:
            return place
    return None


def wrong_larger(free, size):
    """A hole of exactly the size is the best of all: it leaves nothing."""
    larger = [(room, place) for place, (_, room) in enumerate(free) if room > size]
    return min(larger)[1] if larger else 0


def wrong_last_of_equals(free, size):
    """On a tie take the lowest address: change only for a smaller hole."""
    best = 0
    for place, (_, room) in enumerate(free):
        if room <= free[best][1]:
            best = place
    return best


def wrong_stops(free, size):
    """do not stop at the first"""
    for place in range(1, len(free)):
        if free[place][1] < free[place - 1][1]:
            return place
    return 0
