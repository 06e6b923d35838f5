"""The graph of a call and of its derivative (AOTAutograd's part).

The recorded operators of the first call are repeated on tensors without values, in a recording that continues through
the backward pass. The operators before the backward pass are the forward graph, the others the backward graph. Values
that the backward graph takes from the forward graph are saved.
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from .. import _device
from .._autograd.engine import execute
from .._base.call_site import call_site
from .._base.interrupts import leaving
from .._base.layout import Spec, contiguous_strides
from .._dispatch import pipeline
from .._dispatch.dispatcher import TENSOR_TYPES, registry, set_local
from .._dispatch.keys import CPU, NONCONTIGUOUS, PIPELINE
from .._dispatch.local import local
from .._tensor import empty_tensor
from .breaks import CannotCompile, GraphBreak
from .graph import Graph, Step, Value, mapped
from .recording import FirstCall, Recording


@dataclass
class Joint:
    """A forward graph, which returns the call's results and then the ``saved`` values, and a backward graph, from the
    saved values and the gradients of ``differentiable`` results to the gradients of ``wanted`` inputs.
    """

    forward: Graph
    backward: Graph | None = None
    saved: tuple[Value, ...] = ()
    differentiable: tuple[int, ...] = ()
    wanted: tuple[int, ...] = ()  #: the inputs that require grad and get one


NOWHERE = ("", 0, "")


class Tracing(Recording):
    """A recording of operators on tensors that never get values."""

    records_backward = True

    def __init__(self) -> None:
        super().__init__()
        self.site = NOWHERE
        self.sites: dict[Any, tuple[str, int, str]] = {}  #: by node of the autograd graph
        self._never = pipeline.Entry(registry["detach"], (), CPU, _device.CPU, [], call_site(), self)

    def placeholder(self, like: Value, requires_grad: bool, name: str) -> Any:
        """Return a tensor without values that stands for an input."""
        stride = None if like.is_contiguous else like.stride
        tensor = empty_tensor(Spec(like.shape, like.dtype, stride), _device.META)
        tensor._device = tensor.untyped_storage().device = _device.CPU
        tensor._keys = CPU | (0 if stride is None else NONCONTIGUOUS)
        if requires_grad:
            tensor.requires_grad_()
        tensor._keys |= PIPELINE
        tensor._pending = self._never
        self.value(tensor, name)
        return tensor

    def place(self) -> tuple[str, int, str]:
        """Return the user's line of the repeated step, or of the node that runs in the backward pass."""
        return self.sites.get(local.task.node, NOWHERE) if local.task is not None else self.site

    def flush(self) -> None:
        raise CannotCompile("an operator or its derivative reads values")

    def stop(self, reason: str | GraphBreak) -> None:
        raise CannotCompile(str(reason))

    @leaving(pipeline.Pipeline._leaving)
    def __exit__(self, *exc: object) -> None:
        set_local("pipeline", self._outer)

    def _alias(self, tensor: Any, base: Value) -> Value:
        for key, other in self.kept.items():
            if (other._storage is tensor._storage and other._offset == tensor._offset and other._dtype is tensor._dtype
                    and tuple(other.shape) == tuple(tensor.shape) and other._strides() == tensor._strides()):
                self.kept_alias(tensor, self.values[key])
                return self.values[key]
        raise CannotCompile("a tensor takes part that is another layout of known memory")

    def kept_alias(self, tensor: Any, value: Value) -> None:
        """Give a tensor the value of another one."""
        self.values[id(tensor)], self.kept[id(tensor)] = value, tensor


def trace(first: FirstCall, inputs: list[Value], roots: list[Value], grad_enabled: bool) -> Joint:
    """Build the graphs of a recorded call, from inputs to roots.

    Raises:
        CannotCompile: if the trace differs from the recording, for example because of an ``autograd.Function``.
    """
    tracing = Tracing()
    before = local.grad_enabled
    with tracing:
        try:
            twins = {value: tracing.placeholder(value, value.requires_grad, value.name) for value in inputs}
            placed = [tracing.values[id(twin)] for twin in twins.values()]
            for value, tensor in first.constants.items():
                twins[value] = twin = tracing.placeholder(value, value.requires_grad, value.name)
                tracing.constants[tracing.values[id(twin)]] = tensor
            local.grad_enabled = grad_enabled
            for step in first.steps:
                tracing.site = step.site
                for node in repeat(step, twins):
                    tracing.sites.setdefault(node, step.site)
            _compare(first, twins, set(inputs))
            made = [twins[root] for root in roots]
            outputs = [tracing.known(twin) for twin in made]
            forward = Graph(placed, tracing.steps[:], outputs, dict(tracing.constants))
            wanted = [i for i, value in enumerate(inputs) if value.requires_grad]
            differentiable = [i for i, twin in enumerate(made) if twin.requires_grad]
            if not (grad_enabled and wanted and differentiable):
                return Joint(forward)
            local.grad_enabled = False
            gradients = [tracing.placeholder(_contiguous(roots[i]), False, f"grad_{outputs[i].name}")
                         for i in differentiable]
            edges = [made[i]._grad_edge() for i in differentiable]
            leaves = [twins[inputs[i]]._grad_edge() for i in wanted]
            found = execute(edges, gradients, True, False, leaves, True)
            results = [None if gradient is None else tracing.known(gradient) for gradient in found]
        finally:
            local.grad_enabled = before
    reached = [(i, result) for i, result in zip(wanted, results, strict=True) if result is not None]
    return _divided(tracing, forward, [tracing.values[id(gradient)] for gradient in gradients], differentiable, reached)


def _contiguous(value: Value) -> Value:
    return Value("", value.shape, contiguous_strides(value.shape), 0, value.dtype, None)


def repeat(step: Step, twins: dict[Value, Any]) -> list[Any]:
    """Call a step's operator with the twins of its values; return the nodes that it made."""
    before = local.grad_enabled
    local.grad_enabled = step.grad_enabled
    try:
        result = step.op.call(*[mapped(arg, lambda leaf: twins[leaf] if leaf.__class__ is Value else leaf)
                                for arg in step.args])
    finally:
        local.grad_enabled = before
    results = result if step.is_list else (result,)
    twins.update({value: twin for value, twin in zip(step.outputs, results, strict=True)
                  if value is not None and twin.__class__ in TENSOR_TYPES})
    return [twin._grad_fn for twin in results if twin.__class__ in TENSOR_TYPES and twin._grad_fn is not None]


def _compare(first: FirstCall, twins: dict[Value, Any], inputs: set[Value]) -> None:
    """Raise if a tensor of the first call differs from its twin: something changed it that is not an operator."""
    for key, value in first.values.items():
        tensor, twin = first.kept[key], twins.get(value)
        if twin is None:
            continue
        if (tuple(tensor.shape), tensor._strides(), tensor._dtype) != (tuple(twin.shape), twin._strides(), twin._dtype):
            raise CannotCompile(f"{value.name} has another layout than operators give it")
        if value in inputs:
            continue
        if tensor.requires_grad != twin.requires_grad or (
                type(tensor._grad_fn).__name__ != type(twin._grad_fn).__name__):
            node = type(tensor._grad_fn).__name__
            raise CannotCompile(f"{value.name} has a place in the autograd graph ({node}) that no operator gave it")
        if tensor._hooks or (tensor._grad_fn is not None and tensor._grad_fn._hooks is not None):
            raise CannotCompile(f"a hook was registered on {value.name}")


def _divided(tracing: Tracing, forward: Graph, gradients: list[Value], differentiable: list[int],
             reached: list[tuple[int, Value]]) -> Joint:
    """Divide a trace into a forward and a backward graph. A view is made again instead of being saved."""
    steps = tracing.steps[len(forward.steps):]
    makers = {value: step for step in forward.steps for value in step.outputs if value is not None}
    repeated: dict[Step, Step] = {}
    saved: dict[Value, None] = {}
    own = {value for step in steps for value in step.outputs} | set(gradients)

    def need(values: Iterable[Value]) -> None:
        for value in values:
            if value in own or (value in tracing.constants and value not in makers):
                continue
            step = makers.get(value)
            if step is not None and step.makes_view and not step.op.is_inplace:
                need(step.inputs)
                repeated.setdefault(step, replace(step))  # the passes rewrite the forward graph's own
            else:
                saved[value] = None

    need(value for step in steps for value in step.inputs)
    need(value for _, value in reached)
    kept = [*saved]
    steps = [*repeated.values(), *steps]
    backward = Graph([*kept, *gradients], steps, [value for _, value in reached],
                     {v: c for v, c in tracing.constants.items() if v in _taken(steps)}, "backward")
    forward.outputs += kept
    return Joint(forward, backward, tuple(kept), tuple(differentiable), tuple(i for i, _ in reached))


def _taken(steps: list[Step]) -> set[Value]:
    return {value for step in steps for value in step.inputs}
