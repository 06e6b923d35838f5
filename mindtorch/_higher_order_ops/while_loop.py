"""``while_loop``: a function repeated while a condition holds."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._tensor import Tensor
from .._transforms.pytree import tree_leaves, tree_map
from ._operator import HigherOrderOperator, check_same

CARRIED = "Expected body_fn to return values of the same structure, shapes and dtypes as carried_inputs"


def _checked_condition(found: Any) -> Any:
    if isinstance(found, Tensor) and (found.dim() or str(found.dtype) != "torch.bool"):
        raise RuntimeError(f"cond_fn must return a boolean scalar tensor or a boolean but got {found}")
    return found


def _repeated(carried: Any, made: Any) -> Any:
    made = tuple(made) if isinstance(made, (tuple, list)) else made
    if not isinstance(made, tuple):
        raise RuntimeError(f"body_fn should return a tuple but got {type(made)}")
    check_same(CARRIED, made, tuple(carried))
    return made


def _eager(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any,
           additional_inputs: Any = ()) -> Any:
    carried = tree_map(lambda leaf: leaf.clone() if isinstance(leaf, Tensor) else leaf, tuple(carried_inputs))
    while _checked_condition(cond_fn(*carried, *additional_inputs)):
        carried = _repeated(carried, body_fn(*carried, *additional_inputs))
    return carried


def _fake(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any,
          additional_inputs: Any = ()) -> Any:
    _checked_condition(cond_fn(*carried_inputs, *additional_inputs))
    return _repeated(carried_inputs, body_fn(*carried_inputs, *additional_inputs))


while_loop_op = HigherOrderOperator(
    "while_loop", _eager, _fake, lambda cond_fn, body_fn, carried, further: {0: (*carried, *further),
                                                                            1: (*carried, *further)},
    {0: "while_loop_cond_graph", 1: "while_loop_body_graph"}, 3, data_choose=True)


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any) -> Any:
    """Repeat ``carried = body_fn(*carried)`` while ``cond_fn(*carried)`` is true, and return what was carried last
    (``torch._higher_order_ops.while_loop``). The inputs are not written.

    Raises:
        RuntimeError: if the functions cannot be called, an input is neither a tensor nor an int, or what the body
            returns has another structure, shape or dtype.
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("Expect cond_fn and body_fn to be callable.")
    if not isinstance(carried_inputs, (tuple, list)) or not all(
            isinstance(leaf, (Tensor, int, float, bool)) for leaf in tree_leaves(carried_inputs)):
        raise RuntimeError("Expect carried_inputs to be a tuple of possibly nested dict/list/tuple that only consists "
                           f"of tensor or int leaves, but got {carried_inputs}.")
    return while_loop_op(cond_fn, body_fn, tuple(carried_inputs), ())
