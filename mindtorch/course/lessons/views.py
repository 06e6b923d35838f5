"""Lesson 2: view or copy?"""
from __future__ import annotations

from functools import partial

from ..tasks import Lab, lesson

LESSON = lesson(
    "views", can_view=partial(
        Lab, cases=(
         ((3, 4), (4, 1), (12,)), ((3, 4), (4, 1), (2, 6)), ((4, 3), (1, 4), (12,)), ((4, 3), (1, 4), (4, 3)),
         ((4, 3), (1, 4), (2, 2, 3)), ((4, 3), (1, 4), (3, 4)), ((3, 4), (4, 1), (5, 2)), ((3, 2), (4, 2), (6,)),
         ((3, 2), (4, 1), (6,)), ((2, 3, 4), (24, 4, 1), (6, 4)), ((2, 3, 4), (24, 4, 1), (2, 12)),
         ((2, 3, 4), (12, 4, 1), (6, 4)), ((2, 3, 4), (12, 1, 3), (6, 4)), ((3, 1, 4), (4, 99, 1), (12,)),
         ((4, 3), (1, 4), (4, 1, 3)), ((3, 4), (0, 1), (12,)), ((3, 4), (0, 0), (2, 6))),
        refuses=("as_strided", "as_strided_", "as_strided_copy", "empty_strided", "new_empty_strided", "set_")))
