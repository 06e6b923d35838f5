"""The simulator's interface: pyACL's call shapes and the headers' declarations, memory, contexts, copies, error
messages.
"""
from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from mindtorch._backends.npu import bindings, constants as c, simulator
from mindtorch._backends.npu.simulator import library
from mindtorch._backends.npu.simulator.executors import FUNCTIONS

from . import program
from .interface import ABI, PYACL, function_differences
from .program import Array, acl, array, empty, free, got, message, rt

CALLS = {name.removeprefix("acl."): shape for name, shape in PYACL["functions"].items()}

pytestmark = pytest.mark.usefixtures("simulated")


def function(name: str) -> Callable[..., Any]:
    return getattr(rt, name.removeprefix("rt.")) if name.startswith("rt.") else getattr(acl, name)


def in_thread(body: Callable[[], Any]) -> Any:
    """What a function returns in a thread of its own."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(body()))
    thread.start()
    thread.join()
    return results[0]


# -- call shapes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CALLS)
def test_a_call_takes_what_pyacl_takes(name: str) -> None:
    wanted = [part for part in CALLS[name]["args"].split(", ") if part]
    parameters = list(inspect.signature(function(name)).parameters.values())
    assert len(parameters) == len(wanted)
    for text, parameter in zip(wanted, parameters, strict=True):
        assert text.startswith("|") == (parameter.default is not inspect.Parameter.empty)


@pytest.mark.parametrize("name", [name for name in CALLS if name not in ("init", "finalize", "get_soc_name")])
def test_a_failing_call_returns_as_many_results_as_a_successful_one(name: str) -> None:
    simulator.faults.fail_next(name.removeprefix("rt."), code=c.ACL_ERROR_RT_INTERNAL_ERROR)
    parameters = inspect.signature(function(name)).parameters
    returned = function(name)(*(0 for _ in parameters))
    results = [part for part in CALLS[name]["returns"].split(", ") if part]
    codes = returned if isinstance(returned, tuple) else (returned,)
    assert len(codes) == len(results)
    assert codes[-1] == c.ACL_ERROR_RT_INTERNAL_ERROR


def test_nothing_is_exported_that_pyacl_does_not_have() -> None:
    ours = {f"rt.{name}" for name in vars(rt)} | set(vars(acl))
    assert ours - {"rt", "__name__", "rt.__name__"} == set(CALLS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_c_function_is_declared_as_in_the_headers(name: str) -> None:
    returns, takes = library.parse(FUNCTIONS[name][0])
    assert function_differences(name, returns, list(takes), ABI) == []


def test_every_row_of_the_table_has_its_two_functions() -> None:
    names = bindings.names()
    assert [name for name in names if not (simulator.find(name) and simulator.find(f"{name}GetWorkspaceSize"))] == []
    assert simulator.find("aclnnAdd") == simulator.find("aclnnAdd") != simulator.find("aclnnMul")


@pytest.mark.parametrize(
    "name", ["aclnnNoSuchOperator", "aclnnNoSuchOperatorGetWorkspaceSize", "aclnnAcquireSomething"]
)
def test_what_does_not_exist_is_not_found(name: str) -> None:
    assert simulator.find(name) is None


# -- start and end, devices, contexts --------------------------------------------------------------------------------


def test_acl_is_started_once_and_ended_once() -> None:
    assert acl.init() == c.ACL_ERROR_REPEAT_INITIALIZE
    assert acl.finalize() == 0
    assert acl.finalize() == c.ACL_ERROR_REPEAT_FINALIZE
    assert rt.set_device(0) == c.ACL_ERROR_UNINITIALIZE
    assert acl.init("") == 0


def test_the_soc_says_that_it_is_simulated() -> None:
    assert "simulated" in acl.get_soc_name()


def test_there_are_two_devices_or_as_many_as_asked_for() -> None:
    assert got(rt.get_device_count()) == 2
    assert rt.set_device(2) == c.ACL_ERROR_RT_INVALID_DEVICEID
    simulator.device_count(3)
    assert rt.set_device(2) == 0
    with pytest.raises(RuntimeError, match="in use"):
        simulator.device_count(1)
    with pytest.raises(ValueError, match="at least one"):
        simulator.device_count(0)


def test_a_thread_has_no_context_until_it_chooses_one() -> None:
    assert in_thread(rt.get_device) == (0, c.ACL_ERROR_RT_CONTEXT_NULL)
    assert in_thread(lambda: rt.malloc(64, 0)) == (0, c.ACL_ERROR_RT_CONTEXT_NULL)
    assert in_thread(lambda: (rt.set_device(1), rt.get_device())) == (0, (1, 0))
    assert got(rt.get_device()) == 0


def test_a_context_belongs_to_its_device() -> None:
    one = got(rt.create_context(1))
    assert got(rt.get_device()) == 1
    assert rt.set_device(0) == 0 and got(rt.get_device()) == 0
    assert rt.set_context(one) == 0 and got(rt.get_device()) == 1
    assert rt.destroy_context(one) == 0
    assert rt.get_device() == (0, c.ACL_ERROR_RT_CONTEXT_NULL)
    assert rt.set_context(one) == c.ACL_ERROR_RT_INVALID_HANDLE


def test_a_stream_is_used_in_a_context_of_its_device() -> None:
    stream = got(rt.create_stream())
    assert rt.set_device(1) == 0
    assert rt.synchronize_stream(stream) == c.ACL_ERROR_RT_STREAM_CONTEXT


def test_resetting_a_device_gives_everything_back() -> None:
    got(rt.create_stream())
    empty(1000)
    assert rt.reset_device(0) == 0
    assert simulator.live_handles() == {}
    assert simulator.live_bytes()["npu:0"] == 0
    assert rt.get_device() == (0, c.ACL_ERROR_RT_CONTEXT_NULL)


@pytest.mark.parametrize("call", ["destroy_stream", "stream_query", "destroy_event", "query_event", "set_context"])
def test_what_is_no_handle_is_refused(call: str) -> None:
    event, returned = got(rt.create_event()), getattr(rt, call)(0xBAD)
    assert c.ACL_ERROR_RT_INVALID_HANDLE in (returned if isinstance(returned, tuple) else (returned,))
    assert rt.destroy_stream(event) == c.ACL_ERROR_RT_INVALID_HANDLE
    assert "aclrtStream expected" in message()


# -- memory ----------------------------------------------------------------------------------------------------------


def test_blocks_are_aligned_and_do_not_touch() -> None:
    sizes = [1, 63, 64, 65, 1000, 1 << 20]
    blocks = [(got(rt.malloc(size, 0)), size) for size in sizes]
    assert all(address % 64 == 0 for address, _ in blocks)
    blocks.sort()
    assert all(address + size < following for (address, size), (following, _) in pairwise(blocks))


def test_memory_is_counted_and_limited() -> None:
    simulator.memory_limit(1 << 20)
    assert got(rt.get_mem_info(c.ACL_HBM_MEM)) == [1 << 20, 1 << 20]
    half = got(rt.malloc(1 << 19, 0))
    assert got(rt.get_mem_info(c.ACL_HBM_MEM)) == [1 << 19, 1 << 20]
    assert rt.malloc((1 << 19) + 1, 0) == (0, c.ACL_ERROR_RT_MEMORY_ALLOCATION)
    assert "out of device memory" in message()
    with pytest.raises(RuntimeError, match="in use"):
        simulator.memory_limit(1 << 30)
    assert rt.free(half) == 0
    assert rt.free(got(rt.malloc(1 << 20, 0))) == 0
    assert simulator.live_bytes() == {"npu:0": 0, "npu:1": 0, "host": 0}


def test_each_device_has_a_memory_of_its_own() -> None:
    simulator.memory_limit(1 << 20)
    got(rt.malloc(1 << 20, 0))
    assert rt.set_device(1) == 0
    got(rt.malloc(1 << 20, 0))
    assert simulator.live_bytes() == {"npu:0": 1 << 20, "npu:1": 1 << 20, "host": 0}


def test_free_pieces_grow_together_again() -> None:
    simulator.memory_limit(1 << 20)
    blocks = [got(rt.malloc(1 << 15, 0)) for _ in range(32)]
    assert rt.malloc(64, 0)[1] == c.ACL_ERROR_RT_MEMORY_ALLOCATION
    for block in blocks[::2] + blocks[1::2]:
        assert rt.free(block) == 0
    assert got(rt.malloc(1 << 20, 0)) == blocks[0]


def test_memory_is_freed_once_and_at_its_start() -> None:
    block = got(rt.malloc(256, 0))
    assert rt.free(block + 64) == c.ACL_ERROR_RT_PARAM_INVALID
    assert rt.free(block) == 0
    assert rt.free(block) == c.ACL_ERROR_RT_PARAM_INVALID
    assert rt.malloc(0, 0) == (0, c.ACL_ERROR_RT_PARAM_INVALID)


def test_pinned_memory_is_the_hosts() -> None:
    host = got(rt.malloc_host(100))
    assert simulator.live_bytes()["host"] == 100
    assert rt.memset(host, 100, 0, 100) == c.ACL_ERROR_RT_PARAM_INVALID
    assert rt.free_host(host) == 0
    assert rt.free_host(host) == c.ACL_ERROR_RT_PARAM_INVALID


# -- copies ----------------------------------------------------------------------------------------------------------


def test_copies_go_there_and_back() -> None:
    values = np.arange(100, dtype="int32")
    one, other = array(values, "int32"), empty(100, dtype="int32")
    assert rt.memcpy(other.address, 400, one.address, 400, c.ACL_MEMCPY_DEVICE_TO_DEVICE) == 0
    np.testing.assert_array_equal(other.read(), values)
    assert rt.memset(other.address + 4, 396, 0xFF, 8) == 0
    np.testing.assert_array_equal(other.read()[:4], [0, -1, -1, 3])


@pytest.mark.parametrize(
    ("to", "source", "kind"),
    [("host", "device", c.ACL_MEMCPY_HOST_TO_DEVICE), ("device", "host", c.ACL_MEMCPY_DEVICE_TO_HOST),
     ("device", "host", c.ACL_MEMCPY_DEVICE_TO_DEVICE), ("device", "device", c.ACL_MEMCPY_HOST_TO_DEVICE)],
)
def test_a_copy_must_go_the_way_that_it_says(to: str, source: str, kind: int) -> None:
    host = np.zeros(8, "float32")
    places = {"host": host.ctypes.data, "device": array(host).address}
    assert rt.memcpy(places[to], 32, places[source], 32, kind) == c.ACL_ERROR_RT_PARAM_INVALID
    assert rt.memcpy(places["device"], 32, places["host"], 32, c.ACL_MEMCPY_DEFAULT) == 0


def test_a_copy_must_fit() -> None:
    host, device = np.zeros(64, "float32"), empty(8)
    assert (
        rt.memcpy(device.address, 32, host.ctypes.data, 33, c.ACL_MEMCPY_HOST_TO_DEVICE) == c.ACL_ERROR_RT_PARAM_INVALID
    )
    assert (
        rt.memcpy(device.address, 64, host.ctypes.data, 64, c.ACL_MEMCPY_HOST_TO_DEVICE) == c.ACL_ERROR_RT_PARAM_INVALID
    )
    assert "32 bytes" in message()


def test_devices_copy_to_each_other_when_they_are_peers() -> None:
    assert got(rt.device_can_access_peer(0, 1)) == 1 and got(rt.device_can_access_peer(1, 1)) == 0
    one = array([1, 2, 3])
    assert rt.set_device(1) == 0
    other = empty(3)
    copy = (other.address, 12, one.address, 12, c.ACL_MEMCPY_DEVICE_TO_DEVICE)
    assert rt.memcpy(*copy) == c.ACL_ERROR_RT_PARAM_INVALID
    assert rt.device_enable_peer_access(0, 0) == 0
    assert rt.memcpy(*copy) == c.ACL_ERROR_RT_PARAM_INVALID  # that was one direction
    assert rt.set_device(0) == 0 and rt.device_enable_peer_access(1, 0) == 0
    assert rt.memcpy(*copy) == 0
    assert other.read().tolist() == [1, 2, 3]
    free(one, other)


# -- errors ----------------------------------------------------------------------------------------------------------


def test_the_last_error_and_its_message_belong_to_a_thread() -> None:
    assert rt.free(0xBAD) == c.ACL_ERROR_RT_PARAM_INVALID
    assert in_thread(lambda: (rt.peek_at_last_error(0), message())) == (0, "")
    assert rt.peek_at_last_error(0) == c.ACL_ERROR_RT_PARAM_INVALID
    assert rt.get_last_error(0) == c.ACL_ERROR_RT_PARAM_INVALID
    assert rt.get_last_error(0) == 0
    assert "0xbad" in message()
    assert message() == ""


def test_everything_is_gone_after_the_end() -> None:
    held = got(rt.create_stream())
    one: Array = array(np.ones(8))
    with program.arguments("aclnnRelu", (one, one)):
        assert program.launch("aclnnRelu", one, one, stream=held) == 0
        assert rt.synchronize_stream(held) == 0
    got(rt.malloc_host(64))
    assert acl.finalize() == 0
    assert simulator.live_handles() == {}
    assert set(simulator.live_bytes().values()) == {0}
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("npu:")]
