"""A distribution made in both libraries, from one seed, and comparison of what they say."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import mindtorch
from tests.support import array, is_tensor, seed_all, torch

from .cases import CASES

LIBRARIES = (torch, mindtorch)


class Parameters:
    """Makes the parameters of a case, and keeps them in ``leaves``."""

    def __init__(self, lib: Any, dtype: str = "float64", requires_grad: bool = False):
        self.lib, self.dtype, self.requires_grad = lib, dtype, requires_grad
        self.leaves: list[Any] = []

    def __call__(self, values: Any) -> Any:
        leaf = self.lib.tensor(values, dtype=getattr(self.lib, self.dtype), requires_grad=self.requires_grad)
        self.leaves.append(leaf)
        return leaf


def made(name: str, lib: Any, **options: Any) -> Any:
    """Make the distribution of a case in a library."""
    return CASES[name](lib.distributions, Parameters(lib, **options))


def told(program: Callable[[Any], Any], lib: Any, seed: int = 0) -> Any:
    """Return the result of a library's program, or its error, and the generator's state afterwards."""
    seed_all(lib, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return program(lib)
        except Exception as error:
            return error


def assert_same(ours: Any, theirs: Any, rtol: float = 1e-9, atol: float = 1e-12) -> None:
    """Assert that results are the same: shape, dtype, values to a tolerance; errors: their types and messages."""
    if isinstance(theirs, BaseException) or isinstance(ours, BaseException):
        assert type(ours) is type(theirs), f"{ours!r}, torch {theirs!r}"
        assert str(ours).replace("mindtorch", "torch").split() == str(theirs).split()  # PyTorch's have stray spaces
    elif isinstance(theirs, (list, tuple)) and not isinstance(theirs, torch.Size):
        assert len(ours) == len(theirs)
        for our, their in zip(ours, theirs, strict=True):
            assert_same(our, their, rtol, atol)
    elif is_tensor(theirs):
        assert tuple(ours.shape) == tuple(theirs.shape)
        assert str(ours.dtype) == str(theirs.dtype)
        np.testing.assert_allclose(array(ours.detach()), array(theirs.detach()), rtol, atol)
    else:
        assert str(ours) == str(theirs)


def assert_agree(program: Callable[[Any], Any], rtol: float = 1e-9, atol: float = 1e-12, seed: int = 0) -> None:
    """Assert that a program does in both libraries the same."""
    theirs, ours = (told(program, lib, seed) for lib in LIBRARIES)
    assert_same(ours, theirs, rtol, atol)
