"""Stochastic gradient descent; mirrors ``torch.optim.sgd``."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._autograd.grad_mode import enable_grad
from .._creation import empty_like
from .._dispatch.aten import _fused_sgd_ as fused_sgd
from .._dispatch.local import local
from .._tensor import Tensor
from .optimizer import (
    Optimizer, _in_grad_mode, as_number, by_device, check_fused, check_implementation, check_not_negative, check_single,
)

#: The settings that groups saved by older versions lack.
_LATER = {"nesterov": False, "maximize": False, "foreach": None, "differentiable": False, "fused": False}


class SGD(Optimizer):
    """Subtracts lr·(gradient + weight_decay·param), or with momentum lr·buffer, where buffer is momentum·buffer + (1 -
    dampening)·gradient (``torch.optim.SGD``).

    ``foreach`` and ``fused`` are taken for PyTorch's sake: the fused operator does the step in any case, unless
    ``differentiable`` is set.

    Raises:
        ValueError: for negative settings, and Nesterov's momentum without momentum or with dampening.
        RuntimeError: if ``fused`` is combined with ``foreach`` or ``differentiable``.
    """

    def __init__(self, params: Any, lr: Any = 1e-3, momentum: float = 0, dampening: float = 0,
                 weight_decay: Any = 0, nesterov: bool = False, *, maximize: bool = False,
                 foreach: bool | None = None, differentiable: bool = False,
                 fused: bool | None = None) -> None:
        check_single("lr", lr)
        check_not_negative({"learning rate": lr, "momentum value": momentum,
                            "weight_decay value": weight_decay})
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize, "foreach": foreach, "differentiable": differentiable, "fused": fused,
        })
        check_implementation(differentiable, foreach, fused)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in _LATER.items():
                group.setdefault(name, value)

    @_in_grad_mode
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters by their gradients, and return the closure's loss (``torch.optim.SGD.step``)."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            params = [param for param in group["params"] if param._grad is not None]
            if group["fused"]:
                for param in params:
                    check_fused(param)
            states = [self.state[param] for param in params] if group["momentum"] else []
            buffers = [state.get("momentum_buffer") for state in states]
            sgd(params, [param._grad for param in params], buffers, fused=group["fused"],
                weight_decay=group["weight_decay"], momentum=group["momentum"], lr=group["lr"],
                dampening=group["dampening"], nesterov=group["nesterov"], maximize=group["maximize"])
            for state, buffer in zip(states, buffers, strict=True):
                state["momentum_buffer"] = buffer
        return loss


def sgd(params: list[Any], d_p_list: list[Any], momentum_buffer_list: list[Any],
        has_sparse_grad: bool = False, foreach: bool | None = None, fused: bool | None = None,
        grad_scale: Tensor | None = None, found_inf: Tensor | None = None, *, weight_decay: Any,
        momentum: float, lr: Any, dampening: float, nesterov: bool, maximize: bool) -> None:
    """One step in place. Momentum buffers that are None are made, and put into their list.

    In grad mode it is written in operators, so that autograd records it; else the fused operator does it.
    """
    if local.grad_enabled:
        _in_operators(params, d_p_list, momentum_buffer_list, weight_decay, momentum, lr, dampening, nesterov,
                      maximize)
        return
    settings = (float(as_number(weight_decay)), momentum, float(as_number(lr)), dampening, nesterov, maximize)
    if not momentum:
        _fused(params, d_p_list, [], *settings, False, grad_scale, found_inf)
        return
    is_new = [buffer is None for buffer in momentum_buffer_list]
    if True not in is_new:
        _fused(params, d_p_list, momentum_buffer_list, *settings, False, grad_scale, found_inf)
        return
    for i, gradient in enumerate(d_p_list):
        if is_new[i]:
            momentum_buffer_list[i] = empty_like(gradient)
    for first in (True, False):
        part = [i for i, new in enumerate(is_new) if new is first]
        lists = ([tensors[i] for i in part] for tensors in (params, d_p_list, momentum_buffer_list))
        _fused(*lists, *settings, first, grad_scale, found_inf)


def _fused(params: list[Any], grads: list[Any], buffers: list[Any], *settings: Any) -> None:
    for lists in by_device(params, grads, buffers):
        fused_sgd(*lists, *settings)


def _in_operators(params: list[Any], grads: list[Any], buffers: list[Any], weight_decay: Any, momentum: float,
                  lr: Any, dampening: float, nesterov: bool, maximize: bool) -> None:
    for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
        if maximize:
            grad = -grad
        if isinstance(weight_decay, Tensor) or weight_decay:
            grad = grad + param.clone() * weight_decay
        if momentum:
            if buffers[i] is None:
                buffers[i] = grad.detach().clone()
            else:
                buffers[i].mul_(momentum).add_(grad * (1 - dampening))
            grad = grad + buffers[i] * momentum if nesterov else buffers[i]
        param.add_(grad * -lr)
