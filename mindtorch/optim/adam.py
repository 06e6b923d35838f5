"""Adam; mirrors ``torch.optim.adam``."""
from __future__ import annotations

from typing import Any, ClassVar

from .._backends.common import optim
from .._creation import tensor, zeros, zeros_like
from .._dispatch.aten import (
    _foreach_add__Scalar as foreach_add, _fused_adam_ as fused_adam, _fused_adamw_ as fused_adamw, view_as_real,
)
from .._dispatch.local import local
from .._dtype import float32, float64, get_default_dtype
from .._tensor import Tensor
from ._recorded import RECORDED
from .optimizer import (
    Optimizer, as_number, by_device, check_fused, check_implementation, check_not_negative, check_single, every_group,
)

_MOMENTS = ("exp_avg", "exp_avg_sq")


def _step_dtype(fused: bool | None) -> Any:
    """The dtype in which steps are counted."""
    return float32 if fused or get_default_dtype() is not float64 else float64


class Adam(Optimizer):
    """Subtracts lr·average / (sqrt(squares) + eps), where both are moving averages, of the gradient and of its square,
    corrected for starting at zero (``torch.optim.Adam``).

    ``amsgrad`` takes the largest of the squares so far; ``decoupled_weight_decay`` shrinks the parameters instead of
    adding weight_decay·param to the gradient. ``foreach`` and ``fused`` are taken for PyTorch's sake: the fused
    operator does the step in any case, unless ``differentiable`` is set.

    Raises:
        ValueError: for settings out of range.
        RuntimeError: if ``fused`` is combined with ``foreach`` or ``differentiable``.
    """

    _later: ClassVar = {"amsgrad": False, "maximize": False, "foreach": None, "capturable": False,
                        "differentiable": False, "decoupled_weight_decay": False, "fused": None}

    def __init__(self, params: Any, lr: Any = 1e-3, betas: tuple[Any, Any] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, amsgrad: bool = False, *, foreach: bool | None = None,
                 maximize: bool = False, capturable: bool = False, differentiable: bool = False,
                 fused: bool | None = None, decoupled_weight_decay: bool = False) -> None:
        check_single("lr", lr, refused=bool(foreach) and not capturable)
        check_not_negative({"learning rate": lr, "epsilon value": eps})
        for i, beta in enumerate(betas):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
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
            "fused": fused, "decoupled_weight_decay": decoupled_weight_decay})
        check_implementation(differentiable, foreach, fused)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for param in group["params"]:
                kept = self.state.get(param)
                if kept and not isinstance(kept["step"], Tensor):
                    kept["step"] = tensor(float(kept["step"]), dtype=_step_dtype(group["fused"]))

    def _state_of(self, param: Any, group: dict[str, Any]) -> dict[str, Any]:
        """A parameter's state, made at its first step."""
        state = self.state[param]
        if not state:
            if group["fused"]:
                check_fused(param)
            counted_there = group["capturable"] or group["fused"]
            device = param.device if counted_there else "cpu"
            state["step"] = zeros((), dtype=_step_dtype(group["fused"]), device=device)
            for name in (*_MOMENTS, "max_exp_avg_sq") if group["amsgrad"] else _MOMENTS:
                state[name] = zeros_like(param)
        return state

    @every_group
    def step(self, group: dict[str, Any]) -> None:
        params = [param for param in group["params"] if param._grad is not None]
        states = [self._state_of(param, group) for param in params]
        beta1, beta2 = group["betas"]
        adam(params, [param._grad for param in params], [state["exp_avg"] for state in states],
             [state["exp_avg_sq"] for state in states], [state["max_exp_avg_sq"] for state in states]
             if group["amsgrad"] else [], [state["step"] for state in states], capturable=group["capturable"],
             decoupled_weight_decay=group["decoupled_weight_decay"], amsgrad=group["amsgrad"], beta1=beta1, beta2=beta2,
             lr=group["lr"], weight_decay=group["weight_decay"], eps=group["eps"], maximize=group["maximize"])


def adam(params: list[Any], grads: list[Any], exp_avgs: list[Any], exp_avg_sqs: list[Any], max_exp_avg_sqs: list[Any],
         state_steps: list[Any], foreach: bool | None = None, capturable: bool = False, differentiable: bool = False,
         fused: bool | None = None, grad_scale: Tensor | None = None, found_inf: Tensor | None = None,
         has_complex: bool = False, decoupled_weight_decay: bool = False, *, amsgrad: bool, beta1: Any, beta2: Any,
         lr: Any, weight_decay: float, eps: float, maximize: bool) -> None:
    """Take one step in place (``torch.optim.adam.adam``).

    In grad mode it is written in operators, so that autograd records it; else the fused operator does it.

    Raises:
        AssertionError: if ``capturable`` is set and a tensor is not on an NPU.
    """
    if capturable and any(param.device.type in ("cpu", "meta") for param in params):
        raise AssertionError("If capturable=True, params and state_steps must be on supported devices: ['npu'].")
    settings: list[Any] = [lr, beta1, beta2, weight_decay, eps, amsgrad, maximize]
    if local.grad_enabled:
        for *tensors, step in zip(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs or exp_avg_sqs, state_steps,
                                  strict=True):
            step += 1
            if tensors[0].is_complex():
                tensors = [view_as_real(part) for part in tensors]
            optim.adam(RECORDED, decoupled_weight_decay, step, *tensors, *settings)
        return
    settings[:3] = [float(as_number(value)) for value in settings[:3]]
    fused_step: Any = fused_adamw if decoupled_weight_decay else fused_adam
    for lists in by_device(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps):
        foreach_add(lists[-1], 1)
        fused_step(*lists, *settings, grad_scale, found_inf)
