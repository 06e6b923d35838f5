"""NPU tensors and streams, looked at without waiting for them."""
from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .._backends.npu import is_available, runtime
from .._backends.npu.allocator import allocator_of
from .._backends.npu.constants import ACL_MEMCPY_DEVICE_TO_HOST
from .._backends.npu.errors import AclError, check
from .._backends.npu.memory import Memory
from .._backends.npu.queues import Queue
from .._backends.npu.runtime import runtimes
from .._creation import ones
from .known import known_storage
from .off_host import Pending, Source

WHOLE = 1 << 20  #: bytes that are copied at once; of larger tensors only parts are
PARTS, PART = 256, 400  #: of a large tensor that its statistics are made of, and elements of each at most


def start_npu() -> None:
    """Start an NPU that is present and load its operators once, so that timings do not include that."""
    if not runtimes() and is_available():
        (ones(1, device="npu") + 1).cpu()


class NpuSource(Source):
    """Looks at NPU tensors: their stream is asked, not waited for, and their memory is copied once it is idle.

    The host knows that an operator failed only when a thread synchronises: until then, its output shows whatever bytes
    are in its memory, as it would to a program that copied them.
    """

    def pending(self, tensor: Any) -> Pending | None:
        """Return the operator that writes the tensor's memory and those queued before it, or None."""
        memory = _memory(tensor)
        if memory is None or memory.writer is None:
            return None
        failure, found = memory.failure(), memory.pending()
        if failure is not None:
            return Pending("", "", 0, (), failure, f"on {stream_name(memory.writer[0])}")
        if found is None:
            return None
        queue, names = found
        return Pending(names[-1], "", 0, tuple(names[:-1]), queue=f"on {stream_name(queue)}")

    def values(self, tensor: Any) -> np.ndarray | None:
        """Return a copy taken past all streams, None while a write is pending; AclError if it is refused."""
        memory = _idle_memory(tensor)
        if memory is None:
            return None
        return _copied(memory, tensor, tensor._offset, tuple(tensor.shape), tensor._strides())

    def sample(self, tensor: Any) -> np.ndarray | None:
        """Return the values, or ``PARTS`` runs along the shortest stride if they span more than ``WHOLE``."""
        memory = _idle_memory(tensor)
        layout = zip(tensor._strides(), tensor.shape, strict=True)
        dims = sorted(((step, n) for step, n in layout if step and n > 1), reverse=True)
        if memory is None or not dims or _reach(dims) * tensor._dtype.itemsize <= WHOLE:
            return self.values(tensor)
        *outer, (inner, length) = dims
        run = min(length, PART)
        count = prod(n for _, n in outer) * (length // run)
        found = []
        for place in np.unique(np.linspace(0, count - 1, min(PARTS, count)).astype(np.int64)).tolist():
            place, piece = divmod(place, length // run)
            start = tensor._offset + piece * run * inner
            for step, n in reversed(outer):
                place, i = divmod(place, n)
                start += i * step
            found.append(_copied(memory, tensor, start, (run,), (inner,)))
        return np.concatenate(found)

    def elements(self, tensor: Any, indices: list[tuple[int, ...]]) -> list[Any] | None:
        """Return the elements at some indices, from one copy or, for a large tensor, one by one."""
        memory, strides = _idle_memory(tensor), tensor._strides()
        dims = [(step, n) for step, n in zip(strides, tensor.shape, strict=True)]
        if memory is None or _reach(dims) * tensor._dtype.itemsize <= WHOLE:
            return super().elements(tensor, indices)
        places = (tensor._offset + sum(i * step for i, step in zip(index, strides, strict=True)) for index in indices)
        return [_copied(memory, tensor, place, (), ()).item() for place in places]


def _reach(dims: list[tuple[int, int]]) -> int:
    """Return how many elements of memory a tensor of these strides and sizes spans."""
    return 1 + sum((n - 1) * step for step, n in dims)


def _copied(memory: Memory, tensor: Any, start: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    """Return elements of the tensor's memory from ``start`` on, by a copy that no stream knows of (``aclrtMemcpy``)."""
    dtype = tensor._dtype.np
    if not prod(shape):
        return np.empty(shape, dtype)
    flat = np.empty(_reach(list(zip(strides, shape, strict=True))), dtype)
    address = memory.address + start * dtype.itemsize
    memory.device.activate()
    code = runtime.acl.rt.memcpy(flat.ctypes.data, flat.nbytes, address, flat.nbytes, ACL_MEMCPY_DEVICE_TO_HOST)
    check(code, "aclrtMemcpy", memory.device.name)
    steps = [step * dtype.itemsize for step in strides]
    return np.lib.stride_tricks.as_strided(flat, shape, steps, writeable=False)


def _idle_memory(tensor: Any) -> Memory | None:
    """Return the memory under a tensor, or None while a write to it is pending or has failed."""
    memory = _memory(tensor)
    return None if memory is None or memory.pending() is not None or memory.failure() is not None else memory


def _memory(tensor: Any) -> Memory | None:
    storage = known_storage(tensor)
    memory = None if storage is None else storage._memory
    return memory if isinstance(memory, Memory) and memory.device.initialized else None


def stream_name(queue: Queue) -> str:
    """Return the name of a stream in pictures, such as ``npu:0 stream 1``."""
    return f"{queue.runtime.name} stream {queue.number}"


def settle() -> AclError | None:
    """Wait for the streams whose operators' times are still to be read, or that memory waits for, and free that memory.

    Returns:
        What had failed first in one of them.
    """
    failed: AclError | None = None
    for device in runtimes():
        allocator_of(device).segments()  # which takes in what was given back
        for queue in list(device.queues):
            if queue.marks or queue.deferred_frees():
                try:
                    queue.synchronize()
                except AclError as error:
                    failed = failed or error
        allocator_of(device).statistics()  # which looks for memory that several streams have done with
    return failed
