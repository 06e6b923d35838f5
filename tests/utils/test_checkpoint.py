"""Checkpoints give the gradients of the function, compute it twice, and say if it changed."""
from __future__ import annotations

from typing import Any

import pytest

import mindtorch as torch
from mindtorch.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear, self.dropout, self.calls = torch.nn.Linear(4, 4), torch.nn.Dropout(0.5), 0

    def forward(self, x: Any, scale: float = 1.0) -> Any:
        self.calls += 1
        return self.dropout(self.linear(x).relu()) * scale


def gradients(block: Block, x: torch.Tensor, run: Any) -> list[torch.Tensor]:
    block.zero_grad()
    x.grad = None
    torch.manual_seed(3)
    run(block, x).pow(2).sum().backward()
    return [x.grad, *(parameter.grad for parameter in block.parameters())]


@pytest.mark.parametrize("reentrant", [True, False])
def test_gradients_are_those_of_the_function(reentrant) -> None:
    block, x = Block(), torch.randn(3, 4, requires_grad=True)
    expected = gradients(block, x, lambda block, x: block(block(x)))
    block.calls = 0
    found = gradients(block, x, lambda block, x: checkpoint(block, checkpoint(block, x, use_reentrant=reentrant),
                                                            use_reentrant=reentrant))
    assert block.calls == 4
    for ours, theirs in zip(found, expected, strict=True):
        assert torch.allclose(ours, theirs)


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_sequence_is_split_into_segments(reentrant) -> None:
    chain, x = torch.nn.Sequential(*(torch.nn.Linear(4, 4) for _ in range(5))), torch.randn(2, 4, requires_grad=True)
    expected, = torch.autograd.grad(chain(x).sum(), x)
    checkpoint_sequential(chain, 2, x, use_reentrant=reentrant).sum().backward()
    assert torch.allclose(x.grad, expected)


def test_nothing_but_the_arguments_is_kept() -> None:
    kept: list[Any] = []
    x = torch.randn(8, 8, requires_grad=True)

    def deep(x: torch.Tensor) -> torch.Tensor:
        for _ in range(5):
            x = x.sin().exp()
        return x

    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        out = checkpoint(deep, x, use_reentrant=False)
    assert kept == []
    expected, = torch.autograd.grad(deep(x).sum(), x)
    out.sum().backward(retain_graph=True)
    assert torch.allclose(x.grad, expected)
    out.sum().backward()
    assert torch.allclose(x.grad, 2 * expected)


def test_keywords_dictionaries_and_higher_derivatives_work_without_reentrance() -> None:
    x = torch.randn(3, requires_grad=True)
    out = checkpoint(lambda x, scale: {"y": x.pow(3) * scale}, x, scale=2.0, use_reentrant=False)["y"]
    first, = torch.autograd.grad(out.sum(), x, create_graph=True)
    second, = torch.autograd.grad(first.sum(), x)
    assert torch.allclose(second, 12 * x)


def test_a_function_that_changed_is_told() -> None:
    calls: list[int] = []

    def changing(x: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        return x.sin().cos() if len(calls) == 1 else x.sin()

    def growing(x: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        return (x if len(calls) == 1 else torch.cat([x, x])).sin().sum()

    x = torch.randn(3, requires_grad=True)
    with pytest.raises(CheckpointError, match="A different number of tensors was saved"):
        checkpoint(changing, x, use_reentrant=False).sum().backward()
    calls.clear()
    with pytest.raises(CheckpointError, match="different metadata"):
        checkpoint(growing, x, use_reentrant=False).backward()


def test_precision_is_that_of_the_first_call() -> None:
    seen = []

    def product(x: torch.Tensor) -> torch.Tensor:
        out = x @ x
        seen.append(out.dtype)
        return out.float().exp()

    x = torch.randn(2, 2, requires_grad=True)
    with torch.autocast("cpu"):
        out = checkpoint(product, x, use_reentrant=False)
    out.sum().backward()
    assert seen == [torch.bfloat16, torch.bfloat16]


def test_unclear_use_is_warned_of_or_refused() -> None:
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
        checkpoint(torch.sin, torch.ones(2, requires_grad=True))
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        checkpoint(torch.sin, torch.ones(2), use_reentrant=True)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: foo"):
        checkpoint(torch.sin, torch.ones(2), use_reentrant=True, foo=1)
