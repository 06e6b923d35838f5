"""Time mindtorch beside PyTorch: ``python -m tests.benchmarks.compare [name part ...]``.

Each library runs alone in its process, since threads of the one make the other look slow, up to twice; they take turns,
and the least of the rounds counts. A row is a program: both times by the clock, their ratio, the ratio of processor
time, that of the first call (cold), and how much more memory mindtorch takes at its peak. Times are printed, never
asserted: ``--check`` only says which rows exceed the ratio that spec section 5 sets. ``--rows`` times single operators
instead, on eight elements and on many, ``--small`` many functions on a few numbers; both sum up. ``--drawn N --seed S``
draws N expressions from PyTorch's operator database. ``--shares`` says of mindtorch's time how much is Python, NumPy
and memory.
``OMP_NUM_THREADS`` says how many threads both libraries have. NumPy's OpenBLAS chooses its kernels for this processor,
as PyTorch's MKL and oneDNN do: what the environment says of them is not passed on.
"""
from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from . import drawn, programs, rows, small
from .alone import Library, alternated, leave_out_pins


def import_seconds(module: str) -> float:
    """Measure the time that ``import module`` takes in a fresh interpreter, byte-compiled."""
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    times = [float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                                  env=environment).stdout)
             for _ in range(4)]
    return min(times[1:])


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


def compared(table: Any, names: list[str], seconds: float, threads: int,
             with_shares: bool) -> Iterator[tuple[str, dict[str, Any], dict[str, Any], dict[str, float]]]:
    """Yield what both libraries take for each of these rows of a table, and shares of mindtorch's time."""
    libraries = tuple(Library(name, table.__name__, threads) for name in ("mindtorch", "torch"))
    for name in names:
        ours, theirs = alternated(libraries, name, seconds)
        shares = libraries[0].ask(shares=seconds) if with_shares else {}
        yield name, ours, theirs, shares
    for library in libraries:
        library.end()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only rows whose name contains one of these")
    parser.add_argument("--seconds", type=float, default=0.6, help="time a library and row")
    parser.add_argument("--threads", type=int, default=0, help="threads of both (default: their own choice)")
    parser.add_argument("--rows", action="store_true", help="time single operators")
    parser.add_argument("--small", action="store_true", help="time many functions on a few numbers")
    parser.add_argument("--drawn", type=int, metavar="N", help="time N expressions of PyTorch's operator database")
    parser.add_argument("--seed", type=int, default=11, help="of what is drawn")
    parser.add_argument("--shares", action="store_true", help="say how much is Python, NumPy and memory (needs perf)")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a row exceeds its ratio")
    options = parser.parse_args()
    leave_out_pins("tests.benchmarks.compare")
    if options.drawn:
        drawn.compare_drawn(options.drawn, options.seed, options.names)
        return 0
    kinds = "".join(f"{kind:>8}" for kind in ("Python", "NumPy", "memory")) if options.shares else ""
    print(f"{'program':<36}{'mindtorch':>13}{'torch':>13}{'ratio':>8}{'cpu':>7}{'cold':>7}{'peak':>11}{'limit':>7}{kinds}")
    limits = {name: limit for name, _, limit in programs.PROGRAMS} | {"import": programs.IMPORT_RATIO}
    ratios: dict[str, float] = {}
    failed = []

    def wanted(name: str) -> bool:
        return not options.names or any(part in name for part in options.names)

    def limit_of(name: str) -> str:
        return f"{'' if limits.get(name) is None else limits[name]:>7}"

    tables: list[Any] = [rows] * options.rows + [small] * options.small or [programs]
    if tables == [programs] and wanted("import"):
        mine, other = import_seconds("mindtorch"), import_seconds("torch")
        ratios["import"] = mine / other
        print(f"{'import':<36}{scaled(mine)}{scaled(other)}{mine / other:8.2f}{'':25}{limit_of('import')}", flush=True)
    for table in tables:
        names = [*filter(wanted, table.NAMES)]
        for name, ours, theirs, shares in compared(table, names, options.seconds, options.threads, options.shares):
            if errors := [one["error"] for one in (ours, theirs) if "error" in one]:
                failed.append(name)
                print(f"{name:<36} {'; '.join(errors)}", flush=True)
                continue
            ratios[name] = ours["wall"] / theirs["wall"]
            print(f"{name:<36}{scaled(ours['wall'])}{scaled(theirs['wall'])}{ratios[name]:8.2f}"
                  f"{ours['cpu'] / theirs['cpu']:7.2f}{ours['cold'] / theirs['cold']:7.1f}"
                  f"{(ours['peak'] - theirs['peak']) / 1024:+8.1f} MB{limit_of(name)}"
                  + "".join(f"{share:7.0f}%" for share in shares.values()), flush=True)
    if tables != [programs]:
        print(*summary(ratios), sep="\n")
    exceeded = [name for name, ratio in ratios.items() if (limit := limits.get(name)) is not None and ratio > limit]
    if exceeded:
        print("over the limit:", ", ".join(exceeded))
    if failed:
        print("not measured:", ", ".join(failed))
    return int(bool(failed) or (options.check and bool(exceeded)))


if __name__ == "__main__":
    sys.exit(main())
