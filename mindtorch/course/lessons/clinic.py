"""Lesson 15: what is wrong with this program?"""
from __future__ import annotations

from functools import partial

from ..tasks import Lab, lesson

LESSON = lesson(
    "clinic", product=partial(
        Lab, cases=(
         ((2, 3), (4, 3)), ((2, 3), (3, 4)), ((2, 3), (2, 5)), ((2, 3), (5, 2)), ((2, 3), (5, 7)), ((4, 4), (4, 4)),
         ((2, 3), (2, 3)), ((3, 4), (3, 3)), ((2, 3), (2, 2)))))
