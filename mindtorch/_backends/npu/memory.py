"""Device memory under storages, and copies: host to device, back, and between devices.

Copies run in the order of the current stream. From and to pageable host memory they wait: CANN's synchronous copy knows
nothing of streams. With page-locked memory and ``non_blocking`` they are put into the stream.
"""
from __future__ import annotations

import ctypes
import weakref
from functools import partial
from typing import Any

import numpy as np

from ..._base.layout import Spec
from ..._device import device as Device
from ..._dtype import int8, int16, int32, int64
from ..._storage import UntypedStorage
from ..._tensor import Tensor, empty_tensor, from_array
from ..common.half import part_for
from . import activities, runtime
from .aclnn import launched
from .allocator import Block, allocator_of
from .constants import ACL_MEMCPY_DEVICE_TO_DEVICE, ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_HOST_TO_DEVICE
from .descriptors import data_types
from .errors import check
from .queues import Queue
from .runtime import current_queue, get_runtime

#: The signed integers by their bytes.
INTEGERS = {dtype.itemsize: dtype for dtype in (int8, int16, int32, int64)}

KIND_NAMES = {ACL_MEMCPY_DEVICE_TO_DEVICE: "device to device", ACL_MEMCPY_DEVICE_TO_HOST: "device to host",
              ACL_MEMCPY_HOST_TO_DEVICE: "host to device"}


class Memory:
    """An allocator's block while this object lives; ``writer`` is the stream and number of its last writer."""

    __slots__ = ("__weakref__", "block", "device", "nbytes", "writer")

    def __init__(self, nbytes: int, device: Device):
        self.device, self.nbytes = get_runtime(device.index or 0), nbytes
        self.block: Block | None = None
        self.writer: tuple[Queue, int] | None = None
        if nbytes:
            self.block = allocator_of(self.device).allocate(nbytes, current_queue(self.device.device_id), self)

    @property
    def lost(self) -> bool:
        """True if the device was released after this memory was allocated."""
        return self.block is not None and not self.device.initialized

    @property
    def address(self) -> int:
        """Where it lies, 0 if it has no bytes. Raises RuntimeError if the device was given back meanwhile."""
        if self.block is None:
            return 0
        if self.lost:
            raise RuntimeError(runtime.refusal or "the memory of this tensor went with its device: "
                               f"{self.device.name} was reset after the tensor was made")
        return self.block.ptr

    def written(self, queue: Queue, number: int) -> None:
        """Note the writer; as in PyTorch, only ``record_stream`` delays reuse for other streams' work."""
        self.writer = queue, number

    def record_stream(self, stream: Any) -> None:
        if self.block is not None:
            allocator_of(self.device).record_stream(self.block, stream.queue)

    def pending(self) -> tuple[Queue, list[str]] | None:
        """Return the stream and its operators up to the one that writes this memory, None if that has run."""
        if self.writer is None:
            return None
        queue, number = self.writer
        names = queue.pending(number)
        return (queue, names) if names else None

    def failure(self) -> str | None:
        """Why the operator that should have written this memory last did not, if that is known."""
        error = None if self.writer is None else self.writer[0].failure(self.writer[1])
        return None if error is None else str(error)

    def check(self) -> None:
        """Raise the AclError of the operator that should have written this memory last, even if it was reported."""
        if self.writer is not None and self.writer[0].failures:
            error = self.writer[0].failure(self.writer[1])
            if error is not None:
                raise error.again()

    def grown(self, nbytes: int) -> Memory:
        other = Memory(nbytes, self.device.device)
        kept = min(nbytes, self.nbytes)
        if nbytes > kept:
            queue = current_queue(self.device.device_id)
            restarts = queue.restarts
            code = runtime.acl.rt.memset_async(other.address, nbytes, 0, nbytes, queue.handle)
            check(code, "aclrtMemsetAsync", queue.runtime.name)
            other.written(queue, queue.note("memset", restarts))
        if kept:
            other.copy_from(self, kept)
        return other

    def copy_from(self, source: Memory | np.ndarray, nbytes: int) -> None:
        if nbytes and isinstance(source, Memory):
            between_devices(self, source, nbytes)
        elif nbytes:
            to_device(self, self.address, np.ascontiguousarray(source))

    def read(self, nbytes: int) -> np.ndarray:
        out = np.empty(nbytes, np.uint8)
        to_host(out, self.address, self.device.device_id)
        return out


def copy_in_stream(target: int, source: int, nbytes: int, kind: int, queue: Queue) -> int:
    """Put a copy into a stream (``aclrtMemcpyAsync``). Returns its number there."""
    restarts = queue.restarts
    with activities.timed("copy", KIND_NAMES[kind], queue):
        code = runtime.acl.rt.memcpy_async(target, nbytes, source, nbytes, kind, queue.handle)
    check(code, "aclrtMemcpyAsync", queue.runtime.name)
    number = queue.note(f"copy {KIND_NAMES[kind]}", restarts)
    if queue.runtime.blocking:
        queue.synchronize()
    return number


def _copy(array: np.ndarray, target: int, source: int, kind: int, queue: Queue, in_stream: bool) -> int | None:
    """Copy between a contiguous host array and a device in a stream; with ``in_stream``, return before it ends."""
    if in_stream:
        number = copy_in_stream(target, source, array.nbytes, kind, queue)
        queue.defer(partial(id, array))  # it lives as long
        return number
    queue.runtime.synchronize()
    with activities.host("copy", KIND_NAMES[kind], queue):
        code = runtime.acl.rt.memcpy(target, array.nbytes, source, array.nbytes, kind)
    check(code, "aclrtMemcpy", queue.runtime.name)
    return None


def to_device(memory: Memory, address: int, array: np.ndarray, in_stream: bool = False) -> None:
    """Copy a contiguous host array to a device address in ``memory``."""
    queue = current_queue(memory.device.device_id)
    number = _copy(array, address, array.ctypes.data, ACL_MEMCPY_HOST_TO_DEVICE, queue, in_stream)
    if number is not None:
        memory.written(queue, number)


def to_host(array: np.ndarray, address: int, device_id: int, in_stream: bool = False) -> None:
    """Fill a contiguous host array from a device address, after what is in the current stream."""
    if array.nbytes:
        queue = current_queue(device_id)
        _copy(array, array.ctypes.data, address, ACL_MEMCPY_DEVICE_TO_HOST, queue, in_stream)


def between_devices(target: Memory, source: Memory, nbytes: int) -> None:
    """Copy bytes between two pieces of device memory, in the target's stream; another device's stream is waited for."""
    queue = current_queue(target.device.device_id)
    if source.device is not target.device:
        current_queue(source.device.device_id).synchronize()
        queue.runtime.activate()
        queue.runtime.reach(source.device)
    number = copy_in_stream(target.address, source.address, nbytes, ACL_MEMCPY_DEVICE_TO_DEVICE, queue)
    target.written(queue, number)
    if source.device is not target.device:
        queue.synchronize()


def memory_of(tensor: Tensor) -> Memory:
    """Return the device memory under an NPU tensor."""
    memory = tensor.untyped_storage()._memory
    assert isinstance(memory, Memory)
    return memory


def write(target: Tensor, source: Tensor, non_blocking: bool) -> None:
    """``copy_`` into an NPU tensor from a tensor anywhere: broadcast and converted."""
    if not target.numel():
        return
    if source._device.type == "npu" and source._dtype in data_types and target._dtype in data_types:
        if source._device != target._device:
            source = _moved(source, target._device)
        _copy_on_device(target, source)
        return
    values = source._host("copy")
    with np.errstate(all="ignore"):
        own = part_for(values, target._dtype).astype(target._dtype.np, copy=False)
        array = np.ascontiguousarray(np.broadcast_to(own, tuple(target.shape)))
    # what was converted is pageable
    in_stream = non_blocking and source.is_pinned() and np.may_share_memory(array, values)
    if target.is_contiguous():
        address = memory_of(target).address + target._offset * target._dtype.itemsize
        to_device(memory_of(target), address, array, in_stream)
        return
    staged = empty_tensor(Spec(tuple(target.shape), target._dtype), target._device)
    to_device(memory_of(staged), memory_of(staged).address, array, in_stream)
    _copy_on_device(target, staged)


def _copy_on_device(target: Tensor, source: Tensor) -> None:
    """Copy within a device, other dtypes as integers of the same width, by way of the host if CANN refuses."""
    tensors: tuple[Tensor, ...] = target, source
    if target._dtype not in data_types:
        tensors = tuple(tensor._alias(tensor.shape, tensor._strides(), tensor._offset, INTEGERS[target._dtype.itemsize])
                        for tensor in tensors)
    if not launched([("aclnnInplaceCopy", tensors)], current_queue(target._device.index or 0), "copy_"):
        covers = target.is_contiguous() and target.numel() * target._dtype.itemsize == memory_of(target).nbytes
        content, elements = _on_host(target, reads=not covers)
        with np.errstate(all="ignore"):
            elements[...] = part_for(_on_host(source)[1], target._dtype).astype(target._dtype.np, copy=False)
        to_device(memory_of(target), memory_of(target).address, content)


def _on_host(tensor: Tensor, reads: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Return host memory like the tensor's storage (a copy of it if ``reads``), and the tensor's array in it."""
    content = np.empty(memory_of(tensor).nbytes, np.uint8)
    if reads:
        to_host(content, memory_of(tensor).address, tensor._device.index or 0)
        memory_of(tensor).check()
    itemsize = tensor._dtype.itemsize
    strides = [step * itemsize for step in tensor._strides()]
    return content, np.ndarray(tuple(tensor.shape), tensor._dtype.np, content, tensor._offset * itemsize, strides)


def _moved(source: Tensor, device: Device) -> Tensor:
    """Return a contiguous copy of an NPU tensor on another NPU."""
    dense = contiguous(source)
    out = empty_tensor(Spec(tuple(source.shape), source._dtype), device)
    between_devices(memory_of(out), memory_of(dense), dense.nbytes)
    return out


def contiguous(tensor: Tensor) -> Tensor:
    """Return this NPU tensor, or a copy if it does not cover its storage from the start without gaps."""
    if tensor.is_contiguous() and not tensor._offset:
        return tensor
    out = empty_tensor(Spec(tuple(tensor.shape), tensor._dtype), tensor._device)
    if out.numel():
        _copy_on_device(out, tensor)
    return out


def read(tensor: Tensor) -> np.ndarray:
    """Return the values of an NPU tensor as a fresh host array. Waits for the current stream."""
    out = np.empty(tuple(tensor.shape), tensor._dtype.np)
    dense = contiguous(tensor)
    to_host(out, memory_of(dense).address if out.size else 0, tensor._device.index or 0)
    if out.size:
        memory_of(dense).check()
    return out


def read_in_stream(tensor: Tensor) -> Tensor:
    """Return page-locked host memory that holds the values of an NPU tensor once the stream has got there."""
    dense = contiguous(tensor)
    out = pinned_empty(tuple(tensor.shape), tensor)
    assert out._array is not None
    to_host(out._array, memory_of(dense).address if out.numel() else 0, tensor._device.index or 0, in_stream=True)
    return out


# -- page-locked host memory -----------------------------------------------------------------------------------------

def _pinned_storage(nbytes: int) -> UntypedStorage:
    """Make a CPU storage in page-locked memory (``aclrtMallocHost``), given back when nothing refers to it any more."""
    device = get_runtime(runtime.thread.device)
    device.activate()
    pointer, code = runtime.acl.rt.malloc_host(max(nbytes, 1))
    check(code, "aclrtMallocHost", device.name)
    buffer = (ctypes.c_uint8 * max(nbytes, 1)).from_address(pointer)
    storage = UntypedStorage(data=np.ctypeslib.as_array(buffer)[:nbytes])
    # The buffer lives as long as any array that sees it: a pending copy holds one, and so may the user.
    storage._pinned = weakref.finalize(buffer, _free_host, pointer, device)
    storage._pinned.atexit = False  # the runtime is gone by then, and its memory with it
    storage._resizable = False
    return storage


def _free_host(pointer: int, device: runtime._Runtime) -> None:
    """Give page-locked memory back (``aclrtFreeHost``), unless it went with ACL, or is the parent process's."""
    if device.initialized:
        runtime.acl.rt.free_host(pointer)


def pinned_empty(shape: tuple[int, ...], like: Tensor) -> Tensor:
    """Return an uninitialised CPU tensor in page-locked memory, of the dtype of ``like``."""
    storage = _pinned_storage(int(np.prod(shape)) * like._dtype.itemsize)
    assert storage._bytes is not None
    out = from_array(storage._bytes.view(like._dtype.np).reshape(shape), like._dtype)
    out._storage, out._version_counter = storage, [0, storage]
    storage.add_alias(out)
    return out


def pin_memory(tensor: Tensor) -> Tensor:
    """Return a CPU tensor in page-locked memory, itself if it lies there; RuntimeError on other devices."""
    if tensor._device.type != "cpu":
        raise RuntimeError(f"cannot pin '{tensor._device}' tensor: only dense CPU tensors can be pinned")
    if tensor.is_pinned():
        return tensor
    out = pinned_empty(tuple(tensor.shape), tensor)
    np.copyto(out._array, tensor._host("pin_memory"))  # type: ignore[arg-type]
    return out
