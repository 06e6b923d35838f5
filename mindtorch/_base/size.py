"""``torch.Size`` and the strides of a tensor: tuples of ints with a few methods."""
from __future__ import annotations

from collections.abc import Iterable
from math import prod
from operator import index
from typing import Any

from .about import about
from .symbolic import SymInt

_new: Any = tuple.__new__
_item: Any = tuple.__getitem__
_sum: Any = tuple.__add__
INT = {int}


class Size(tuple[int, ...]):
    """A shape, whose slices, sums and products are shapes, too (``torch.Size``)."""

    __slots__ = ()
    __module__ = "mindtorch"  # where pickles find it

    def __new__(cls, sizes: Iterable[Any] = ()) -> Size:
        made = _new(cls, sizes)
        if INT.issuperset(map(type, made)):
            return made
        numbers = []
        for i, n in enumerate(made):
            try:
                numbers.append(n if n.__class__ is SymInt else index(n))
            except TypeError:
                raise TypeError(f"torch.Size() takes an iterable of 'int' (item {i} is '{type(n).__name__}')") from None
        return tuple.__new__(cls, numbers)

    def numel(self) -> int:
        """Return the number of elements of a tensor of this shape (``torch.Size.numel``)."""
        return prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    __str__ = __repr__

    def __getitem__(self, index: Any) -> Any:
        item = _item(self, index)
        return _new(Size, item) if item.__class__ is tuple else item

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, tuple):
            return NotImplemented
        return _new(Size, _sum(self, other)) if INT.issuperset(map(type, other)) else Size(_sum(self, other))

    def __radd__(self, other: Any) -> Any:
        return Size(_sum(other, self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times: Any) -> Size:
        return Size(tuple.__mul__(self, times))

    __rmul__ = __mul__

    def __reduce__(self) -> tuple[Any, tuple[tuple[int, ...]]]:
        return (Size, (tuple(self),))


def index_of(method: str, dim: Any) -> int:
    """Return a dimension that is like an int, but of another type, as one; TypeError for a bool or no integer."""
    try:
        if dim.__class__ is not bool:
            return index(dim)
    except TypeError:
        pass
    raise TypeError(f"{method}(): argument 'dim' (position 1) must be int, not {type(dim).__name__}")


class Stride(tuple[int, ...]):
    """The strides of a tensor in elements: a tuple that can be called as PyTorch's method is."""

    __slots__ = ()

    def __call__(self, dim: int | None = None) -> Any:
        """Return all strides, or the one of ``dim``; IndexError if ``dim`` is out of range."""
        if dim is None:
            return tuple(self)
        if dim.__class__ is not int:
            dim = index_of("stride", dim)
        span = len(self)
        if not -span <= dim < span:
            raise about(IndexError(f"Dimension out of range (expected to be in range of [{-max(span, 1)}, "
                                   f"{max(span, 1) - 1}], but got {dim})"),
                        "dimension", low=-max(span, 1), high=max(span, 1) - 1, given=dim)
        return self[dim]

    def __reduce__(self) -> tuple[Any, tuple[tuple[int, ...]]]:
        return (Stride, (tuple(self),))
