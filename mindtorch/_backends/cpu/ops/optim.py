"""CPU kernels of optimizer steps: arithmetic in place, by blocks whose passes all hit the cache."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ...common import optim
from . import CPU_KERNELS

array = np.ndarray
BLOCK = 16384  #: elements; temporaries of this size stay below what malloc maps anew each time


def blocks(*arrays: array) -> Iterable[Any]:
    """The arrays, which have one shape, in parts: views, so that writes reach the arrays."""
    size = arrays[0].size
    if not arrays[0].ndim:
        return ([a.reshape(1) for a in arrays],)
    if size <= BLOCK or not all(a.flags.c_contiguous for a in arrays):
        return (arrays,)
    flat = [a.reshape(-1) for a in arrays]
    return ([a[start:start + BLOCK] for a in flat] for start in range(0, size, BLOCK))


def number(dtype: np.dtype[Any], value: Any) -> Any:
    """A setting as arithmetic with arrays of a dtype takes it, ready-made where that gives the same."""
    ready = value.__class__ is float and value and value != 1 and dtype.kind == "f"
    return np.asarray(value, dtype) if ready else value


def accumulate(a: array, change: array, factor: float) -> None:
    """``a + change * factor`` into ``a``; the change is lost."""
    np.multiply(change, factor, change)
    np.add(a, change, a)


def average(a: array, decay: float, b: array, weight: float) -> None:
    np.multiply(a, decay, a)
    np.add(a, b if weight == 1 else np.multiply(b, weight), a)


#: That of NumPy's arrays. Numbers are Python's or of the arrays' dtype, which they keep.
ARRAYS = optim.Arithmetic(
    scaled=np.multiply,
    plus=lambda a, b, factor: np.add(a, out := np.multiply(b, factor), out),
    root=lambda a, number: np.add(root := np.sqrt(a), number, root),
    copy_=np.copyto,
    mul_=lambda a, factor: np.multiply(a, factor, a),
    sub_=lambda a, b, factor: np.subtract(a, np.multiply(b, factor), a),
    average_=average,
    lerp_=lambda a, b, weight: accumulate(a, np.subtract(b, a), weight),
    addcmul_=lambda a, b, c, factor: accumulate(a, np.multiply(b, c), factor),
    addcdiv_=lambda a, b, c, factor: accumulate(a, np.divide(b, c, c), factor),
    maximum_=lambda a, b: np.maximum(a, b, out=a),
)


def unscaled(grads: list[array], grad_scale: array | None = None, found_inf: array | None = None) -> list[array]:
    """The gradients without their scale; none, so that there is no step, if infinities were found in them."""
    if found_inf is not None and found_inf.item():
        return []
    return grads if grad_scale is None else [grad / grad_scale.astype(grad.dtype) for grad in grads]


def foreach_add(self: list[array], scalar: Any) -> None:
    for x in self:
        np.add(x, scalar, out=x, casting="unsafe")


def fused_sgd(self: list[array], grads: list[array], momentum_buffer_list: list[array], *settings: Any) -> None:
    """``_fused_sgd_``; without momentum there are no buffers, nor are they touched."""
    dtype = None
    for whole in zip(self, unscaled(grads, *settings[optim.SETTINGS:]), momentum_buffer_list or self, strict=False):
        if whole[0].dtype is not dtype:
            dtype = whole[0].dtype
            given = [number(dtype, value) for value in settings[:optim.SETTINGS]]
        for arrays in blocks(*whole):
            optim.sgd(ARRAYS, *arrays, *given)


def fused_adam(decoupled: bool) -> Callable[..., None]:
    """Adam's kernel, or AdamW's, whose weight decay does not go through the gradient."""

    def kernel(self: list[array], grads: list[array], exp_avgs: list[array], exp_avg_sqs: list[array],
               max_exp_avg_sqs: list[array], state_steps: list[array], *settings: Any) -> None:
        unscaled_grads, peaks = unscaled(grads, *settings[optim.SETTINGS:]), max_exp_avg_sqs or exp_avg_sqs
        given = settings[:optim.SETTINGS]
        for *whole, step in zip(self, unscaled_grads, exp_avgs, exp_avg_sqs, peaks, state_steps, strict=False):
            if whole[0].dtype.kind == "c":
                whole = [a[..., None].view(a.real.dtype) for a in whole]
            count = step.item()
            for arrays in blocks(*whole):
                optim.adam(ARRAYS, decoupled, count, *arrays, *given)

    return kernel


CPU_KERNELS.update({
    "_foreach_add_.Scalar": foreach_add,
    "_fused_sgd_": fused_sgd,
    "_fused_adam_": fused_adam(decoupled=False),
    "_fused_adamw_": fused_adam(decoupled=True),
})
