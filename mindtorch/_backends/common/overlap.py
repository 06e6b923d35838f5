"""Which memory may be written to while other tensors are read: that of the target, and of what shares it."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..._base.about import about
from ..._base.layout import overlaps_itself
from ..._dispatch.dispatcher import TENSOR_TYPES, tensors_of
from ..._dispatch.keys import NONCONTIGUOUS
from ..._tensor import Tensor

OVERLAP = ("unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
           "Please clone() the tensor before performing the operation.")
PARTIAL_OVERLAP = ("unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
                   "single memory location. Please clone() the tensor before performing the operation.")
PARTIAL, FULL = 1, 2


def check_writable(target: Tensor, inputs: Any = ()) -> None:
    """Raise RuntimeError if a write would read or write its memory twice: for internal and for partial overlap."""
    if not target._keys & NONCONTIGUOUS and target._storage is None:
        return
    if target._keys & NONCONTIGUOUS and overlaps_itself(target.shape, target._strides()):
        raise about(RuntimeError(OVERLAP), "overlapping write")
    check_not_shifted(target, inputs)


def check_not_shifted(target: Tensor, inputs: Any) -> None:
    """Raise RuntimeError if a tensor among what is read meanwhile has the target's elements in other places (ATen's
    ``assert_no_partial_overlap``).
    """
    for other in inputs:
        if (other.__class__ in TENSOR_TYPES and other._storage is target._storage
                and _overlap(target, other) == PARTIAL):
            raise RuntimeError(PARTIAL_OVERLAP)


def check_disjoint(target: Tensor, inputs: Any) -> None:
    """Raise RuntimeError if a tensor among what is read meanwhile has elements in the target's memory (ATen's
    ``assert_no_overlap``).
    """
    for other in inputs:
        if _overlap(target, other):
            raise RuntimeError(PARTIAL_OVERLAP)


def _overlap(a: Tensor, b: Tensor) -> int:
    """Whether two tensors are the same elements in the same order, or cover ranges of memory that overlap. Of tensors
    with gaps this is not found out, as ATen does not.
    """
    if a is b:
        return FULL
    if (a._storage is None or a._storage is not b._storage or not a.numel() or not b.numel() or not a._is_dense()
            or not b._is_dense()):
        return 0
    start_a, start_b = a._offset * a._dtype.itemsize, b._offset * b._dtype.itemsize
    end_a, end_b = start_a + a.nbytes, start_b + b.nbytes
    if start_a == start_b and end_a == end_b:
        return FULL if a._strides() == b._strides() else PARTIAL
    return PARTIAL if start_a < end_b and start_b < end_a else 0


def check_separate(target: Tensor, inputs: Any = ()) -> None:
    """Refuse to write into memory that the write itself would read, or write twice (ATen's ``assert_no_overlap``)."""
    check_writable(target)
    check_disjoint(target, tensors_of(inputs))


def repeats(target: Tensor, inputs: Any) -> None:
    """The policy on shared memory of an operator that may write the same element several times, the same each time."""


def deprecated_on(name: str, index: str = "mask") -> Callable[..., None]:
    """The same, of which a warning tells; what is read meanwhile lies elsewhere."""

    def policy(target: Tensor, inputs: Any) -> None:
        if target._keys & NONCONTIGUOUS and overlaps_itself(target.shape, target._strides()):
            warnings.warn(f"Use of {name} on expanded tensors is deprecated. Please clone() the tensor before "
                          "performing this operation. This also applies to advanced indexing e.g. "
                          f"tensor[{index}] = {'scalar' if index == 'mask' else 'tensor'}", stacklevel=5)
        if name == "index_fill_":
            check_disjoint(target, [inputs[1]])  # whose value is read before
        elif name == "masked_fill_":
            check_not_shifted(target, inputs[:1])

    return policy


def with_overlap(check: Callable[..., Any], policy: Callable[..., None]) -> Callable[..., None]:
    """A check of an operator that exists in place only, with its own ``policy(target, inputs)`` on shared memory."""

    def row(self: Any, *args: Any) -> None:
        check(self, *args)

    row.policy = policy  # type: ignore[attr-defined]
    row.__wrapped__ = check  # type: ignore[attr-defined]
    return row
