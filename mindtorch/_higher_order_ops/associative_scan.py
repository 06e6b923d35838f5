"""``associative_scan``: the running results of an associative function along a dimension."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._dispatch.aten import select_int as select, stack
from .._dispatch.local import local
from .._tensor import Tensor
from .._transforms.pytree import tree_flatten, tree_leaves, tree_unflatten
from ._operator import HigherOrderOperator, check_same, on_fakes, repeated
from .scan import check_slices, turned

COMBINED = "Expected combine_fn to return values of the same structure, shapes and dtypes as its inputs"


def _eager(combine_fn: Callable[..., Any], xs: list[Tensor], additional_inputs: Any = ()) -> Any:
    carry = [select(x, 0, 0) for x in xs]
    made = [carry]
    for i in range(1, xs[0].shape[0]):
        carry = list(combine_fn(*carry, *[select(x, 0, i) for x in xs], *additional_inputs))
        made.append(carry)
    return [stack(list(slices)) for slices in zip(*made, strict=True)]


def _fake(combine_fn: Callable[..., Any], xs: list[Tensor], additional_inputs: Any = ()) -> Any:
    length = xs[0].shape[0]
    return [repeated(x, length) for x in combine_fn(*[select(x, 0, 0) for x in xs] * 2, *additional_inputs)]


associative_scan_op = HigherOrderOperator(
    "associative_scan", _eager, _fake,
    lambda combine_fn, xs, further: {0: (*[select(x, 0, 0) for x in xs] * 2, *further)},
    {0: "associative_scan_combine_graph"}, 2)


def associative_scan(combine_fn: Callable[[Any, Any], Any], xs: Any, dim: int, reverse: bool = False,
                     combine_mode: str = "pointwise") -> Any:
    """Return the running results of an associative ``combine_fn(a, b)`` over the slices of ``xs`` along ``dim``; from
    the end if ``reverse`` (``torch._higher_order_ops.associative_scan``).

    Raises:
        ValueError: if ``combine_fn`` cannot be called, ``dim`` or ``combine_mode`` is wrong, or there are no tensors.
        RuntimeError: if lengths differ, or ``combine_fn`` changes a shape or dtype.
    """
    leaves, spec = tree_flatten(xs)
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if not isinstance(dim, int):
        raise ValueError(f"Dim must be an int, but got {type(dim)}")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}")
    if not leaves or not all(isinstance(leaf, Tensor) for leaf in leaves):
        raise ValueError("Expected at least one leaf in xs, and all of them tensors")
    check_slices("associative_scan", leaves, dim)

    def flat(*args: Any) -> list[Any]:
        return tree_leaves(combine_fn(tree_unflatten(list(args[:len(leaves)]), spec),
                                      tree_unflatten(list(args[len(leaves):]), spec)))

    moved = [turned(x.movedim(dim, 0), reverse) for x in leaves]
    slices = [select(x, 0, 0) for x in moved]
    if not local.frames:  # inside of vmap no fake stands for a tensor
        check_same(COMBINED, on_fakes(flat, slices * 2), slices)
    found = associative_scan_op(flat, moved, ())
    return tree_unflatten([turned(x, reverse).movedim(0, dim) for x in found], spec)
