"""Lesson 9: what does step() do?"""
from __future__ import annotations

from ..tasks import Lab, Lesson, Prediction
from . import torch

PREDICTIONS = (
    Prediction("parameters", "A network has a layer from 64 to 32 numbers and one from 32 to 10, each with a bias. "
               "How many numbers are learnt?", 2410, "64 * 32 + 32 in the first layer, and 32 * 10 + 10 in the last."),
    Prediction("momentum", "The learning rate is 1, momentum is 0.5, and the gradient is 1 in every step. How far does "
               "the third step go?", 1.75, "The gradient of this step counts 1, the one before 0.5, the first 0.25."),
    Prediction("adam", "Two numbers are learnt by Adam with a learning rate of 0.01. The first gradient of one is "
               "1000, of the other 0.001. How far does the first step go for each?", (0.01, 0.01),
               "After one step the corrected averages are the gradient and its square, and a gradient divided by the "
               "root of its square is 1, or -1. In its first step Adam knows only the sign."),
)


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


LESSON = Lesson(
    9, "optimizers", "What does `step()` do?", "09_optimizers", 40, PREDICTIONS,
    (Lab(
        "adam", "How does Adam take a step?", "adam",
        (([1.0, -2.0], ([0.5, 3.0],), 0.1, (0.9, 0.99), 1e-3),
         ([1.0, -2.0], ([0.5, 3.0], [-1.0, 0.25], [0.5, 0.5]), 0.1, (0.9, 0.99), 1e-3),
         ([0.0, 0.0], ([0.0, 1.0], [0.0, -1.0]), 0.5, (0.8, 0.9), 1e-8),
         ([0.3, 0.1, 0.2], ([100.0, 0.01, 1.0],) * 4, 0.01, (0.5, 0.9), 1e-2)),
        ("Count the steps in state['step']; keep the two averages in state['mean'] and state['square'], zeros at first "
         "(state.get and state.setdefault help).",
         "Update both averages with the gradient. Then correct them for this step only, by / (1 - beta ** n); do not "
         "keep the corrected values.",
         "parameter.sub_(lr * (mean / (1 - beta1 ** n)) / ((square / (1 - beta2 ** n)).sqrt() + eps))"),
        4, run=_run, describe=_described, refuses=("optim.Optimizer.__init__", "_fused_adam_", "_fused_adamw_")),
     ),
)
