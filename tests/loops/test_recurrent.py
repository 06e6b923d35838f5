"""Loops of recurrent steps compute what NumPy and PyTorch do."""
from __future__ import annotations

from typing import Any

import pytest

from mindtorch._base import loops

from ..support import torch


def remembered(lib: Any, unit: str, packed: bool, parameters: list[Any], x: Any, *states: Any) -> list[Any]:
    """Return outputs and last states of two layers of a recurrent network in both directions, and of long short-term
    memory all gradients.
    """
    network = getattr(lib.nn, unit)(24, 40, 2, bidirectional=True)
    with lib.no_grad():
        for parameter, values in zip(network.parameters(), parameters, strict=True):
            parameter.copy_(values)
    learns = unit == "LSTM" and not packed
    network.requires_grad_(learns)
    inputs = [part.clone().requires_grad_(learns) for part in (x, *states)]
    given = lib.nn.utils.rnn.pack_padded_sequence(inputs[0], [9] * 20 + [5] * 8 + [1] * 4) if packed else inputs[0]
    out, last = network(given, tuple(inputs[1:]) if len(states) > 1 else inputs[1])
    out = out.data if packed else out
    last = last if len(states) > 1 else [last]
    if learns:
        (out.sin().sum() + sum((state * state).sum() for state in last)).backward()
    return [out.detach(), *(state.detach() for state in last),
            *(part.grad for part in (*inputs, *network.parameters()) if learns)]


@pytest.mark.skipif(not loops.has_wide_vectors(), reason="the processor has no vectors of 16 numbers")
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("unit", ["LSTM", "GRU"])
def test_steps_of_recurrent_networks_agree_with_numpy_and_pytorch(agree, used, unit, packed) -> None:
    generator = torch.Generator().manual_seed(1)
    parameters, given = [[torch.randn(shape, generator=generator) * 0.3 for shape in shapes] for shapes in (
        [parameter.shape for parameter in getattr(torch.nn, unit)(24, 40, 2, bidirectional=True).parameters()],
        [(9, 32, 24), *[(4, 32, 40)] * (2 if unit == "LSTM" else 1)])]
    agree(lambda lib, *values: remembered(lib, unit, packed, *values), parameters, *given, scaled=True)
    assert used >= {f"{unit.lower()}_steps"} | ({"lstm_steps_backward"} if unit == "LSTM" and not packed else set())
