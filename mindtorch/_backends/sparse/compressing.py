"""The compressed layouts: rows or columns, of values or of blocks, and the ways between all layouts."""
from __future__ import annotations

from math import prod
from typing import Any

from ..._base.errors import check
from ..._base.formats import layout_name, sparse_coo
from ..._dispatch.aten import (
    _unique2 as unique, arange, cat, empty_memory_format as empty, index_Tensor as at, nonzero,
    repeat_interleave_Tensor as repeats, searchsorted_Tensor as searchsorted, stack, zeros,
)
from ..._dispatch.keys import SPARSES
from ..._dtype import DType, int32, int64
from ..._tensor import Tensor
from ..._tensor.sparse import BLOCKED, BSC, BSR, BY_ROW, COMPRESSED, CSC, CSR, Parts, coo as coo_tensor, sparse_tensor
from . import compressed, coo
from .coordinates import coalesce, coordinates, numbered, of_dense, put, with_dims, with_values_in
from .parts import nothing


def of_tensors(compressed_indices: Tensor, plain_indices: Tensor, values: Tensor, size: Any, dtype: DType | None = None,
               layout: Any = None, device: Any = None, pin_memory: Any = False) -> Tensor:
    """Return a sparse tensor of compressed and plain indices and values, which it shares."""
    check(layout in COMPRESSED, lambda: "sparse_compressed_tensor expected sparse compressed tensor layout but got "
          f"{'none' if layout is None else layout_name(layout)}")
    if dtype is not None or device is not None:
        values = values.to(device=device, dtype=dtype)
        compressed_indices, plain_indices = compressed_indices.to(device=device), plain_indices.to(device=device)
    return sparse_tensor(Parts(layout, compressed_indices._shallow_copy_and_detach(),
                               plain_indices._shallow_copy_and_detach(), values._shallow_copy_and_detach()), size)


# -- from compressed ---------------------------------------------------------------------------------------------------


def rows_and_columns(parts: Parts) -> tuple[Tensor, Tensor]:
    """Return the row and the column of each value or block; rows, or columns, of a batch have numbers of their own."""
    assert parts.plain is not None
    across = parts.plain.reshape(-1).to(int64)
    if parts.plain.is_meta:
        return across, across
    starts = parts.indices.to(int64)
    line = repeats((starts[..., 1:] - starts[..., :-1]).reshape(-1))
    return (line, across) if parts.layout in BY_ROW else (across, line)


def places_of(parts: Parts) -> Tensor:
    """Return the coordinates (matrix of the batch, row, column) of a compressed tensor's values or blocks."""
    assert parts.plain is not None
    if parts.plain.is_meta:
        return empty((3, parts.plain.numel()), int64, None, parts.plain._device)
    row, column = rows_and_columns(parts)
    which = arange(prod(parts.indices.shape[:-1]), int64, None, row._device).repeat_interleave(parts.nnz)
    if parts.layout in BY_ROW:
        row = row - which * (parts.indices.shape[-1] - 1)
    else:
        column = column - which * (parts.indices.shape[-1] - 1)
    return stack([which, row, column])


def flat_values(parts: Parts) -> Tensor:
    """Return the values or blocks of a compressed tensor, those of all matrices of the batch in one dimension."""
    count = prod(parts.values.shape[:parts.batch_dim + 1])
    return parts.values.reshape((count, *parts.values.shape[parts.batch_dim + 1:]))


@compressed("_to_dense")
def compressed_to_dense(self: Tensor, dtype: DType | None = None, masked_grad: bool | None = None) -> Tensor:
    parts, shape = self._sparse, tuple(self.shape)
    lead, (rows, columns) = shape[:parts.batch_dim], shape[parts.batch_dim:parts.batch_dim + 2]
    dense, block = shape[parts.batch_dim + 2:], parts.blocksize
    values = flat_values(parts)
    whole = (prod(lead), rows, columns) if not block else (prod(lead), rows // block[0], columns // block[1], *block)
    result = zeros((*whole, *dense), self._dtype, None, self._device)
    if values.shape[0]:
        put(result, places_of(parts), values)
    if block:
        result = result.transpose(2, 3)
    result = result.reshape(shape)
    return result if dtype is None else result.to(dtype)


def elements_of(self: Tensor) -> tuple[Tensor, Tensor]:
    """Return the coordinates (matrix of the batch, row, column) of a compressed tensor's values, and these."""
    parts = self._sparse
    places, values, block = places_of(parts), flat_values(parts), parts.blocksize
    if not block:
        return places, values
    inside = coordinates(arange(block[0] * block[1], int64, None, places._device), block)
    which, row, column = places.unbind(0)
    size = inside.shape[1]
    row = (row.unsqueeze(1) * block[0] + inside[0]).reshape(-1)
    column = (column.unsqueeze(1) * block[1] + inside[1]).reshape(-1)
    flat = values.reshape((prod(values.shape[:3]), *values.shape[3:]))
    return stack([which.repeat_interleave(size), row, column]), flat


@compressed("_to_sparse.sparse_dim")
def compressed_to_coo(self: Tensor, sparse_dim: int | None = None) -> Tensor:
    """Return a compressed tensor as coordinates, in the order of its values."""
    parts = self._sparse
    places, values = elements_of(self)
    lead = tuple(self.shape[:parts.batch_dim])
    indices = cat([coordinates(places[0], lead), places[1:]], 0)
    result = coo_tensor(indices, values, self.shape, parts.layout is CSR)
    return result if sparse_dim is None else with_dims(result, sparse_dim)


def csr_to_coo(crow_indices: Tensor, col_indices: Tensor, out_int32: bool = False, transpose: bool = False) -> Tensor:
    """Return the coordinates of compressed rows; turned round if ``transpose``."""
    values = col_indices.reshape(-1)
    lead = tuple(crow_indices.shape[:-1])
    which, row, column = places_of(Parts(CSR, crow_indices, col_indices, values)).unbind(0)
    line = [column, row] if transpose else [row, column]
    return cat([coordinates(which, lead), stack(line)], 0).to(int32 if out_int32 else crow_indices._dtype)


def coo_to_csr(self: Tensor, size: int, out_int32: bool = False) -> Tensor:
    """Return where each of ``size`` rows begins among sorted row numbers, and the end."""
    rows = arange(size + 1, self._dtype, None, self._device)
    return searchsorted(self, rows).to(int32 if out_int32 else int64)


# -- to compressed -----------------------------------------------------------------------------------------------------


def compress(places: Tensor, values: Tensor, lead: tuple[int, ...], size: tuple[int, int], layout: Any,
             block: tuple[int, ...] = ()) -> Tensor:
    """Return a compressed tensor of values at coordinates (matrix of the batch, row, column). Raises RuntimeError
    unless each matrix of the batch has as many values.
    """
    batch, by_row, dense = prod(lead), layout in BY_ROW, tuple(values.shape[1:])
    lines, across = (size if by_row else size[::-1])
    which, row, column = places.unbind(0)
    inside = None
    if block:
        inside = (row % block[0], column % block[1])
        row, column = (x.div(n, rounding_mode="floor") for x, n in zip((row, column), block, strict=True))
        line_step, across_step = block if by_row else block[::-1]
        lines, across = lines // line_step, across // across_step
    numbers = numbered(stack([which, row, column] if by_row else [which, column, row]), (batch, lines, across))
    unique_numbers, where, _ = unique(numbers, True, True)
    count = unique_numbers.shape[0]
    if block:
        held = zeros((count, *block, *dense), values._dtype, None, values._device)
        put(held, stack([where, *inside]), values)  # type: ignore[misc]
    else:
        held = zeros((count, *dense), values._dtype, None, values._device).index_copy(0, where, values)
    which, line, beside = coordinates(unique_numbers, (batch, lines, across)).unbind(0)
    counts = zeros((batch * lines,), int64, None, values._device)
    counts = counts.index_add(0, which * lines + line, counts.new_ones(count)).reshape((batch, lines))
    of_each = counts.sum(1)
    check(batch < 2 or bool((of_each == of_each[0]).all()), "Expect the same number of specified elements per batch.")
    starts = cat([counts.new_zeros((batch, 1)), counts.cumsum(1)], 1)
    each = count // batch if batch else 0
    return sparse_tensor(Parts(layout, starts.reshape((*lead, lines + 1)), beside.reshape((*lead, each)),
                               held.reshape((*lead, each, *block, *dense))), (*lead, *size, *dense))


def origin(self: Tensor) -> str:
    """Return the kind of a tensor's layout, as conversions name it in their errors."""
    return "dense" if not self._keys & SPARSES else "sparse" if self.is_sparse else "sparse_compressed"


def check_blocks(self: Tensor, block: tuple[int, ...], batch: int, name: str) -> None:
    check(len(block) == 2, lambda: f"{name}: blocksize needs to be a tuple of size 2, but got {len(block)}")
    check(all(n > 0 for n in block), lambda: f"{name}: blocksize needs to be positive, but got {list(block)}")
    size = self.shape[batch:batch + 2]
    check(size[0] % block[0] == 0 and size[1] % block[1] == 0,
          lambda: f"{name}: tensor sparse size ({size[0]},{size[1]}) must be divisible by given blocksize "
                  f"({block[0]},{block[1]})")


def to_compressed(self: Tensor, layout: Any, block: tuple[int, ...] = (), dense_dim: int | None = None) -> Tensor:
    """Return a tensor of any layout in a compressed one."""
    name = f"to_{layout.name}"
    if self._keys & SPARSES:
        parts = self._sparse
        refuse_conversion(self, layout, block, dense_dim)
        if self.is_sparse:
            check(parts.sparse_dim == 2, lambda: f"sparse_to_{layout.name}: conversion from Sparse to "
                  f"{layout_name(layout)} for input tensors with sparse_dim()!=2 is not supported")
            merged = coalesce(self)._sparse
            places = cat([merged.indices[:1] * 0, merged.indices], 0)
            values, batch = merged.values, 0
        else:
            (places, values), batch = elements_of(self), parts.batch_dim
    else:
        dense_dim = dense_dim or 0
        batch = self.ndim - 2 - dense_dim
        check(self.ndim >= 2, lambda: f"to_sparse: {layout_name(layout)} layout needs at least 2 dimensions, but got "
              f"{self.ndim}")
        check(batch >= 0, lambda: f"dense_to_sparse: dense_dim argument must be in [0,{self.ndim - 2}] range, but "
              f"{dense_dim} is given")
    check(self._keys & SPARSES != 0 or prod(self.shape[:batch]) > 0, lambda: f"{name}: Expected product of batch "
          "dimensions to be non-zero.")
    if block:
        check_blocks(self, block, batch, f"{origin(self)}_{name}")
    if self.is_meta:  # how many values there are is not known
        return nothing(self.shape, layout, self._dtype, self._device, None, block,
                       self._sparse.dense_dim if self._keys & SPARSES else dense_dim or 0)
    lead, (rows, columns) = tuple(self.shape[:batch]), self.shape[batch:batch + 2]
    if not self._keys & SPARSES:
        whole = self.reshape((prod(lead), *self.shape[batch:]))
        places = nonzero(with_values_in(whole, 3)).t().contiguous()
        if batch and not block:
            check_batches(places, prod(lead))
        values = at(whole, list(places.unbind(0)))
    made = compress(places, values, lead, (rows, columns), layout, block)
    if not self._keys & SPARSES or self.is_sparse or self._sparse.indices._dtype is int64:
        return made
    found, index_dtype = made._sparse, self._sparse.indices._dtype
    assert found.plain is not None
    return sparse_tensor(found._replace(indices=found.indices.to(index_dtype), plain=found.plain.to(index_dtype)),
                         made.shape)


def refuse_conversion(self: Tensor, layout: Any, block: tuple[int, ...], dense_dim: int | None) -> None:
    """Raise PyTorch's RuntimeError for a conversion between compressed layouts that it does not have."""
    parts, to = self._sparse, layout_name(layout)
    pair = f"conversion from {layout_name(parts.layout)} to {to}"
    kind = "sparse" if self.is_sparse else "sparse_compressed"
    check(dense_dim is None, lambda: f"{kind}_to_{layout.name}: {pair} with dense_dim argument given is not "
          "supported")
    if self.is_sparse:
        return
    check(layout in BLOCKED or not parts.blocksize, lambda: f"sparse_compressed_to_{layout.name}: expected SparseCsr "
          f"or SparseCsc layout but got {layout_name(parts.layout)}")
    check(not parts.blocksize or parts.blocksize == block, lambda: f"to_sparse: {pair} with blocksize changed from "
          f"{list(parts.blocksize)} to {list(block)} is not supported")
    check(not block or parts.blocksize or not parts.batch_dim, lambda: f"sparse_compressed_to_{layout.name}: {pair} "
          "for batched inputs is not supported")


def check_batches(places: Tensor, batch: int) -> None:
    counts = zeros((batch,), int64, None, places._device)
    counts = counts.index_add(0, places[0], counts.new_ones(places.shape[1]))
    check(not batch or bool((counts == counts[0]).all()), "Expect the same number of specified elements per batch.")


def to_csr(self: Tensor, dense_dim: int | None = None) -> Tensor:
    return to_compressed(self, CSR, (), dense_dim)


def to_csc(self: Tensor, dense_dim: int | None = None) -> Tensor:
    return to_compressed(self, CSC, (), dense_dim)


def to_bsr(self: Tensor, blocksize: Any, dense_dim: int | None = None) -> Tensor:
    return to_compressed(self, BSR, tuple(blocksize), dense_dim)


def to_bsc(self: Tensor, blocksize: Any, dense_dim: int | None = None) -> Tensor:
    return to_compressed(self, BSC, tuple(blocksize), dense_dim)


for _name, _row in (("_to_sparse_csr", to_csr), ("_to_sparse_csc", to_csc), ("_to_sparse_bsr", to_bsr),
                    ("_to_sparse_bsc", to_bsc)):
    coo(_name)(_row)
    compressed(_name)(_row)


def to_layout(self: Tensor, layout: Any = None, blocksize: Any = None, dense_dim: int | None = None) -> Tensor:
    """Return a tensor of any layout in a sparse one."""
    layout = layout or sparse_coo
    if layout.name == "strided":
        return self.to_dense()
    check(blocksize is None or layout in BLOCKED, lambda: f"{origin(self)}_to_sparse: conversion from "
          f"{layout_name(self.layout)} to {layout_name(layout)} with blocksize argument given is not supported")
    if layout is sparse_coo:
        if self._keys & SPARSES:
            return self if self.is_sparse else compressed_to_coo(self)
        return of_dense(self, self.ndim - (dense_dim or 0))
    check(layout in COMPRESSED, lambda: f"to_sparse: unsupported layout {layout}")
    check(blocksize is not None or layout not in BLOCKED, lambda: f"{origin(self)}_to_sparse: conversion from "
          f"{layout_name(self.layout)} to {layout_name(layout)} without blocksize argument given is not supported")
    return to_compressed(self, layout, tuple(blocksize or ()), dense_dim)


coo("_to_sparse")(to_layout)
compressed("_to_sparse")(to_layout)


def like(result: Tensor, pattern: Tensor) -> Tensor:
    """Return a tensor of coordinates in the layout of another one."""
    parts = pattern._sparse
    if parts.layout is sparse_coo:
        return result
    return to_compressed(result, parts.layout, parts.blocksize)


@compressed("sparse_mask")
def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """Return the values of a tensor at the places of a compressed mask."""
    check(mask._keys & SPARSES != 0 and self.shape == mask.shape, lambda: "sparse_mask(): operands have incompatible "
          f"sizes; self has size {list(self.shape)} but mask has size {list(mask.shape)}")
    if mask.is_sparse:
        return self.to_sparse(layout=sparse_coo).sparse_mask(mask)
    parts = mask._sparse
    dense = self.to_dense() if self._keys & SPARSES else self
    lead = tuple(self.shape[:parts.batch_dim])
    whole = dense.reshape((prod(lead), *dense.shape[parts.batch_dim:]))
    block = parts.blocksize
    if block:
        rows, columns = whole.shape[1:3]
        whole = whole.reshape((whole.shape[0], rows // block[0], block[0], columns // block[1], block[1],
                               *whole.shape[3:])).transpose(2, 3)
    values = at(whole, list(places_of(parts).unbind(0)))
    return sparse_tensor(parts._replace(values=values.reshape((*lead, parts.nnz, *values.shape[1:]))), self.shape)

