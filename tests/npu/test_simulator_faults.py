"""Faults on request, and that nothing is left behind when there are many: of handles, threads and bytes."""
from __future__ import annotations

import errno
import threading

import numpy as np
import pytest

from mindtorch._backends.npu import constants as c, simulator
from mindtorch._backends.npu.simulator import faults, memory
from mindtorch._backends.npu.simulator.errors import Fault

from .program import acl, add, array, c_function, free, got, launch, message, rt

pytestmark = pytest.mark.usefixtures("simulated")


def test_calls_fail_as_often_as_asked_for() -> None:
    faults.fail_next("create_stream", times=2)
    codes = [rt.create_stream()[-1] for _ in range(3)]
    assert codes == [c.ACL_ERROR_RT_DRV_INTERNAL_ERROR] * 2 + [0]


def test_a_c_function_can_fail() -> None:
    one = array([1, 2])
    faults.fail_next("aclCreateScalar")
    assert c_function("aclCreateScalar")(1, 1) is None
    assert "aclCreateScalar" in message()
    assert add(one, one, one) == 0


def test_memory_runs_out_when_asked_for() -> None:
    faults.out_of_memory(times=2)
    assert [rt.malloc(64, 0)[1] for _ in range(3)] == [c.ACL_ERROR_RT_MEMORY_ALLOCATION] * 2 + [0]


@pytest.mark.parametrize(("phase", "code"), [(1, c.ACLNN_ERR_INNER), (2, c.ACLNN_ERR_RUNTIME_ERROR)])
def test_an_operator_fails_in_a_phase(phase: faults.Phase, code: int) -> None:
    one, out = array([1, 2]), array([0, 0])
    faults.fail("aclnnAdd", phase)
    assert launch("aclnnMul", one, one, out) == 0
    assert add(one, one, out) == code
    assert "aclnnAdd" in message()
    assert rt.synchronize_stream(0) == 0
    assert out.read().tolist() == [1, 4]
    assert add(one, one, out) == 0
    assert simulator.live_handles() == {}


def test_an_operator_fails_on_its_stream() -> None:
    one, out = array([1, 2]), array([0, 0])
    faults.fail("aclnnAdd", "async", code=c.ACL_ERROR_RT_VECTOR_CORE_EXCEPTION)
    assert add(one, one, out) == 0
    assert rt.synchronize_stream(0) == c.ACL_ERROR_RT_VECTOR_CORE_EXCEPTION
    assert "aclnnAdd" in message()
    assert out.read().tolist() == [0, 0]


def test_chance_is_repeatable() -> None:
    one = array([1, 2])

    def codes(seed: int) -> list[int]:
        faults.clear()
        faults.fail("*", 1, probability=0.3, seed=seed)
        return [add(one, one, one) for _ in range(50)]

    first = codes(1)
    assert 0 < sum(map(bool, first)) < 50
    assert codes(1) == first != codes(2)


def test_an_unknown_phase_is_refused() -> None:
    with pytest.raises(ValueError, match="phase must be 1, 2 or 'async'"):
        faults.fail("aclnnAdd", 3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="negative"):
        faults.slow(-1)


def test_a_lost_device_fails_in_all_that_is_asked_of_it() -> None:
    one = array([1, 2])
    with simulator.paused():
        assert add(one, one, one) == 0
        faults.lose_device(0)
        lost = c.ACL_ERROR_RT_LOST_HEARTBEAT
        assert rt.malloc(64, 0) == (0, lost)
        assert add(one, one, one) == lost
        assert rt.synchronize_stream(0) == lost
        assert rt.set_device(0) == lost
        assert rt.set_device(1) == 0
        other = array([1, 2])
        assert add(other, other, other) == 0 and rt.synchronize_stream(0) == 0
        assert other.read().tolist() == [2, 4]
    assert acl.finalize() == 0
    assert simulator.live_bytes()["npu:0"] == 0


def test_a_device_that_is_lost_while_one_waits_for_it_is_told() -> None:
    simulator.slow(0.1)
    assert rt.launch_callback(lambda _: faults.lose_device(0), None, c.ACL_CALLBACK_BLOCK, 0) == 0
    assert rt.synchronize_stream(0) == c.ACL_ERROR_RT_LOST_HEARTBEAT


def test_what_a_lost_device_had_queued_does_not_run() -> None:
    one, stream = array([1, 2]), got(rt.create_stream())
    with simulator.paused(stream):
        add(one, one, one, stream)
        faults.lose_device(0)
    assert rt.destroy_stream(stream) == 0  # which waits
    faults.clear()
    assert one.read().tolist() == [1, 2]


class Worker(threading.Thread):
    """Adds ones to a tensor on a stream of its own, meets faults, and checks after each wait what it should have.

    What it finds wrong is in ``wrong``, how many failures it was told of in ``told``.
    """

    def __init__(self, number: int, operators: int):
        super().__init__()
        self.number, self.operators = number, operators
        self.wrong: list[str] = []
        self.told = 0

    def run(self) -> None:
        try:
            self.work()
        except BaseException as error:
            self.wrong.append(repr(error))

    def work(self) -> None:
        assert rt.set_device(self.number % 2) == 0
        stream = got(rt.create_stream())
        mine = f"stream {got(rt.stream_get_id(stream))} of device {self.number % 2}"
        ones, total, expected, since = array(np.ones(8)), array(np.zeros(8)), 0, 0
        for step in range(1, self.operators + 1):
            code = add(total, ones, total, stream)
            if code:
                self.told += 1
                if code not in (c.ACLNN_ERR_INNER, c.ACLNN_ERR_RUNTIME_ERROR) or "aclnnAdd" not in message():
                    self.wrong.append(f"code {code}")
            else:
                since += 1
            if step % 50 == 0 or step == self.operators:
                failed = rt.synchronize_stream(stream)
                values = total.read()
                if failed:
                    self.told += 1
                    if mine not in message():
                        self.wrong.append("another thread's failure")
                    if not (values == values[0]).all() or not expected <= values[0] < expected + since:
                        self.wrong.append(f"{values} after a failure, between {expected} and {expected + since}")
                    expected = int(values[0])
                else:
                    expected += since
                    if not (values == expected).all():
                        self.wrong.append(f"{values} instead of {expected}")
                since = 0
        free(ones, total)
        assert rt.destroy_stream(stream) == 0


def test_threads_devices_and_random_faults_leave_nothing_behind() -> None:
    """20,000 operators on 4 threads and 2 devices."""
    for phase in (1, 2, "async"):
        faults.fail("aclnnAdd", phase, probability=0.002, seed=len(str(phase)))
    workers = [Worker(number, 5000) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.wrong for worker in workers] == [[]] * 4
    assert all(worker.told for worker in workers)
    assert simulator.live_handles() == {}
    assert set(simulator.live_bytes().values()) == {0}
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("npu:")] == []


def test_threads_on_one_stream_are_all_heard() -> None:
    """Every operator of every thread runs, on the same default stream."""
    one, total = array(np.ones(4)), array(np.zeros(4))

    def work() -> None:
        rt.set_device(0)
        for _ in range(500):
            assert add(total, one, total) == 0

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert rt.synchronize_stream(0) == 0
    assert total.read().tolist() == [2000] * 4


def test_a_device_for_which_there_is_no_address_space_has_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def reserve(size: int) -> None:
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    monkeypatch.setattr(memory, "reserve", reserve)
    with pytest.raises(Fault, match="no address space for a simulated device of 1024 bytes") as raised:
        memory.Memory(1024).malloc(8)
    assert raised.value.code == c.ACL_ERROR_RT_MEMORY_ALLOCATION
