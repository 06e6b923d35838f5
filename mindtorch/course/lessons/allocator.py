"""Lesson 12: where does a tensor's memory come from?"""
from __future__ import annotations

from functools import partial

from ..tasks import Lab, lesson

LESSON = lesson(
    "allocator", policy=partial(
        Lab, cases=(
         ([(0, 2048), (4096, 1024)], 1024), ([(0, 1024), (4096, 2048)], 512),
         ([(0, 4096), (8192, 1536), (16384, 2048)], 1024),
         ([(0, 4096), (8192, 2048), (16384, 3072), (32768, 1536)], 1024), ([(512, 1024)], 1024),
         ([(0, 3584), (4096, 5120)], 3072),
         ([(0, 2048), (4096, 1024), (8192, 1024)], 512), ([(0, 2048), (4096, 1024), (8192, 512)], 512))))
