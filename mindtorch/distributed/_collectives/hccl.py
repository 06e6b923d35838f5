"""Collectives of NPUs, by HCCL: they are tasks of the current stream, and the host does not wait for them.

The simulated devices of several processes are connected by MPI: a stream's worker gives its task to the engine. What
goes wrong there is an error of the stream: reading the result raises it.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..._backends.npu.constants import ACL_ERROR_RT_INTERNAL_ERROR, HCCL_DATA_TYPES
from ..._tensor import Tensor
from . import groups
from .engine import Steps, Work
from .errors import DistError
from .groups import ProcessGroup
from .headers import agree
from .reduce_op import ReduceOp

#: HcclReduceOp of a reduction; AVG is a sum that is divided.
OPS = {ReduceOp.SUM: 0, ReduceOp.AVG: 0, ReduceOp.PRODUCT: 1, ReduceOp.MAX: 2, ReduceOp.MIN: 3}
REDUCED = {"int8", "int16", "int32", "int64", "float16", "float32", "bfloat16"}
FUNCTIONS = {"all_reduce": "HcclAllReduce", "broadcast": "HcclBroadcast", "all_gather": "HcclAllGather",
             "reduce_scatter": "HcclReduceScatter"}


class MpiCarrier:
    """What connects simulated devices of several processes (``simulator.hccl.Carrier``): MPI, on communicators of its
    own.
    """

    def __init__(self, group: ProcessGroup):
        self.group = group
        self.said = "", ""  #: the program's call that is being made, and its place

    def task(self, call: str) -> Callable[[np.ndarray[Any, Any]], Sequence[np.ndarray[Any, Any]]]:
        """Return the task that the stream will run, which exchanges this rank's bytes for all ranks' bytes."""
        return partial(self._meet, *self.said)

    def _meet(self, said: str, place: str, given: np.ndarray[Any, Any]) -> Sequence[np.ndarray[Any, Any]]:
        from ..._backends.npu.simulator.errors import Fault

        out = np.empty((self.group.size(), given.size), np.uint8)

        def steps(work: Work) -> Steps:
            from mpi4py import MPI

            yield from agree(self.group, work)
            yield [(None, self.group.comm.Iallgather([given, MPI.BYTE], [out, MPI.BYTE]))]

        work = Work(said, place, self.group.seconds, steps)
        try:
            if groups.engine is None:
                raise DistError(f"{said} at {place}: the process group was destroyed")
            groups.engine.submit(self.group, work).wait()
        except DistError as error:
            raise Fault(ACL_ERROR_RT_INTERNAL_ERROR, str(error)) from None
        return list(out)

    def send(self, given: np.ndarray[Any, Any], rank: int) -> None:
        raise NotImplementedError("torch.distributed sends messages itself")

    def receive(self, size: int, rank: int) -> np.ndarray[Any, Any]:
        raise NotImplementedError("torch.distributed receives messages itself")


class Communicator(NamedTuple):
    """A communicator of HCCL: its handle, and what carries its data."""

    handle: int
    carrier: MpiCarrier

    def release(self) -> None:
        """Give it back."""
        from ..._backends.npu import hccl

        hccl.function("HcclCommDestroy")(self.handle)


class StreamWork:
    """A collective in a stream (``torch.distributed.Work``): waiting for it means that later operators come later."""

    def __init__(self, call: str):
        from ...npu import Event, current_stream

        self.call, self._event = call, Event()
        self._event.record(current_stream())

    def __repr__(self) -> str:
        return f"<Work {self.call} in a stream: {'done' if self.is_completed() else 'running'}>"

    def is_completed(self) -> bool:
        """Return whether the stream has finished the work."""
        return bool(self._event.query())

    def wait(self, timeout: Any = None) -> bool:
        """Make the current stream wait for the work; the host continues."""
        from ...npu import current_stream

        current_stream().wait_event(self._event)
        return True

    def synchronize(self) -> None:
        """Wait until it is over."""
        self._event.synchronize()


def takes(name: str, group: ProcessGroup, give: Sequence[Tensor], take: Sequence[Tensor], op: ReduceOp | None) -> bool:
    """Return whether HCCL has this collective for these tensors; others are sent through the host."""
    tensors = [*give, *take]
    if name not in FUNCTIONS or group.devices() != {"npu"} or len(give) > 1 or len(take) != 1:
        return False
    dtype = str(take[0].dtype).removeprefix("torch.")
    return (dtype in (HCCL_DATA_TYPES if op is None else REDUCED) and (op is None or op in OPS)
            and all(tensor.is_contiguous() and tensor.numel() for tensor in tensors))


def begin(name: str, group: ProcessGroup, give: Sequence[Tensor], out: Tensor, op: ReduceOp | None, root: int | None,
          call: str, place: str, async_op: bool) -> Any:
    """Put a collective into the current stream; the work, if it is wanted."""
    from ..._backends.npu import hccl
    from ..._backends.npu.runtime import current_queue

    if group.communicator is None:
        group.communicator = _connect(group, hccl)
    comm, carrier = group.communicator.handle, group.communicator.carrier
    data = HCCL_DATA_TYPES[str(out.dtype).removeprefix("torch.")]
    send, count = (give[0] if give else out), min(tensor.numel() for tensor in (*give, out))
    arguments = [out.data_ptr(), count, data, root, comm] if name == "broadcast" else [
        send.data_ptr(), out.data_ptr(), count, data, *([] if op is None else [OPS[op]]), comm]
    carrier.said = call, place
    hccl.launch(FUNCTIONS[name], arguments, [send.detach()], [out.detach()], current_queue(out.device.index or 0))
    if op is ReduceOp.AVG:
        out.detach().div_(group.size())
    return StreamWork(call) if async_op else None


def _connect(group: ProcessGroup, hccl: Any) -> Communicator:
    """Build a communicator of the group's devices; all ranks do so with their first collective of NPUs."""
    if not hccl.is_simulated():
        raise RuntimeError("backend 'hccl' is for simulated NPUs; torch_npu is for those of an Ascend")
    from ..._backends.npu.simulator import hccl as simulated

    shadow = groups.shadow_of(group)
    carrier = MpiCarrier(shadow)
    info = np.frombuffer(hccl.root_info(), np.uint8).copy()

    def steps(work: Work) -> Steps:
        yield [(None, shadow.comm.Ibcast(info, 0))]

    assert groups.engine is not None
    groups.engine.submit(shadow, Work("HcclCommInitRootInfo()", "", group.seconds, steps)).wait()
    key = info.tobytes().rstrip(b"\0").decode()
    simulated.carriers[key] = lambda size, rank: carrier
    try:
        return Communicator(hccl.communicator(group.size(), info.tobytes(), group.rank()), carrier)
    finally:
        del simulated.carriers[key]
