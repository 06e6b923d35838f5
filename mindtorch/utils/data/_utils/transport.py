"""Messages between a loader and its workers: a small head, and the bytes of tensors behind it.

What is large goes through memory without a name (``memfd_create``), whose descriptor is sent: it is gone with the last
process that holds it, however that ends. Elsewhere than on Linux, everything goes through the pipe.
"""
from __future__ import annotations

import errno
import io
import os
import pickle
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler, recv_handle, send_handle
from typing import Any

import numpy as np

from ...._creation.conversion import clone
from ...._storage import UntypedStorage
from ...._tensor import Tensor
from ...._utils import rebuild
from ....multiprocessing.reductions import reduce_tensor
from ....nn.parameter import Parameter

INLINE = 1 << 15  #: bytes of a message that the pipe holds without anybody reading from it
_ALIGNMENT = 64
_HAS_MEMORY = hasattr(os, "memfd_create")


class _Pickler(ForkingPickler):
    """Leaves the bytes of storages out of the pickle. A tensor that covers a small part of its storage goes alone."""

    def reducer_override(self, value: Any) -> Any:
        """Reduce tensors and storages of host memory."""
        if type(value) in (Tensor, Parameter) and value.device.type == "cpu":
            return _reduce_tensor(value)
        if type(value) is UntypedStorage and value._bytes is not None:
            return _storage_over, (pickle.PickleBuffer(value._bytes),)  # type: ignore[arg-type]
        return NotImplemented


def _reduce_tensor(tensor: Tensor) -> Any:
    if tensor.is_leaf and tensor.untyped_storage().nbytes() > 2 * tensor.nbytes:
        values = clone(tensor.detach())
        return rebuild, (type(tensor), values.untyped_storage(), values.dtype, tuple(values.shape),
                         tuple(values.stride()), 0, tensor.requires_grad)
    return reduce_tensor(tensor)


def _storage_over(buffer: Any) -> UntypedStorage:
    return UntypedStorage(data=np.asarray(memoryview(buffer)))


def send(connection: Connection, tag: Any, value: Any) -> None:
    """Send a message with a tag, which is small. Nothing of it is sent before it is whole in memory. Raises
    ConnectionError if the other side is gone, and OSError if there is no memory for it, or no descriptor.
    """
    stream, buffers = io.BytesIO(), []  # type: ignore[var-annotated]
    _Pickler(stream, 5, True, buffers.append).dump(value)
    parts = [stream.getbuffer(), *(buffer.raw() for buffer in buffers)]
    sizes = [part.nbytes for part in parts]
    shared = _HAS_MEMORY and sum(sizes) > INLINE
    if not shared:
        connection.send((tag, sizes, shared))
        for part in parts:
            connection.send_bytes(part)
        return
    memory = os.memfd_create("mindtorch_batch")
    try:
        for start, part in zip(_starts(sizes), parts, strict=True):
            _all_of(lambda rest, at: os.pwrite(memory, rest, at), part, start)
        connection.send((tag, sizes, shared))
        send_handle(connection, memory, None)
    finally:
        os.close(memory)


def receive(connection: Connection) -> tuple[Any, Callable[[], Any]]:
    """Return the next message: its tag, and a function that unpickles the value, once the connection is free again.
    Raises EOFError if the other side is gone, or OSError, and RuntimeError if this process has no descriptor left for
    the memory.
    """
    tag, sizes, shared = connection.recv()
    starts = _starts(sizes)
    data = memoryview(np.empty(starts[-1] + sizes[-1], np.uint8))  # type: ignore[arg-type]
    parts = [data[start:start + size] for start, size in zip(starts, sizes, strict=True)]
    if shared:
        try:
            memory = recv_handle(connection)
        except (RuntimeError, OSError) as error:  # the former where the system has thrown the descriptor away
            if isinstance(error, OSError) and error.errno not in (errno.EMFILE, errno.ENFILE):
                raise
            raise RuntimeError("Too many open files. Communication with the workers is no longer possible. Please "
                               "increase the limit using `ulimit -n` in the shell") from error
        try:
            _all_of(lambda rest, at: os.preadv(memory, [rest], at), data, 0)
        finally:
            os.close(memory)
    else:
        for part in parts:
            connection.recv_bytes_into(part)
    return tag, lambda: pickle.loads(parts[0], buffers=parts[1:])


def _starts(sizes: list[int]) -> list[int]:
    """Return the aligned start of each part of these sizes."""
    starts = [0]
    for size in sizes[:-1]:
        starts.append(starts[-1] + -(-size // _ALIGNMENT) * _ALIGNMENT)
    return starts


def _all_of(step: Callable[[memoryview, int], int], data: memoryview, start: int) -> None:
    """Read or write all of ``data``; a single system call may stop halfway."""
    done = 0
    while done < data.nbytes:
        count = step(data[done:], start + done)
        if not count:
            raise EOFError("a message is shorter than it says")
        done += count
