"""``torch.utils.benchmark``: how long a statement takes, measured so that two of them can be compared."""
from __future__ import annotations

import sys
import timeit
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from math import ceil, floor, log10, sqrt
from statistics import fmean, median, stdev
from textwrap import dedent, indent
from time import perf_counter
from typing import Any

from .._methods.settings import get_num_threads, set_num_threads

__all__ = ["Compare", "Measurement", "TaskSpec", "Timer", "select_unit", "timer", "trim_sigfig"]

timer = perf_counter
#: The least uncertainty of a time, in seconds: what two readings of the clock differ by.
CLOCK = 25e-9
#: An interquartile range above this part of the median is said.
NOISY, VERY_NOISY = 0.1, 0.25
ENOUGH = 4  #: so many measurements have an interquartile range
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
WORDS = {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second"}


def select_unit(t: float) -> tuple[str, float]:
    """Return the best unit for a time in seconds, and its length in seconds."""
    found = min(max(bisect_right([*UNITS.values()], t * (1 + 1e-12)) - 1, 0), len(UNITS) - 1)
    return [*UNITS.items()][found]


def trim_sigfig(x: float, n: int) -> float:
    """Return a number rounded to ``n`` significant figures."""
    return 0.0 if not x else round(x, n - 1 - floor(log10(abs(x))))


@dataclass(frozen=True)
class TaskSpec:
    """A ``Timer``'s task (``torch.utils.benchmark.TaskSpec``)."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the statement."""
        title = self.label or (self.stmt if "\n" not in self.stmt else f"stmt:\n{indent(self.stmt, '  ')}")
        return f"{title}: {self.sub_label}" if self.sub_label else title

    @property
    def as_row_name(self) -> str:
        """The name of a row of ``Compare``."""
        return self.sub_label or self.stmt

    def setup_str(self) -> str:
        """Return the setup, as ``Measurement`` prints it."""
        if not self.setup or self.setup == "pass":
            return ""
        return f"setup:\n{indent(self.setup, '  ')}" if "\n" in self.setup else f"setup: {self.setup}"


@dataclass(repr=False)
class Measurement:
    """Measured times in seconds, each of ``number_per_run`` runs (``torch.utils.benchmark.Measurement``)."""

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name in TaskSpec.__dataclass_fields__ or name in ("title", "as_row_name"):
            return getattr(self.task_spec, name)
        raise AttributeError(f"'Measurement' object has no attribute {name!r}")

    @cached_property
    def times(self) -> list[float]:
        """Seconds of a run, one for each measurement."""
        return [time / self.number_per_run for time in self.raw_times]

    @property
    def median(self) -> float:
        """The median of the times, in seconds."""
        return median(self._known)

    @property
    def mean(self) -> float:
        """The mean of the times, in seconds."""
        return fmean(self._known)

    @property
    def iqr(self) -> float:
        """The interquartile range of the times, in seconds."""
        return self._quantile(0.75) - self._quantile(0.25)

    @property
    def _known(self) -> list[float]:
        if not self.raw_times:
            raise ValueError("No measurements to summarize.")
        return self.times

    def _quantile(self, part: float) -> float:
        ordered = sorted(self._known)
        place = part * (len(ordered) - 1)
        low = floor(place)
        high = min(low + 1, len(ordered) - 1)
        return ordered[low] + (place - low) * (ordered[high] - ordered[low])

    @property
    def significant_figures(self) -> int:
        """Return how many figures of the median the times' spread supports: 1 to 5."""
        ordered = sorted(self._known)
        middle = ordered[len(ordered) // 4: max(ceil(3 * len(ordered) / 4), len(ordered) // 4 + 1)]
        spread = 1.645 * stdev(middle) / sqrt(len(middle)) if len(middle) > 1 else 0.0
        if not self.median:
            return 1
        return min(max(floor(log10(self.median / max(spread, CLOCK))), 1), 5)

    @property
    def has_warnings(self) -> bool:
        """True if the times spread so far that they should be measured again."""
        return self.iqr / self.median >= NOISY if self.median else False

    def meets_confidence(self, threshold: float = NOISY) -> bool:
        """Return True if the interquartile range is below that part of the median."""
        return self.iqr / self.median < threshold

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Merge the times of each task to one measurement."""
        found: dict[TaskSpec, list[float]] = {}
        for item in measurements:
            found.setdefault(item.task_spec, []).extend(item.times)
        return [Measurement(1, times, task) for task, times in found.items()]

    def __repr__(self) -> str:
        task, count = self.task_spec, len(self.raw_times)
        lines = [f"<torch.utils.benchmark.utils.common.Measurement object at {id(self):#x}>", task.title,
                 task.description or "", task.setup_str()]
        unit, scale = select_unit(self.median) if count else ("s", 1.0)
        if count > 1:
            low, high = self._quantile(0.25), self._quantile(0.75)
            lines.append(f"  Median: {self.median / scale:.2f} {unit}")
            if count >= ENOUGH:
                lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit} ({low / scale:.2f} to {high / scale:.2f})")
        elif count:
            lines.append(f"  {self.median / scale:.2f} {unit}")
        runs = f"{self.number_per_run} runs {'per measurement' * (count > 1)}"
        lines.append(f"  {count} measurement{'s' * (count != 1)}, {runs}, {task.num_threads} "
                     f"thread{'s' * (task.num_threads != 1)}")
        if count and self.has_warnings:
            part = self.iqr / self.median
            lines.append(f"  WARNING: Interquartile range is {part * 100:.1f}% of the median measurement.\n"
                         "           This " + ("suggests significant environmental influence." if part >= VERY_NOISY
                                               else "could indicate system fluctuation."))
        return "\n".join(line for line in lines if line)


class Timer:
    """Measures a statement, with one thread unless told otherwise (``torch.utils.benchmark.Timer``).

    Unlike ``timeit.Timer`` it warms up, repeats until the time is certain enough, and says what was measured.

    Args:
        stmt: Python code; names in it are those of ``globals`` and of ``setup``.
        setup: Python code that runs once before.
        timer: a clock, in seconds.
        globals: names for the code.
        label, sub_label, description, env: what ``Compare`` prints in title, row, column and group.
        num_threads: how many threads operators use meanwhile.

    Raises:
        ValueError: for C++, which there is no compiler for.
    """

    def __init__(self, stmt: str = "pass", setup: str = "pass", global_setup: str = "",
                 timer: Callable[[], float] = timer, globals: dict[str, Any] | None = None, label: str | None = None,
                 sub_label: str | None = None, description: str | None = None, env: str | None = None,
                 num_threads: int = 1, language: Any = "python"):
        if str(getattr(language, "name", language)).lower() not in ("python", "py"):
            raise ValueError("mindtorch measures Python: it has no C++ to compile")
        if global_setup:
            raise ValueError(f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply be "
                             "moved to `setup`.")
        stmt, setup = dedent(stmt).strip(), dedent(setup).strip()
        names = {"torch": sys.modules[__name__.partition(".")[0]], **(globals or {})}
        self._timer = timeit.Timer(stmt=stmt, setup=setup, timer=timer, globals=names)
        self._task_spec = TaskSpec(stmt, setup, "", label, sub_label, description, env, num_threads)

    def _run(self, number: int) -> float:
        before = get_num_threads()
        set_num_threads(self._task_spec.num_threads)
        try:
            return max(self._timer.timeit(number), 1e-9)
        finally:
            set_num_threads(before)

    def _enough(self, min_run_time: float) -> int:
        """Return the number of runs that take a thousandth of the time, so that reading the clock does not count."""
        number = 1
        while (seconds := self._run(number)) < max(min_run_time / 1000, 1e-4):
            number *= 10 if seconds < min_run_time / 1e5 else 2
        return number

    def timeit(self, number: int = 1000000) -> Measurement:
        """Measure ``number`` runs once, after a warm-up."""
        self._run(max(number // 100, 2))
        return Measurement(number, [self._run(number)], self._task_spec)

    def blocked_autorange(self, callback: Callable[[int, float], Any] | None = None,
                          min_run_time: float = 0.2) -> Measurement:
        """Measure for ``min_run_time`` seconds, in blocks of enough runs that the clock's share is small."""
        number = self._enough(min_run_time)
        times: list[float] = []
        while sum(times) < min_run_time:
            times.append(self._run(number))
            if callback is not None:
                callback(number, times[-1])
        return Measurement(number, times, self._task_spec)

    def adaptive_autorange(self, threshold: float = 0.1, *, min_run_time: float = 0.01, max_run_time: float = 10.0,
                           callback: Callable[[int, float], Any] | None = None) -> Measurement:
        """Measure until the interquartile range is below ``threshold`` of the median, or the time is over."""
        number = self._enough(min_run_time)
        times: list[float] = []
        while True:
            while sum(times) < min_run_time or len(times) < ENOUGH:
                times.append(self._run(number))
                if callback is not None:
                    callback(number, times[-1])
            found = Measurement(number, times, self._task_spec)
            if found.meets_confidence(threshold) or sum(times) >= max_run_time:
                return found
            min_run_time = sum(times) * 1.5


class Compare:
    """A table of measurements: a row a ``sub_label``, a column a ``description`` (``torch.utils.benchmark.Compare``).

    Times stand in one unit; rows are grouped by the number of threads, and tables by the label.
    """

    def __init__(self, results: Iterable[Measurement]):
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trim = self._warn = False
        self._colour = ""  # or "row", "column": whose least time is green

    def __str__(self) -> str:
        merged = Measurement.merge(self._results)
        return "\n".join([self._table([item for item in merged if item.task_spec.label == label])
                          for label in dict.fromkeys(item.task_spec.label for item in merged)])

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements. Raises ValueError for anything else."""
        for item in results:
            if not isinstance(item, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(item)} instead.")
            self._results.append(item)

    def trim_significant_figures(self) -> None:
        """Print only the figures that the spread of the times lets one trust."""
        self._trim = True

    def colorize(self, rowwise: bool = False) -> None:
        """Print the least time of a column, or of a row, in bold green, and what takes twice as long in red."""
        self._colour = "row" if rowwise else "column"

    def highlight_warnings(self) -> None:
        """Mark times whose measurements spread far."""
        self._warn = True

    def print(self) -> None:
        """Print the table."""
        print(self)

    def _table(self, items: list[Measurement]) -> str:
        unit, scale = select_unit(min(item.median for item in items))
        columns = [*dict.fromkeys(item.task_spec.description or "" for item in items)]
        rows = sorted(dict.fromkeys((item.task_spec.num_threads, item.task_spec.env or "", item.task_spec.as_row_name)
                                    for item in items), key=lambda row: row[0])
        place = {(item.task_spec.num_threads, item.task_spec.env or "", item.task_spec.as_row_name,
                  item.task_spec.description or ""): item for item in items}
        grid = [[place.get((*row, column)) for column in columns] for row in rows]
        texts = [[self._text(item, scale) for item in line] for line in grid]
        widths = [max(len(column), *(len(line[i]) for line in texts)) for i, column in enumerate(columns)]
        first = max(len(self._name(row)) for row in rows) + 6
        named = zip(columns, widths, strict=True)
        head = " " * first + "".join(f"  |  {name:^{width}}" for name, width in named) + "  "
        lines = [f"[{f' {items[0].task_spec.label or items[0].task_spec.stmt} ':-^{len(head) - 2}}]", head.rstrip()]
        for threads, group in groupby(enumerate(rows), key=lambda pair: pair[1][0]):
            lines.append(f"{f'{threads} threads: ':-<{len(head)}}")
            for number, row in group:
                cells = [self._coloured(f"{text:>{width}}", grid, number, i)
                         for i, (text, width) in enumerate(zip(texts[number], widths, strict=True))]
                lines.append(f"      {self._name(row):<{first - 6}}" + "".join(f"  |  {cell}" for cell in cells))
        lines.append(f"\nTimes are in {WORDS[unit]}s ({unit}).\n")
        if self._warn and any(item.has_warnings for item in items):
            lines.append("(! XX%) Measurement has high variance, where XX is the IQR / median * 100.\n")
        return "\n".join(lines)

    @staticmethod
    def _name(row: tuple[int, str, str]) -> str:
        return f"({row[1]}) {row[2]}" if row[1] else row[2]

    def _text(self, item: Measurement | None, scale: float) -> str:
        if item is None:
            return ""
        value = item.median / scale
        figures = item.significant_figures if self._trim else 2
        text = f"{trim_sigfig(value, figures):.{max(figures - 1 - floor(log10(value)), 0)}f}" if self._trim and value \
            else f"{value:.1f}"
        return f"(! {item.iqr / item.median * 100:.0f}%) {text}" if self._warn and item.has_warnings else text

    def _coloured(self, text: str, grid: list[list[Measurement | None]], row: int, column: int) -> str:
        item = grid[row][column]
        if not self._colour or item is None:
            return text
        others = grid[row] if self._colour == "row" else [line[column] for line in grid]
        ratio = item.median / min(other.median for other in others if other is not None)
        code = "92;1" if ratio < 1.05 else "91" if ratio > 2 else ""
        return f"\033[{code}m{text}\033[0m" if code else text
