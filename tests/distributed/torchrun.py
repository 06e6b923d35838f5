"""Compares what the programs of ``scripts`` print on PyTorch and on mindtorch.

They are written for ``torchrun``, in the manner of PyTorch's tutorials and examples, and run as they are.
``python -m tests.distributed.torchrun`` runs all of them; names choose some.
"""
from __future__ import annotations

import argparse
import itertools
import os
import re
import subprocess
import sys
import uuid
from collections.abc import Sequence
from typing import NamedTuple

from .running import HERE, TOP

SCRIPTS = HERE / "scripts"
#: For those that do not run in two ranks: how they are started.
OPTIONS = {"mingpt": ("--nproc-per-node=2", "--max-restarts=1"), "fsdp_tp": ("--nproc-per-node=4",),
           "collectives": ("--nproc-per-node=4",), "spawn": ()}
NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")


class Printed(NamedTuple):
    """What a script's ranks printed, in whole lines, and how it ended."""

    status: int
    lines: list[str]
    errors: str


def names() -> list[str]:
    """Return the names of all scripts."""
    return sorted(path.stem for path in SCRIPTS.glob("*.py"))


def run(name: str, library: str, seconds: float = 240) -> Printed:
    """Run a script by ``torchrun``, or by itself, on one of the libraries."""
    options = OPTIONS.get(name, ("--nproc-per-node=2",))
    ours, python = library == "mindtorch", ["--no-python", sys.executable]  # PyTorch's own would not buffer output
    starter = ["-m", "mindtorch", "torchrun"] if ours else ["-m", "torch.distributed.run"]
    command = [*starter, "--standalone", *options, *([] if ours else python)] if options else (
        ["-m", "mindtorch", "run"] if ours else [])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "SNAPSHOT": uuid.uuid4().hex,
                   "PYTHONPATH": os.pathsep.join([str(TOP), os.environ.get("PYTHONPATH", "")])}
    environment.pop("PYTHONUNBUFFERED", None)  # whole lines
    try:
        ended = subprocess.run([sys.executable, *command, str(SCRIPTS / f"{name}.py")], env=environment, text=True,
                               stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return Printed(124, [], f"did not end within {seconds} s")
    return Printed(ended.returncode, sorted(ended.stdout.splitlines()), ended.stderr)


def agree(ours: str, theirs: str) -> bool:
    """Return True if two lines are equal, but for one unit in the last place of each number."""
    if NUMBER.sub("#", ours) != NUMBER.sub("#", theirs):
        return False
    return all(abs(float(a) - float(b)) <= 1.01 * 10.0 ** -len(b.partition(".")[2].partition("e")[0]) *
               (10.0 ** int(b.partition("e")[2] or 0)) for a, b in
               zip(NUMBER.findall(ours), NUMBER.findall(theirs), strict=True))


def disagreements(ours: Printed, theirs: Printed) -> list[str]:
    """Return the lines that differ."""
    pairs = itertools.zip_longest(ours.lines, theirs.lines, fillvalue="")
    return [f"mindtorch: {mine}\nPyTorch:   {line}" for mine, line in pairs if not agree(mine, line)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run scripts on both libraries, and print how they compare; return 1 if one differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=names())
    parser.add_argument("-v", "--verbose", action="store_true", help="print differences and errors")
    options = parser.parse_args(arguments)
    good = 0
    for name in options.names:
        theirs, ours = run(name, "torch"), run(name, "mindtorch")
        found = disagreements(ours, theirs)
        good += ours.status == theirs.status == 0 and not found
        print(f"{name:18} PyTorch: {theirs.status}  mindtorch: {ours.status}  lines: {len(theirs.lines)}  "
              f"different: {len(found)}", flush=True)
        if options.verbose:
            failed = [each.errors[-1500:] for each in (ours, theirs) if each.status]
            print(*found[:6], *failed, sep="\n", flush=True)
    print(f"{good} of {len(options.names)} print the same")
    return 0 if good == len(options.names) else 1


if __name__ == "__main__":
    sys.exit(main())
