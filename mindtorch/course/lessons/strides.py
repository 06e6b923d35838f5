"""Lesson 1: why is ``t()`` free?"""
from __future__ import annotations

from ..tasks import Lab, Lesson, Prediction

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


LESSON = Lesson(
    1, "strides", "Why is `t()` free?", "01_strides", 29, PREDICTIONS,
    (Lab(
        "position", "Where in the storage is an element?", "position",
        (((0, 0), (3, 4), (4, 1), 0), ((1, 2), (3, 4), (4, 1), 0), ((2, 1), (4, 3), (1, 4), 0),
         ((0, 0), (3, 3), (1, 4), 1), ((2, 1), (3, 2), (1, 8), 5), ((5,), (10,), (2,), 3),
         ((-1, -2), (3, 4), (4, 1), 2), ((1, 0, 3), (2, 3, 4), (4, 8, 1), 7), ((), (), (), 6),
         ((700, 3), (1000, 4), (0, 1), 0)),
        ("Start at the offset, and walk: for each dimension, the index is the number of steps and the stride is the "
         "length of one.",
         "A dimension contributes index * stride. Negative indices first become size + index.",
         "Begin with place = offset. For i, size, step in zip(index, shape, stride), add (i + size if i < 0 else i) * "
         "step."),
        3, refuses=("as_strided", "as_strided_", "as_strided_copy", "empty_strided", "new_empty_strided", "set_")),
     ),
)
