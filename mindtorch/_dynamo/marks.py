"""Marks on tensors: which sizes become symbols when a program is traced (``torch._dynamo.decorators``).

The marks are PyTorch's attributes, which ``ShapeEnv`` contexts are made from: ``_dynamo_dynamic_indices``,
``_dynamo_weak_dynamic_indices``, ``_dynamo_static_indices``, ``_dynamo_unbacked_indices``, ``_dynamo_dynamic_range``.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .._tensor import Tensor


@dataclass(frozen=True, slots=True)
class _DimRange:
    """The sizes that a marked dimension may have. PyTorch's files of nested tensors hold some."""

    dim: int = 0  # a file makes a range first, and sets its state then
    min: int | None = None
    max: int | None = None

    def __setstate__(self, state: Sequence[int | None]) -> None:
        """Set the fields of a range from a file; TypeError for other values than numbers."""
        for name, value in zip(self.__slots__, state, strict=True):
            if value is not None and type(value) is not int:
                raise TypeError(f"the {name} of a range of sizes is a number, but got {type(value).__name__}")
            object.__setattr__(self, name, value)


def _add(t: Any, attribute: str, index: Any, *removed_from: str) -> None:
    """Add dimensions to a set of marks on a tensor, and remove them from other sets."""
    indices = index if isinstance(index, (list, tuple)) else [index]
    for i in indices:
        if not -t.dim() <= i < t.dim():
            raise IndexError(f"Dimension out of range: {i} for tensor with {t.dim()} dimensions")
    t.__dict__.setdefault(attribute, set()).update(i % t.dim() for i in indices)
    for other in removed_from:
        t.__dict__.get(other, set()).difference_update(t.__dict__[attribute])


def mark_dynamic(t: Any, index: Any, *, hint_override: int | None = None, min: int | None = None,
                 max: int | None = None, specialize_on: Any = None) -> None:
    """Note that a dimension changes from call to call: a program that makes its size a number is an error
    (``torch._dynamo.mark_dynamic``). ``min`` and ``max`` are the sizes that it may have. Raises IndexError for a
    dimension that the tensor lacks.
    """
    _add(t, "_dynamo_dynamic_indices", index, "_dynamo_static_indices")
    for i in index if isinstance(index, (list, tuple)) else [index]:
        t.__dict__.setdefault("_dynamo_dynamic_range", set()).add(_DimRange(i % t.dim(), min, max))


def maybe_mark_dynamic(t: Any, index: Any) -> None:
    """Note that a dimension changes from call to call, and may become a number nonetheless
    (``torch._dynamo.maybe_mark_dynamic``).
    """
    _add(t, "_dynamo_weak_dynamic_indices", index)


def mark_static(t: Any, index: Any = None) -> None:
    """Note that a dimension, or every one, has a fixed size (``torch._dynamo.mark_static``)."""
    _add(t, "_dynamo_static_indices", [*range(t.dim())] if index is None else index, "_dynamo_dynamic_indices")


def mark_unbacked(t: Any, index: Any, hint_override: int | None = None, strict: bool = False,
                  specialize_on: Any = None, **options: Any) -> None:
    """Note that a dimension's size is known only when the program runs, so that nothing can depend on it
    (``torch._dynamo.decorators.mark_unbacked``).
    """
    _add(t, "_dynamo_unbacked_indices", index)


def mark_static_address(t: Any, guard: bool = False) -> None:
    """Note that a tensor's memory stays where it is; with ``guard``, that programs depend on it
    (``torch._dynamo.mark_static_address``). Programs here read the memory at each call, so neither changes them.

    Raises:
        TypeError: for a value that is no tensor.
    """
    if not isinstance(t, Tensor):
        raise TypeError(f"mark_static_address expects a tensor but received {type(t)}")
    t.__dict__["_dynamo_static_input_type"] = "guarded" if guard else "unguarded"
