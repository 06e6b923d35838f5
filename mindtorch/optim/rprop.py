"""Resilient backpropagation; mirrors ``torch.optim.rprop``."""
from __future__ import annotations

from typing import Any, ClassVar

from .._creation import full_like, zeros_like
from ._rules import RuleOptimizer, carry_out, count
from .optimizer import as_number, check_not_negative, check_single


def _rule(param: Any, grad: Any, prev: Any, step_size: Any, *, step: Any, etaminus: float, etaplus: float,
          step_size_min: float, step_size_max: float) -> None:
    factor = grad.mul(prev).sign()
    factor[factor.gt(0)] = etaplus
    factor[factor.lt(0)] = etaminus
    factor[factor.eq(0)] = 1
    step_size.mul_(factor).clamp_(step_size_min, step_size_max)
    grad = grad.clone()
    grad[factor.eq(etaminus)] = 0
    param.addcmul_(grad.sign(), step_size, value=-1)
    prev.copy_(grad)


def rprop(params: list[Any], grads: list[Any], prevs: list[Any], step_sizes: list[Any], state_steps: list[Any],
          foreach: bool | None = None, capturable: bool = False, maximize: bool = False, differentiable: bool = False,
          has_complex: bool = False, *, step_size_min: float, step_size_max: float, etaminus: float,
          etaplus: float) -> None:
    """Take one step in place (``torch.optim.rprop.rprop``); AssertionError if ``capturable`` off an NPU."""
    carry_out(_rule, params, grads, prevs, step_sizes, counts={"step": state_steps}, foreach=foreach,
              differentiable=differentiable, capturable=capturable, maximize=maximize, step_size_min=step_size_min,
              step_size_max=step_size_max, etaminus=etaminus, etaplus=etaplus)


class Rprop(RuleOptimizer):
    """Looks only at the sign of each element of the gradient: where it is that of the step before, the element's own
    step size, which starts at ``lr``, grows by ``etas[1]``; where it changed, it shrinks by ``etas[0]``, and the
    element stays (``torch.optim.Rprop``). Step sizes remain within ``step_sizes``. Raises ValueError for settings out
    of range.
    """

    _function = staticmethod(rprop)
    _state = ("prev", "step_size", "step")
    _unpacked: ClassVar = {"etas": ("etaminus", "etaplus"), "step_sizes": ("step_size_min", "step_size_max"), "lr": ()}

    def __init__(self, params: Any, lr: Any = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
                 step_sizes: tuple[float, float] = (1e-6, 50), *, capturable: bool = False,
                 foreach: bool | None = None, maximize: bool = False, differentiable: bool = False) -> None:
        check_single("lr", lr)
        check_not_negative({"learning rate": lr})
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "capturable": capturable,
        })

    def _start(self, param: Any, group: dict[str, Any]) -> dict[str, Any]:
        lr = as_number(group["lr"])
        return {"step": count(0, param, group), "prev": zeros_like(param),
                "step_size": full_like(param._grad, complex(lr, lr) if param.is_complex() else lr)}
