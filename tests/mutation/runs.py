"""Runs of the tests with a mutant active, the nearest tests first, until one fails or enough have reached the mutant.

Each is a fork of a process that has imported what it can: for a mutant that functions run, the library and the tests;
for one that runs when its module is imported, what the library and the tests import. A survey, which runs all tests
(of each some parameters) without a mutant, and each later run find out which mutants a test reaches: those are tried
first, and no test is tried with a mutant that it does not reach.
"""
from __future__ import annotations

import importlib
import json
import os
import re
import resource
import signal
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import islice
from math import log
from pathlib import Path
from types import CodeType
from typing import NamedTuple

import pytest

from tests import garbage

from .mutants import Mutant
from .planting import LOG, Planted

IMPORTED = "torch", "scipy.special", "IPython", "hypothesis", "nbmake.pytest_plugin"
#: Tests that need a browser or minutes.
LEFT_OUT = ("tests/browser", "tests/course/test_release.py", "tests/course/test_mutations.py", "tests/mutation")
#: How many tests that reach a mutant are to pass with it; how many are tried at once, and how often.
REACHING, TRIED, ROUNDS = 40, 40, 3
#: Of a test, how many parameters are surveyed, and how many are tried without knowing whether they reach a mutant.
SURVEYED, VARIANTS, SURVEYORS = 5, 3, 2
#: How many tests are tried if the library is imported anew, of how many modules.
FRESH, FILES = 40, 6
#: Seconds: of the processor, after which no more tests begin, and of a run; of a run's clock.
ENOUGH, LIMIT, PATIENCE, DAY = 15, 60, 300, 86_400

Fates = dict[int, tuple[str, list[str]]]  #: of each mutant by number: caught or survived, and by which tests


def start(task: Callable[[], int], output: Path, seconds: int = LIMIT) -> int:
    """Begin a task in a fork, with a limit of processor time, and return its process."""
    child = os.fork()
    if not child:
        code = 1
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
            for stream in 1, 2:
                os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
            code = task()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return child


def running(child: int) -> bool:
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


class End(NamedTuple):
    """How a run ended: with which code (a signal's is negative), or too late."""

    code: int
    late: bool = False

    @property
    def good(self) -> bool:
        return self == (0, False)


def fork(task: Callable[[], int], output: Path, seconds: int = LIMIT) -> End:
    """Run a task in a fork until it ends or is late."""
    child, deadline = start(task, output, seconds), time.monotonic() + max(PATIENCE, seconds)
    while late := running(child):
        if time.monotonic() > deadline:
            break
        time.sleep(0.02)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what the tests left, too
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return End(code, late or code == -signal.SIGXCPU)


class Known:
    """What runs have told of the tests: which pass without a mutant, how long they take, what they reach."""

    def __init__(self, words: dict[str, frozenset[str]]) -> None:
        self.words = words
        self.seconds: dict[str, float] = {}
        self.reached: dict[str, frozenset[int]] = {}
        self.broken: set[str] = set()
        self.naming: defaultdict[str, list[str]] = defaultdict(list)
        for test, found in words.items():
            for word in found:
                self.naming[word].append(test)

    def nearest(self, mutant: Mutant, number: int) -> Iterator[str]:
        """Yield the tests that may reach a mutant, or, if its number is negative, a function of its module: those that
        are known to, then those that mention what its statement does, the rarest words first.
        """
        near: defaultdict[str, float] = defaultdict(float, {test: 0. for test, reached in self.reached.items()
                                                            if number in reached})
        for word in words_in(mutant.path.replace("/", " ") + "\n" + mutant.around):
            for test in self.naming[word]:
                near[test] += log(len(self.words) / len(self.naming[word]))

        def rank(test: str) -> tuple[bool, float]:
            return number not in self.reached.get(test, ()), 4 * self.seconds.get(test, 0.) - near[test]

        functions: Counter[str] = Counter()
        for test in sorted(near, key=rank):
            function = test.partition("[")[0]
            may_reach = number < 0 or number in self.reached.get(test, (number,))
            enough = functions[function] >= VARIANTS and number not in self.reached.get(test, ())
            if may_reach and test not in self.broken and not enough:
                functions[function] += 1
                yield test


class Session:
    """A plugin of pytest that collects the tests and tries mutants with them: in forks of some workers, which are
    forks themselves.
    """

    def __init__(self, planted: Planted, mutants: Sequence[Mutant], folder: Path, workers: int) -> None:
        self.planted, self.mutants, self.folder, self.workers = planted, mutants, folder, workers

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        self.known = Known({name: words_of(item) for name, item in self.items.items()})
        imported = frozenset(self.planted.reached)
        garbage.freeze()  # else each fork would visit, and so copy, all that is alive
        os.environ[LOG] = str(self.folder / "reached")
        surveys = [start(lambda: self.survey(part), self.folder / f"survey{part}.log", DAY)  # noqa: B023
                   for part in range(SURVEYORS)]
        for child in surveys:
            os.waitpid(child, 0)
        self.read_surveys()
        children = [start(lambda: self.work(imported, worker), self.folder / f"worker{worker}.log", DAY)  # noqa: B023
                    for worker in range(self.workers)]
        for child in children:
            os.waitpid(child, 0)
        return True

    def survey(self, part: int) -> int:
        """Run some parameters of each test without a mutant, and note how long it takes and what it reaches; skip what
        an earlier run of the tool has noted.
        """
        self.read_surveys()
        functions: defaultdict[str, list[str]] = defaultdict(list)
        for test in self.items:
            functions[test.partition("[")[0]].append(test)
        files: defaultdict[str, list[str]] = defaultdict(list)
        for function, tests in functions.items():
            step = -(-len(tests) // SURVEYED)
            files[function.partition("::")[0]] += tests[step // 2::step]
        mine, self.folder = list(files)[part::SURVEYORS], self.folder / f"survey{part}"
        self.folder.mkdir(exist_ok=True)
        os.environ[LOG] = str(self.folder / "reached")
        for file in mine:
            if not self.known.seconds.keys().isdisjoint(files[file]):
                continue
            tests, began = files[file], time.time()
            while tests:
                failing = self.run(tests, None)
                done = tests[:tests.index(failing)] if failing else tests
                rows = [(test, self.known.seconds[test], sorted(self.known.reached[test])) for test in done]
                if failing:
                    rows.append((failing, -1., []))
                with open(self.folder.with_suffix(".jsonl"), "a", encoding="utf-8") as out:
                    out.writelines(json.dumps(row) + "\n" for row in rows)
                tests = tests[len(done) + 1:] if not self.end.late else []
            print(file, round(time.time() - began), flush=True)
        return 0

    def read_surveys(self) -> None:
        for file in self.folder.glob("survey*.jsonl"):
            for test, seconds, reached in map(json.loads, file.read_text().splitlines()):
                if seconds < 0:
                    self.known.broken.add(test)
                else:
                    self.known.seconds[test], self.known.reached[test] = seconds, frozenset(reached)

    def work(self, imported: frozenset[int], worker: int) -> int:
        """Try a worker's part of the mutants; of those that their modules' import reaches, choose the tests."""
        self.fates, self.folder = self.folder / "fates.jsonl", self.folder / f"worker{worker}"
        self.folder.mkdir(exist_ok=True)
        os.environ[LOG] = str(self.folder / "reached")
        for number, mutant in list(enumerate(self.mutants))[worker::self.workers]:
            if number in imported:
                tests = self.known.nearest(mutant, self.planted.module(mutant.path))
                self.write(number, "imported", in_few_files(tests))
            else:
                self.write(number, *self.try_mutant(number))
        return 0

    def write(self, number: int, fate: str, tests: list[str]) -> None:
        with open(self.fates, "a", encoding="utf-8") as file:
            file.write(json.dumps([number, fate, tests]) + "\n")

    def try_mutant(self, number: int) -> tuple[str, list[str]]:
        """Return whether a test catches a mutant, and the test, or those that reached it."""
        passed: list[str] = []
        for _ in range(ROUNDS):
            nearest = self.known.nearest(self.mutants[number], number)
            tests = list(islice((test for test in nearest if test not in passed), TRIED))
            if not tests or len(passed) >= REACHING:
                break
            failing = self.run(tests, number)
            passed += [test for test in tests if number in self.known.reached.get(test, ()) and test != failing]
            if failing is not None:
                if fate := self.catch(tests[:tests.index(failing) + 1], number):
                    return fate, [failing]
                self.known.broken.add(failing)
        return ("survived", passed) if passed else ("unreached", [])

    def catch(self, tests: Sequence[str], number: int) -> str:
        """Return what the last of some tests does to a mutant: "caught" if it fails again with it and passes without
        it, alone or after the others, and reached it; "hung" if it does not end with it, but soon without it.
        """
        for chosen in [tests[-1]], tests:
            if self.run(chosen, number) == tests[-1] and number in self.reached:
                late = self.end.late
                if self.run(chosen, None) is None and not (late and self.known.seconds[tests[-1]] > LIMIT / 4):
                    return "hung" if late else "caught"
        return ""

    def run(self, tests: Sequence[str], number: int | None, seconds: int = LIMIT) -> str | None:
        """Run tests with an active mutant and return the first that fails or does not end."""
        result = self.folder / "result.jsonl"
        result.write_text("")
        self.end = fork(lambda: self.run_here([self.items[test] for test in tests], number, result),
                        self.folder / f"{number}.log", seconds)
        lines = [json.loads(line) for line in result.read_text().splitlines()]
        for test, seconds, reached in lines:
            self.known.seconds[test] = seconds
            self.known.reached[test] = frozenset(reached)
        self.reached = {each for _, _, reached in lines for each in reached} | noted()
        return None if self.end.good else tests[min(len(lines), len(tests) - 1)]

    def run_here(self, items: Sequence[pytest.Item], number: int | None, result: Path) -> int:
        self.planted.active = number
        reports = Reports()
        items[0].config.pluginmanager.register(reports)
        reaching, began = 0, time.process_time()
        with open(result, "a", encoding="utf-8") as file:
            for item, following in zip(items, [*items[1:], None], strict=True):
                self.planted.reached.clear()
                Path(os.environ[LOG]).write_text("")
                before = time.process_time()
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if reports.failed:
                    return 1
                reached = noted()
                took = round(time.process_time() - before, 3)
                file.write(json.dumps([item.nodeid, took, sorted(reached)]) + "\n")
                file.flush()
                reaching += number in reached
                if reaching == REACHING or (number is not None and time.process_time() - began > ENOUGH):
                    break
        return 0


def noted() -> set[int]:
    """Return the numbers that a test noted, in all its processes."""
    return set(map(int, Path(os.environ[LOG]).read_text().split()))


class Reports:
    """A plugin of pytest that prints why a test failed."""

    failed = ""  #: the test

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed = report.nodeid
            print(f"{report.nodeid}\n{report.longrepr}", flush=True)


def words_in(text: str) -> frozenset[str]:
    """List the words of a text, in which underscores and capitals make no difference."""
    return frozenset(word.replace("_", "").lower() for word in re.findall(r"\w{3,}", text))


def words_of(item: pytest.Item) -> frozenset[str]:
    """List the words of a test: of its name, and of its function."""
    function = getattr(item, "function", None)
    name = words_in(item.nodeid.replace("/", " "))
    return name | words_in_code(function.__code__) if hasattr(function, "__code__") else name


@cache
def words_in_code(code: CodeType) -> frozenset[str]:
    last = max(line or 0 for _, _, line in code.co_lines())
    return words_in("\n".join(lines_of(code.co_filename)[code.co_firstlineno - 1:last]))


@cache
def lines_of(file: str) -> list[str]:
    return Path(file).read_text().splitlines()


def in_few_files(tests: Iterable[str]) -> list[str]:
    """Choose the first of some tests, of no more modules than a process collects quickly."""
    chosen: dict[str, list[str]] = {}
    for test in tests:
        file = test.partition("::")[0]
        if file in chosen or len(chosen) < FILES:
            chosen.setdefault(file, []).append(test)
        if sum(map(len, chosen.values())) == FRESH:
            break
    return [test for found in chosen.values() for test in found]


def import_modules(mutants: Sequence[Mutant]) -> None:
    """Import the modules of all mutants, as far as they can be imported here."""
    for path in sorted({mutant.path for mutant in mutants}):
        name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        if not name.endswith("__main__"):
            try:
                importlib.import_module(name)
            except ImportError as error:
                print(error)


OPTIONS = ["-p", "no:cacheprovider", "-p", "no:xdist"]


def try_all(planted: Planted, mutants: Sequence[Mutant], folder: Path, tests: Sequence[str], workers: int) -> Fates:
    """Try mutants with tests, and return what became of each, with the test that caught it or those that did not."""
    def collect() -> int:
        import_modules(mutants)
        ignored = [f"--ignore={path}" for path in LEFT_OUT]
        return int(pytest.main([*OPTIONS, *ignored, *tests], plugins=[Session(planted, mutants, folder, workers)]))

    fates, found = folder / "fates.jsonl", Fates()
    fates.write_text("")
    child = start(collect, folder / "session.log", DAY)
    with open(fates, encoding="utf-8") as lines:
        while (line := lines.readline()) or running(child):
            if line:
                number, fate, chosen = json.loads(line)
                found[number] = (fate, chosen) if fate != "imported" else try_fresh(planted, number, chosen, folder)
                print(number, found[number][0], mutants[number].diff, *found[number][1][:1], flush=True)
            else:
                time.sleep(1)
    return found


def try_fresh(planted: Planted, number: int, tests: Sequence[str], folder: Path) -> tuple[str, list[str]]:
    """Try a mutant that is active when the library is imported."""
    remaining, reached = list(tests), False
    while remaining:
        end, failing = run_fresh(planted, number, remaining, folder)
        reached |= number in noted()
        if end.good:
            break
        again = failing or remaining
        if run_fresh(planted, None, again, folder)[0].good:
            second, _ = run_fresh(planted, number, again, folder)
            if not second.good and second.late == end.late and number in noted():
                collected = failing or end.code < 0
                return ("hung" if end.late else "caught" if collected else "not imported"), failing
        remaining = [test for test in remaining if test not in failing] if failing else []
    return ("survived", remaining) if reached else ("unreached", [])


def run_fresh(planted: Planted, number: int | None, tests: Sequence[str], folder: Path) -> tuple[End, list[str]]:
    """Run tests in a process that has imported nothing of the library, and list the one that failed, if it is known."""
    failed = folder / "failed"
    failed.write_text("")
    os.environ[LOG] = str(folder / "reached")
    Path(os.environ[LOG]).write_text("")

    def task() -> int:
        planted.activate_alone(number)
        reports = Reports()
        code = pytest.main([*OPTIONS, "-x", *tests], plugins=[reports])
        failed.write_text(reports.failed)
        return int(code)

    return fork(task, folder / f"{number}.log"), [test for test in [failed.read_text()] if test]
