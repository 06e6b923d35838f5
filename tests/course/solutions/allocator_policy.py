"""Solutions of 'allocator.policy', right and wrong."""



def right_in_one_pass(free, size):
    best = 0
    for place in range(1, len(free)):
        if free[place][1] - size < free[best][1] - size:
            best = place
    return best


def right_by_sorting(free, size):
    return sorted(enumerate(free), key=lambda pair: (pair[1][1], pair[1][0]))[0][0]


def wrong_last_among_equals(free, size):
    """On a tie take the lowest address: change only for a smaller hole."""
    best = 0
    for place, (_, count) in enumerate(free):
        if count <= free[best][1]:
            best = place
    return best


def wrong_exact_only(free, size):
    """If no hole has exactly the size, take the smallest that is larger, not the first."""
    for place, (_, count) in enumerate(free):
        if count == size:
            return place
    return 0


def wrong_none_if_not_exact(free, size):
    """A hole need not match exactly: the rest of it stays free."""
    for place, (_, count) in enumerate(free):
        if count == size:
            return place
    return None


def right_with_min(free, size):
    return min(range(len(free)), key=lambda place: free[place][1] - size)


def right_by_sorting_too(free, size):
    return sorted((room - size, address, place) for place, (address, room) in enumerate(free))[0][-1]


def wrong_none(free, size):
    """here a hole is large enough"""
    if not any(room < size for _, room in free):
        return None
    return 0


WRONG = [
    ("That is the first hole that is large enough: compare all of them.", lambda free, size: 0),
    ("That is the largest hole, which leaves the largest rest",
     lambda free, size: max(range(len(free)), key=lambda i: free[i][1])),
    ("Return the position in the list, not the address.",
     lambda free, size: min(free, key=lambda hole: hole[1] - size)[0]),
    ("Return the position in the list, not the hole itself.",
     lambda free, size: min(free, key=lambda hole: hole[1] - size)),
    ("Return the position in the list, not the rest that is left.",
     lambda free, size: min(count - size for _, count in free)),
    ("That is the first hole that is large enough: compare all of them.",
     lambda free, size: min(range(len(free)), key=lambda i: free[i])),
    ("Positions are counted from 0.", lambda free, size: min(range(len(free)), key=lambda i: free[i][1]) + 1),
    ("That is the last hole: look for the smallest", lambda free, size: len(free) - 1),
    ("A hole is a pair (address, bytes): compare the bytes.",
     lambda free, size: min(range(len(free)), key=lambda i: abs(free[i][0] - size))),
]
