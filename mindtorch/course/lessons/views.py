"""Lesson 2: view or copy?"""
from __future__ import annotations

from ..tasks import Lab, Lesson, Prediction

PREDICTIONS = (
    Prediction("transposed", "x has the shape (3, 4), and y = x.t(). Does y.reshape(12) share its memory with x?",
               False, "In the order of y, the places are 0, 4, 8, 1, 5, ...: no single step leads from each to the "
                      "next. No stride describes that, so reshape had to copy."),
    Prediction("columns", "And x[:, ::2].reshape(6), which reads every other column: does it share its memory with "
                          "x?", True,
               "The places are 0, 2, 4, 6, 8, 10: always two further, even from one row to the next. One stride of 2 "
               "describes them all."),
    Prediction("split", "Does y.view(2, 2, 3) work, where y = x.t() has the shape (4, 3) and the strides (1, 4)?", True,
               "Only the first dimension is split, 4 = 2 * 2, and each part of it is still walked in steps of one "
               "length. A view does not fail because a tensor is transposed; it fails if two dimensions must become "
               "one and do not follow each other in memory."),
)


LESSON = Lesson(
    2, "views", "View or copy?", "02_views", 30, PREDICTIONS,
    (Lab(
        "can_view", "Can a tensor be seen in a new shape without a copy?", "can_view",
        (((3, 4), (4, 1), (12,)), ((3, 4), (4, 1), (2, 6)), ((4, 3), (1, 4), (12,)), ((4, 3), (1, 4), (4, 3)),
         ((4, 3), (1, 4), (2, 2, 3)), ((4, 3), (1, 4), (3, 4)), ((3, 4), (4, 1), (5, 2)), ((3, 2), (4, 2), (6,)),
         ((3, 2), (4, 1), (6,)), ((2, 3, 4), (24, 4, 1), (6, 4)), ((2, 3, 4), (24, 4, 1), (2, 12)),
         ((2, 3, 4), (12, 4, 1), (6, 4)), ((2, 3, 4), (12, 1, 3), (6, 4)), ((3, 1, 4), (4, 99, 1), (12,)),
         ((4, 3), (1, 4), (4, 1, 3)), ((3, 4), (0, 1), (12,)), ((3, 4), (0, 0), (2, 6))),
        ("When are two neighbouring dimensions one? When a step along the first leads as far as walking the second to "
         "its end: stride[d] == shape[d + 1] * stride[d + 1].",
         "Join dimensions that follow each other into runs, and leave out those of size 1. The new dimensions have to "
         "fill the runs one after the other: none may begin in one run and end in the next.",
         "For each run, multiply new sizes until the product is the run's number of elements. If it becomes larger, "
         "there is no view."),
        4, refuses=("as_strided", "as_strided_", "as_strided_copy", "empty_strided", "new_empty_strided", "set_")),
     ),
)
