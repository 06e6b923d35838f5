"""The benchmarks print what they measure; no time is asserted."""
from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec

import pytest

from .benchmarks import first_card

beside_pytorch = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch, to compare with, is not installed")


def printed(module: str, *arguments: str) -> str:
    """Run a benchmark in a process of its own, and return what it prints."""
    done = subprocess.run([sys.executable, "-m", f"tests.benchmarks.{module}", *arguments], capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@beside_pytorch
@pytest.mark.parametrize(("arguments", "row"), [
    (("chain",), "chain of 4, forward and backward"), (("--rows", "relu"), "relu"), (("--small", "abs"), "x.abs()")],
    ids=str)
def test_a_table_has_both_libraries_times_of_the_rows_asked_for(arguments, row) -> None:
    lines = [line for line in printed("compare", "--seconds", "0.01", *arguments).splitlines() if row in line]
    assert lines and all(float(number) > 0 for number in lines[0].replace(row, "").split() if number[0].isdigit())


@beside_pytorch
def test_a_curve_has_a_line_for_each_size() -> None:
    lines = printed("growth", "--seconds", "0.01", "x.tolist").splitlines()
    assert [line.split()[0] for line in lines[1:7]] == ["1", "10", "100", "1,000", "10,000", "100,000"]


def test_a_run_of_the_npu_measures_the_parts_of_an_add() -> None:
    found = json.loads(printed("npu", "once"))
    assert len(found) == 8 and all(value > 0 for value in found.values())


def test_a_card_is_measured_behind_the_greeting_of_the_extension() -> None:
    times, size = first_card.run("mindtorch", "IPython")
    assert len(times) == first_card.CARDS and min(times) > 0 and 1000 < size <= first_card.LIMIT[1]
