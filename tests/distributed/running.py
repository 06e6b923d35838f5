"""Runs programs in several processes, and reads what each of them found.

A program defines functions ``check_...``, which every rank runs in the same order, and ends with ``report(globals())``.
"""
from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

HERE = Path(__file__).parent
TOP = HERE.parents[1]
#: How PyTorch starts ranks.
GLOO = ("torch.distributed.run", "--standalone", "--nproc-per-node")
needs_mpi = pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py and MPICH are not installed")


class Ended(NamedTuple):
    """How a launch ended: its status, its output, and the processes it left."""

    status: int
    output: str
    left: list[str]


def launch(program: str | Path, ranks: int = 4, arguments: Sequence[str] = (), seconds: float = 120,
           starter: Sequence[str] = ("mindtorch", "launch", "-n"), **variables: str) -> Ended:
    """Run a program of ``programs`` in several ranks, by modules such as those of ``GLOO``; it fails if that takes too
    long.
    """
    token = f"MINDTORCH_TEST={os.getpid()}-{time.monotonic_ns()}"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TOP), os.environ.get("PYTHONPATH", "")]),
                   "OMP_NUM_THREADS": "1", **dict([token.split("=")]), **variables}
    process = subprocess.Popen([sys.executable, "-m", *starter, str(ranks),
                                str(HERE / "programs" / program), *arguments], env=environment, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=30)
        pytest.fail(f"{program} did not end within {seconds} s:\n{output}")
    return Ended(process.returncode, output, processes_with(token))


def processes_with(token: str) -> list[str]:
    """The processes that have a word in their environment, and so were started by one launch."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if token.encode() in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def results(ended: Ended, ranks: int = 4) -> dict[str, list[Any]]:
    """For each check, what the ranks said: None, or the error. It fails if a rank said nothing."""
    assert ended.status == 0, ended.output
    found: dict[str, list[Any]] = {}
    for line in ended.output.splitlines():
        if line.startswith("CHECKED "):
            name, error = json.loads(line.removeprefix("CHECKED "))
            found.setdefault(name, []).append(error)
    assert {len(errors) for errors in found.values()} == {ranks}, ended.output
    return found


def checks(program: str) -> list[str]:
    """The names of a program's checks."""
    lines = (HERE / "programs" / program).read_text().splitlines()
    return [line.removeprefix("def ").partition("(")[0] for line in lines if line.startswith("def check_")]
