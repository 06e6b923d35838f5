"""The arithmetic of steps that autograd records: those of optimizers that are ``differentiable``."""
from __future__ import annotations

from typing import Any


class Recorded:
    """The ``Arithmetic`` of tensors, in operators. Numbers may be tensors that require grad. What a product saves for
    backward is a clone of what a later operation overwrites.
    """

    @staticmethod
    def scaled(a: Any, factor: Any) -> Any:
        return a * factor

    @staticmethod
    def plus(a: Any, b: Any, factor: Any) -> Any:
        return a + b.clone() * factor

    @staticmethod
    def root(a: Any, number: Any) -> Any:
        return a.sqrt() + number

    @staticmethod
    def copy_(a: Any, b: Any) -> None:
        a.copy_(b.detach())

    @staticmethod
    def mul_(a: Any, factor: Any) -> None:
        a.mul_(factor)

    @staticmethod
    def sub_(a: Any, b: Any, factor: Any) -> None:
        a.sub_(b * factor)

    @staticmethod
    def average_(a: Any, decay: Any, b: Any, weight: Any) -> None:
        a.mul_(decay).add_(b * weight)

    @staticmethod
    def lerp_(a: Any, b: Any, weight: Any) -> None:
        a.add_((b - a.clone()) * weight)

    @staticmethod
    def addcmul_(a: Any, b: Any, c: Any, factor: Any) -> None:
        a.add_(b * c * factor)

    @staticmethod
    def addcdiv_(a: Any, b: Any, c: Any, factor: Any) -> None:
        a.add_(b.clone() * factor / c)

    @staticmethod
    def maximum_(a: Any, b: Any) -> None:
        a.copy_(a.clone().maximum(b))
