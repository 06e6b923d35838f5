"""NPU rows of the steps of optimizers: their arithmetic as calls of ACLNN."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...common import optim
from . import ACLNN_CALLS
from .row import Call, Each


def arithmetic(made: list[Call]) -> optim.Arithmetic:
    """That of an NPU's tensors: it puts the calls to make into a list."""

    def to_new(name: str, a: Any, *values: Any) -> Any:
        out = a.new_empty(a.shape)
        made.append((name, (a, *values, out)))
        return out

    def call(name: str, *values: Any) -> Any:
        made.append((name, values))
        return values[-1]

    def average(a: Any, decay: float, b: Any, weight: float) -> None:
        if weight == 1:
            call("aclnnAdd", b, a, decay, a)
        else:
            call("aclnnMuls", a, decay, a)
            call("aclnnAdd", a, b, weight, a)

    return optim.Arithmetic(
        scaled=lambda a, factor: to_new("aclnnMuls", a, factor),
        plus=lambda a, b, factor: to_new("aclnnAdd", a, b, factor),
        root=lambda a, number: call("aclnnAdds", root := to_new("aclnnSqrt", a), number, 1, root),
        copy_=lambda a, b: call("aclnnInplaceCopy", a, b),
        mul_=lambda a, factor: call("aclnnMuls", a, factor, a),
        sub_=lambda a, b, factor: call("aclnnAdd", a, b, -factor, a),
        average_=average,
        lerp_=lambda a, b, weight: call("aclnnLerps", a, b, weight, a),
        addcmul_=lambda a, b, c, factor: call("aclnnAddcmul", a, b, c, factor, a),
        addcdiv_=lambda a, b, c, factor: call("aclnnAddcdiv", a, b, c, factor, a),
        maximum_=lambda a, b: call("aclnnMaximum", a, b, a),
    )


def fused_sgd(params: Any, grads: Any, buffers: Any, *settings: Any) -> Iterator[Call]:
    """``_fused_sgd_``, one parameter after the other."""
    made: list[Call] = []
    calls = arithmetic(made)
    for tensors in zip(params, grads, buffers or params, strict=True):
        optim.sgd(calls, *tensors, *settings[:optim.SETTINGS])
        yield from made
        made.clear()


def fused_adam(decoupled: bool) -> Callable[..., Iterator[Call]]:
    """``_fused_adam_``, or ``_fused_adamw_``; the step counts are usually on the host."""

    def fused_adam(params: Any, grads: Any, averages: Any, squares: Any, peaks: Any, steps: Any,
                   *settings: Any) -> Iterator[Call]:
        made: list[Call] = []
        calls = arithmetic(made)
        for *tensors, step in zip(params, grads, averages, squares, peaks or squares, steps, strict=True):
            optim.adam(calls, decoupled, step.item(), *tensors, *settings[:optim.SETTINGS])
            yield from made
            made.clear()

    return fused_adam


def plain(*args: Any) -> bool:
    """Whether there is no gradient scaling, which looks at data before it decides."""
    return args[-1] is None and args[-2] is None


ACLNN_CALLS.update({
    "_fused_sgd_": Each("", fused_sgd, when=plain),
    "_fused_adam_": Each("", fused_adam(decoupled=False), when=plain),
    "_fused_adamw_": Each("", fused_adam(decoupled=True), when=plain),
})
