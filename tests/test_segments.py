"""``segment_reduce``: values and gradients at ties, NaN, zeros and first values, as PyTorch has them."""
from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.both import assert_same_outcome

pytest.importorskip("torch", reason="PyTorch is what segments are compared with")
NAN = float("nan")
DATA = ([1, NAN, 3, 4, 5, 5], [0, 2, 0, 0, NAN, 5], [0, 0, 0, NAN, NAN, 0],
        [[1, 2], [NAN, 1], [3, 3], [0, 4], [0, NAN], [2, 2]])
SEGMENTS = {"lengths": [1, 2, 3, 0], "offsets": [0, 1, 3, 6, 6]}
OF_NOTHING = ({"lengths": [0], "offsets": [0, 0]}, {"lengths": [0, 0], "offsets": [0, 0, 0]})
CASES = [*itertools.product(DATA, (None, 1, 0, -2), [SEGMENTS], ("float64", "bfloat16")),
         *itertools.product([[]], (None, 1), OF_NOTHING, ["float32"])]


@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min", "prod"])
@pytest.mark.parametrize("kind", SEGMENTS)
def test_values_and_gradients_are_pytorchs(reduce: str, kind: str) -> None:
    def program(lib: Any) -> list[Any]:
        results = []
        for numbers, initial, segments, dtype in CASES:
            data = lib.tensor(numbers, dtype=getattr(lib, dtype), requires_grad=True)
            result = lib.segment_reduce(data, reduce, initial=initial, **{kind: lib.tensor(segments[kind])})
            weights = lib.arange(1, len(result) + 1, dtype=result.dtype).reshape(-1, *[1] * (result.ndim - 1))
            (result * weights).sum().backward()
            results += [result, data.grad]
        return results

    assert_same_outcome(program)
