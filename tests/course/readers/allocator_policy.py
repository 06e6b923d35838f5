"""From the text of 'allocator.policy' alone. A wrong one's docstring is what the hint has to say."""
def right_in_one_pass(free, size):
    best = 0
    for place in range(1, len(free)):
        if free[place][1] - size < free[best][1] - size:
            best = place
    return best


def right_by_sorting(free, size):
    return sorted(enumerate(free), key=lambda pair: (pair[1][1], pair[1][0]))[0][0]


def wrong_first(free, size):
    """That is the first hole that is large enough: compare all of them."""
    return 0


def wrong_largest(free, size):
    """That is the largest hole, which leaves the largest rest"""
    return max(range(len(free)), key=lambda i: free[i][1])


def wrong_last_among_equals(free, size):
    """On a tie take the lowest address: change only for a smaller hole."""
    best = 0
    for place, (_, count) in enumerate(free):
        if count <= free[best][1]:
            best = place
    return best


def wrong_address_returned(free, size):
    """Return the position in the list, not the address."""
    return min(free, key=lambda hole: hole[1] - size)[0]


def wrong_hole_returned(free, size):
    """Return the position in the list, not the hole itself."""
    return min(free, key=lambda hole: hole[1] - size)


def wrong_rest_returned(free, size):
    """Return the position in the list, not the rest that is left."""
    return min(count - size for _, count in free)


def wrong_exact_only(free, size):
    """If no hole has exactly the size, take the smallest that is larger, not the first."""
    for place, (_, count) in enumerate(free):
        if count == size:
            return place
    return 0


def wrong_lowest_address_counts_first(free, size):
    """That is the first hole that is large enough: compare all of them."""
    return min(range(len(free)), key=lambda i: free[i])


def wrong_counts_from_one(free, size):
    """Positions are counted from 0."""
    return min(range(len(free)), key=lambda i: free[i][1]) + 1


def wrong_none_if_not_exact(free, size):
    """A hole need not match exactly: the rest of it stays free."""
    for place, (_, count) in enumerate(free):
        if count == size:
            return place
    return None


def wrong_last(free, size):
    """That is the last hole: look for the smallest"""
    return len(free) - 1


def wrong_addresses_for_sizes(free, size):
    """A hole is a pair (address, bytes): compare the bytes."""
    return min(range(len(free)), key=lambda i: abs(free[i][0] - size))
