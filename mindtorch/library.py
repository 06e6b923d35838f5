"""Operators of one's own: define them, give them kernels and derivatives, from a notebook cell or a module.

    @library.kernel("softclip(Tensor self, float limit=1.0) -> Tensor", "cpu")
    def softclip(self, limit=1.0): ...

    library.meta("softclip", lambda self, limit=1.0: torch.empty_like(self))
    library.derivative("softclip", self=lambda grad, self, limit: ...)

The operator is then ``torch.softclip``, a method of tensors, and part of every trace. Mirrors ``torch.library``.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._autograd.derivative import derivative as derivative, not_differentiable as not_differentiable
from ._dispatch.overloads import ops as ops
from ._dispatch.registry import Operator, flags_of
from ._dispatch.schemas import registry

__all__ = ["define", "derivative", "impl", "kernel", "meta", "not_differentiable", "ops"]
__dir__ = __all__.copy


def define(schema: str, flags: str = "function, method") -> Operator:
    """Define an operator from an ATen schema, ``name.overload(Tensor self, ...) -> Tensor`` (``torch.library.define``).

    ``flags`` are those of PyTorch's ``variants``, 'function' and 'method', and 'in-place' and 'out' for forms that
    write into ``self`` and into ``out=``. What follows the schema after ``  # `` says what the operator computes.

    Raises:
        ValueError: if the schema cannot be parsed, or a flag means nothing.
        RuntimeError: if the operator exists already.
    """
    name = schema.partition("(")[0]
    if name in registry.operators:
        raise RuntimeError(f"define(): aten::{name} exists already; impl() replaces a kernel of it")
    op = registry.define(schema, flags_of(flags))
    _ = op.schema  # parse it now: an error belongs to the cell that made it
    return op


def impl(name: str, device: str, function: Callable[..., Any]) -> Operator:
    """Make ``function`` an operator's kernel on 'cpu', 'meta' or 'npu', or 'composite' for all of them
    (``torch.library.impl``).

    Raises:
        AttributeError: if there is no such operator.
    """
    return registry.register(registry[name].name, device, function)


def kernel(schema: str, device: str = "cpu") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate an operator's kernel on ``device``; define the operator if it is new (``torch.library.custom_op``)."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        name = schema.partition("(")[0].strip()
        if name not in registry:
            define(schema)
        impl(name, device, function)
        return function

    return register


def meta(name: str, function: Callable[..., Any]) -> Operator:
    """Give an operator a meta kernel, which takes the same arguments and returns an empty output of the right shape,
    dtype and strides (``torch.library.register_fake``).
    """
    return impl(name, "meta", function)
