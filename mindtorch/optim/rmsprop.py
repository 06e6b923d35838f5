"""RMSprop; mirrors ``torch.optim.rmsprop``."""
from __future__ import annotations

from typing import Any

from .._creation import zeros_like
from ._rules import RuleOptimizer, carry_out, count
from .optimizer import check_not_negative, check_single


def _rule(param: Any, grad: Any, square_avg: Any, grad_avg: Any, buffer: Any, *, step: Any, lr: Any, alpha: float,
          eps: float, momentum: float) -> None:
    square_avg.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
    if grad_avg is not None:  # the squares are centered
        grad_avg.lerp_(grad, 1 - alpha)
        root = square_avg.addcmul(grad_avg, grad_avg, value=-1).sqrt_()
    else:
        root = square_avg.sqrt()
    root.add_(eps)
    if buffer is not None:
        buffer.mul_(momentum).addcdiv_(grad, root)
        param.add_(buffer, alpha=-lr)
    else:
        param.addcdiv_(grad, root, value=-lr)


def rmsprop(params: list[Any], grads: list[Any], square_avgs: list[Any], grad_avgs: list[Any],
            momentum_buffer_list: list[Any], state_steps: list[Any], foreach: bool | None = None,
            maximize: bool = False, differentiable: bool = False, capturable: bool = False, has_complex: bool = False,
            *, lr: Any, alpha: float, eps: float, weight_decay: float, momentum: float, centered: bool) -> None:
    """Take one step in place (``torch.optim.rmsprop.rmsprop``); AssertionError if ``capturable`` off an NPU."""
    carry_out(_rule, params, grads, square_avgs, grad_avgs if centered else [],
              momentum_buffer_list if momentum > 0 else [], counts={"step": state_steps}, foreach=foreach,
              differentiable=differentiable, capturable=capturable, maximize=maximize, weight_decay=weight_decay,
              lr=lr, alpha=alpha, eps=eps, momentum=momentum)


class RMSprop(RuleOptimizer):
    """Subtracts lr·gradient / (sqrt(squares) + eps), where squares is a moving average of the gradient's square with
    the decay ``alpha``, less the square of its average if ``centered``; with ``momentum``, lr times a sum of such
    quotients that decays by it (``torch.optim.RMSprop``). Raises ValueError for settings out of range.
    """

    _function = staticmethod(rmsprop)
    _state = ("square_avg", "grad_avg", "momentum_buffer", "step")

    def __init__(self, params: Any, lr: Any = 1e-2, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0,
                 momentum: float = 0, centered: bool = False, capturable: bool = False, foreach: bool | None = None,
                 maximize: bool = False, differentiable: bool = False) -> None:
        check_single("lr", lr)
        check_not_negative({"learning rate": lr, "epsilon value": eps, "momentum value": momentum,
                            "weight_decay value": weight_decay, "alpha value": alpha})
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable,
        })

    def _start(self, param: Any, group: dict[str, Any]) -> dict[str, Any]:
        state = {"step": count(None, param, group), "square_avg": zeros_like(param)}
        if group["momentum"] > 0:
            state["momentum_buffer"] = zeros_like(param)
        if group["centered"]:
            state["grad_avg"] = zeros_like(param)
        return state
