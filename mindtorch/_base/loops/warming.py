"""Compile loops for later programs, in a process of its own that nobody waits for.

numba takes about a second for a loop, and a model's first step needs a dozen. A program that finds a loop neither in
its memory nor on the disk therefore computes with NumPy, and begins a process of low priority that compiles all loops
that the disk lacks. With ``MINDTORCH_LOOPS=wait`` in the environment, loops are compiled where they are needed, as they
are if no place can be written to; with ``MINDTORCH_LOOPS=kept``, NumPy computes those that the disk lacks.
``python -m mindtorch loops`` compiles them all, and shows how far it is.
"""
from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib.util import find_spec
from multiprocessing import parent_process
from pathlib import Path
from typing import Any

from .. import forks
from . import machine_code

#: What a child process runs. Its path is this process's, since a program may have changed it.
CHILD = "import sys; sys.path[:0] = sys.argv[2:]; from mindtorch._base.loops import warming; warming.child(sys.argv[1])"

_begun: subprocess.Popen[bytes] | None = None


def begin(name: str) -> bool:
    """Have all loops compiled for later programs, this one first; return False if it is to be compiled here. Of several
    processes that compute together, the first begins.
    """
    global _begun
    mode = os.environ.get("MINDTORCH_LOOPS")
    if mode == "wait" or not sys.executable or find_spec("numba") is None:
        return False
    is_first = mode != "kept" and parent_process() is None and os.environ.get("LOCAL_RANK", "0") == "0"
    if _begun is None and is_first:
        if not machine_code.can_keep():
            return False
        command = [sys.executable, "-c", CHILD, name, str(Path(__file__).parents[3])]
        quiet = subprocess.DEVNULL
        try:
            _begun = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)
        except OSError:
            return False
    return True


def child(first: str) -> None:
    """Compile the loops that the disk lacks, in this process of low priority: one first, then the others in any order,
    so that several such processes share them.
    """
    if hasattr(os, "nice"):
        os.nice(19)
    with suppress(OSError):  # Linux shares the processor among groups first, and this process is one of its own
        Path("/proc/self/autogroup").write_text("19")
    os.environ["MINDTORCH_LOOPS"] = "wait"
    names = sorted(table(), key=lambda name: (name != first, random.random()))
    for _ in compile_missing(names):
        pass


def table() -> dict[str, Callable[[], bytes]]:
    """Import numba, and return what compiles each loop.

    Raises:
        ImportError: without numba.
    """
    bodies: Any = forks.load_module(f"{__package__}.bodies")
    return dict(bodies.LOOPS)


def compile_missing(names: Iterable[str]) -> Iterable[tuple[str, Exception | None]]:
    """Compile the loops of these names that the disk lacks, and yield each name, with the error if it fails."""
    loops = table()
    for name in names:
        error = None
        try:
            if machine_code.kept(name) is None:
                machine_code.keep(name, loops[name]())
        except Exception as failed:
            error = failed
        yield name, error
