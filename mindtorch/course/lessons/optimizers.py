"""Lesson 9: what does step() do?"""
from __future__ import annotations

from ..tasks import Lab, Lesson, Mistake, Prediction
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


def adam(parameter, grad, state, lr, beta1, beta2, eps):
    n = state["step"] = state.get("step", 0) + 1
    mean = state.setdefault("mean", torch.zeros_like(parameter))
    square = state.setdefault("square", torch.zeros_like(parameter))
    mean.mul_(beta1).add_(grad, alpha=1 - beta1)
    square.mul_(beta2).add_(grad * grad, alpha=1 - beta2)
    corrected = (square / (1 - beta2 ** n)).sqrt() + eps
    parameter.sub_(lr * (mean / (1 - beta1 ** n)) / corrected)


def _subtract(parameter, step):
    parameter.sub_(step)


def _adam(*, first=1, of_mean=True, of_square=True, mean=None, squared=lambda g, m: g * g, weight=True, swap=False,
          divide=lambda m, s, eps: m / (s.sqrt() + eps), rated=True, write=_subtract, forget=False,
          count=True, turned=False, this=False):
    """Adam, but for what is said."""

    def mine(parameter, grad, state, lr, beta1, beta2, eps):
        if forget:
            state.clear()
        beta1, beta2 = (beta2, beta1) if swap else (beta1, beta2)
        beta1, beta2 = (1 - beta1, 1 - beta2) if turned else (beta1, beta2)
        n = state["n"] = state.get("n", first - 1) + 1 if count else 1
        one, two = (1 - beta1, 1 - beta2) if weight else (1, 1)
        m = state["m"] = grad if mean == "none" else beta1 * state.get("m", 0) + one * grad
        s = state["s"] = beta2 * state.get("s", 0) + two * squared(grad, m)
        m = m / (1 - beta1 ** n) if of_mean and mean != "none" else m
        s = s / (1 - beta2 ** n) if of_square else s
        s = grad * grad if this else s
        write(parameter, divide(m, s, eps) * (lr if rated else 1))

    return mine


def _add(parameter, step):
    parameter.add_(step)


def _rename(parameter, step):
    parameter = parameter - step


def _scaled_gradient(parameter, grad, state, lr, beta1, beta2, eps):
    """Gradients are changed on the way."""
    adam(parameter, grad.clone(), state, lr, beta1, beta2, eps)
    grad.mul_(1 - beta1)


def _kept_corrected(parameter, grad, state, lr, beta1, beta2, eps):
    n = state["n"] = state.get("n", 0) + 1
    m = state["m"] = (beta1 * state.get("m", 0) + (1 - beta1) * grad) / (1 - beta1 ** n)
    s = state["s"] = (beta2 * state.get("s", 0) + (1 - beta2) * grad * grad) / (1 - beta2 ** n)
    parameter.sub_(lr * m / (s.sqrt() + eps))


def _run(function, start, gradients, lr, betas, eps):
    """Two parameters in turns, the second of them with the gradients turned round; and what is left of a gradient."""
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


MISTAKES = (
    Mistake("The averages begin at zero and are too small at first: divide them by 1 - beta ** n before you use them.",
            _adam(of_mean=False, of_square=False)),
    Mistake("The average of the squares has to be corrected, too.", _adam(of_square=False)),
    Mistake("The average of the gradients has to be corrected, too.", _adam(of_mean=False)),
    Mistake("The gradient itself is used here: Adam follows the average of the gradients so far.", _adam(mean="none")),
    Mistake("Divide by the square root of the average of squares.", _adam(divide=lambda m, s, eps: m / (s + eps))),
    Mistake("eps is added after the root, and not under it.", _adam(divide=lambda m, s, eps: m / (s + eps).sqrt())),
    Mistake("eps is missing: a gradient of zero is divided by zero.", _adam(divide=lambda m, s, eps: m / s.sqrt())),
    Mistake("A step moves against the gradient: subtract.", _adam(write=_add)),
    Mistake("The parameter has not changed: write into it, with sub_ or -=. An assignment makes a new tensor.",
            _adam(write=_rename)),
    Mistake("Count the steps from 1: the first correction divides by 1 - beta ** 1.", _adam(first=2)),
    Mistake("Count the steps from 1: the first correction divides by 1 - beta ** 1, not by 0.",
            _adam(first=0)),
    Mistake("Count the steps, and keep the number in state: the correction is different in each step.",
            _adam(count=False)),
    Mistake("The old average counts beta and the new gradient 1 - beta: these two are exchanged.", _adam(turned=True)),
    Mistake("Divide by the root of the average of squares, not by the size of this gradient.",
            _adam(squared=lambda g, m: g * g, this=True)),
    Mistake("Each step starts from scratch here: keep the averages and the number of the step in state.",
            _adam(forget=True)),
    Mistake("The new gradient counts 1 - beta in the average, not in full.", _adam(weight=False)),
    Mistake("beta1 belongs to the average of gradients, and beta2 to that of squares.", _adam(swap=True)),
    Mistake("The second average is of the gradient's square, grad * grad, not of the mean's.",
            _adam(squared=lambda g, m: m * m)),
    Mistake("The second average is of the squares, not of the absolute values.",
            _adam(squared=lambda g, m: g.abs(), divide=lambda m, s, eps: m / (s + eps))),
    Mistake("The learning rate is missing.", _adam(rated=False)),
    Mistake("Keep the averages themselves in state; the corrected ones serve this step only.", _kept_corrected),
    Mistake("Do not write into the gradient.", _scaled_gradient),
)

LESSON = Lesson(
    9, "optimizers", "What does `step()` do?", "09_optimizers", 40, PREDICTIONS,
    (Lab(
        "adam", "How does Adam take a step?", adam,
        (([1.0, -2.0], ([0.5, 3.0],), 0.1, (0.9, 0.99), 1e-3),
         ([1.0, -2.0], ([0.5, 3.0], [-1.0, 0.25], [0.5, 0.5]), 0.1, (0.9, 0.99), 1e-3),
         ([0.0, 0.0], ([0.0, 1.0], [0.0, -1.0]), 0.5, (0.8, 0.9), 1e-8),
         ([0.3, 0.1, 0.2], ([100.0, 0.01, 1.0],) * 4, 0.01, (0.5, 0.9), 1e-2)),
        ("Count the steps in state['step']; keep the two averages in state['mean'] and state['square'], zeros at first "
         "(state.get and state.setdefault help).",
         "Update both averages with the gradient. Then correct them for this step only, by / (1 - beta ** n); do not "
         "keep the corrected values.",
         "parameter.sub_(lr * (mean / (1 - beta1 ** n)) / ((square / (1 - beta2 ** n)).sqrt() + eps))"),
        MISTAKES, 4, run=_run, describe=_described,
        hidden=(([2.0, 5.0], ([1.0, -1.0], [2.0, 2.0]), 1.0, (0.9, 0.999), 1e-8),)),
     ),
)
