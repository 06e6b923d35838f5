"""Recording a call: the operators of its first run (TorchDynamo's part), and then those of its derivative
(AOTAutograd's part, in ``joint.py``).

The function runs as it is written, in pipeline mode: operators are recorded with the shapes of their results, and run
when the function returns. Until then all tensors that it can reach are pending, so that reading their values is
noticed: it is a graph break.
"""
from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from .. import _device
from .._base.call_site import call_site
from .._base.interrupts import leaving
from .._dispatch import pipeline
from .._dispatch.dispatcher import TENSOR_TYPES, key_handlers, registry, set_local, tensors_of
from .._dispatch.keys import AUTOGRAD, BACKENDS, CPU, MATH_BITS, NONCONTIGUOUS, PIPELINE
from .._dispatch.local import local
from .._dispatch.registry import Kernel, Operator
from .._tensor import Tensor
from .breaks import GraphBreak, Unsupported, break_here, called_by_user
from .graph import Step, Value

#: The keys of tensors that are recorded.
RECORDED = CPU | AUTOGRAD | NONCONTIGUOUS


class Recording(pipeline.Pipeline):
    """A pipeline that also records operators as steps between values."""

    records_copies = True

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[Step] = []
        self.constants: dict[Value, Any] = {}
        self.reason: GraphBreak | None = None
        self.thread = threading.get_ident()
        self.values: dict[int, Value] = {}
        self.kept: dict[int, Any] = {}  #: the tensors, so that no id is reused
        self.memories: dict[int, tuple[Any, Value]] = {}  #: by storage: it, and the first value in it
        self._names: dict[str, int] = {}

    # -- values ----------------------------------------------------------------------------------------------------

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
        self.memories.setdefault(id(storage), (storage, found))
        return found

    def known(self, tensor: Any) -> Any:
        """Return the value of a tensor that an operator takes."""
        found = self.values.get(id(tensor))
        if found is None:
            if type(tensor) is not Tensor or tensor._keys & ~(RECORDED | PIPELINE):
                self.stop(f"a tensor of {type(tensor).__name__} on {tensor.device} with keys of its own takes part")
            storage = tensor._storage
            if storage is not None and id(storage) in self.memories:
                return self._alias(tensor, self.memories[id(storage)][1])
            self.stop("a tensor takes part that neither the arguments nor the program's variables lead to")
            found = self.value(tensor, "unknown")
        return found

    def _alias(self, tensor: Any, base: Value) -> Value:
        """Return the value of a tensor over known memory that no operator made: from ``data``, or saved by a node."""
        twin = next((self.values[key] for key, other in self.kept.items() if key in self.values
                     and other._storage is tensor._storage and other._offset == tensor._offset
                     and tuple(other.shape) == tuple(tensor.shape) and other._strides() == tensor._strides()
                     and other._dtype is tensor._dtype), None)
        if twin is None:
            self.stop("a tensor takes part that is another layout of known memory")
            return self.value(tensor, "alias")
        found = self.value(tensor, "detached", False)
        self.steps.append(Step(registry["detach"], (twin,), [found], self.place(), True, False))
        return found

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
            name = "the NPU, whose operators are in a queue already," if backend & ~CPU else "its arguments' keys"
            inner = super()._make_recorder(op, keys)

            def elsewhere(*args: Any) -> Any:
                self.stop(f"aten::{op.name} is not recorded because of {name}")
                return inner(*args)

            return elsewhere
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
                self.stop(f"a tensor is made on {tensor.device}")
            self.constants[self.value(tensor, "constant")] = tensor
        return tensor

    def _run_now(self, op: Operator, args: tuple[Any, ...]) -> Any:
        kernel = op.kernel(CPU)
        self.stop(f"aten::{op.name} gives the tensor passed as out= another shape" if op.is_out else
                  f"aten::{op.name} changes the layout of a tensor in place" if kernel and kernel.makes_view else
                  f"the shape of what aten::{op.name} returns depends on data")
        return super()._run_now(op, args)

    def _record(self, op: Operator, kernel: Kernel, backend: int, args: tuple[Any, ...]) -> Any:
        taken = tuple([self.argument(arg) for arg in args])
        grad = local.grad_enabled
        result = super()._record(op, kernel, backend, args)
        if any(tensor._device.type != "cpu" for tensor in tensors_of((result,))):
            self.stop(f"aten::{op.name} makes a tensor that is not on the CPU")
        if op.name not in registry.operators or kernel.registered:
            self.stop(f"aten::{op.name} has a kernel of the user's")
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

    def place(self) -> tuple[str, int, str]:
        """Return the user's line that makes the next step."""
        return call_site()

    # -- breaks ----------------------------------------------------------------------------------------------------

    def stop(self, reason: str | GraphBreak) -> None:
        """Note why the call is not one graph, unless a reason is known already."""
        if self.reason is None:
            self.reason = reason if isinstance(reason, GraphBreak) else break_here(reason)


class FirstCall(Recording):
    """The recording of a function's first call. Its operators run when the call ends."""

    def __init__(self, fullgraph: bool) -> None:
        super().__init__()
        self.fullgraph = fullgraph
        self.finishing = False
        self._given = pipeline.Entry(registry["detach"], (), CPU, _device.CPU, [], call_site(), self)
        self.interrupted = False  #: whether another thread read a tensor
        self.versions: dict[int, int] = {}  #: of the tensors that were given, before the call

    def give(self, tensor: Any, name: str) -> None:
        """Make a tensor that the function can reach pending, so that reading its values is noticed."""
        if self.reason is not None or id(tensor) in self.values:
            return
        keys = tensor._keys & ~PIPELINE if tensor._pending is self._given else tensor._keys  # if it shares memory
        if keys & ~RECORDED or type(tensor).__name__ not in ("Tensor", "Parameter", "Buffer"):
            self.stop(f"{name} is a {type(tensor).__name__} on {tensor.device}, which is run as it is written")
            return
        self.value(tensor, name)
        self.versions[id(tensor)] = version_of(tensor)
        self._mark_written(tensor, self._given)

    def flush(self) -> None:
        if not self.finishing:
            if threading.get_ident() != self.thread:
                self.interrupted = True
                self.stop("another thread read a tensor while the call was recorded")
            else:
                self.stop(f"{called_by_user()}() reads the values of a tensor")
        super().flush()
        self._settle()

    def stop(self, reason: str | GraphBreak) -> None:
        first = self.reason is None
        super().stop(reason)
        if first and self.fullgraph and threading.get_ident() == self.thread:
            raise unsupported(self.reason)

    def forget(self) -> None:
        """Release the tensors of the call."""
        self.kept, self.memories, self._recorders = {}, {}, {}

    def _settle(self) -> None:
        """Return the tensors to their former state."""
        marked = [reference() for reference in self._marked]
        for tensor in (*marked, *(tensor for storage in self._written for tensor in storage.aliases())):
            if tensor is not None and tensor._pending is self._given:
                tensor._keys &= ~PIPELINE
                tensor._pending = None
        self._marked.clear()
        self._written.clear()

    @leaving(pipeline.Pipeline._leaving)
    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        """Run the recorded operators, even if the function raised: its writes before that count."""
        set_local("pipeline", self._outer)
        self.finishing = True
        try:
            self.flush()
        except RuntimeError as error:
            if error.__cause__ is not None and kind is None:
                raise error.__cause__ from None
            if kind is None:
                raise


def version_of(tensor: Any) -> int:
    """Return how many writes into a tensor were counted."""
    cell = tensor._version_counter
    return 0 if cell is None else cell[0]


def unsupported(reason: Any) -> Unsupported:
    """Return PyTorch's error for a function that has to be one graph and is not."""
    return Unsupported(f"{reason.reason}\n  Explanation: with fullgraph=True, a graph break is an error.\n\n"
                       f"from user code:\n   File \"{reason.file}\", line {reason.line}")


def is_recording() -> bool:
    """Return whether this thread records a call."""
    return isinstance(local.pipeline, Recording)


def recording() -> Recording | None:
    """Return the recording of this thread, or None."""
    return local.pipeline if isinstance(local.pipeline, Recording) else None
