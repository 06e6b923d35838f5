"""A sample of random programs with aliases, threads, interrupts and faults: they do what PyTorch's do."""
from __future__ import annotations

import signal

import pytest

from tests.fuzz.programs import WAYS, case

SAMPLE = 150  #: programs that are run in each way


@pytest.mark.skipif(not hasattr(signal, "raise_signal"), reason="needs signals")
@pytest.mark.parametrize("way", WAYS)
def test_programs_do_what_pytorchs_do(way: str) -> None:
    found = []
    for number in range([*WAYS].index(way), SAMPLE * len(WAYS), len(WAYS)):
        outcome = case(number, seed=7)
        if outcome.found:
            found.append(f"case {number}: {outcome.shown}\n    {'; '.join(outcome.found)}")
    assert not found, "\n".join(found)
