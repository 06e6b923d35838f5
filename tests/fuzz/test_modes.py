"""A sample of random functions in every mode: their outcome is PyTorch's, or the difference is explained."""
from __future__ import annotations

import pytest

import mindtorch
from mindtorch._backends.npu import simulator
from tests.fuzz.comparison import MODES, compare
from tests.fuzz.explanations import explanation
from tests.fuzz.functions import Drawn
from tests.fuzz.modes import case, shrink
from tests.support import torch

SAMPLE = 30  #: programs of each mode


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.sampled(2)
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


@pytest.mark.parametrize("line, values", [
    ("v1 = v0.sort(0)[0]", [2.0, 1.0, 2.0]), ("v1 = v0.max()", [2.0, 2.0, 1.0]),
    ("v1 = lib.quantile(v0, 0.5)", [1.0, 1.0, 2.0])])
def test_an_explanation_of_ties_does_not_hide_a_mistake(
        line: str, values: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    """The mistakes planted here are in the values, and in the order."""
    program = Drawn([line], [torch.tensor(values)])

    def unexplained() -> list[str]:
        return [text for text in compare("jacfwd", program) if explanation("jacfwd", program, text) is None]

    assert not unexplained()
    right = {name: getattr(mindtorch.Tensor, name) for name in ("sort", "max", "quantile")}
    for mistake in (lambda x: x * 2, lambda x: x.flip(0) * x):
        for place, name in ((mindtorch.Tensor, "sort"), (mindtorch.Tensor, "max"), (mindtorch, "quantile")):
            monkeypatch.setattr(place, name, lambda x, *args, name=name, mistake=mistake: right[name](
                mistake(x), *args))
        assert unexplained()
