"""Meta kernels of joining, reversing and triangles."""
from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from ...._base.about import about
from ...._base.errors import check, check_takes
from ...._base.layout import (
    Ints, Spec, like_strides, suggested_order, suggested_strides, view_strides, wrap_dim, wrap_dims,
)
from ...._dtype import DType, int32, int64, promote_types
from ...common.overlap import repeats, with_overlap
from . import META_KERNELS

Layout = tuple[Ints, Ints]


def joined(layouts: list[Layout], dim: int, dtype: DType) -> Spec:
    """What ``cat`` makes of tensors of these shapes and strides; an empty one with one dimension goes with any shape.

    Raises:
        RuntimeError: if one has no dimensions, or the shapes differ in more than ``dim``.
    """
    for i, (shape, _) in enumerate(layouts):
        if not shape:
            raise about(RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated"),
                        "numbers to join")
    kept = [(i, shape) for i, (shape, _) in enumerate(layouts) if shape != (0,)]
    if not kept:
        return Spec((0,), dtype)
    first, total = kept[0][1], 0
    dim = wrap_dim(dim, len(first))
    for i, shape in kept:
        if len(shape) != len(first):
            raise about(RuntimeError(f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}"),
                        "cat dimensions")
        for d, (wanted, size) in enumerate(zip(first, shape, strict=True)):
            if d != dim and wanted != size:
                raise about(RuntimeError(f"Sizes of tensors must match except in dimension {dim}. Expected size "
                                         f"{wanted} but got size {size} for tensor number {i} in the list."),
                            "cat shapes", dim=dim, wanted=wanted, got=size, number=i)
        total += shape[dim]
    out = (*first[:dim], total, *first[dim + 1:])
    orders = {suggested_order(*layout) for layout in layouts}
    return Spec(out, dtype, suggested_strides(out, orders.pop()) if len(orders) == 1 else None)


def common_dtype(tensors: Any) -> DType:
    return reduce(promote_types, (t._dtype for t in tensors))


def cat(tensors: Any, dim: int = 0) -> Spec:
    check(tensors, "torch.cat(): expected a non-empty list of Tensors", ValueError, kind="nothing to join")
    return joined([(tuple(t.shape), t._strides()) for t in tensors], dim, common_dtype(tensors))


def stack(tensors: Any, dim: int = 0) -> Spec:
    check(tensors, "stack expects a non-empty TensorList")
    shape = tuple(tensors[0].shape)
    dim = wrap_dim(dim, len(shape) + 1)
    for i, t in enumerate(tensors):
        if t.shape != shape:
            raise about(RuntimeError(f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 "
                                     f"and {list(t.shape)} at entry {i}"), "stack shapes", number=i)

    dtype = common_dtype(tensors)
    if dim == len(shape):
        return joined([((*shape, 1), (*t._strides(), 1)) for t in tensors], dim, dtype)
    flat = joined([(shape, t._strides()) for t in tensors], dim, dtype)  # which is then seen with that dimension split
    split = (*shape[:dim], len(tensors), *shape[dim:])
    return Spec(split, dtype, None if flat.stride is None else view_strides(flat.shape or (), flat.stride, split))


def flip(self: Any, dims: Ints) -> Spec:
    if dims:
        wrap_dims(dims, self.dim())
    return Spec(tuple(self.shape), self._dtype, like_strides(tuple(self.shape), self._strides()))


def triangle(name: str) -> Callable[..., Spec]:
    def row(self: Any, diagonal: int = 0) -> Spec:
        check(self.dim() >= 2, lambda: f"{name}: input tensor must have at least 2 dimensions")
        return Spec(tuple(self.shape), self._dtype)

    return row


def triangle_size(row: int, col: int, offset: int) -> int:
    """How many elements of a matrix lie on the diagonal ``offset`` or below it."""
    first = min(row, max(0, -offset))  # the rows before it have none, and from ``full`` on they have all
    full = min(row, max(first, col - 1 - offset))
    return (full - first) * (first + 1 + full + 2 * offset) // 2 + (row - full) * col


def triangle_indices(name: str, count: Callable[[int, int, int], int]) -> Callable[..., Spec]:
    def meta(row: int, col: int, offset: int = 0, dtype: DType | None = None, *options: Any) -> Spec:
        check(row >= 0, lambda: f"row must be non-negative, got{row}")
        check(col >= 0, lambda: f"col must be non-negative, got{col}")
        dtype = dtype or int64
        check_takes(dtype in (int64, int32), name, dtype)
        return Spec((2, count(row, col, offset)), dtype)

    return meta


def repeat_interleave(repeats: Any, output_size: int | None = None) -> Spec:
    check_takes(repeats._dtype in (int32, int64), "repeat_interleave_cpu", repeats._dtype)
    check(repeats.dim() == 1, "repeat_interleave only accept 1D vector as repeat")
    if not repeats.numel() and not repeats.is_meta:
        return Spec((0,), repeats._dtype)
    return Spec(None if output_size is None else (output_size,), repeats._dtype)


META_KERNELS.add(cat, stack, flip)
META_KERNELS.update({
    "tril": triangle("tril"),
    "triu": triangle("triu"),
    "tril_": with_overlap(triangle("tril"), repeats),
    "triu_": with_overlap(triangle("triu"), repeats),
    "tril_indices": triangle_indices("tril_indices", triangle_size),
    "triu_indices": triangle_indices(
        "triu_indices", lambda row, col, offset: row * col - triangle_size(row, col, offset - 1)),
    "repeat_interleave.Tensor": repeat_interleave,
})
