"""Tries mutants in a process that has imported the library: in a fork, the changed functions get their new code.

Importing the library takes longer than most tests. What is decided while it is imported cannot be changed so, nor what
a module does outside of functions; of such a mutant, and of one that seems to survive, another run has to tell.

``python -m tests.mutation.exchange``, in the tree, reads a line for each mutant and answers with a line.
"""
from __future__ import annotations

import gc
import importlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType

from .mutants import Mutant

PRELOADED = ("torch", "torch.testing._internal.common_optimizers", "scipy.special", "IPython", "hypothesis", "pytest",
             "nbmake.pytest_plugin", "mindtorch", "mindtorch.introspect", "mindtorch.viz")


def functions_of(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of all functions in a module's code, except for class bodies."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_flags & 2:  # CO_NEWLOCALS: a class body has none
                yield constant
            yield from functions_of(constant)


def place(code: CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno


def exchange(path: str, before: str, after: str) -> bool:
    """Give all functions that are alive the code that they have in a changed source. Returns whether there is such a
    function, and nothing else has changed.
    """
    file = os.path.abspath(path)
    old, new = (compile(source, file, "exec", dont_inherit=True) for source in (before, after))
    codes = [(a, b) for a, b in zip(functions_of(old), functions_of(new), strict=False) if a != b]
    if not codes or any(place(a) != place(b) or a.co_freevars != b.co_freevars for a, b in codes):
        return False
    changed, done = {place(a): b for a, b in codes}, False
    for function in gc.get_objects():
        if type(function) is FunctionType and function.__code__.co_filename == file:
            code = changed.get(place(function.__code__))
            if code is not None and code.co_freevars == function.__code__.co_freevars:
                function.__code__, done = code, True
    return done


def _try(path: str, before: str, after: str, tests: Sequence[str], seconds: float) -> int:
    importlib.import_module(path.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
    if not exchange(path, before, after):
        return 0
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 5))
    for stream in 1, 2:
        os.dup2(os.open(f"run.{stream}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
    import pytest
    return int(pytest.main(["-x", "-p", "no:cacheprovider", *tests]))


def serve() -> None:
    sys.dont_write_bytecode = True
    for name in PRELOADED:
        importlib.import_module(name)
    for line in sys.stdin:
        path, before, after, tests, seconds = json.loads(line)
        child = os.fork()
        if not child:
            code = 1
            try:
                code = _try(path, before, after, tests, seconds)
            finally:
                os._exit(code)
        deadline = time.monotonic() + 10 * seconds
        while os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            if time.monotonic() > deadline:
                os.kill(child, signal.SIGKILL)
            time.sleep(0.02)
        print(os.waitpid(child, 0)[1], flush=True)


class Server:
    """The process, which tries one mutant after the other."""

    def __init__(self, tree: Path) -> None:
        self.process = subprocess.Popen([sys.executable, "-m", "tests.mutation.exchange"], cwd=tree, text=True,
                                        env={**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"},
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def catches(self, mutant: Mutant, tests: Sequence[str], seconds: float) -> bool:
        """Whether a test fails with the mutant; if not, it may be that nothing could be exchanged."""
        assert self.process.stdin is not None and self.process.stdout is not None
        request = mutant.path, mutant.source, mutant.mutated, list(tests), seconds
        print(json.dumps(request), file=self.process.stdin, flush=True)
        return int(self.process.stdout.readline()) != 0


if __name__ == "__main__":
    serve()
