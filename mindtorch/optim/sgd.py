"""Stochastic gradient descent; mirrors ``torch.optim.sgd``."""
from __future__ import annotations

from types import NoneType
from typing import Any, ClassVar

from .._backends.common import optim
from .._creation import empty_like
from .._dispatch.aten import _fused_sgd_ as fused_sgd
from .._dispatch.local import local
from .._tensor import Tensor
from ._rules import RuleOptimizer, carry_out, run_fused, runs_fused
from .optimizer import check_implementation, check_not_negative, check_single, every_group, no_scaling


def sgd(params: list[Any], d_p_list: list[Any], momentum_buffer_list: list[Any],
        has_sparse_grad: bool = False, foreach: bool | None = None, fused: bool | None = None,
        grad_scale: Tensor | None = None, found_inf: Tensor | None = None, *, weight_decay: Any,
        momentum: float, lr: Any, dampening: float, nesterov: bool, maximize: bool) -> None:
    """Take one step in place (``torch.optim.sgd.sgd``). Momentum buffers that are None are made, and put into their
    list. In grad mode, autograd records the step.
    """
    buffers = momentum_buffer_list if momentum else []
    parts = [(False, [params, d_p_list, buffers])]
    made: list[Any] = []
    if NoneType in map(type, buffers):
        is_new = [buffer is None for buffer in buffers]
        buffers[:] = [empty_like(grad) if buffer is None else buffer
                      for grad, buffer in zip(d_p_list, buffers, strict=True)]
        made = [buffer for buffer, new in zip(buffers, is_new, strict=True) if new]
        parts = [(first, [[tensor for tensor, new in zip(tensors, is_new, strict=True) if new is first]
                          for tensors in (params, d_p_list, buffers)]) for first in (True, False)]
    differentiable = local.grad_enabled
    at_once = runs_fused(params, d_p_list, fused, differentiable)
    if not at_once:
        no_scaling(grad_scale, found_inf)
    for first, lists in parts:
        if at_once:
            run_fused(fused_sgd, lists, [], weight_decay, momentum, lr, dampening, nesterov, maximize, first,
                      scaling=(grad_scale, found_inf), twice=() if fused or first else lists[2:])
        else:
            carry_out(optim.sgd, *lists, counts={}, foreach=foreach, differentiable=differentiable, maximize=maximize,
                      weight_decay=weight_decay, lr=lr, momentum=momentum, dampening=dampening, nesterov=nesterov,
                      is_first_step=first)
    for buffer in () if differentiable else made:
        buffer._forget_writes()


class SGD(RuleOptimizer):
    """Subtracts lr·(gradient + weight_decay·param), or with momentum lr·buffer, where buffer is momentum·buffer + (1 -
    dampening)·gradient (``torch.optim.SGD``). Raises ValueError for negative settings, and Nesterov's momentum without
    momentum or with dampening, and RuntimeError if ``fused`` is combined with ``foreach`` or ``differentiable``.
    """

    _unpacked: ClassVar = {"differentiable": ()}
    _takes_sparse = True

    def __init__(self, params: Any, lr: Any = 1e-3, momentum: float = 0, dampening: float = 0, weight_decay: Any = 0,
                 nesterov: bool = False, *, maximize: bool = False, foreach: bool | None = None,
                 differentiable: bool = False, fused: bool | None = None) -> None:
        check_single("lr", lr)
        check_not_negative({"learning rate": lr, "momentum value": momentum, "weight_decay value": weight_decay})
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
            "nesterov": nesterov, "maximize": maximize, "foreach": foreach, "differentiable": differentiable,
            "fused": fused,
        })
        check_implementation(differentiable, foreach, fused)
        self._step_supports_amp_scaling = bool(fused)

    @every_group
    def step(self, group: dict[str, Any]) -> None:
        (params, grads), state = self._params(group), self.state
        buffers = [state[param].get("momentum_buffer") for param in params] if group["momentum"] else []
        makes_buffers = NoneType in map(type, buffers)
        sgd(params, grads, buffers, **self._settings(group))
        if makes_buffers:
            for param, buffer in zip(params, buffers, strict=True):
                state[param]["momentum_buffer"] = buffer
