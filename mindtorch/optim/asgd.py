"""Averaged stochastic gradient descent; mirrors ``torch.optim.asgd``."""
from __future__ import annotations

from typing import Any

from .._creation import tensor, zeros_like
from ._rules import RuleOptimizer, carry_out, counting_dtype
from .optimizer import as_number, check_not_negative, check_single


def _rule(param: Any, grad: Any, ax: Any, *, mu: Any, eta: Any, step: Any, lambd: float, lr: Any, t0: float,
          alpha: float) -> None:
    rate, count = eta.item(), step.item()
    param.mul_(1 - lambd * rate)
    param.add_(grad, alpha=-rate)
    weight = mu.item()
    if weight == 1:
        ax.copy_(param)
    else:
        ax.add_(param.sub(ax).mul_(weight))
    eta.fill_(lr / (1 + lambd * lr * count) ** alpha)
    mu.fill_(1 / max(1, count - t0))


def asgd(params: list[Any], grads: list[Any], axs: list[Any], mus: list[Any], etas: list[Any], state_steps: list[Any],
         foreach: bool | None = None, maximize: bool = False, differentiable: bool = False, capturable: bool = False,
         has_complex: bool = False, *, lambd: float, lr: Any, t0: float, alpha: float, weight_decay: float) -> None:
    """Take one step in place (``torch.optim.asgd.asgd``); AssertionError if ``capturable`` off an NPU."""
    carry_out(_rule, params, grads, axs, counts={"mu": mus, "eta": etas, "step": state_steps}, foreach=foreach,
              differentiable=differentiable, capturable=capturable, maximize=maximize, weight_decay=weight_decay,
              lambd=lambd, lr=lr, t0=t0, alpha=alpha)


class ASGD(RuleOptimizer):
    """Shrinks the parameters by lambd·eta, subtracts eta·gradient, where eta is lr / (1 + lambd·lr·step)^alpha, and
    keeps in the state ``ax`` the average of the parameters from step ``t0`` on (``torch.optim.ASGD``). Raises
    ValueError for settings out of range.
    """

    _function = staticmethod(asgd)
    _state = ("ax", "mu", "eta", "step")

    def __init__(self, params: Any, lr: Any = 1e-2, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6,
                 weight_decay: float = 0, foreach: bool | None = None, maximize: bool = False,
                 differentiable: bool = False, capturable: bool = False) -> None:
        check_single("lr", lr)
        check_not_negative({"learning rate": lr, "weight_decay value": weight_decay})
        super().__init__(params, {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        })

    def _start(self, param: Any, group: dict[str, Any]) -> dict[str, Any]:
        there: Any = {"dtype": counting_dtype(), "device": param.device}
        return {"step": tensor(0, **there), "eta": tensor(as_number(group["lr"]), **there), "mu": tensor(1, **there),
                "ax": zeros_like(param)}
