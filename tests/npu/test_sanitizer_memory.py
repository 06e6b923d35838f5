"""The sanitizer finds memory that is used after its end, beyond its ends, or before it was written."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mindtorch._backends.npu import constants as c, simulator

from .program import Array, add, arguments, array, empty, free, got, launch, phases, plan, rt, scale
from .sanitized import clean, found

pytestmark = pytest.mark.usefixtures("sanitized")


def test_an_operator_on_freed_memory() -> None:
    one, out = array([1, 2]), empty(2)
    free(one)
    add(one, out, out)
    assert simulator.reports()[0].kind == "use-after-free"
    assert simulator.reports()[0].operator == "aclnnAdd"
    assert "self" in simulator.reports()[0].message and "given back at" in simulator.reports()[0].message


def test_a_copy_from_freed_memory() -> None:
    one, host = array([1, 2]), np.zeros(2, "float32")
    free(one)
    code = rt.memcpy(host.ctypes.data, 8, one.address, 8, c.ACL_MEMCPY_DEVICE_TO_HOST)
    assert code == c.ACL_ERROR_RT_PARAM_INVALID
    found("use-after-free", "memcpy", "given back at")


def test_memory_that_is_freed_twice() -> None:
    one = array([1, 2])
    free(one)
    assert rt.free(one.address) == c.ACL_ERROR_RT_PARAM_INVALID
    found("use-after-free", "free", "given back at")


def test_a_freed_workspace() -> None:
    one, out = array(np.eye(2)), empty(2, 2)
    with arguments("aclnnMatmul", (one, one, out, 0)) as given:
        code, size, executor = plan("aclnnMatmul", given)
        assert code == 0
        workspace = got(rt.malloc(size, 0))
        rt.free(workspace)
        phases("aclnnMatmul")[1](workspace, size, executor, 0)
    found("use-after-free", "aclnnMatmul", "workspace")


@pytest.mark.parametrize(
    ("shape", "stride", "offset"), [((9,), (1,), 0), ((4,), (1,), 5), ((2, 2), (7, 1), 0), ((2,), (1,), -1)]
)
def test_a_view_that_reaches_beyond_its_storage(shape: tuple[int, ...], stride: tuple[int, ...], offset: int) -> None:
    one, out = array(np.ones(8)), empty(*shape)
    launch("aclnnAdds", one.view(shape, stride, offset), 1, 1, out)
    found("out-of-bounds", "aclnnAdds", "self reaches from byte")


def test_a_descriptor_that_promises_more_than_is_allocated() -> None:
    one = array(np.ones(8))
    longer = Array(one.address, (100,), one.dtype, (1,), 0, 100)
    launch("aclnnInplaceFillScalar", longer, 1)
    found("out-of-bounds", "aclnnInplaceFillScalar", "400 bytes in a block of 32")


def test_a_view_that_reaches_beyond_its_storage_into_the_rest_of_the_block() -> None:
    """Blocks of a caching allocator hold many storages: it is the descriptor that knows which one is meant."""
    whole = array(np.ones(64))
    storage = Array(whole.address + 32, (8,), whole.dtype, (1,), 0, 8)
    scale(storage, 2, storage)
    clean()
    scale(storage.view((9,), (1,)), 2, empty(9))
    found("out-of-bounds", "aclnnMuls", "a storage of 32 bytes in a block of 256")


def test_a_copy_that_is_longer_than_its_block() -> None:
    one, host = empty(8), np.zeros(9, "float32")
    assert rt.memcpy(one.address, 36, host.ctypes.data, 36, c.ACL_MEMCPY_HOST_TO_DEVICE) == c.ACL_ERROR_RT_PARAM_INVALID
    found("out-of-bounds", "memcpy", "in a block of 32 bytes")


def test_memory_of_another_device() -> None:
    one, out = array([1, 2]), empty(2)
    rt.set_device(1)
    stream = got(rt.create_stream())
    add(one, one, out, stream)
    assert rt.synchronize_stream(stream) == c.ACL_ERROR_RT_AICORE_EXCEPTION
    assert {(report.kind, report.operator) for report in simulator.reports()} == {("out-of-bounds", "aclnnAdd")}
    simulator.clear_reports()
    assert rt.device_enable_peer_access(0, 0) == 0
    add(one, one, out, stream)
    assert rt.synchronize_stream(stream) == 0
    clean()


def test_an_operator_that_reads_what_nothing_has_written() -> None:
    one, out = empty(8), empty(8)
    scale(one, 2, out)
    found("uninitialised-read", "aclnnMuls", "self")


def test_a_part_that_nothing_has_written() -> None:
    one, out = empty(4, 4), empty(4)
    launch("aclnnInplaceFillScalar", one.view((4, 3), (4, 1)), 1)
    launch("aclnnReduceSum", one.view((4, 3), (4, 1)), (1,), False, c.ACL_FLOAT, out)
    clean()
    scale(one.view((4,), (4,), 3), 2, out)
    found("uninitialised-read", "aclnnMuls", "self")


def test_a_copy_to_the_host_of_what_nothing_has_written() -> None:
    empty(4).read()
    found("uninitialised-read", "aclrtMemcpy")


def test_a_copy_on_the_device_carries_along_what_is_written() -> None:
    one, other, out = empty(8), empty(8), empty(4)
    launch("aclnnInplaceZero", one.view((4,), (1,)))
    assert rt.memcpy_async(other.address, 32, one.address, 32, c.ACL_MEMCPY_DEVICE_TO_DEVICE, 0) == 0
    scale(other.view((4,), (1,)), 2, out)
    clean()
    scale(other.view((4,), (1,), 4), 2, out)
    found("uninitialised-read", "aclnnMuls")


def test_memory_that_is_allocated_again_is_unwritten_again() -> None:
    one = array(np.ones(8))
    free(one)
    again = empty(8)
    assert again.address == one.address
    scale(again, 2, again)
    found("uninitialised-read", "aclnnMuls")


@pytest.mark.parametrize(("operator", "arguments"), [
    ("aclnnInplaceMaskedFillScalar", lambda mask, index, source: (mask, 3)),
    ("aclnnInplaceMaskedFillTensor", lambda mask, index, source: (mask, array(3))),
    ("aclnnInplaceMaskedScatter", lambda mask, index, source: (mask, source)),
    ("aclnnInplaceIndexCopy", lambda mask, index, source: (0, index, source)),
    ("aclnnInplaceScatter", lambda mask, index, source: (0, index, source, 0)),
    ("aclnnInplaceScatterValue", lambda mask, index, source: (0, index, 3, 0)),
    ("aclnnInplacePut", lambda mask, index, source: (index, source, False)),
    ("aclnnIndexPutImpl", lambda mask, index, source: ([index], source, False, False)),
])
def test_writing_a_part_reads_nothing(operator: str, arguments: Callable[..., tuple[Any, ...]]) -> None:
    one = empty(4)
    given = arguments(array([1, 0, 1, 0], "bool"), array([0, 2], "int64"), array([5, 6]))
    assert launch(operator, one, *given) == 0
    clean()
