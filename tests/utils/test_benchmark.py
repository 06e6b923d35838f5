"""``torch.utils.benchmark``: what is said of times, and how many runs are taken; no time is asserted."""
from __future__ import annotations

import re
from itertools import count

import pytest
from hypothesis import given, strategies as st

import mindtorch as torch
from mindtorch.utils import benchmark

times = st.lists(st.floats(1e-8, 100.0), min_size=1, max_size=30)


def text(module, runs: int, seconds: list[float]) -> str:
    task = module.TaskSpec(stmt="x + 1", setup="x = 1", label="add", sub_label="one", description="now", num_threads=2)
    return re.sub(r"0x[0-9a-f]+", "", repr(module.Measurement(runs, seconds, task)))


@given(st.integers(1, 1000), times)
def test_a_measurement_says_what_pytorchs_does(runs: int, seconds: list[float]) -> None:
    theirs = pytest.importorskip("torch.utils.benchmark", reason="PyTorch, the oracle, is not installed")
    mine, other = (module.Measurement(runs, seconds, module.TaskSpec("x", "")) for module in (benchmark, theirs))
    for fact in ("median", "mean", "iqr"):
        assert getattr(mine, fact) == pytest.approx(getattr(other, fact), rel=1e-5, abs=1e-15), fact
    assert mine.title == other.title and mine.as_row_name == other.as_row_name


@pytest.mark.parametrize("seconds", [[1.5e-6], [1.5e-3, 2e-3, 9e-3], [2.0, 2.01, 2.02, 2.03], [3e-9]])
def test_a_measurement_reads_as_pytorchs_does(seconds: list[float]) -> None:
    theirs = pytest.importorskip("torch.utils.benchmark", reason="PyTorch, the oracle, is not installed")
    lines, expected = text(benchmark, 1, seconds).split("\n"), text(theirs, 1, seconds).split("\n")
    assert [" ".join(line.replace(" ,", ",").split()) for line in lines] == [
        " ".join(line.replace(" ,", ",").split()) for line in expected]


def test_runs_are_counted_by_the_clock_that_is_given() -> None:
    clock, calls = count(), []
    found = benchmark.Timer("calls.append(1)", globals={"calls": calls}, timer=lambda: float(next(clock))).timeit(300)
    assert found.raw_times == [1.0] and found.number_per_run == 300 and len(calls) == 303
    assert found.times == [1.0 / 300] and found.median == found.mean == 1.0 / 300 and found.iqr == 0


def test_a_block_of_measurements_takes_the_time_that_was_asked() -> None:
    clock = count()
    timer = benchmark.Timer("pass", timer=lambda: next(clock) * 0.125)
    found = timer.blocked_autorange(min_run_time=1.25)
    assert found.number_per_run == 1 and len(found.times) == 10
    assert len(timer.adaptive_autorange(min_run_time=0.25).times) == 4


def test_the_statement_runs_with_the_threads_that_were_asked_and_gives_them_back() -> None:
    before, seen = torch.get_num_threads(), []
    benchmark.Timer("seen.append(torch.get_num_threads())", globals={"seen": seen}, num_threads=2).timeit(1)
    assert set(seen) == {2} and torch.get_num_threads() == before
    with pytest.raises(ZeroDivisionError):
        benchmark.Timer("1 / 0", num_threads=2).timeit(1)
    assert torch.get_num_threads() == before


def test_a_table_has_a_row_a_sub_label_and_a_column_a_description() -> None:
    made = [benchmark.Measurement(1, [seconds], benchmark.TaskSpec("x", "", label="add", sub_label=row,
                                                                   description=column, num_threads=threads))
            for seconds, row, column, threads in ((1e-6, "small", "a", 1), (2e-6, "small", "b", 1),
                                                  (8e-6, "large", "a", 2))]
    table = benchmark.Compare(made)
    lines = [line.rstrip() for line in str(table).split("\n")]
    assert re.fullmatch(r"\[-+ add -+\]", lines[0])
    assert lines[1].split() == ["|", "a", "|", "b"]
    assert lines[2].startswith("1 threads: ---") and lines[4].startswith("2 threads: ---")
    assert lines[3].split() == ["small", "|", "1.0", "|", "2.0"] and lines[5].split() == ["large", "|", "8.0", "|"]
    assert "Times are in microseconds (us)." in lines
    table.colorize()
    assert "\033[92;1m" in str(table) and "\033[91m8.0\033[0m" in str(table)


def test_what_cannot_be_measured_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no C\+\+ to compile"):
        benchmark.Timer("x;", language="c++")
    with pytest.raises(ValueError, match="Expected an instance of `Measurement`"):
        benchmark.Compare([1.0])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="No measurements"):
        _ = benchmark.Measurement(1, [], benchmark.TaskSpec("x", "")).median


def test_runs_that_are_measured_together_are_many_enough_for_the_clock() -> None:
    clock = [0.0]

    def run() -> None:
        clock[0] += 2e-7

    timer = benchmark.Timer("run()", globals={"run": run}, timer=lambda: clock[0])
    assert [timer.blocked_autorange(min_run_time=least).number_per_run for least in (0.01, 0.2, 1.0)] == [
        512, 1280, 6400]
