"""Groups of elements that share a mean and a variance, or a weight, in a normalisation.

Batch, layer and group normalisation view their input in some shape, take moments along some of its axes, and scale and
shift the result along others. They differ in these axes only.
"""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod

from .layout import Ints

KEPT = 256  #: cached groups of each kind


@dataclass(frozen=True)
class Groups:
    """The axes along which elements share moments and weights."""

    shape: Ints  #: the shape in which the input is viewed
    over: Ints  #: the axes along which mean and variance are taken
    affine: Ints  #: the shape in which weight and bias are viewed
    shared: Ints  #: the axes along which one weight and one bias are shared

    @cached_property
    def moments(self) -> Ints:
        """The shape in which means and variances are viewed."""
        return tuple(1 if axis in self.over else size for axis, size in enumerate(self.shape))

    @cached_property
    def elements(self) -> int:
        """The number of elements per mean."""
        return prod(self.shape[axis] for axis in self.over)


@lru_cache(KEPT)
def by_channel(shape: Ints) -> Groups:
    """Group for batch normalisation: each channel (dimension 1) has its moments and its weight."""
    others = tuple(axis for axis in range(len(shape)) if axis != 1)
    return Groups(tuple(shape), others, (1, shape[1], *(1,) * (len(shape) - 2)), others)


@lru_cache(KEPT)
def by_row(shape: Ints, dims: int) -> Groups:
    """Group for layer normalisation: runs of the last ``dims`` dimensions share moments, positions weights."""
    outer, inner = prod(shape[:len(shape) - dims]), prod(shape[len(shape) - dims:])
    return Groups((outer, inner), (1,), (1, inner), (0,))


@lru_cache(KEPT)
def by_group(batch: int, channels: int, pixels: int, groups: int) -> Groups:
    """Group for group normalisation: each group of channels of a sample has its moments, each channel its weight."""
    each = channels // groups
    return Groups((batch, groups, each, pixels), (2, 3), (1, groups, each, 1), (0, 3))
