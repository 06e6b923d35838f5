"""CPU kernels of losses."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .linalg import widened

NONE, MEAN, SUM = 0, 1, 2
array = np.ndarray


def reduced(values: array, reduction: int) -> Any:
    """What a loss makes of its values by element."""
    if reduction == NONE:
        return values
    total = np.add.reduce(*widened(values), axis=None)
    return total if reduction == SUM else total / np.float64(values.size)


def loss(by_element: Callable[..., array], at: int = 0) -> Callable[..., Any]:
    """The kernel of a loss from its value by element; ``reduction`` is argument ``at`` of those after the tensors."""

    def kernel(self: array, target: array, *rest: Any) -> Any:
        rest = rest or (MEAN,)
        options = (*rest[:at], *rest[at + 1:])
        return reduced(by_element(*widened(self, target), *options), rest[at] if at < len(rest) else MEAN)

    return kernel


def smooth_l1(self: array, target: array, beta: float = 1.0) -> array:
    z = np.abs(self - target)
    return np.where(z < beta, 0.5 * z * z / beta, z - 0.5 * beta) if beta else z


def huber(self: array, target: array, delta: float = 1.0) -> array:
    z = np.abs(self - target)
    return np.where(z <= delta, 0.5 * z * z, delta * (z - 0.5 * delta))


def binary_cross_entropy(self: array, target: array, weight: array | None = None) -> array:
    for name, values in (("input", self), ("target", target)):
        if not np.all((values >= 0) & (values <= 1)):
            raise RuntimeError(f"all elements of {name} should be between 0 and 1")
    value = (target - 1) * np.maximum(np.log1p(-self), -100) - target * np.maximum(np.log(self), -100)
    return value if weight is None else value * weight


def log_sigmoid(x: array) -> array:
    return np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x)))


def binary_cross_entropy_with_logits(self: array, target: array, weight: array | None = None,
                                     pos_weight: array | None = None) -> array:
    likelihood = log_sigmoid(self)
    if pos_weight is not None:
        likelihood = likelihood * ((pos_weight - 1) * target + 1)
    value = (1 - target) * self - likelihood
    return value if weight is None else value * weight


# -- negative log likelihood -------------------------------------------------------------------------------------------


def classes_of(self: array, target: array, ignore_index: int) -> tuple[array, array]:
    """The target classes with those to ignore replaced by 0, and which are not to be ignored.

    Raises:
        IndexError: if a class is none of those that ``self`` has along dimension 1.
    """
    kept = target != ignore_index
    chosen = np.where(kept, target, 0).astype(np.int64)
    outside = (chosen < 0) | (chosen >= self.shape[1])
    if outside.any():
        raise IndexError(f"Target {chosen[outside][0]} is out of bounds.")
    return chosen, kept


def nll_loss_forward(self: array, target: array, weight: array | None, reduction: int, ignore_index: int) -> tuple[Any, Any]:
    """Both operators' kernel: classes along dimension 1, or along the only one."""
    scalar = self.ndim == 1
    if scalar:
        self, target = self[None], target.reshape(1)
    chosen, kept = classes_of(self, target, ignore_index)
    picked = -np.take_along_axis(self, chosen[:, None], 1)[:, 0]
    weights = kept.astype(self.dtype) if weight is None else np.where(kept, weight[chosen], 0)
    losses = np.where(kept, picked * weights, 0)
    if reduction == NONE:
        return (losses[0] if scalar else losses), 0
    total, total_weight = (np.add.reduce(*widened(values), axis=None) for values in (losses, weights))
    return (total if reduction == SUM else np.divide(total, total_weight)), total_weight


def nll_loss_backward(grad_output: array, self: array, target: array, weight: array | None, reduction: int,
                      ignore_index: int, total_weight: array) -> array:
    shape = self.shape
    if self.ndim == 1:
        self, target, grad_output = self[None], target.reshape(1), grad_output.reshape(1)
    chosen, kept = classes_of(self, target, ignore_index)
    grads = -grad_output if reduction != MEAN else -grad_output / total_weight
    if weight is not None:
        grads = grads * weight[chosen]
    out = np.zeros(self.shape, self.dtype)
    np.put_along_axis(out, chosen[:, None], np.where(kept, grads, 0).astype(self.dtype)[:, None], 1)
    return out.reshape(shape)


# -- margins -----------------------------------------------------------------------------------------------------------


def _rows(self: array, target: array) -> tuple[array, array]:
    """Inputs without a batch dimension as a batch of one."""
    return (self, target) if self.ndim == 2 else (self.reshape(1, -1), target.reshape(1, *target.shape[self.ndim:]) if False else target)


ROWS: dict[str, Callable[..., Any]] = {
    "mse_loss": loss(lambda x, y: np.square(x - y)),
    "smooth_l1_loss": loss(smooth_l1),
    "huber_loss": loss(huber),
    "soft_margin_loss": loss(lambda x, y: np.log1p(np.exp(-y * x))),
    "binary_cross_entropy": loss(binary_cross_entropy, at=1),
    "binary_cross_entropy_with_logits": loss(binary_cross_entropy_with_logits, at=2),
    "nll_loss_forward": nll_loss_forward,
    "nll_loss2d_forward": nll_loss_forward,
    "nll_loss_backward": nll_loss_backward,
    "nll_loss2d_backward": nll_loss_backward,
}
