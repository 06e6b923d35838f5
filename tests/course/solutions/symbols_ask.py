"""Solutions of 'symbols.ask', right and wrong."""
import math
import operator

COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq,
           "!=": operator.ne}


def right_by_difference_of_ends(question, sizes, ranges):
    """One range for left minus right: the question is then about zero."""
    def spread(e):
        if isinstance(e, int):
            return e, e, e
        if isinstance(e, str):
            return sizes[e], *ranges[e]
        op, left, right = e
        (u, a, b), (v, c, d) = spread(left), spread(right)
        if op == "+":
            return u + v, a + c, b + d
        if op == "*":
            def times(x, y):
                return 0 if x == 0 or y == 0 else x * y
            ends = sorted(times(x, y) for x in (a, b) for y in (c, d))
            return u * v, ends[0], ends[-1]
        if op == "//":
            return u // v, a // v if a > -math.inf else a, b // v if b < math.inf else b
        return u % v, 0, v - 1

    op, left, right = question
    (u, a, b), (v, c, d) = spread(left), spread(right)
    low, high = a - d, b - c
    truths = set()
    if low < 0:
        truths.add(COMPARE[op](-1, 0))
    if high > 0:
        truths.add(COMPARE[op](1, 0))
    if low <= 0 <= high:
        truths.add(COMPARE[op](0, 0))
    return COMPARE[op](u, v), len(truths) > 1


class Interval:
    def __init__(self, low, high):
        self.low, self.high = low, high

    def __add__(self, other):
        return Interval(self.low + other.low, self.high + other.high)

    def __mul__(self, other):
        ends = [x * y if x and y else 0 for x in (self.low, self.high) for y in (other.low, other.high)]
        return Interval(min(ends), max(ends))

    def __floordiv__(self, other):
        return Interval(*[x if abs(x) == math.inf else x // other.low for x in (self.low, self.high)])

    def __mod__(self, other):
        return Interval(0, other.low - 1)

    def __lt__(self, other):
        return True if self.high < other.low else False if self.low >= other.high else None


def right_by_classes(question, sizes, ranges):
    """Intervals that compute like numbers, and three answers: True, False, None."""
    functions = {"+": operator.add, "*": operator.mul, "//": operator.floordiv, "%": operator.mod}

    def evaluated(e, leaf):
        if isinstance(e, tuple):
            return functions[e[0]](evaluated(e[1], leaf), evaluated(e[2], leaf))
        return leaf(e)

    op, *sides = question
    numbers = [evaluated(side, lambda e: sizes.get(e, e)) for side in sides]
    left, right = (evaluated(side, lambda e: Interval(*ranges.get(e, (e, e)))) for side in sides)
    less, greater = left < right, right < left
    if op == "<":
        known = less
    elif op == ">":
        known = greater
    elif op == "<=":
        known = None if greater is None else not greater
    elif op == ">=":
        known = None if less is None else not less
    else:
        same = False if less or greater else True if left.low == left.high == right.low == right.high else None
        known = same if op == "==" or same is None else not same
    return COMPARE[op](*numbers), known is None


def wrong_always(question, sizes, ranges):
    """Not every answer is a guard"""
    return right_by_classes(question, sizes, ranges)[0], True


def wrong_never(question, sizes, ranges):
    """Without guards a program is used"""
    return right_by_classes(question, sizes, ranges)[0], False


def wrong_one(question, sizes, ranges):
    """Return two truth values"""
    return right_by_classes(question, sizes, ranges)[0]


EDITED = right_by_difference_of_ends
EDITS = [
    ("not if they do", "len(truths) > 1", "len(truths) == 1"),
    ("the sums of the ends", "u + v, a + c, b + d", "u + v, a + d, b + c"),
    ("any of the four products", "for x in (a, b) for y in (c, d))", "for x, y in ((a, c), (b, d)))"),
    ("one less than the divisor", "0, v - 1", "0, v"),
    ("rounds down in the bounds", "b // v if b < math.inf", "b / v if b < math.inf"),
    ("rounds down: 3 // 2", "return u // v, a // v", "return u / v, a // v"),
    ("Ranges are given", "return sizes[e], *ranges[e]", "return sizes[e], 2, math.inf"),
]
