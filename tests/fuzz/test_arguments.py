"""A sample of random arguments for every schema: the outcome is PyTorch's, or the difference is explained."""
from __future__ import annotations

import re

from tests.fuzz.arguments import EXPLAINED, calls, case
from tests.fuzz.offline import explanation

TABLE = calls()
SAMPLE = 8  #: cases of each operator


def test_operators_have_pytorchs_outcome_for_random_arguments() -> None:
    found = []
    for number in range(SAMPLE * len(TABLE)):
        outcome = case(number, TABLE, seed=13)
        if outcome.found:
            found.append(f"case {number}: {outcome.shown}\n    {'; '.join(outcome.found)}")
    assert not found, "\n".join(found)


def test_explanations_are_of_operators_that_are_tried() -> None:
    names = [op.name for op, _ in TABLE]
    assert all(any(re.fullmatch(row.patterns[0], name) for name in names) for row in EXPLAINED)
    assert explanation(EXPLAINED, "add.Tensor", "value: 1 at [0], torch 2") is None
