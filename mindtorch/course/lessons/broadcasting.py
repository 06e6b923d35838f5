"""Lesson 3: broadcasting and promotion."""
from __future__ import annotations

from functools import partial

from ..tasks import Lab, lesson
from . import torch


def _count(shape):
    count = 1
    for size in shape:
        count *= size
    return count


def _grad(*shape, dtype=None):
    return torch.arange(float(_count(shape)), dtype=dtype).reshape(shape) + 1


CASES = (
    (_grad(2, 3), (2, 3)), (_grad(2, 3), (3,)), (_grad(2, 3), (2, 1)), (_grad(4, 3, 2), (3, 1)), (_grad(2, 3), ()),
    (_grad(3, 3), (3,)), (_grad(4, 1, 2), (1, 2)), (_grad(2, 3, dtype=torch.float64), (1, 3)),
)


LESSON = lesson(
    "broadcasting", unbroadcast=partial(
        Lab, cases=CASES,
        refuses=("sum_to_size",),
        describe=lambda grad, shape: f"unbroadcast(a gradient of shape {tuple(grad.shape)}, {shape})"))
