"""The parts of sparse tensors, copies of them, and tensors without values."""
from __future__ import annotations

from math import prod
from typing import Any

from ..._base.errors import check
from ..._base.formats import layout_name, sparse_coo
from ..._device import device as Device
from ..._dispatch.aten import empty_memory_format as empty, zeros
from ..._dispatch.keys import SPARSES
from ..._dispatch.schemas import registry
from ..._dtype import DType, int64
from ..._tensor import Tensor
from ..._tensor.sparse import BLOCKED, BSC, BY_ROW, COMPRESSED, CSC, CSR, Parts, become, sparse_tensor
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
    check(getattr(memory_format, "name", memory_format) in (None, "preserve_format"),
          "unsupported memory format option " + str(memory_format).removeprefix("torch."))
    return mapped(self, lambda part: part.clone())


@sparse("_to_copy")
def _to_copy(self: Tensor, dtype: DType | None = None, device: Device | None = None, non_blocking: bool = False,
             memory_format: Any = None) -> Tensor:
    if device is not None and device.type == "meta":
        parts = self._sparse
        return nothing(self.shape, parts.layout, dtype or self._dtype, device, parts.sparse_dim, parts.blocksize,
                       parts.dense_dim)
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
        for d, (mine, other) in enumerate(zip(self.shape, src.shape, strict=True)):
            check(mine == other, lambda: "torch.copy_: expected shapes of self and src to match along dimension "
                  f"{d} for {self.layout} layout but the corresponding dimensions of self and src are "  # noqa: B023
                  f"{mine} and {other}, respectively.")  # noqa: B023
        check(src._sparse.blocksize == self._sparse.blocksize, lambda: "copy of sparse compressed tensors having "
              f"different block sizes is not supported. self and src block sizes are {self._sparse.blocksize} and "
              f"{src._sparse.blocksize}, respectively.")
        check(src._nnz() == self._nnz(), "copy_: only sparse compressed tensors with the same number of specified "
              "elements are supported.")
    else:
        sparse_resize_(self, src.shape, src._sparse.sparse_dim, src._sparse.dense_dim)
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


@sparse("zeros_like")
def zeros_like(self: Tensor, dtype: DType | None = None, layout: Any = None, device: Any = None,
               pin_memory: Any = None, memory_format: Any = None) -> Tensor:
    dtype, device, parts = dtype or self._dtype, device or self._device, self._sparse
    if layout is not None and layout.name == "strided":
        made = zeros(tuple(self.shape), dtype, None, device)
        return made if memory_format is None else made.contiguous(memory_format=memory_format)
    known = (None,) if self.layout is sparse_coo else (None, "preserve_format")
    check(getattr(memory_format, "name", memory_format) in known,
          "memory format option is only supported by strided tensors")
    if layout is not None and layout is not self.layout:
        sparse_dim = self.ndim - parts.dense_dim if layout is sparse_coo else None
        return nothing(self.shape, layout, dtype, device, sparse_dim)
    return nothing(self.shape, parts.layout, dtype, device, parts.sparse_dim, parts.blocksize, parts.dense_dim)


coo("empty_like")(zeros_like)


@coo("new_zeros new_empty")
def new_zeros(self: Tensor, size: Any, dtype: DType | None = None, layout: Any = None, device: Any = None,
              pin_memory: Any = None) -> Tensor:
    return nothing(size, sparse_coo, dtype or self._dtype, device or self._device)


@compressed("empty_like")
def empty_like(self: Tensor, dtype: DType | None = None, layout: Any = None, device: Any = None,
               pin_memory: Any = None, memory_format: Any = None) -> Tensor:
    """Return a compressed tensor with the same places and uninitialised values."""
    dtype, device, values = dtype or self._dtype, device or self._device, self._sparse.values
    if layout is not None and layout.name == "strided":
        return empty(tuple(self.shape), dtype, None, device)
    check(layout is None or layout is self.layout, lambda: "empty_like with different sparse layout is not supported "
          f"(self is {layout_name(self.layout)} but you requested {layout_name(layout)})")
    return mapped(self, lambda part: part.to(device, copy=True),
                  lambda part: empty(tuple(values.shape), dtype, None, device))


@sparse("zero_")
def zero_(self: Tensor) -> Tensor:
    """Drop all values of coordinates; set those of compressed rows or columns to 0."""
    if not self.is_sparse:
        self._sparse.values.zero_()
        return self
    parts = self._sparse
    return become(self, nothing(self.shape, sparse_coo, self._dtype, self._device, parts.sparse_dim))


@compressed("normal_")
def normal_(self: Tensor, mean: float = 0, std: float = 1, generator: Any = None) -> Tensor:
    self._sparse.values.normal_(mean, std, generator=generator)
    return self


@compressed("fill_.Scalar")
def fill_(self: Tensor, value: Any) -> Tensor:
    """Set the values of a compressed tensor, and nothing else, to a number (``torch.Tensor.fill_``)."""
    self._sparse.values.fill_(value)
    return self


@compressed("full_like")
def full_like(self: Tensor, fill_value: Any, *like: Any) -> Tensor:
    """Return a compressed tensor with the same places, and one number at all of them (``torch.full_like``)."""
    return empty_like(self, *like).fill_(fill_value)


compressed("ones_like")(lambda self, *like: full_like(self, 1, *like))


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
            wider.view(-1)[:dense.numel()] = dense.reshape(-1)  # as ``resize_`` does, with zeros for what is new
            dense = wider
        return become(self, sparse_tensor(parts._replace(values=dense), size))
    return become(self, nothing(size, sparse_coo, self._dtype, self._device, sparse_dim))


@coo("sparse_resize_and_clear_")
def sparse_resize_and_clear_(self: Tensor, size: Any, sparse_dim: int, dense_dim: int) -> Tensor:
    check(sparse_dim + dense_dim == len(size), lambda: "'len(size) == sparse_dim + dense_dim' is not satisfied: "
          f"len(size) = {len(size)}, sparse_dim = {sparse_dim}, dense_dim = {dense_dim}")
    return become(self, nothing(size, sparse_coo, self._dtype, self._device, sparse_dim))


@sparse("resize_as_sparse_")
def resize_as_sparse_(self: Tensor, the_template: Tensor) -> Tensor:
    """Give a sparse tensor the shape, and a compressed one the places, of another."""
    if self.is_sparse and the_template.is_sparse:
        parts = the_template._sparse
        return sparse_resize_(self, tuple(the_template.shape), parts.sparse_dim, parts.dense_dim)
    for name, tensor in (("self", self), ("src", the_template)):
        check(tensor.layout in COMPRESSED, f"resize_as_sparse_compressed_: {name}  expected sparse compressed tensor "
              f"layout but got {layout_name(tensor.layout)}")
    check(self.layout is the_template.layout, lambda: "resize_as_sparse_compressed_tensor_: self and src must have the "
          f"same layout, but got: self ({layout_name(self.layout)}) and source ({layout_name(the_template.layout)})")
    made, kept = empty_like(the_template, self._dtype, None, self._device), self._sparse.indices._dtype
    found = made._sparse
    assert found.plain is not None
    found = found._replace(indices=found.indices.to(kept), plain=found.plain.to(kept))
    return become(self, sparse_tensor(found, made.shape))


@sparse("resize_as_")
def resize_as_(self: Tensor, the_template: Tensor, memory_format: Any = None) -> Tensor:
    """Give a sparse tensor the shape of another one (``torch.Tensor.resize_as_``)."""
    check(the_template._keys & SPARSES != 0, "resize_as_: a sparse tensor takes the shape of a sparse one only; "
          "`sparse_resize_` takes any")
    return resize_as_sparse_(self, the_template)


@compressed("resize_")
def resize_(self: Tensor, size: Any, memory_format: Any = None) -> Tensor:
    """Give a tensor of compressed rows another shape: rows are cut off, or added without values (ATen's resize_)."""
    parts, size = self._sparse, tuple(size)
    check(self.is_sparse_csr and len(size) >= 2, lambda: "torch.resize_: Only batched sparse CSR matrices are "
          f"supported, but got size {list(size)}")
    check(size[-1] >= self.shape[-1], "torch.resize_: Resizing columns of sparse CSR tensors to a smaller value is not "
          "supported. The original number of columns is "
          f"{self.shape[-1]} while the requested new number of columns is {size[-1]}.")
    assert parts.plain is not None
    lead, rows, most = size[:-2], size[-2], min(parts.nnz, size[-2] * size[-1])
    starts = parts.indices.reshape((-1, parts.indices.shape[-1]))[:max(prod(lead), 1)]
    starts = starts[:, [min(i, starts.shape[1] - 1) for i in range(rows + 1)]].clamp(max=most)
    starts[:, -1] = most
    plain = parts.plain.reshape((-1, parts.nnz))[:starts.shape[0], :most].reshape((*lead, most))
    values = parts.values.reshape((-1, parts.nnz))[:starts.shape[0], :most].reshape((*lead, most))
    return become(self, sparse_tensor(Parts(CSR, starts.reshape((*lead, rows + 1)), plain, values), size))


def with_dims(nnz: int, dense_dim: int, size: Any, blocksize: Any, index_dtype: DType, dtype: DType | None = None,
              layout: Any = None, device: Any = None, pin_memory: Any = False) -> Tensor:
    """Return a compressed tensor of so many uninitialised values (``aten::_sparse_compressed_tensor_with_dims``)."""
    made = nothing(size, layout, dtype, device, None, tuple(blocksize), dense_dim)._sparse
    assert made.plain is not None
    lead = tuple(made.plain.shape[:-1])
    values = empty((*lead, nnz, *made.values.shape[len(lead) + 1:]), dtype, None, device)
    return sparse_tensor(Parts(layout, made.indices.to(index_dtype), empty((*lead, nnz), index_dtype, None, device),
                               values), size)
