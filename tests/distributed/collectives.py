"""all_reduce beside gloo: ``python -m tests.distributed.collectives [RANKS...]`` prints minima, and their ratio.

The same processes are ranks of both libraries, which take turns call by call, so that both meet the same machine.
"""
from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from typing import Any

SIZES = {"1 KB": 2**10, "1 MB": 2**20, "64 MB": 2**26}
MOST = 1.2  # of gloo's time, for the sizes above 1 KB


def rank_of_both(folder: str, rank: int, ranks: int) -> None:
    """Measure in one rank; rank 0 prints the minima."""
    import torch

    import mindtorch

    libraries: list[Any] = [mindtorch, torch]
    for library in libraries:
        library.distributed.init_process_group("gloo", init_method=f"file://{folder}/{library.__name__}", rank=rank,
                                               world_size=ranks)
    for name, size in SIZES.items():
        tensors = [library.ones(size // 4) for library in libraries]
        least = [float("inf"), float("inf")]
        for _ in range(max(12, min(60, 2**28 // size))):
            for place, (library, tensor) in enumerate(zip(libraries, tensors, strict=True)):
                tensor.fill_(1.0)
                library.distributed.barrier()
                start = time.perf_counter()
                library.distributed.all_reduce(tensor)
                least[place] = min(least[place], time.perf_counter() - start)
                assert tensor[-1] == ranks
        if rank == 0:
            print(name, *least, sep="\t", flush=True)
    for library in libraries:
        library.distributed.barrier()
        library.distributed.destroy_process_group()


def measured(ranks: int) -> dict[str, tuple[float, float]]:
    """Return seconds of mindtorch and of gloo for each size."""
    with tempfile.TemporaryDirectory() as folder:
        started = [subprocess.Popen([sys.executable, "-m", __spec__.name, "rank", folder, str(rank), str(ranks)],
                                    stdout=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
                   for rank in range(ranks)]
        printed = [process.communicate(timeout=300)[0] for process in started]
    if any(process.returncode for process in started):
        raise SystemExit(f"a rank failed: {[process.returncode for process in started]}")
    rows = [line.split("\t") for line in printed[0].splitlines()]
    return {name: (float(ours), float(theirs)) for name, ours, theirs in rows}


def main() -> None:
    """Measure in 2 and 4 ranks, or in as many as are asked for."""
    if sys.argv[1:2] == ["rank"]:
        rank_of_both(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
        return
    slow = []
    for ranks in map(int, sys.argv[1:] or (2, 4)):
        for name, (ours, theirs) in measured(ranks).items():
            print(f"{ranks} ranks {name:6} {1e3 * ours:9.3f} ms  gloo {1e3 * theirs:9.3f} ms  {ours / theirs:5.2f}",
                  flush=True)
            slow += [(ranks, name)] if ours > MOST * theirs and not name.endswith("KB") else []
    print(f"more than {MOST} of gloo's time: {slow or 'none'}")
    sys.exit(bool(slow))


if __name__ == "__main__":
    main()
