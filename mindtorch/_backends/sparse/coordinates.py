"""The layout ``sparse_coo``: coordinates as numbers, coalescing, and the ways from and to dense tensors."""
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ..._base.errors import check
from ..._base.formats import sparse_coo
from ..._dispatch.aten import (
    _unique2 as unique, any_dims as any_of, arange, cat, empty_memory_format as empty, index_add_, index_put_,
    index_Tensor as at, ne_Tensor as differs, nonzero, searchsorted_Tensor as searchsorted, stack, zeros,
)
from ..._dispatch.keys import SPARSES
from ..._dtype import DType, bool_, int8, int64
from ..._tensor import Tensor
from ..._tensor.sparse import coo as coo_tensor, sparse_tensor
from . import coo
from .parts import nothing


def numbered(indices: Tensor, sizes: Sequence[int]) -> Tensor:
    """Return each column of coordinates as one number: its place in a contiguous tensor of these sizes."""
    if not indices.shape[0]:
        return zeros((indices.shape[1],), int64, None, indices._device)
    rows = indices.unbind(0)
    number = rows[0]
    for row, size in zip(rows[1:], sizes[1:], strict=True):
        number = number * size + row
    return number


def coordinates(numbers: Tensor, sizes: Sequence[int]) -> Tensor:
    """Return the coordinates of places in a contiguous tensor of these sizes, one a column."""
    rows = []
    for size in reversed(sizes):
        rows.append(numbers % max(size, 1))
        numbers = numbers.div(max(size, 1), rounding_mode="floor")
    return stack(rows[::-1]) if rows else empty((0, numbers.shape[0]), int64, None, numbers._device)


def added(values: Tensor, places: Tensor, count: int) -> Tensor:
    """Sum values by their target index into ``count`` results (for bools: any)."""
    if values._dtype is bool_:
        return added(values.to(int8), places, count).to(bool_)
    result = zeros((count, *values.shape[1:]), values._dtype, None, values._device)
    return index_add_(result, 0, places, values)


@coo("_coalesce")
def coalesce(self: Tensor) -> Tensor:
    """Sort coordinates, and add values of the same (``torch.Tensor.coalesce``); itself if that is done."""
    parts = self._sparse
    if parts.coalesced or parts.layout is not sparse_coo:
        return self
    if parts.nnz < 2:
        return coo_tensor(parts.indices, parts.values, self.shape, True)
    if self.is_meta:  # how many there are is not known
        return coo_tensor(parts.indices[:, :0], parts.values[:0], self.shape, True)
    sizes = self.shape[:parts.sparse_dim]
    numbers, places, _ = unique(numbered(parts.indices, sizes), True, True)
    return coo_tensor(coordinates(numbers, sizes), added(parts.values, places, numbers.shape[0]), self.shape, True)


def of_dims_and_tensors(sparse_dim: int, dense_dim: int, size: Any, indices: Tensor, values: Tensor,
                        dtype: DType | None = None, layout: Any = None, device: Any = None, pin_memory: Any = False,
                        is_coalesced: bool | None = None) -> Tensor:
    """Return a sparse tensor of coordinates and values, which it shares."""
    if dtype is not None or device is not None:
        values, indices = values.to(device=device, dtype=dtype), indices.to(device=device)
    return coo_tensor(indices._shallow_copy_and_detach(), values._shallow_copy_and_detach(), size, bool(is_coalesced))


# -- to and from dense -------------------------------------------------------------------------------------------------


@coo("_to_dense")
def to_dense(self: Tensor, dtype: DType | None = None, masked_grad: bool | None = None) -> Tensor:
    parts, shape = self._sparse, tuple(self.shape)
    result = zeros(shape, self._dtype, None, self._device)
    if parts.nnz:
        put(result, parts.indices, parts.values)
    return result if dtype is None else result.to(dtype)


def put(target: Tensor, indices: Tensor, values: Tensor) -> Tensor:
    """Add values at coordinates to a dense tensor, in place."""
    if not indices.shape[0]:
        return target.copy_(target + values.sum(0)) if values._dtype is not bool_ else target.copy_(values.any(0))
    if values._dtype is bool_:
        return target.logical_or_(index_put_(zeros(tuple(target.shape), int8, None, target._device),
                                             list(indices.unbind(0)), values.to(int8), True).to(bool_))
    return index_put_(target, list(indices.unbind(0)), values, True)


def of_dense(self: Tensor, sparse_dim: int) -> Tensor:
    """Return coordinates and values of the elements of a dense tensor that are not 0."""
    ndim = self.ndim
    check(ndim == 0 or sparse_dim > 0 or sparse_dim < 0, "dense_to_sparse: sparse_dim argument must be in >0 when "
          "self.dim()>0")
    check(0 <= sparse_dim <= ndim, lambda: f"dense_to_sparse: sparse_dim argument must be in [0,{ndim}] range, but "
          f"{sparse_dim} is given")
    if not ndim:
        there = self.reshape(1)[:1 if self.is_meta or bool(self != 0) else 0]
        return coo_tensor(empty((0, there.shape[0]), int64, None, self._device), there, (), True)
    if self.is_meta:  # how many there are is not known
        return nothing(self.shape, sparse_coo, self._dtype, self._device, sparse_dim)
    there = nonzero(with_values_in(self, sparse_dim)).t()
    indices = there.contiguous()
    return coo_tensor(indices, at(self, list(indices.unbind(0))), self.shape, True)


def with_values_in(self: Tensor, dims: int) -> Tensor:
    """Return where, in the first dimensions of a dense tensor, any element is not 0."""
    there = differs(self, 0)
    return any_of(there, tuple(range(dims, self.ndim))) if dims < self.ndim else there


# -- masks -------------------------------------------------------------------------------------------------------------


@coo("sparse_mask")
def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """Return the values of a tensor at a mask's coordinates (``torch.Tensor.sparse_mask``)."""
    check(mask._keys & SPARSES != 0, "sparse_mask(): the mask must be a sparse tensor")
    check(self.shape == mask.shape, lambda: f"sparse_mask(): operands have incompatible sizes; self has size "
          f"{list(self.shape)} but mask has size {list(mask.shape)}")
    parts = mask._sparse
    if not self._keys & SPARSES:
        return sparse_tensor(parts._replace(values=gathered(self, parts.indices)), self.shape)
    if self._sparse.layout is not sparse_coo:
        self = self.to_sparse(layout=sparse_coo)
    if self is mask:
        return self
    mine = self._sparse
    check(mine.sparse_dim == parts.sparse_dim, lambda: "sparse_mask(): the number of sparse dimensions in self should "
          f"match that of mask. Got `self.sparse_dim() == {mine.sparse_dim}` != `mask.sparse_dim() == "
          f"{parts.sparse_dim}`.")
    return sparse_tensor(parts._replace(values=found_values(self, parts.indices)), self.shape)


@coo("_sparse_mask_projection")
def _sparse_mask_projection(self: Tensor, mask: Tensor, accumulate_matches: bool = False) -> Tensor:
    return sparse_mask(self, mask)


def gathered(dense: Tensor, indices: Tensor) -> Tensor:
    """Return the elements of a dense tensor at coordinates."""
    if indices.shape[0]:
        return at(dense, list(indices.unbind(0)))
    return dense.expand((indices.shape[1], *dense.shape)).clone()


def found(numbers: Tensor, among: Tensor) -> tuple[Tensor, Tensor]:
    """Return where numbers are among sorted ones, and whether they are."""
    places = searchsorted(among, numbers)
    places = places.clamp(max=max(among.shape[0] - 1, 0))
    return places, (among[places] == numbers) if among.shape[0] else zeros((numbers.shape[0],), bool_, None,
                                                                          numbers._device)


def found_values(self: Tensor, indices: Tensor) -> Tensor:
    """Return the values of a sparse tensor at coordinates, 0 where it has none."""
    parts = coalesce(self)._sparse
    if not parts.nnz or not indices.shape[1]:
        return zeros((indices.shape[1], *parts.values.shape[1:]), self._dtype, None, self._device)
    sizes = self.shape[:parts.sparse_dim]
    places, there = found(numbered(indices, sizes), numbered(parts.indices, sizes))
    values = parts.values[places]
    return values.masked_fill(there.logical_not().reshape((-1, *(1,) * (values.ndim - 1))), 0)


def joined(first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    """Return coordinates and values of two sparse tensors one after the other."""
    one, two = first._sparse, second._sparse
    return cat([one.indices, two.indices], 1), cat([one.values, two.values], 0)


def all_places(shape: Sequence[int], device: Any) -> Tensor:
    """Return all coordinates of a shape."""
    return coordinates(arange(prod(shape), int64, None, device), tuple(shape))


def with_dims(self: Tensor, sparse_dim: int) -> Tensor:
    """Return a sparse tensor with another number of sparse dimensions, whose values are not summed."""
    parts = self._sparse
    if sparse_dim == parts.sparse_dim:
        return self
    raise RuntimeError("to_sparse: conversion from Sparse to Sparse with sparse_dim argument !=self.sparse_dim() is "
                       "not supported")


@coo("_to_sparse.sparse_dim")
def _to_sparse(self: Tensor, sparse_dim: int) -> Tensor:
    return with_dims(self, sparse_dim)


