"""Solutions of 'dtensor.plan', right and wrong."""
from mindtorch.distributed.tensor import Partial, Replicate, Shard

#: The letters of a product: m x k by k x n; each divides one, two or three of the matrices.
LETTERS = {"m": (Shard(0), Replicate(), Shard(0)), "n": (Replicate(), Shard(1), Shard(1)),
           "k": (Shard(1), Shard(0), Partial())}


def right_by_letters(a, b, a_bytes, b_bytes, n):
    """A row for each letter, and three more; costs by the steps of a ring."""
    ways = [*LETTERS.values(), (Replicate(), Replicate(), Replicate()), (Partial(), Replicate(), Partial()),
            (Replicate(), Partial(), Partial())]

    def bytes_of(before, after, size):
        step = size / n  # what one message carries
        match before, after:
            case (Replicate(), _):
                return 0
            case (Shard(dim=one), Shard(dim=other)):
                return 0 if one == other else (n - 1) * step / n
            case (Partial(), Partial()):
                return 0
            case (Partial(), Replicate()):
                return 2 * (n - 1) * step
            case _:
                return (n - 1) * step

    costs = [bytes_of(a, way[0], a_bytes) + bytes_of(b, way[1], b_bytes) for way in ways]
    least = min(costs)
    return [*ways[costs.index(least)], least]


def right_by_a_table(a, b, a_bytes, b_bytes, n):
    """The factors of the cost in a table of kinds."""
    R, P, S0, S1 = (Replicate(), Partial(), Shard(0), Shard(1))
    factor = {("S", "R"): 1, ("P", "R"): 2, ("P", "S"): 1, ("S", "S"): 1 / n, ("S", "P"): 1,
              ("R", "S"): 0, ("R", "P"): 0}

    def kind(place):
        return "S" if place.is_shard() else "R" if place.is_replicate() else "P"

    def price(one, other, size):
        return 0 if one == other else factor[kind(one), kind(other)] * size * (1 - 1 / n)

    found = None
    for row in ((R, R, R), (S1, S0, P), (S0, R, S0), (R, S1, S1), (R, P, P), (P, R, P)):
        total = price(a, row[0], a_bytes) + price(b, row[1], b_bytes)
        if found is None or total < found[3]:
            found = (*row, total)
    return found


def wrong_gathers(a, b, a_bytes, b_bytes, n):
    """Gathering both factors is always right, and rarely the cheapest"""
    def price(place, size):
        return 0 if place.is_replicate() else size * (n - 1) / n * (2 if place.is_partial() else 1)

    return Replicate(), Replicate(), Replicate(), price(a, a_bytes) + price(b, b_bytes)


EDITED = right_by_a_table
EDITS = [
    ("it costs twice an all-gather", '("P", "R"): 2', '("P", "R"): 1'),
    ("is an all-to-all", '("S", "S"): 1 / n', '("S", "S"): 1'),
    ("since its own part stays", "* size * (1 - 1 / n)", "* size"),
    ("each rank takes its part: nothing is sent", '("R", "S"): 0, ("R", "P"): 0', '("R", "S"): 1, ("R", "P"): 1'),
    ("P, not R", "(S1, S0, P)", "(S1, S0, R)"),
    ("(P, P) is no row", "(P, R, P)):", "(P, R, P), (P, P, P)):"),
    ("It is the columns of a that meet the rows of b", "(S1, S0, P)", "(S0, S1, P)"),
    ("A product is linear in b", "(R, P, P), ", ""),
    ("Each factor has bytes of its own", "price(b, row[1], b_bytes)", "price(b, row[1], a_bytes)"),
    ("Both factors count", "price(a, row[0], a_bytes) + price", "price"),
    ("Return four values", "    return found\n", "    return found[:3]\n"),
    ("Rows of a times rows of b do not fit", "(S0, R, S0)", "(S0, S0, S0)"),
]
