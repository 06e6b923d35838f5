"""Tensors as MPI sees them: memory, a datatype, and how two values are reduced to one."""
from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._tensor import Tensor
from .reduce_op import ReduceOp

#: What a reduction is in MPI, and in NumPy for the dtypes that MPI cannot reduce.
REDUCTIONS = {
    ReduceOp.SUM: ("SUM", np.add), ReduceOp.AVG: ("SUM", np.add), ReduceOp.PRODUCT: ("PROD", np.multiply),
    ReduceOp.MIN: ("MIN", np.minimum), ReduceOp.MAX: ("MAX", np.maximum), ReduceOp.BAND: ("BAND", np.bitwise_and),
    ReduceOp.BOR: ("BOR", np.bitwise_or), ReduceOp.BXOR: ("BXOR", np.bitwise_xor),
}
#: Dtypes that MPI only moves, with the integers of equal size that stand for them.
CARRIED = {"bool": np.uint8, "float16": np.uint16, "bfloat16": np.uint16}


def carrier(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype as which MPI moves elements of this dtype."""
    return np.dtype(CARRIED.get(dtype.name, dtype))


@functools.cache
def datatype(dtype: np.dtype[Any]) -> Any:
    """Return the MPI datatype of elements."""
    from mpi4py import MPI  # optional, and only in processes of a group

    return MPI.Datatype.fromcode(carrier(dtype).char)


@functools.cache
def reduction(op: ReduceOp, dtype: np.dtype[Any]) -> Any:
    """Return the MPI operation that reduces elements. For dtypes that MPI only carries it calls NumPy."""
    from mpi4py import MPI

    name, function = REDUCTIONS[op]
    if dtype.name not in CARRIED:
        return getattr(MPI, name)

    def combine(left: Any, right: Any, datatype: Any) -> None:
        out = np.frombuffer(right, dtype)
        function(np.frombuffer(left, dtype), out, out=out)

    return MPI.Op.Create(combine, commute=True)


class Buffer:
    """The elements of tensors of one dtype, one after another.

    A contiguous tensor of the host is its own buffer: MPI reads and writes its memory. Several tensors, strided ones,
    and those of devices have their elements copied: before (``filled``), and by ``deliver`` after the call.
    """

    def __init__(self, tensors: Sequence[Tensor], filled: bool = True):
        self.tensors = [tensor.detach() for tensor in tensors]
        first = self.tensors[0]
        self.staged = len(tensors) > 1 or first.device.type != "cpu" or not first.is_contiguous()
        if not self.staged:
            self.array = first.numpy().reshape(-1)
            return
        hosts = [tensor.cpu().numpy().reshape(-1) for tensor in self.tensors] if filled else []
        self.array = (np.concatenate(hosts) if filled else
                      np.empty(sum(map(Tensor.numel, self.tensors)), first.new_empty(0, device="cpu").numpy().dtype))

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.array.dtype

    @property
    def nbytes(self) -> int:
        return self.array.nbytes

    def apart_from(self, other: Buffer) -> Buffer:
        """Return this buffer, or a copy if it shares memory with the other: MPI may not read the memory that it writes.
        """
        if np.may_share_memory(self.array, other.array):
            self.array, self.staged = self.array.copy(), True
        return self

    def message(self, counts: Sequence[int] | None = None) -> list[Any]:
        """Return the message for mpi4py: memory, datatype, and the number of elements for each rank if they differ."""
        memory = self.array.view(carrier(self.dtype))
        if counts is None:
            return [memory, datatype(self.dtype)]
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(int).tolist()
        return [memory, (list(counts), starts), datatype(self.dtype)]

    def deliver(self) -> None:
        """Give the tensors the elements that were received."""
        if self.staged:
            start = 0
            for tensor in self.tensors:
                part = self.array[start:start + tensor.numel()]
                tensor.copy_(_tensor_of(part, tensor))
                start += tensor.numel()


def _tensor_of(array: np.ndarray[Any, Any], like: Tensor) -> Tensor:
    host = like.new_empty(like.shape, device="cpu")
    host.numpy().reshape(-1)[...] = array
    return host
