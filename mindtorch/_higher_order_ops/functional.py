"""Control flow that depends on data where AOTAutograd traces: its functions become functional, and ``cond`` has a
backward pass, in which the same condition chooses between the gradients of both functions.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._autograd.engine import grad
from .._autograd.function import Function
from .._autograd.grad_mode import enable_grad, no_grad
from .._dispatch.aten import zeros_like
from .._dispatch.local import local
from .._subclasses.fake_errors import UnsupportedOperatorException
from .._subclasses.functional_tensor import FunctionalTensorMode, value_of
from .._tensor import Tensor
from .._transforms.pytree import tree_leaves, tree_map
from ._operator import RECORDERS, HigherOrderOperator
from .cond import cond_op


def _functional(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of plain tensors that writes into none of them."""

    def run(*args: Any) -> Any:
        mode = FunctionalTensorMode()
        with mode:
            return tree_map(value_of, function(*[mode.wrap(arg) if isinstance(arg, Tensor) else arg for arg in args]))

    return run


def record(mode: FunctionalTensorMode, op: HigherOrderOperator, args: tuple[Any, ...]) -> Any:
    """Apply an operator to the values of functional tensors.

    Raises:
        UnsupportedOperatorException: for gradients of an operator that has none here, such as a ``while_loop``.
    """
    if not op.data_choose:
        with mode:
            return op._eager(*args)
    if local.grad_enabled and any(isinstance(leaf, Tensor) and leaf.requires_grad for leaf in tree_leaves(args)):
        if op.recorded is None:
            raise UnsupportedOperatorException(op)
        with mode:
            return op.recorded.apply(*args[:op.further], *args[op.further])
    with no_grad():
        results = op(*[_functional(arg) if position in op.labels else tree_map(value_of, arg)
                       for position, arg in enumerate(args)])
    return tree_map(lambda leaf: mode.wrap(leaf) if isinstance(leaf, Tensor) else leaf, results)


class Cond(Function):
    """``cond``, with the gradients of the function that was chosen."""

    @staticmethod
    def forward(ctx: Any, pred: Any, true_fn: Any, false_fn: Any, *operands: Any) -> Any:
        ctx.functions, ctx.sizes = (true_fn, false_fn), [None if isinstance(operand, Tensor) else operand
                                                         for operand in operands]
        ctx.save_for_backward(pred, *[operand if isinstance(operand, Tensor) else None for operand in operands])
        return cond_op(pred, true_fn, false_fn, operands)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        pred, *tensors = ctx.saved_tensors
        operands = [size if tensor is None else tensor for tensor, size in zip(tensors, ctx.sizes, strict=True)]
        wanted = [number for number, needs in enumerate(ctx.needs_input_grad[3:]) if needs]
        taken, other = (_gradients(function, len(grads), wanted) for function in ctx.functions)
        found = iter(cond_op(pred, taken, other, (*grads, *operands)))
        return None, None, None, *[next(found) if number in wanted else None for number in range(len(operands))]


def _gradients(function: Callable[..., Any], count: int, wanted: list[int]) -> Callable[..., Any]:
    """Return a function of ``count`` gradients and the operands that returns the gradients of the wanted operands."""

    def run(*args: Any) -> Any:
        grads = args[:count]
        operands = [arg.detach() if isinstance(arg, Tensor) else arg for arg in args[count:]]
        leaves = [operands[number].requires_grad_() for number in wanted]
        with enable_grad():
            results = [(result, one) for result, one in zip(function(*operands), grads, strict=True)
                       if isinstance(result, Tensor) and result.requires_grad]
        found = grad([result for result, _ in results], leaves, [one for _, one in results],
                     allow_unused=True) if results else [None] * len(leaves)
        return tuple([zeros_like(leaf) if one is None else one for leaf, one in zip(leaves, found, strict=True)])

    return run


cond_op.recorded = Cond
RECORDERS[FunctionalTensorMode] = record
