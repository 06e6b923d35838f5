"""Muon; mirrors ``torch.optim._muon``."""
from __future__ import annotations

import math
from typing import Any

from .._base.size import Size
from .._creation import zeros_like
from .._methods.functions import addmm
from ._rules import RuleOptimizer, carry_out
from .optimizer import check_single

#: How the learning rate follows the shape of a matrix of this many rows and columns.
ADJUSTMENTS = {
    "original": lambda rows, columns: math.sqrt(max(1, rows / columns)),
    "match_rms_adamw": lambda rows, columns: 0.2 * math.sqrt(max(rows, columns)),
}


def _orthogonalized(matrix: Any, coefficients: tuple[float, float, float], steps: int, eps: float) -> Any:
    """About the orthogonal matrix that is nearest, by Newton and Schulz's iteration in bfloat16: a polynomial, applied
    again and again, takes all singular values close to 1.
    """
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    is_tall = matrix.size(0) > matrix.size(1)
    x = matrix.bfloat16()
    x = x.T if is_tall else x
    x.div_(x.norm().clamp(min=eps))
    for _ in range(steps):
        gram = x @ x.T
        x = addmm(x, addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if is_tall else x


def _adjust_lr(lr: float, adjust_lr_fn: str | None, param_shape: Size) -> float:
    adjustment = ADJUSTMENTS.get(adjust_lr_fn or "original")
    return lr if adjustment is None else lr * adjustment(*param_shape[:2])


def _rule(param: Any, grad: Any, buffer: Any, *, lr: float, decay: float, momentum: float, nesterov: bool,
          ns_coefficients: tuple[float, float, float], ns_steps: int, eps: float, adjust_lr_fn: str | None) -> None:
    if grad.ndim != 2:
        raise ValueError("Param gradient must be a 2D matrix")
    buffer.lerp_(grad, 1 - momentum)
    update = grad.lerp(buffer, momentum) if nesterov else buffer
    update = _orthogonalized(update, ns_coefficients, ns_steps, eps)
    param.mul_(1 - lr * decay)
    param.add_(update, alpha=-_adjust_lr(lr, adjust_lr_fn, param.shape))


def muon(params: list[Any], grads: list[Any], muon_momentum_bufs: list[Any], *, foreach: bool | None = None, lr: Any,
         weight_decay: float, momentum: float, nesterov: bool, ns_coefficients: tuple[float, float, float],
         ns_steps: int, eps: float, adjust_lr_fn: str | None, has_complex: bool) -> None:
    """Take one step in place (``torch.optim._muon.muon``). Raises RuntimeError if ``foreach`` is set, and ValueError
    for complex parameters, and gradients that are not matrices.
    """
    if foreach:
        raise RuntimeError("Foreach is not supported for Muon yet")
    if has_complex:
        raise ValueError("Complex parameters are not supported")
    carry_out(_rule, params, grads, muon_momentum_bufs, counts={}, lr=lr, decay=weight_decay, momentum=momentum,
              nesterov=nesterov, ns_coefficients=ns_coefficients, ns_steps=ns_steps, eps=eps,
              adjust_lr_fn=adjust_lr_fn)


class Muon(RuleOptimizer):
    """Subtracts from a matrix lr times about the orthogonal matrix that is nearest to its momentum
    (``torch.optim.Muon``). Raises ValueError for settings out of range, and parameters that are not matrices, and
    RuntimeError in a step, for complex parameters.
    """

    _function = staticmethod(muon)
    _state = ("momentum_buffer",)

    def __init__(self, params: Any, lr: Any = 1e-3, weight_decay: float = 0.1, momentum: float = 0.95,
                 nesterov: bool = True, ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
                 eps: float = 1e-7, ns_steps: int = 5, adjust_lr_fn: str | None = None) -> None:
        check_single("lr", lr)
        for name, value in (("Learning rate", lr), ("momentum", momentum), ("weight decay", weight_decay)):
            if not value >= 0:
                raise ValueError(f"{name} should be >= 0 but is: {value}")
        if adjust_lr_fn is not None and adjust_lr_fn not in ADJUSTMENTS:
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        super().__init__(params, {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
            "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn,
        })
        for group in self.param_groups:
            for param in group["params"]:
                if param.ndim != 2:
                    raise ValueError("Muon only supports 2D parameters whereas we found a parameter with size: "
                                     f"{param.size()}")

    def _refuse(self, param: Any) -> None:
        if param.is_complex():
            raise RuntimeError("Muon does not support complex parameters")

    def _start(self, param: Any, group: dict[str, Any]) -> dict[str, Any]:
        return {"momentum_buffer": zeros_like(param._grad)}

    def _settings(self, group: dict[str, Any]) -> dict[str, Any]:
        return {**super()._settings(group), "has_complex": False}
