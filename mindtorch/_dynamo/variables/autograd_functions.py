"""``torch.autograd.Function`` in a graph: a call is one node (``torch._dynamo.variables.AutogradFunctionVariable``).

The backend traces what the node runs, forward and backward. Both are interpreted beforehand, and the nodes of that are
dropped: this finds the guards on what they read, and shows that they do nothing but compute with their arguments.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._autograd.function import Function, FunctionCtx
from ..._dispatch.local import local
from ..._methods import functions
from ..exc import Break
from .base import ConstantVariable, Translator, Variable
from .containers import TupleVariable
from .objects import ClassVariable
from .tensor import TensorVariable


class Context(FunctionCtx):
    """The ``ctx`` of the functions that are interpreted."""

    saved_tensors: tuple[Any, ...] = ()
    dirty: tuple[Any, ...] = ()

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad

    def save_for_backward(self, *tensors: Any) -> None:
        self.saved_tensors = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Take tensors for ``jvp``, which is not interpreted."""

    def mark_dirty(self, *args: Any) -> None:
        self.dirty = args

    def mark_non_differentiable(self, *args: Any) -> None:
        """Take outputs whose gradients backward receives, too."""

    def set_materialize_grads(self, value: bool) -> None:
        """Take the setting, which gradients that are there do not need."""


class Applied:
    """A Function with those of its arguments that no graph has, by their numbers."""

    def __init__(self, kind: type[Function], fixed: dict[int, Any]) -> None:
        self.kind, self.fixed = kind, fixed
        self.__name__ = self.__qualname__ = kind.__name__
        self.__module__ = kind.__module__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        rest = iter(args)
        count = len(args) + len(self.fixed)
        return self.kind.apply(*[self.fixed[i] if i in self.fixed else next(rest) for i in range(count)], **kwargs)


def apply(tx: Translator, owner: Variable, *args: Variable, **kwargs: Variable) -> Variable:
    """Call a Function: ``Function.apply``."""
    kind = owner.value
    given, fixed = [], {}
    for number, arg in enumerate(args):
        try:
            arg.argument()
            given.append(arg)
        except Break:
            fixed[number] = arg.value
    for arg in kwargs.values():
        arg.argument()
    interpret(tx, ClassVariable(kind), [*args], kwargs)
    made: Variable = tx.output.call(tx, "call_function", Applied(kind, fixed), given, kwargs)
    return made


def interpret(tx: Translator, owner: ClassVariable, args: list[Variable], kwargs: dict[str, Variable]) -> None:
    """Interpret forward and backward for their guards.

    Raises:
        Break: if they do more than compute with their arguments.
    """
    output, before = tx.output, local.grad_enabled
    kind: Any = owner.kind
    nodes, seen = {*output.graph.nodes}, _seen(output)
    needed = [isinstance(arg, TensorVariable) and bool(arg.example.requires_grad) for arg in args]
    local.grad_enabled = False
    try:
        ctx = ClassVariable(Context).call(tx, [tx.made(tuple(needed))], {})
        if kind.setup_context is Function.setup_context:
            made = owner.attribute(tx, "forward").call(tx, [ctx, *args], kwargs)
        else:
            made = owner.attribute(tx, "forward").call(tx, args, kwargs)
            owner.attribute(tx, "setup_context").call(tx, [ctx, TupleVariable([*args, *kwargs.values()]), made], {})
        if ctx.attribute(tx, "dirty").truth(tx):
            raise Break(f"{kind.__qualname__} writes an input in place")
        outputs = made.items(tx) if isinstance(made, TupleVariable) else [made]
        memory = {id(_root(one.example)) for one in (*args, *kwargs.values()) if isinstance(one, TensorVariable)}
        if any(isinstance(one, TensorVariable) and id(_root(one.example)) in memory for one in outputs):
            raise Break(f"{kind.__qualname__} returns an input, or a view of one")
        if before and any(needed):
            name = "backward" if kind.vjp is Function.vjp else "vjp"
            grads = [tx.output.call(tx, "call_function", functions.zeros_like, [one], {}) if isinstance(
                one, TensorVariable) else ConstantVariable(None) for one in outputs]
            owner.attribute(tx, name).call(tx, [ctx, TupleVariable(grads)] if kind.boxed_grads_call else [ctx, *grads],
                                           {})
    finally:
        local.grad_enabled = before
    if _seen(output) != seen:
        raise Break(f"{kind.__qualname__} reads tensors that are no arguments, or writes objects")
    for node in reversed([*output.graph.nodes]):
        if node not in nodes and node.op.startswith("call"):
            output.graph.erase_node(node)


def _root(tensor: Any) -> Any:
    return tensor if tensor._base is None else tensor._base


def _seen(output: Any) -> tuple[Any, ...]:
    """Return the counts of tensors that are read and the objects that are written, which interpreting adds to."""
    effects = output.side_effects
    tensors = [one for one in output.inputs if isinstance(one, TensorVariable)]
    return (len(tensors), len(output.attributes), {*effects.noted}, {*effects.globals}, len(effects.asserted),
            {(key, name) for key, (_, named) in effects.attributes.items() for name in named})


APPLY: Callable[..., Any] = vars(Function)["apply"].__func__
