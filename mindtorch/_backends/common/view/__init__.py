"""View operators: new layouts over the same storage, on every device alike.

A row is a layout function. It becomes a view, an in-place form that gives the tensor itself the layout, or a split that
returns several views.
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
    """Return the view operator of a layout function."""

    def view(self: Tensor, *args: Any) -> Tensor:
        return self._view(*layout(self, *args))

    view.__wrapped__ = layout  # type: ignore[attr-defined]
    return view


def as_alias(layout: Row) -> Row:
    """Return the operator of a layout function whose result autograd does not treat as a view."""

    def alias(self: Tensor, *args: Any) -> Tensor:
        return self._alias(*layout(self, *args))

    alias.__wrapped__ = layout  # type: ignore[attr-defined]
    return alias


def as_views(pieces_of: Row) -> Row:
    """Return an operator with several outputs, all views that refuse in-place writes."""

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
    """Return a split whose pieces are independent for autograd although they share memory (``unsafe_split``)."""

    def row(self: Tensor, *args: Any) -> tuple[Tensor, ...]:
        return tuple([fresh(self._alias(*layout)) for layout in pieces_of(self, *args)])

    row.__wrapped__ = pieces_of  # type: ignore[attr-defined]
    return row


def fresh(alias: Tensor) -> Tensor:
    """Give an alias its own version counter."""
    alias._version_counter = None
    return alias


def flipped(bit: int) -> Row:
    """Return a view operator that flips the Conjugate or Negative key and keeps the layout."""

    def view(self: Tensor) -> Tensor:
        out = self._alias(self.shape, self._strides(), self._offset)
        out._keys ^= bit
        mark_view(out, self)
        return out

    return view


KERNELS: dict[str, Row] = {
    **{name: as_view(layout) for name, layout in LAYOUTS.items()},
    **{name: as_views(layout) for name, layout in slicing.MULTIPLE.items()},
    "view.dtype": lambda self, dtype: self._alias(*layouts.view_dtype(self, dtype), dtype),  # not a view for autograd
    "view_as_real": lambda self: self._view(*layouts.view_as_real(self), self._dtype.to_real()),
    "view_as_complex": lambda self: self._view(*layouts.view_as_complex(self), self._dtype.to_complex()),
    "_conj": flipped(CONJUGATE),
    "_neg_view": flipped(NEGATIVE),
    "_unsafe_view": as_alias(layouts.view),  # self is not used afterwards
    "unsafe_split.Tensor": pieces_apart(slicing.split),
    "unsafe_split_with_sizes": pieces_apart(slicing.split_with_sizes),
    "detach": Tensor._shallow_copy_and_detach,
    **{inplace_name(name): in_place(LAYOUTS[name])
       for name in ("as_strided", "squeeze", "squeeze.dim", "squeeze.dims", "unsqueeze")},
    "t_": in_place(layouts.t_),
    "transpose_": in_place(layouts.transpose),
    **memory.KERNELS,
}
