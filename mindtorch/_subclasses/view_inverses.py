"""For each view operator, how a write to the view changes its base (PyTorch's ``FunctionalInverses``).

A function takes the base, the view's new value and the operator's other arguments, and returns the base's new value. If
it ``copies``, it uses the ``*_copy`` forms of views. ``index`` is the number of an output of several.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._dispatch.schemas import registry

Inverse = Callable[..., Any]


def through(name: str, copies: bool) -> Callable[..., Any]:
    """Return a view operator, or its ``*_copy`` form."""
    packet, dot, overload = name.partition(".")
    return registry[f"{packet}_copy{dot}{overload}" if copies else name].call


def by_view(name: str, arguments: Callable[..., tuple[Any, ...]]) -> Inverse:
    """Return the inverse that is a view operator again, on arguments made from the base and the operator's own."""

    def inverse(base: Any, view: Any, *args: Any, copies: bool, index: Any) -> Any:
        return through(name, copies)(view, *arguments(base, *args))

    return inverse


def by_scatter(name: str, arguments: Callable[..., tuple[Any, ...]] | None = None) -> Inverse:
    """Return the inverse that puts a view's value into its base."""

    def inverse(base: Any, view: Any, *args: Any, copies: bool, index: Any) -> Any:
        return registry[name].call(base, view, *(args if arguments is None else arguments(base, index, *args)))

    return inverse


def same(base: Any, view: Any, *args: Any, copies: bool, index: Any) -> Any:
    """Return the view's value: the view is all of its base."""
    return view


def summed(base: Any, view: Any, *args: Any, copies: bool, index: Any) -> Any:
    """Return the value in the base's shape of a view that repeats no element."""
    return registry["sum_to_size"].call(view, base.shape)


def unsqueezed(base: Any, view: Any, dims: Any = None, *, copies: bool, index: Any) -> Any:
    """Return a view's value with the base's dimensions of size one."""
    wanted = range(base.ndim) if dims is None else (dims,) if isinstance(dims, int) else dims
    for dim in sorted({d % base.ndim for d in wanted} if base.ndim else ()):
        if base.shape[dim] == 1:
            view = through("unsqueeze", copies)(view, dim)
    return view


def order_back(base: Any, dims: Any) -> tuple[Any, ...]:
    """Return the permutation that undoes another one."""
    wanted = [d % base.ndim for d in dims]
    return (tuple(wanted.index(i) for i in range(base.ndim)),)


def piece(base: Any, index: int, size: int, dim: int = 0) -> tuple[Any, ...]:
    """Return the slice that one part of ``split`` is."""
    return dim, index * size, min((index + 1) * size, base.shape[dim])


def piece_of_sizes(base: Any, index: int, sizes: Any, dim: int = 0) -> tuple[Any, ...]:
    """Return the slice that one part of ``split_with_sizes`` is."""
    start = sum(sizes[:index])
    return dim, start, start + sizes[index]


INVERSES: dict[str, Inverse] = {
    "view": by_view("view", lambda base, size: (base.shape,)),
    "_unsafe_view": by_view("view", lambda base, size: (base.shape,)),
    "_reshape_alias": by_view("_reshape_alias", lambda base, size, stride: (base.shape, base._strides())),
    "view.dtype": by_view("view.dtype", lambda base, dtype: (base._dtype,)),
    "alias": by_view("alias", lambda base: ()),
    "t": by_view("t", lambda base: ()),
    "transpose.int": by_view("transpose.int", lambda base, first, second: (first, second)),
    "permute": by_view("permute", order_back),
    "unsqueeze": by_view("squeeze.dim", lambda base, dim: (dim,)),
    "view_as_real": by_view("view_as_complex", lambda base: ()),
    "view_as_complex": by_view("view_as_real", lambda base: ()),
    "_conj": by_view("_conj", lambda base: ()),
    "_neg_view": by_view("_neg_view", lambda base: ()),
    "squeeze": unsqueezed, "squeeze.dim": unsqueezed, "squeeze.dims": unsqueezed,
    "detach": same, "lift_fresh": same,
    "expand": summed,
    "slice.Tensor": by_scatter("slice_scatter"),
    "select.int": by_scatter("select_scatter"),
    "diagonal": by_scatter("diagonal_scatter"),
    "as_strided": by_scatter("as_strided_scatter"),
    "unbind.int": by_scatter("select_scatter", lambda base, index, dim=0: (dim, index)),
    "split.Tensor": by_scatter("slice_scatter", piece),
    "split_with_sizes": by_scatter("slice_scatter", piece_of_sizes),
    "unsafe_split.Tensor": by_scatter("slice_scatter", piece),
    "unsafe_split_with_sizes": by_scatter("slice_scatter", piece_of_sizes),
}
