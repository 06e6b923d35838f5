"""A sample of random writes by index and outputs given: what they leave in memory is what PyTorch's leave."""
from __future__ import annotations

from tests.fuzz.writes import CALLS, case

SAMPLE = 25  #: writes of each kind


def test_writes_leave_what_pytorchs_leave() -> None:
    outcomes = [(number, case(number, seed=3)) for number in range(SAMPLE * len(CALLS))]
    assert not [f"case {number}: {outcome.shown}\n    {outcome.found}" for number, outcome in outcomes if outcome.found]
