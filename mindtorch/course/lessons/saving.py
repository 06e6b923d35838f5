"""Lesson 8: when may you write into a tensor?"""
from __future__ import annotations

import weakref

from ..tasks import Lab, Lesson, Prediction, described
from . import torch

PREDICTIONS = (
    Prediction("plus", "w requires grad, h = w + 1, and then h *= 2. Will h.sum().backward() run?", True,
               "The slope of a sum is 1, whatever its values are. Neither operator has saved h, so writing into it "
               "does no harm."),
    Prediction("exp", "w requires grad, h = w.exp(), and then h += 1. Will h.sum().backward() run?", False,
               "The slope of exp is its result, which its node has saved. The write has changed the saved tensor, and "
               "the library refuses to compute with it."),
    Prediction("version", "x = torch.zeros(4) and half = x[:2]. After half.add_(1) and x[3] = 5, what is "
               "half._version?", 2,
               "half is a view of x, and a view shares the counter of the tensor that it views: both writes count for "
               "both."),
    Prediction("checkpoints", "Sixteen layers of equal size save their input each. With a checkpoint around every two "
                              "layers, how many of these inputs are still saved after the forward pass?", 8,
               "Of each pair only the first layer's input is saved. In the backward pass one pair at a time runs "
               "again, and for that time saves one more."),
)


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


LESSON = Lesson(
    8, "saving", "When may you write into a tensor?", "08_saving", 40, PREDICTIONS,
    (Lab(
        "checkpoint", "How can the backward pass need less memory?", "checkpoint", tuple((name,) for name in PROGRAMS),
        ("Inside checkpoint, write a class Checkpoint(torch.autograd.Function) with the static methods forward(ctx, x) "
         "and backward(ctx, grad), and return Checkpoint.apply(x).",
         "forward saves x and returns function(x). backward makes a leaf of the saved x, runs the function on it with "
         "recording switched on, and starts a backward pass from the result with the gradient that it was given.",
         "In backward: [x] = ctx.saved_tensors; x = x.detach().requires_grad_(); with torch.enable_grad(): result = "
         "function(x); result.backward(grad); return x.grad"),
        5, run=_run, describe=described,
        refuses=("utils.checkpoint.checkpoint", "utils.checkpoint.checkpoint_sequential",
                 "utils.checkpoint.CheckpointFunction.forward")),
     ),
)
