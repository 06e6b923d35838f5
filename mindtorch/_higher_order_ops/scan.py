"""``scan``: a function carried along a dimension, which also returns a slice at each step."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._dispatch.aten import select_int as select, stack
from .._tensor import Tensor
from .._transforms.pytree import tree_flatten, tree_leaves, tree_unflatten
from ._operator import HigherOrderOperator, check_same, repeated

CARRY = "The metadata of init must agree with that of the carry that combine_fn returns"


def _steps(combine_fn: Callable[..., Any], init: list[Tensor], xs: list[Tensor], additional_inputs: Any,
           places: Any) -> Any:
    carry, made = list(init), []
    for i in places:
        found = combine_fn(*carry, *[select(x, 0, i) for x in xs], *additional_inputs)
        carry, slices = list(found[:len(init)]), list(found[len(init):])
        check_same(CARRY, carry, list(init))
        made.append(slices)
    return carry, made


def _eager(combine_fn: Callable[..., Any], init: list[Tensor], xs: list[Tensor], additional_inputs: Any = ()) -> Any:
    carry, made = _steps(combine_fn, init, xs, additional_inputs, range(xs[0].shape[0] if xs else 0))
    return [*carry, *[stack(slices) for slices in zip(*made, strict=True)]]


def _fake(combine_fn: Callable[..., Any], init: list[Tensor], xs: list[Tensor], additional_inputs: Any = ()) -> Any:
    length = xs[0].shape[0]
    carry, [slices] = _steps(combine_fn, init, xs, additional_inputs, range(1))
    return [*carry, *[repeated(x, length) for x in slices]]


scan_op = HigherOrderOperator(
    "scan", _eager, _fake,
    lambda combine_fn, init, xs, further: {0: (*init, *[select(x, 0, 0) for x in xs], *further)},
    {0: "scan_combine_graph"}, 3)


def scan(combine_fn: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any, *, dim: int = 0,
         reverse: bool = False) -> tuple[Any, Any]:
    """Return the last carry, and the stacked slices ``y``, of ``carry, y = combine_fn(carry, x)`` for each slice ``x``
    of ``xs`` along ``dim``, from ``init``; from the end if ``reverse`` (``torch._higher_order_ops.scan``).

    Raises:
        RuntimeError: if there are no tensors, their lengths differ, or the carry changes its shape or dtype.
    """
    if not callable(combine_fn):
        raise RuntimeError(f"Combine_fn must be a callable, but got {combine_fn}")
    leaves_init, spec_init = tree_flatten(init)
    leaves_xs, spec_xs = tree_flatten(xs)
    if not leaves_init:
        raise RuntimeError("scan() operator requires init leaves.")
    check_slices("scan", leaves_xs, dim)
    if not leaves_xs:
        return init, []
    spec_y: Any = None

    def flat(*args: Any) -> list[Any]:
        nonlocal spec_y
        count = len(leaves_init)
        carry, y = combine_fn(tree_unflatten(list(args[:count]), spec_init),
                              tree_unflatten(list(args[count:count + len(leaves_xs)]), spec_xs))
        check_same(CARRY, carry, init)
        leaves_y, spec_y = tree_flatten(y)
        return [*tree_leaves(carry), *[leaf.clone() if any(leaf is arg for arg in args) else leaf for leaf in leaves_y]]

    moved = [turned(x.movedim(dim, 0), reverse) for x in leaves_xs]
    found = scan_op(flat, leaves_init, moved, ())
    carry, ys = found[:len(leaves_init)], found[len(leaves_init):]
    return (tree_unflatten(list(carry), spec_init),
            tree_unflatten([turned(y, reverse).movedim(0, dim) for y in ys], spec_y))


def turned(x: Tensor, reverse: bool) -> Tensor:
    """Return a tensor with its first dimension from the end, if ``reverse``."""
    return x.flip([0]) if reverse else x


def check_slices(name: str, leaves: list[Any], dim: int) -> None:
    """Raise RuntimeError unless values are tensors of one length along a dimension, which is not 0."""
    if not all(isinstance(leaf, Tensor) for leaf in leaves):
        raise RuntimeError(f"{name}() operator expects xs leaves to be Tensors, but got "
                           f"{[type(leaf).__name__ for leaf in leaves]}")
    for leaf in leaves:
        if not leaf.dim():
            raise RuntimeError("All xs leaves must at least have 'dim' number of dimensions and scan dimension > 0")
        if leaf.shape[dim] == 0 or leaf.shape[dim] != leaves[0].shape[dim]:
            raise RuntimeError(f"All xs leaves must have the same length > 0 along dim {dim}, but got "
                               f"{[leaf.shape[dim] for leaf in leaves]}")
