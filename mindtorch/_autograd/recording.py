"""The Autograd key: run an operator and record its node in the graph."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._base.about import about
from .._dispatch.dispatcher import keys_of
from .._dispatch.keys import AUTOGRAD
from .._dispatch.local import local
from .._dispatch.registry import Operator
from .._dispatch.schemas import registry
from .._dtype import FLOATING
from . import views
from .derivative import NOT_DIFFERENTIABLE, Derivative
from .node import Node


def derivative_of(op: Operator) -> Derivative | None:
    """Return the derivative of an operator, or of its functional form; None if its outputs never require grad."""
    if op.derivative is None:
        functional = op.functional or op
        row = registry.derivatives.get(op.name) or registry.derivatives.get(functional.name)
        op.derivative = NOT_DIFFERENTIABLE if row is NOT_DIFFERENTIABLE else Derivative(op, row)
    return None if op.derivative is NOT_DIFFERENTIABLE else op.derivative


#: Calls that are never recorded, by operator: conversions to a dtype that cannot require grad.
STAYS_OUT: dict[str, Callable[[tuple[Any, ...]], bool]] = {
    "_to_copy": lambda args: len(args) > 1 and args[1] is not None and args[1].category < FLOATING,
}


def record_in_graph(op: Operator, _keys: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the Autograd key's wrapper, which runs the backend's function and records a node."""
    found = derivative_of(op)
    if op.is_out:
        return lambda inner: inner if found is None else _out_form(op, inner)
    if op.is_inplace:
        if op.writes_lists:
            return lambda inner: _list_form(op, inner)
        return lambda inner: inner if found is None else _inplace_form(op, found, inner)
    if found is None:
        return lambda inner: inner
    stays_out = STAYS_OUT.get(op.name)

    def wrap(inner: Callable[..., Any]) -> Callable[..., Any]:
        record = found.recording(inner)
        if stays_out is not None:
            return lambda *args: inner(*args) if stays_out(args) else record(*args)
        return record

    return wrap


def _inplace_form(op: Operator, found: Derivative, inner: Callable[..., Any]) -> Callable[..., Any]:
    give_history = views.set_history if "inplace_view" in op.flags else views.rebase

    def record(self: Any, *args: Any) -> Any:
        if self._dtype.category < FLOATING or not local.grad_enabled:
            return inner(self, *args)
        views.check_inplace(self)
        node = found.start((self, *args), inplace=True)
        result = inner(self, *args)
        if node is not None:
            views.describe(node, self)
            give_history(self, node)
            node.save_outputs((self,))
        return result

    return record


def _list_form(op: Operator, inner: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap an in-place operator of lists of tensors: it has no derivative, so its tensors must not require grad."""

    def refuse(*args: Any) -> Any:
        for tensor in args[0] if local.grad_enabled else ():
            views.check_inplace(tensor)
            if tensor._keys & AUTOGRAD:
                raise RuntimeError(f"derivative for aten::{op.name} is not implemented")
        return inner(*args)

    return refuse


def _out_form(op: Operator, inner: Callable[..., Any]) -> Callable[..., Any]:
    def refuse(*args: Any) -> Any:
        if local.grad_enabled and keys_of(args) & AUTOGRAD:
            raise about(RuntimeError(f"{op.packet}(): functions with out=... arguments don't support automatic "
                                     "differentiation, but one of the arguments requires grad."), "out of a graph")
        return inner(*args)

    return refuse


def start_node(name: str, args: tuple[Any, ...]) -> Node:
    found = derivative_of(registry[name])
    node = found.start(args, always=True) if found is not None else None
    if node is None:
        raise RuntimeError(f"aten::{name} has no derivative for these arguments")
    return node
