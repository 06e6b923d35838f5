"""Adamax; mirrors ``torch.optim.adamax``."""
from __future__ import annotations

from typing import Any

from .._backends.common.optim import keep_larger
from .._creation import zeros_like
from ._rules import RuleOptimizer, carry_out, count
from .optimizer import check_betas, check_not_negative, check_single


def _rule(param: Any, grad: Any, exp_avg: Any, exp_inf: Any, *, step: Any, lr: Any, beta1: float, beta2: float,
          eps: float) -> None:
    exp_avg.lerp_(grad, 1 - beta1)
    keep_larger(exp_inf.mul_(beta2), grad.abs().add_(eps))
    param.addcdiv_(exp_avg, exp_inf, value=-(lr / (1 - beta1 ** step.item())))


def adamax(params: list[Any], grads: list[Any], exp_avgs: list[Any], exp_infs: list[Any], state_steps: list[Any],
           foreach: bool | None = None, maximize: bool = False, differentiable: bool = False,
           capturable: bool = False, has_complex: bool = False, *, eps: float, beta1: float, beta2: float, lr: Any,
           weight_decay: float) -> None:
    """Take one step in place (``torch.optim.adamax.adamax``); AssertionError if ``capturable`` off an NPU."""
    carry_out(_rule, params, grads, exp_avgs, exp_infs, counts={"step": state_steps}, foreach=foreach,
              differentiable=differentiable, capturable=capturable, maximize=maximize, weight_decay=weight_decay,
              lr=lr, beta1=beta1, beta2=beta2, eps=eps)


class Adamax(RuleOptimizer):
    """Divides as Adam does the corrected average of the gradient, but by its decaying largest magnitude
    (``torch.optim.Adamax``). Raises ValueError for settings out of range.
    """

    _function = staticmethod(adamax)
    _state = ("exp_avg", "exp_inf", "step")

    def __init__(self, params: Any, lr: Any = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, foreach: bool | None = None, *, maximize: bool = False,
                 differentiable: bool = False, capturable: bool = False) -> None:
        check_single("lr", lr)
        check_not_negative({"learning rate": lr, "epsilon value": eps})
        check_betas(betas)
        check_not_negative({"weight_decay value": weight_decay})
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        })

    def _start(self, param: Any, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": count(0, param, group), "exp_avg": zeros_like(param), "exp_inf": zeros_like(param)}
