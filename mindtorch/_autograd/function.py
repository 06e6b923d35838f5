"""``autograd.Function``: operators whose backward is written by hand.

What PyTorch calls ``ctx`` is the graph's node itself, of a class of its own for every function: users hang attributes
on it in forward and find them in backward.
"""
from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from .._dispatch.dispatcher import TENSOR_TYPES, call_on
from .._dispatch.keys import AUTOGRAD
from .._dispatch.local import local
from .._dispatch.schemas import registry
from .._dtype import FLOATING
from . import views
from .anomaly import AnomalyMode, remember_call
from .grad_mode import no_grad
from .node import Node, next_sequence_nr
from .saved import FREED, Saved, SavedTensor, save


class FunctionCtx:
    """What ``forward`` and ``setup_context`` may say about a call (``torch.autograd.function.FunctionCtx``)."""

    needs_input_grad: tuple[bool, ...] = ()  #: which arguments of ``forward`` need a gradient
    materialize_grads = True
    to_save: tuple[Any, ...] = ()
    dirty_tensors: tuple[Any, ...] = ()
    non_differentiable: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors (or None) for backward, where ``saved_tensors`` has them again."""
        self.to_save = tensors

    def mark_dirty(self, *args: Any) -> None:
        """Say which inputs forward wrote in place; they must be among its outputs."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Any) -> None:
        """Say which outputs have no derivative."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward gets zeros, or None, for outputs through which no gradient came."""
        self.materialize_grads = value


class FunctionNode(Node, FunctionCtx):
    """A node of a ``Function``: its context, too."""

    _function: type[Function]
    _positions: tuple[int, ...] = ()  #: of the tensors among the arguments
    _saved: tuple[Saved | None, ...] | None = ()
    _arguments: int = 0

    def name(self) -> str:
        return type(self).__name__

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What ``save_for_backward`` kept.

        Raises:
            RuntimeError: if it was freed, or written in place since.
        """
        if self._saved is None:
            raise RuntimeError(FREED)
        return tuple(None if s is None else s.unpack(self) for s in self._saved)

    @property
    def _raw_saved_tensors(self) -> tuple[SavedTensor, ...]:
        if self._saved is None:
            raise RuntimeError(FREED)
        return tuple(SavedTensor(self, partial(_itself, saved)) for saved in self._saved)

    def apply(self, grads: list[Any]) -> list[Any]:
        if self.materialize_grads:
            grads = [_zeros(output) if g is None and output is not None else g
                     for g, output in zip(grads, self._outputs, strict=True)]
        results = self._function._backward_of()(self, *grads)
        if not isinstance(results, tuple):
            results = tuple(results) if isinstance(results, list) else (results,)
        if len(results) > self._arguments and all(r is None for r in results[self._arguments:]):
            results = results[: self._arguments]
        if len(results) != self._arguments:
            raise RuntimeError(f"function {self.name()} returned an incorrect number of gradients (expected "
                               f"{self._arguments}, got {len(results)})")
        for i, result in enumerate(results):
            if result is not None and i not in self._positions:
                raise RuntimeError(f"function {self.name()} returned a gradient different than None at position {i + 1}, but "
                                   "the corresponding forward input was not a Variable")
            if result is not None and result.__class__ not in TENSOR_TYPES:
                raise TypeError(f"expected Variable or None (got {type(result).__name__})")
        return [results[i] for i in self._positions]

    def release_variables(self) -> None:
        if self._saved:
            self._saved = None


def _itself(saved: Saved | None) -> Saved | None:
    return saved


def _zeros(output: tuple[Any, Any, Any]) -> Any:
    shape, dtype, device = output
    return call_on(registry["full"], device.type, tuple(shape), 0, dtype, device)


class _FunctionType(type):
    def __init__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any]):
        super().__init__(name, bases, attributes)
        cls._node_class = type(f"{name}Backward", (FunctionNode,), {"_function": cls})


class Function(metaclass=_FunctionType):
    """A differentiable function with a backward of its own (``torch.autograd.Function``).

    Subclasses define static methods: ``forward(ctx, *args)``, or ``forward(*args)`` with ``setup_context(ctx, inputs,
    output)``; and ``backward(ctx, *grads)`` (or ``vjp``), which returns a gradient for each argument. Call ``apply``.
    """

    _node_class: type[FunctionNode]
    generate_vmap_rule = False

    def __init__(self, *args: Any, **kwargs: Any):
        warnings.warn(f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should "
                      "invoke them on the class itself.", DeprecationWarning, stacklevel=2)

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """What the function computes. Subclasses define it."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """What to keep for backward, where ``forward`` does not take a context."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradients of the arguments from those of the outputs. Subclasses define it."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward "
            "mode AD."
        )

    vjp = backward

    @classmethod
    def _backward_of(cls) -> Callable[..., Any]:
        has_backward, has_vjp = cls.backward is not Function.backward, cls.vjp is not Function.vjp
        if has_backward and has_vjp:
            raise RuntimeError("Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only "
                               "implement one of them.")
        return cls.vjp if has_vjp else cls.backward

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run ``forward`` without recording, and record this function's node for what it returns."""
        ctx = cls._node_class()
        ctx._arguments = len(args)
        tensors = [(i, a) for i, a in enumerate(args) if a.__class__ in TENSOR_TYPES]
        ctx._positions = tuple(i for i, _ in tensors)
        ctx.needs_input_grad = tuple(a.__class__ in TENSOR_TYPES and a.requires_grad for a in args)
        records = local.grad_enabled and any(ctx.needs_input_grad)
        if records:
            ctx._order = next_sequence_nr()
            ctx._edges = tuple(t._grad_edge() if t._keys & AUTOGRAD else None for _, t in tensors)
            if AnomalyMode.enabled:
                remember_call(ctx)
        with no_grad():
            if cls.setup_context is Function.setup_context:
                output = cls.forward(ctx, *args, **kwargs)
            else:
                output = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, args, output)
        single = not isinstance(output, (tuple, list))
        outputs = [output] if single else list(output)
        if single and output.__class__ not in TENSOR_TYPES:
            raise TypeError(f"{ctx.name()}.forward: expected to return None, a tensor or a tuple of tensors, not "
                            f"{type(output).__name__}" if output is not None else f"{ctx.name()}.forward returned None")
        ctx._outputs = tuple(
            (tuple(o.shape), o._dtype, o._device) if o.__class__ in TENSOR_TYPES else None for o in outputs
        )  # type: ignore[assignment]
        inputs = [t for _, t in tensors]
        wrapped = [_wrap(ctx, o, i, inputs, records, len(outputs)) for i, o in enumerate(outputs)]
        if records:
            ctx._saved = tuple(_save(ctx, i, value, outputs, wrapped) for i, value in enumerate(ctx.to_save))
        ctx.to_save = ctx.dirty_tensors = ctx.non_differentiable = ()
        return wrapped[0] if single else tuple(wrapped)


def _is_one_of(tensor: Any, tensors: Any) -> bool:
    return any(tensor is other for other in tensors)


def _wrap(ctx: FunctionNode, output: Any, number: int, inputs: list[Any], records: bool, count: int) -> Any:
    """An output of forward, at its place in the graph."""
    if output.__class__ not in TENSOR_TYPES:
        return output
    is_input, is_dirty = _is_one_of(output, inputs), _is_one_of(output, ctx.dirty_tensors)
    if is_dirty and not is_input:
        raise RuntimeError(f"{ctx.name()}: a tensor was marked as dirty that is not an input of forward")
    if not records:
        return output if is_dirty or not is_input else output._shallow()
    if _is_one_of(output, ctx.non_differentiable) or output._dtype.category < FLOATING:
        return output._shallow() if is_input else output
    if is_dirty:
        views.check_inplace(output)
        output._bump()
        if output._base is not None and count > 1:
            raise RuntimeError("If your Function modifies Variables inplace and some of the modified Variables are views, you "
                               "must have only one output Variable.")
        views.rebase(output, ctx)
        if output._base is None:
            output._output_nr = number
        return output
    if is_input:
        with no_grad():
            output = output.view_as(output)
    if output._base is not None:
        output._creation = views.IN_FUNCTION
    output._grad_fn, output._output_nr = ctx, number
    output._keys |= AUTOGRAD
    return output


def _save(ctx: FunctionNode, i: int, value: Any, outputs: list[Any], wrapped: list[Any]) -> Saved | None:
    if value is None:
        return None
    if value.__class__ not in TENSOR_TYPES:
        raise TypeError(f"save_for_backward can only save variables, but argument {i} is of type {type(value).__name__}")
    for number, (output, result) in enumerate(zip(outputs, wrapped, strict=True)):
        if value is output and result._keys & AUTOGRAD and result._grad_fn is ctx:
            return save(result._twin(), number, ctx)
    return save(value)


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """For a ``backward`` that is not made of differentiable operators: differentiating through it is an error
    (``torch.autograd.function.once_differentiable``).
    """

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        with no_grad():
            outputs = fn(ctx, *args)
        if not local.grad_enabled or not any(a.__class__ in TENSOR_TYPES and a.requires_grad for a in args):
            return outputs
        single = not isinstance(outputs, tuple)
        results = []
        for output in (outputs,) if single else outputs:
            if output.__class__ in TENSOR_TYPES:
                output = output._shallow()
                node = _Twice()
                node._order = next_sequence_nr()
                views.describe(node, output)
                output._grad_fn = node
                output._keys |= AUTOGRAD
            results.append(output)
        return results[0] if single else tuple(results)

    return wrapper


class _Twice(Node):
    """What stands behind the results of a ``once_differentiable`` backward."""

    def name(self) -> str:
        return "DelayedError"

    def apply(self, grads: list[Any]) -> list[Any]:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")
