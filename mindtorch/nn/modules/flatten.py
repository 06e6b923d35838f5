"""``Flatten`` and ``Unflatten``; mirrors ``torch.nn.modules.flatten``."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._tensor import Tensor
from ..module import Module


class Flatten(Module):
    """Merges the dimensions from ``start_dim`` to ``end_dim`` into one (``torch.nn.Flatten``)."""

    __constants__ = _shown = ("start_dim", "end_dim")

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)


class Unflatten(Module):
    """Splits dimension ``dim`` into several (``torch.nn``); TypeError if the sizes are not a tuple or list of ints."""

    __constants__ = _shown = ("dim", "unflattened_size")

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        self._check(unflattened_size)
        self.dim, self.unflattened_size = dim, unflattened_size

    @staticmethod
    def _check(sizes: Any) -> None:
        if not isinstance(sizes, (tuple, list)):
            kind = type(sizes).__name__
            raise TypeError(f"unflattened_size must be a tuple of ints, but found type {kind}")
        for position, size in enumerate(sizes):
            if not isinstance(size, int):
                raise TypeError("unflattened_size must be tuple of ints, but found element of type "
                                f"{type(size).__name__} at pos {position}")

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)
