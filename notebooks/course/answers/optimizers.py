"""Mistakes that readers of lesson 9 make, each with its hint, and cases that only graders run."""
from __future__ import annotations

from mindtorch.course.masters import Mistake, solution

adam = solution("optimizers.adam")


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

MISTAKES_OF = {"adam": MISTAKES}
HIDDEN = {"adam": (([2.0, 5.0], ([1.0, -1.0], [2.0, 2.0]), 1.0, (0.9, 0.999), 1e-8),)}
