"""Runs of the tests on a copy of the tree: one that surveys which test covers which line, one for each mutant.

Every run is a process of its own, forked from one that has imported PyTorch and what else costs time, but nothing of
the library.
"""
from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import resource
import shutil
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import coverage
import pytest

from .mutants import Mutant

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["torch", "scipy.special", "IPython", "hypothesis", "coverage", "pytest",
                                 "nbmake.pytest_plugin"])
#: The seconds that a run may take beyond a multiple of what its tests take: of processor time, and in all.
STARTUP, PATIENCE = 20, 150


def run(task: Callable[..., Any], *args: Any, seconds: float) -> int | None:
    """Run a task in a process of its own and return its exit code, or None if it took too long."""
    process = _context.Process(target=_limited, args=(task, STARTUP + 3 * seconds, *args))
    process.start()
    process.join(PATIENCE + 20 * seconds)
    if process.exitcode is None:
        process.kill()
        process.join()
        return None
    return process.exitcode


def _limited(task: Callable[..., Any], seconds: float, tree: str, *args: Any) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 5))
    os.chdir(tree)
    os.environ["PYTHONPATH"] = sys.path[0] = tree
    for name in [name for name in sys.modules if name.partition(".")[0] in ("tests", "mindtorch")]:
        del sys.modules[name]
    for stream in 1, 2:
        os.dup2(os.open(f"run.{stream}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
    os._exit(task(*args))


def _try_mutant(tests: Sequence[str]) -> int:
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    return pytest.main(["-x", "-p", "no:cacheprovider", *tests])


class _Survey:
    """A plugin of pytest: how much processor time each test function takes, all its parameters together, which lines it
    runs, and whether it passes.
    """

    def __init__(self, sources: Sequence[str]) -> None:
        self.measured = coverage.Coverage(data_file=None, include=list(map(os.path.abspath, sources)))
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.failed: set[str] = set()

    def pytest_collection_finish(self) -> None:
        self.measured.start()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        test = item.nodeid.partition("[")[0]
        self.measured.switch_context(test)
        before = os.times()
        yield
        self.seconds[test] += sum(os.times()[:4]) - sum(before[:4])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid.partition("[")[0])


def _survey(test_module: str, sources: Sequence[str], result: str) -> int:
    """Write down, of each test that passes, how long it takes and which lines of the sources it covers."""
    plugin = _Survey(sources)
    code = pytest.main(["-p", "no:cacheprovider", test_module], plugins=[plugin])
    plugin.measured.stop()
    data = plugin.measured.get_data()
    lines: defaultdict[str, defaultdict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for source in sources:
        for line, tests in data.contexts_by_lineno(os.path.abspath(source)).items():
            for test in tests:
                lines[test][source].append(line)
    Path(result).write_text(json.dumps({test: {"seconds": seconds, "lines": lines[test]}
                                        for test, seconds in plugin.seconds.items() if test not in plugin.failed}))
    return int(code)


class Tree:
    """A copy of the library and its tests, in which one mutant at a time takes the place of a module."""

    def __init__(self, original: Path, copy: Path) -> None:
        self.copy = copy
        shutil.rmtree(copy / "tree", ignore_errors=True)
        self.tree = copy / "tree"
        for part in "mindtorch", "tests":
            shutil.copytree(original / part, self.tree / part)
        for name in "pyproject.toml", "setup.py", "README.md":
            shutil.copy2(original / name, self.tree / name)
        #: of each test module the tests, how long each takes and which lines it covers
        self.tests: dict[str, dict[str, Any]] = {}

    def survey(self, sources: Sequence[str], test_modules: Sequence[str]) -> None:
        """Find out which tests cover which lines, or remember it where nothing has changed since."""
        folder = self.copy / "surveys"
        folder.mkdir(exist_ok=True)
        everything = b"".join((self.tree / source).read_bytes() for source in sources)
        for module in test_modules:
            content = everything + module.encode() + (self.tree / module).read_bytes()
            result = folder / f"{hashlib.sha256(content).hexdigest()}.json"
            if not result.exists():
                print(f"surveying {module}", file=sys.stderr, flush=True)
                run(_survey, str(self.tree), module, sources, str(result), seconds=100)
            self.tests[module] = json.loads(result.read_text()) if result.exists() else {}

    def covering(self, mutant: Mutant, test_modules: Sequence[str]) -> list[tuple[str, float]]:
        """The tests that run a mutant's lines, and how long each takes, the fastest first; where an import alone runs
        them, the tests that run anything of the module.
        """
        tests = {test: facts for module in test_modules for test, facts in self.tests[module].items()
                 if mutant.path in facts["lines"]}
        direct = {test for test, facts in tests.items() if set(facts["lines"][mutant.path]) & set(mutant.lines)}
        return sorted(((test, tests[test]["seconds"]) for test in direct or tests), key=lambda pair: pair[1])

    def catches(self, mutant: Mutant, tests: Sequence[tuple[str, float]]) -> bool:
        """Whether a test fails, or does not end, with the mutant in its module's place."""
        path = self.tree / mutant.path
        before = path.stat()
        path.write_text(mutant.mutated)
        os.utime(path, (before.st_atime, before.st_mtime + 1))
        try:
            code = run(_try_mutant, str(self.tree), [test for test, _ in tests],
                       seconds=sum(seconds for _, seconds in tests))
        finally:
            path.write_text(mutant.source)
            os.utime(path, (before.st_atime, before.st_mtime))
        return code != 0
