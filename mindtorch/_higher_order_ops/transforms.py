"""Transforms of ``torch.func`` as nodes of a graph: the function that a transform takes is a graph of its own.

A node ``vmap(body, args, outside, in_dims=0)`` has the value of ``vmap(body, in_dims=0)(*args)``: the body takes the
tensors among the arguments that the transform hands it, one by one, and behind them the tensors that the function reads
from outside. Whatever runs the node runs the transform itself, so that a trace has plain operators in its place.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._tensor import Tensor
from .._transforms.batch import chunk_vmap, vmap
from .._transforms.forward import jvp, linearize
from .._transforms.jacobians import hessian, jacfwd, jacrev
from .._transforms.pytree import tree_leaves
from .._transforms.reverse import grad, grad_and_value, vjp
from ..func.functionalization import functionalize
from ._operator import GraphOperator, called


def function_of(body: Callable[..., Any], outside: tuple[Any, ...]) -> Callable[..., Any]:
    """Return the function of nested arguments that a graph of tensors stands for."""
    def function(*args: Any, **kwargs: Any) -> Any:
        return body(*[leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)], *outside)

    return function


def _of_maker(maker: Callable[..., Any]) -> Callable[..., Any]:
    def run(body: Any, args: tuple[Any, ...], outside: tuple[Any, ...] = (), kwargs: Any = None,
            **settings: Any) -> Any:
        return maker(function_of(body, outside), **settings)(*args, **(kwargs or {}))

    return run


def _of_applier(applier: Callable[..., Any]) -> Callable[..., Any]:
    def run(body: Any, args: tuple[Any, ...], outside: tuple[Any, ...] = (), **settings: Any) -> Any:
        return applier(function_of(body, outside), *args, **settings)

    return run


#: Transforms that return a function.
MAKERS: tuple[Callable[..., Any], ...] = (vmap, grad, grad_and_value, jacrev, jacfwd, hessian, functionalize,
                                          chunk_vmap)
#: Transforms that take the function's arguments, too, and return results.
APPLIERS: tuple[Callable[..., Any], ...] = (jvp, vjp, linearize)
#: The operator of each transform.
OPERATORS: dict[Callable[..., Any], GraphOperator] = {
    **{one: GraphOperator(one.__name__, _of_maker(one)) for one in MAKERS},
    **{one: GraphOperator(one.__name__, _of_applier(one)) for one in APPLIERS}}


#: Calls the function that ``vjp`` or ``linearize`` returned in the graph.
call_linear = GraphOperator("call_linear", called)
