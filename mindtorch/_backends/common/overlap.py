"""Checks of memory overlap between the target of a write and the tensors that are read."""
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
    """Raise RuntimeError if the target overlaps itself or partially overlaps an input."""
    if not target._keys & NONCONTIGUOUS and target._storage is None:
        return
    if target._keys & NONCONTIGUOUS and overlaps_itself(target.shape, target._strides()):
        raise about(RuntimeError(OVERLAP), "overlapping write")
    check_not_shifted(target, inputs)


def check_not_shifted(target: Tensor, inputs: Any) -> None:
    """Raise RuntimeError if an input partially overlaps the target (ATen's ``assert_no_partial_overlap``)."""
    for other in inputs:
        if (other.__class__ in TENSOR_TYPES and other._storage is target._storage
                and _overlap(target, other) == PARTIAL):
            raise RuntimeError(PARTIAL_OVERLAP)


def check_disjoint(target: Tensor, inputs: Any) -> None:
    """Raise RuntimeError if an input overlaps the target (ATen's ``assert_no_overlap``)."""
    for other in inputs:
        if _overlap(target, other):
            raise RuntimeError(PARTIAL_OVERLAP)


def _overlap(a: Tensor, b: Tensor) -> int:
    """Return FULL for equal layouts, PARTIAL for other overlaps, 0 for none; like ATen, 0 for tensors with gaps."""
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
    """Raise RuntimeError if the target overlaps itself or an input (ATen's ``assert_no_overlap``)."""
    check_writable(target)
    check_disjoint(target, tensors_of(inputs))


def repeats(target: Tensor, inputs: Any) -> None:
    """Accept any overlap: an operator may write an element several times if the value is always equal."""


def deprecated_on(name: str, index: str = "mask") -> Callable[..., None]:
    """Return the policy of ``name``: only warn of an expanded target, as PyTorch does; check some inputs."""

    def policy(target: Tensor, inputs: Any) -> None:
        if target._keys & NONCONTIGUOUS and overlaps_itself(target.shape, target._strides()):
            warnings.warn(f"Use of {name} on expanded tensors is deprecated. Please clone() the tensor before "
                          "performing this operation. This also applies to advanced indexing e.g. "
                          f"tensor[{index}] = {'scalar' if index == 'mask' else 'tensor'}", stacklevel=5)
        if name == "index_fill_":
            check_disjoint(target, [inputs[1]])  # the value is read before the write
        elif name == "masked_fill_":
            check_not_shifted(target, inputs[:1])

    return policy


def with_overlap(check: Callable[..., Any], policy: Callable[..., None]) -> Callable[..., None]:
    """Attach an overlap policy, ``policy(target, inputs)``, to the check of an in-place-only operator."""

    def row(self: Any, *args: Any) -> None:
        check(self, *args)

    row.policy = policy  # type: ignore[attr-defined]
    row.__wrapped__ = check  # type: ignore[attr-defined]
    return row
