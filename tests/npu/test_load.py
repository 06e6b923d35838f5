"""Many threads, two devices, random faults, in both failure modes: every error goes to the thread that caused it, the
other results are right, and nothing is left behind. ``python -m tests.npu.test_load 20000`` runs so many operators in
each mode. Where several threads share a device that stops, each of them is told.
"""
from __future__ import annotations

import os
import random
import sys
import threading

import pytest

import mindtorch as torch
from mindtorch._backends.npu import finalize
from mindtorch._backends.npu.runtime import get_runtime

simulator = torch.npu.simulator
OPERATORS = 2_000  #: in all, in each mode
DEVICES = 2
#: The failure mode, how many threads, and how many devices they share. In the mode "stop", a failure stops what other
#: threads have on the device, too.
LOADS = [("continue", 4, 2), ("stop", 2, 2), ("stop", 2, 1)]
FAULTS = {"aclnnAdd": 1, "aclnnMuls": 2, "aclnnRelu": "async", "aclnnMul": "async"}


_restarting = threading.Lock()


def is_told(error: RuntimeError) -> bool:
    """Whether an error says what went wrong: an operator that was to fail, or that another thread restarted the device.
    """
    text = "\n".join([str(error), *getattr(error, "__notes__", ())])
    return any(name in text for name in FAULTS) or "restarted" in text


def restart(device: int) -> None:
    """Restart a device that has stopped; of several threads that see this, one does it."""
    with _restarting:
        if get_runtime(device).stopped is not None:
            torch.npu.restart_device(device)


def work(number: int, operators: int, device: int, wrong: list[str], errors: list[int]) -> None:
    """A thread's program on its own stream: what comes out is checked after every round against the same arithmetic on
    the host, unless an error was raised in the round.
    """
    chooser, done = random.Random(number), 0
    with torch.npu.device(device), torch.npu.stream(torch.npu.Stream(device)) as stream:
        while done < operators:
            host = torch.arange(6.0) + number
            try:
                value = host.to(f"npu:{device}")
                for _ in range(25):
                    step = chooser.randrange(4)
                    done += 1
                    if step == 0:
                        value, host = value + 1, host + 1
                    elif step == 1:
                        value, host = value * 0.5, host * 0.5
                    elif step == 2:
                        value, host = value.relu(), host.relu()
                    else:
                        value, host = value * value, host * host
                        value, host = value.clamp(max=8), host.clamp(max=8)
                        done += 1
                stream.synchronize()
                found = value.cpu()
            except RuntimeError as error:
                errors[number] += 1
                if not is_told(error):
                    wrong.append(f"thread {number}: {error}")
                restart(device)
                continue
            if found.tolist() != host.tolist():
                wrong.append(f"thread {number}: {found.tolist()} is not {host.tolist()}")


def run(operators: int, count: int, devices: int) -> list[int]:
    """Run so many operators in several threads on one or more devices; how many errors each thread was told. Raises
    AssertionError if anything is wrong.
    """
    finalize()
    before = threading.active_count()
    handles, memory = simulator.live_handles(), simulator.live_bytes()
    simulator.device_count(DEVICES)
    for name, phase in FAULTS.items():
        simulator.faults.fail(name, phase=phase, times=None, probability=0.004, seed=len(name))
    wrong: list[str] = []
    errors = [0] * count
    threads = [threading.Thread(target=work, args=(number, operators // count, number % devices, wrong, errors))
               for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    simulator.faults.clear()
    assert wrong == [], wrong
    assert any(errors), errors
    finalize()
    assert simulator.live_handles() == handles and simulator.live_bytes() == memory
    assert threading.active_count() == before
    return errors


@pytest.mark.parametrize(("mode", "threads", "devices"), LOADS)
def test_threads_devices_and_faults(mode: str, threads: int, devices: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINDTORCH_NPU_FAILURE_MODE", mode)
    run(OPERATORS, threads, devices)
    if mode == "stop" and threads > devices:  # a call that the other thread's restart overtakes has an older stream
        assert {report.kind for report in simulator.reports()} <= {"destroyed-handle"}
        simulator.clear_reports()


if __name__ == "__main__":
    for mode, threads, devices in LOADS:
        os.environ["MINDTORCH_NPU_FAILURE_MODE"] = mode
        told = run(int(sys.argv[1]), threads, devices)
        print(f"{mode}: {sys.argv[1]} operators, {threads} threads, {devices} devices; errors: {told}", flush=True)
