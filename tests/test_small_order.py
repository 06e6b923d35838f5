"""Sorting, finding and counting in small tensors: equals, zeros of both signs, NaN, infinities and what is not sorted
come where PyTorch has them.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch
from tests.support import Outcome, assert_same, error_differences, port, torch

NAN, INF = float("nan"), float("inf")
LINES: dict[str, list[float]] = {
    "equals": [3, 1, 3, 1, 2, 3, 1, 2],
    "zeros of both signs": [0.0, -0.0, 1, -0.0, 0.0, -1],
    "NaN": [2, NAN, 1, NAN, 3, 2],
    "infinities": [INF, 1, -INF, INF, -INF, 2],
    "large": [3e38, -3e38, 3e38, 3e38, -3e38, 1],
    "a single one": [5],
    "none": [],
    "more": [float(i * 37 % 23) for i in range(100)],
}
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "topk": lambda lib, x: x.topk(min(3, x.shape[-1])),
    "smallest": lambda lib, x: x.topk(min(3, x.shape[-1]), largest=False),
    "all of topk": lambda lib, x: x.topk(x.shape[-1]),
    "too many of topk": lambda lib, x: x.topk(x.shape[-1] + 1),
    "mode": lambda lib, x: x.mode(),
    "mode kept": lambda lib, x: x.mode(-1, True),
    "cummax": lambda lib, x: x.cummax(-1),
    "cummin": lambda lib, x: x.cummin(0),
    "nonzero": lambda lib, x: x.nonzero(),
    "searchsorted": lambda lib, x: lib.searchsorted(x, x.flip(-1)),
    "searchsorted right": lambda lib, x: lib.searchsorted(x, x.flip(-1), right=True),
    "searchsorted on the left side": lambda lib, x: lib.searchsorted(x, x.flip(-1), side="left", out_int32=True),
    "bucketize": lambda lib, x: lib.bucketize(x, lib.tensor([-1.0, 0.0, 1.0, 2.5], dtype=x.dtype)),
    "bucketize into other numbers": lambda lib, x: lib.bucketize(x, lib.tensor([0, 1, 2]), right=True),
    "bucketize a number, rounded as they are": lambda lib, x: lib.bucketize(0.1, x.flatten() * 0 + 0.1, right=True),
    "search a number, rounded as they are": lambda lib, x: lib.searchsorted(x.flatten() * 0 + 0.1, 0.1, right=True),
}


UNSPECIFIED = {"topk", "smallest", "all of topk"}  #: which of equals they find is nowhere said


def tensors(line: str, dtype: Any) -> list[Any]:
    """Make a line, two lines, and a line that is not contiguous."""
    numbers = LINES[line]
    if dtype is torch.int64:
        numbers = [number if number - number == 0 else 7 for number in numbers]
    flat = torch.tensor(numbers, dtype=torch.float64).clamp(-6e4, 6e4).to(dtype)
    return [flat, torch.stack([flat, flat.flip(0)]), torch.stack([flat, flat], 1)[:, 0]]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.int64], ids=str)
@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("call", CALLS)
def test_lines_and_matrices_are_ordered_as_by_pytorch(call: str, line: str, dtype: Any) -> None:
    for x in tensors(line, dtype):
        theirs = Outcome.of(CALLS[call], torch, x)
        ours = Outcome.of(CALLS[call], mindtorch, port(x, mindtorch))
        if theirs.error is not None or ours.error is not None:
            assert not list(error_differences(ours, theirs))
        elif call in UNSPECIFIED:
            assert_same(ours.value.values, theirs.value.values)
            assert_same(ours.value.values, x.gather(-1, torch.tensor(ours.value.indices.tolist(), dtype=torch.int64)))
        elif "mode" not in call or line != "NaN":
            assert_same(ours.value, theirs.value)


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("call", CALLS)
def test_what_is_contiguous_is_ordered_as_what_is_not(call: str, line: str) -> None:
    x = mindtorch.tensor(LINES[line])
    for contiguous in (x, mindtorch.stack([x, x.flip(0)])):
        strided = mindtorch.stack([contiguous, contiguous], -1)[..., 0]
        first, second = (Outcome.of(CALLS[call], mindtorch, tensor) for tensor in (contiguous, strided))
        assert first.kind() == second.kind()
        if first.error is None:
            assert str(first.value) == str(second.value)


def test_numbers_beyond_the_range_of_erf_have_no_inverse() -> None:
    x = torch.tensor([-2.0, -1.0, -0.5, -0.0, 0.3, 1.0, 1.0000001, INF, NAN])
    for dtype in (torch.float32, torch.float64, torch.float16):
        rtol = 1e-5 if dtype.itemsize > 2 else 1e-3
        assert_same(port(x.to(dtype), mindtorch).erfinv(), x.to(dtype).erfinv(), rtol=rtol)
