"""The fast paths of views of CPU tensors: NumPy makes the array and checks the bounds.

The three that programs call most are written out, because a further call would cost a tenth of what they take.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np

from ...._autograd.views import mark_multiple
from ...._dispatch.keys import MATH_BITS, NONCONTIGUOUS
from ...._layout import Ints, contiguous_strides
from ...._tensor import Tensor
from ..kept import DESCRIPTIONS, UNFIT, Kept
from ..unwatched import unwatched
from . import ANY_STRIDES, FAST_PATHS, REFUSALS, Row, fast_path

WHOLE = slice(None)
Maker = Callable[[Row], Row]


def basic_view(self: Tensor, index: tuple[Any, ...]) -> Tensor | None:
    """``self[index]`` for ints, slices, None and ``...``, of a CPU tensor of any strides; None for anything else.

    The strides are those that ``select``, ``slice`` and ``unsqueeze`` make one after the other; what is skipped are the
    views in between, which are not seen where nothing is recorded.

    Raises:
        IndexError, TypeError, ValueError: NumPy's and Python's, for what cannot be: the operators say why.
    """
    array = self._array
    shape = array.shape  # type: ignore[union-attr]
    steps = self._stride or contiguous_strides(shape)
    offset, strides, d, closed = self._offset, [], 0, False
    for item in index:
        kind = item.__class__
        if kind is int:
            size = shape[d]
            if not -size <= item < size:
                return None
            offset += (item if item >= 0 else item + size) * steps[d]
            d += 1
        elif kind is slice:
            start, _, step = item.indices(shape[d])
            if step < 0:
                return None
            offset += start * steps[d]
            strides.append(steps[d] * step)
            d += 1
        elif item is None:
            strides.append(shape[d] * steps[d] if d < len(shape) else 1)
        elif item is Ellipsis and not closed:
            end = len(shape) - sum([other is not None for other in index]) + 1 + d
            strides += steps[d:end]
            d, closed = end, True
        else:
            return None
    part = array[index if closed else (*index, ...)]  # type: ignore[index]
    return as_view(self, part, offset, (*strides, *steps[d:]))


def as_view(self: Tensor, array: np.ndarray, offset: int, stride: Any) -> Tensor:
    """A view with a part of the tensor's array, which may be contiguous."""
    canonical = array.flags.c_contiguous and stride == contiguous_strides(array.shape)
    return self._fast_view(array, offset, None if canonical else stride)


#: How a view is made: what NumPy does with the array and its argument, how many elements further the view begins, its
#: strides, which are None where it is contiguous.
Step = tuple[Callable[[Any, Any], np.ndarray], Any, int, Any]
#: Pieces of which a plan of ``unbind`` is kept.
KEPT_PIECES = 1 << 7


def step_of(self: Tensor, view: Tensor | None, act: Callable[[Any, Any], np.ndarray], argument: Any) -> Step | None:
    """How a view was made."""
    return None if view is None else (act, argument, view._offset - self._offset, view._stride)


def learned(plans: Kept, key: Any, plan: Callable[..., Any], self: Tensor, *args: Any) -> Any:
    """A plan that is not among those kept, made and kept; None for a call that is left to the general kernel."""
    try:
        made = plan(self, *args)
    except REFUSALS:
        return None
    return None if made is None else plans.keep(key, made)


def planned(plan: Callable[..., Step | None]) -> Maker:
    """A fast path that keeps how a view is made, by the shape and strides of its tensor and the arguments, which are
    all that the layout depends on: the next view like it is made in one step. ``plan`` is None for what is left to the
    general kernel.
    """

    def make(general: Row) -> Row:
        plans = Kept(DESCRIPTIONS)

        def fast(self: Tensor, *args: Any) -> Tensor:
            array: Any = self._array
            key = array.shape, self._stride, args
            step = plans.get(key) or learned(plans, key, plan, self, *args)
            if step is None:
                return general(self, *args)
            act, argument, further, stride = step
            return self._fast_view(act(array, argument), self._offset + further, stride)

        return fast

    return make


def laid_out(general: Row) -> Row:
    """A fast path of any view whose layout depends on the shape and strides of its tensor and on the arguments alone:
    the first view tells the layout of the next one like it. What is no view, but a copy or the tensor itself, is left
    to the general code.
    """
    plans = Kept(DESCRIPTIONS)

    def fast(self: Tensor, *args: Any) -> Tensor:
        key = self._array.shape, self._stride, self._dtype, args  # type: ignore[union-attr]
        try:
            plan = plans.get(key)
        except TypeError:  # a list among the arguments
            return general(self, *args)
        if plan is None:
            view = general(self, *args)
            array: Any = view._array
            fits = array.size and view is not self and view._base is not None and view._dtype is self._dtype and (
                not (view._keys ^ self._keys) & MATH_BITS)
            plans.keep(key, (array.shape, array.strides, view._stride if view._keys & NONCONTIGUOUS else None,
                             view._offset - self._offset) if fits else UNFIT)
            return view
        if plan is UNFIT:
            return general(self, *args)
        shape, steps, stride, further = plan
        offset, dtype, storage = self._offset + further, self._dtype, self._storage
        if storage is None:
            storage = self.untyped_storage()
        array = np.ndarray(shape, dtype.np, storage._bytes, offset * dtype.itemsize, steps)
        return self._fast_view(array, offset, stride)

    return fast


def indexed(self: Tensor, index: tuple[Any, ...]) -> Step | None:
    """What makes ``self[index]``."""
    return step_of(self, basic_view(self, index), np.ndarray.__getitem__, index if Ellipsis in index else (*index, ...))


@planned
def select_any(self: Tensor, dim: int, index: int) -> Step | None:
    """An index of any dimension, of a tensor of any strides."""
    return indexed(self, (*(WHOLE,) * dim, index)) if dim >= 0 else None


@planned
def slice_any(self: Tensor, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Step | None:
    """A range of any dimension with any step, of a tensor of any strides."""
    return indexed(self, (*(WHOLE,) * dim, slice(start, end, step))) if dim >= 0 else None


@planned
def unsqueeze(self: Tensor, dim: int) -> Step | None:
    """A new dimension, counted from the first, in a tensor of any strides."""
    return indexed(self, (*(WHOLE,) * dim, None)) if dim >= 0 else None


def permuted(self: Tensor, dims: tuple[int, ...]) -> Step | None:
    """Dimensions in another order, all of them counted from the first, in a tensor of any strides."""
    array = self._array
    if 0 in array.shape or min(dims, default=0) < 0:  # type: ignore[union-attr]
        return None
    part, steps = array.transpose(dims), self._stride or contiguous_strides(array.shape)  # type: ignore[union-attr]
    view = as_view(self, part, self._offset, tuple([steps[d] for d in dims]))
    return step_of(self, view, np.ndarray.transpose, dims)


permute = planned(permuted)


@planned
def transpose(self: Tensor, dim0: int, dim1: int) -> Step | None:
    """Two dimensions exchanged."""
    order = list(range(self._array.ndim))  # type: ignore[union-attr]
    order[dim0], order[dim1] = order[dim1], order[dim0]
    return permuted(self, tuple(order))


@planned
def t(self: Tensor) -> Step | None:
    """A matrix of any strides; where one of its sizes is below 2, its strides say nothing about its memory."""
    rows, columns = self._array.shape  # type: ignore[union-attr]
    return permuted(self, (1, 0)) if rows > 1 < columns else None


def in_pieces(plan: Callable[..., list[Step] | None]) -> Maker:
    """A fast path of an operator that returns several views of a tensor of any strides, by the same kind of plans."""

    def make(general: Row) -> Row:
        plans = Kept(DESCRIPTIONS)

        def fast(self: Tensor, *args: Any) -> tuple[Tensor, ...]:
            array, offset = self._array, self._offset
            key = array.shape, self._stride, args  # type: ignore[union-attr]
            steps = plans.get(key) or learned(plans, key, plan, self, *args)
            if steps is None:
                return general(self, *args)
            return mark_multiple(tuple([self._fast_view(act(array, argument), offset + further, stride)
                                        for act, argument, further, stride in steps]))

        return fast

    return make


def each(self: Tensor, dim: int, indices: Any) -> list[Any] | None:
    """What makes the views at several indices of a dimension."""
    shape = self._array.shape  # type: ignore[union-attr]
    if 0 in shape or not -len(shape) <= dim < len(shape):
        return None
    before = (WHOLE,) * (dim % len(shape))
    return [indexed(self, (*before, index)) for index in indices(shape[dim])]


@in_pieces
def split(self: Tensor, size: int, dim: int = 0) -> list[Step] | None:
    """Pieces of one size, but for the last, along any dimension."""
    if size <= 0:
        return None
    return each(self, dim, lambda length: [slice(start, start + size) for start in range(0, length, size)])


@in_pieces
def split_with_sizes(self: Tensor, sizes: Ints, dim: int = 0) -> list[Step] | None:
    """Pieces of these sizes along any dimension."""
    if not -len(self._array.shape) <= dim < len(self._array.shape) or min(sizes, default=-1) < 0 or (  # type: ignore
            sum(sizes) != self._array.shape[dim]):  # type: ignore[union-attr]
        return None
    ends = [*accumulate(sizes)]
    return each(self, dim, lambda length: [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)])


@in_pieces
def unbind(self: Tensor, dim: int = 0) -> list[Step] | None:
    """Every index of any dimension that has not too many of them to keep."""
    return each(self, dim, range) if max(self._array.shape, default=0) <= KEPT_PIECES else None  # type: ignore


@lru_cache(DESCRIPTIONS)
def repeating(shape: Ints, size: Ints) -> Ints | None:
    """The strides of a contiguous tensor expanded from one shape to another, which repeats something and gives every
    size; None for what is left to the general kernel.
    """
    extra = len(size) - len(shape)
    if extra < 0 or 0 in size or min(size[:extra], default=2) < 2 or size == shape or any(
            wanted != have and (have != 1 or wanted < 0) for wanted, have in zip(size[extra:], shape, strict=True)):
        return None
    steps = contiguous_strides(shape)
    return (0,) * extra + tuple([step if wanted == have else 0
                                 for step, wanted, have in zip(steps, size[extra:], shape, strict=True)])


@fast_path
def expand(self: Tensor, size: Any, implicit: bool = False) -> Tensor | None:
    """A tensor repeated along dimensions of size 1, or new ones: there its strides are 0."""
    array: Any = self._array
    stride: Any = repeating(array.shape, size)
    if stride is None:
        return None
    item = array.itemsize
    repeated = np.ndarray(size, array.dtype, array, 0, [step * item for step in stride])
    return self._fast_view(repeated, self._offset, stride)


def view(general: Row) -> Row:
    """NumPy's reshape of a contiguous array does not copy, and what it makes is contiguous too."""

    def view(self: Tensor, size: Any) -> Tensor:
        try:
            array = self._array.reshape(size)  # type: ignore[union-attr]
        except (ValueError, TypeError):
            pass
        else:
            if array.shape == size or min(size, default=0) >= -1:  # NumPy takes any negative size for -1
                return self._fast_view(array, self._offset)
        return general(self, size)

    return view


def select(general: Row) -> Row:
    """An index of the first dimension: what remains is contiguous."""

    def select(self: Tensor, dim: int, index: int) -> Tensor:
        array: Any = self._array
        if dim or not array.size or not -(count := len(array) if array.ndim else 0) <= index < count:
            return general(self, dim, index)
        part = array[index, ...]
        return self._fast_view(part, self._offset + index % count * part.size)

    return select


def slice_(general: Row) -> Row:
    """A range of the first dimension, with step 1: what remains is contiguous."""

    def slice_(self: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
        array: Any = self._array
        if dim or step != 1 or not array.size or not array.ndim:
            return general(self, dim, start, end, step)
        length = len(array)
        first = slice(start, end).indices(length)[0]
        return self._fast_view(array[start:end], self._offset + first * (array.size // length))

    return slice_


def behind(make: Maker) -> Maker:
    """A fast path that leaves to ``laid_out`` what it does not take, such as dimensions that are counted from the last.
    """
    return lambda general: make(laid_out(general))


def composed(general: Row) -> Row:
    """The fast path of a composite that makes a view, if nothing else."""
    return unwatched(laid_out(general), general)


FAST_PATHS.update(dict.fromkeys(
    ("movedim.int", "movedim.intlist", "narrow", "swapaxes", "swapdims", "unflatten.int", "numpy_T", "mT",
     "flatten.using_ints", "ravel"), composed))
FAST_PATHS.update({"expand": expand, "view": view, "select.int": select, "slice.Tensor": slice_})
ANY_STRIDES.update({
    **dict.fromkeys(("alias", "diagonal", "expand", "unfold", "view"), laid_out),
    **dict.fromkeys(("squeeze", "squeeze.dim", "squeeze.dims"), laid_out),
    **{name: behind(make) for name, make in {
        "select.int": select_any, "slice.Tensor": slice_any, "unsqueeze": unsqueeze, "t": t, "permute": permute,
        "transpose.int": transpose}.items()},
    "split.Tensor": split, "split_with_sizes": split_with_sizes, "unbind.int": unbind,
})
