"""L-BFGS; mirrors ``torch.optim.lbfgs``."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._autograd.grad_mode import enable_grad, no_grad
from .._base.formats import contiguous_format
from .._dispatch.aten import cat, view_as_real
from .._tensor import Tensor
from .optimizer import Optimizer, check_not_negative, check_single

#: A point on the line that is searched: how far along it, the loss there, its gradient, and that along the line.
Point = tuple[Any, Any, Any, Any]


def _cubic_minimum(points: Sequence[Point], bounds: tuple[Any, Any] | None = None) -> Any:
    """Where the cubic polynomial with the values and slopes of two points is least, within bounds."""
    (x1, f1, _, g1), (x2, f2, _, g2) = points
    low, high = bounds if bounds is not None else (x1, x2) if x1 <= x2 else (x2, x1)
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1**2 - g1 * g2
    if square < 0:
        return (low + high) / 2
    d2 = square**0.5
    if x1 <= x2:
        place = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    else:
        place = x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2))
    return min(max(place, low), high)


def _strong_wolfe(evaluate: Callable[[Any], tuple[Any, Any]], t: Any, d: Any, f: Any, g: Any, slope: Any,
                  c1: float = 1e-4, c2: float = 0.9, tolerance_change: float = 1e-9,
                  max_ls: int = 25) -> tuple[Any, Any, Any, int]:
    """Search along ``d`` for a point that satisfies the strong Wolfe conditions: its loss is enough below ``f``, and
    the slope is enough flatter than ``slope``.

    ``evaluate(t)`` returns the loss and the gradient at the distance ``t``, where the search starts. Returns the loss,
    the gradient, the distance, and how often it was evaluated.
    """
    length, count = d.abs().max(), 1

    def at(t: Any) -> Point:
        loss, gradient = evaluate(t)
        return t, loss, gradient, gradient.dot(d)

    def is_too_high(point: Point) -> bool:
        return bool(point[1] > f + c1 * point[0] * slope)

    def is_flat(point: Point) -> bool:
        return bool(abs(point[3]) <= -c2 * slope)

    # bracket: walk on until there is a minimum between the last two points
    start: Point = (0, f, g, slope)
    before, here, bracket, iterations = start, at(t), [], 0
    done = False
    while iterations < max_ls:
        if is_too_high(here) or (iterations > 1 and here[1] >= before[1]):
            bracket = [before, here]
        elif is_flat(here):
            bracket, done = [here], True
        elif here[3] >= 0:
            bracket = [before, here]
        if bracket:
            break
        bounds = here[0] + 0.01 * (here[0] - before[0]), here[0] * 10
        t = _cubic_minimum((before, here), bounds)
        before, here = here, at(t)
        count += 1
        iterations += 1
    if iterations == max_ls:
        bracket = [start, here]

    # zoom: make the interval smaller until a point in it satisfies the conditions
    low, high = (0, 1) if bracket[0][1] <= bracket[-1][1] else (1, 0)
    is_stuck = False
    while not done and iterations < max_ls:
        if abs(bracket[1][0] - bracket[0][0]) * length < tolerance_change:
            break
        t = _cubic_minimum(bracket)
        left, right = sorted(point[0] for point in bracket)
        margin = 0.1 * (right - left)
        near_end = min(right - t, t - left) < margin
        if near_end and (is_stuck or t >= right or t <= left):
            t = right - margin if abs(t - right) < abs(t - left) else left + margin
            is_stuck = False
        else:
            is_stuck = near_end
        here = at(t)
        count += 1
        iterations += 1
        if is_too_high(here) or here[1] >= bracket[low][1]:
            bracket[high] = here
            low, high = (0, 1) if bracket[0][1] <= bracket[1][1] else (1, 0)
        else:
            if is_flat(here):
                done = True
            elif here[3] * (bracket[high][0] - bracket[low][0]) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = here
    t, loss, gradient, _ = bracket[low]
    return loss, gradient, t, count


class LBFGS(Optimizer):
    """The limited-memory method of Broyden, Fletcher, Goldfarb and Shanno (``torch.optim.LBFGS``): steps along the
    gradient times an inverse Hessian that the last ``history_size`` changes of both estimate. ``line_search_fn`` is
    None, for steps of ``lr``, or ``'strong_wolfe'``. There is one group of parameters, on one device. Raises ValueError
    for a negative learning rate, and several groups.
    """

    def __init__(self, params: Any, lr: Any = 1, max_iter: int = 20, max_eval: int | None = None,
                 tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9, history_size: int = 100,
                 line_search_fn: str | None = None) -> None:
        check_single("lr", lr)
        check_not_negative({"learning rate": lr})
        super().__init__(params, {
            "lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change, "history_size": history_size,
            "line_search_fn": line_search_fn,
        })
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    def _gradient(self) -> Any:
        """Return the gradients of all parameters as one vector of real numbers."""
        flat = [param.new_zeros(param.numel()) if param.grad is None else param.grad.to_dense().reshape(-1)
                for param in self._params]
        return cat([view_as_real(x).view(-1) if x.is_complex() else x for x in flat], 0)

    def _move(self, distance: Any, direction: Any) -> None:
        """Add ``distance`` times a vector to the parameters."""
        start = 0
        for param in self._params:
            param = view_as_real(param) if param.is_complex() else param
            end = start + param.numel()
            param.add_(direction[start:end].view_as(param), alpha=distance)
            start = end

    def _search(self, closure: Callable[[], Any], t: Any, d: Any, loss: Any, gradient: Any, slope: Any,
                most: int) -> tuple[Any, Any, Any, int]:
        start = [param.clone(memory_format=contiguous_format) for param in self._params]

        def evaluate(t: Any) -> tuple[float, Any]:
            self._move(t, d)
            found = float(closure()), self._gradient()
            for param, value in zip(self._params, start, strict=True):
                param.copy_(value)
            return found

        return _strong_wolfe(evaluate, t, d, loss, gradient, slope, max_ls=most)

    def _direction(self, state: dict[str, Any], gradient: Any, size: int) -> Any:
        """Where to go from here; notes in the state how the gradient changed with the last step."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return gradient.neg()
        change, step = gradient.sub(state["prev_flat_grad"]), state["d"].mul(state["t"])
        curvature = change.dot(step)
        changes, steps, inverses = state["old_dirs"], state["old_stps"], state["ro"]
        if curvature > 1e-10:
            if len(changes) == size:
                for history in (changes, steps, inverses):
                    history.pop(0)
            changes.append(change)
            steps.append(step)
            inverses.append(1.0 / curvature)
            state["H_diag"] = curvature / change.dot(change)
        factors = state.setdefault("al", [None] * size)
        direction = gradient.neg()
        for i in reversed(range(len(changes))):
            factors[i] = steps[i].dot(direction) * inverses[i]
            direction.add_(changes[i], alpha=-factors[i].item())
        direction = direction.mul(state["H_diag"])
        for i in range(len(changes)):
            direction.add_(steps[i], alpha=(factors[i] - changes[i].dot(direction) * inverses[i]).item())
        return direction

    @no_grad()
    def step(self, closure: Callable[[], Any]) -> Any:
        """Take up to ``max_iter`` steps; ``closure`` computes the loss and the gradients anew, and its first loss is
        returned (``torch.optim.LBFGS.step``). Raises RuntimeError if ``line_search_fn`` is neither None nor
        ``'strong_wolfe'``.
        """
        closure, group = enable_grad()(closure), self.param_groups[0]
        lr, max_iter, max_eval = group["lr"], group["max_iter"], group["max_eval"]
        lr = lr.squeeze() if isinstance(lr, Tensor) else lr
        least_change, search = group["tolerance_change"], group["line_search_fn"]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        first_loss = closure()
        loss, evaluations = float(first_loss), 1
        state["func_evals"] += 1
        gradient = self._gradient()

        def is_optimal() -> bool:
            return bool(gradient.abs().max() <= group["tolerance_grad"])

        if is_optimal():
            return first_loss
        for iteration in range(1, max_iter + 1):
            state["n_iter"] += 1
            d = state["d"] = self._direction(state, gradient, group["history_size"])
            previous_loss = state["prev_loss"] = loss
            if "prev_flat_grad" in state:
                state["prev_flat_grad"].copy_(gradient)
            else:
                state["prev_flat_grad"] = gradient.clone()
            t = state["t"] = min(1.0, 1.0 / gradient.abs().sum()) * lr if state["n_iter"] == 1 else lr
            slope = gradient.dot(d)
            if slope > -least_change:
                break
            optimal, more = False, 0
            if search is not None:
                if search != "strong_wolfe":
                    raise RuntimeError("only 'strong_wolfe' is supported")
                loss, gradient, t, more = self._search(closure, t, d, loss, gradient, slope, max_eval - evaluations)
                state["t"] = t
                self._move(t, d)
                optimal = is_optimal()
            else:
                self._move(t, d)
                if iteration != max_iter:
                    loss, more = float(closure()), 1
                    gradient = self._gradient()
                    optimal = is_optimal()
            evaluations += more
            state["func_evals"] += more
            if (iteration == max_iter or evaluations >= max_eval or optimal or d.mul(t).abs().max() <= least_change
                    or abs(loss - previous_loss) < least_change):
                break
        return first_loss
