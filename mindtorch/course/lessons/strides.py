"""Lesson 1: why is ``t()`` free?"""
from __future__ import annotations

from math import prod

from ..tasks import Lab, Lesson, Mistake, Prediction

PREDICTIONS = (
    Prediction("t", "x has the shape (3, 4) and the strides (4, 1). What are the strides of x.t()?", (1, 4),
               "Transposing swaps sizes and strides, and touches no element: one step down now moves one place on, one "
               "step to the right moves four."),
    Prediction("slice", "And those of x.t()[1:]? Give strides and offset: (first stride, second stride, "
                        "offset).", (1, 4, 1),
               "Leaving out the first row changes where reading begins, not how it steps: the strides stay, and the "
               "offset is one step along the first dimension, which is one place."),
    Prediction("expand", "row has 4 elements. How many elements of new memory does row.expand(1000, 4) need?", 0,
               "With a stride of 0, one step down stays at the same place. A thousand rows read the same four places."),
)


def position(index, shape, stride, offset):
    place = offset
    for i, size, step in zip(index, shape, stride, strict=True):
        if i < 0:
            i += size
        place += i * step
    return place


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

LESSON = Lesson(
    1, "strides", "Why is `t()` free?", "01_strides", 29, PREDICTIONS,
    (Lab(
        "position", "Where in the storage is an element?", position,
        (((0, 0), (3, 4), (4, 1), 0), ((1, 2), (3, 4), (4, 1), 0), ((2, 1), (4, 3), (1, 4), 0),
         ((0, 0), (3, 3), (1, 4), 1), ((2, 1), (3, 2), (1, 8), 5), ((5,), (10,), (2,), 3),
         ((-1, -2), (3, 4), (4, 1), 2), ((1, 0, 3), (2, 3, 4), (4, 8, 1), 7), ((), (), (), 6),
         ((700, 3), (1000, 4), (0, 1), 0)),
        ("Start at the offset, and walk: for each dimension, the index is the number of steps and the stride is the "
         "length of one.",
         "A dimension contributes index * stride. Negative indices first become size + index.",
         "Begin with place = offset. For i, size, step in zip(index, shape, stride), add (i + size if i < 0 else i) * "
         "step."),
        MISTAKES, 3,
        hidden=(((0, 1, -1, 2), (2, 2, 5, 3), (1, 2, 12, 4), 9), ((-3,), (3,), (7,), 4), ((1, 1), (2, 2), (3, 3), 1)),
    ),),
)
