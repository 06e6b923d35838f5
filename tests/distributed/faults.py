"""Faults on the longer paths: ``python -m tests.distributed.faults [PATH...]`` prints a row for each.

Rank 1 of two is killed, raises, or hangs within a path. The other has to name rank, reason, and its own line, within a
limit (twice that for a restart, which starts anew); nothing may be left of processes or shared memory, and the last
whole checkpoint is to be read.
"""
from __future__ import annotations

import re
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import mindtorch as torch
import mindtorch.distributed.checkpoint as dcp

from .running import HERE, launch

PROGRAM = HERE / "programs" / "paths.py"
#: The paths, and whether they leave a checkpoint.
PATHS = {"redistribution": False, "gather": False, "backward": False, "save": True, "async_save": True,
         "pipeline": False, "restart": True}
TIMEOUT = 8  # seconds, of a group whose rank hangs
LIMIT = 15.0  # seconds from the fault, or from the timeout, to the end of all
#: What rank 1 does, and what is said of it.
FAULTS = {"SIGKILL": "rank 1 was killed, or ended without a word", "raise": "rank 1 raised ArithmeticError: not today",
          "hang": f"timed out after {TIMEOUT} s: rank 1 did not make this call"}
#: Where the failure itself is an answer: all ranks raise it, with the rank whose it is.
SAID = {("save", "raise"): "(RANK 1)", ("async_save", "raise"): "(RANK 1)"}


class Found(NamedTuple):
    """What was wrong, and how long the ranks took to end."""

    wrong: list[str]
    seconds: float
    output: str


def files() -> set[str]:
    """Return the paths of MPI's files of shared memory (``mpich_shm_7199_0``)."""
    folders = [Path(tempfile.gettempdir()), Path("/dev/shm")]
    return {str(path) for folder in folders if folder.exists() for path in folder.iterdir()
            if path.name.startswith("mpi")}


def in_use() -> str:
    """Return the memory maps of all processes as one text."""
    found = []
    for maps in Path("/proc").glob("[0-9]*/maps"):
        try:
            found.append(maps.read_text())
        except OSError:  # the process has ended, or is another user's
            continue
    return "".join(found)


def left_since(before: set[str], seconds: float = 5.0) -> list[str]:
    """Return MPI's files that are new since ``before`` and in no process's use.

    Ranks of another test may start and end meanwhile, so a file counts if it remains unused for some seconds.
    """
    end = time.monotonic() + seconds
    left = files() - before
    while left and time.monotonic() < end:
        maps = in_use()
        left = {path for path in left & files() if path not in maps}
        time.sleep(0.1)
    return sorted(left)


def line_of(path: str) -> int:
    """Return the line at which the ranks wait on a path."""
    text = PROGRAM.read_text()
    start = text.index(f"def {path}()")
    return text[:text.index("# here", start)].count("\n") + 1


def tried(path: str, fault: str, folder: Path) -> Found:
    """Run a fault on a path."""
    before = files()
    starter = ("mindtorch", "launch", *(("--max-restarts", "2") if path == "restart" else ()), "-n")
    ended = launch(PROGRAM, 2, [path, fault, str(folder), str(TIMEOUT)], 120, starter)
    when = [float(stamp) for stamp in re.findall(r"GRIEF ([\d.]+)", ended.output)]
    wrong = []
    if ended.status != (0 if path == "restart" else 1):
        wrong.append(f"status {ended.status}")
    if not when:
        return Found([*wrong, "rank 1 had no fault"], 0.0, ended.output)
    if SAID.get((path, fault), FAULTS[fault]) not in ended.output:
        wrong.append("the reason is not named")
    mark = f'{PROGRAM.name}", line ' if (path, fault) in SAID else f"{PROGRAM.name}:"  # of a traceback, or an error
    if f"{mark}{line_of(path)}" not in ended.output:
        wrong.append("the line is not named")
    if path == "restart" and ended.output.count("GOES ON from 1.0 in attempt 2") != 2:
        wrong.append("it did not go on from the checkpoint")
    seconds = time.time() - when[-1]
    if seconds > LIMIT + (TIMEOUT if fault == "hang" else 0) + (LIMIT if path == "restart" else 0):
        wrong.append(f"took {seconds:.0f} s")
    wrong += [f"left {name}" for name in [*ended.left, *left_since(before)]]
    if PATHS[path]:
        found = {"a": torch.zeros(4, 2), "step": 0.0}
        dcp.load(found, checkpoint_id=folder)
        if found["step"] != 1.0 or found["a"].unique().tolist() != [1.0]:
            wrong.append(f"the checkpoint has {found}")
    return Found(wrong, seconds, ended.output)


def main() -> None:
    """Run all faults on the paths that are asked for, or on all."""
    bad = rows = 0
    for path in sys.argv[1:] or PATHS:
        for fault in FAULTS:
            with tempfile.TemporaryDirectory() as folder:
                found = tried(path, fault, Path(folder) / "checkpoint")
            rows, bad = rows + 1, bad + bool(found.wrong)
            print(f"{path:16}{fault:10}{found.seconds:6.1f} s  {'; '.join(found.wrong) or 'right'}", flush=True)
            if found.wrong:
                print(found.output)
    print(f"{rows} faults, {bad} not as they should be")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
