"""CPU kernels of normalisation. Half precision is computed in float32."""
from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial, reduce
from math import prod
from typing import Any

import numpy as np

from ...._base import loops
from ...._base.groups import Groups, by_channel, by_group, by_row
from ...._storage import allocate
from ...common.blas import add_product
from ...common.blocks import BLOCK, LARGE, each_block
from ...common.elements import number
from ...common.half import converted as as_dtype
from ..precision import bits, is_half, opmath, to_opmath
from ..rows import Prepared
from . import AT_ONCE, CPU_KERNELS
from .reduction import FEW, add
from .sums import mean, total

Array = np.ndarray


# -- any groups --------------------------------------------------------------------------------------------------------

def seen(array: Any, shape: Any) -> Any:
    """Return an array in the dtype of the computation, reshaped; None stays None."""
    return None if array is None else to_opmath(array).reshape(shape)


def moments(x: Array, groups: Groups) -> tuple[Array, Array, Array]:
    """Return the centred input, the means, and the variances."""
    if 0 < x.size <= FEW and x.dtype.kind == "f":
        sums = add(x, groups.over, None, None, True)
        count = number(x.size // sums.size, x.dtype)
        middle = sums / count
        centred = x - middle
        return centred, middle, add(centred * centred, groups.over, None, None, True) / count
    middle = np.asarray(mean(x, groups.over, True))
    centred = x - middle
    return centred, middle, np.asarray(mean(np.square(centred), groups.over, True))


def reciprocal(spread: Array, eps: float) -> Array:
    """Return the reciprocals of the standard deviations, from the variances."""
    return number(1, spread.dtype) / np.sqrt(spread + number(eps, spread.dtype))


def affine(x: Array, weight: Any, bias: Any, groups: Groups) -> Array:
    """Multiply by the weight and add the bias, in place."""
    if weight is None is bias:
        return x
    weight, bias = seen(weight, groups.affine), seen(bias, groups.affine)
    if weight is not None:
        x *= weight
    if bias is not None:
        x += bias
    return x


def looped(loop: loops.ByDType, groups: Groups, x: Array, *parameters: Any) -> tuple[Any, tuple[int, ...]] | None:
    """Return the compiled loop, and the shape in which it takes contiguous arrays in groups of channels, or None."""
    if not x.size or (len(groups.affine) < 4 and groups.over[0] != 0) or any(
            given is not None and (given.dtype != opmath(x.dtype) or not given.flags.c_contiguous)
            for given in parameters) or (compiled := loop.compiled(x.size, x)) is None:
        return None
    return compiled, shape_of(groups)


def shape_of(groups: Groups) -> tuple[int, ...]:
    """Return samples, groups that share moments, channels of each, and the places of a channel, as loops take them."""
    samples, channels, *places = groups.shape
    return (samples, channels, 1, prod(places)) if groups.over[0] == 0 else (1, samples * channels, *places)


def of_affine(weight: Any, bias: Any, groups: Groups, dtype: np.dtype) -> tuple[Array, Array]:
    """Return weight and bias; without them, ones and zeros."""
    count = prod(groups.affine)
    return (np.ones(count, dtype) if weight is None else weight.reshape(-1),
            np.zeros(count, dtype) if bias is None else bias.reshape(-1))


def with_moments(x: Array, weight: Any, bias: Any, groups: Groups, eps: float) -> tuple[Array, Array, Array, Array]:
    """Return the normalised input, the means, the variances, and the reciprocals of the standard deviations."""
    weight, bias = to_opmath(weight), to_opmath(bias)
    x = np.ascontiguousarray(x)
    if (found := looped(loops.normalise, groups, x, weight, bias)) is not None:
        loop, shape = found
        out, count, wide = allocate(x.shape, x.dtype), shape[1], opmath(x.dtype)
        middle, spread, rstd = (np.empty(count, wide) for _ in range(3))
        loop(bits(x).reshape(shape), *of_affine(weight, bias, groups, wide), eps, bits(out).reshape(shape), middle,
             spread, rstd)
        return out, middle, spread, rstd
    centred, middle, spread = moments(seen(x, groups.shape), groups)
    rstd = reciprocal(spread, eps)
    centred *= rstd
    return affine(centred, weight, bias, groups).reshape(x.shape), middle, spread, rstd


def normalised(x: Array, weight: Any, bias: Any, groups: Groups, eps: float) -> tuple[Array, Array, Array]:
    """Return the normalised input, the means, and the reciprocals of the standard deviations."""
    out, middle, _, rstd = with_moments(x, weight, bias, groups, eps)
    return out, middle, rstd


#: Most numbers in rows that a product with a matrix sums.
ACROSS = 128


class Few:
    """Few numbers as rows that share moments. A product with a matrix of ones sums each row, and repeats the sum; other
    operands have as many elements, too, since NumPy takes three times as long to broadcast them.
    """

    @classmethod
    def of(cls, groups: Groups, eps: float, x: Array, *parameters: Any) -> Few | None:
        """Return None for many numbers, or more than one dtype."""
        fits = x.dtype.char in "fd" and 0 < x.size <= FEW and groups.elements <= ACROSS and all(
            given is None or given.dtype == x.dtype for given in parameters)
        return cls(groups, eps, x) if fits else None

    def __init__(self, groups: Groups, eps: float, x: Array) -> None:
        count, dtype = groups.elements, x.dtype
        self.outer, self.rows, self.dtype = x.shape, (x.size // count, count), dtype
        #: The shape of each channel's parts, for rows that are not together.
        self.parts = (*x.shape[:2], count // len(x)) if groups.over[0] == 0 and len(x) > 1 else None
        self.inner, self.affine, self.shared = groups.shape, groups.affine, groups.shared
        if groups.over[0] == 0:
            self.inner, self.affine, self.shared = self.rows, (self.rows[0], 1), (1,)
        self.sums = np.ones((count, count), dtype)
        self.count, self.least, self.ones = (np.full(self.rows, value, dtype) for value in (count, eps, 1))

    @cached_property
    def means(self) -> Array:
        return self.sums / self.dtype.type(self.rows[1])

    def together(self, x: Array) -> Array:
        """Return rows, which may share memory with ``x``."""
        if self.parts is not None:
            x = x.reshape(self.parts).swapaxes(0, 1)
        return x.reshape(self.rows)

    def apart(self, rows: Array) -> Array:
        """Return new rows as the array they were made of."""
        if self.parts is None:
            return rows.reshape(self.outer)
        samples, channels, each = self.parts
        return rows.reshape(channels, samples, each).swapaxes(0, 1).copy().reshape(self.outer)

    def scaled(self, x: Array, weight: Any, bias: Any = None) -> Array:
        """Multiply rows by the weight and add the bias, in place."""
        if weight is not None or bias is not None:
            inner = x.reshape(self.inner)
            if weight is not None:
                np.multiply(inner, weight.reshape(self.affine), inner)
            if bias is not None:
                np.add(inner, bias.reshape(self.affine), inner)
        return x

    def moments(self, x: Array) -> tuple[Array, Array, Array]:
        """Return the centred rows, the means and the variances."""
        middle = x.dot(self.sums)
        np.divide(middle, self.count, middle)
        centred = x - middle
        spread = (centred * centred).dot(self.sums)
        return centred, middle, np.divide(spread, self.count, spread)

    def normal(self, centred: Array, spread: Array, weight: Any, bias: Any) -> Array:
        """Return the normalised array. Writes the reciprocals of the standard deviations over the variances."""
        np.add(spread, self.least, spread)
        np.divide(self.ones, np.sqrt(spread, spread), spread)
        np.multiply(centred, spread, centred)
        return self.apart(self.scaled(centred, weight, bias))

    def normalised(self, x: Array, weight: Any, bias: Any) -> Array:
        centred, _, spread = self.moments(self.together(x))
        return self.normal(centred, spread, weight, bias)

    def with_moments(self, each: Any) -> Callable[..., tuple[Array, Array, Array]]:
        """Return the function that returns the means and the reciprocals of the deviations, too, in a shape."""
        def run(x: Array, weight: Any, bias: Any) -> tuple[Array, Array, Array]:
            centred, middle, spread = self.moments(self.together(x))
            out = self.normal(centred, spread, weight, bias)
            return out, middle[:, 0].copy().reshape(each), spread[:, 0].copy().reshape(each)  # new, as tensors own them

        return run

    def gradients(self, grad: Array, x: Array, middle: Array, rstd: Array, weight: Any, mask: Any) -> list[Any]:
        """Compute what the function ``gradients`` does."""
        grad, normal, scale = self.together(grad), self.together(x) - middle.reshape(-1, 1), rstd.reshape(-1, 1)
        np.multiply(normal, scale, normal)
        found: list[Any] = [None, None, None]
        if mask[1]:
            found[1] = add((grad * normal).reshape(self.inner), self.shared).reshape(-1)
        if mask[2]:
            found[2] = add(grad.reshape(self.inner), self.shared).reshape(-1)
        if mask[0]:
            through = grad if weight is None else self.scaled(grad.copy(), weight)
            centred = through - through.dot(self.means)
            np.multiply(normal, (centred * normal).dot(self.means), normal)
            np.subtract(centred, normal, centred)
            found[0] = self.apart(np.multiply(centred, scale, centred))
        return found


def gradients(grad: Array, x: Array, middle: Array, rstd: Array, weight: Any, groups: Groups, mask: Any,
              fixed: bool = False) -> list[Any]:
    """Return the requested gradients of input, weight and bias; with ``fixed``, through constant moments."""
    shape, is_rounded = x.shape, middle is not None and middle.dtype.itemsize == 2
    if is_half(x):
        middle, rstd, weight = map(to_opmath, (middle, rstd, weight))
    x = np.ascontiguousarray(x)
    if mask[0] and grad.dtype == x.dtype and (
            by_loop := looped(loops.normalise_backward, groups, x, middle, rstd, weight)) is not None:
        loop, lines = by_loop
        of_input, (factor, of_bias) = allocate(shape, x.dtype), of_affine(weight, None, groups, opmath(x.dtype))
        of_weight = np.zeros_like(of_bias)
        loop(bits(np.ascontiguousarray(grad)).reshape(lines), bits(x).reshape(lines), middle.reshape(-1),
             rstd.reshape(-1), factor, bits(of_input).reshape(lines), of_weight, of_bias, fixed, is_rounded)
        return [of_input, of_weight if mask[1] else None, of_bias if mask[2] else None]
    grad, x = seen(grad, groups.shape), seen(x, groups.shape)
    middle, rstd = seen(middle, groups.moments), seen(rstd, groups.moments)
    normal = x - middle
    normal *= rstd
    found: list[Any] = [None, None, None]
    if mask[1]:
        found[1] = total(grad * normal, groups.shared).reshape(-1)
    if mask[2]:
        found[2] = np.asarray(total(grad, groups.shared)).reshape(-1)
    if mask[0]:
        through = grad if weight is None else grad * seen(weight, groups.affine)
        if not fixed:
            centred = through - mean(through, groups.over, True)
            # The sum of normal numbers is not quite 0; by rounded moments they are off as PyTorch's are.
            normal *= mean((through if is_rounded else centred) * normal, groups.over, True)
            through = centred - normal
        found[0] = (through * rstd).reshape(shape)
    return found


# -- by channel --------------------------------------------------------------------------------------------------------

def of_channels(x: Array, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool,
                momentum: float, eps: float) -> tuple[Array, Array, Array]:
    """Normalise by channel. Training also moves running moments towards the batch's, with unbiased variance."""
    groups = by_channel(x.shape)
    if not training:
        middle, spread = seen(running_mean, groups.moments), seen(running_var, groups.moments)
        out = seen(x, groups.shape) - middle
        out *= reciprocal(spread, eps)
        return affine(out, weight, bias, groups), np.empty(0, x.dtype), np.empty(0, x.dtype)
    half = is_half(x)
    out, middle, spread, rstd = with_moments(x, None if half else weight, None if half else bias, groups, eps)
    unbiased = spread * np.asarray(groups.elements, spread.dtype) / np.asarray(groups.elements - 1, spread.dtype)
    for running, batch in ((running_mean, middle), (running_var, unbiased)):
        if running is not None:
            running[...] = (1 - momentum) * to_opmath(running) + momentum * batch.reshape(running.shape)
    if half:  # saved moments are rounded, and PyTorch normalises by them
        saved = next((given.dtype for given in (weight, bias, running_mean, running_var) if given is not None), x.dtype)
        middle, rstd = middle.reshape(-1).astype(saved), rstd.reshape(-1).astype(saved)
        out = scaled(x, *map(to_opmath, (weight, bias, middle, rstd)))
    return out, middle.reshape(-1), rstd.reshape(-1)


@partial(Prepared, count=5)
def native_batch_norm(x: Array, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool,
                      momentum: float, eps: float) -> Callable[..., Any]:
    given = (weight, bias, running_mean, running_var)
    fits = all(running is None or running.shape == x.shape[1:2] for running in given[2:])
    if not training and fits and x.ndim > 1 and (is_half(x) or (x.dtype.char in "fd" and all(
            values is None or values.dtype == x.dtype for values in given))):
        return by_running(x.shape[1], eps, x.dtype)
    if fits and training and (few_channels := trained(x, given, momentum, eps)) is not None:
        return few_channels
    few = Few.of(by_channel(x.shape), eps, *map(to_opmath, (x, *given)))
    if few is None or not fits or not training:
        return lambda x, weight, bias, running_mean, running_var: of_channels(
            x, weight, bias, running_mean, running_var, training, momentum, eps)
    kept, new, more, less = (np.full(x.shape[1], value, few.dtype) for value in (
        1 - momentum, momentum, few.rows[1], few.rows[1] - 1))

    def by_batch(x: Array, weight: Any, bias: Any, running_mean: Any, running_var: Any) -> tuple[Array, ...]:
        rows = few.together(to_opmath(x) if half else x)
        centred, middle, spread = few.moments(rows)
        if running_mean is not None:
            running_mean[...] = (to_opmath(running_mean) if half else running_mean) * kept + middle[:, 0] * new
        if running_var is not None:
            unbiased = spread[:, 0] * more / less
            running_var[...] = (to_opmath(running_var) if half else running_var) * kept + unbiased * new
        if not half:
            return few.normal(centred, spread, weight, bias), middle[:, 0].copy(), spread[:, 0].copy()
        np.add(spread, few.least, spread)
        np.divide(few.ones, np.sqrt(spread, spread), spread)
        middle, spread = middle.astype(saved), spread.astype(saved)  # PyTorch normalises by rounded moments
        centred = rows - to_opmath(middle)
        np.multiply(centred, to_opmath(spread), centred)
        out = few.apart(few.scaled(centred, to_opmath(weight), to_opmath(bias)))
        return as_dtype(out, x.dtype), middle[:, 0].copy(), spread[:, 0].copy()

    half, saved = is_half(x), next((values.dtype for values in given if values is not None), x.dtype)
    return by_batch


def by_loop(x: Array, groups: Groups, eps: float, *parameters: Any,
            alone: bool = False) -> Callable[..., tuple[Array, ...]] | None:
    """Prepare ``with_moments`` of numbers that are not many, by the loop, or of the moments ``alone``; of half
    precision with parameters in float32. None if there is no loop.
    """
    outer, narrow, wide = x.shape, x.dtype, opmath(x.dtype)
    if not 0 < x.size < LARGE or any(values is not None and not values.flags.c_contiguous for values in parameters) or (
            loop := loops.normalise.compiled(x.size, np.ascontiguousarray(x))) is None:
        return None
    shape = shape_of(groups)
    into, (one, zero) = (0, *shape[1:]) if alone else shape, of_affine(None, None, groups, wide)

    def run(x: Array, weight: Any, bias: Any) -> tuple[Array, ...]:
        out, middle, spread, rstd = np.empty(0 if alone else outer, narrow), *[
            np.empty(shape[1], wide) for _ in range(3)]
        loop(bits(np.ascontiguousarray(x)).reshape(shape), one if weight is None else weight,
             zero if bias is None else bias, eps, bits(out).reshape(into), middle, spread, rstd)
        return out, middle, spread, rstd

    return run


def singles(*arrays: Any) -> list[Any]:
    """Return arrays in float32; None stays None."""
    return [array if array is None or array.dtype is loops.SINGLE else array.astype(loops.SINGLE) for array in arrays]


def trained(x: Array, given: tuple[Any, ...], momentum: float, eps: float) -> Callable[..., tuple[Array, ...]] | None:
    """Prepare the normalisation of few channels in training by the loop, if there is one."""
    half, channels, saved = is_half(x), x.shape[1], next(
        (values.dtype for values in given if values is not None), x.dtype)
    if any(values is not None and (values.dtype is not saved or values.size != channels) for values in given) or (
            normal := by_loop(x, by_channel(x.shape), eps, *given, alone=half)) is None:
        return None
    wide = opmath(x.dtype)
    count = np.asarray(x.size // channels, wide)
    kept, new, unbiased = (np.asarray(value, wide) for value in (1 - momentum, momentum, count / (count - 1)))

    def move(running: Array, batch: Array) -> None:
        moved = (singles(running)[0] if half else running) * kept
        running[...] = np.add(moved, batch * new, moved)

    def run(x: Array, weight: Any, bias: Any, running_mean: Any, running_var: Any) -> tuple[Array, ...]:
        out, middle, spread, rstd = normal(x, None, None) if half else normal(x, weight, bias)
        if running_mean is not None:
            move(running_mean, middle)
        if running_var is not None:
            move(running_var, spread * unbiased)
        if half:  # saved moments are rounded, and PyTorch normalises by them
            middle, rstd = middle.astype(saved), rstd.astype(saved)
            out = scaled(x, *singles(weight, bias, middle, rstd))
        return out, middle, rstd

    return run


def by_running(channels: int, eps: float, narrow: Any) -> Callable[..., tuple[Array, ...]]:
    """Return the normalisation by running moments."""
    dtype = opmath(narrow)
    least, one = np.full(channels, eps, dtype), np.ones(channels, dtype)

    def run(*arrays: Any) -> tuple[Array, ...]:
        x, weight, bias, middle, spread = (arrays[0], *map(to_opmath, arrays[1:])) if dtype is not narrow else arrays
        out = scaled(x, weight, bias, middle, one / np.sqrt(spread + least))
        return out, np.empty(0, dtype), np.empty(0, dtype)

    return run


def scaled(x: Array, weight: Any, bias: Any, middle: Array, rstd: Array) -> Array:
    """Normalise channels by these moments: as in ATen, one product and one sum; of half precision in float32."""
    scale = rstd if weight is None else rstd * weight.reshape(-1)
    shift = middle * scale
    shift = -shift if bias is None else bias.reshape(-1) - shift
    if (loop := loops.scale_channels.compiled(x.size, x)) is not None:
        out, lines = allocate(x.shape, x.dtype), (*x.shape[:2], prod(x.shape[2:]))
        loop(bits(x).reshape(lines), scale, shift, bits(out).reshape(lines))
        return out
    line = (-1, *[1] * (x.ndim - 2))
    out = to_opmath(x) * scale.reshape(line)
    np.add(out, shift.reshape(line), out)
    return as_dtype(out, x.dtype) if is_half(x) else out


@partial(Prepared, count=5)
def batch_norm(x: Array, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float,
               eps: float, cudnn_enabled: bool) -> Callable[..., Array] | None:
    """Prepare ``native_batch_norm`` for callers that drop the batch's moments. Its result is always new and contiguous:
    no other function computes it anew, which would move the running moments twice.
    """
    given = (weight, bias, running_mean, running_var)
    if (running_mean is None) != (running_var is None) or x.ndim < 2 or not x.size or not (
            x.dtype.char in "fd" or is_half(x)) or any(
            values is not None and (values.dtype is not x.dtype or values.shape != x.shape[1:2]) for values in given):
        return None
    if not training and (running_mean is None or running_var is None):
        return None
    run: Any = native_batch_norm.prepare(x, *given, training, momentum, eps)
    return lambda *arrays: run(*arrays)[0]


@partial(Prepared, count=5)
def instance_norm(x: Array, weight: Any, bias: Any, running_mean: Any, running_var: Any, use_input_stats: bool,
                  momentum: float, eps: float, cudnn_enabled: bool) -> Callable[..., Array] | None:
    """Prepare ``batch_norm`` of one sample that has the channels of all."""
    if not use_input_stats or x.ndim < 3 or not x.flags.c_contiguous or any(
            values is not None and values.shape != x.shape[1:2] for values in (weight, bias)) or any(
            running is not None for running in (running_mean, running_var)):  # which the composite copies and writes
        return None
    batch, shape, together = len(x), x.shape, (1, x.shape[0] * x.shape[1], *x.shape[2:])
    if together[1] == x.size:  # which the operators refuse in training
        return None

    def repeated(values: Any) -> Any:
        return values if values is None else np.concatenate([values] * batch)

    run: Any = batch_norm.prepare(x.reshape(together), repeated(weight), repeated(bias), running_mean, running_var,
                                  True, momentum, eps, True)
    return run and (lambda x, weight, bias, *others: run(
        x.reshape(together), repeated(weight), repeated(bias), *others).reshape(shape))


@partial(Prepared, count=5)
def with_update(x: Array, weight: Any, bias: Any, running_mean: Array, running_var: Array, momentum: float,
                eps: float) -> Callable[..., tuple[Array, ...]]:
    run = native_batch_norm.prepare(x, weight, bias, running_mean, running_var, True, momentum, eps)
    assert run is not None
    return lambda *arrays: (*run(*arrays), np.empty(0, np.uint8))


@partial(Prepared, count=7)
def native_batch_norm_backward(grad: Array, x: Array, weight: Any, running_mean: Any, running_var: Any, save_mean: Any,
                               save_invstd: Any, train: bool, eps: float, mask: Any) -> Callable[..., list[Any]]:
    groups = by_channel(x.shape)
    few = Few.of(groups, eps, x, grad, weight, save_mean, save_invstd) if train else None

    def run(grad: Array, x: Array, weight: Any, running_mean: Any, running_var: Any, save_mean: Any,
            save_invstd: Any) -> list[Any]:
        if few is not None:
            return few.gradients(grad, x, save_mean, save_invstd, weight, mask)
        if train:
            return gradients(grad, x, save_mean, save_invstd, weight, groups, mask)
        rstd = reciprocal(to_opmath(running_var), eps)
        return gradients(grad, x, running_mean, rstd, weight, groups, mask, fixed=True)

    return run


# -- by row ------------------------------------------------------------------------------------------------------------
# BLAS is faster than NumPy on rows: sums along rows and columns are matrix-vector products.

#: Shorter rows do not pay.
SHORT = 8
#: From this many columns on, a sequential sum by BLAS loses more than half of float32's digits.
LONG = 1 << 16


def each_rows(work: Callable[[slice], None], x: Array, size: int = BLOCK) -> None:
    """Call ``work`` with slices of rows of a matrix, of about ``size`` elements."""
    rows, columns = x.shape
    each_block(work, rows, max(size // max(columns, 1), 1), x.size)


def in_line(values: Any, number: int, x: Array) -> Array:
    """Return weight or bias as a contiguous array; without them, one filled with a number."""
    return np.full(x.shape[1], number, opmath(x.dtype)) if values is None else (
        values if values.flags.c_contiguous else values.copy())


def pairs(first: Any, second: Any, block: Array) -> Array:
    """Return two numbers per row as a matrix. Its product with two rows sums two outer products, which BLAS writes in
    half the time that NumPy takes for one.
    """
    out = np.empty((len(block), 2), block.dtype)
    out[:, 0], out[:, 1] = first, second
    return out


def normalised_rows(x: Array, weight: Any, bias: Any, eps: float) -> tuple[Array, Array, Array]:
    """Normalise rows of one dtype, float32 or float64, as ``normalised`` does; of half precision by a loop only."""
    rows, columns = x.shape
    wide = opmath(x.dtype)
    out, middle, rstd = allocate(x.shape, x.dtype), np.empty(rows, wide), np.empty(rows, wide)
    if (loop := loops.layer_norm.compiled(x.size, x)) is not None:
        factor, shift, given, into = in_line(weight, 1, x), in_line(bias, 0, x), bits(x), bits(out)
        each_rows(lambda at: loop(given[at], factor, shift, eps, into[at], middle[at], rstd[at]), x, LARGE)
        return out, middle, rstd
    part = x.dtype.type(1 / columns)
    parts = np.full(columns, part)
    lines = None  # weight and bias, if finite: 0 times infinity would be NaN
    if weight is not None or bias is not None:
        lines = np.array([np.ones_like(parts) if weight is None else weight,
                          np.zeros_like(parts) if bias is None else bias])
        lines = lines if np.isfinite(lines).all() else None

    def work(at: slice) -> None:
        block, normal = np.ascontiguousarray(x[at]), out[at]  # NumPy sums other rows number by number
        middle[at] = mean = block @ parts
        spread = np.vecdot(block, block) * part - mean * mean
        if (mean * mean > spread).any():  # cancellation has lost digits
            block = block - mean[:, None]
            middle[at] += (mean := block @ parts)
            spread = np.vecdot(block, block) * part - mean * mean
        rstd[at] = scale = 1 / np.sqrt(spread + x.dtype.type(eps))
        if lines is not None:
            np.matmul(pairs(scale, 0, block), lines, out=normal)
            normal *= block
            add_product(normal, pairs(-mean * scale, 1, block), lines)
            return
        np.multiply(block, scale[:, None], out=normal)
        normal -= (mean * scale)[:, None]
        if weight is not None:
            normal *= weight
        if bias is not None:
            normal += bias

    each_rows(work, x)
    return out, middle, rstd


def row_gradients(grad: Array, x: Array, middle: Array, rstd: Array, weight: Any, mask: Any) -> list[Any]:
    """Compute ``gradients`` for rows as ``normalised_rows`` takes them."""
    columns = x.shape[1]
    if mask[0] and (loop := loops.layer_norm_backward.compiled(x.size, x)) is not None:
        return gradients_by_loop(loop, grad, x, middle, rstd, in_line(weight, 1, x), mask)
    part, factor = x.dtype.type(1 / columns), np.ones(columns, x.dtype) if weight is None else weight
    parts = factor * part
    of_input = allocate(x.shape, x.dtype) if mask[0] else None
    sums: dict[int, list[Array]] = {}  # by block: the gradients of weight and bias

    def work(at: slice) -> None:
        block, shift, scale = centred(x[at], middle[at], rstd[at])
        through = np.ascontiguousarray(grad[at])  # BLAS rejects broadcast arrays
        product = np.multiply(through, block, out=allocate(block.shape, x.dtype))
        if mask[1] or mask[2]:
            sums[at.start] = [scale @ product - shift @ through, np.ones_like(shift) @ through]
        if of_input is not None:
            along = through @ parts
            back = (product @ parts * scale - shift * along) * scale * scale
            out = np.matmul(pairs(scale, 0, block), lines, out=of_input[at])
            out *= through
            out -= np.multiply(block, back[:, None], out=product)
            out -= (along * scale - shift * back / scale)[:, None]

    def work_of_same(at: slice) -> None:
        """Handle one gradient for all rows, as the backward pass of a sum returns it, reading only the input."""
        block, shift, scale = centred(x[at], middle[at], rstd[at])
        if mask[1] or mask[2]:
            sums[at.start] = [(scale @ block - shift.sum()) * row, row * x.dtype.type(len(block))]
        if of_input is not None:
            back = (block @ weighed * part * scale - shift * along_all) * scale * scale
            out = np.multiply(block, -back[:, None], out=of_input[at])
            add_product(out, pairs(scale, shift * back / scale, block), lines)

    if grad.strides[0]:
        lines = np.array([factor, np.zeros_like(factor)])
        each_rows(work, x)
    else:
        row = np.ascontiguousarray(grad[0])
        weighed, along_all = row * factor, row @ parts
        lines = np.array([weighed - along_all, np.ones_like(row)])
        each_rows(work_of_same, x)
    return wanted_of(mask, of_input, sums)


def gradients_by_loop(loop: Any, grad: Array, x: Array, middle: Array, rstd: Array, weight: Array,
                      mask: Any) -> list[Any]:
    """Compute ``row_gradients`` by a compiled loop."""
    of_input = allocate(x.shape, x.dtype)
    sums: dict[int, list[Array]] = {}
    grad = bits(np.ascontiguousarray(grad if grad.strides[0] else grad[:1]))  # a single row if all are the same
    lines, into = bits(x), bits(of_input)
    if x.size < BLOCK:
        of_weight, of_bias = np.zeros_like(weight), np.zeros_like(weight)
        loop(grad, lines, middle, rstd, weight, into, of_weight, of_bias)
        return [of_input, of_weight if mask[1] else None, of_bias if mask[2] else None]

    def work(at: slice) -> None:
        sums[at.start] = [np.zeros_like(weight), np.zeros_like(weight)]
        loop(grad[at] if len(grad) > 1 else grad, lines[at], middle[at], rstd[at], weight, into[at], *sums[at.start])

    each_rows(work, x, LARGE)
    return wanted_of(mask, of_input, sums)


def wanted_of(mask: Any, of_input: Any, sums: dict[int, list[Array]]) -> list[Any]:
    """Return the requested gradients; weight's and bias's are summed over blocks, in order."""
    totals = [reduce(np.add, parts) for parts in zip(*[sums[start] for start in sorted(sums)], strict=True)]
    return [found if wanted else None
            for found, wanted in zip((of_input, *(totals or (None, None))), mask, strict=True)]


def centred(block: Array, mean: Array, scale: Array) -> tuple[Array, Array, Array]:
    """Return rows, shift and scale such that ``rows * scale - shift`` is the normalisation, without cancellation."""
    shift = mean * scale
    if (np.abs(shift) > 1).any():
        block, shift = block - mean[:, None], np.zeros_like(shift)
    return block, shift, scale


def plain_rows(x: Array, weight: Any, *others: Any) -> bool:
    """Return True if rows are long enough and of one dtype that BLAS has."""
    return x.size > 0 and x.shape[-1] >= SHORT and x.dtype.char in "fd" and all(
        given is None or given.dtype == x.dtype for given in (weight, *others))


def loop_of_rows(loop: loops.ByDType, x: Array, columns: int, *others: Array) -> Any:
    """Return the compiled loop of rows that are long enough, or None."""
    return loop.compiled(x.size, x, *others) if x.size > 0 and SHORT <= columns < LONG else None


@partial(Prepared, count=4)
def native_layer_norm(x: Array, shape: Any, weight: Any, bias: Any, eps: float,
                      alone: bool = False) -> Callable[..., Any]:
    """Prepare the normalisation and its moments; without these if it is wanted ``alone``."""
    groups, half, wide = by_row(x.shape, len(shape)), is_half(x), opmath(x.dtype)
    each = (*x.shape[:x.ndim - len(shape)], *(1,) * len(shape))
    loop = loop_of_rows(loops.layer_norm, x, groups.shape[1]) if all(
        given is None or given.dtype in (x.dtype, wide) for given in (weight, bias)) else None
    if half and loop is None:
        inner = native_layer_norm.prepare(to_opmath(x), shape, to_opmath(weight), to_opmath(bias), eps, alone)
        assert inner is not None
        return lambda x, shape, weight=None, bias=None: narrowed(
            inner(to_opmath(x), shape, *map(to_opmath, (weight, bias))), x)
    few = Few.of(groups, eps, x, weight, bias)
    by_lines = loop is not None or (plain_rows(x, weight, bias) and groups.shape[1] < LONG)
    if few is not None and loop is None:  # in programs, loops begin at fewer elements
        short = few.normalised if alone else few.with_moments(each)
        return lambda x, shape, weight=None, bias=None: short(x, weight, bias)
    if loop is not None and x.size < BLOCK:
        outer, rows, dtype = x.shape, groups.shape, x.dtype
        factor, shift = (np.full(rows[1], number, wide) for number in (1, 0))  # without weight or bias

        def at_once(x: Array, shape: Any, weight: Any = None, bias: Any = None) -> Any:
            out, middle = np.empty(outer, dtype), np.empty(each, wide)
            rstd = middle if alone else np.empty(each, wide)  # without a reader, one takes the place of both
            into = out
            if half:
                x, into = x.view(np.uint16), out.view(np.uint16)
                weight, bias = singles(weight, bias)
            loop(x.reshape(rows), factor if weight is None else weight, shift if bias is None else bias, eps,
                 into.reshape(rows), middle, rstd)
            return out if alone else (out, middle, rstd)

        if all(given is None or given.flags.c_contiguous for given in (weight, bias)):
            return at_once

    def run(x: Array, shape: Any, weight: Any = None, bias: Any = None) -> Any:
        if by_lines:
            weight, bias = [None if given is None else to_opmath(given.reshape(-1)) for given in (weight, bias)]
            out, middle, rstd = normalised_rows(x.reshape(groups.shape), weight, bias, eps)
            out = out.reshape(x.shape)
        else:
            out, middle, rstd = normalised(x, weight, bias, groups, eps)
        return out if alone else (out, middle.reshape(each), rstd.reshape(each))

    return run


@partial(Prepared, count=4)
def layer_norm(x: Array, shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5,
               cudnn_enable: bool = True) -> Callable[..., Array] | None:
    """Prepare ``native_layer_norm`` of one dtype for callers that drop its moments."""
    if not x.size or not (x.dtype.char in "fd" or is_half(x)) or not shape or x.shape[-len(shape):] != shape or any(
            given is not None and (given.dtype is not x.dtype or given.shape != shape) for given in (weight, bias)):
        return None
    return native_layer_norm.prepare(x, shape, weight, bias, eps, True)


def narrowed(found: Any, like: Array) -> Any:
    """Return a normalisation in the dtype of an array: of half precision only it is rounded here, not its moments."""
    return (as_dtype(found[0], like.dtype), *found[1:]) if isinstance(found, tuple) else as_dtype(found, like.dtype)


@partial(Prepared, count=7)
def native_layer_norm_backward(grad: Array, x: Array, shape: Any, middle: Array, rstd: Array, weight: Any, bias: Any,
                               mask: Any) -> Callable[..., list[Any]]:
    groups, half, wide = by_row(x.shape, len(shape)), is_half(x), opmath(x.dtype)
    loop = loop_of_rows(loops.layer_norm_backward, x, groups.shape[1]) if mask[0] and grad.dtype == x.dtype and all(
        given is None or given.dtype in (x.dtype, wide) for given in (weight, middle, rstd)) else None
    by_lines = loop is not None or (plain_rows(x, weight, grad) and groups.shape[1] < LONG)
    few = Few.of(groups, 0, x, grad, weight, middle, rstd)
    if loop is not None and x.size < BLOCK and all(
            given is None or given.flags.c_contiguous for given in (grad, weight, middle, rstd)):
        outer, rows, dtype = x.shape, groups.shape, x.dtype
        ones = np.ones(rows[1], wide)  # without weight

        def at_once(grad: Array, x: Array, shape: Any, middle: Array, rstd: Array, weight: Any, bias: Any) -> list[Any]:
            of_input, of_weight, of_bias = np.empty(rows, dtype), np.zeros(shape, wide), np.zeros(shape, wide)
            into = of_input
            if half:
                grad, x, into = grad.view(np.uint16), x.view(np.uint16), of_input.view(np.uint16)
                middle, rstd, weight = singles(middle, rstd, weight)
            loop(grad.reshape(rows), x.reshape(rows), middle, rstd, ones if weight is None else weight, into,
                 of_weight, of_bias)
            return [of_input.reshape(outer), of_weight if mask[1] else None, of_bias if mask[2] else None]

        return at_once

    def run(grad: Array, x: Array, shape: Any, middle: Array, rstd: Array, weight: Any, bias: Any) -> list[Any]:
        if few is not None:
            found = few.gradients(grad, x, middle, rstd, weight, mask)
        elif by_lines:
            means, scales, factor = map(to_opmath, (middle.reshape(-1), rstd.reshape(-1),
                                                    None if weight is None else weight.reshape(-1)))
            found = row_gradients(grad.reshape(groups.shape), x.reshape(groups.shape), means, scales, factor, mask)
            found[0] = None if found[0] is None else found[0].reshape(x.shape)
        else:
            found = gradients(grad, x, middle, rstd, weight, groups, mask)
        return [found[0], *[None if part is None else part.reshape(shape) for part in found[1:]]]

    return run


@partial(Prepared, count=3)
def rms_norm(x: Array, shape: Any, weight: Any = None, eps: float | None = None) -> Callable[..., Array] | None:
    """Prepare the quotient of rows and the roots of their mean squares, for all but large arrays of one dtype."""
    narrow, count = x.dtype, prod(shape)
    fits = (narrow.char in "fd" or is_half(x)) and 0 < x.size < BLOCK and shape and x.shape[-len(shape):] == shape
    if not fits or (weight is not None and (weight.dtype is not narrow or weight.shape != shape)):
        return None
    wide = np.dtype(np.float32) if is_half(x) else narrow
    outer, rows = x.shape, (x.size // count, count)
    each, one = np.full(rows[0], count, wide), np.ones(rows[0], wide)
    least = np.full(rows[0], np.finfo(wide).eps if eps is None else eps, wide)

    def run(x: Array, shape: Any, weight: Any = None) -> Array:
        lines = to_opmath(x).reshape(rows)
        spread = np.vecdot(lines, lines)
        np.divide(spread, each, spread)
        np.add(spread, least, spread)
        np.divide(one, np.sqrt(spread, spread), spread)
        out: Array = lines * spread[:, None]
        if weight is not None:
            np.multiply(out, to_opmath(weight).reshape(-1), out)
        return as_dtype(out.reshape(outer), narrow)

    return run


# -- by group ----------------------------------------------------------------------------------------------------------

@partial(Prepared, count=3)
def native_group_norm(x: Array, weight: Any, bias: Any, n: int, c: int, hxw: int, group: int,
                      eps: float) -> Callable[..., Any]:
    groups, alike = by_group(n, c, hxw, group), all(
        given is None or given.dtype is x.dtype for given in (weight, bias))
    if alike and x.ndim > 1 and (normal := by_loop(x, groups, eps, weight, bias)) is not None:
        half, narrow = is_half(x), x.dtype

        def by_groups(x: Array, weight: Any, bias: Any) -> tuple[Array, Array, Array]:
            if half:
                weight, bias = singles(weight, bias)
            out, middle, _, rstd = normal(x, weight, bias)
            if half:
                middle, rstd = middle.astype(narrow), rstd.astype(narrow)
            return out, middle.reshape(n, group), rstd.reshape(n, group)

        return by_groups

    def run(x: Array, weight: Any, bias: Any) -> tuple[Array, Array, Array]:
        out, middle, rstd = normalised(x, weight, bias, groups, eps)
        out = out if out.dtype == x.dtype else as_dtype(out, x.dtype)
        return out, middle.reshape(n, group), rstd.reshape(n, group)

    few = Few.of(groups, eps, *map(to_opmath, (x, weight, bias)))
    if few is None:
        return run
    normal_of_few = few.with_moments((n, group))
    return (lambda *arrays: narrowed(normal_of_few(*map(to_opmath, arrays)), x)) if is_half(x) else normal_of_few


@partial(Prepared, count=4)
def group_norm(x: Array, groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5,
               enabled: bool = True) -> Callable[..., Array] | None:
    """Prepare ``native_group_norm`` of few numbers for callers that drop its moments."""
    if x.ndim < 2 or groups < 1 or x.shape[1] % groups or any(
            given is not None and given.shape != x.shape[1:2] for given in (weight, bias)):
        return None
    settings = *x.shape[:2], prod(x.shape[2:]), groups
    if not x.size or not x.flags.c_contiguous or not (x.dtype.char in "fd" or is_half(x)) or any(
            given is not None and given.dtype is not x.dtype for given in (weight, bias)):
        return None
    if x.size < loops.FEW and (few := Few.of(by_group(*settings), eps, x, weight, bias)) is not None:
        return lambda x, groups, weight=None, bias=None: few.normalised(x, weight, bias)
    run: Any = native_group_norm.prepare(x, weight, bias, *settings, eps)
    return lambda x, groups, weight=None, bias=None: run(x, weight, bias)[0]


@partial(Prepared, count=5)
def native_group_norm_backward(grad: Array, x: Array, middle: Array, rstd: Array, weight: Any, n: int, c: int, hxw: int,
                               group: int, mask: Any) -> Callable[..., list[Any]]:
    groups = by_group(n, c, hxw, group)
    few = Few.of(groups, 0, x, grad, weight, middle, rstd)
    if few is None:
        return lambda grad, x, middle, rstd, weight: gradients(grad, x, middle, rstd, weight, groups, mask)
    return lambda grad, x, middle, rstd, weight: few.gradients(grad, x, middle, rstd, weight, mask)


CPU_KERNELS.add(native_batch_norm, native_batch_norm_backward, native_layer_norm, native_layer_norm_backward,
                native_group_norm, native_group_norm_backward)
CPU_KERNELS["_batch_norm_with_update"] = with_update
AT_ONCE.add(batch_norm, instance_norm, layer_norm, group_norm, rms_norm)
