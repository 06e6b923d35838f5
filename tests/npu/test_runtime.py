"""A runtime over a stand-in for pyACL: what it calls, in which order, and what a return code becomes."""
from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

import mindtorch as torch
from mindtorch._backends import ascend, npu
from mindtorch._backends.npu import runtime


class Recorder:
    """pyACL's functions that a runtime needs: notes the calls, returns codes that a test chooses."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.codes: dict[str, int] = {}
        returns = {"create_context": 11, "create_stream": 22, "get_device_count": 1, "malloc": 33}
        names = ("set_device", "reset_device", "create_context", "destroy_context", "set_context", "create_stream",
                 "destroy_stream", "synchronize_stream", "free", "get_device_count")
        self.rt = SimpleNamespace(**{name: self.function(name, returns.get(name)) for name in names})
        self.init, self.finalize = self.function("init", None), self.function("finalize", None)

    def function(self, name: str, value: int | None) -> Any:
        def call(*args: Any) -> Any:
            self.calls.append((name, *args))
            code = self.codes.get(name, 0)
            return code if value is None else (value, code)

        return call


@pytest.fixture
def acl(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    stand_in = Recorder()
    monkeypatch.setattr(runtime, "acl", stand_in)
    monkeypatch.setattr(runtime, "_is_started", False)
    monkeypatch.setattr(runtime, "_is_owner", False)
    monkeypatch.setattr(runtime.thread, "active", None)
    return stand_in


def test_init_makes_a_context_and_a_stream_once(acl: Recorder) -> None:
    device = runtime._Runtime().init()
    device.init()
    assert acl.calls == [("init",), ("set_device", 0), ("create_context", 0), ("set_context", 11), ("create_stream",)]
    assert (device.initialized, device.device_id, device.context, device.stream) == (True, 0, 11, 22)


def test_synchronize_waits_and_then_frees_in_order(acl: Recorder) -> None:
    device = runtime._Runtime().init()
    for pointer in (7, 5, 6):
        device.defer_free(pointer)
    assert not [call for call in acl.calls if call[0] == "free"]
    acl.calls.clear()
    device.synchronize()
    assert acl.calls == [("synchronize_stream", 22), ("free", 7), ("free", 5), ("free", 6)]
    acl.calls.clear()
    device.synchronize()
    assert acl.calls == [("synchronize_stream", 22)]


def test_what_was_deferred_is_freed_although_the_stream_failed(acl: Recorder) -> None:
    device = runtime._Runtime().init()
    device.defer_free(9)
    acl.codes["synchronize_stream"] = 507015
    with pytest.raises(npu.AclError, match="aclrtSynchronizeStream failed on npu:0 with ACL_ERROR_RT_AICORE_EXCEPTION"):
        device.synchronize()
    assert acl.calls[-1] == ("free", 9)


@pytest.mark.parametrize(("call", "code", "words"), [
    ("init", 500000, "aclInit failed on npu:0 with ACL_ERROR_INTERNAL_ERROR \\(500000\\)"),
    ("create_context", 107002, "aclrtCreateContext failed"),
    ("create_stream", 207008, "aclrtCreateStream failed on npu:0 with ACL_ERROR_RT_NO_STREAM_RESOURCE"),
    ("set_device", 107001, "invalid device ordinal: npu:0, but there are 1 NPU devices"),
    ("set_device", 999999, "unknown error \\(999999\\)"),
])
def test_a_code_other_than_0_is_an_error_that_names_call_and_code(
    acl: Recorder, call: str, code: int, words: str
) -> None:
    acl.codes[call] = code
    with pytest.raises(RuntimeError, match=words):
        runtime._Runtime().init()


def test_another_initialisation_of_acl_is_tolerated(acl: Recorder) -> None:
    acl.codes["init"] = 100002
    assert runtime._Runtime().init().initialized


def test_finalize_gives_everything_back(acl: Recorder) -> None:
    device = runtime._Runtime().init()
    device.defer_free(3)
    acl.calls.clear()
    device.finalize()
    device.finalize()
    assert acl.calls == [("synchronize_stream", 22), ("free", 3), ("destroy_stream", 22), ("destroy_context", 11),
                         ("reset_device", 0)]
    assert not device.initialized


def test_ascend_is_the_npu_backend_under_the_chip_s_name() -> None:
    assert ascend.is_available is npu.is_available and ascend.get_runtime is npu.get_runtime
    assert all(getattr(ascend, name) is getattr(npu, name) for name in ascend.__all__)


def test_no_memory_is_nothing_to_free(acl: Recorder) -> None:
    device = runtime._Runtime().init()
    device.defer_free(None)
    device.synchronize()
    assert not [call for call in acl.calls if call[0] == "free"]


def test_a_runtime_that_never_began_has_nothing_to_wait_for(acl: Recorder) -> None:
    runtime._Runtime().synchronize()
    assert acl.calls == []


def test_a_stand_in_may_know_one_context_only(acl: Recorder) -> None:
    del acl.rt.set_context
    device = runtime._Runtime().init()
    device.synchronize()
    assert acl.calls[-1] == ("synchronize_stream", 22)


def test_a_copy_to_the_host_waits_as_the_runtime_does(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    device = runtime.get_runtime(0)
    synchronize = device.synchronize
    ones = torch.ones(2, device="npu")
    monkeypatch.setattr(device, "synchronize", lambda: calls.append("sync") or synchronize())
    assert ones.to("cpu").tolist() == [1, 1] and calls == ["sync"]


def test_a_runtime_waits_for_the_stream_that_the_thread_works_on() -> None:
    device, side = runtime.get_runtime(0), torch.npu.Stream()
    with torch.npu.simulator.paused(), torch.npu.stream(side):
        torch.ones(2, device="npu")
    assert device.current is device.queue
    with torch.npu.stream(side):
        assert device.current is side.queue
        device.synchronize()
    assert side.queue.finished == side.queue.enqueued > 0
    with torch.npu.stream(side):
        torch.ones(2, device="npu")
    device.synchronize(side.queue)
    assert side.queue.finished == side.queue.enqueued


def test_blocking_is_read_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    one = torch.ones(2, device="npu")
    queue = runtime.current_queue(0)
    for value, waits in (("0", False), ("1", True), ("", False)):
        monkeypatch.setenv("ACL_LAUNCH_BLOCKING", value)
        with torch.npu.simulator.paused() if not waits else nullcontext():
            one + 1
            assert (queue.finished == queue.enqueued) is waits


def test_the_parts_of_the_backend_are_under_the_chip_s_name() -> None:
    assert ascend._Runtime is runtime._Runtime and ascend._model_dir is npu._model_dir
    assert ascend.ops is npu.ops and ascend.creation is npu.creation
    found = ascend.add(ascend.tensor_create([1.0, -2.0]), ascend.ones_create((2,)))
    assert found.is_npu and ascend.relu(ascend.mul(found, found)).tolist() == [4, 1] and ascend.sum_(found).item() == 1
    assert [make((2, 2)).device for make in (ascend.zeros_create, ascend.empty_create)] == [torch.device("npu:0")] * 2
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        ascend.nothing
    assert {"Stream", "Event", "synchronize", "simulator"} <= set(torch.npu.__all__)


def test_the_registry_is_where_it_was_promised() -> None:
    from mindtorch._dispatch import dispatcher, registry

    assert registry.registry is dispatcher.registry and "add.Tensor" in registry.registry.operators
