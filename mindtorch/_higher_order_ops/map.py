"""``map``: a function of each slice along the first dimension."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._dispatch.aten import select_int as select, stack
from .._tensor import Tensor
from .._transforms.pytree import tree_flatten, tree_unflatten
from ._operator import HigherOrderOperator, repeated


def _eager(f: Callable[..., Any], xs: list[Tensor], args: Any = ()) -> Any:
    made = [f(*[select(x, 0, i) for x in xs], *args) for i in range(xs[0].shape[0])]
    return tuple([stack(slices) for slices in zip(*made, strict=True)])


def _fake(f: Callable[..., Any], xs: list[Tensor], args: Any = ()) -> Any:
    length = xs[0].shape[0]
    slices = f(*[select(x, 0, 0) for x in xs], *args)
    return tuple([repeated(x, length) for x in slices])


map_impl = HigherOrderOperator(
    "map_impl", _eager, _fake, lambda f, xs, args: {0: (*[select(x, 0, 0) for x in xs], *args)}, {0: "body_graph"}, 2)


def map(f: Callable[..., Any], xs: Any, *args: Any) -> Any:
    """Return the stacked results of ``f(x, *args)`` for each slice ``x`` of ``xs`` along the first dimension
    (``torch._higher_order_ops.map``).

    Raises:
        RuntimeError: if ``xs`` holds anything but tensors, or their first dimensions differ, or are 0.
    """
    leaves, spec = tree_flatten(xs)
    if not leaves or not all(isinstance(leaf, Tensor) for leaf in leaves):
        raise RuntimeError(f"Mapped xs can only consist of tensors. Got xs {leaves}.")
    lengths = [leaf.shape[0] if leaf.dim() else 0 for leaf in leaves]
    if any(length != lengths[0] for length in lengths):
        raise RuntimeError("Leading dimensions of mapped xs must be consistent. Got shapes "
                           f"{[leaf.shape for leaf in leaves]}.")
    if lengths[0] == 0:
        raise RuntimeError("Leading dimensions of mapped xs cannot be 0.")
    leaves_args, spec_args = tree_flatten(args)
    spec_out: Any = None

    def flat(*given: Any) -> list[Any]:
        nonlocal spec_out
        count = len(leaves)
        out = f(tree_unflatten(list(given[:count]), spec), *tree_unflatten(list(given[count:]), spec_args))
        found, spec_out = tree_flatten(out)
        return found

    return tree_unflatten(list(map_impl(flat, leaves, tuple(leaves_args))), spec_out)
