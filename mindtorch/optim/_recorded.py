"""The arithmetic of steps that autograd records: those of optimizers that are ``differentiable``."""
from __future__ import annotations

from .._backends.common.optim import Arithmetic

#: That of tensors, in operators. Numbers may be tensors that require grad. What a product saves for backward is a clone
#: of what a later operation overwrites.
RECORDED = Arithmetic(
    scaled=lambda a, factor: a * factor,
    plus=lambda a, b, factor: a + b.clone() * factor,
    root=lambda a, number: a.sqrt() + number,
    copy_=lambda a, b: a.copy_(b.detach()),
    mul_=lambda a, factor: a.mul_(factor),
    sub_=lambda a, b, factor: a.sub_(b * factor),
    average_=lambda a, decay, b, weight: a.mul_(decay).add_(b * weight),
    lerp_=lambda a, b, weight: a.add_((b - a.clone()) * weight),
    addcmul_=lambda a, b, c, factor: a.add_(b * c * factor),
    addcdiv_=lambda a, b, c, factor: a.add_(b.clone() * factor / c),
    maximum_=lambda a, b: a.copy_(a.clone().maximum(b)),
)
