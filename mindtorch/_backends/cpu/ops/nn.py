"""CPU kernels of losses."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...._base import loops
from ...._base.about import about
from ...._storage import allocate
from ...common.blocks import LARGE, SMALL, each_block
from ...common.elements import number
from ...common.half import FEW, converted as as_dtype
from ..along import put_along, taken_along
from ..precision import is_half, to_opmath
from ..rows import Prepared
from . import AT_ONCE, CPU_KERNELS
from .reduction import PIECE, add, maximum, minimum

NONE, MEAN, SUM = 0, 1, 2
array = np.ndarray
BITS = {4: np.uint32, 8: np.uint64}  #: as which positive numbers are in order, by size


def reduced(values: array, reduction: int) -> Any:
    """Apply ``reduction`` to the values of a loss by element."""
    if reduction == NONE:
        return values
    total = np.add.reduce(to_opmath(values), axis=None)
    return total if reduction == SUM else (total / np.float64(values.size)).astype(total.dtype)


def loss(by_element: Callable[..., array], at: int = 0, composed: bool = False,
         sum_of: Callable[..., Any] | None = None) -> Prepared:
    """Return the kernel of a loss from its value by element; ``reduction`` is argument ``at`` after the tensors, before
    which there are weights. Sums of many values are added up in blocks that stay in the cache, or by ``sum_of``, which
    may return None; the loss of few is prepared.

    The value is computed in float32 for half-precision inputs. If ATen has ``composed`` it of operators, it is given
    the function that rounds, as each of them does; NumPy computes few elements in half precision.
    """

    def kernel(self: array, target: array, *rest: Any) -> Any:
        others, reduction = rest[:at] + rest[at + 1:], rest[at] if at < len(rest) else MEAN
        widens = not composed or self.size >= FEW
        if composed:
            others = rounding(self), *[to_opmath(other) if widens and other.__class__ is array else other
                                       for other in others]

        def values(self: array, target: array) -> array:
            return by_element(*(map(to_opmath, (self, target)) if widens else (self, target)), *others)

        alike = are_alike(self, target)
        if sum_of is not None and reduction != NONE and alike and (
                total := sum_of(*(to_opmath(x).reshape(-1) for x in (self, target)), *others)) is not None:
            return total if reduction == SUM else total / self.size
        if reduction == NONE or self.size < 2 * SMALL or not alike or any(
                other.__class__ is array for other in others):
            return reduced(values(self, target), reduction)
        x, y, sums = self.reshape(-1), target.reshape(-1), {}

        def work(part: slice) -> None:
            sums[part.start] = reduced(values(x[part], y[part]), SUM)

        each_block(work, x.size, SMALL, x.size)
        total = np.add.reduce([sums[start] for start in sorted(sums)])
        return total if reduction == SUM else total / np.float64(x.size)

    def prepare(self: array, target: array, *rest: Any) -> Callable[..., Any] | None:
        weights, settings = [w for w in rest[:at] if w is not None], rest[at + 1:]
        reduction, narrow, half = rest[at] if at < len(rest) else MEAN, self.dtype, is_half(self)
        if not (half or narrow.char in "fd") or self.size >= (FEW if half and composed else SMALL) or (
                not are_alike(self, target)) or any(weight.dtype != narrow for weight in weights):
            return None
        rounded, kind = (rounding(self),) if composed else (), loops.SINGLE.type if half else narrow.type
        count, by_loop = kind(self.size), sum_of if reduction != NONE and self.size >= loops.SOME else None

        def of_floats(self: array, target: array, *weights: Any) -> Any:
            if by_loop and (total := by_loop(self.reshape(-1), target.reshape(-1), *settings)) is not None:
                return kind(total if reduction == SUM else total / count)
            values = by_element(self, target, *rounded, *weights, *settings)
            if reduction == NONE:
                return values
            total = np.add.reduce(values, None)
            return total if reduction == SUM else total / (count if values.size == self.size else values.size)

        def of_halves(*given: Any) -> Any:
            if not composed:
                return as_dtype(np.asarray(of_floats(*map(to_opmath, given))), narrow)
            values = by_element(*given[:2], *rounded, *given[2:], *settings)
            return as_dtype(np.asarray(reduced(values, reduction)), narrow)

        return of_halves if half else of_floats

    return Prepared(prepare, 2 + at, kernel)


def rounding(x: array) -> Callable[[array], array]:
    """Return the function that rounds float32 to the half precision of a large array, and nothing else."""
    if x.size < FEW or not is_half(x):
        return lambda values: values
    return lambda values: as_dtype(as_dtype(values, x.dtype), loops.SINGLE)


def sum_of_differences(x: array, y: array, beta: float) -> Any:
    """Sum ``huber``'s losses of float32 or float64 lines, or squares if ``beta`` is negative; None without a loop."""
    if not beta or (loop := loops.sum_losses.compiled(x.size, x, y)) is None:
        return None
    sums = np.empty(-(-x.size // PIECE))
    each_block(lambda part: loop(x[part.start * PIECE:part.stop * PIECE], y[part.start * PIECE:part.stop * PIECE],
                                 sums[part], beta), len(sums), LARGE // PIECE, x.size)
    return np.add.reduce(sums)


def sum_of_smooth_l1(x: array, y: array, beta: float = 1.0) -> Any:
    return None if (total := sum_of_differences(x, y, beta)) is None else total / beta


def are_alike(*arrays: array) -> bool:
    """Return True for contiguous arrays of one shape and dtype."""
    first = arrays[0]
    return all(x.shape == first.shape and x.dtype == first.dtype and x.flags.c_contiguous for x in arrays)


def loss_backward(slope: Callable[..., Any]) -> Prepared:
    """Return the preparation of ``op(grad_output, self, target, reduction, number)`` of contiguous tensors: the slope
    per element, which ``slope`` writes over the differences, times the gradient. Half precision is computed in float32.
    """
    def prepare(grad: array, self: array, target: array, reduction: int, *number: Any) -> Callable[..., array] | None:
        half = is_half(self)
        if not (half or self.dtype.char in "fd") or not are_alike(self, target) or grad.dtype != self.dtype or (
                not are_alike(grad, self) if reduction == NONE else grad.ndim):
            return None
        size, narrow, kind = self.size, self.dtype, np.float32 if half else self.dtype.type

        def run(grad: array, self: array, target: array) -> array:
            if half:
                return as_dtype(of_floats(*[as_dtype(x, loops.SINGLE) for x in (grad, self, target)]), narrow)
            return of_floats(grad, self, target)

        def of_floats(grad: array, self: array, target: array) -> array:
            out, scale = allocate(self.shape, self.dtype), grad / kind(size) if reduction == MEAN else grad.reshape(-1)
            x, y, result = (a.reshape(-1) for a in (self, target, out))

            def work(part: slice) -> None:
                z = np.subtract(x[part], y[part], result[part])
                slope(z, *number)
                z *= scale[part] if reduction == NONE else scale

            if size <= SMALL:
                work(slice(0, size))
            else:
                each_block(work, size, SMALL, size)
            return out

        return run

    return Prepared(prepare, 3)


def slope_of_smooth_l1(z: array, beta: float) -> None:
    if beta:
        z /= beta
        z.clip(-1, 1, z)
    else:
        np.sign(z, z)


def smooth_l1(self: array, target: array, beta: float = 1.0) -> array:
    z = np.abs(self - target)
    if not beta:
        return z
    near = np.minimum(z, beta)  # beyond beta the factor is 1; the branches of ``np.where`` take five times as long
    z -= 0.5 * near
    near /= beta
    near *= z
    return near


def huber(self: array, target: array, delta: float = 1.0) -> array:
    z = np.abs(self - target)
    near = np.minimum(z, delta)
    z -= 0.5 * near
    near *= z
    return near


def binary_cross_entropy(self: array, target: array, weight: array | None = None) -> array:
    one, least = number(1, self.dtype), number(-100, self.dtype)
    for name, values in (("input", self), ("target", target)):
        bits = values.view(BITS[values.itemsize])  # those of numbers above 1, negative ones, and NaN are larger
        if values.size and maximum(bits, None) > one.view(bits.dtype) and not (
                minimum(values, None) >= 0 and maximum(values, None) <= 1):  # -0, or written so that NaN fails
            raise about(RuntimeError(f"all elements of {name} should be between 0 and 1"), "probabilities", name=name)
    value = (target - one) * np.maximum(np.log1p(-self), least) - target * np.maximum(np.log(self), least)
    return value if weight is None else value * weight


def log_sigmoid(x: array) -> array:
    wide = to_opmath(x)
    return (np.minimum(wide, 0) - np.log1p(np.exp(-np.abs(wide)))).astype(x.dtype, copy=False)


def soft_margin(self: array, target: array, rounded: Callable[[array], array]) -> array:
    return rounded(np.log1p(rounded(np.exp(rounded(-self * target)))))


def binary_cross_entropy_with_logits(self: array, target: array, rounded: Callable[[array], array],
                                     weight: array | None = None, pos_weight: array | None = None) -> array:
    likelihood = rounded(log_sigmoid(self))
    if pos_weight is not None:
        likelihood = rounded(likelihood * rounded(rounded(rounded(pos_weight - 1) * target) + 1))
    value = rounded(rounded(rounded(1 - target) * self) - likelihood)
    return value if weight is None else rounded(value * weight)


# -- negative log likelihood ---------------------------------------------------------------------------------

def classes_of(self: array, target: array, ignore_index: int) -> tuple[array, array]:
    """Return the target classes, with ignored ones replaced by 0, and a mask of the others.

    Raises:
        IndexError: if a class is out of range for dimension 1 of ``self``.
    """
    kept = target != ignore_index
    chosen = np.where(kept, target, 0).astype(np.int64)
    outside = (chosen < 0) | (chosen >= self.shape[1])
    if outside.any():
        raise about(IndexError(f"Target {chosen[outside][0]} is out of bounds."),
                    "target class", target=int(chosen[outside][0]))
    return chosen, kept


def nll_loss_forward(self: array, target: array, weight: array | None, reduction: int,
                     ignore_index: int) -> tuple[Any, Any]:
    """Compute both operators' forward pass: classes along dimension 1, or along the only one."""
    scalar = self.ndim == 1
    if scalar:
        self, target = self[None], target.reshape(1)
    chosen, kept = classes_of(self, target, ignore_index)
    picked = -taken_along(self, chosen[:, None], 1)[:, 0]
    weights = kept.astype(self.dtype) if weight is None else np.where(kept, weight[chosen], 0)
    losses = np.where(kept, picked * weights, 0)
    if reduction == NONE:
        return (0 + losses[0] if scalar else losses), 0  # what is added to 0 is not -0
    total, total_weight = (np.add.reduce(values, axis=None, dtype=np.float64).astype(to_opmath(values).dtype)
                           for values in (losses, weights))
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
    put_along(out, chosen[:, None], np.where(kept, grads, 0).astype(self.dtype)[:, None], 1)
    return out.reshape(shape)


class Classes:
    """The flat places of the classes of samples, among log probabilities (N, C, ...), or (C,)."""

    @classmethod
    def of(cls, logs: array, target: array, weight: array | None, ignore_index: int) -> Classes | None:
        """Return None for dtypes or layouts that NumPy takes longer for."""
        fits = logs.flags.c_contiguous and target.dtype == np.int64 and target.size and (
            logs.dtype.char in "fd" or is_half(logs)) and (weight is None or weight.dtype == logs.dtype)
        return cls(logs, target, weight, ignore_index) if fits else None

    def __init__(self, logs: array, target: array, weight: array | None, ignore_index: int) -> None:
        self.classes, self.size, self.ignored = logs.shape[min(1, logs.ndim - 1)], target.size, ignore_index
        self.may_be_class = 0 <= ignore_index < self.classes
        self.step = logs.size // self.classes // (len(logs) if logs.ndim > 1 else 1)
        number = np.arange(target.size)
        self.starts = number // self.step * (self.classes * self.step) + number % self.step

    def places(self, target: array) -> tuple[array, array, array | None] | None:
        """Return the classes, their places, and which samples count, None for all; or None for one that is no class."""
        chosen, kept = target.reshape(-1), None
        if not self.are_classes(chosen) or (self.may_be_class and (chosen == self.ignored).any()):
            kept = chosen != self.ignored
            chosen = np.where(kept, chosen, 0)
            if not self.are_classes(chosen):
                return None
        return chosen, chosen * self.step + self.starts if self.step > 1 else chosen + self.starts, kept

    def are_classes(self, chosen: array) -> bool:
        bits = chosen.view(np.uint64)  # as unsigned numbers, negative ones are too large
        return bool(bits.item(bits.argmax()) < self.classes)


def prepared_nll_loss(self: array, target: array, weight: array | None, reduction: int,
                      ignore_index: int) -> Callable[..., tuple[Any, Any]] | None:
    """Prepare the loss of a batch. The general ``nll_loss_forward`` reports invalid classes."""
    classes = Classes.of(self, target, weight, ignore_index)
    if classes is None:
        return None
    shape, dtype = target.shape if self.ndim > 1 else (), self.dtype
    count, wide, kind = classes.size, np.ones(classes.size), np.float64 if dtype == np.float64 else np.float32

    def summed(values: array) -> Any:
        return np.add.reduce(values) if kind is np.float64 else kind(values.astype(wide.dtype).dot(wide))

    def run(logs: array, target: array, weight: array | None) -> tuple[Any, Any]:
        if (found := classes.places(target)) is None:
            return nll_loss_forward(logs, target, weight, reduction, ignore_index)
        chosen, places, kept = found
        values = logs.take(places)
        weights = None if weight is None else weight.take(chosen)
        if kept is not None:
            weights = kept.astype(dtype) if weights is None else np.where(kept, weights, 0)
            values = np.where(kept, values, 0)
        if reduction == NONE:
            losses = -values if weights is None else -values * weights
            losses = losses if kept is None else np.where(kept, losses, 0)
            return losses.reshape(shape) if shape else (0 + losses).reshape(shape), 0  # what is added to 0 is not -0
        if weights is not None:
            total, part = 0 - summed(values * weights), summed(weights)
        else:
            total, part = 0 - summed(values), count  # not the negative: 0 less 0 is 0
        return np.array(total / part if reduction == MEAN else total, dtype), np.array(part, dtype)

    return run


def prepared_nll_loss_backward(grad_output: array, self: array, target: array, weight: array | None, reduction: int,
                               ignore_index: int, total_weight: array) -> Callable[..., array] | None:
    """Prepare the gradient. The general ``nll_loss_backward`` reports invalid classes."""
    classes = Classes.of(self, target, weight, ignore_index)
    if classes is None or grad_output.dtype != self.dtype or is_half(self):
        return None
    shape, size, dtype = self.shape, self.size, self.dtype

    def run(grad_output: array, self: array, target: array, weight: array | None, *rest: Any) -> array:
        if (found := classes.places(target)) is None:
            return nll_loss_backward(grad_output, self, target, weight, *rest)
        chosen, places, kept = found
        grad = np.negative(grad_output).reshape(-1)
        if reduction == MEAN:
            grad /= rest[-1]
        out: array = np.zeros(size, dtype)
        if weight is not None:
            grad = grad * weight.take(chosen)
        out[places] = grad if kept is None else np.where(kept, grad, 0)
        return out.reshape(shape)

    return run


def of_batch(of_logits: bool) -> Prepared:
    """Return a function that prepares the loss of a batch by log probabilities, or by the logits that make these."""
    def prepare(self: array, target: array, weight: array | None = None, reduction: int = MEAN,
                ignore_index: int = -100, label_smoothing: float = 0.0) -> Callable[..., array] | None:
        fits = self.ndim in (2, 4) or (self.ndim > 2 and reduction != NONE)  # other losses are views of four dimensions
        if label_smoothing or not fits or target.shape != (len(self), *self.shape[2:]) or not (
                weight is None or weight.shape == self.shape[1:2]):
            return None
        loss, logs = prepared_nll_loss(self, target, weight, reduction, ignore_index), None
        if loss is None:
            return None
        if of_logits:
            logs = CPU_KERNELS["_log_softmax"].prepare(self, 1, False)

        def run(self: array, target: array, weight: array | None = None) -> array:
            found: array = loss(self if logs is None else logs(self), target, weight)[0]
            return found

        return run

    return Prepared(prepare, 3)


NLL_LOSS = Prepared(prepared_nll_loss, 3, nll_loss_forward)
NLL_LOSS_BACKWARD = Prepared(prepared_nll_loss_backward, 7, nll_loss_backward)

# -- margins -------------------------------------------------------------------------------------------------

def margin_factor(weight: array | None, chosen: array, classes: int, dtype: Any) -> array:
    """Return the factor of a sample's distances to the margin."""
    return np.asarray(1 / classes, dtype) if weight is None else weight.reshape(-1)[chosen] / classes


def multi_margin(x: array, target: array, margin: Any, classes: int) -> tuple[array, array, array]:
    """Return the distance to the margin by sample and class (0 for the target's), and the places of the targets.

    Raises:
        RuntimeError: if a target is not a class.
    """
    chosen = target.reshape(-1)
    bits = chosen.view(np.uint64)
    if bits.size and bits.item(bits.argmax()) >= classes:
        raise RuntimeError("target out of range")
    places = np.arange(0, len(chosen) * classes, classes) + chosen
    distance = x.reshape(len(chosen), classes) + (margin - x.take(places))[:, None]
    np.fmax(distance, 0, distance)  # NaN is not above the margin
    distance.put(places, 0)
    return distance, places, chosen


def multi_margin_loss(self: array, target: array, p: Any = 1, margin: Any = 1, weight: array | None = None,
                      reduction: int = MEAN) -> Any:
    classes = self.shape[-1] if self.ndim else 1
    distance, _, chosen = multi_margin(self, target, margin, classes)
    values = distance if p == 1 else np.square(distance)
    values *= margin_factor(weight, chosen[:, None], classes, self.dtype)
    return reduced(np.add.reduce(values, 1).reshape(target.shape), reduction)


def multi_margin_loss_backward(grad_output: array, self: array, target: array, p: Any, margin: Any,
                               weight: array | None = None, reduction: int = MEAN) -> array:
    classes = self.shape[-1] if self.ndim else 1
    distance, places, chosen = multi_margin(self, target, margin, classes)
    slope = np.sign(distance) if p == 1 else 2 * distance
    slope *= margin_factor(weight, chosen[:, None], classes, self.dtype)
    slope.put(places, -np.add.reduce(slope, 1))
    return (slope * grad_by_sample(grad_output, len(slope), reduction)).reshape(self.shape)


def grad_by_sample(grad_output: array, samples: int, reduction: int) -> array:
    """Return the gradient of each sample's loss, as a column."""
    return grad_output.reshape(-1, 1) / (samples if reduction == MEAN else 1)


def multilabel_margin(self: array, target: array) -> tuple[array, array, array, array]:
    """Return the sample and the class of each target, listed before the first -1; by target and class, the distance to
    the margin (0 for classes that are targets, too); and a mask of the target classes.

    Raises:
        RuntimeError: if a target is neither a class nor -1.
    """
    classes = self.shape[-1] if self.ndim else 1
    x, labels = self.reshape(-1, classes), target.reshape(-1, classes)
    if labels.size and not -1 <= labels.item(labels.argmin()) <= labels.item(labels.argmax()) < classes:
        raise RuntimeError("argument #2 'target' is out of range")
    samples, places = np.logical_and.accumulate(labels >= 0, 1).nonzero()
    chosen = labels[samples, places]
    is_target = np.zeros(x.shape, bool)
    is_target[samples, chosen] = True
    distance = x.take(samples, 0) + (1 - x[samples, chosen])[:, None]
    np.fmax(distance, 0, distance)  # NaN is not above the margin
    np.copyto(distance, 0, where=is_target.take(samples, 0))
    return samples, chosen, distance, is_target


def multilabel_margin_loss_forward(self: array, target: array, reduction: int) -> tuple[Any, array]:
    samples, _, distance, is_target = multilabel_margin(self, target)
    values = np.bincount(samples, add(distance, 1), len(is_target)).astype(self.dtype) / is_target.shape[1]
    return reduced(values.reshape(self.shape[:self.ndim - 1]), reduction), is_target.reshape(target.shape)


def multilabel_margin_loss_backward(grad_output: array, self: array, target: array, reduction: int,
                                    is_target: array) -> array:
    samples, chosen, distance, mask = multilabel_margin(self, target)
    slope = np.sign(distance, distance)
    grad = np.zeros(mask.shape, self.dtype)
    np.add.at(grad, samples, slope)
    np.subtract.at(grad, (samples, chosen), add(slope, 1))
    grad /= mask.shape[1]
    return (grad * grad_by_sample(grad_output, len(grad), reduction)).reshape(self.shape)


AT_ONCE.update({
    "nll_loss_nd": of_batch(False), "cross_entropy_loss": of_batch(True),
    "mse_loss_backward": loss_backward(lambda z: np.multiply(z, 2, z)),
    "smooth_l1_loss_backward": loss_backward(slope_of_smooth_l1),
    "huber_loss_backward": loss_backward(lambda z, delta: z.clip(-delta, delta, z)),
})
CPU_KERNELS.add(multi_margin_loss, multi_margin_loss_backward,
                multilabel_margin_loss_forward, multilabel_margin_loss_backward)
CPU_KERNELS.update({
    "mse_loss": loss(lambda x, y: np.square(x - y), sum_of=lambda x, y: sum_of_differences(x, y, -1)),
    "smooth_l1_loss": loss(smooth_l1, sum_of=sum_of_smooth_l1),
    "huber_loss": loss(huber, sum_of=lambda x, y, delta=1.0: sum_of_differences(x, y, delta)),
    "soft_margin_loss": loss(soft_margin, composed=True),
    "binary_cross_entropy": loss(binary_cross_entropy, at=1),
    "binary_cross_entropy_with_logits": loss(binary_cross_entropy_with_logits, at=2, composed=True),
    "nll_loss_forward": NLL_LOSS,
    "nll_loss_backward": NLL_LOSS_BACKWARD,
    "nll_loss2d_forward": NLL_LOSS,
    "nll_loss2d_backward": NLL_LOSS_BACKWARD,
})
