"""NPU rows of the steps of optimizers: their arithmetic as calls of ACLNN."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...common import optim
from . import ACLNN_CALLS
from .row import Call, Each


class Calls:
    """The ``Arithmetic`` of tensors of an NPU: a list of calls to make."""

    def __init__(self) -> None:
        self.made: list[Call] = []

    def _to_new(self, name: str, a: Any, *values: Any) -> Any:
        out = a.new_empty(a.shape)
        self.made.append((name, (a, *values, out)))
        return out

    def _call(self, name: str, *values: Any) -> None:
        self.made.append((name, values))

    def scaled(self, a: Any, factor: Any) -> Any:
        return self._to_new("aclnnMuls", a, factor)

    def plus(self, a: Any, b: Any, factor: Any) -> Any:
        return self._to_new("aclnnAdd", a, b, factor)

    def root(self, a: Any, number: Any) -> Any:
        out = self._to_new("aclnnSqrt", a)
        self._call("aclnnAdds", out, number, 1, out)
        return out

    def copy_(self, a: Any, b: Any) -> None:
        self._call("aclnnInplaceCopy", a, b)

    def mul_(self, a: Any, factor: Any) -> None:
        self._call("aclnnMuls", a, factor, a)

    def sub_(self, a: Any, b: Any, factor: Any) -> None:
        self._call("aclnnAdd", a, b, -factor, a)

    def average_(self, a: Any, decay: Any, b: Any, weight: Any) -> None:
        if weight == 1:
            self._call("aclnnAdd", b, a, decay, a)
        else:
            self.mul_(a, decay)
            self._call("aclnnAdd", a, b, weight, a)

    def lerp_(self, a: Any, b: Any, weight: Any) -> None:
        self._call("aclnnLerps", a, b, weight, a)

    def addcmul_(self, a: Any, b: Any, c: Any, factor: Any) -> None:
        self._call("aclnnAddcmul", a, b, c, factor, a)

    def addcdiv_(self, a: Any, b: Any, c: Any, factor: Any) -> None:
        self._call("aclnnAddcdiv", a, b, c, factor, a)

    def maximum_(self, a: Any, b: Any) -> None:
        self._call("aclnnMaximum", a, b, a)


def fused_sgd(params: Any, grads: Any, buffers: Any, *settings: Any) -> Iterator[Call]:
    """``_fused_sgd_``, one parameter after the other."""
    for param, grad, buffer in zip(params, grads, buffers or params, strict=True):
        calls = Calls()
        optim.sgd(calls, param, grad, buffer, *settings[:optim.SETTINGS])
        yield from calls.made


def fused_adam(decoupled: bool) -> Callable[..., Iterator[Call]]:
    """``_fused_adam_``, or ``_fused_adamw_``; the step counts are usually on the host."""

    def fused_adam(params: Any, grads: Any, averages: Any, squares: Any, peaks: Any, steps: Any,
                   *settings: Any) -> Iterator[Call]:
        for *tensors, step in zip(params, grads, averages, squares, peaks or squares, steps, strict=True):
            calls = Calls()
            optim.adam(calls, decoupled, step.item(), *tensors, *settings[:optim.SETTINGS])
            yield from calls.made

    return fused_adam


def plain(*args: Any) -> bool:
    """Whether there is no gradient scaling, which looks at data before it decides."""
    return args[-1] is None and args[-2] is None


ACLNN_CALLS.update({
    "_fused_sgd_": Each("", fused_sgd, when=plain),
    "_fused_adam_": Each("", fused_adam(decoupled=False), when=plain),
    "_fused_adamw_": Each("", fused_adam(decoupled=True), when=plain),
})
