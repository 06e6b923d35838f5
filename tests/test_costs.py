"""The model of an all-reduce's cost: steps that are counted one by one, and what a ring and a tree are good for."""
from __future__ import annotations

import pytest

from mindtorch.distributed._collectives.costs import Network, efficiency, ring, tree
from mindtorch.distributed._collectives.table import ROWS

SLOW = Network(latency=1e-3, bandwidth=1e6)
GIGABIT = Network(latency=50e-6, bandwidth=125e6)


@pytest.mark.parametrize("cost", [ring, tree])
def test_one_rank_has_nothing_to_send(cost) -> None:
    assert cost(1e6, 1, SLOW) == 0


@pytest.mark.parametrize("ranks", [2, 3, 4, 7, 1000])
def test_a_rings_bytes_are_those_that_collectives_count(ranks) -> None:
    no_latency = Network(0.0, 1e6)
    assert ring(8e6, ranks, no_latency) * 1e6 == pytest.approx(ROWS["all_reduce"].traffic(8_000_000, ranks))


def test_a_rings_steps_are_counted() -> None:
    seconds = sum(1e-3 + 25_000 / 1e6 for _ in range(3)) * 2  # three steps there and back, a quarter each
    assert ring(100_000, 4, SLOW) == pytest.approx(seconds)


@pytest.mark.parametrize("ranks", range(1, 34))
def test_a_trees_steps_are_those_in_which_all_have_met(ranks) -> None:
    groups, steps = ranks, 0
    while groups > 1:  # in each step pairs of groups become one
        groups, steps = (groups + 1) // 2, steps + 1
    assert tree(0, ranks, SLOW) == pytest.approx(2 * steps * 1e-3)


def test_of_a_thousand_ranks_the_tree_is_faster_for_little_and_the_ring_for_much() -> None:
    assert tree(4, 1000, GIGABIT) < ring(4, 1000, GIGABIT) / 50
    assert ring(400e6, 1000, GIGABIT) < tree(400e6, 1000, GIGABIT) / 9


def test_a_rings_time_is_bounded_where_only_bandwidth_counts() -> None:
    no_latency = Network(0.0, 125e6)
    times = [ring(1e9, ranks, no_latency) for ranks in (2, 4, 1000, 10**6)]
    assert times == sorted(times) and times[-1] < 2 * 1e9 / 125e6


def test_efficiency_counts_what_is_waited_for() -> None:
    assert efficiency(1.0, 1e9, 1, GIGABIT) == 1
    wait = ring(50e6, 4, GIGABIT)
    assert efficiency(1.0, 50e6, 4, GIGABIT) == pytest.approx(1 / (1 + wait))
    assert efficiency(1.0, 50e6, 4, GIGABIT, overlap=0.5) == pytest.approx(1 / (1 + wait - 0.5))
    assert efficiency(2.0, 50e6, 4, GIGABIT, overlap=0.5) == 1
    assert efficiency(1.0, 50e6, 4, GIGABIT, tree) == pytest.approx(1 / (1 + tree(50e6, 4, GIGABIT)))
