"""Lesson 26: how many bits does a number need?"""
from __future__ import annotations

from functools import partial

from ..tasks import Lab, called, lesson
from . import torch

#: What is rounded, the scale, the zero point, the smallest and the largest integer.
CASES = (
    ((0.6, -0.6, 0.2, 1.1), 0.5, 0, -128, 127),
    ((0.0, 0.74, -0.76, 3.3), 0.25, 0, -128, 127),
    ((100.0, -100.0, 1.0, 0.3), 0.5, 0, -128, 127),
    ((0.1, 0.26, 0.9, 2.7), 0.1, 0, 0, 15),
    ((-0.4, -0.04, 0.26, 5.0), 0.1, 3, 0, 15),
    ((-3.2, -1.0, 0.0, 4.6), 0.5, -2, -8, 7),
    ((63.6, 63.9, -64.2, -64.4), 0.5, 0, -128, 127),
    ((0.9, 1.9, -0.9, -1.9), 1.0, 0, -2, 1),
)


def _run(function, values, scale, zero_point, low, high):
    """Return the converted values, and the gradient with respect to the values."""
    x = torch.tensor(values)
    result = called(function, x, scale, zero_point, low, high)
    if not isinstance(result, torch.Tensor):
        return {"the result": result}
    seen = {"the result": result.detach()}
    leaf = torch.tensor(values, requires_grad=True)
    result = function(leaf, scale, zero_point, low, high)
    if not result.requires_grad:
        return {**seen, "the gradient": None}
    result.backward(torch.tensor([1.0, 2.0, 3.0, 4.0]))
    return {**seen, "the gradient": leaf.grad}


LESSON = lesson(
    "numbers", fake_quantize=partial(
        Lab, cases=CASES, run=_run,
        describe=lambda values, scale, zero_point, low, high: f"fake_quantize(torch.tensor({list(values)}), {scale}, "
                                                              f"{zero_point}, {low}, {high})"))
