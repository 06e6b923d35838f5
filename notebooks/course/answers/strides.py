"""Mistakes that readers of lesson 1 make, each with its hint, and cases that only graders run."""
from __future__ import annotations

from math import prod

from mindtorch.course.masters import Mistake, solution

position = solution("strides.position")


def _positive(index, shape):
    return [i + n if i < 0 else i for i, n in zip(index, shape, strict=True)]


def _row_major(shape):
    return [prod(shape[d + 1:]) for d in range(len(shape))]


def _dot(index, step):
    return sum(i * s for i, s in zip(index, step, strict=False))


MISTAKES = (
    Mistake("The offset is missing: a slice such as x[1:] does not begin at place 0.",
            lambda i, n, s, o: _dot(_positive(i, n), s)),
    Mistake("Negative indices count from the end: -1 is the last one, size - 1.", lambda i, n, s, o: o + _dot(i, s)),
    Mistake("These would be the strides of a fresh tensor of this shape: use the strides that are given, which a view "
            "may have changed.", lambda i, n, s, o: o + _dot(_positive(i, n), _row_major(n))),
    Mistake("An index is multiplied by the stride of its dimension, not by its size.",
            lambda i, n, s, o: o + _dot(_positive(i, n), n)),
    Mistake("The strides are in the wrong order: the first stride belongs to the first index.",
            lambda i, n, s, o: o + _dot(_positive(i, n), s[::-1])),
    Mistake("The offset is one place and counts once, not once a dimension.",
            lambda i, n, s, o: o * len(i) + _dot(_positive(i, n), s)),
    Mistake("Indices begin at 0, so the first element is at the offset itself.",
            lambda i, n, s, o: o + _dot([k + 1 for k in _positive(i, n)], s)),
    Mistake("Strides and offsets count elements, not bytes: do not multiply by the size of an element.",
            lambda i, n, s, o: 4 * position(i, n, s, o)),
    Mistake("All dimensions count: add the contribution of every index.",
            lambda i, n, s, o: o + _dot(_positive(i, n)[-1:], s[-1:])),
    Mistake("All dimensions count: add the contribution of every index.",
            lambda i, n, s, o: o + _dot(_positive(i, n)[:1], s[:1])),
    Mistake("The strides alone do not determine where an element is: multiply each by its index.",
            lambda i, n, s, o: o + sum(s)),
    Mistake("Add the offset as it is: it is a place already, and no stride applies to it.",
            lambda i, n, s, o: _dot([k + o for k in _positive(i, n)], s)),
    Mistake("Add the offset as it is: it is a place already, and no stride applies to it.",
            lambda i, n, s, o: _dot(_positive(i, n), s) + o * (s[0] if s else 1)),
    Mistake("The last element of a dimension is at size - 1, and the index -1 means that one: add the size, and "
            "nothing else.",
            lambda i, n, s, o: o + _dot([k + m - 1 if k < 0 else k for k, m in zip(i, n, strict=True)], s)),
    Mistake("A negative index counts from the end of its dimension: add the size, do not drop the sign.",
            lambda i, n, s, o: o + _dot(map(abs, i), s)),
    Mistake("Each index has its own stride: multiply first, and then add.",
            lambda i, n, s, o: o + sum(_positive(i, n)) * sum(s)),
    Mistake("Each negative index counts from the end of its own dimension, not from the end of the memory: the place "
            "may be beyond the number of elements.",
            lambda i, n, s, o: (o + _dot(i, s)) % prod(n)),
    Mistake("The offset is where reading begins: add it.",
            lambda i, n, s, o: _dot(_positive(i, n), s) - o),
)

MISTAKES_OF = {"position": MISTAKES}
HIDDEN = {"position": (((0, 1, -1, 2), (2, 2, 5, 3), (1, 2, 12, 4), 9), ((-3,), (3,), (7,), 4),
                       ((1, 1), (2, 2), (3, 3), 1))}
