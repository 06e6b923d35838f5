"""Each library alone in its process: it measures a row there while the other library waits.

A table is a module whose ``call_of(lib, row)`` returns what is timed. A process that ends, or takes longer for a row
than ``LIMIT``, is started anew.
"""
from __future__ import annotations

import importlib
import json
import os
import select
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .shares import shares

ROUNDS = 5
LIMIT = 60  #: seconds of an answer
#: Seconds before each round, where there are several threads. Those of PyTorch (GNU's OpenMP) wait for more work
#: without sleep for some four milliseconds, those of NumPy (OpenBLAS) for 2**26 ticks of the processor's clock: as long
#: as these take the processors, they are not there for the other process.
REST = 0.03
#: Seconds of calls that do not count, after a rest: Linux may wake a thread where its caller runs, and the first calls
#: then take some milliseconds more.
WARM = 0.02
#: What pins OpenBLAS to another processor's kernels.
PINS = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


def leave_out_pins(module: str) -> None:
    """Start a command anew without them: OpenBLAS is to choose its kernels for this processor, as MKL does."""
    if pinned := [name for name in PINS if name in os.environ]:
        print(f"without {', '.join(f'{name}={os.environ.pop(name)}' for name in pinned)}", flush=True)
        os.execv(sys.executable, [sys.executable, "-m", module, *sys.argv[1:]])


# -- in a library's process --------------------------------------------------------------------------------------------

def memory(of: str) -> int:
    """Return the kilobytes of memory that the process holds (``VmRSS``), or has held (``VmHWM``)."""
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(of))


def times(call: Callable[[], Any], count: int) -> dict[str, float]:
    """Measure the seconds of processors and of the clock that a call takes, over ``count`` calls."""
    start, clock = time.process_time(), time.perf_counter()
    for _ in range(count):
        call()
    return {"cpu": (time.process_time() - start) / count, "wall": (time.perf_counter() - clock) / count}


class Measured:
    """A row of a table, built for one library."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.call, self.counts = call, dict[float, int]()

    def first(self) -> dict[str, float]:
        """Measure the first call, in seconds, and its peak of memory, in kilobytes."""
        held = memory("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")
        cold = times(self.call, 1)["cpu"]
        return {"cold": cold, "peak": memory("VmHWM") - held}

    def round(self, seconds: float, rests: bool) -> dict[str, float]:
        """Measure later calls, of about so many seconds in all, after a rest of all threads if it ``rests``."""
        if seconds not in self.counts:
            once = min(times(self.call, 1)["wall"] for _ in range(3))  # these may compile
            self.counts[seconds] = max(1, int(seconds / max(once, 1e-6)))
        if rests:
            time.sleep(REST)
            end = time.perf_counter() + WARM
            while time.perf_counter() < end:
                self.call()
        return times(self.call, self.counts[seconds])


def serve(library: str, table: str, threads: str) -> None:
    """Answer the requests that standard input lists: to build a row and call it first, to measure a round of it, or to
    say its ``shares``.
    """
    warnings.simplefilter("ignore")
    lib, answers = importlib.import_module(library), sys.stdout
    call_of = importlib.import_module(table).call_of
    sys.stdout = sys.stderr
    if threads != "0":
        lib.set_num_threads(int(threads))
    measured = None
    for line in sys.stdin:
        request, answer = json.loads(line), dict[str, Any]()
        try:
            if "row" in request:
                measured = None  # its memory is free for the next row
                begun = time.process_time()
                measured = Measured(call_of(lib, request["row"]))
                answer = {"load": time.process_time() - begun} | measured.first()
            elif measured is not None:
                answer = shares(measured.call, request["shares"]) if "shares" in request else measured.round(
                    request["seconds"], lib.get_num_threads() > 1)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:100]}
        print(json.dumps(answer), file=answers, flush=True)


# -- in the process that compares --------------------------------------------------------------------------------------

class Library:
    """A library in a process of its own, which measures rows of a table, with so many threads, or as many as it chooses
    (0).
    """

    def __init__(self, name: str, table: str, threads: int = 0) -> None:
        self.name, self.table, self.threads = name, table, threads
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", __spec__.name, self.name, self.table, str(self.threads)], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env={**os.environ, "MINDTORCH_LOOPS": "wait"})  # no loop is compiled beside what is measured

    def ask(self, **request: Any) -> dict[str, Any]:
        """Return the answer to a request; ``error`` says why there is none."""
        assert self.process.stdin and self.process.stdout
        print(json.dumps(request), file=self.process.stdin, flush=True)
        answered = select.select([self.process.stdout], [], [], LIMIT)[0]
        if answered and (line := self.process.stdout.readline()):
            answer: dict[str, Any] = json.loads(line)
            return answer
        self.end()
        self.start()
        return {"error": f"{self.name} ends the process" if answered else f"{self.name} takes over {LIMIT} s"}

    def end(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.communicate()


def alternated(libraries: tuple[Library, ...], row: Any, seconds: float, rounds: int = ROUNDS) -> list[dict[str, Any]]:
    """Measure a row with each library in turn: the first call, then rounds of about ``seconds``, of which the least
    counts. Libraries whose first call fails have its ``error``, and no round is made then; of a call that takes longer
    than all rounds should, there are two, because the first may compile.
    """
    found = [library.ask(row=row) for library in libraries]
    for made in range(rounds):
        if any("error" in one or (made > 1 and one["wall"] > seconds) for one in found):
            break
        for library, one in zip(libraries, found, strict=True):
            for kind, value in library.ask(seconds=seconds / rounds).items():
                one[kind] = min(one[kind], value) if kind in one else value
    return found


if __name__ == "__main__":
    serve(*sys.argv[1:])
