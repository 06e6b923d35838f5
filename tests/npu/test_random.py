"""Random numbers on the NPU: seeded, counted, and of the device's own generator."""
from __future__ import annotations

from typing import Any

import pytest

import mindtorch as torch


def test_a_seed_gives_the_same_numbers_and_draws_differ() -> None:
    torch.npu.manual_seed(7)
    first, second = torch.rand(5, device="npu").tolist(), torch.rand(5, device="npu").tolist()
    torch.npu.manual_seed(7)
    assert torch.rand(5, device="npu").tolist() == first != second


def test_manual_seed_of_torch_seeds_the_npu_too() -> None:
    torch.manual_seed(3)
    first = torch.randn(20, device="npu").tolist()
    torch.manual_seed(3)
    assert torch.randn(20, device="npu").tolist() == first and torch.npu.initial_seed() == 3


def test_a_generator_of_the_device_and_its_state() -> None:
    generator = torch.Generator(device="npu").manual_seed(5)
    state = generator.get_state()
    first = torch.randint(100, (6,), generator=generator, device="npu").tolist()
    generator.set_state(state)
    assert torch.randint(100, (6,), generator=generator, device="npu").tolist() == first
    assert generator.device == torch.device("npu:0") and state.shape == (16,)
    assert torch.npu.get_rng_state().dtype is torch.uint8


@pytest.mark.parametrize("draw", [torch.rand, torch.randn, torch.randperm])
@pytest.mark.parametrize("count", [1, 50])
def test_every_operator_moves_a_generator_on_by_as_much(draw: Any, count: int) -> None:
    """By 10, as op-plugin's do on a 910B, in fours, since Philox makes four numbers at a time."""
    generator = torch.Generator(device="npu").manual_seed(5)
    draw(count, generator=generator, device="npu")
    seed, offset = generator.get_state().view(torch.int64).tolist()
    assert (seed, offset) == (5, 12)


def test_a_generator_of_the_cpu_is_refused() -> None:
    with pytest.raises(RuntimeError, match="Expected a 'npu' device type for generator but found 'cpu'"):
        torch.rand(3, generator=torch.Generator(), device="npu")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64, torch.uint8, torch.bool])
def test_random_without_bounds_stays_in_the_dtype(dtype: torch.dtype) -> None:
    values = torch.empty(200, dtype=dtype, device="npu").random_().cpu()
    assert values.dtype is dtype and len(set(values.tolist())) > 1


def test_randperm_and_dropout() -> None:
    assert sorted(torch.randperm(9, device="npu").tolist()) == list(range(9))
    dropped = torch.nn.functional.dropout(torch.ones(1000, device="npu"), 0.25).tolist()
    assert {round(value, 4) for value in dropped} == {0, 1.3333} and 150 < dropped.count(0) < 350


def test_a_block_that_forks_random_numbers_leaves_the_device_where_it_was() -> None:
    torch.manual_seed(3)
    first, following = torch.rand(4, device="npu"), torch.rand(4, device="npu")
    torch.manual_seed(3)
    assert torch.equal(torch.rand(4, device="npu").cpu(), first.cpu())
    with torch.random.fork_rng():
        torch.rand(9, device="npu")
    with torch.random.fork_rng(devices=[0], device_type="npu"):
        torch.rand(9, device="npu")
    assert torch.equal(torch.rand(4, device="npu").cpu(), following.cpu())
    with torch.random.fork_rng(devices=[]):
        torch.rand(9, device="npu")
    torch.manual_seed(3)
    assert torch.equal(torch.rand(4, device="npu").cpu(), first.cpu())
