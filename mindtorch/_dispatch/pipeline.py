"""Pipeline mode: record operators now, run them later.

In ``with torch.pipeline() as p:`` an operator runs only its meta kernel and returns pending tensors. Their shape,
dtype, strides and place in the graph are known; their values are not. ``p.flush()``, the end of the block,
``backward()`` and every access to data run the pending operators in order. Views of pending tensors are made at once:
they are metadata.
"""
from __future__ import annotations

import weakref
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from .. import _device
from .._base import forks
from .._base.about import about, kind_of, note, place, sketch_operator, tell
from .._base.backend import by_key
from .._base.call_site import call_site, place_of
from .._base.interrupts import Undo, leaving
from .dispatcher import TENSOR_TYPES, key_handlers, keys_of, resolve, set_local, tensors_of
from .keys import AUTOGRAD, BACKEND_OF_DEVICE, BACKENDS, MATH_BITS, META, NONCONTIGUOUS, PIPELINE
from .local import local
from .registry import Kernel, Operator, registry


@dataclass(eq=False)
class Entry:
    """One recorded call: the operator, its arguments, device and output storages, and the user's line."""

    op: Operator
    args: tuple[Any, ...]
    backend: int
    device: _device.device
    storages: list[Any]
    site: tuple[str, int, str]
    pipeline: Pipeline
    error: str | None = None
    shapes: list[tuple[int, ...]] = field(default_factory=list)

    def __str__(self) -> str:
        return f"aten::{self.op.name} -> {', '.join(map(str, self.shapes))} recorded at {place_of(*self.site[:2])}"


class Pipeline:
    """The queue of a block, as returned by ``torch.pipeline()``. Each thread has its own; blocks may be nested."""

    records_backward = False  #: whether backward passes are recorded instead of flushing first
    records_copies = False  #: whether ``to("cpu")`` of a CPU tensor stays pending

    def __init__(self) -> None:
        self.pending: list[Entry] = []
        self.flushed = 0  #: how many entries have run
        self._marked: list[weakref.ref[Any]] = []
        self._written: list[Any] = []  #: storages to be written; views made of them meanwhile are settled, too
        self._lock = forks.lock()
        self._recorders: dict[tuple[str, int], Callable[..., Any]] = {}
        self._outer: Pipeline | None = None

    def __len__(self) -> int:
        return len(self.pending)

    def __enter__(self) -> Pipeline:
        self._outer = local.pipeline
        set_local("pipeline", self)
        return self

    def _leaving(self) -> Undo:
        before = local.pipeline

        def undo(gone: Any) -> None:
            if local.pipeline is not before:
                self.__exit__(KeyboardInterrupt)
            set_local("pipeline", before)  # also if ``__exit__`` was interrupted halfway

        return undo

    @leaving(_leaving)
    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        set_local("pipeline", self._outer)
        if kind is None:
            self.flush()
        else:
            self._abandon("the block that recorded it was left by an exception", self.pending)
            self.pending = []

    def __repr__(self) -> str:
        return f"<torch.pipeline: {len(self.pending)} pending, {self.flushed} run>"

    # -- recording -------------------------------------------------------------------------------------------------

    def recorder(self, op: Operator, keys: int) -> Callable[..., Any]:
        """Return the function that records calls of ``op`` with this key set."""
        found = self._recorders.get((op.name, keys))
        if found is None:
            found = self._recorders[op.name, keys] = self._make_recorder(op, keys)
        return found

    def _make_recorder(self, op: Operator, keys: int) -> Callable[..., Any]:
        backend = keys & BACKENDS
        kernel = op.kernel(backend) if backend and not backend & (backend - 1) else None
        if kernel is not None and kernel.composite and op.name not in registry.derivatives:
            return kernel.fn
        if keys & MATH_BITS and (kernel is None or not kernel.makes_view):
            return lambda *args: self._run_now(op, args)
        if backend == META:  # nothing to run later
            return resolve(op, keys)
        if kernel is None or op.kernel(META) is None or (kernel.makes_view and op.is_inplace):
            return lambda *args: self._run_now(op, args)  # an in-place view: pending operators read the present layout
        if kernel.makes_view:
            inner: Callable[..., Any] = kernel.origin  # a fast path would need the array
        else:

            def inner(*args: Any) -> Any:
                return self._record(op, kernel, backend, args)

        return key_handlers[AUTOGRAD](op, 0)(inner) if keys & AUTOGRAD else inner

    def _run_now(self, op: Operator, args: tuple[Any, ...]) -> Any:
        """Flush, then run an operator whose output depends on data."""
        self.flush()
        set_local("pipeline", None)
        try:
            return op.call(*args)
        finally:
            set_local("pipeline", self)

    def _record(self, op: Operator, kernel: Kernel, backend: int, args: tuple[Any, ...]) -> Any:
        for tensor in tensors_of(args):
            if tensor._keys & PIPELINE and tensor._pending.error is not None:
                tensor._wait()
        meta = op.kernel(META)
        assert meta is not None
        twins = [_as_meta(arg) for arg in args]
        local.pipeline = None  # a meta kernel may call operators
        try:
            result = meta.fn(*twins)
        except RuntimeError as error:
            if not isinstance(error, NotImplementedError) and kind_of(error) != "meta data":
                raise
            local.pipeline = self  # the shape depends on data, or the result is a number
            return self._run_now(op, args)
        finally:
            local.pipeline = self
        if op.is_out and any(out.shape != twin.shape for out, twin in zip(
                tensors_of(args[-1:]), tensors_of(twins[-1:]), strict=True)):
            del twins, result  # they use the memory of ``out=``, which is resized at once
            return self._run_now(op, args)
        named = next((a for a in args if a.__class__ is _device.device), None)
        device = (named or next((t._device for t in tensors_of(args)), None)
                  or _device.resolve_device(by_key[backend].name))
        if device.type == "meta":  # the result is on meta too, and has no values to wait for
            return result
        if not tensors_of(args) and (at := op.schema.positions.get("dtype", len(args))) < len(args):
            args = (*args[:at], result._dtype, *args[at + 1:])  # a factory's: fix the present default dtype
        entry = Entry(op, args, backend, device, [], call_site(), self)
        written = _written(op, args)
        for tensor in tensors_of(written):
            self._mark_written(tensor, entry)
        if op.is_inplace:
            result = args[0]
            for tensor in tensors_of(written if op.writes_lists else written[:1]):
                tensor._bump()
        elif op.is_out:
            result = args[-1]
            for tensor in tensors_of(written):
                tensor._bump()
        else:
            for tensor in tensors_of((result,)):
                storage = tensor.untyped_storage()
                storage.device = tensor._device = device
                tensor._keys = BACKEND_OF_DEVICE[device.type] | PIPELINE | tensor._keys & NONCONTIGUOUS
                tensor._pending = entry
                entry.storages.append(storage)
                entry.shapes.append(tuple(tensor.shape))
        self.pending.append(entry)
        return result

    def _mark_written(self, tensor: Any, entry: Entry) -> None:
        """Mark a tensor that is to be written, and all aliases of its memory, as pending until the write has run."""
        entry.shapes.append(tuple(tensor.shape))
        storage = tensor.untyped_storage()
        self._written.append(storage)
        for other in [tensor, *storage.aliases()]:
            other._keys |= PIPELINE
            other._pending = entry
            self._marked.append(weakref.ref(other))

    # -- running ---------------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Run the pending operators in order.

        Raises:
            RuntimeError: if an operator fails. The message names it and the line that recorded it; the queue is
            cleared, and the tensors still pending become invalid.
        """
        if self._outer is not None:
            self._outer.flush()
        with self._lock:
            queue, self.pending = self.pending, []
            if not queue:
                return
            active, grad = local.pipeline, local.grad_enabled
            set_local("pipeline", None)
            local.grad_enabled = False
            try:
                for position, entry in enumerate(queue):
                    try:
                        self._run(entry)
                    except Exception as error:
                        where = f"recorded at {place(entry.site)}"
                        message = (f"pipeline: aten::{entry.op.name}, {where}, failed: "
                                   f"{type(error).__name__}: {error}")
                        failed = about(RuntimeError(message), "pipeline", queue=queue, position=position)
                        tell(failed, entry.site, f"{sketch_operator(entry.op, entry.args)}, {where}")
                        self._abandon(message, queue[position:])
                        raise failed from error
                    self.flushed += 1
            finally:
                made_since = [tensor for storage in self._written for tensor in storage.aliases()]
                for tensor in (*(reference() for reference in self._marked), *made_since):
                    if tensor is not None and (tensor._pending is None or tensor._pending.error is None):
                        _settle(tensor)
                self._marked.clear()
                self._written.clear()
                local.grad_enabled = grad
                set_local("pipeline", active)

    def _run(self, entry: Entry) -> None:
        op, args = entry.op, entry.args
        inputs = tensors_of(args)
        hidden = [(t, t._keys) for t in inputs]
        written = tensors_of(_written(op, args))  # recording has already counted their write
        counted = [(cell, cell[0]) for cell in (tensor._version_counter for tensor in written) if cell is not None]
        for tensor in inputs:
            tensor._keys &= ~(PIPELINE | AUTOGRAD)
        try:
            kernel = op.kernel(entry.backend)
            assert kernel is not None
            with nullcontext() if inputs else by_key[entry.backend].selected(entry.device):
                result = kernel.fn(*args)
        except Exception as error:
            note(error, op, args)
            raise
        finally:
            for tensor, keys in hidden:
                tensor._keys = keys
            for cell, version in counted:
                cell[0] = version
        entry.args = ()
        for storage, value in zip(entry.storages, tensors_of((result,)), strict=bool(entry.storages)):
            storage._take_over(value.untyped_storage())
            for tensor in storage.aliases():
                _settle(tensor)

    def _abandon(self, message: str, entries: list[Entry]) -> None:
        """Mark all tensors that wait for these entries as invalid."""
        for entry in entries:
            entry.error = message
            entry.args = ()


def _written(op: Operator, args: tuple[Any, ...]) -> list[Any]:
    """Return the arguments that a call writes."""
    return [args[i] for i in op.writes] or [args[-1]] * op.is_out


def _settle(tensor: Any) -> None:
    """Mark a tensor as having its values."""
    tensor._keys &= ~PIPELINE
    tensor._pending = None


def _as_meta(value: Any) -> Any:
    """Return a tensor's twin on the meta device, with the same layout."""
    if value.__class__ in TENSOR_TYPES:
        twin = value._alias(value.shape, value._strides(), value._offset)
        twin._shape = value.shape
        twin._array = twin._pending = None
        twin._device = _device.META
        twin._keys = META | twin._keys & NONCONTIGUOUS
        twin._version_counter = None
        return twin
    if value.__class__ is list or value.__class__ is tuple:  # a list of inputs, or ``out=``
        return value.__class__([_as_meta(item) for item in value])
    if value.__class__ is _device.device:
        return _device.META
    return value


def wait_for_inputs(op: Operator, keys: int) -> Callable[..., Any]:
    """Return the function for pending tensors outside a pipeline: it flushes their pipelines, then dispatches again."""

    def call(*args: Any) -> Any:
        for tensor in tensors_of(args):
            if tensor._keys & PIPELINE:
                flush_for(tensor)
        found = keys_of(args)
        return (op.table.get(found) or resolve(op, found))(*args)

    return call


def flush_for(tensor: Any) -> None:
    """Flush the pipeline in which a tensor is pending. Raises RuntimeError if the tensor is invalid."""
    entry = tensor._pending
    if entry is not None and entry.error is None:
        entry.pipeline.flush()
    if entry is not None and entry.error is not None:
        raise about(RuntimeError(f"this tensor is invalid, it never got its values: {entry.error}"),
                    "invalid tensor", self=tensor, reason=entry.error)


def pipeline() -> Pipeline:
    """Return a block that records operators and runs them later (compare ``torch.cuda.graph``)."""
    return Pipeline()
