"""Adadelta; mirrors ``torch.optim.adadelta``."""
from __future__ import annotations

from typing import Any

from .._creation import zeros_like
from ._rules import RuleOptimizer, carry_out, count
from .optimizer import check_not_negative, check_single


def _rule(param: Any, grad: Any, square_avg: Any, acc_delta: Any, *, step: Any, lr: Any, rho: float,
          eps: float) -> None:
    square_avg.mul_(rho).addcmul_(grad, grad, value=1 - rho)
    root = square_avg.add(eps).sqrt_()
    delta = acc_delta.add(eps).sqrt_().div_(root).mul_(grad)
    acc_delta.mul_(rho).addcmul_(delta, delta, value=1 - rho)
    param.add_(delta, alpha=-lr)


def adadelta(params: list[Any], grads: list[Any], square_avgs: list[Any], acc_deltas: list[Any],
             state_steps: list[Any], capturable: bool = False, foreach: bool | None = None,
             differentiable: bool = False, has_complex: bool = False, *, lr: Any, rho: float, eps: float,
             weight_decay: float, maximize: bool) -> None:
    """Take one step in place (``torch.optim.adadelta.adadelta``); AssertionError if ``capturable`` off an NPU."""
    carry_out(_rule, params, grads, square_avgs, acc_deltas, counts={"step": state_steps}, foreach=foreach,
              differentiable=differentiable, capturable=capturable, maximize=maximize, weight_decay=weight_decay,
              lr=lr, rho=rho, eps=eps)


class Adadelta(RuleOptimizer):
    """Subtracts lr·delta, where delta is the gradient times sqrt(deltas + eps) / sqrt(squares + eps); both are moving
    averages with the decay ``rho``, of delta² and of the gradient's square (``torch.optim.Adadelta``). Raises
    ValueError for settings out of range.
    """

    _function = staticmethod(adadelta)
    _state = ("square_avg", "acc_delta", "step")

    def __init__(self, params: Any, lr: Any = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0,
                 foreach: bool | None = None, *, capturable: bool = False, maximize: bool = False,
                 differentiable: bool = False) -> None:
        check_single("lr", lr)
        check_not_negative({"learning rate": lr})
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_not_negative({"epsilon value": eps, "weight_decay value": weight_decay})
        super().__init__(params, {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "capturable": capturable, "foreach": foreach, "differentiable": differentiable,
        })

    def _start(self, param: Any, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": count(None, param, group), "square_avg": zeros_like(param), "acc_delta": zeros_like(param)}
