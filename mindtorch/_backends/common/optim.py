"""The mathematics of optimizers' steps, for one parameter, in whatever arithmetic is to run it.

An ``Arithmetic`` says what the few operations are that steps are made of: NumPy's on arrays (``cpu.ops.optim``), calls
of ACLNN (``npu.ops.optim``), or operators, which autograd can record (``mindtorch.optim._recorded``). A new optimizer
is one more function here.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Operation = Callable[..., Any]


@dataclass(frozen=True)
class Arithmetic:
    """What steps are made of. An operation whose name ends in ``_`` writes into the first argument."""

    scaled: Operation  #: (a, factor): a * factor
    plus: Operation  #: (a, b, factor): a + b * factor
    root: Operation  #: (a, number): sqrt(a) + number
    copy_: Operation  #: (a, b): b
    mul_: Operation  #: (a, factor): a * factor
    sub_: Operation  #: (a, b, factor): a - b * factor
    average_: Operation  #: (a, decay, b, weight): a * decay + b * weight
    lerp_: Operation  #: (a, b, weight): a + (b - a) * weight
    addcmul_: Operation  #: (a, b, c, factor): a + b * c * factor
    addcdiv_: Operation  #: (a, b, c, factor): a + b / c * factor; ``c``, which the step has made, may be overwritten
    maximum_: Operation  #: (a, b): the larger


#: How many settings the fused operators of ``sgd`` and of ``adam`` have, before a gradient scale and ``found_inf``.
SETTINGS = 7


def is_zero(setting: Any) -> bool:
    """Whether a setting is the number 0; a tensor never is, since a gradient may be wanted for it."""
    return isinstance(setting, (int, float)) and not setting


def sgd(x: Arithmetic, param: Any, grad: Any, buffer: Any, weight_decay: Any, momentum: Any, lr: Any, dampening: Any,
        nesterov: bool, maximize: bool, is_first_step: bool) -> None:
    """Stochastic gradient descent with momentum, if that is not 0 (``torch.optim.sgd.sgd``)."""
    if maximize:
        grad = x.scaled(grad, -1)
    if not is_zero(weight_decay):
        grad = x.plus(grad, param, weight_decay)
    if momentum:
        if is_first_step:
            x.copy_(buffer, grad)
        else:
            x.average_(buffer, momentum, grad, 1 - dampening)
        grad = x.plus(grad, buffer, momentum) if nesterov else buffer
    x.sub_(param, grad, lr)


def adam(x: Arithmetic, decoupled: bool, count: Any, param: Any, grad: Any, average: Any, squares: Any, peak: Any,
         lr: Any, beta1: Any, beta2: Any, weight_decay: Any, eps: Any, amsgrad: bool, maximize: bool) -> None:
    """Adam, or AdamW where the weight decay is ``decoupled``, at the step ``count`` (``torch.optim.adam.adam``).

    The correction of the squares is taken out of the denominator: ``sqrt(peak) / correction + eps`` times it.
    """
    if maximize:
        grad = x.scaled(grad, -1)
    if not is_zero(weight_decay):
        if decoupled:
            x.mul_(param, 1 - lr * weight_decay)
        else:
            grad = x.plus(grad, param, weight_decay)
    x.lerp_(average, grad, 1 - beta1)
    x.mul_(squares, beta2)
    x.addcmul_(squares, grad, grad, 1 - beta2)
    if amsgrad:
        x.maximum_(peak, squares)
    correction = (1 - beta2**count) ** 0.5
    denominator = x.root(peak if amsgrad else squares, eps * correction)
    x.addcdiv_(param, average, denominator, -lr / (1 - beta1**count) * correction)
