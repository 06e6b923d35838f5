"""The sanitizer finds handles that are used after their end or never destroyed, and pointers to the wrong side."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from mindtorch._backends.npu import constants as c, simulator

from .program import Array, acl, arguments, array, c_function, empty, got, phases, plan, rt, scale
from .sanitized import clean, found

pytestmark = pytest.mark.usefixtures("sanitized")


def test_a_descriptor_that_is_used_after_its_end() -> None:
    one = array([1, 2])
    handle, out = one.handle(), one.handle()
    c_function("aclDestroyTensor")(handle)
    assert plan("aclnnRelu", [handle, out])[0] == c.ACLNN_ERR_PARAM_INVALID
    found("destroyed-handle", "aclnnRelu", "self")


def test_a_descriptor_that_is_destroyed_between_the_phases() -> None:
    one = array([1, 2])
    with arguments("aclnnRelu", (one, one)) as given:
        _, size, executor = plan("aclnnRelu", given)
    assert size == 0
    assert phases("aclnnRelu")[1](None, 0, executor, 0) == 0
    kinds = {(report.kind, report.operator) for report in simulator.reports()}
    assert kinds == {("destroyed-handle", "aclnnRelu")}


def test_a_descriptor_that_is_told_another_address_between_the_phases() -> None:
    one, other = array([1, 2]), array([3, 4])
    with arguments("aclnnRelu", (one, one)) as given:
        _, _, executor = plan("aclnnRelu", given)
        assert c_function("aclSetRawTensorAddr")(given[0], other.address) == 0
        assert phases("aclnnRelu")[1](None, 0, executor, 0) == 0
    found("destroyed-handle", "aclnnRelu", "self was given another address")


def test_an_executor_that_is_used_twice() -> None:
    one = array([1, 2])
    with arguments("aclnnRelu", (one, one)) as given:
        _, _, executor = plan("aclnnRelu", given)
        phases("aclnnRelu")[1](None, 0, executor, 0)
        phases("aclnnRelu")[1](None, 0, executor, 0)
    found("destroyed-handle", "aclnnRelu", "aclOpExecutor")


@pytest.mark.parametrize("call", ["destroy_stream", "destroy_event"])
def test_a_stream_or_event_that_is_destroyed_twice(call: str) -> None:
    handle = got(rt.create_stream() if call == "destroy_stream" else rt.create_event())
    assert getattr(rt, call)(handle) == 0
    assert getattr(rt, call)(handle) == c.ACL_ERROR_RT_INVALID_HANDLE
    found("destroyed-handle", call)


def test_a_descriptor_that_is_never_destroyed() -> None:
    array([1, 2]).handle()
    simulator.check()
    found("leaked-handle", "aclTensor")
    simulator.check()
    assert len(simulator.reports()) == 1


def test_an_executor_that_neither_runs_nor_is_destroyed() -> None:
    one = array([1, 2])
    with arguments("aclnnRelu", (one, one)) as given:
        plan("aclnnRelu", given)
    simulator.check()
    found("leaked-handle", "aclnnRelu", "aclOpExecutor")


@pytest.mark.parametrize(("make", "name"), [(rt.create_stream, "aclrtStream"), (rt.create_event, "aclrtEvent")])
def test_what_is_left_at_the_end(make: Callable[[], tuple[int, int]], name: str) -> None:
    got(make())
    clean()  # they may live on until the end
    acl.finalize()
    found("leaked-handle", name)


def test_an_operator_on_host_memory() -> None:
    host, out = np.ones(2, "float32"), empty(2)
    mistaken = Array(host.ctypes.data, (2,), host.dtype, (1,), 0, 2)
    scale(mistaken, 2, out)
    found("host-pointer", "aclnnMuls", "self")
    assert rt.synchronize_stream(0) == c.ACL_ERROR_RT_AICORE_EXCEPTION


def test_a_copy_to_the_wrong_side() -> None:
    host, device = np.ones(2, "float32"), array([1, 2])
    assert (
        rt.memcpy(host.ctypes.data, 8, device.address, 8, c.ACL_MEMCPY_DEVICE_TO_DEVICE) == c.ACL_ERROR_RT_PARAM_INVALID
    )
    found("host-pointer", "memcpy", "is host memory where device memory belongs")
    simulator.clear_reports()
    assert rt.memcpy(device.address, 8, device.address, 8, c.ACL_MEMCPY_HOST_TO_DEVICE) == c.ACL_ERROR_RT_PARAM_INVALID
    found("host-pointer", "memcpy", "is device memory where host memory belongs")


@pytest.mark.parametrize("call", ["memset", "free"])
def test_host_memory_that_is_filled_or_freed_as_the_devices(call: str) -> None:
    host = np.ones(2, "float32")
    arguments = (host.ctypes.data, 8, 0, 8) if call == "memset" else (host.ctypes.data,)
    assert getattr(rt, call)(*arguments) == c.ACL_ERROR_RT_PARAM_INVALID
    found("host-pointer", call)


def test_a_workspace_on_the_host() -> None:
    one, out, host = array(np.eye(2)), empty(2, 2), np.ones(4096)
    with arguments("aclnnMatmul", (one, one, out, 0)) as given:
        _, size, executor = plan("aclnnMatmul", given)
        assert phases("aclnnMatmul")[1](host.ctypes.data, size, executor, 0) == c.ACLNN_ERR_PARAM_INVALID
    found("host-pointer", "aclnnMatmul", "workspace")
