"""Tracing a captured graph: its operators, and then those of its derivative, as steps between values.

The graph runs in pipeline mode on tensors that never get values: operators are recorded with the shapes of their
results. The recording goes on through the backward pass (``joint``).
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _device
from .._base.call_site import call_site
from .._base.interrupts import leaving
from .._base.layout import Spec
from .._dispatch import pipeline
from .._dispatch.dispatcher import TENSOR_TYPES, key_handlers, registry, set_local, tensors_of
from .._dispatch.keys import AUTOGRAD, BACKENDS, CPU, MATH_BITS, NONCONTIGUOUS, PIPELINE
from .._dispatch.local import local
from .._dispatch.registry import Kernel, Operator
from .._tensor import Tensor, empty_tensor
from .breaks import CannotCompile
from .graph import Step, Value

#: The keys of tensors that are recorded.
RECORDED = CPU | AUTOGRAD | NONCONTIGUOUS
Site = tuple[str, int, str]
NOWHERE: Site = ("", 0, "")


class Tracing(pipeline.Pipeline):
    """A pipeline that records operators as steps between values, and never runs them."""

    records_copies = True
    records_backward = True

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[Step] = []
        self.constants: dict[Value, Any] = {}
        self.values: dict[int, Value] = {}
        self.kept: dict[int, Any] = {}  #: the tensors, so that no id is reused
        self.memories: set[int] = set()  #: the storages of known values
        self.site = NOWHERE  #: the user's line that is traced
        self.sites: dict[Any, Site] = {}  #: by node of the autograd graph
        self._names: dict[str, int] = {}
        self._never = pipeline.Entry(registry["detach"], (), CPU, _device.CPU, [], call_site(), self)

    # -- values ----------------------------------------------------------------------------------------------------

    def placeholder(self, shape: tuple[int, ...], stride: tuple[int, ...] | None, dtype: Any, requires_grad: bool,
                    name: str) -> Any:
        """Return a tensor without values that stands for an input; None are the strides of a contiguous one."""
        tensor = empty_tensor(Spec(shape, dtype, stride), _device.META)
        tensor._device = tensor.untyped_storage().device = _device.CPU
        tensor._keys = CPU | (0 if stride is None else NONCONTIGUOUS)
        if requires_grad:
            tensor.requires_grad_()
        tensor._keys |= PIPELINE
        tensor._pending = self._never
        self.value(tensor, name)
        return tensor

    def name(self, wanted: str) -> str:
        """Return a name that no other value has."""
        wanted = "".join(c if c.isidentifier() or c.isdigit() else "_" for c in wanted).strip("_") or "x"
        wanted = wanted if wanted.isidentifier() else f"_{wanted}"
        number = self._names[wanted] = self._names.get(wanted, -1) + 1
        return f"{wanted}_{number}" if number else wanted

    def value(self, tensor: Any, name: str, requires_grad: bool | None = None) -> Value:
        """Return a new value for a tensor."""
        storage = tensor._storage or tensor.untyped_storage()
        found = Value(self.name(name), tuple(tensor.shape), tensor._strides(), tensor._offset, tensor._dtype,
                      storage, bool(tensor._keys & AUTOGRAD) if requires_grad is None else requires_grad)
        self.values[id(tensor)], self.kept[id(tensor)] = found, tensor
        self.memories.add(id(storage))
        return found

    def known(self, tensor: Any) -> Value:
        """Return the value of a tensor that an operator takes. Raises CannotCompile for one from elsewhere."""
        found = self.values.get(id(tensor))
        if found is None:
            storage = tensor._storage
            if type(tensor) is not Tensor or tensor._keys & ~(RECORDED | PIPELINE):
                raise CannotCompile(f"a {type(tensor).__name__} on {tensor.device} takes part")
            if storage is None or id(storage) not in self.memories:
                raise CannotCompile("a tensor takes part that the graph does not take or make")
            found = self._alias(tensor)
        return found

    def _alias(self, tensor: Any) -> Value:
        """Return the value of a tensor over known memory that no operator made: from ``data``, or saved by a node."""
        layout = tuple(tensor.shape), tensor._strides(), tensor._offset, tensor._dtype
        for key, other in self.kept.items():
            if other._storage is tensor._storage and layout == (
                    tuple(other.shape), other._strides(), other._offset, other._dtype):
                found = self.value(tensor, "detached", False)
                self.steps.append(Step(registry["detach"], (self.values[key],), [found], self.place(), True, False))
                return found
        raise CannotCompile("a tensor takes part that is another layout of known memory")

    def argument(self, value: Any) -> Any:
        """Return an operator's argument with values in place of tensors."""
        kind = value.__class__
        if kind in TENSOR_TYPES:
            return self.known(value)
        if kind is list or kind is tuple:
            return kind([self.argument(item) for item in value])
        return value

    # -- recording -------------------------------------------------------------------------------------------------

    def _make_recorder(self, op: Operator, keys: int) -> Callable[..., Any]:
        backend = keys & BACKENDS
        if op.name == "lift_fresh":
            return self._constant
        kernel = op.kernel(backend) if backend in (CPU, 0) else None
        composite = kernel is not None and kernel.composite and op.name not in registry.derivatives
        if keys & ~(RECORDED | PIPELINE) and not (composite and not keys & MATH_BITS):
            place = "the NPU" if backend & ~CPU else "arguments with keys of their own"
            raise CannotCompile(f"aten::{op.name} runs on {place}")
        if kernel is None or not kernel.makes_view or op.is_inplace:
            return super()._make_recorder(op, keys)

        def view(*args: Any) -> Any:
            taken = [self.argument(arg) for arg in args]
            result = kernel.origin(*args)
            self._note(op, tuple(taken), result, True)
            return result

        return key_handlers[AUTOGRAD](op, 0)(view) if keys & AUTOGRAD else view

    def _constant(self, tensor: Any) -> Any:
        if id(tensor) not in self.values:
            if tensor._keys & ~RECORDED:
                raise CannotCompile(f"a tensor is made on {tensor.device}")
            self.constants[self.value(tensor, "constant")] = tensor
        return tensor

    def _run_now(self, op: Operator, args: tuple[Any, ...]) -> Any:
        kernel = op.kernel(CPU)
        raise CannotCompile(
            f"aten::{op.name} gives the tensor passed as out= another shape" if op.is_out else
            f"aten::{op.name} changes the layout of a tensor in place" if kernel and kernel.makes_view else
            f"the shape of what aten::{op.name} returns depends on data")

    def _record(self, op: Operator, kernel: Kernel, backend: int, args: tuple[Any, ...]) -> Any:
        taken = tuple([self.argument(arg) for arg in args])
        grad = local.grad_enabled
        result = super()._record(op, kernel, backend, args)
        if any(tensor._device.type != "cpu" for tensor in tensors_of((result,))):
            raise CannotCompile(f"aten::{op.name} makes a tensor that is not on the CPU")
        if op.name not in registry.operators or kernel.registered:
            raise CannotCompile(f"aten::{op.name} has a kernel of the user's")
        if not tensors_of(args) and len(self.pending):  # a factory, whose default dtype and device are now fixed
            taken = tuple([self.argument(arg) for arg in self.pending[-1].args])
        self._note(op, taken, result, False, grad)
        return result

    def _note(self, op: Operator, taken: tuple[Any, ...], result: Any, makes_view: bool,
              grad: bool | None = None) -> None:
        is_list = result.__class__ in (list, tuple) or isinstance(result, tuple)
        made: list[Any] = []
        for tensor in result if is_list else (result,):
            if tensor is None or tensor.__class__ not in TENSOR_TYPES:
                made.append(None)
            elif id(tensor) in self.values and (op.is_inplace or op.is_out or op.writes):
                made.append(self.values[id(tensor)])
            else:
                made.append(self.value(tensor, op.packet.strip("_")))
        grad = local.grad_enabled if grad is None else grad
        self.steps.append(Step(op, taken, made, self.place(), makes_view, grad, is_list))

    def place(self) -> Site:
        """Return the user's line of the step, or of the node that runs in the backward pass."""
        return self.sites.get(local.task.node, NOWHERE) if local.task is not None else self.site

    def note_nodes(self, result: Any) -> None:
        """Note the user's line of the nodes of the autograd graph that made a result."""
        nodes = [tensor._grad_fn for tensor in tensors_of((result,)) if tensor._grad_fn is not None]
        while nodes:
            node = nodes.pop()
            if node not in self.sites:
                self.sites[node] = self.site
                nodes += [before for before, _ in node.next_functions if before is not None]

    # -- the end ---------------------------------------------------------------------------------------------------

    def flush(self) -> None:
        raise CannotCompile("an operator or its derivative reads values")

    @leaving(pipeline.Pipeline._leaving)
    def __exit__(self, *exc: object) -> None:
        set_local("pipeline", self._outer)


def version_of(tensor: Any) -> int:
    """Return how many writes into a tensor were counted."""
    cell = tensor._version_counter
    return 0 if cell is None else cell[0]
