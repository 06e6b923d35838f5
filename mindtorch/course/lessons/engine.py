"""Lesson 7: in which order do gradients flow?"""
from __future__ import annotations

from functools import partial

from ..tasks import Lab, lesson
from . import course, torch


class Counted(torch.autograd.Function):
    """The identity; its node counts its runs."""

    runs = 0

    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, grad):
        Counted.runs += 1
        return grad


def _diamonds(w):
    h = Counted.apply(w)
    for _ in range(3):
        h = h * 2 + h
    return h.sum()


def _several_outputs(w):
    a, b, c = w.reshape(3, 2).unbind(0)
    return (a * 2 + c * c * 5 + b * 0).sum()


def _two_roots(w):
    h = Counted.apply(w)
    return (h * h).sum(), h[:2].sum()


def _a_root_below_another(w):
    h = Counted.apply(w)
    return (h * 3).sum(), h


#: What is differentiated, together where there are several: w has six elements.
PROGRAMS = {
    "w.sum()": lambda w: w.sum(),
    "(w * torch.ones(6)).sum()": lambda w: (w * torch.ones(6)).sum(),
    "(w * w).sum()": lambda w: (w * w).sum(),
    "(h * h + h).sum() with h = w * 2": lambda w: ((w * 2) * (w * 2) + w * 2).sum(),
    "(torch.ones(2, 6) * w).sum()": lambda w: (torch.ones(2, 6) * w).sum(),
    "three times h = h * 2 + h, from w": _diamonds,
    "sums of a, b, c = w.reshape(3, 2).unbind(0)": _several_outputs,
    "(h * h).sum() and h[:2].sum() together, from h made of w": _two_roots,
    "(h * 3).sum() and h itself together, from h made of w": _a_root_below_another,
    "(w.exp() / w.exp().sum()).log()[0]": lambda w: (w.exp() / w.exp().sum()).log()[0],
}


def _run(function, program, times, weight):
    """Return the gradient of w, and how often the node ran on which several paths meet."""
    w = torch.arange(6.).div(4).requires_grad_()
    losses = PROGRAMS[program](w)
    losses = losses if isinstance(losses, tuple) else (losses,)
    Counted.runs = 0
    with course.replace_engine(function):
        for i in range(times):
            torch.autograd.backward(losses, [torch.full(loss.shape, weight) for loss in losses],
                                    retain_graph=i < times - 1)
    return {"w.grad": w.grad, "the runs of a node on which several paths meet": Counted.runs}


LESSON = lesson(
    "engine", engine=partial(
        Lab, cases=(*((program, 1, 1.0) for program in PROGRAMS), ("(w * w).sum()", 2, 1.0), ("(w * w).sum()", 1, 3.0)),
        run=_run, refuses=("autograd.grad", "autograd.backward", "Tensor.backward", "_autograd.engine.execute"),
        describe=lambda program, times, weight: program + (f", {times} passes" if times > 1 else "")
        + (f", from the gradient {weight:g}" if weight != 1 else "")))
