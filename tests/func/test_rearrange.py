"""``torch.func.rearrange`` reads patterns, and makes views, as PyTorch does."""
from __future__ import annotations

from typing import Any

import pytest

import mindtorch
from tests.support import torch

PATTERNS: dict[str, dict[str, int]] = {
    "a b c -> c b a": {}, "a b c -> (a b) c": {}, "a b c -> a (b c) 1": {}, "a b (c d) -> a d b c": {"d": 2},
    "(a e) b (c d) -> (a c) (d e) b": {"a": 1, "c": 2}, "... c -> c ...": {}, "a ... -> ... a": {},
    "a b ... -> (a ...) b": {}, "a ... -> (...) a": {}, "a ... -> a (...)": {}, "a b c ... -> a b c (...)": {},
    "... -> (...)": {}, "a b c -> a () b c": {}, "(a 1) b c -> a b c": {}, "  a   b c->c b a ": {},
    "a b c -> a b c": {"a": 2},
}
REFUSED: dict[str, dict[str, Any]] = {
    "a b c -> a b": {}, "a b -> a b": {}, "a b c -> a b c d": {}, "a a c -> a c": {}, "a b c": {}, "": {},
    "a b c -> a b c -> a": {}, "a b c -> a (b c": {}, "a b c -> a b) c": {}, "a b c -> ((a b) c)": {},
    "a b c -> a b c": {"d": 3}, "... a -> a": {}, "a b c -> ... a b c": {}, "a b c -> b (a ...) c": {},
    "(...) c -> c (...)": {}, "... ... a -> a": {}, "a b c -> 2 a b c": {}, "_ b c -> b c _": {}, "a- b c -> a b c": {},
    "a b .. -> a b": {}, "a b c  -> a b c": {"a": "x"},
}


def numbers(lib: Any) -> Any:
    return lib.arange(24.0).view(2, 3, 4)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_dimensions_are_divided_ordered_and_composed(pattern: str) -> None:
    ours, theirs = (lib.func.rearrange(numbers(lib), pattern, **PATTERNS[pattern]) for lib in (mindtorch, torch))
    assert (ours.tolist(), ours.stride(), ours._is_view()) == (theirs.tolist(), theirs.stride(), theirs._is_view())


@pytest.mark.parametrize("pattern", REFUSED)
def test_patterns_that_cannot_be_read_are_refused(pattern: str) -> None:
    with pytest.raises((TypeError, ValueError)) as theirs:
        torch.func.rearrange(numbers(torch), pattern, **REFUSED[pattern])
    with pytest.raises(theirs.type):
        mindtorch.func.rearrange(numbers(mindtorch), pattern, **REFUSED[pattern])


@pytest.mark.parametrize("pattern, lengths", [
    ("a b (c d) -> a d b c", {}), ("a b (c d) -> a d b c", {"d": 3}), ("a b c -> a b c", {"a": 3}),
    ("1 b c -> b c", {})])
def test_lengths_that_do_not_fit_are_refused(pattern: str, lengths: dict[str, int]) -> None:
    with pytest.raises(RuntimeError, match=r"dimension"):
        mindtorch.func.rearrange(numbers(mindtorch), pattern, **lengths)


def test_lists_are_stacked_and_gradients_pass() -> None:
    x = numbers(mindtorch).requires_grad_()
    stacked = mindtorch.func.rearrange([x, x * 2], "s a b c -> a (s c) b")
    assert stacked.shape == (2, 8, 3)
    stacked.sum().backward()
    assert x.grad is not None and (x.grad == 3).all()
    assert mindtorch.func.rearrange(mindtorch.tensor(5.0), "-> 1").shape == (1,)
