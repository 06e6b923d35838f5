"""Runs a function with either library on the same arrays, and compares what comes out."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

import mindtorch
import mindtorch.func
from mindtorch.utils._pytree import tree_leaves
from tests.support import Outcome, torch

import torch.func  # type: ignore[no-redef] # isort: skip

LIBS = (mindtorch, torch)
Function = Callable[..., Any]


def flat(value: Any) -> list[Any]:
    """List the leaves of an operator's result, which may be a struct sequence in PyTorch."""
    return tree_leaves(tuple(value) if isinstance(value, tuple) else value)


def values(value: Any) -> list[Any]:
    """Return the tensors of a nested value as arrays, with whether they require grad; other leaves as they are."""
    leaves = flat(value)
    return [(np.asarray(leaf.detach().tolist()), leaf.requires_grad) if hasattr(leaf, "detach") else leaf
            for leaf in leaves]


def outcomes(function: Function, *shapes: tuple[int, ...], requires_grad: bool = False,
             dtype: str = "float64") -> tuple[Outcome, Outcome]:
    """Return the outcomes of ``function(lib, lib.func, *tensors)`` on normal numbers of these shapes."""
    numbers = [np.random.RandomState(i).randn(*shape) for i, shape in enumerate(shapes)]
    found = []
    for lib in LIBS:
        tensors = [lib.tensor(n.tolist(), dtype=getattr(lib, dtype), requires_grad=requires_grad) for n in numbers]
        found.append(Outcome.of(function, lib, lib.func, *tensors))
    return found[0], found[1]


def plain(error: Exception | None) -> str:
    """Return an error's message without parts that depend on the library or on time."""
    return re.sub(r"mindtorch\._tensor\.|mindtorch\.|torch\.| at 0x\w+", "", str(error))


def assert_agree(function: Function, *shapes: tuple[int, ...], tolerance: float = 1e-9, **options: Any) -> None:
    """Both libraries return the same structure of the same values, or raise the same type of error in the same words.
    """
    ours, theirs = outcomes(function, *shapes, **options)
    if theirs.error is not None:
        assert type(ours.error).__name__ == type(theirs.error).__name__, (ours.error, theirs.error)
        assert plain(ours.error) == plain(theirs.error)
        return
    assert ours.error is None, repr(ours.error)
    have, want = values(ours.value), values(theirs.value)
    assert len(have) == len(want)
    for a, b in zip(have, want, strict=True):
        if isinstance(b, tuple):
            assert a[0].shape == b[0].shape and a[1] == b[1]
            np.testing.assert_allclose(a[0], b[0], tolerance, tolerance)
        else:
            assert a == b
