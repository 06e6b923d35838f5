"""Schedules of learning rates: the rates to come are those that the steps will set, and a card shows them."""
from __future__ import annotations

import copy
import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import mindtorch
from mindtorch import introspect, viz
from tests.support import torch


def optimizer(t: Any, groups: int = 1) -> Any:
    return t.optim.SGD([{"params": [t.zeros(1)], "lr": 0.1 * (i + 1)} for i in range(groups)], momentum=0.9)


def after(t: Any) -> Any:
    own, s = optimizer(t), t.optim.lr_scheduler
    return s.SequentialLR(own, [s.LinearLR(own, 0.1, 1.0, 4), s.ExponentialLR(own, 0.9)], [4])


def at_once(t: Any) -> Any:
    own, s = optimizer(t), t.optim.lr_scheduler
    return s.ChainedScheduler([s.ConstantLR(own, 0.1, 5), s.ExponentialLR(own, 0.9)])


#: What makes a schedule, and what is said of it.
SCHEDULES: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "StepLR": (lambda t, s: s.StepLR(optimizer(t), 3), "multiplies by 0.1 every 3 steps"),
    "MultiStepLR": (lambda t, s: s.MultiStepLR(optimizer(t), [7, 3]), "multiplies by 0.1 at the steps 3, 7"),
    "ConstantLR": (lambda t, s: s.ConstantLR(optimizer(t), 0.5), "multiplies by 0.5 for the first 5 steps"),
    "LinearLR": (lambda t, s: s.LinearLR(optimizer(t), 0.5), "a factor that goes in 5 steps from 0.5 to 1"),
    "ExponentialLR": (lambda t, s: s.ExponentialLR(optimizer(t, 2), 0.9), "multiplies by 0.9 at every step"),
    "PolynomialLR": (lambda t, s: s.PolynomialLR(optimizer(t), 8), "goes down to 0 in 8 steps"),
    "CosineAnnealingLR": (lambda t, s: s.CosineAnnealingLR(optimizer(t), 10, 1e-3), "half a cosine to 0.001 in 10"),
    "CosineAnnealingWarmRestarts": (lambda t, s: s.CosineAnnealingWarmRestarts(optimizer(t), 4, 2), "2 times as long"),
    "CyclicLR": (lambda t, s: s.CyclicLR(optimizer(t), 0.1, 1.0, 5), "goes up to 1 in 5 steps and down again in 5"),
    "OneCycleLR": (lambda t, s: s.OneCycleLR(optimizer(t), 1.0, total_steps=20), "until step 5, then down to 4e-06 at"),
    "LambdaLR": (lambda t, s: s.LambdaLR(optimizer(t), lambda step: 0.9**step), "a function of the step: <lambda>"),
    "MultiplicativeLR": (lambda t, s: s.MultiplicativeLR(optimizer(t), lambda step: 0.9), "multiplies at every step"),
    "SequentialLR": (lambda t, s: after(t), "is one schedule after the other"),
    "ChainedScheduler": (lambda t, s: at_once(t), "is several schedules at once"),
}


@pytest.fixture(autouse=True)
def silence() -> Iterator[None]:
    """Schedules are stepped here without their optimizers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def made(t: Any, kind: str) -> Any:
    return SCHEDULES[kind][0](t, t.optim.lr_scheduler)


def rates(schedule: Any) -> list[float]:
    return [float(group["lr"]) for group in schedule.optimizer.param_groups]


@pytest.mark.parametrize("t", [mindtorch, torch], ids=["mindtorch", "torch"])
@pytest.mark.parametrize("kind", SCHEDULES)
def test_the_rates_to_come_are_those_that_the_steps_set_and_nothing_changes_meanwhile(t: Any, kind: str) -> None:
    schedule = made(t, kind)
    schedule.step()
    before = copy.deepcopy(schedule.state_dict()), repr(schedule.optimizer)
    facts = introspect.schedule_facts(schedule, "s")
    assert (facts.name, facts.kind, facts.now, facts.end) == ("s", kind, tuple(rates(schedule)), "")
    assert SCHEDULES[kind][1] in facts.said and len(facts.to_come[0]) > 3
    assert before == (schedule.state_dict(), repr(schedule.optimizer))
    seen = []
    for i in range(len(facts.to_come[0])):
        if i:
            schedule.step()
        seen.append(rates(schedule))
    assert facts.to_come == tuple(zip(*seen, strict=True))


@pytest.mark.parametrize("kind", SCHEDULES)
def test_a_card_says_what_a_schedule_does_and_draws_the_rates_to_come(kind: str) -> None:
    schedule = made(mindtorch, kind)
    facts = introspect.schedule_facts(schedule, "<s>")
    card, text = viz.schedule_page(facts), viz.schedule_text(facts)
    assert "&lt;s&gt;" in card and 'class="mt-plot"' in card and card.count("<circle") == len(facts.to_come)
    assert facts.kind in text and facts.said in text and "after 0 steps · " in f"{text.splitlines()[1]} · "
    schedule.step()
    assert "after 1 step" in viz.schedule_text(introspect.schedule_facts(schedule)).splitlines()[1]


def test_a_rate_that_a_schedule_has_changed_stands_beside_that_without_it() -> None:
    parameter = mindtorch.nn.Parameter(mindtorch.ones(2))
    schedule = mindtorch.optim.lr_scheduler.StepLR(mindtorch.optim.SGD([parameter], 0.5), 2)
    for _ in range(2):
        text = viz.schedule_text(introspect.schedule_facts(schedule))
        assert "the learning rate is 0.5" in text and "without the schedule" not in text
        schedule.step()
    text = viz.schedule_text(introspect.schedule_facts(schedule))
    assert "the learning rate is 0.05, " in text and "0.5 without the schedule" in text


def test_where_a_schedule_ends_or_fails_the_card_says_so() -> None:
    s = mindtorch.optim.lr_scheduler
    fails = introspect.schedule_facts(s.LambdaLR(optimizer(mindtorch), lambda step: 1 / (3 - step)))
    assert len(fails.to_come[0]) == 3 and fails.end == "a further step raises ZeroDivisionError: division by zero"
    assert fails.end in viz.schedule_text(fails)
    measured = introspect.schedule_facts(s.ReduceLROnPlateau(optimizer(mindtorch)))
    assert measured.to_come == () and "depend on what the training measures" in viz.schedule_text(measured)


def test_a_few_rates_are_drawn_as_stairs() -> None:
    facts = introspect.schedule_facts(mindtorch.optim.lr_scheduler.StepLR(optimizer(mindtorch), 2))
    path = viz.schedule_page(facts).partition('<path d="')[2].partition('"')[0]
    corners = [tuple(map(float, point[1:].split(","))) for point in path.split()]
    assert len(corners) > 8 and all(a[0] == b[0] or a[1] == b[1] for a, b in itertools.pairwise(corners))


@pytest.mark.parametrize("t", [mindtorch, torch], ids=["mindtorch", "torch"])
def test_a_notebook_shows_the_card_of_schedules_of_both_libraries(shell: Any, t: Any) -> None:
    shell.user_ns["plan"] = plan = made(t, "StepLR")
    card = shell.display_formatter.format(plan)[0]["text/html"]
    assert "<b>plan</b>" in card and "every 3 steps" in card
    shell.run_line_magic("unload_ext", "mindtorch")
    assert "text/html" not in shell.display_formatter.format(plan)[0]
