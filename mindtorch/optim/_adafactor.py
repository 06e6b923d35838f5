"""Adafactor; mirrors ``torch.optim._adafactor``."""
from __future__ import annotations

from typing import Any, ClassVar

from .._creation import zeros_like
from .._dtype import finfo
from .._tensor import Tensor
from ._rules import RuleOptimizer, carry_out, count
from .optimizer import check_single, no_scaling


def _rule(param: Any, grad: Any, row_var: Any, col_var: Any, variance: Any, *, step: Any, lr: Any, beta2_decay: float,
          d: float, decay: float, eps1: float | None, eps2: float) -> None:
    smallest = finfo(param.dtype).eps if eps1 is None else eps1
    number = step.item()
    weight = number**beta2_decay
    rate = max(eps2, param.norm(2).item() / param.numel() ** 0.5) * min(lr, 1 / number**0.5)
    if decay:
        param.mul_(1 - lr * decay)
    if grad.dim() > 1:  # the squares are kept as the product of a column and a row
        row_var.lerp_(grad.norm(dim=-1, keepdim=True).square_().div_(grad.size(-1)), weight)
        col_var.lerp_(grad.norm(dim=-2, keepdim=True).square_().div_(grad.size(-2)), weight)
        squares = (row_var @ col_var).div_(row_var.mean(dim=-2, keepdim=True).clamp_(min=smallest))
    else:
        squares = variance.lerp_(grad * grad, weight).clone()
    update = squares.clamp_(min=smallest * smallest).rsqrt_().mul_(grad)
    excess = max(1.0, update.norm(2).item() / (update.numel() ** 0.5 * d))
    param.add_(update, alpha=-rate / excess)


def adafactor(params: list[Any], grads: list[Any], row_vars: list[Any], col_vars: list[Any], variances: list[Any],
              state_steps: list[Any], foreach: bool | None = None, grad_scale: Tensor | None = None,
              found_inf: Tensor | None = None, has_complex: bool = False, *, d: float, lr: Any, beta2_decay: float,
              weight_decay: float, eps1: float | None, eps2: float, maximize: bool) -> None:
    """Take one step in place (``torch.optim._adafactor.adafactor``); ``foreach`` makes no difference."""
    no_scaling(grad_scale, found_inf)
    carry_out(_rule, params, grads, row_vars, col_vars, variances, counts={"step": state_steps}, maximize=maximize,
              lr=lr, beta2_decay=beta2_decay, d=d, decay=weight_decay, eps1=eps1, eps2=eps2)


class Adafactor(RuleOptimizer):
    """Divides the gradient by the root of a moving average of its square, which it keeps for a matrix as the averages
    of the rows and of the columns only, and scales the step by the size of the parameter (``torch.optim.Adafactor``).
    Raises ValueError for settings out of range, and RuntimeError in a step, for complex parameters.
    """

    _function = staticmethod(adafactor)
    _state = ("row_var", "col_var", "variance", "step")
    _unpacked: ClassVar = {"eps": ("eps1", "eps2")}

    def __init__(self, params: Any, lr: Any = 1e-2, beta2_decay: float = -0.8,
                 eps: tuple[float | None, float] = (None, 1e-3), d: float = 1.0, weight_decay: float = 0.0, *,
                 foreach: bool | None = None, maximize: bool = False) -> None:
        check_single("lr", lr)
        if not lr >= 0:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not beta2_decay <= 0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        for name, value, least in (("epsilon1", eps[0], 0), ("epsilon2", eps[1], 0), ("Clipping threshold d", d, 1),
                                   ("weight_decay", weight_decay, 0)):
            if value is not None and not value >= least:
                raise ValueError(f"{name} should be >= {least} but is: {value}")
        super().__init__(params, {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay,
            "foreach": foreach, "maximize": maximize,
        })

    def _refuse(self, param: Tensor) -> None:
        if param.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")

    def _start(self, param: Any, group: dict[str, Any]) -> dict[str, Any]:
        state, grad = {"step": count(0, param, {})}, param._grad
        if grad.dim() > 1:
            state["row_var"] = grad.new_zeros((*grad.shape[:-1], 1))
            state["col_var"] = grad.new_zeros((*grad.shape[:-2], 1, grad.shape[-1]))
        else:
            state["variance"] = zeros_like(grad)
        return state
