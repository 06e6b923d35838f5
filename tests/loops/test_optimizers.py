"""Steps of optimizers by loops have the bits of NumPy's."""
from __future__ import annotations

from typing import Any

import pytest

import mindtorch

OPTIMIZERS = {
    "sgd": ("SGD", {"lr": 0.1}), "sgd of decayed weights": ("SGD", {"lr": 0.1, "weight_decay": 0.2}),
    "sgd_with_momentum": ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3}),
    "sgd_with_momentum of Nesterov": ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.2}),
    "adam": ("Adam", {}), "adam of decayed weights": ("Adam", {"weight_decay": 0.2, "betas": (0.6, 0.99), "eps": 1e-3}),
    "adam with decoupled decay": ("AdamW", {"weight_decay": 0.2}),
}


def trained(name: str, settings: dict[str, Any]) -> list[Any]:
    """Parameters, large and small, and their state after some steps."""
    generator = mindtorch.Generator().manual_seed(1)
    params = [mindtorch.nn.Parameter(mindtorch.randn(shape, generator=generator))
              for shape in ((700, 900), (33,), (0, 3), ())]
    optimizer = getattr(mindtorch.optim, name)(params, **settings)
    for _ in range(4):
        for param in params:
            param.grad = mindtorch.randn(tuple(param.shape), generator=generator)
        optimizer.step()
    return [*(param.detach() for param in params),
            *(value for state in optimizer.state.values() for value in state.values() if value is not None)]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_of_optimizers_have_the_bits_of_numpy(name, threads, with_threads, by_numpy, used) -> None:
    mine = with_threads(threads, lambda: trained(*OPTIMIZERS[name]))
    without = by_numpy(lambda: trained(*OPTIMIZERS[name]))
    assert used == {name.split()[0], "box_muller", "mt19937"}
    for result, other in zip(mine, without, strict=True):
        assert result.isfinite().all() and result.equal(other)


@pytest.mark.parametrize("settings", [{"maximize": True}, {"amsgrad": True}, {"betas": (0.3, 0.9)}], ids=str)
def test_steps_that_no_loop_is_written_for_are_computed_by_numpy(settings, used) -> None:
    trained("Adam", settings)
    assert used == {"box_muller", "mt19937"}
