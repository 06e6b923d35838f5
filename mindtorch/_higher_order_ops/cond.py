"""``torch.cond``: one of two functions by a condition."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from .._base.symbolic import SymBool
from .._dispatch.aten import where_self as where
from .._dispatch.keys import BATCHED
from .._dispatch.local import local
from .._dispatch.torch_function import overridable
from .._dtype import bool_
from .._subclasses.fake_class import FakeTensor
from .._tensor import Tensor
from .._transforms.pytree import tree_flatten, tree_leaves, tree_unflatten
from ._operator import HigherOrderOperator, check_same, on_fakes

BRANCHES = "Expected true_fn and false_fn to return values of the same structure, shapes and dtypes"


def _eager(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any) -> Any:
    if isinstance(pred, Tensor) and pred._keys & BATCHED:  # each element of a vmap has a condition of its own
        taken, other = true_fn(*operands), false_fn(*operands)
        check_same(BRANCHES, taken, other)
        return [where(pred.to(bool_), one, two) for one, two in zip(taken, other, strict=True)]
    return (true_fn if pred else false_fn)(*operands)


def _fake(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any) -> Any:
    if isinstance(pred, bool):
        return _eager(pred, true_fn, false_fn, operands)
    taken, other = true_fn(*operands), false_fn(*operands)
    check_same(BRANCHES, taken, other)
    return tuple([two if isinstance(two, Tensor) and two.requires_grad else one
                  for one, two in zip(taken, other, strict=True)])


cond_op = HigherOrderOperator(
    "cond", _eager, _fake, lambda pred, true_fn, false_fn, operands: {1: operands, 2: operands},
    {1: "true_graph", 2: "false_graph"}, 3, data_choose=True)


@overridable
def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()) -> Any:
    """Return ``true_fn(*operands)`` if ``pred`` is true, else ``false_fn(*operands)``; a trace keeps both
    (``torch.cond``). ``pred`` is a bool, a ``SymBool``, or a tensor with one element.

    Raises:
        RuntimeError: if ``pred`` is of another type, a branch is not callable, an operand is no tensor, or the
            branches return other structures, shapes or dtypes.
    """
    if isinstance(pred, (bool, int, float)) and not isinstance(pred, Tensor):
        warnings.warn("Pred is a Python constant. When used with torch.cond, it specializes on one of the branches. If "
                      "you want torch.cond to preserve two branches, please make the predicate a boolean tensor or a "
                      "SymBool.", UserWarning, stacklevel=2)
        return (true_fn if pred else false_fn)(*operands)
    if not isinstance(pred, (Tensor, SymBool)):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    if not isinstance(operands, (tuple, list)) or not all(isinstance(leaf, Tensor) for leaf in tree_leaves(operands)):
        raise RuntimeError("Expect operands to be a tuple of possibly nested dict/list/tuple that only consists of "
                           f"tensor leaves, but got {operands}.")
    if not local.frames and not any(isinstance(leaf, FakeTensor) for leaf in tree_leaves((pred, operands))):
        check_same(BRANCHES, on_fakes(true_fn, operands), on_fakes(false_fn, operands))
    leaves, spec = tree_flatten(tuple(operands))
    of_result: Any = None

    def flat(branch: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given: Any) -> Any:
            nonlocal of_result
            found, of_result = tree_flatten(branch(*tree_unflatten(list(given[:len(leaves)]), spec)))
            return tuple(found)

        return run

    return tree_unflatten(list(cond_op(pred, flat(true_fn), flat(false_fn), tuple(leaves))), of_result)
