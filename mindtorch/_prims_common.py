"""Comparisons of tensors' descriptions (``torch._prims_common``)."""
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ._base.formats import channels_last, channels_last_3d, contiguous_format
from ._base.layout import CHANNELS_LAST, suggested_order
from ._tensor import Tensor


def compare_tensor_meta(a: Tensor, b: Tensor, check_sizes: bool = True, check_strides: bool = False, *,
                        allow_rhs_unbacked: bool = False, check_conj: bool = True) -> None:
    """Raise AssertionError or RuntimeError unless two tensors have the same shape, dtype and device; with
    ``check_strides`` also the same strides and storage offset.
    """
    for name in ("shape", "dtype"):
        ours, theirs = getattr(a, name), getattr(b, name)
        if ours != theirs and (check_sizes or name != "shape"):
            raise AssertionError(f"{name.capitalize()}s {ours} and {theirs} are not equal!")
    if str(a.device) != str(b.device):
        raise AssertionError(f"Devices {a.device} and {b.device} are not equal!")
    if check_strides:
        for size, ours, theirs in zip(a.shape, a.stride(), b.stride(), strict=True):
            if size != 1 and a.numel() and ours != theirs:
                raise RuntimeError(f"Stride mismatch! Strides are {a.stride()} and {b.stride()}!")
        if a.storage_offset() != b.storage_offset():
            raise RuntimeError("Storage offset mismatch! Storage offsets are "
                               f"{a.storage_offset()} and {b.storage_offset()}!")
    if check_conj and (a.is_conj(), a.is_neg()) != (b.is_conj(), b.is_neg()):
        raise RuntimeError("Conj or neg mismatch!")


def make_contiguous_strides_for(shape: Sequence[int], row_major: bool = True) -> tuple[int, ...]:
    """Return the strides of contiguous memory, where a size of 0 counts as 1; with ``row_major=False`` the matrices of
    the last two dimensions are stored by columns.
    """
    strides = [prod(max(size, 1) for size in shape[dim + 1:]) for dim in range(len(shape))]
    if not row_major and len(shape) > 1:
        strides[-2:] = [1, max(shape[-2], 1)]
    return tuple(strides)


def suggest_memory_format(x: Tensor) -> Any:
    """Return the memory format that a tensor's strides suggest."""
    order = suggested_order(tuple(x.shape), tuple(x.stride()))
    formats = {4: channels_last, 5: channels_last_3d}
    return formats[x.dim()] if order is not None and order == CHANNELS_LAST[x.dim()] else contiguous_format
