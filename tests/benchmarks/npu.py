"""Time the NPU backend on the simulator: ``python -m tests.benchmarks.npu [runs]``.

Two numbers, each the median of the runs, each run in a process of its own:

- what enqueuing an 8-element ``a + b`` takes of the caller's time: the processor time of its thread, from the call to
  the return, with the simulator's own half of both phases, which is Python, too;
- how many times as long an MLP's training step takes as on the CPU, both waited for, and run alternately.

Below them stands what the enqueued add is made of, as far as its parts can be called alone.
"""
from __future__ import annotations

import ctypes
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import mindtorch
from mindtorch._backends.npu import aclnn, descriptors
from mindtorch._backends.npu.runtime import current_queue
from mindtorch._base.interrupts import uninterrupted
from mindtorch._base.layout import Spec
from mindtorch._tensor import empty_tensor

from .programs import add, mlp_sgd

LIMITS = {"enqueue a + b (us)": 60.0, "MLP step (times the CPU's)": 5.0}


def microseconds(function: Callable[[], Any], calls: int = 50, rounds: int = 40) -> float:
    """Measure the median over rounds of the thread's processor time a call; the device is idle when a round starts."""
    times = []
    for _ in range(rounds):
        mindtorch.npu.synchronize()
        start = time.thread_time()
        for _ in range(calls):
            function()
        times.append((time.thread_time() - start) / calls * 1e6)
    return statistics.median(times)


def ratio(rounds: int = 120) -> float:
    """Measure the median over rounds of an MLP's step on the NPU, in steps on the CPU."""
    steps = mlp_sgd(mindtorch, device="npu"), mlp_sgd(mindtorch)
    ratios = []
    for turn in range(rounds):
        seconds = []
        for step in steps:
            start = time.perf_counter()
            step()
            mindtorch.npu.synchronize()
            seconds.append(time.perf_counter() - start)
        if turn >= rounds // 6:  # the first ones compile, import, and fill what is kept
            ratios.append(seconds[0] / seconds[1])
    return statistics.median(ratios)


def parts() -> dict[str, float]:
    """Microseconds of the parts of an enqueued add."""
    a, queue = mindtorch.ones(8, device="npu"), current_queue(0)
    out, spec = mindtorch.empty_like(a), Spec((8,), a._dtype)
    nothing = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 6)(lambda *args: 0)
    call = ctypes.PYFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 6)(ctypes.cast(nothing, ctypes.c_void_p).value or 0)

    prepared = aclnn.Prepared(aclnn.function("aclnnAdd"), None, (a, a, 1, out), [])
    handle, address = prepared.handles.tensors[0], out.data_ptr()

    def block() -> None:
        with uninterrupted():
            pass

    found = {"an output in device memory": microseconds(lambda: empty_tensor(spec, a._device)),
             "both phases, with an output that is there": microseconds(
                 lambda: aclnn.launch([("aclnnAdd", (a, a, 1, out))], queue)),
             "  an address told to a descriptor": microseconds(
                 lambda: descriptors.functions["aclSetRawTensorAddr"](handle, address)),
             "  a call of C that calls Python": microseconds(lambda: call(1, 2, 3, 4, 5, 6)),
             "  a note of the operator and its line": microseconds(lambda: queue.note("aclnnAdd", 0)),
             "  a block that keeps interrupts": microseconds(block)}
    descriptors.destroy(prepared.handles)
    return found


def run() -> dict[str, float]:
    """One run: both numbers, and the parts."""
    return dict(zip(LIMITS, (microseconds(add(mindtorch, device="npu")), ratio()), strict=True)) | parts()


def main() -> None:
    runs = [json.loads(subprocess.run([sys.executable, "-m", __spec__.name, "once"], capture_output=True, text=True,
                                      check=True).stdout)
            for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 5)]
    for name in runs[0]:
        values = [run[name] for run in runs]
        limit = f"  limit {LIMITS[name]:g}" if name in LIMITS else ""
        print(f"{name:<44}{statistics.median(values):8.2f}   {min(values):.2f} to {max(values):.2f}{limit}")


if __name__ == "__main__":
    if sys.argv[1:] == ["once"]:
        print(json.dumps(run()))
    else:
        main()
