"""Checkpoints give the gradients of the function, compute it twice, and say if it changed."""
from __future__ import annotations

from typing import Any

import pytest

import mindtorch as torch
from mindtorch.utils._python_dispatch import TorchDispatchMode
from mindtorch.utils.checkpoint import (
    CheckpointError, _logs, checkpoint, checkpoint_sequential, set_checkpoint_debug_enabled,
)


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


def test_what_was_kept_can_be_asked_for_once_a_pass_and_outside_of_one_is_computed_each_time() -> None:
    calls: list[int] = []

    def function(x: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        return x.exp()

    out = checkpoint(function, torch.ones(2, requires_grad=True), use_reentrant=False)
    for count in (2, 3):
        assert out.grad_fn._saved_result is not None and len(calls) == count

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> Any:
            return ctx.saved_tensors[0] + ctx.saved_tensors[0]

    with pytest.raises(CheckpointError, match=r"already unpacked once\. .* on your use case\.(\n|$)"):
        checkpoint(Twice.apply, torch.ones(2, requires_grad=True), use_reentrant=False).sum().backward()


def test_the_function_runs_to_its_end_where_early_stopping_is_off() -> None:
    reached: list[int] = []

    def function(x: torch.Tensor) -> torch.Tensor:
        y = x.exp()
        reached.append(1)
        return y

    for early, count in ((True, 1), (False, 2)):
        reached.clear()
        with torch.utils.checkpoint.set_checkpoint_early_stop(early):
            out = checkpoint(function, torch.ones(2, requires_grad=True), use_reentrant=False)
        out.sum().backward()
        assert len(reached) == count


def test_a_reentrant_checkpoint_refuses_gradients_of_some_inputs() -> None:
    x = torch.ones(2, requires_grad=True)
    out = checkpoint(torch.exp, x, use_reentrant=True).sum()
    with pytest.raises(RuntimeError, match=r"incompatible with \.grad"):
        torch.autograd.grad(out, x)
    with pytest.raises(RuntimeError, match=r"incompatible with \.grad"):
        checkpoint(torch.exp, x, use_reentrant=True).sum().backward(inputs=[x])


def selective(policy: Any, function: Any, x: torch.Tensor, **options: Any) -> torch.Tensor:
    def contexts() -> Any:
        return torch.utils.checkpoint.create_selective_checkpoint_contexts(policy, **options)

    return checkpoint(function, x, use_reentrant=False, context_fn=contexts)


def test_chosen_operators_are_kept_and_the_others_computed_again() -> None:
    x = torch.randn(3, requires_grad=True)
    policies = torch.utils.checkpoint.CheckpointPolicy
    sigmoid = torch.ops.aten.sigmoid.default
    expected, = torch.autograd.grad(x.sigmoid().tan().sum(), x)
    ran: list[str] = []

    class Recorder(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            ran.append(func._opname)
            return func(*args, **(kwargs or {}))

    def policy_of(ctx: Any, op: Any, *args: Any) -> Any:
        return policies.MUST_SAVE if op is sigmoid else policies.PREFER_RECOMPUTE

    for policy in ([sigmoid], policy_of):
        out = selective(policy, lambda x: x.sigmoid().tan(), x)
        x.grad = None
        ran.clear()
        with Recorder():
            out.sum().backward(retain_graph=True)
        assert torch.allclose(x.grad, expected) and "sigmoid" not in ran and "tan" in ran
        with pytest.raises(RuntimeError, match="Trying to backward an extra time"):
            out.sum().backward()


def test_what_is_kept_must_not_be_written_and_policies_name_overloads() -> None:
    x = torch.randn(3, requires_grad=True)
    sin = torch.ops.aten.sin
    with pytest.raises(RuntimeError, match="has been mutated"):
        selective([sin.default], lambda x: x.sin().mul_(2).cos().exp(), x).sum().backward()
    selective([sin.default], lambda x: x.sin().mul_(2).cos().exp(), x, allow_cache_entry_mutation=True).sum().backward()
    for wrong, error, said in (([2], ValueError, "to be an OpOverload"), ([sin], ValueError, "a specific OpOverload"),
                               (2, TypeError, "either a function or a list of ops")):
        with pytest.raises(error, match=said):
            selective(wrong, torch.exp, x)


def test_with_debug_the_error_lists_the_operators_of_both_calls() -> None:
    calls = iter((False, True, False, True, False, True))

    def function(x: Any) -> Any:
        return (x.sin().sum() if next(calls) else x.sin()).exp()

    def error(**options: Any) -> str:
        with pytest.raises(CheckpointError) as raised:
            checkpoint(function, torch.ones(2, requires_grad=True), use_reentrant=False, **options).sum().backward()
        return str(raised.value)

    _, first, second = error(debug=True).split("Operators of ")
    assert "aten.sin.default(float32[2]) -> float32[2]" in first and "aten.sum" not in first
    assert "aten.sum.default(float32[2]) -> float32[]" in second and "test_checkpoint.py:" in second
    with set_checkpoint_debug_enabled(True):
        assert "Operators of the recomputation" in error()
    with set_checkpoint_debug_enabled(False):
        assert "Operators" not in error(debug=True)
    with pytest.raises(ValueError, match="non-default context_fn"):
        checkpoint(function, torch.ones(2), use_reentrant=False, debug=True, context_fn=_logs)
