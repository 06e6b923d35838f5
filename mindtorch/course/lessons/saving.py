"""Lesson 8: when may you write into a tensor?"""
from __future__ import annotations

import weakref
from functools import partial

from ..tasks import Lab, described, lesson
from . import torch


class Part:
    """A part of a network with a parameter, its count of runs, and the live results of its first run."""

    def __init__(self):
        self.weight = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
        self.runs, self._inside = 0, []

    def __call__(self, x):
        self.runs += 1
        inside = []
        for _ in range(3):
            x = (x * self.weight).tanh()
            inside.append(weakref.ref(x.untyped_storage()))
        self._inside = self._inside or inside[:-1]
        return x + x.sum()

    def kept(self):
        return sum(reference() is not None for reference in self._inside)


def _run(function, program, factor=1.0):
    """Return the gradients of a program with a checkpoint in it, and its cost."""
    parts = [Part(), Part()]
    x = (torch.tensor([0.1, 0.2, 0.3]) * factor).requires_grad_()
    start = torch.ones(3)
    if program == "checkpoint(part, x).backward((1, -2, 3))":
        y, start = function(parts[0], x), torch.tensor([1.0, -2.0, 3.0])
    elif program == "checkpoint(part, x * 2), and a write into x * 2":
        h = x * 2
        y = function(parts[0], h)
        h.add_(1)
    elif program == "checkpoint(part, x * 2)":
        y = function(parts[0], x * 2)
    elif program == "checkpoint(second, checkpoint(part, x))":
        y = function(parts[1], function(parts[0], x))
    else:
        y = function(parts[0], x)
    if not isinstance(y, torch.Tensor):
        return {"the result of checkpoint": y}
    seen = {"the result of checkpoint": y.detach().clone(), "whether it requires grad": y.requires_grad,
            "results inside that are saved": sum(part.kept() for part in parts)}
    if not y.requires_grad:
        return seen
    try:
        y.backward(start)
    except RuntimeError as error:
        if "modified by an inplace operation" not in str(error):
            raise
        return {**seen, "the backward pass": "refused"}
    return {**seen, "the backward pass": "done", "x.grad": x.grad, "the parameter's gradient": parts[0].weight.grad,
            "the runs of the function": parts[0].runs}


PROGRAMS = ("checkpoint(part, x)", "checkpoint(part, x * 2)", "checkpoint(part, x).backward((1, -2, 3))",
            "checkpoint(second, checkpoint(part, x))", "checkpoint(part, x * 2), and a write into x * 2")


LESSON = lesson(
    "saving", checkpoint=partial(
        Lab, cases=tuple((name,) for name in PROGRAMS),
        run=_run, describe=described,
        refuses=("utils.checkpoint.checkpoint", "utils.checkpoint.checkpoint_sequential",
                 "utils.checkpoint.CheckpointFunction.forward")))
