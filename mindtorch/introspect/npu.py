"""NPU tensors and streams, looked at without waiting for them."""
from __future__ import annotations

from typing import Any

import numpy as np

from .._backends.npu import runtime
from .._backends.npu.allocator import allocator_of
from .._backends.npu.constants import ACL_MEMCPY_DEVICE_TO_HOST
from .._backends.npu.memory import Memory
from .._backends.npu.runtime import AclError, Queue, check, runtimes
from .identity import known_storage
from .tensor import Pending, sources


class NpuSource:
    """How NPU tensors are looked at: their stream is asked, not waited for, and their memory is copied once it is idle.

    That an operator failed is known to the host only when somebody synchronises: until then, and afterwards, its output
    shows whatever bytes are in its memory.
    """

    def pending(self, tensor: Any) -> Pending | None:
        """The operator that writes the tensor's memory, and those before it in its stream, if it has not run."""
        memory = _memory(tensor)
        found = None if memory is None else memory.pending()
        if found is None:
            return None
        queue, names = found
        return Pending(names[-1], "", 0, tuple(names[:-1]), queue=f"on {stream_name(queue)}")

    def values(self, tensor: Any) -> np.ndarray | None:
        """A copy of the elements, taken past all streams; None while something that writes them is pending.

        Raises:
            AclError: if the device refuses the copy.
        """
        memory = _memory(tensor)
        if memory is None or memory.pending() is not None:
            return None
        shape, stride = tuple(tensor.shape), tensor._strides()
        dtype = tensor._dtype.np
        if not tensor.numel():
            return np.empty(shape, dtype)
        reach = 1 + sum((n - 1) * step for n, step in zip(shape, stride, strict=True))
        flat = np.empty(reach, dtype)
        address = memory.address + tensor._offset * dtype.itemsize
        memory.device.activate()
        code = runtime.acl.rt.memcpy(flat.ctypes.data, flat.nbytes, address, flat.nbytes, ACL_MEMCPY_DEVICE_TO_HOST)
        check(code, "aclrtMemcpy", memory.device.name)
        return np.lib.stride_tricks.as_strided(flat, shape, [step * dtype.itemsize for step in stride], writeable=False)


def _memory(tensor: Any) -> Memory | None:
    storage = known_storage(tensor)
    memory = None if storage is None else storage._memory
    return memory if isinstance(memory, Memory) and memory.device.initialized else None


def stream_name(queue: Queue) -> str:
    """What a stream is called in pictures: ``npu:0 stream 1``."""
    return f"{queue.runtime.name} stream {queue.number}"


def settle() -> AclError | None:
    """Wait for the streams whose operators' times are still to be read, or that memory waits for.

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
    return failed


sources["npu"] = NpuSource()
