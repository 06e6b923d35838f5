"""A long run of random cases tells its totals, also when it is stopped."""
from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from tests.fuzz import offline
from tests.fuzz.offline import Case


def test_a_run_prints_what_differs_and_counts_it_by_kind(capsys: pytest.CaptureFixture[str]) -> None:
    cases = [Case("add", "add(1)", []), Case("mul", "mul(1)", ["value"]), Case("mul", "mul(2)", [], ["rounding"])]
    offline.run(cases, 3, 40, "calls")
    assert capsys.readouterr().out == ("case 41: mul(1)\n    value\n    1 explained: rounding\n"
                                       "3 of 3 calls: 1 differ\n    mul 1\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_stopped_ends_after_its_case_and_prints_totals(
        number: signal.Signals, capsys: pytest.CaptureFixture[str]) -> None:
    def cases() -> Iterator[Case]:
        yield Case("add", "add(1)", [])
        signal.raise_signal(number)
        yield Case("add", "add(2)", ["value"])
        raise AssertionError("no case is begun after the signal")

    before = signal.getsignal(number)
    offline.run(cases(), 1000, 0, "calls")
    assert capsys.readouterr().out.splitlines()[2:] == ["2 of 1000 calls: 1 differ, stopped", "    add 1"]
    assert signal.getsignal(number) is before


def test_a_fork_that_is_not_read_any_more_ends_at_its_next_case() -> None:
    read, written = os.pipe()

    def made(number: int, mark: object) -> Case:
        if number:
            os.close(written)
            os.read(read, 1)  # until nobody reads any more
        return Case("add", "add", [])

    parent, cases = os.getpid(), offline.in_forks(made, 0, 9)
    try:
        next(cases)
        cases.close()
        os.close(written)
    finally:
        if os.getpid() != parent:
            os._exit(1)  # the fork has left its function
    assert os.wait()[1] == 0


def test_a_run_that_fails_prints_totals_first(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ZeroDivisionError):
        offline.run((Case("add", str(1 // n), []) for n in (1, 0)), 2, 0, "calls")
    assert capsys.readouterr().out == "1 of 2 calls: 0 differ, stopped\n"
