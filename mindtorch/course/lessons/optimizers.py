"""Lesson 9: what does step() do?"""
from __future__ import annotations

from functools import partial

from ..tasks import Lab, lesson
from . import torch


def _run(function, start, gradients, lr, betas, eps):
    """Update two parameters in turns, the second with flipped gradients; return both, and the gradients afterwards."""
    parameters = [torch.tensor(start, requires_grad=True), torch.tensor(start, requires_grad=True)]
    states = [{}, {}]
    seen = {}
    with torch.no_grad():
        for number, gradient in enumerate(gradients, 1):
            grads = [torch.tensor(gradient), torch.tensor(gradient).flip(0)]
            for parameter, grad, state in zip(parameters, grads, states, strict=True):
                function(parameter, grad, state, lr, *betas, eps)
            seen[f"the parameter after step {number}"] = parameters[0].detach().clone()
            seen[f"another parameter after step {number}"] = parameters[1].detach().clone()
            seen[f"the gradient after step {number}"] = grads[0]
    return seen


def _described(start, gradients, lr, betas, eps):
    steps = f"{len(gradients)} step{'s' * (len(gradients) > 1)}"
    return f"{steps} with lr={lr:g}, betas={betas}, eps={eps:g}"


LESSON = lesson(
    "optimizers", adam=partial(
        Lab, cases=(
         ([1.0, -2.0], ([0.5, 3.0],), 0.1, (0.9, 0.99), 1e-3),
         ([1.0, -2.0], ([0.5, 3.0], [-1.0, 0.25], [0.5, 0.5]), 0.1, (0.9, 0.99), 1e-3),
         ([0.0, 0.0], ([0.0, 1.0], [0.0, -1.0]), 0.5, (0.8, 0.9), 1e-8),
         ([0.3, 0.1, 0.2], ([100.0, 0.01, 1.0],) * 4, 0.01, (0.5, 0.9), 1e-2)),
        run=_run, describe=_described, refuses=("optim.Optimizer.__init__", "_fused_adam_", "_fused_adamw_")))
