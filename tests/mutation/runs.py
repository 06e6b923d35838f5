"""Runs of the tests on a copy of the tree: one that surveys which test covers which line, one for each mutant.

Every run is a process of its own, forked from one that has imported PyTorch and what else costs time, but nothing of
the library.
"""
from __future__ import annotations

import difflib
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

import pytest

from .exchange import Server
from .hits import Hits, statement_at
from .mutants import Mutant

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["torch", "scipy.special", "IPython", "hypothesis", "pytest",
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
    """A plugin of pytest: how much processor time each test function takes, all its parameters together, where the
    statements begin that it runs, and whether it passes.
    """

    def __init__(self, hits: Hits) -> None:
        self.hits = hits
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.lines: defaultdict[str, defaultdict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
        self.failed: set[str] = set()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        test = item.nodeid.partition("[")[0]
        self.hits.clear()
        before = os.times()
        yield
        self.seconds[test] += sum(os.times()[:4]) - sum(before[:4])
        for file, lines in self.hits.lines.items():
            if lines:
                self.lines[test][os.path.relpath(file)] |= lines

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid.partition("[")[0])


def _survey(test_module: str, sources: Sequence[str], result: str) -> int:
    """Write down, of each test that passes, how long it takes and which statements of the sources it runs."""
    hits = Hits(map(os.path.abspath, sources))
    hits.install()
    plugin = _Survey(hits)
    code = pytest.main(["-p", "no:cacheprovider", test_module], plugins=[plugin])
    lines = {test: {source: sorted(found) for source, found in sources.items()}
             for test, sources in plugin.lines.items()}
    Path(result).write_text(json.dumps({test: {"seconds": seconds, "lines": lines.get(test, {})}
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
        self.server: Server | None = None
        self._moved: dict[tuple[str, str], dict[int, int]] = {}  #: of an earlier text of a source, where its lines are

    def survey(self, sources: Sequence[str], test_modules: Sequence[str]) -> None:
        """Find out which tests run which statements of the sources, or remember it where the test module is as it was:
        lines of the sources that moved meanwhile are found again.
        """
        for folder in "surveys", "texts":
            (self.copy / folder).mkdir(exist_ok=True)
        for module in test_modules:
            result = self.copy / "surveys" / f"{module.replace('/', '.')}.json"
            known = json.loads(result.read_text()) if result.exists() else {"hashes": {}}
            if known["hashes"].get(module) != self._hash(module) or not set(sources) <= set(known["hashes"]):
                print(f"surveying {module}", file=sys.stderr, flush=True)
                result.unlink(missing_ok=True)
                run(_survey, str(self.tree), module, sources, str(result), seconds=100)
                tests = json.loads(result.read_text()) if result.exists() else {}
                known = {"hashes": {source: self._hash(source) for source in (module, *sources)}, "tests": tests}
                result.write_text(json.dumps(known))
            for source in sources:
                (self.copy / "texts" / self._hash(source)).write_bytes((self.tree / source).read_bytes())
            self.tests[module] = {
                test: {**facts, "lines": {source: self._found_again(source, known["hashes"][source], lines)
                                          for source, lines in facts["lines"].items()}}
                for test, facts in known["tests"].items()}

    def _hash(self, name: str) -> str:
        return hashlib.sha256((self.tree / name).read_bytes()).hexdigest()

    def _found_again(self, source: str, before: str, lines: list[int]) -> list[int]:
        """Where lines of a source are that had this hash."""
        if before == self._hash(source):
            return lines
        moved = self._moved.get((source, before))
        if moved is None:
            texts = ((self.copy / "texts" / before).read_text(), (self.tree / source).read_text())
            matcher = difflib.SequenceMatcher(None, *(text.splitlines() for text in texts), autojunk=False)  # type: ignore[call-overload]
            moved = self._moved[source, before] = {
                old + 1: new + 1 for _, first, last, start, stop in matcher.get_opcodes()
                for old, new in zip(range(first, last), range(start, stop), strict=False)}
        return [moved[line] for line in lines if line in moved]

    def covering(self, mutant: Mutant, test_modules: Sequence[str]) -> list[tuple[str, float]]:
        """List the tests that run a mutant's statement, or the function that it defines, and how long each takes, the
        fastest first; all tests where the statement is run by an import, or by none of them.
        """
        tests = {test: facts for module in test_modules for test, facts in self.tests[module].items()}
        lines, is_function, is_imported = statement_at(mutant.source, mutant.lines.start)
        wanted = set(lines if is_function else lines[:1])
        direct = {test for test, facts in tests.items() if wanted & set(facts["lines"].get(mutant.path, ()))}
        chosen = direct if direct and (is_function or not is_imported) else tests
        return sorted(((test, tests[test]["seconds"]) for test in chosen), key=lambda pair: pair[1])

    def catches(self, mutant: Mutant, tests: Sequence[tuple[str, float]]) -> bool:
        """Whether a test fails, or does not end, with the mutant in its module's place. What a fork of a process that
        has imported the library does not notice is tried again with the module's file changed.
        """
        if self.server is None:
            self.server = Server(self.tree)
        duration = sum(seconds for _, seconds in tests)
        if self.server.catches(mutant, [test for test, _ in tests], STARTUP + 3 * duration):
            return True
        path = self.tree / mutant.path
        before = path.stat()
        path.write_text(mutant.mutated)
        os.utime(path, (before.st_atime, before.st_mtime + 1))
        try:
            code = run(_try_mutant, str(self.tree), [test for test, _ in tests],
                       seconds=duration)
        finally:
            path.write_text(mutant.source)
            os.utime(path, (before.st_atime, before.st_mtime))
        return code != 0
