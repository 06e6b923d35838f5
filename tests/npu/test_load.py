"""Many threads, two devices, random faults: every error goes to the thread that caused it, the other results are right,
and nothing is left behind."""
from __future__ import annotations

import random
import threading

import mindtorch as torch
from mindtorch._backends.npu import finalize

simulator = torch.npu.simulator
OPERATORS = 5_000  #: a thread
THREADS, DEVICES = 4, 2
FAULTS = {"aclnnAdd": 1, "aclnnMuls": 2, "aclnnRelu": "async", "aclnnMul": "async"}


def work(number: int, wrong: list[str], errors: list[int]) -> None:
    """A thread's program on its own stream: what comes out is checked after every round against the same arithmetic on
    the host, unless an error was raised in the round.
    """
    chooser, device = random.Random(number), number % DEVICES
    done = 0
    with torch.npu.device(device), torch.npu.stream(torch.npu.Stream(device)) as stream:
        while done < OPERATORS:
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
                continue
            if found.tolist() != host.tolist():
                wrong.append(f"thread {number}: {found.tolist()} is not {host.tolist()}")


def test_threads_devices_and_faults() -> None:
    finalize()
    before = threading.active_count()
    handles, memory = simulator.live_handles(), simulator.live_bytes()
    simulator.device_count(DEVICES)
    for name, phase in FAULTS.items():
        simulator.faults.fail(name, phase=phase, times=None, probability=0.002, seed=len(name))
    wrong: list[str] = []
    errors = [0] * THREADS
    threads = [threading.Thread(target=work, args=(number, wrong, errors)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    simulator.faults.clear()
    assert wrong == []
    assert all(errors), errors
    finalize()
    assert simulator.live_handles() == handles and simulator.live_bytes() == memory
    assert threading.active_count() == before
