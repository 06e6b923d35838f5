"""Loops of recurrent steps compute what NumPy and PyTorch do."""
from __future__ import annotations

from typing import Any

import pytest

from mindtorch._base import loops

from ..support import torch


def remembered(lib: Any, parameters: list[Any], x: Any, *states: Any) -> list[Any]:
    """Return outputs, last states, and all gradients of two layers of long short-term memory in both directions."""
    network = lib.nn.LSTM(24, 40, 2, bidirectional=True)
    with lib.no_grad():
        for parameter, values in zip(network.parameters(), parameters, strict=True):
            parameter.copy_(values)
    inputs = [part.clone().requires_grad_() for part in (x, *states)]
    out, last = network(inputs[0], tuple(inputs[1:]))
    (out.sin().sum() + sum((state * state).sum() for state in last)).backward()
    return [out.detach(), *(state.detach() for state in last),
            *(part.grad for part in (*inputs, *network.parameters()))]


@pytest.mark.skipif(not loops.has_wide_vectors(), reason="the processor has no vectors of 16 numbers")
def test_steps_of_long_short_term_memory_agree_with_numpy_and_pytorch(agree, used) -> None:
    generator = torch.Generator().manual_seed(1)
    parameters, given = [[torch.randn(shape, generator=generator) for shape in shapes] for shapes in (
        [parameter.shape for parameter in torch.nn.LSTM(24, 40, 2, bidirectional=True).parameters()],
        [(9, 32, 24), (4, 32, 40), (4, 32, 40)])]
    agree(remembered, parameters, *given, scaled=True)
    assert used >= {"lstm_step", "lstm_step_backward"}
