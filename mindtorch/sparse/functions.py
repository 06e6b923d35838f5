"""Products, sums and softmaxes of sparse tensors, with gradients that are sparse as well."""
from __future__ import annotations

from typing import Any

from .._backends.sparse.parts import nothing
from .._base.errors import check
from .._base.formats import sparse_coo, strided
from .._creation.sparse import sparse_coo_tensor
from .._dispatch.aten import (
    _sparse_addmm, _sparse_log_softmax_int, _sparse_mm, _sparse_softmax_int, _sparse_sum, _sparse_sum_dim,
    _sparse_sum_dim_dtype, _sparse_sum_dtype, arange_start_step, cat, segment_reduce, sparse_sampled_addmm,
    sparse_sampled_addmm_out, stack,
)
from .._dtype import DType, int64
from .._tensor import Tensor


def mm(sparse: Tensor, dense: Tensor, reduce: str | None = None) -> Tensor:
    """Return the product of a sparse matrix with a dense or sparse one (``torch.sparse.mm``).

    The gradient of a sparse factor has values only where it has. ``reduce`` ("sum", "mean", "amax", "amin") says what
    the products of a row become; a row without values is 0. Raises RuntimeError unless both are matrices that fit, and
    for a ``reduce`` other than "sum" of another layout than ``sparse_csr``.
    """
    if reduce is None or reduce == "sum":
        return _sparse_mm(sparse, dense)
    check(reduce in ("mean", "amax", "amin"),
          lambda: f"sparse_mm_reduce: reduce type of {reduce} has not been enabled.")
    check(sparse.is_sparse_csr and dense.layout is strided, lambda: "sparse.mm: only a product of compressed rows "
          f"(sparse_csr) with a dense matrix is reduced by {reduce!r}, got {sparse.layout} and {dense.layout}")
    check(sparse.shape[1] == dense.shape[0], lambda: f"sparse.mm: shapes {list(sparse.shape)} and {list(dense.shape)} "
          "do not fit")
    starts = sparse.crow_indices()
    products = sparse.values().unsqueeze(1) * dense.index_select(0, sparse.col_indices())
    reduced = segment_reduce(products, reduce.removeprefix("a"), None, None, starts)
    return reduced.masked_fill((starts[1:] == starts[:-1]).unsqueeze(1), 0)


def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0) -> Tensor:
    """Return ``beta * mat + alpha * (mat1 @ mat2)`` with a sparse ``mat1`` (``torch.sparse.addmm``)."""
    return _sparse_addmm(mat, mat1, mat2, beta, alpha)


def sampled_addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0,
                  out: Tensor | None = None) -> Tensor:
    """Return ``beta * input + alpha * (mat1 @ mat2)`` at the places of the values of ``input``, which has compressed
    rows (``torch.sparse.sampled_addmm``). Raises RuntimeError for other layouts.
    """
    if out is not None:
        return sparse_sampled_addmm_out(input, mat1, mat2, beta, alpha, out)
    return sparse_sampled_addmm(input, mat1, mat2, beta, alpha)


def sum(input: Tensor, dim: Any = None, dtype: DType | None = None) -> Tensor:
    """Return the sum over dimensions, or over all (``torch.sparse.sum``): dense if no sparse dimension is left."""
    if dim is None:
        return _sparse_sum(input) if dtype is None else _sparse_sum_dtype(input, dtype)
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    return _sparse_sum_dim(input, dims) if dtype is None else _sparse_sum_dim_dtype(input, dims, dtype)


def softmax(input: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
    """Return the softmax along a dimension, in which absent values count as -inf (``torch.sparse.softmax``)."""
    return _sparse_softmax_int(input, dim, dtype)


def log_softmax(input: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
    """Return the logarithm of ``softmax`` (``torch.sparse.log_softmax``)."""
    return _sparse_log_softmax_int(input, dim, dtype)


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Any, layout: Any = None) -> Tensor:
    """Return a sparse matrix with the rows of ``diagonals`` on its diagonals (``torch.sparse.spdiags``).

    ``offsets`` are the diagonals' distances above the main one. A value stands in the column of its place in the row.

    Raises:
        RuntimeError: if the shapes do not fit, or an offset is there twice.
    """
    wide = diagonals.unsqueeze(0) if diagonals.ndim == 1 else diagonals
    places = offsets.unsqueeze(0) if offsets.ndim == 0 else offsets
    shape = tuple(shape)
    check(len(shape) == 2, "Output shape must be 2d")
    check(places.ndim == 1, "Offsets must be scalar or vector")
    check(wide.ndim == 2, "Diagonals must be vector or matrix")
    check(wide.shape[0] == places.shape[0], lambda: f"Number of diagonals ({wide.shape[0]}) does not match the number "
          f"of offsets ({places.shape[0]})")
    check(places._dtype is int64, lambda: f"Offset Tensor must have dtype Long but got {places.dtype}")
    numbers = places.tolist()
    check(len({*numbers}) == len(numbers), "Offset tensor contains duplicate values")
    check(layout is None or layout.name in ("sparse_coo", "sparse_csc", "sparse_csr"), lambda: "Only output layouts "
          f"(Sparse, SparseCsc, SparseCsr) are supported, got {layout}")
    rows, columns, values = [], [], []
    for offset, diagonal in zip(numbers, wide.unbind(0), strict=True):
        begin, end = max(offset, 0), min(wide.shape[1], shape[1], shape[0] + offset)
        column = arange_start_step(begin, max(begin, end), 1, int64, None, wide._device)
        rows.append(column - offset)
        columns.append(column)
        values.append(diagonal[begin:max(begin, end)])
    if not rows:
        return nothing(shape, layout or sparse_coo, diagonals._dtype, diagonals._device)
    made = sparse_coo_tensor(stack([cat(rows), cat(columns)]), cat(values), shape)
    return made if layout in (None, sparse_coo) else made.to_sparse(layout=layout)
