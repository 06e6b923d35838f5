"""Settings of windows: one number for all dimensions, or one for each."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any


def ntuple(dims: int) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that repeats a number ``dims`` times as a tuple, and leaves sequences as they are."""

    def parse(value: Any) -> tuple[Any, ...]:
        return tuple(value) if isinstance(value, Iterable) else (value,) * dims

    return parse


single, pair, triple, quadruple = map(ntuple, (1, 2, 3, 4))


def reverse_repeat(values: Sequence[Any], times: int) -> tuple[Any, ...]:
    """Repeat each value, in reverse order: the padding of windows as ``nn.functional.pad`` takes it."""
    return tuple(value for value in reversed(values) for _ in range(times))


def with_defaults(sizes: Any, defaults: Sequence[int]) -> Any:
    """Return sizes with the last defaults in place of None; ValueError unless there are more defaults."""
    if isinstance(sizes, int):
        return sizes
    if len(defaults) <= len(sizes):
        raise ValueError(f"Input dimension should be at least {len(sizes) + 1}")
    return [default if size is None else size for size, default in zip(sizes, defaults[-len(sizes):], strict=False)]
