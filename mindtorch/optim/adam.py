"""Adam; mirrors ``torch.optim.adam``."""
from __future__ import annotations

from typing import Any

from .._backends.common import optim
from .._creation import zeros_like
from .._dispatch.aten import _fused_adam_ as fused_adam, _fused_adamw_ as fused_adamw
from .._tensor import Tensor
from ._rules import RuleOptimizer, carry_out, check_capturable, count, run_fused, runs_fused
from .optimizer import check_betas, check_implementation, check_not_negative, check_single, no_scaling


def adam(params: list[Any], grads: list[Any], exp_avgs: list[Any], exp_avg_sqs: list[Any], max_exp_avg_sqs: list[Any],
         state_steps: list[Any], foreach: bool | None = None, capturable: bool = False, differentiable: bool = False,
         fused: bool | None = None, grad_scale: Tensor | None = None, found_inf: Tensor | None = None,
         has_complex: bool = False, decoupled_weight_decay: bool = False, *, amsgrad: bool, beta1: Any, beta2: Any,
         lr: Any, weight_decay: float, eps: float, maximize: bool) -> None:
    """Take one step in place (``torch.optim.adam.adam``); AssertionError if ``capturable`` off an NPU."""
    peaks = max_exp_avg_sqs if amsgrad else []
    if runs_fused(params, grads, fused, differentiable):
        if capturable:
            check_capturable(params, state_steps)
        run_fused(fused_adamw if decoupled_weight_decay else fused_adam,
                  (params, grads, exp_avgs, exp_avg_sqs, peaks), state_steps, lr, beta1, beta2, weight_decay, eps,
                  amsgrad, maximize, scaling=(grad_scale, found_inf), twice=() if fused else
                  [exp_avg_sqs, params] if decoupled_weight_decay and weight_decay else [exp_avg_sqs])
    else:
        no_scaling(grad_scale, found_inf)
        carry_out(optim.adam, params, grads, exp_avgs, exp_avg_sqs, peaks, counts={"step": state_steps},
                  foreach=foreach, differentiable=differentiable, capturable=capturable, maximize=maximize,
                  weight_decay=weight_decay, decoupled_weight_decay=decoupled_weight_decay, lr=lr, beta1=beta1,
                  beta2=beta2, eps=eps)


class Adam(RuleOptimizer):
    """Subtracts lr·average / (sqrt(squares) + eps), where both are moving averages, of the gradient and of its square,
    corrected for starting at zero (``torch.optim.Adam``).

    ``amsgrad`` takes the largest of the squares so far; ``decoupled_weight_decay`` shrinks the parameters instead of
    adding weight_decay·param to the gradient. Raises ValueError for settings out of range, and RuntimeError if
    ``fused`` is combined with ``foreach`` or ``differentiable``.
    """

    _function = staticmethod(adam)
    _instead = ", please consider SparseAdam instead"
    _state = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq", "step")

    def __init__(self, params: Any, lr: Any = 1e-3, betas: tuple[Any, Any] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, amsgrad: bool = False, *, foreach: bool | None = None,
                 maximize: bool = False, capturable: bool = False, differentiable: bool = False,
                 fused: bool | None = None, decoupled_weight_decay: bool = False) -> None:
        check_single("lr", lr, refused=bool(foreach) and not capturable)
        check_not_negative({"learning rate": lr, "epsilon value": eps})
        check_betas(betas)
        check_not_negative({"weight_decay value": weight_decay})
        if not any(all(isinstance(beta, kind) for beta in betas) for kind in (float, Tensor)):
            raise ValueError("betas must be either both floats or both Tensors")
        for i, beta in enumerate(betas):
            check_single(f"betas[{i}]", beta, refused=bool(foreach) and not capturable)
        betas = tuple(beta.squeeze() if isinstance(beta, Tensor) else beta
                      for beta in betas)  # type: ignore[assignment]
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
            "maximize": maximize, "foreach": foreach, "capturable": capturable, "differentiable": differentiable,
            "fused": fused, "decoupled_weight_decay": decoupled_weight_decay,
        })
        check_implementation(differentiable, foreach, fused)
        self._step_supports_amp_scaling = bool(fused)

    def _start(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")[:3 if group["amsgrad"] else 2]
        return {"step": count(0, param, group), **{name: zeros_like(param) for name in names}}
