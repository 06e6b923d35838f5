"""mindtorch's own tensors: its answers to what introspection asks. See ``library.Library``."""
from __future__ import annotations

import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from typing import Any

import numpy as np

from .._autograd.accumulate import AccumulateGrad
from .._autograd.anomaly import set_detect_anomaly
from .._autograd.derivative import OperatorNode
from .._autograd.function import BackwardCFunction
from .._autograd.node import Node
from .._autograd.saved import Saved, saved_as
from .._autograd.views import CopySlices
from .._base.interrupts import contextmanager
from .._dispatch.dispatcher import TENSOR_TYPES, registry
from .._dispatch.keys import AUTOGRAD, INFERENCE, MATH_BITS, META, PIPELINE, SPARSES, UNINITIALIZED
from .._dispatch.local import local
from .._dispatch.observers import ActivityObserver, DispatchEvent, Observer, TensorMeta, subscribed, subscribed_values
from .._dtype import FLOATING, DType
from .._storage import UntypedStorage
from .._tensor import Tensor
from .formulas import formulas_of
from .known import known_storage
from .layouts import layout_text
from .library import (
    BackwardPass, CallObserver, Kept, Layout, LiveStorage, ModuleObserver, NodeLook, Record, TrainingObserver,
    WriteObserver, called, hook_of,
)
from .nested import nested_layout
from .off_host import Pending, Source, sources
from .placed import part_of
from .pytorch.calls import observing_calls, observing_modules


class Native:
    """Reads the attributes of tensors and nodes, and makes nothing that they have not made yet."""

    def layout(self, tensor: Any) -> Layout:
        uninitialized = bool(tensor._keys & UNINITIALIZED)
        if tensor.is_nested:
            return nested_layout(tensor, tuple(tensor._values.shape), tensor._dtype, str(tensor._device), self.values)
        if tensor._keys & SPARSES:
            return Layout(tuple(tensor.shape), (), 0, tensor._dtype, str(tensor._device), without=layout_text(tensor))
        dtype = tensor._dtype
        if tensor.is_quantized:  # of which the values are fractions
            dtype = DType(dtype.name, FLOATING, dtype.itemsize, 0)
        return Layout((0,) if uninitialized else tuple(tensor.shape), tensor._strides(), tensor._offset, dtype,
                      str(tensor._device), not uninitialized)

    def owner(self, tensor: Any) -> Any:
        tensor = part_of(tensor)
        storage = known_storage(tensor)
        return tensor if storage is None else storage

    def aliases(self, tensor: Any, names: Mapping[int, str]) -> list[Any]:
        storage = known_storage(part_of(tensor))
        return [] if storage is None else storage.aliases()

    def seen_by(self, storage: Any, names: Mapping[int, str]) -> list[Any]:
        return storage.untyped().aliases()

    def storage_bytes(self, tensor: Any) -> int:
        tensor = part_of(tensor)
        storage = known_storage(tensor)
        return tensor.numel() * tensor._dtype.itemsize if storage is None else storage.nbytes()

    def is_shared(self, tensor: Any) -> bool:
        storage = known_storage(part_of(tensor))
        return storage is not None and storage.is_shared()

    def address(self, tensor: Any) -> int:
        tensor = part_of(tensor)
        array, storage = tensor._array, known_storage(tensor)
        if array is not None:
            return array.__array_interface__["data"][0] if array.size else 0
        start = 0 if storage is None else _start(storage)
        return start + tensor._offset * tensor._dtype.itemsize if start and tensor.numel() else 0

    def record(self, tensor: Any, length: int) -> Record:
        inference = bool(tensor._keys & INFERENCE)
        return Record(tensor.requires_grad, None if inference else tensor._version, tensor._base,
                      tuple(_history(tensor, length)), _hooks(tensor), inference)

    def grad(self, tensor: Any) -> Any:
        return tensor._grad

    # -- values --------------------------------------------------------------------------------------------------------

    def pending(self, tensor: Any) -> Pending | None:
        entry = tensor._pending
        if not tensor._keys & PIPELINE or entry is None:
            source = element_source(tensor)
            return None if source is None else source.pending(tensor)
        queue = entry.pipeline.pending
        before = queue[: queue.index(entry)] if entry in queue else ()
        file, line, _ = entry.site
        return Pending(entry.op.name, file, line, tuple(other.op.name for other in before), entry.error)

    def values(self, tensor: Any) -> np.ndarray | None:
        if tensor._keys & (PIPELINE | META | SPARSES):
            return None
        if tensor.is_quantized:
            tensor = tensor.dequantize()
        source = element_source(tensor)
        if source is None and tensor._keys & MATH_BITS:
            return tensor._host("values")
        return tensor._array if source is None else source.values(tensor)

    def sample(self, tensor: Any) -> np.ndarray | None:
        source = None if tensor._keys & (PIPELINE | META | SPARSES) else element_source(tensor)
        return self.values(tensor) if source is None else source.sample(tensor)

    def elements(self, tensor: Any, indices: Sequence[tuple[int, ...]]) -> list[Any] | None:
        source = None if tensor._keys & (PIPELINE | META) else element_source(tensor)
        if source is not None:
            return source.elements(tensor, list(indices))
        values = self.values(tensor)
        return None if values is None else [values[index].item() for index in indices]

    def is_near(self, tensor: Any) -> bool:
        return element_source(tensor) is None

    # -- the graph -----------------------------------------------------------------------------------------------------

    def root(self, tensor: Any) -> Any:
        node = tensor._grad_edge()[0]
        node.unfold()
        return node

    def node(self, node: Any) -> NodeLook:
        outputs, tables, variable = [output[:2] for output in node._outputs if output], [], None
        if isinstance(node, AccumulateGrad):
            variable = node.variable
            outputs = [(self.layout(variable).shape, variable._dtype)]
            tables = [variable._hooks, variable._post_accumulate_hooks]
        if node._hooks is not None:
            tables += [node._hooks.pre, node._hooks.post, *node._hooks.tensor.values()]
        kept = _kept(node)
        return NodeLook(
            name=node.name(), edges=tuple(None if edge is None else (edge[0], edge[1]) for edge in node._edges),
            kept=None if kept is None else tuple(_saved(kept)), variable=variable,
            hooks=tuple(hook_of(hook) for table in tables if table for hook in table.values()),
            outputs=tuple((tuple(shape), dtype.name) for shape, dtype in outputs),
            order=-1 if variable is not None else node._order,
            formulas=tuple(formulas_of(node)) if isinstance(node, OperatorNode) else ())

    def links(self, node: Any) -> tuple[list[Any], Any]:
        return [edge[0] for edge in node._edges if edge is not None], (
            node.variable if isinstance(node, AccumulateGrad) else None)

    def given(self, event: DispatchEvent, args: Sequence[Any]) -> Mapping[str, Any] | None:
        names = ["input" if parameter.name == "self" else parameter.name
                 for parameter in registry[event.op].schema.parameters]
        return dict(zip(names, args, strict=False))

    def counted(self, tensor: Any) -> Any:
        counter = tensor._version_counter
        return None if counter is None else id(counter)

    def place(self, tensor: Any) -> Any:
        counted, look = self.counted(tensor), self.layout(tensor)
        return None if counted is None else (counted, look.shape, look.stride, look.offset)

    def output_number(self, tensor: Any) -> int:
        return tensor._output_nr

    # -- the whole library ---------------------------------------------------------------------------------------------

    def storages(self, objects: Iterable[Any]) -> list[LiveStorage]:
        found: dict[int, LiveStorage] = {}
        for item in objects:
            is_tensor = type(item) in TENSOR_TYPES
            owner: Any = self.owner(item) if is_tensor else item if type(item) is UntypedStorage else None
            if owner is None:
                continue
            # a tensor and its twin that a graph keeps share a version counter before they have a storage
            shared = owner if owner.__class__ is UntypedStorage else owner._version_counter or owner
            if id(shared) not in found:
                found[id(shared)] = self._live(owner)
            if is_tensor:
                found[id(shared)].tensors.append(item)
        return list(found.values())

    def _live(self, owner: Any) -> LiveStorage:
        if owner.__class__ is UntypedStorage:
            return LiveStorage(str(owner.device), _start(owner), owner.nbytes(), [])
        return LiveStorage(str(owner._device), self.address(owner), self.storage_bytes(owner), [])

    @contextmanager
    def training(self, observer: TrainingObserver) -> Iterator[None]:
        from ..nn import _hooks as module_hooks  # what trains has loaded both; a card does without
        from ..optim import optimizer as optimizer_hooks

        with ExitStack() as block:
            for handle in (module_hooks.register_module_forward_pre_hook(partial(called, self, observer)),
                           optimizer_hooks.register_optimizer_step_pre_hook(observer.before_step),
                           optimizer_hooks.register_optimizer_step_post_hook(observer.after_step)):
                block.callback(handle.remove)
            block.enter_context(set_detect_anomaly(True, check_nan=False))
            block.enter_context(subscribed_values(partial(observer.operator, self)))
            yield

    def calls(self, observer: CallObserver) -> AbstractContextManager[None]:
        from ..nn import _hooks as module_hooks
        from ..overrides import TorchFunctionMode

        return observing_calls(TorchFunctionMode, module_hooks, observer)

    def modules(self, observer: ModuleObserver) -> AbstractContextManager[None]:
        from ..nn import _hooks as module_hooks

        return observing_modules(module_hooks, observer)

    def backward_pass(self) -> BackwardPass | None:
        task = local.task
        return None if task is None else BackwardPass(task, task.node, lambda: [node for _, node, _ in task._links])

    def is_grad_enabled(self) -> bool:
        return local.grad_enabled

    def drops(self, packet: str, args: Sequence[Any]) -> bool:
        return packet in ("dropout", "feature_dropout") and len(args) > 2 and bool(args[2])

    def observing(self, observer: Observer, activities: ActivityObserver | None) -> AbstractContextManager[Any]:
        return subscribed(observer, activities)

    def watching_writes(self, observer: WriteObserver) -> AbstractContextManager[Any]:
        return subscribed(lambda event: observer(event, _written_by(event)))


def element_source(tensor: Any) -> Source | None:
    """Return how to look at a tensor's values; None if NumPy can read them where they are."""
    kind = tensor._device.type
    if kind == "npu" and kind not in sources:
        from .npu import NpuSource  # loads the device's runtime, which a program on the CPU does without

        sources[kind] = NpuSource()
    return sources.get(kind)


def _history(tensor: Any, length: int) -> Iterator[Any]:
    node, base = tensor._grad_fn, tensor._base
    if (base is not None and base._keys & AUTOGRAD and tensor._creation_meta is None and tensor._view_func is None
            and tensor._attr_version != tensor._version_counter[0]):
        # It was written through its base, so asking for grad_fn makes this node.
        yield "AsStridedBackward0"
        node, length = base._grad_fn, length - 1
    while node is not None and length:
        yield node.variable if isinstance(node, AccumulateGrad) else node.name()
        node, length = next((edge[0] for edge in node._edges if edge is not None), None), length - 1


def _hooks(tensor: Any) -> int:
    inner = None if tensor._grad_fn is None else tensor._grad_fn._hooks
    of_node = None if inner is None else inner.tensor.get(tensor._output_nr)
    return sum(len(hooks) for hooks in (tensor._hooks, tensor._post_accumulate_hooks, of_node) if hooks)


def _kept(node: Node) -> list[tuple[str, Any]] | None:
    """Return a node's saved values by name, or None if they were freed."""
    if isinstance(node, CopySlices):
        return None if node.inner is None else _kept(node.inner)
    if isinstance(node, BackwardCFunction):
        return None if node._freed else [("saved_tensors", list(node._saved))]
    if isinstance(node, OperatorNode):
        return None if node.saved is None else list(zip(node.plan.names, node.saved, strict=True))
    return []


def _saved(kept: list[tuple[str, Any]]) -> Iterator[Kept]:
    for name, value in kept:
        if isinstance(value, list):
            yield from _saved([(f"{name}[{i}]", item) for i, item in enumerate(value)])
        else:
            yield _saved_value(name, value)


def _saved_value(name: str, value: Any) -> Kept:
    if isinstance(value, Tensor):
        value = saved_as(value)
    if not isinstance(value, Saved):
        return Kept(name, reprlib.repr(value))
    tensor = value.tensor
    if tensor is None:
        return Kept(name, "packed by a hook", is_tensor=True)
    version = 0 if tensor._version_counter is None else tensor._version_counter[0]
    return Kept(name, f"{tensor._dtype.name}[{', '.join(map(str, tensor.shape))}]", tensor, value.version,
                version != value.version, True)


def _start(storage: Any) -> int:
    """Return the address of a storage's first byte, or 0 without memory."""
    memory = storage._memory
    return 0 if (storage._bytes is None if memory is None else memory.lost) else storage.data_ptr()


def _written_by(event: DispatchEvent) -> list[tuple[Any, int]]:
    """Return the version counters that an operator advanced, with the resulting versions."""
    op = registry[event.op]
    pairs = zip(event.inputs, op.schema.parameters, strict=False)
    found = [(tensor.counter, tensor.version + 1) for given, parameter in pairs
             if parameter.writes and isinstance(given, tuple) for tensor in given]
    if op.is_inplace or op.is_out:
        found += [(tensor.counter, tensor.version) for tensor in event.outputs if isinstance(tensor, TensorMeta)]
    return [(counter, version) for counter, version in found if counter]
