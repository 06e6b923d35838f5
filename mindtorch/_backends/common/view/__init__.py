"""View operators: new layouts over the same storage, on every device alike.

A row is a layout function; the family makes of it the view, the in-place form that gives a tensor itself the layout,
or the list of views that a split returns.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...._autograd.views import mark_multiple, mark_view
from ...._dispatch.dispatcher import registry
from ...._dispatch.keys import CONJUGATE, CPU, NEGATIVE
from ...._dispatch.registry import Kernel, Operator, inplace_name
from ...._tensor import Tensor
from . import layouts, memory, slicing

Row = Callable[..., Any]
LAYOUTS = {**layouts.LAYOUTS, **slicing.LAYOUTS}


def as_view(layout: Row) -> Row:
    """A view of this layout."""

    def view(self: Tensor, *args: Any) -> Tensor:
        return self._view(*layout(self, *args))

    view.__wrapped__ = layout  # type: ignore[attr-defined]
    return view


def as_views(pieces_of: Row) -> Row:
    """The views that one call returns: none of them may be written in place."""

    def views(self: Tensor, *args: Any) -> tuple[Tensor, ...]:
        return mark_multiple(tuple([self._view(*layout) for layout in pieces_of(self, *args)]))

    views.__wrapped__ = pieces_of  # type: ignore[attr-defined]
    return views


def in_place(layout: Row) -> Row:
    """Give the tensor itself this layout."""

    def change(self: Tensor, *args: Any) -> Tensor:
        self.untyped_storage()
        self._set_layout(None, *layout(self, *args))
        return self

    change.__wrapped__ = layout  # type: ignore[attr-defined]
    return change


def pieces_apart(pieces_of: Row) -> Row:
    """The pieces of a split as tensors of their own, though they share memory: the caller promises not to look."""

    def row(self: Tensor, *args: Any) -> tuple[Tensor, ...]:
        return tuple([fresh(self._alias(*layout)) for layout in pieces_of(self, *args)])

    row.__wrapped__ = pieces_of  # type: ignore[attr-defined]
    return row


def fresh(alias: Tensor) -> Tensor:
    """An alias with a version counter of its own."""
    alias._version_counter = None
    return alias


def flipped(bit: int) -> Row:
    """A view of the same layout whose elements are the conjugates, or the negatives, of this one's: a key says so."""

    def view(self: Tensor) -> Tensor:
        out = self._alias(self.shape, self._strides(), self._offset)
        out._keys ^= bit
        mark_view(out, self)
        return out

    return view


KERNELS: dict[str, Row] = {
    **{name: as_view(layout) for name, layout in LAYOUTS.items()},
    **{name: as_views(layout) for name, layout in slicing.MULTIPLE.items()},
    "view.dtype": lambda self, dtype: self._alias(*layouts.view_dtype(self, dtype), dtype),  # no view to autograd
    "view_as_real": lambda self: self._view(*layouts.view_as_real(self), self._dtype.to_real()),
    "view_as_complex": lambda self: self._view(*layouts.view_as_complex(self), self._dtype.to_complex()),
    "_conj": flipped(CONJUGATE),
    "_neg_view": flipped(NEGATIVE),
    "_unsafe_view": lambda self, size: self._alias(*layouts.view(self, size)),  # of what nothing else will refer to
    "unsafe_split.Tensor": pieces_apart(slicing.split),
    "unsafe_split_with_sizes": pieces_apart(slicing.split_with_sizes),
    "detach": Tensor._shallow_copy_and_detach,
    **{inplace_name(name): in_place(LAYOUTS[name])
       for name in ("as_strided", "squeeze", "squeeze.dim", "squeeze.dims", "unsqueeze")},
    "t_": in_place(layouts.t_),
    "transpose_": in_place(layouts.transpose),
    **memory.KERNELS,
}
