"""RAdam; mirrors ``torch.optim.radam``."""
from __future__ import annotations

from typing import Any

from .._creation import zeros_like
from ._rules import RuleOptimizer, carry_out, count
from .optimizer import check_betas, check_not_negative, check_single


def _rule(param: Any, grad: Any, exp_avg: Any, exp_avg_sq: Any, *, step: Any, lr: Any, beta1: float, beta2: float,
          eps: float) -> None:
    count = step.item()
    exp_avg.lerp_(grad, 1 - beta1)
    exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
    correction1, correction2 = 1 - beta1**count, 1 - beta2**count
    longest = 2 / (1 - beta2) - 1  # the length of the moving average of the squares at the end, and now
    length = longest - 2 * count * beta2**count / correction2
    update = exp_avg.div(correction1).mul(lr)
    if length > 5:
        scale = exp_avg_sq.sqrt().add_(eps).reciprocal().mul(correction2**0.5)
        rectified = ((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)) ** 0.5
        update = update.mul(scale).mul(rectified)
    param.add_(update, alpha=-1.0)


def radam(params: list[Any], grads: list[Any], exp_avgs: list[Any], exp_avg_sqs: list[Any], state_steps: list[Any],
          decoupled_weight_decay: bool = False, foreach: bool | None = None, differentiable: bool = False,
          capturable: bool = False, has_complex: bool = False, maximize: bool = False, *, beta1: float, beta2: float,
          lr: Any, weight_decay: float, eps: float) -> None:
    """Take one step in place (``torch.optim.radam.radam``); AssertionError if ``capturable`` off an NPU."""
    carry_out(_rule, params, grads, exp_avgs, exp_avg_sqs, counts={"step": state_steps}, foreach=foreach,
              differentiable=differentiable, capturable=capturable, maximize=maximize, weight_decay=weight_decay,
              decoupled_weight_decay=decoupled_weight_decay, lr=lr, beta1=beta1, beta2=beta2, eps=eps)


class RAdam(RuleOptimizer):
    """Runs Adam, but divides by the root of the squares only once enough of them were seen, and rectifies for their
    number (``torch.optim.RAdam``). Raises ValueError for settings out of range.
    """

    _function = staticmethod(radam)
    _state = ("exp_avg", "exp_avg_sq", "step")

    def __init__(self, params: Any, lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, decoupled_weight_decay: bool = False, *, foreach: bool | None = None,
                 maximize: bool = False, capturable: bool = False, differentiable: bool = False) -> None:
        check_single("lr", lr)
        check_not_negative({"learning rate": lr, "epsilon value": eps})
        check_betas(betas)
        check_not_negative({"weight_decay value": weight_decay})
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "foreach": foreach, "capturable": capturable, "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        })

    def _start(self, param: Any, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": count(0, param, group), "exp_avg": zeros_like(param), "exp_avg_sq": zeros_like(param)}
