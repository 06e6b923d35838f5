"""HCCL's C functions on simulated devices: two ranks of one process, each a thread with a device of its own."""
from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import mindtorch as torch
from mindtorch._backends.npu import provider
from mindtorch._backends.npu.constants import ACL_STREAM_STATUS_NOT_READY, HCCL_DATA_TYPES, HCCL_ROOT_INFO_BYTES
from mindtorch._backends.npu.runtime import get_runtime

pytestmark = pytest.mark.skipif(not provider.load().simulated, reason="this looks at the simulator")
P, U, N = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64
E = ctypes.c_int32
TAKES = {
    "HcclGetRootInfo": [P], "HcclCommInitRootInfo": [U, P, U, P], "HcclCommDestroy": [P], "HcclGetRankSize": [P, P],
    "HcclGetRankId": [P, P], "HcclAllReduce": [P, P, N, E, E, P, P], "HcclBroadcast": [P, N, E, U, P, P],
    "HcclAllGather": [P, P, N, E, P, P], "HcclReduceScatter": [P, P, N, E, E, P, P], "HcclBarrier": [P, P],
    "HcclSend": [P, N, E, U, P, P], "HcclRecv": [P, N, E, U, P, P],
}
SUM, PROD, MAX, MIN = range(4)


def call(name: str, *arguments: Any) -> int:
    address = provider.load().find(name)
    assert address is not None, name
    return ctypes.CFUNCTYPE(E, *TAKES[name])(address)(*arguments)


def code(tensor: torch.Tensor) -> int:
    return HCCL_DATA_TYPES[str(tensor.dtype).removeprefix("torch.")]


class Rank:
    """A rank: its communicator, its device and its stream."""

    def __init__(self, rank: int, info: Any):
        self.rank, self.device = rank, f"npu:{rank}"
        torch.npu.set_device(rank)
        get_runtime(rank).activate()
        self.stream = torch.npu.Stream(rank)
        comm = P()
        assert call("HcclCommInitRootInfo", 2, info, rank, ctypes.addressof(comm)) == 0
        self.comm = comm.value

    def tensor(self, values: Any, dtype: Any = torch.float32) -> torch.Tensor:
        out = torch.tensor(values, dtype=dtype).to(self.device)
        torch.npu.synchronize(self.rank)
        return out

    def done(self) -> None:
        self.stream.synchronize()


def ranks(program: Callable[[Rank], Any]) -> list[Any]:
    """Run a program in both ranks; what they return, or the error."""
    info = ctypes.create_string_buffer(HCCL_ROOT_INFO_BYTES)
    assert call("HcclGetRootInfo", info) == 0
    found: list[Any] = [None, None]

    def run(rank: int) -> None:
        try:
            member = Rank(rank, info)
            try:
                found[rank] = program(member)
            finally:
                assert call("HcclCommDestroy", member.comm) == 0
        except BaseException as error:
            found[rank] = error

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for error in found:
        if isinstance(error, AssertionError):
            raise error
    return found


def caught() -> set[str]:
    """The kinds of mistakes that the sanitizer reports, which are forgotten then."""
    kinds = {report.kind for report in torch.npu.simulator.reports()}
    torch.npu.simulator.clear_reports()
    return kinds


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    yield
    for device in range(2):
        torch.npu.synchronize(device)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "float16", "float32", "bfloat16"])
def test_all_reduce(dtype: str) -> None:
    def program(rank: Rank) -> list[list[float]]:
        x = rank.tensor([[1, 2, 3], [3, 1, 2]][rank.rank], getattr(torch, dtype))
        outs = []
        for op in (SUM, PROD, MAX, MIN):
            out = torch.empty_like(x)
            assert call("HcclAllReduce", x.data_ptr(), out.data_ptr(), 3, code(x), op, rank.comm,
                        rank.stream.npu_stream) == 0
            outs.append(out)
        rank.done()
        return [out.cpu().tolist() for out in outs]

    expected = [[4, 3, 5], [3, 2, 6], [3, 2, 3], [1, 1, 2]]
    assert ranks(program) == [expected, expected]


def test_the_others() -> None:
    def program(rank: Rank) -> list[list[float]]:
        stream, other = rank.stream.npu_stream, 1 - rank.rank
        size, number = U(), U()
        assert call("HcclGetRankSize", rank.comm, ctypes.addressof(size)) == 0 and size.value == 2
        assert call("HcclGetRankId", rank.comm, ctypes.addressof(number)) == 0 and number.value == rank.rank
        x = rank.tensor([10. * rank.rank, 1., 2., 3.])
        whole, part, same, got = (rank.tensor([0.] * count) for count in (8, 2, 4, 4))
        same.copy_(x)
        torch.npu.synchronize(rank.rank)
        assert call("HcclAllGather", x.data_ptr(), whole.data_ptr(), 4, code(x), rank.comm, stream) == 0
        assert call("HcclReduceScatter", x.data_ptr(), part.data_ptr(), 2, code(x), SUM, rank.comm, stream) == 0
        assert call("HcclBroadcast", same.data_ptr(), 4, code(x), 1, rank.comm, stream) == 0
        assert call("HcclBarrier", rank.comm, stream) == 0
        assert call("HcclSend", x.data_ptr(), 4, code(x), other, rank.comm, stream) == 0
        assert call("HcclRecv", got.data_ptr(), 4, code(x), other, rank.comm, stream) == 0
        rank.done()
        return [tensor.cpu().tolist() for tensor in (whole, part, same, got)]

    whole = [0., 1., 2., 3., 10., 1., 2., 3.]
    assert ranks(program) == [[whole, [10., 2.], [10., 1., 2., 3.], [10., 1., 2., 3.]],
                              [whole, [4., 6.], [10., 1., 2., 3.], [0., 1., 2., 3.]]]


def test_a_call_returns_before_the_others_have_made_it_and_the_stream_waits() -> None:
    came, may = threading.Event(), threading.Event()

    def program(rank: Rank) -> list[float]:
        x = rank.tensor([1. + rank.rank])
        if rank.rank == 1:
            came.wait(30)
        assert call("HcclAllReduce", x.data_ptr(), x.data_ptr(), 1, code(x), SUM, rank.comm,
                    rank.stream.npu_stream) == 0
        if rank.rank == 0:
            status, error = provider.load().acl.rt.stream_query(rank.stream.npu_stream)
            assert (status, error) == (ACL_STREAM_STATUS_NOT_READY, 0)
            came.set()
        rank.done()
        may.set()
        return x.cpu().tolist()

    assert ranks(program) == [[3.], [3.]]


def test_calls_that_do_not_match_are_errors_of_both_streams() -> None:
    def program(rank: Rank) -> str:
        x = rank.tensor([1., 2.])
        assert call("HcclAllReduce", x.data_ptr(), x.data_ptr(), 1 + rank.rank, code(x), SUM, rank.comm,
                    rank.stream.npu_stream) == 0
        with pytest.raises(torch.npu.AclError) as raised:
            rank.done()
        return str(raised.value)

    for said in ranks(program):
        assert "rank 0: HcclAllReduce(float32[1], op 0); rank 1: HcclAllReduce(float32[2], op 0)" in said


def test_what_is_refused_at_once() -> None:
    def program(rank: Rank) -> None:
        x, stream = rank.tensor([1.]), rank.stream.npu_stream
        host = np.zeros(4, np.float32)
        for expected, name, arguments in [
            (1, "HcclAllReduce", (host.ctypes.data, x.data_ptr(), 1, 4, SUM, rank.comm, stream)),
            (2, "HcclAllReduce", (None, x.data_ptr(), 1, 4, SUM, rank.comm, stream)),
            (5, "HcclAllReduce", (x.data_ptr(), x.data_ptr(), 1, 10, SUM, rank.comm, stream)),
            (5, "HcclAllReduce", (x.data_ptr(), x.data_ptr(), 1, 4, 7, rank.comm, stream)),
            (5, "HcclBroadcast", (x.data_ptr(), 1, 99, 0, rank.comm, stream)),
            (1, "HcclBroadcast", (x.data_ptr(), 1, 4, 2, rank.comm, stream)),
            (1, "HcclSend", (x.data_ptr(), 1, 4, rank.rank, rank.comm, stream)),
            (1, "HcclBarrier", (12345, stream)),
            (2, "HcclGetRootInfo", (None,)),
        ]:
            assert call(name, *arguments) == expected, (name, arguments)

    assert ranks(program) == [None, None]
    assert caught() == {"host-pointer"}


def test_a_rank_joins_once() -> None:
    info, comm = ctypes.create_string_buffer(HCCL_ROOT_INFO_BYTES), P()
    assert call("HcclGetRootInfo", info) == 0
    assert call("HcclCommInitRootInfo", 2, info, 2, ctypes.addressof(comm)) == 1
    assert call("HcclCommInitRootInfo", 2, info, 0, ctypes.addressof(comm)) == 0
    other = P()
    assert call("HcclCommInitRootInfo", 2, info, 0, ctypes.addressof(other)) == 1
    assert call("HcclCommDestroy", comm.value) == 0 and call("HcclCommDestroy", comm.value) == 1
    assert caught() == {"destroyed-handle"}
