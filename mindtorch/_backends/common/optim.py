"""The mathematics of the optimizers with fused operators, for one parameter, written once.

A rule calls tensor methods on its arguments: tensors, lists of tensors and differentiable tensors
(``mindtorch.optim._rules``), or recorders of ACLNN calls (``npu.ops.optim``); ``cpu.ops.optim`` has them for arrays.
The operations are PyTorch's, one by one, so that all results agree to the last bit.
"""
from __future__ import annotations

from typing import Any

from ..._dispatch.aten import maximum_out
from ..._tensor.sparse import with_values


def is_zero(setting: Any) -> bool:
    """Return True if a setting is the number 0. A tensor never is, since it may need a gradient."""
    return isinstance(setting, (int, float)) and not setting


def descent(param: Any, grad: Any, maximize: bool, weight_decay: Any) -> Any:
    """Return the gradient to descend: negated to maximise, plus weight decay."""
    if maximize:
        grad = grad.neg()
    return grad if is_zero(weight_decay) else grad.add(param, alpha=weight_decay)


def decay(param: Any, lr: Any, weight_decay: Any) -> None:
    """Apply decoupled weight decay."""
    if not is_zero(weight_decay):
        param.mul_(1 - lr * weight_decay)


def keep_larger(a: Any, b: Any) -> Any:
    """Store the elementwise maximum in ``a``; tensors have no ``maximum_``, so use ``out=``."""
    return a.maximum_(b) if hasattr(a, "maximum_") else maximum_out(a, b, a)


def sgd(param: Any, grad: Any, buffer: Any = None, *, lr: Any, momentum: Any, dampening: Any, nesterov: bool,
        is_first_step: bool) -> None:
    """Do a step of stochastic gradient descent. The momentum buffer starts as the first gradient."""
    if buffer is not None:
        if is_first_step:
            buffer.copy_(grad.detach())
        else:
            buffer.mul_(momentum).add_(grad, alpha=1 - dampening)
        grad = grad.add(buffer, alpha=momentum) if nesterov else buffer
    param.add_(grad, alpha=-lr)


def adam(param: Any, grad: Any, average: Any, squares: Any, peak: Any = None, *, step: Any, lr: Any, beta1: Any,
         beta2: Any, eps: float) -> None:
    """Do a step of Adam: bias-corrected moving averages of the gradient and its square. With ``peak`` (amsgrad), use
    the largest average of squares so far.
    """
    average.lerp_(grad, 1 - beta1)
    squares.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
    count = step.item()
    if peak is not None:
        squares = keep_larger(peak, squares)
    denominator = squares.sqrt().div((1 - beta2**count) ** 0.5).add_(eps)
    param.addcdiv_(average, denominator, value=-(lr / (1 - beta1**count)))


def adagrad(param: Any, grad: Any, squares: Any, *, step: Any, lr: Any, lr_decay: float, eps: float) -> None:
    """Do a step of Adagrad, which sums the squares of all gradients."""
    rate = lr / (1 + (step.item() - 1) * lr_decay)
    if getattr(grad, "is_sparse", False) is True:  # a recorded gradient has any attribute
        grad = grad.coalesce()  # a square is no sum of squares
        squares.add_(grad.pow(2))
        deviations = squares.sparse_mask(grad)._values().sqrt().add_(eps)
        param.add_(with_values(grad, grad._values() / deviations), alpha=-rate)
        return
    squares.addcmul_(grad, grad, value=1)
    param.addcdiv_(grad, squares.sqrt().add_(eps), value=-rate)
