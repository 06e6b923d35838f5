"""Lesson 1: why is ``t()`` free?"""
from __future__ import annotations

from functools import partial

from ..tasks import Lab, lesson

LESSON = lesson(
    "strides", position=partial(
        Lab, cases=(
         ((0, 0), (3, 4), (4, 1), 0), ((1, 2), (3, 4), (4, 1), 0), ((2, 1), (4, 3), (1, 4), 0),
         ((0, 0), (3, 3), (1, 4), 1), ((2, 1), (3, 2), (1, 8), 5), ((5,), (10,), (2,), 3),
         ((-1, -2), (3, 4), (4, 1), 2), ((1, 0, 3), (2, 3, 4), (4, 8, 1), 7), ((), (), (), 6),
         ((700, 3), (1000, 4), (0, 1), 0)),
        refuses=("as_strided", "as_strided_", "as_strided_copy", "empty_strided", "new_empty_strided", "set_")))
