"""How cases for the simulated kernels are written: ACLNN operator, values of its parameters, and what PyTorch says.

The second is a function of ``x``, which draws tensors of the case's dtype. The third takes these values, as tensors and
numbers, and returns what is written: into the tensors of kind ``ref``, and into the outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch.nn import functional as F

aten = torch.ops.aten


class Draw:
    """Draws tensors of a dtype."""

    def __init__(self, dtype: torch.dtype):
        self.dtype, self.generator = dtype, torch.Generator().manual_seed(1)

    def __call__(self, *shape: int) -> torch.Tensor:
        """Numbers around 0; of integers, small ones."""
        if self.dtype == torch.bool:
            return self.mask(*shape)
        if self.dtype.is_floating_point or self.dtype.is_complex:
            return torch.randn(shape, generator=self.generator).to(self.dtype)
        return torch.randint(0 if self.dtype == torch.uint8 else -9, 10, shape, generator=self.generator).to(self.dtype)

    def positive(self, *shape: int) -> torch.Tensor:
        if self.dtype.is_floating_point:
            return (torch.rand(shape, generator=self.generator) * 3 + 0.5).to(self.dtype)
        return torch.randint(1, 9, shape, generator=self.generator).to(self.dtype)

    def unit(self, *shape: int) -> torch.Tensor:
        """Between 0 and 1, away from both."""
        return (torch.rand(shape, generator=self.generator) * 0.8 + 0.1).to(self.dtype)

    def mask(self, *shape: int) -> torch.Tensor:
        return torch.rand(shape, generator=self.generator) > 0.5

    def below(self, high: int, *shape: int) -> torch.Tensor:
        return torch.randint(0, high, shape, generator=self.generator)

    def like(self, tensor: torch.Tensor) -> torch.Tensor:
        return self(*tensor.shape)

    def permutation(self, n: int) -> torch.Tensor:
        return torch.randperm(n, generator=self.generator)

    def special(self, *shape: int) -> torch.Tensor:
        """Some of them infinite, or NaN."""
        out = self(*shape)
        if self.dtype.is_floating_point:
            out.view(-1)[::3], out.view(-1)[1::5], out.view(-1)[2::7] = float("inf"), float("nan"), -float("inf")
        return out


class Case(NamedTuple):
    name: str
    values: Callable[[Draw], tuple[Any, ...]]
    expected: Callable[..., Any]
    #: Dtypes to try, as in the table; by default, what the row takes of bool, int32, int64 and up to float32.
    only: str | None = None


CASES: list[Case] = []


def case(name: str, values: Callable[[Draw], tuple[Any, ...]], expected: Callable[..., Any],
         only: str | None = None) -> None:
    CASES.append(Case("aclnn" + name, values, expected, only))


def unary(names: str, values: Callable[[Draw], tuple[Any, ...]] = lambda x: (x(3, 4),),
          only: str | None = None) -> None:
    """Operators of one tensor, with PyTorch's names in lower case."""
    for name in names.split():
        case(name, values, getattr(torch, name.lower(), None) or getattr(F, name.lower()), only)


def two(x: Draw) -> tuple[Any, ...]:
    return x(3, 4), x(3, 4)


def with_row(x: Draw) -> tuple[Any, ...]:
    """Two tensors that broadcast."""
    return x(3, 4), x(4)
