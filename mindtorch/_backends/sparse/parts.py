"""The parts of sparse tensors, copies of them, and tensors without values."""
from __future__ import annotations

from typing import Any

from ..._base.errors import check
from ..._base.formats import layout_name, sparse_coo
from ..._device import device as Device
from ..._dispatch.aten import empty_memory_format as empty, zeros
from ..._dispatch.keys import SPARSES
from ..._dispatch.schemas import registry
from ..._dtype import DType, int64
from ..._tensor import Tensor
from ..._tensor.sparse import BLOCKED, BSC, BY_ROW, COMPRESSED, CSC, Parts, become, sparse_tensor
from . import compressed, coo, sparse


@coo("indices")
def indices(self: Tensor) -> Tensor:
    check(self._sparse.coalesced, "Cannot get indices on an uncoalesced tensor, please call .coalesce() first")
    return self._sparse.indices._shallow_copy_and_detach()


@coo("values")
def values(self: Tensor) -> Tensor:
    check(self._sparse.coalesced, "Cannot get values on an uncoalesced tensor, please call .coalesce() first")
    return self._sparse.values._shallow_copy_and_detach()


coo("_indices")(lambda self: self._sparse.indices._shallow_copy_and_detach())
coo("_values")(lambda self: self._sparse.values._shallow_copy_and_detach())
compressed("values")(lambda self: self._sparse.values._shallow_copy_and_detach())
sparse("_nnz")(lambda self: self._sparse.nnz)
sparse("sparse_dim _dimI")(lambda self: self._sparse.sparse_dim)
sparse("dense_dim _dimV")(lambda self: self._sparse.dense_dim)
coo("is_coalesced")(lambda self: self._sparse.coalesced)
sparse("detach")(lambda self: self._shallow_copy_and_detach())
sparse("alias")(lambda self: self._shallow_copy_and_detach())


def _part(name: str, kind: str, part: str, layouts: tuple[Any, ...]) -> None:
    def row(self: Tensor) -> Tensor:
        if self.layout not in layouts:
            raise RuntimeError(f"{name} expected sparse {kind} compressed tensor layout but got "
                               f"{layout_name(self.layout)}")
        found: Tensor = getattr(self._sparse, part)
        return found._shallow_copy_and_detach()

    compressed(name)(row)


_part("crow_indices", "row", "indices", BY_ROW)
_part("col_indices", "row", "plain", BY_ROW)
_part("ccol_indices", "column", "indices", (CSC, BSC))
_part("row_indices", "column", "plain", (CSC, BSC))


@coo("_coalesced_")
def _coalesced_(self: Tensor, coalesced: bool) -> Tensor:
    self._sparse = self._sparse._replace(coalesced=coalesced)
    return self


# -- copies ------------------------------------------------------------------------------------------------------------


def mapped(tensor: Tensor, function: Any, values: Any = None) -> Tensor:
    """Return a sparse tensor whose parts are a function of this one's, and the values another, if given."""
    parts = tensor._sparse
    plain = None if parts.plain is None else function(parts.plain)
    return sparse_tensor(parts._replace(indices=function(parts.indices), plain=plain,
                                        values=(values or function)(parts.values)), tensor.shape)


@sparse("clone")
def clone(self: Tensor, memory_format: Any = None) -> Tensor:
    return mapped(self, lambda part: part.clone())


@sparse("_to_copy")
def _to_copy(self: Tensor, dtype: DType | None = None, device: Device | None = None, non_blocking: bool = False,
             memory_format: Any = None) -> Tensor:
    return mapped(self, lambda part: part.to(device=device, copy=True),
                  lambda part: part.to(device=device, dtype=dtype, copy=True))


@sparse("copy_")
def copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Copy a sparse tensor into a sparse one of the layout, or into a dense one."""
    if self is src:
        return self
    if not self._keys & SPARSES:
        return registry["copy_"].call(self.detach(), src.to_dense()) and self
    check(src._keys & SPARSES != 0 and src.layout is self.layout,
          lambda: f"copy_() between dense and sparse Tensors is not implemented! Found self type = {self.type()} and "
                  f"src type = {src.type()}" if self.is_sparse else "copy of sparse compressed tensors having "
                  f"different layouts is not supported. self layout is {layout_name(self.layout)} and src layout is "
                  f"{layout_name(src.layout)}")
    if not self.is_sparse:
        check(src.shape == self.shape, lambda: "torch.copy_: only sparse compressed tensors with the same sizes are "
              f"supported. self size is {list(self.shape)} and src size is {list(src.shape)}")
        check(src._nnz() == self._nnz(), "torch.copy_: only sparse compressed tensors with the same number of "
              "specified elements are supported.")
    become(self, mapped(src, lambda part: part.to(self._device, copy=True),
                        lambda part: part.to(self._device, self._dtype, copy=True)))
    return self


# -- without values ----------------------------------------------------------------------------------------------------


def nothing(shape: Any, layout: Any, dtype: DType | None, device: Any, sparse_dim: int | None = None,
            blocksize: tuple[int, ...] = (), dense_dim: int = 0) -> Tensor:
    """Return a sparse tensor without values; all dimensions are sparse unless said otherwise."""
    shape = tuple(shape)
    if layout is sparse_coo:
        sparse_dim = len(shape) if sparse_dim is None else sparse_dim
        parts = Parts(sparse_coo, empty((sparse_dim, 0), int64, None, device), None,
                      empty((0, *shape[sparse_dim:]), dtype, None, device), len(shape) > 0 and sparse_dim > 0)
        return sparse_tensor(parts, shape)
    check(layout in COMPRESSED, lambda: f"unsupported layout: {layout}")
    check(len(shape) - dense_dim >= 2, lambda: "torch.empty: Only batched sparse compressed (non-block) tensors are "
          f"supported, but got size {list(shape)}")
    batch = len(shape) - 2 - dense_dim
    by_row = layout in BY_ROW
    step = blocksize[not by_row] if blocksize else 1
    size = shape[batch + (not by_row)] // step
    lead = shape[:batch]
    block = blocksize or ((1, 1) if layout in BLOCKED else ())
    return sparse_tensor(Parts(layout, zeros((*lead, size + 1), int64, None, device),
                               empty((*lead, 0), int64, None, device),
                               empty((*lead, 0, *block, *shape[batch + 2:]), dtype, None, device)), shape)


@sparse("empty_like zeros_like")
def zeros_like(self: Tensor, dtype: DType | None = None, layout: Any = None, device: Any = None,
               pin_memory: Any = None, memory_format: Any = None) -> Tensor:
    dtype, device, parts = dtype or self._dtype, device or self._device, self._sparse
    if layout is not None and layout is not self.layout:
        if layout.name == "strided":
            return zeros(tuple(self.shape), dtype, None, device)
        return nothing(self.shape, layout, dtype, device)
    return nothing(self.shape, parts.layout, dtype, device, parts.sparse_dim, parts.blocksize, parts.dense_dim)


@sparse("zero_")
def zero_(self: Tensor) -> Tensor:
    """Drop all values of coordinates; set those of compressed rows or columns to 0."""
    if not self.is_sparse:
        self._sparse.values.zero_()
        return self
    parts = self._sparse
    return become(self, nothing(self.shape, sparse_coo, self._dtype, self._device, parts.sparse_dim))


@coo("sparse_resize_")
def sparse_resize_(self: Tensor, size: Any, sparse_dim: int, dense_dim: int) -> Tensor:
    """Change the shape, and drop values only if the number of dimensions of a kind changes."""
    parts, size = self._sparse, tuple(size)
    check(sparse_dim + dense_dim == len(size), lambda: "'len(size) == sparse_dim + dense_dim' is not satisfied: "
          f"len(size) = {len(size)}, sparse_dim = {sparse_dim}, dense_dim = {dense_dim}")
    if parts.nnz:
        check(sparse_dim == parts.sparse_dim, lambda: f"changing the number of sparse dimensions (from "
              f"{parts.sparse_dim} to {sparse_dim}) on a non-empty sparse tensor is not supported")
        check(dense_dim == parts.dense_dim, lambda: f"changing the number of dense dimensions (from {parts.dense_dim} "
              f"to {dense_dim}) on a non-empty sparse tensor is not supported")
        check(all(new >= old for new, old in zip(size[:sparse_dim], self.shape, strict=False)),
              "shrinking the size of sparse dimensions (from "
              f"{list(self.shape[:sparse_dim])} to {list(size[:sparse_dim])}) on a non-empty sparse tensor is not "
              "supported")
        dense = parts.values
        if tuple(dense.shape[1:]) != size[sparse_dim:]:
            check(all(new >= old for new, old in zip(size[sparse_dim:], dense.shape[1:], strict=True)),
                  "shrinking the size of dense dimensions (from "
                  f"{list(dense.shape[1:])} to {list(size[sparse_dim:])}) on a non-empty sparse tensor is not "
                  "supported")
            wider = zeros((parts.nnz, *size[sparse_dim:]), self._dtype, None, self._device)
            wider[tuple(slice(n) for n in dense.shape)] = dense
            dense = wider
        return become(self, sparse_tensor(parts._replace(values=dense), size))
    return become(self, nothing(size, sparse_coo, self._dtype, self._device, sparse_dim))


@coo("sparse_resize_and_clear_")
def sparse_resize_and_clear_(self: Tensor, size: Any, sparse_dim: int, dense_dim: int) -> Tensor:
    check(sparse_dim + dense_dim == len(size), lambda: "'len(size) == sparse_dim + dense_dim' is not satisfied: "
          f"len(size) = {len(size)}, sparse_dim = {sparse_dim}, dense_dim = {dense_dim}")
    return become(self, nothing(size, sparse_coo, self._dtype, self._device, sparse_dim))
