"""Time mindtorch beside PyTorch: ``python -m tests.benchmarks.compare [name part ...]``.

Each row is a program run alternately with both libraries in one process, so that both see the same machine; the
median of the rounds counts. Times are printed, never asserted: ``--check`` only says which rows exceed the ratio
that spec section 5 sets. ``--rows`` times single operators instead, on eight elements and on many, ``--small`` many
functions on a few numbers; both sum up. ``--drawn N --seed S`` draws N expressions from PyTorch's operator database,
and runs each library alone in its process: threads of the one make the other look slow, up to twice. ``--shares`` says
of mindtorch's time how much is Python, NumPy and memory.
``OMP_NUM_THREADS`` says how many threads both libraries have. NumPy's OpenBLAS chooses its kernels for this processor,
as PyTorch's MKL and oneDNN do: what the environment says of them is not passed on.
"""
from __future__ import annotations

import argparse
import importlib
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from . import drawn, small
from .programs import IMPORT_RATIO, PROGRAMS
from .rows import ROWS
from .shares import shares

#: Seconds before each round, where there are several threads. Those of PyTorch (GNU's OpenMP) wait for more work
#: without sleep for some four milliseconds, those of NumPy (OpenBLAS) for 2**26 ticks of the processor's clock: as long
#: as these take the processors, they are not there for the other library's threads.
REST = 0.03
#: Seconds of calls that do not count, after a rest: Linux may wake a thread where its caller runs, and the first calls
#: then take some milliseconds more.
WARM = 0.02
#: What pins OpenBLAS to another processor's kernels.
PINS = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


def time_once(function: Callable[[], Any], repeats: int) -> float:
    """Seconds a call, over ``repeats`` calls."""
    start = time.perf_counter()
    for _ in range(repeats):
        function()
    return (time.perf_counter() - start) / repeats


def rest_and_warm(function: Callable[[], Any]) -> None:
    """Wait until the other library's threads sleep, then wake this one's."""
    time.sleep(REST)
    end = time.perf_counter() + WARM
    while time.perf_counter() < end:
        function()


def compare(ours: Callable[[], Any], theirs: Callable[[], Any], seconds: float, threads: int) -> tuple[float, float]:
    """Measure the median seconds a call of each, in interleaved rounds, which begin anew if there are threads."""
    repeats = []
    for function in (ours, theirs):
        once = max(min(time_once(function, 1) for _ in range(5)), 1e-7)  # the first ones may compile
        repeats.append(max(1, int(seconds / 20 / once)))
    rounds: tuple[list[float], list[float]] = ([], [])
    for _ in range(20 if max(repeats) > 1 else 6):
        for times, function, count in zip(rounds, (ours, theirs), repeats, strict=True):
            if threads > 1:
                rest_and_warm(function)
            times.append(time_once(function, count))
    return statistics.median(rounds[0]), statistics.median(rounds[1])


def import_seconds(module: str) -> float:
    """Measure the time that ``import module`` takes in a fresh interpreter, byte-compiled."""
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    times = [float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                                  env=environment).stdout)
             for _ in range(4)]
    return statistics.median(times[1:])


def summary(ratios: dict[str, float]) -> Iterator[str]:
    """Lines that say how the ratios of rows are distributed: of those on eight elements, of large ones, and of all."""
    few = [ratio for name, ratio in ratios.items() if name.startswith("s8:")]
    large = [ratio for name, ratio in ratios.items() if not name.startswith("s8:")]
    for kind, chosen in (("on 8 elements", few if large else []), ("large", large if few else []),
                         ("in all", [*few, *large])):
        if chosen:
            over = ", ".join(f"{sum(ratio > limit for ratio in chosen)} over {limit}" for limit in (1.5, 2, 4))
            yield f"{len(chosen)} rows {kind}: median {statistics.median(chosen):.2f}, {over}"


def scaled(seconds: float) -> str:
    return f"{seconds * 1e6:10.2f} us" if seconds < 1e-3 else f"{seconds * 1e3:10.2f} ms"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only rows whose name contains one of these")
    parser.add_argument("--seconds", type=float, default=0.6, help="time a library and row")
    parser.add_argument("--threads", type=int, default=None, help="threads of both (default: their own choice)")
    parser.add_argument("--rows", action="store_true", help="time single operators")
    parser.add_argument("--small", action="store_true", help="time many functions on a few numbers")
    parser.add_argument("--drawn", type=int, metavar="N", help="time N expressions of PyTorch's operator database")
    parser.add_argument("--seed", type=int, default=11, help="of what is drawn")
    parser.add_argument("--shares", action="store_true", help="say how much is Python, NumPy and memory (needs perf)")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a row exceeds its ratio")
    options = parser.parse_args()
    if pinned := [name for name in PINS if name in os.environ]:
        print(f"without {', '.join(f'{name}={os.environ.pop(name)}' for name in pinned)}", flush=True)
        os.execv(sys.executable, [sys.executable, "-m", "tests.benchmarks.compare", *sys.argv[1:]])
    if options.drawn:
        drawn.compare_drawn(options.drawn, options.seed, options.names)
        return 0
    torch, mindtorch = importlib.import_module("torch"), importlib.import_module("mindtorch")
    if options.threads:
        torch.set_num_threads(options.threads)
        mindtorch.set_num_threads(options.threads)
    threads = torch.get_num_threads()
    kinds = "".join(f"{kind:>8}" for kind in ("Python", "NumPy", "memory")) if options.shares else ""
    print(f"{'program':<36}{'mindtorch':>13}{'torch':>13}{'ratio':>8}{'limit':>7}{kinds}")
    exceeded = []
    ratios: dict[str, float] = {}

    def row(name: str, ours: float, theirs: float, limit: float | None,
            program: Callable[[], Any] | None = None) -> None:
        ratio = ratios[name] = ours / theirs
        if limit is not None and ratio > limit:
            exceeded.append(name)
        found = shares(program, options.seconds).values() if options.shares and program is not None else ()
        print(f"{name:<36}{scaled(ours)}{scaled(theirs)}{ratio:8.2f}{'' if limit is None else limit:>7}"
              + "".join(f"{share:7.0f}%" for share in found), flush=True)

    def wanted(name: str) -> bool:
        return not options.names or any(part in name for part in options.names)

    for name, inputs, call in (ROWS if options.rows else []) + (small.ROWS if options.small else []):
        if wanted(name):
            mine, other = (partial(call, t, *inputs(t)) for t in (mindtorch, torch))
            row(name, *compare(mine, other, options.seconds, threads), None, mine)
    if options.rows or options.small:
        print(*summary(ratios), sep="\n")
        return 0
    if not options.names or "import" in options.names:
        row("import", import_seconds("mindtorch"), import_seconds("torch"), IMPORT_RATIO)
    for name, program, limit in PROGRAMS:
        if wanted(name):
            ours, theirs = program(mindtorch), program(torch)
            row(name, *compare(ours, theirs, options.seconds, threads), limit, ours)
    if exceeded:
        print("over the limit:", ", ".join(exceeded))
    return int(options.check and bool(exceeded))


if __name__ == "__main__":
    sys.exit(main())
