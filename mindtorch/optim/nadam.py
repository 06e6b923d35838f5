"""NAdam; mirrors ``torch.optim.nadam``."""
from __future__ import annotations

from typing import Any

from .._creation import zeros_like
from ._rules import RuleOptimizer, carry_out, count
from .optimizer import check_betas, check_not_negative, check_single


def _rule(param: Any, grad: Any, exp_avg: Any, exp_avg_sq: Any, *, mu_product: Any, step: Any, lr: Any, beta1: float,
          beta2: float, momentum_decay: float, eps: float) -> None:
    count = step.item()
    mu, mu_next = (beta1 * (1 - 0.5 * 0.96 ** (n * momentum_decay)) for n in (count, count + 1))
    mu_product.mul_(mu)
    exp_avg.lerp_(grad, 1 - beta1)
    exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
    denominator = exp_avg_sq.div(1 - beta2**count).sqrt().add_(eps)
    product = mu_product.item()
    param.addcdiv_(grad, denominator, value=-lr * (1 - mu) / (1 - product))
    param.addcdiv_(exp_avg, denominator, value=-lr * mu_next / (1 - product * mu_next))


def nadam(params: list[Any], grads: list[Any], exp_avgs: list[Any], exp_avg_sqs: list[Any], mu_products: list[Any],
          state_steps: list[Any], decoupled_weight_decay: bool = False, foreach: bool | None = None,
          capturable: bool = False, differentiable: bool = False, has_complex: bool = False, maximize: bool = False,
          *, beta1: float, beta2: float, lr: Any, weight_decay: float, momentum_decay: float, eps: float) -> None:
    """Take one step in place (``torch.optim.nadam.nadam``); AssertionError if ``capturable`` off an NPU."""
    carry_out(_rule, params, grads, exp_avgs, exp_avg_sqs, counts={"mu_product": mu_products, "step": state_steps},
              foreach=foreach, differentiable=differentiable, capturable=capturable, maximize=maximize,
              weight_decay=weight_decay, decoupled_weight_decay=decoupled_weight_decay, lr=lr, beta1=beta1,
              beta2=beta2, momentum_decay=momentum_decay, eps=eps)


class NAdam(RuleOptimizer):
    """Runs Adam with Nesterov's momentum, whose weight grows to ``betas[0]`` at the pace of ``momentum_decay``
    (``torch.optim.NAdam``). Raises ValueError for settings out of range.
    """

    _function = staticmethod(nadam)
    _state = ("exp_avg", "exp_avg_sq", "mu_product", "step")

    def __init__(self, params: Any, lr: Any = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, momentum_decay: float = 4e-3, decoupled_weight_decay: bool = False, *,
                 foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
                 differentiable: bool = False) -> None:
        check_single("lr", lr)
        check_not_negative({"learning rate": lr, "epsilon value": eps})
        check_betas(betas)
        check_not_negative({"weight_decay value": weight_decay, "momentum_decay value": momentum_decay})
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "differentiable": differentiable,
        })

    def _start(self, param: Any, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": count(0, param, group), "mu_product": count(1, param, group), "exp_avg": zeros_like(param),
                "exp_avg_sq": zeros_like(param)}
