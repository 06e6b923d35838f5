"""Views of CPU tensors by plan: the first view of a layout records shape, strides and offset for later ones like it."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from math import prod
from typing import Any

from ..._autograd.views import mark_view
from ..._base.layout import Ints, contiguous_strides, intern_layout
from ..._dispatch.keys import CONJUGATE, MATH_BITS, NONCONTIGUOUS
from ..._dtype import DType
from ..._tensor import Step, Tensor
from ..common.view import fresh
from .plans import MISSES, UNFIT, Plans
from .rows import Rows

#: Most views in a plan, unless they differ only in where they begin; most plans of several views, some 20 MB at most.
KEPT_PIECES, KEPT_PLANS = 1 << 11, 1 << 6
KINDS = {slice, int, type(None), type(Ellipsis)}
_indexed = Plans()  #: plans of ``basic_view``, by layout and index


def basic_view(self: Tensor, index: tuple[Any, ...]) -> Tensor | None:
    """Return ``self[index]`` of a CPU tensor for ints, slices, None and ``...``; None for other indices.

    Raises:
        IndexError, TypeError, ValueError: Python's, for an impossible index: the operators explain it.
    """
    if _indexed.missed > MISSES and _indexed.skip():
        step = basic_step(self, index) if KINDS.issuperset(map(type, index)) else None
        return step and self._view_by(step)
    key: list[Any] = [self._layout or self._layout_of_plans()]
    for item in index:
        kind = item.__class__
        if kind is slice:
            start, stop, step = item.start, item.stop, item.step
            if not ((start is None or start.__class__ is int) and (stop is None or stop.__class__ is int)
                    and (step is None or step.__class__ is int)):  # an object whose ``__index__`` may change
                step = basic_step(self, index)
                return step and self._view_by(step)
            key.append((start, stop, step))
        elif kind is int or item is None or item is Ellipsis:
            key.append(item)
        else:
            return None
    step = _indexed.get(found := tuple(key))
    if step is not None:
        _indexed.missed = 0
    elif (step := basic_step(self, index)) is not None:
        _indexed.missed += 1
        _indexed.keep(found, with_layout(self, step, self._dtype))
    return step and self._view_by(step)


def basic_step(self: Tensor, index: tuple[Any, ...]) -> Step | None:
    """Return the plan of a view by a basic index; strides are as from ``select``, ``slice`` and ``unsqueeze``."""
    array: Any = self._array
    sizes, item_size = array.shape, array.itemsize
    steps = self._stride or contiguous_strides(sizes)
    shape: list[int] = []
    places: list[int] = []
    further, d, closed = 0, 0, False
    for item in index:
        kind = item.__class__
        if kind is int:
            size = sizes[d]
            if not -size <= item < size:
                return None
            further += (item if item >= 0 else item + size) * steps[d]
            d += 1
        elif kind is slice:
            start, stop, step = item.indices(sizes[d])
            if step < 0:
                return None
            further += start * steps[d]
            shape.append(-((start - stop) // step) if stop > start else 0)
            places.append(steps[d] * step)
            d += 1
        elif item is None:
            shape.append(1)
            places.append(sizes[d] * steps[d] if d < len(sizes) else 1)
        elif item is Ellipsis and not closed:
            end = len(sizes) - sum([other is not None for other in index]) + 1 + d
            if end < d:
                return None
            shape += sizes[d:end]
            places += steps[d:end]
            d, closed = end, True
        else:
            return None
    size, strides = (*shape, *sizes[d:]), (*places, *steps[d:])
    if 0 in size:
        return None
    stride = None if strides == contiguous_strides(size) else strides
    return size, array.dtype, further, tuple([item_size * step for step in strides]), stride, None


def with_layout(self: Tensor, step: Step, dtype: DType) -> Step:
    """Return a plan to keep: with the view's layout, and without strides in bytes if it reshapes all elements."""
    shape, held, further, strides, stride, _ = step
    reshapes = (stride is None and not further and not self._keys & NONCONTIGUOUS and dtype is self._dtype
                and prod(shape) == self.numel())
    return shape, held, further, None if reshapes else strides, stride, intern_layout(shape, stride, dtype)


def laid_out(self: Tensor, shape: Ints, strides: Ints, offset: int) -> Step:
    """Return the plan of a view of this layout."""
    array: Any = self._array
    item_size, stride = array.itemsize, None if strides == contiguous_strides(shape) else strides
    return shape, array.dtype, offset - self._offset, tuple([item_size * step for step in strides]), stride, None


def step_of(self: Tensor, view: Tensor, apart: bool) -> Step | None:
    """Return the plan of a view, or of an alias that is ``apart``; None for the tensor itself and for a copy."""
    array: Any = view._array
    if (view is self or view._storage is None or view._storage is not self._storage
            or (view._base is None) is not apart or (view._keys ^ self._keys) & MATH_BITS):
        return None
    stride, further = view._layout_of_plans().stride, view._offset - self._offset
    return with_layout(self, (array.shape, array.dtype, further, array.strides, stride, None), view._dtype)


def by_layout(general: Rows, apart: bool = False) -> Rows:
    """Cache plans of views, or of aliases that are ``apart``, by the tensor's layout and the arguments."""
    plans, layout = Plans(), getattr(general, "__wrapped__", None)

    def learn(self: Tensor, args: tuple[Any, ...], key: Any) -> Tensor:
        if layout is not None:
            step = with_layout(self, laid_out(self, *layout(self, *args)), self._dtype)
            with suppress(ValueError, OverflowError):  # NumPy has no such array: the general kernel explains it
                view: Tensor = self._view_by(step, apart)
                plans.keep(key, step)
                return view
        view = general(self, *args)
        plans.keep(key, step_of(self, view, apart) if key else None)
        return view

    def view(self: Tensor, *args: Any) -> Tensor:
        if plans.missed > MISSES and plans.skip():
            return learn(self, args, None)
        try:
            step: Step | None = plans.get(key := (self._layout or self._layout_of_plans(), args), UNFIT)
        except TypeError:  # a list among the arguments is not hashable
            step = None
        if step:
            plans.missed = 0
            try:
                return self._view_by(step, apart)
            except ValueError:  # a view without elements may begin behind the end, which NumPy refuses
                return general(self, *args)
        if step is None:  # as known from before
            return general(self, *args)
        plans.missed += 1
        return learn(self, args, key)

    return view


def at_offset(general: Rows) -> Rows:
    """Cache plans of views that depend on where the tensor begins in its memory: of another dtype, or anywhere."""
    planned = by_layout(lambda self, *args: general(self, *args[:-1]))

    def view(self: Tensor, *args: Any) -> Tensor:
        if self._keys & MATH_BITS:
            return general(self, *args)
        out: Tensor = planned(self, *args, self._offset)
        if out._dtype is not self._dtype and out._view_func is None:
            mark_view(out, self)
        return out

    return view


def flipped(general: Rows) -> Rows:
    """Cache plans of views that are conjugated, or not any more."""
    planned = by_layout(lambda self: self._view(self.shape, self._strides(), self._offset))

    def view(self: Tensor) -> Tensor:
        if self._keys & MATH_BITS:
            return general(self)
        out: Tensor = planned(self)
        out._keys |= CONJUGATE
        mark_view(out, self)
        return out

    return view


def of_complex(by_plan: Callable[[Rows], Rows]) -> Callable[[Rows], Rows]:
    """Return a function that caches plans of views of complex tensors."""
    def wrap(general: Rows) -> Rows:
        planned = by_plan(general)
        return lambda self: (planned if self._dtype.is_complex else general)(self)

    return wrap


class Row:
    """The plans of many pieces that begin at equal distances and have one layout."""

    __slots__ = ("first", "starts")

    def __init__(self, steps: list[Any]) -> None:
        self.first: Step = steps[0]
        self.starts = range(steps[0][2], steps[-1][2] + 1, max(steps[1][2] - steps[0][2], 1))

    def __iter__(self) -> Iterator[Any]:
        shape, dtype, _, *rest = self.first
        return ((shape, dtype, start, *rest) for start in self.starts)


def in_pieces(general: Rows, apart: bool = False, sliced: bool = False) -> Rows:
    """Cache plans of operators that return several views, perhaps each ``sliced`` alone, or several aliases that are
    ``apart``.
    """
    plans = Plans(KEPT_PLANS)

    def learn(self: Tensor, args: tuple[Any, ...], key: Any) -> tuple[Tensor, ...]:
        pieces = general(self, *args)
        steps = [step_of(self, piece, apart) for piece in pieces]
        if None in steps or (len(steps) > KEPT_PIECES and [*(row := Row(steps))] != steps):
            plans.keep(key, None)
        else:
            plans.keep(key, steps if len(steps) <= KEPT_PIECES else row)
        return pieces

    def views(self: Tensor, *args: Any) -> tuple[Tensor, ...]:
        try:
            steps: list[Step] | Row | None = plans.get(key := (self._layout or self._layout_of_plans(), args), UNFIT)
        except TypeError:  # a list among the arguments is not hashable
            steps = None
        if steps:
            try:
                if apart:
                    return tuple([fresh(self._view_by(step, apart)) for step in steps])
                return self._views_by(steps, sliced)
            except ValueError:
                steps = None
        return general(self, *args) if steps is None else learn(self, args, key)

    return views


#: By operator name: a function from the general kernel to the kernel of views, for tensors of any strides.
VIEWS: dict[str, Callable[[Rows], Rows]] = {
    "_unsafe_view": partial(by_layout, apart=True),
    **dict.fromkeys(("_reshape_alias", "alias", "diagonal", "expand", "permute", "select.int", "slice.Tensor",
                     "squeeze", "squeeze.dim", "squeeze.dims", "t", "transpose.int", "unfold", "unsqueeze", "view"),
                    by_layout),
    **dict.fromkeys(("as_strided", "view_as_complex", "view_as_real"), at_offset),
    "_conj": flipped,
    **dict.fromkeys(("split.Tensor", "split_with_sizes", "unbind.int"), in_pieces),
    **dict.fromkeys(("unsafe_split.Tensor", "unsafe_split_with_sizes"), partial(in_pieces, apart=True)),
}
#: Composites that return one view or several, for tensors of any strides.
COMPOSED: dict[str, Callable[[Rows], Rows]] = {
    **dict.fromkeys(("movedim.int", "movedim.intlist", "narrow", "swapaxes", "swapdims", "unflatten.int", "numpy_T",
                     "mT", "flatten.using_ints", "ravel", "linalg_diagonal"), by_layout),
    **dict.fromkeys(("real", "imag"), of_complex(at_offset)),
    "unsafe_chunk": partial(in_pieces, apart=True),
    "chunk": in_pieces,
    **dict.fromkeys([f"{name}split.{kind}" for kinds, names in (
        (("int", "array"), "hvd"), (("sections", "indices"), ("tensor_",))) for name in names for kind in kinds],
                    partial(in_pieces, sliced=True)),
}
