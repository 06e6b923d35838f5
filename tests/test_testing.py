"""``torch.testing`` compares as PyTorch's does, with its messages, and makes its tensors."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mindtorch
from tests.support import array, seed_all, torch


def outcome(program: Any, lib: Any) -> Any:
    try:
        return program(lib, lib.testing.assert_close)
    except Exception as error:
        return type(error), str(error).replace("mindtorch.Tensor", "torch.Tensor")


@pytest.mark.parametrize("program", [
    lambda t, close: close(t.ones(3), t.ones(3) + 1e-6),
    lambda t, close: close(t.ones(3), t.tensor([1.0, 2.0, 1.1])),
    lambda t, close: close(t.arange(6).view(2, 3), t.arange(6).view(2, 3) * 2),
    lambda t, close: close(t.tensor(1.0), t.tensor(2.0)),
    lambda t, close: close(t.tensor([True, False]), t.tensor([True, True])),
    lambda t, close: close(t.ones(3), t.ones(2)),
    lambda t, close: close(t.ones(3), t.ones(3, dtype=t.float64)),
    lambda t, close: close(t.ones(3), t.ones(3, dtype=t.float64), check_dtype=False),
    lambda t, close: close(t.ones(3, 2), t.ones(2, 3).t(), check_stride=True),
    lambda t, close: close(t.ones(3), t.ones(3, device="meta")),
    lambda t, close: close(t.tensor([float("nan")]), t.tensor([float("nan")])),
    lambda t, close: close(t.tensor([float("nan")]), t.tensor([float("nan")]), equal_nan=True),
    lambda t, close: close(t.tensor([1 + 1j]), t.tensor([1 + 2j])),
    lambda t, close: close(t.ones(3, dtype=t.bfloat16), t.ones(3, dtype=t.bfloat16) * 1.01),
    lambda t, close: close([t.ones(2), t.zeros(2)], [t.ones(2), t.ones(2)]),
    lambda t, close: close([1], [1, 2]),
    lambda t, close: close({"a": 1, "b": (2.0, 3)}, {"a": 1, "b": (2.0, 4)}),
    lambda t, close: close({"a": 1}, {"b": 1}),
    lambda t, close: close(1, 2), lambda t, close: close(1, 1.0), lambda t, close: close(1.0, 1.0 + 1e-9),
    lambda t, close: close(0.0, 1e-3, rtol=0, atol=1e-4),
    lambda t, close: close(True, False), lambda t, close: close(None, None), lambda t, close: close(None, 1),
    lambda t, close: close(np.ones(2), np.zeros(2)),
    lambda t, close: close(t.ones(2), np.ones(2)),
    lambda t, close: close("a", "a"),
    lambda t, close: close(t.ones(2), t.ones(2), rtol=1e-3),
    lambda t, close: close(t.ones(2), t.zeros(2), msg="mine"),
    lambda t, close: close(t.ones(2), t.zeros(2), msg=lambda text: f"<{text}>"),
    lambda t, close: close(t.nn.Parameter(t.ones(2)), t.ones(2)),
    lambda t, close: close(t.nn.Parameter(t.ones(2)), t.ones(2), allow_subclasses=False) or "no error",
    lambda t, close: t.testing.assert_allclose(t.ones(2), [1, 1]),
    lambda t, close: t.testing.assert_allclose(t.ones(2), [1, 2]),
])
def test_assert_close_says_what_pytorchs_says(program, recwarn) -> None:
    ours, theirs = outcome(program, mindtorch), outcome(program, torch)
    if isinstance(theirs, tuple):
        theirs = theirs[0], theirs[1].replace("torch.nn.parameter", "mindtorch.nn.parameter")
    assert ours == theirs


@pytest.mark.parametrize(("dtype", "options"), [
    (dtype, options) for dtype in ("float32", "float64", "bfloat16", "int64", "uint8", "bool", "complex64")
    for options in ({}, {"low": 2, "high": 5}, {"noncontiguous": True}, {"exclude_zero": True, "low": 0, "high": 2},
                    {"low": 3})
    if dtype != "bool" or options.get("low", 0) <= 1  # a bool is less
], ids=str)
def test_make_tensor_makes_pytorchs_numbers(dtype, options) -> None:
    found = []
    for lib in (torch, mindtorch):
        seed_all(lib, 4)
        tensor = lib.testing.make_tensor((3, 5), dtype=getattr(lib, dtype), device="cpu", **options)
        found.append((array(tensor).tolist(), tuple(tensor.stride()), tensor.storage_offset()))
    assert found[0] == found[1]


@pytest.mark.parametrize("wrong", [
    lambda t: t.testing.make_tensor(2, dtype=t.float32, device="cpu", low=3, high=1),
    lambda t: t.testing.make_tensor(2, dtype=t.uint8, device="cpu", low=300, high=400),
    lambda t: t.testing.make_tensor(2, dtype=t.float32, device="cpu", low=float("nan")),
    lambda t: t.testing.make_tensor(2, dtype=t.int64, device="cpu", requires_grad=True),
    lambda t: t.testing.make_tensor(2, dtype=t.int64, device="cpu", noncontiguous=True,
                                    memory_format=t.contiguous_format),
])
def test_make_tensor_refuses_what_pytorchs_refuses(wrong) -> None:
    errors = []
    for lib in (torch, mindtorch):
        with pytest.raises(ValueError) as raised:
            wrong(lib)
        errors.append(str(raised.value))
    assert errors[0] == errors[1]
