"""How shapes broadcast: dimensions aligned from the right, which are stretched, which do not match."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .._creation import empty
from ..functional import broadcast_tensors


@dataclass(frozen=True)
class Dimension:
    """A dimension from the right: each shape's size or None, the common size, and which are ``stretched``."""

    number: int
    sizes: tuple[int | None, ...]
    result: int | None
    stretched: tuple[bool, ...]


@dataclass(frozen=True)
class BroadcastFacts:
    """The ``dimensions`` of the shapes from left to right; the common shape, or None and PyTorch's ``error``."""

    shapes: tuple[tuple[int, ...], ...]
    dimensions: tuple[Dimension, ...]
    result: tuple[int, ...] | None
    error: str


def broadcast_facts(*shapes: Sequence[int]) -> BroadcastFacts:
    """Describe how these shapes broadcast; ValueError if there is no shape, or a size is negative."""
    given = tuple(tuple(shape) for shape in shapes)
    if not given:
        raise ValueError("broadcasting needs at least one shape")
    negative = next((shape for shape in given if any(size < 0 for size in shape)), None)
    if negative is not None:
        raise ValueError(f"sizes cannot be negative: {negative}")
    width = max(map(len, given))
    dimensions = tuple(_dimension(number, given) for number in range(-width, 0))
    error, result = "", None
    try:
        result = tuple(broadcast_tensors(*(empty(shape, device="meta") for shape in given))[0].shape)
    except RuntimeError as refused:
        error = str(refused)
    return BroadcastFacts(given, dimensions, result, error)


def _dimension(number: int, shapes: Sequence[tuple[int, ...]]) -> Dimension:
    sizes = tuple(shape[number] if len(shape) >= -number else None for shape in shapes)
    wanted = {size for size in sizes if size not in (None, 1)}
    result = None if len(wanted) > 1 else next(iter(wanted), 1)
    stretched = tuple(result not in (None, 1) and size in (None, 1) for size in sizes)
    return Dimension(number, sizes, result, stretched)


def parse_shape(text: str) -> tuple[int, ...]:
    """Read a shape as typed: ``2, 3``, ``(2, 3)``, ``[4]`` or ``()``; ValueError if it is none."""
    inner = text.strip().removeprefix("torch.Size").strip().strip("()[]").strip()
    sizes = []
    for part in inner.rstrip(",").split(",") if inner else ():
        if not part.strip().isdecimal():
            raise ValueError(f"{part.strip()!r} is no size: a shape is written as 2, 3, 1")
        sizes.append(int(part))
    return tuple(sizes)
