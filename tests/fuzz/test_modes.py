"""A sample of random functions in every mode: their outcome is PyTorch's, or the difference is explained."""
from __future__ import annotations

import pytest

from mindtorch._backends.npu import simulator
from tests.fuzz.modes import MODES, Drawn, case, shrink
from tests.support import torch

SAMPLE = 30  #: programs of each mode


@pytest.mark.parametrize("mode", MODES)
def test_functions_have_pytorchs_outcome_in_every_mode(mode: str) -> None:
    first = [*MODES].index(mode)
    outcomes = [(number, case(number, seed=19)) for number in range(first, SAMPLE * len(MODES), len(MODES))]
    assert not [f"case {number}: {outcome.shown}\n    {outcome.found}" for number, outcome in outcomes if outcome.found]
    if mode in ("refusing npu", "npu without kernels"):
        # Where the CPU computes for the device in place, the target is copied to it first, written or not.
        found = {(report.kind, report.operator) for report in simulator.reports()}
        assert found <= {("uninitialised-read", "aclrtMemcpy")}
        simulator.clear_reports()


def test_a_program_that_differs_is_cut_to_the_lines_that_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """The difference planted here is one of ``exp``."""
    monkeypatch.setattr("mindtorch.Tensor.exp", lambda self: self + 1)
    program = Drawn(["v1 = v0.sin()", "v2 = v0.exp()", "v3 = v2.cos()"], [torch.ones(2)])
    assert shrink("plainly", program).lines == ["v1 = v0", "v2 = v0.exp()"]
