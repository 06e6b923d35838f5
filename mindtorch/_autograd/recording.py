"""The Autograd key: run an operator, and record a node of the graph for it."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._dispatch.dispatcher import TENSOR_TYPES, wrappers
from .._dispatch.keys import AUTOGRAD
from .._dispatch.registry import Operator
from .._dispatch.schemas import registry
from .._dtype import FLOATING
from . import views
from .derivative import NOT_DIFFERENTIABLE, Derivative
from .node import Node


def derivative_of(op: Operator) -> Derivative | None:
    """The derivative that an operator, or the operator that it is a form of, has; None if its outputs never require
    grad.
    """
    if op.derivative is None:
        functional = op.functional or op
        row = registry.derivatives.get(op.name) or registry.derivatives.get(functional.name)
        op.derivative = NOT_DIFFERENTIABLE if row is NOT_DIFFERENTIABLE else Derivative(op, row)
    return None if op.derivative is NOT_DIFFERENTIABLE else op.derivative


def _autograd(op: Operator, _keys: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The Autograd key: run the backend's function and record a node for it."""
    if op.is_out:
        return lambda inner: _out_form(op, inner)
    found = derivative_of(op)
    if op.is_inplace:
        return lambda inner: _list_form(op, inner) if op.writes_lists else _inplace_form(op, found, inner)
    if found is None:
        return lambda inner: inner
    start, finish = found.start, found.finish

    def wrap(inner: Callable[..., Any]) -> Callable[..., Any]:
        def record(*args: Any) -> Any:
            node = start(args)
            result = inner(*args)
            return result if node is None else finish(node, result)

        return record

    return wrap


def _inplace_form(op: Operator, found: Derivative | None, inner: Callable[..., Any]) -> Callable[..., Any]:
    give_history = views.set_history if "v" in op.flags else views.rebase

    def record(self: Any, *args: Any) -> Any:
        if self._dtype.category < FLOATING:
            return inner(self, *args)
        views.check_inplace(self)
        node = None if found is None else found.start((self, *args), inplace=True)
        result = inner(self, *args)
        if node is not None:
            views.describe(node, self)
            give_history(self, node)
            for i, _, fact in node.plan.output_saves:
                if fact is None:
                    node.save_output(i, self, 0)
                else:
                    node.saved[i] = fact(self)  # type: ignore[index]
        return result

    return record


def _list_form(op: Operator, inner: Callable[..., Any]) -> Callable[..., Any]:
    """In-place operators of lists of tensors have no derivatives: they write what requires no grad."""

    def refuse(*args: Any) -> Any:
        for tensor in args[0]:
            views.check_inplace(tensor)
            if tensor._keys & AUTOGRAD:
                raise RuntimeError(f"derivative for aten::{op.name} is not implemented")
        return inner(*args)

    return refuse


def _out_form(op: Operator, inner: Callable[..., Any]) -> Callable[..., Any]:
    def refuse(*args: Any) -> Any:
        flat = [t for a in args for t in (a if isinstance(a, (list, tuple)) else (a,)) if t.__class__ in TENSOR_TYPES]
        if any(t._keys & AUTOGRAD for t in flat):
            raise RuntimeError(
                f"{op.packet}(): functions with out=... arguments don't support automatic differentiation, but one of the "
                "arguments requires grad."
            )
        return inner(*args)

    return refuse


def _start_node(name: str, args: tuple[Any, ...]) -> Node:
    found = derivative_of(registry[name])
    node = found.start(args, always=True) if found is not None else None
    if node is None:
        raise RuntimeError(f"aten::{name} has no derivative for these arguments")
    return node


views.start_node = _start_node
wrappers[AUTOGRAD] = _autograd  # type: ignore[assignment]
