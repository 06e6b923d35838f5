"""Programs from their start to their end: ``python -m tests.benchmarks.whole`` (``--steps 1 100 --runs 5``).

A run is a fresh interpreter: it imports a library, builds a program of ``programs.PROGRAMS`` that trains, and takes so
many steps. One step is the first of a process, with all that is imported, compiled or planned for it; many are the
program of somebody who trains. The libraries take turns; of the runs, the least counts, by the clock and by the
processor's time. Times are printed, never asserted.
"""
from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import time

from .alone import leave_out_pins
from .programs import PROGRAMS

NAMES = [name for name, *_ in PROGRAMS if "step" in name or "chain of 6" in name]
LIBRARIES = "mindtorch", "torch"
RUN = """
import importlib, sys, warnings
warnings.simplefilter("ignore")
from tests.benchmarks.programs import call_of
library, row, steps, threads = sys.argv[1:]
lib = importlib.import_module(library)
if threads != "0":
    lib.set_num_threads(int(threads))
call = call_of(lib, row)
for _ in range(int(steps)):
    call()
"""


def run(library: str, row: str, steps: int, threads: int) -> tuple[float, float]:
    """Measure the seconds of the clock and of the processors that a whole process takes."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    keep = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run([sys.executable, "-c", RUN, library, row, str(steps), str(threads)], check=True, env=keep,
                   stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - start, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print a row for each program and number of steps, and the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="only programs whose name contains one of these")
    parser.add_argument("--steps", type=int, nargs="+", default=[1, 100], help="of a run")
    parser.add_argument("--runs", type=int, default=5, help="fresh processes a row and library")
    parser.add_argument("--threads", type=int, default=0, help="threads of both (default: their own choice)")
    options = parser.parse_args()
    leave_out_pins("tests.benchmarks.whole")
    print(f"{'program':<36}{'steps':>6}{'mindtorch s':>13}{'torch s':>9}{'ratio':>7}{'cpu':>7}")
    ratios: dict[int, list[float]] = {steps: [] for steps in options.steps}
    for name in (name for name in NAMES if not options.names or any(part in name for part in options.names)):
        for steps in options.steps:
            runs = [[run(library, name, steps, options.threads) for library in LIBRARIES]
                    for _ in range(options.runs)]
            ours, theirs = ([min(times) for times in zip(*of, strict=True)] for of in zip(*runs, strict=True))
            ratios[steps].append(ours[0] / theirs[0])
            print(f"{name:<36}{steps:6}{ours[0]:13.2f}{theirs[0]:9.2f}{ours[0] / theirs[0]:7.2f}"
                  f"{ours[1] / theirs[1]:7.2f}", flush=True)
    for steps, found in ratios.items():
        if found:
            print(f"{steps} steps: median {statistics.median(found):.2f} of {len(found)} programs")


if __name__ == "__main__":
    main()
