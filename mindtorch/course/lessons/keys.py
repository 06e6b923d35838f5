"""Lesson 5: which key first?"""
from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..tasks import Lab, described, lesson
from . import course, torch

#: What is computed with the key, as readers would write it.
PROGRAMS: dict[str, Callable] = {
    "x @ w": lambda x, w: x @ w,
    "x + w.t()": lambda x, w: x + w.t(),
    "x.double() @ w.double()": lambda x, w: x.double() @ w.double(),
    "(x @ w).relu()": lambda x, w: (x @ w).relu(),
    "torch.nn.functional.linear(x, w.t(), torch.ones(2))":
        lambda x, w: torch.nn.functional.linear(x, w.t(), torch.ones(2)),
    "x.exp()": lambda x, w: x.exp(),
    "torch.arange(6).view(2, 3) @ torch.arange(3)": lambda x, w: torch.arange(6).view(2, 3) @ torch.arange(3),
}


def _run(function, program, factor=1.0):
    """Return the result of a program with the key, and the gradient of w."""
    x = torch.tensor([[1., 2.004, 3], [4, 5, 6.02]]) * factor
    w = torch.tensor([[1., 2], [3, 4.01], [5, 6]], requires_grad=True)
    with course.add_key("Autocast", function):
        found = PROGRAMS[program](x, w)
    if not isinstance(found, torch.Tensor):
        return {"the result": found}
    seen = {"the result": found.detach(), "whether it requires grad": found.requires_grad}
    if found.requires_grad:
        found.sum().backward()
        seen["the gradient of w"] = w.grad
    return seen


LESSON = lesson(
    "keys", autocast=partial(
        Lab, cases=tuple((name,) for name in PROGRAMS),
        run=_run, describe=described, refuses=("autocast.__enter__",)))
