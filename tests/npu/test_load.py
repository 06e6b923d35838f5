"""Many threads, two devices, random faults, in both failure modes: every error goes to the thread that caused it, the
other results are right, and nothing is left behind. ``python -m tests.npu.test_load 20000`` runs so many operators in
each mode.
"""
from __future__ import annotations

import os
import random
import sys
import threading

import pytest

import mindtorch as torch
from mindtorch._backends.npu import finalize

simulator = torch.npu.simulator
OPERATORS = 2_000  #: in all, in each mode
DEVICES = 2
#: In the mode "stop", a failure stops what other threads have on the device, too: there each thread has a device.
THREADS = {"continue": 4, "stop": 2}
FAULTS = {"aclnnAdd": 1, "aclnnMuls": 2, "aclnnRelu": "async", "aclnnMul": "async"}


def work(number: int, operators: int, mode: str, wrong: list[str], errors: list[int]) -> None:
    """A thread's program on its own stream: what comes out is checked after every round against the same arithmetic on
    the host, unless an error was raised in the round.
    """
    chooser, device = random.Random(number), number % DEVICES
    done = 0
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
                if not any(name in str(error) for name in FAULTS):
                    wrong.append(f"thread {number}: {error}")
                if mode == "stop":
                    torch.npu.restart_device(device)
                continue
            if found.tolist() != host.tolist():
                wrong.append(f"thread {number}: {found.tolist()} is not {host.tolist()}")


def run(mode: str, operators: int) -> list[int]:
    """Run so many operators in a failure mode; how many errors each thread was told. Raises AssertionError if anything
    is wrong.
    """
    finalize()
    before = threading.active_count()
    handles, memory = simulator.live_handles(), simulator.live_bytes()
    simulator.device_count(DEVICES)
    for name, phase in FAULTS.items():
        simulator.faults.fail(name, phase=phase, times=None, probability=0.004, seed=len(name))
    wrong: list[str] = []
    errors = [0] * THREADS[mode]
    threads = [threading.Thread(target=work, args=(number, operators // len(errors), mode, wrong, errors))
               for number in range(len(errors))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    simulator.faults.clear()
    assert wrong == []
    assert any(errors), errors
    finalize()
    assert simulator.live_handles() == handles and simulator.live_bytes() == memory
    assert threading.active_count() == before
    return errors


@pytest.mark.parametrize("mode", THREADS)
def test_threads_devices_and_faults(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINDTORCH_NPU_FAILURE_MODE", mode)
    run(mode, OPERATORS)


if __name__ == "__main__":
    for mode in THREADS:
        os.environ["MINDTORCH_NPU_FAILURE_MODE"] = mode
        print(f"{mode}: {sys.argv[1]} operators, errors a thread: {run(mode, int(sys.argv[1]))}", flush=True)
