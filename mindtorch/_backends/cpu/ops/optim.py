"""CPU kernels of optimizer steps: arithmetic in place, by blocks whose passes all hit the cache."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from . import CPU_KERNELS

array = np.ndarray
BLOCK = 16384  #: elements; temporaries of this size stay below what malloc maps anew each time


def blocks(*arrays: array) -> Iterable[Sequence[array]]:
    """The arrays, which have one shape, in parts: views, so that writes reach the arrays."""
    size = arrays[0].size
    if not arrays[0].ndim:
        return ([a.reshape(1) for a in arrays],)
    if size <= BLOCK or not all(a.flags.c_contiguous for a in arrays):
        return (arrays,)
    flat = [a.reshape(-1) for a in arrays]
    return ([a[start:start + BLOCK] for a in flat] for start in range(0, size, BLOCK))


def numbers(dtype: np.dtype[Any], *values: float) -> list[Any]:
    """Numbers as arithmetic with arrays of a dtype takes them, ready-made where that gives the same."""
    return [np.asarray(value, dtype) if dtype.kind == "f" else value for value in values]


def unscaled(grads: list[array], grad_scale: array | None) -> list[array]:
    return grads if grad_scale is None else [grad / grad_scale.astype(grad.dtype) for grad in grads]


def foreach_add(self: list[array], scalar: Any) -> None:
    for x in self:
        np.add(x, scalar, out=x, casting="unsafe")


def fused_sgd(self: list[array], grads: list[array], momentum_buffer_list: list[array], weight_decay: float,
              momentum: float, lr: float, dampening: float, nesterov: bool, maximize: bool,
              is_first_step: bool, grad_scale: array | None = None, found_inf: array | None = None) -> None:
    if found_inf is not None and found_inf.item():
        return
    buffers = momentum_buffer_list or self  # not touched without momentum
    dtype = None
    for whole in zip(self, unscaled(grads, grad_scale), buffers, strict=True):
        if whole[0].dtype is not dtype:
            dtype = whole[0].dtype
            rate, decay, inertia, weight = numbers(dtype, lr, weight_decay, momentum, 1 - dampening)
        for param, grad, buffer in blocks(*whole):
            if maximize:
                grad = -grad
            if weight_decay:
                grad = grad + param * decay
            if momentum:
                if is_first_step:
                    np.copyto(buffer, grad)
                else:
                    np.multiply(buffer, inertia, buffer)
                    np.add(buffer, grad * weight if dampening else grad, buffer)
                grad = grad + buffer * inertia if nesterov else buffer
            np.subtract(param, np.multiply(grad, rate), param)


def fused_adam(decoupled: bool) -> Callable[..., None]:
    """Adam's kernel, or AdamW's, where weight decay does not go through the gradient."""

    def kernel(self: list[array], grads: list[array], exp_avgs: list[array], exp_avg_sqs: list[array],
               max_exp_avg_sqs: list[array], state_steps: list[array], lr: float, beta1: float, beta2: float,
               weight_decay: float, eps: float, amsgrad: bool, maximize: bool,
               grad_scale: array | None = None, found_inf: array | None = None) -> None:
        if found_inf is not None and found_inf.item():
            return
        maxima = max_exp_avg_sqs if amsgrad else exp_avg_sqs
        lists = self, unscaled(grads, grad_scale), exp_avgs, exp_avg_sqs, maxima, state_steps
        for *whole, step in zip(*lists, strict=True):
            count = step.item()
            correction = (1 - beta2**count) ** 0.5
            # the second correction, too, instead of in the denominator
            factor = -lr / (1 - beta1**count) * correction
            floor = eps * correction
            if whole[0].dtype.kind == "c":
                whole = [a[..., None].view(a.real.dtype) for a in whole]
            for param, grad, average, squares, peak in blocks(*whole):
                if maximize:
                    grad = -grad
                if weight_decay:
                    if decoupled:
                        np.multiply(param, 1 - lr * weight_decay, out=param)
                    else:
                        grad = grad + param * weight_decay
                change = np.subtract(grad, average)
                change *= 1 - beta1
                np.add(average, change, out=average)
                np.multiply(grad, grad, out=change)
                change *= 1 - beta2
                np.multiply(squares, beta2, out=squares)
                np.add(squares, change, out=squares)
                if amsgrad:
                    np.maximum(peak, squares, out=peak)
                np.sqrt(peak, out=change)
                change += floor
                np.divide(average, change, out=change)
                change *= factor
                np.add(param, change, out=param)

    return kernel


CPU_KERNELS.update({
    "_foreach_add_.Scalar": foreach_add,
    "_fused_sgd_": fused_sgd,
    "_fused_adam_": fused_adam(decoupled=False),
    "_fused_adamw_": fused_adam(decoupled=True),
})
