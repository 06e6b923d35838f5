"""Adagrad; mirrors ``torch.optim.adagrad``."""
from __future__ import annotations

from typing import Any, ClassVar

from .._backends.common import optim
from .._creation import full_like
from .._dispatch.aten import _fused_adagrad_ as fused_adagrad
from .._tensor import Tensor
from ._rules import RuleOptimizer, carry_out, count, run_fused, runs_fused
from .optimizer import check_implementation, check_not_negative, check_single, no_scaling


def adagrad(params: list[Any], grads: list[Any], state_sums: list[Any], state_steps: list[Any],
            fused: bool | None = None, grad_scale: Tensor | None = None, found_inf: Tensor | None = None,
            has_sparse_grad: bool = False, foreach: bool | None = None, differentiable: bool = False,
            has_complex: bool = False, *, lr: Any, weight_decay: float, lr_decay: float, eps: float,
            maximize: bool) -> None:
    """Take one step in place (``torch.optim.adagrad.adagrad``)."""
    if runs_fused(params, grads, fused, differentiable):
        run_fused(fused_adagrad, (params, grads, state_sums), state_steps, lr, lr_decay, weight_decay, eps, maximize,
                  scaling=(grad_scale, found_inf))
    else:
        no_scaling(grad_scale, found_inf)
        carry_out(optim.adagrad, params, grads, state_sums, counts={"step": state_steps}, foreach=foreach,
                  differentiable=differentiable, maximize=maximize, weight_decay=weight_decay, lr=lr,
                  lr_decay=lr_decay, eps=eps)


class Adagrad(RuleOptimizer):
    """Subtracts rate·gradient / (sqrt(sum) + eps), where sum is that of the squares of all gradients so far, and rate
    is lr / (1 + (step - 1)·lr_decay) (``torch.optim.Adagrad``). The sum starts at ``initial_accumulator_value``. Raises
    ValueError for settings out of range, and RuntimeError if ``fused`` is combined with ``foreach`` or
    ``differentiable``.
    """

    _function = staticmethod(adagrad)
    _state = ("sum", "step")
    _takes_sparse = True
    _unpacked: ClassVar = {"initial_accumulator_value": ()}

    def __init__(self, params: Any, lr: Any = 1e-2, lr_decay: float = 0, weight_decay: float = 0,
                 initial_accumulator_value: float = 0, eps: float = 1e-10, foreach: bool | None = None, *,
                 maximize: bool = False, differentiable: bool = False, fused: bool | None = None) -> None:
        check_single("lr", lr)
        check_not_negative({
            "learning rate": lr, "lr_decay value": lr_decay, "weight_decay value": weight_decay,
            "initial_accumulator_value value": initial_accumulator_value, "epsilon value": eps,
        })
        super().__init__(params, {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "fused": fused,
        })
        check_implementation(differentiable, foreach, fused)
        self._step_supports_amp_scaling = bool(fused)
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param] = self._start(param, group)

    def _start(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        value = self.defaults["initial_accumulator_value"]
        return {"step": count(0, param, group), "sum": full_like(param, complex(value, value) if param.is_complex()
                                                                 else value, requires_grad=False)}

    def share_memory(self) -> None:
        """Move the sums into memory that other processes can share (``torch.optim.Adagrad.share_memory``)."""
        for state in self.state.values():
            state["sum"].share_memory_()
