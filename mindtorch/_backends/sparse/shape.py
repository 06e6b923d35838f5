"""Other shapes of sparse tensors: dimensions in another order, parts of tensors, and tensors side by side."""
from __future__ import annotations

from typing import Any

from ..._base.errors import check
from ..._base.layout import wrap_dim
from ..._dispatch.aten import (
    cat as cat_dense, index_select as select_dense, searchsorted_Tensor as searchsorted,
    view_as_complex as view_complex, view_as_real as view_real, zeros,
)
from ..._dtype import int64
from ..._tensor import Tensor
from ..._tensor.sparse import BSC, BSR, CSC, CSR, Parts, become, coo as coo_tensor, sparse_tensor
from . import compressed, coo, sparse
from .compressing import compressed_to_coo
from .coordinates import coalesce

TURNED = {CSR: CSC, CSC: CSR, BSR: BSC, BSC: BSR}


@coo("permute")
def permute(self: Tensor, dims: Any) -> Tensor:
    """Reorder dimensions, sparse and dense ones each among themselves (``torch.permute``)."""
    parts, ndim = self._sparse, self.ndim
    check(len(dims) == ndim, lambda: "permute(sparse_coo): number of dimensions in the tensor input does not match the "
          f"length of the desired ordering of dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = "
          f"{len(dims)}")
    order = [wrap_dim(d, ndim) for d in dims]
    check(len({*order}) == ndim, "permute(sparse_coo): duplicate dims are not allowed.")
    first, rest = order[:parts.sparse_dim], order[parts.sparse_dim:]
    check(all(d < parts.sparse_dim for d in first), "permute(sparse_coo): transpositions between sparse and dense "
          "dimensions are not allowed. Only transpositions within sparse and dense dimensions are supported.")
    still, same_rows = first == sorted(first), not first or dims[0] == 0  # PyTorch looks at the number as it is given
    if order == sorted(order):
        return sparse_tensor(parts._replace(coalesced=parts.coalesced and same_rows), self.shape)
    values = parts.values if rest == sorted(rest) else parts.values.permute(
        (0, *(d - parts.sparse_dim + 1 for d in rest)))
    indices = parts.indices if still or not first else parts.indices[first]
    sorted_rows = parts.coalesced and same_rows and (still or not parts.nnz)
    turned = sparse_tensor(Parts(parts.layout, indices, None, values, sorted_rows), [self.shape[d] for d in order])
    return coalesce(turned) if parts.coalesced and same_rows else turned


@coo("transpose.int")
def transpose(self: Tensor, dim0: int, dim1: int) -> Tensor:
    order = [*range(self.ndim)]
    first, second = wrap_dim(dim0, self.ndim), wrap_dim(dim1, self.ndim)
    if self.ndim:
        order[first], order[second] = order[second], order[first]
    turned = permute(self, order)
    if not self._sparse.nnz:  # nothing is out of order
        return sparse_tensor(turned._sparse._replace(coalesced=self._sparse.coalesced), turned.shape)
    return turned


@compressed("transpose.int")
def transpose_compressed(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """Swap rows and columns: rows that were compressed are columns then (``torch.transpose``)."""
    first, second = sorted((wrap_dim(dim0, self.ndim), wrap_dim(dim1, self.ndim)))
    if first == second:
        return sparse_tensor(self._sparse, self.shape)
    parts, shape = self._sparse, list(self.shape)
    shape[first], shape[second] = shape[second], shape[first]
    batch = parts.batch_dim
    if second < batch:
        turned = parts._replace(indices=parts.indices.transpose(first, second),
                                plain=parts.plain.transpose(first, second),  # type: ignore[union-attr]
                                values=parts.values.transpose(first, second))
        return sparse_tensor(turned, shape)
    check((first, second) == (batch, batch + 1), lambda: f"transpose(): can only transpose sparse dimensions with each "
          f"other, or batch dimensions, but got {dim0} and {dim1}")
    values = parts.values if not parts.blocksize else parts.values.transpose(batch + 1, batch + 2)
    return sparse_tensor(parts._replace(layout=TURNED[parts.layout], values=values), shape)


@sparse("t")
def t(self: Tensor) -> Tensor:
    """Transpose a sparse matrix (``torch.t``)."""
    if self.is_sparse:
        parts = self._sparse
        check(parts.sparse_dim <= 2 and parts.dense_dim == 0, lambda: "t() expects a tensor with <= 2 sparse and 0 "
              f"dense dimensions, but got {parts.sparse_dim} sparse and {parts.dense_dim} dense dimensions")
        return self if self.ndim < 2 else transpose(self, 0, 1)
    check(self.ndim <= 2, lambda: f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D")
    return transpose_compressed(self, 0, 1)


@coo("unsqueeze")
def unsqueeze(self: Tensor, dim: int) -> Tensor:
    """Add a dimension of size 1 (``torch.unsqueeze``)."""
    parts, dim = self._sparse, wrap_dim(dim, self.ndim + 1)
    shape = [*self.shape[:dim], 1, *self.shape[dim:]]
    if dim > parts.sparse_dim:
        return sparse_tensor(parts._replace(values=parts.values.unsqueeze(dim - parts.sparse_dim + 1)), shape)
    nothing = zeros((1, parts.nnz), int64, None, self._device)
    return coo_tensor(cat_dense([parts.indices[:dim], nothing, parts.indices[dim:]], 0), parts.values, shape)


@coo("squeeze squeeze.dim squeeze.dims")
def squeeze(self: Tensor, dim: Any = None) -> Tensor:
    """Drop dimensions of size 1."""
    dims = range(self.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    wanted = [wrap_dim(d, self.ndim) for d in dims]
    gone = [d for d in wanted if self.shape[d] == 1]
    parts = self._sparse
    kept = [d for d in range(parts.sparse_dim) if d not in gone]
    dense = [n for d, n in enumerate(self.shape) if d >= parts.sparse_dim and d not in gone]
    return coo_tensor(parts.indices[kept] if kept else parts.indices[:0], parts.values.reshape((parts.nnz, *dense)),
                      [n for d, n in enumerate(self.shape) if d not in gone], parts.coalesced)


def wrapped_index(self: Tensor, dim: int, index: int) -> int:
    """Return an index counted from the start; IndexError if it is out of range."""
    size = self.shape[dim]
    if not -size <= index < size:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(self.shape)} at dimension "
                         f"{dim}")
    return index % size


@coo("select.int")
def select(self: Tensor, dim: int, index: int) -> Tensor:
    """Return the part at an index, without the dimension; dense if no sparse one is left (``torch.select``)."""
    parts, ndim = self._sparse, self.ndim
    check(ndim > 0, "select() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, ndim)
    index, shape = wrapped_index(self, dim, index), [n for d, n in enumerate(self.shape) if d != dim]
    if dim >= parts.sparse_dim:
        return sparse_tensor(parts._replace(values=parts.values.select(dim - parts.sparse_dim + 1, index)), shape)
    keep = (parts.indices[dim] == index).nonzero().reshape(-1)
    values = select_dense(parts.values, 0, keep)
    if parts.sparse_dim == 1:
        return values[0] if parts.coalesced and keep.shape[0] == 1 else values.sum(0).to(self._dtype)
    rest = [d for d in range(parts.sparse_dim) if d != dim]
    return coo_tensor(select_dense(parts.indices[rest], 1, keep), values, shape)


@compressed("select.int select_copy.int")
def select_compressed(self: Tensor, dim: int, index: int) -> Tensor:
    """Return the part at an index: of a batch as it is, of rows and columns as coordinates."""
    parts, dim = self._sparse, wrap_dim(dim, self.ndim)
    index = wrapped_index(self, dim, index)
    if dim < parts.batch_dim:
        part = parts._replace(indices=parts.indices.select(dim, index),
                              plain=parts.plain.select(dim, index),  # type: ignore[union-attr]
                              values=parts.values.select(dim, index))
        return sparse_tensor(part, [n for d, n in enumerate(self.shape) if d != dim])
    if dim >= parts.batch_dim + 2:
        values = parts.values.select(dim - 1 + parts.block_dim, index)
        return sparse_tensor(parts._replace(values=values), [n for d, n in enumerate(self.shape) if d != dim])
    check(not parts.batch_dim, "selecting sparse dimensions is not supported for batched sparse compressed tensors.")
    return coalesce(select(compressed_to_coo(self), dim, index))


@sparse("unbind.int")
def unbind(self: Tensor, dim: int = 0) -> list[Tensor]:
    """Return the parts of a dimension (``torch.unbind``)."""
    take = select if self.is_sparse else select_compressed
    return [take(self, dim, index) for index in range(self.shape[wrap_dim(dim, self.ndim)])]


@coo("narrow_copy narrow narrow.Tensor")
def narrow_copy(self: Tensor, dim: int, start: int, length: int) -> Tensor:
    """Return a range of a dimension (``torch.narrow_copy``)."""
    check(-self.ndim <= dim < self.ndim, lambda: f"Invalid dimension. Got dim {dim} of a tensor with {self.ndim}")
    parts, dim = self._sparse, wrap_dim(dim, self.ndim)
    shape, end = list(self.shape), start + length
    check(length >= 0 and start >= 0 and end <= shape[dim], lambda: "Invalid range to narrow. range(start, "
          f"start+length) must be a subset of range(0, {shape[dim]}).")
    shape[dim] = length
    if dim >= parts.sparse_dim:
        values = parts.values.narrow(dim - parts.sparse_dim + 1, start, length)
        return sparse_tensor(parts._replace(values=values.clone()), shape)
    row = parts.indices[dim]
    keep = ((row >= start) & (row < end)).nonzero().reshape(-1)
    indices = select_dense(parts.indices, 1, keep)
    indices[dim] -= start
    return coo_tensor(indices, select_dense(parts.values, 0, keep), shape, parts.coalesced)


@coo("index_select")
def index_select(self: Tensor, dim: int, index: Tensor) -> Tensor:
    """Return the parts at some indices of a dimension (``torch.index_select``)."""
    parts, dim = self._sparse, wrap_dim(dim, self.ndim)
    check(index.ndim == 1, lambda: "index_select() argument index must be 1-D long-tensor.")
    size, shape = self.shape[dim], list(self.shape)
    if index.numel() and not self.is_meta and not bool(((index >= -size) & (index < size)).all()):
        raise IndexError(f"index_select(): index out of range for tensor of size {list(self.shape)} at dimension {dim}")
    index = index.to(int64) % max(size, 1)
    shape[dim] = index.shape[0]
    if dim >= parts.sparse_dim:
        values = select_dense(parts.values, dim - parts.sparse_dim + 1, index)
        return sparse_tensor(parts._replace(values=values), shape)
    order = parts.indices[dim].argsort(stable=True)
    ordered = parts.indices[dim][order]
    bounds = [searchsorted(ordered, index, False, right) for right in (False, True)]
    counts = bounds[1] - bounds[0]
    which = index.new_tensor(range(index.shape[0])).repeat_interleave(counts)
    before = (counts.cumsum(0) - counts)[which]
    taken = order[bounds[0][which] + index.new_tensor(range(which.shape[0])) - before]
    indices = select_dense(parts.indices, 1, taken)
    indices[dim] = which
    return coo_tensor(indices, select_dense(parts.values, 0, taken), shape)


@coo("cat")
def cat(tensors: Any, dim: int = 0) -> Tensor:
    """Put sparse tensors side by side (``torch.cat``)."""
    check(all(tensor.is_sparse for tensor in tensors), lambda: "Concatenating sparse tensors, but a dense tensor was "
          f"found at position {[tensor.is_sparse for tensor in tensors].index(False)}.")
    first = tensors[0]
    dim, sparse_dim = wrap_dim(dim, first.ndim), first._sparse.sparse_dim
    for number, tensor in enumerate(tensors):
        check(tensor._sparse.sparse_dim == sparse_dim and tensor._sparse.dense_dim == first._sparse.dense_dim,
              lambda: f"All tensors must have the same sparse_dim and dense_dim: {sparse_dim}, "
                      f"{first._sparse.dense_dim}, but tensor at position {number} has "  # noqa: B023
                      f"{tensor._sparse.sparse_dim}, {tensor._sparse.dense_dim}.")  # noqa: B023
        check(all(d == dim or n == first.shape[d] for d, n in enumerate(tensor.shape)),
              lambda: "All tensors must have the same shape: "
                      f"{list(first.shape)} (except in the concatenating dimension), but found shape: "
                      f"{list(tensor.shape)} at position {number}.")  # noqa: B023
    shape = list(first.shape)
    shape[dim] = sum(tensor.shape[dim] for tensor in tensors)
    indices, values, start = [], [], 0
    for tensor in tensors:
        parts = tensor._sparse
        mine, held = parts.indices.clone(), parts.values
        if dim < sparse_dim:
            mine[dim] += start
        else:
            around = list(held.shape)
            before, after = list(around), list(around)
            at = dim - sparse_dim + 1
            before[at], after[at] = start, shape[dim] - start - around[at]
            held = cat_dense([held.new_zeros(before), held, held.new_zeros(after)], at)
        start += tensor.shape[dim]
        indices.append(mine)
        values.append(held)
    return coo_tensor(cat_dense(indices, 1), cat_dense(values, 0), shape)


@coo("stack")
def stack(tensors: Any, dim: int = 0) -> Tensor:
    """Put sparse tensors side by side along a new dimension (``torch.stack``)."""
    return cat([unsqueeze(tensor, dim) for tensor in tensors], dim)


coo("t_")(lambda self: become(self, t(self)))
coo("transpose_")(lambda self, dim0, dim1: become(self, transpose(self, dim0, dim1)))


@coo("view_as_real")
def view_as_real(self: Tensor) -> Tensor:
    parts = self._sparse
    return sparse_tensor(parts._replace(values=view_real(parts.values)), (*self.shape, 2))


@coo("view_as_complex")
def view_as_complex(self: Tensor) -> Tensor:
    parts = self._sparse
    return sparse_tensor(parts._replace(values=view_complex(parts.values)), self.shape[:-1])


@sparse("reshape")
def reshape(self: Tensor, shape: Any) -> Tensor:
    raise RuntimeError("reshape is not implemented for sparse tensors")


@sparse("expand")
def expand(self: Tensor, size: Any, implicit: bool = False) -> Tensor:
    raise RuntimeError(f"expand is unsupported for {'Sparse' if self.is_sparse else 'SparseCsr'} tensors")

