"""Every NaN and every infinity is found, wherever it lies, and the figures of all elements are exact."""
from __future__ import annotations

import random
from time import thread_time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import mindtorch
from mindtorch import introspect, nn, viz
from mindtorch.introspect import module as modules, sampling

from . import planted

torch = pytest.importorskip("torch")
ORDERS = {"as it is": lambda x: x, "transposed": lambda x: x.transpose(0, -1), "every second": lambda x: x[::2],
          "expanded": lambda x: x.unsqueeze(1).expand(x.shape[0], 2, *x.shape[1:])}


@settings(max_examples=60)
@given(st.data())
def test_planted_values_are_found_at_random_places(data: st.DataObject) -> None:
    shape = data.draw(st.one_of(*(st.tuples(*[st.integers(1, most)] * dims) for dims, most in
                                  ((1, 300_000), (2, 500), (3, 60), (4, 20)))))
    dtype = data.draw(st.sampled_from(["float32", "float64", "float16", "bfloat16", "complex64"]))
    order = ORDERS[data.draw(st.sampled_from(list(ORDERS)))]
    planted = data.draw(st.lists(st.tuples(st.tuples(*(st.integers(0, n - 1) for n in shape)), st.sampled_from(
        [float("nan"), float("inf"), float("-inf")])), max_size=3))
    for library in (mindtorch, torch):
        x = library.arange(int(np.prod(shape))).remainder(100).reshape(shape).to(getattr(library, dtype))
        for place, value in planted:
            x[place] = value
        x = order(x)
        s = introspect.tensor_facts(x, seconds=60.0).statistics
        assert s is not None and s.examined == s.total == x.numel()
        values = x.to(library.complex64 if dtype == "complex64" else library.float64).numpy()
        nan, finite = np.isnan(values), np.abs(values[np.isfinite(values)])
        infinite = np.isinf(values) & ~nan
        for count, first, where in ((s.nans, s.first_nan, nan), (s.infinities, s.first_infinite, infinite)):
            assert count == where.sum() and first == (tuple(np.argwhere(where)[0]) if count else None)
        if s.is_exact:
            assert (s.minimum, s.maximum) == ((finite.min(), finite.max()) if finite.size else (None, None))
        assert s.is_exact or dtype == "complex64"


@pytest.mark.parametrize("size", [10, 1_000, 100_000, 10_000_000])
@pytest.mark.parametrize("library", [mindtorch, torch])
def test_a_card_says_where_the_first_one_is(library: Any, size: int) -> None:
    x = library.zeros(size)
    place = size * 7 // 10
    x[place], x[-1] = float("nan"), float("-inf")
    card = viz.tensor_card(x)
    assert f"1 NaN, at [{place}]" in card and f"1 infinite, at [{size - 1}]" in card


def test_exact_figures_of_ten_million_elements_take_little_time() -> None:
    values = np.zeros(10_000_000, np.float32)
    values[-7] = 5
    taken = []
    for _ in range(5):
        begin = thread_time()
        found = sampling.scan(values, "float32", 1.0)
        taken.append(thread_time() - begin)
    assert (found.minimum, found.maximum, found.examined) == (0, 5, values.size) and min(taken) < 0.02


def test_what_no_time_was_left_for_is_not_stated() -> None:
    x = mindtorch.zeros(1_000_000)
    x[5], x[999_999] = float("nan"), float("nan")
    facts = introspect.tensor_facts(x, seconds=0.0)
    said = viz.card.tensor_line(facts)
    assert facts.statistics.examined == sampling.PIECE and not facts.statistics.is_exact
    assert "at least 1 NaN, at [5]" in said and "65,536 of 1,000,000 searched for NaN and infinity" in said
    assert "sampled: from 0 to 0" in said


@pytest.mark.parametrize("x", [mindtorch.zeros(3, 224, 224), mindtorch.zeros(2, 20, 20), mindtorch.zeros(300, 300)])
def test_an_overview_states_zeros_of_what_it_has_read_only(x: Any) -> None:
    card = viz.tensor_card(x)
    assert "all are zero" not in card and "all 0" in card
    x[-1, 7, ...] = 3
    card = viz.tensor_card(x)
    assert "all are zero" not in card and "all 0" not in card and "from 0 to 3" in card


def test_an_overview_marks_the_block_of_a_nan_that_its_sample_leaves_out() -> None:
    x = mindtorch.zeros(480, 640)
    x[101, 333] = float("nan")
    means = introspect.tensor_overview(x).means
    assert np.argwhere(np.isnan(means)).tolist() == [[10, 33]] and "violet has a NaN" in viz.tensor_card(x)


@pytest.mark.parametrize("library", [mindtorch, torch])
def test_a_module_names_the_parameter(library: Any) -> None:
    model = library.nn.Sequential(library.nn.Linear(30, 30), library.nn.BatchNorm1d(30))
    with library.no_grad():
        model[0].weight[3, 4] = float("nan")
        model[1].running_mean[7:9] = float("-inf")
    facts = introspect.module_facts(model, "m")
    for said in (viz.module_page(facts), viz.module_text(facts)):
        assert "⚠ 0.weight: 1 NaN, at [3, 4]" in said and "⚠ 1.running_mean: 2 infinite, the first at [7]" in said


def test_a_large_module_says_how_much_was_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modules, "SECONDS", 0.0)
    said = viz.module_text(introspect.module_facts(nn.Linear(1000, 1000)))
    assert f"{sampling.PIECE // 1000 * 1000 + 1000:,} of 1,001,000 values searched for NaN and infinity" in said


def test_gradients_in_backwards_steps_are_searched_too() -> None:
    w = mindtorch.zeros(3, requires_grad=True)
    steps = introspect.BackwardSteps(w.sqrt().sum() * 0.0)
    while steps.step():
        pass
    assert "3 NaN, the first at [0]" in viz.stepper_text(steps.graph, steps.taken, steps.total)


@pytest.mark.parametrize("library", [mindtorch, torch])
def test_a_planted_value_is_found_wherever_it_is(library: Any) -> None:
    chance = random.Random(1)
    assert [fault for _ in range(12) if (fault := planted.missed(library, chance, least=1.0, most=6.0))] == []
