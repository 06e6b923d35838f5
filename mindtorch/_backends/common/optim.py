"""The mathematics of the optimizers that have fused operators, for one parameter, written once.

A rule calls the methods of tensors. What has them decides how it is run: tensors themselves, lists of tensors and
tensors whose changes autograd can look back through (``mindtorch.optim._rules``), NumPy's arrays (``cpu.ops.optim``),
or the calls of ACLNN that are to be made (``npu.ops.optim``). The operations are those of PyTorch's own steps, one by
one, so that the results are the same to the last bit whoever runs them.
"""
from __future__ import annotations

from typing import Any

from ..._dispatch.aten import maximum_out


def is_zero(setting: Any) -> bool:
    """Whether a setting is the number 0; a tensor never is, since a gradient may be wanted for it."""
    return isinstance(setting, (int, float)) and not setting


def descent(param: Any, grad: Any, maximize: bool, weight_decay: Any) -> Any:
    """The gradient of what is minimised: that of the loss, or of its negative, and of the weights' decay."""
    if maximize:
        grad = grad.neg()
    return grad if is_zero(weight_decay) else grad.add(param, alpha=weight_decay)


def decay(param: Any, lr: Any, weight_decay: Any) -> None:
    """Shrink the weights, where that is decoupled from the gradient."""
    if not is_zero(weight_decay):
        param.mul_(1 - lr * weight_decay)


def keep_larger(a: Any, b: Any) -> Any:
    """Put the larger of both into ``a``; for tensors, of which this is no method, by the form with ``out=``."""
    return a.maximum_(b) if hasattr(a, "maximum_") else maximum_out(a, b, a)


def sgd(param: Any, grad: Any, buffer: Any = None, *, lr: Any, momentum: Any, dampening: Any, nesterov: bool,
        is_first_step: bool) -> None:
    """Stochastic gradient descent; the buffer, which momentum fills, takes the gradient as it is at the first step."""
    if buffer is not None:
        if is_first_step:
            buffer.copy_(grad.detach())
        else:
            buffer.mul_(momentum).add_(grad, alpha=1 - dampening)
        grad = grad.add(buffer, alpha=momentum) if nesterov else buffer
    param.add_(grad, alpha=-lr)


def adam(param: Any, grad: Any, average: Any, squares: Any, peak: Any = None, *, step: Any, lr: Any, beta1: Any,
         beta2: Any, eps: float) -> None:
    """Adam: moving averages of the gradient and of its square, corrected for starting at zero; with a ``peak``, which
    amsgrad has, the largest of the squares so far.
    """
    average.lerp_(grad, 1 - beta1)
    squares.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
    count = step.item()
    if peak is not None:
        squares = keep_larger(peak, squares)
    denominator = squares.sqrt().div((1 - beta2**count) ** 0.5).add_(eps)
    param.addcdiv_(average, denominator, value=-(lr / (1 - beta1**count)))


def adagrad(param: Any, grad: Any, squares: Any, *, step: Any, lr: Any, lr_decay: float, eps: float) -> None:
    """Adagrad: the sum of the squares of all gradients so far."""
    rate = lr / (1 + (step.item() - 1) * lr_decay)
    squares.addcmul_(grad, grad, value=1)
    param.addcdiv_(grad, squares.sqrt().add_(eps), value=-rate)
