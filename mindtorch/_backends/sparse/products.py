"""Products of matrices with at least one sparse factor.

A product with a dense matrix gathers its rows, scales them by the values and adds them up. A product of two sparse ones
joins each value of the left factor with the values in the row of the right one that its column names.
"""
from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

from ..._base.errors import NAMES, check
from ..._base.formats import layout_name, strided
from ..._dispatch.aten import arange, cat, repeat_interleave_self_Tensor as repeated, stack, zeros
from ..._dispatch.dispatcher import is_unseen
from ..._dispatch.keys import SPARSES
from ..._dispatch.schemas import registry
from ..._dtype import complex64, complex128, float32, float64, int64
from ..._tensor import Tensor, from_array
from ..._tensor.sparse import BY_ROW, COMPRESSED, CSC, coo as coo_tensor, with_values
from ..cpu.ops.sparse import by_coordinates, by_lines
from . import compressed, coo, sparse
from .compressing import compressed_to_coo, elements_of, like, rows_and_columns
from .coordinates import added, coalesce

#: The dtypes of factors on the CPU that are multiplied by one loop.
MULTIPLIED = {float32, float64, complex64, complex128}


class Elements(NamedTuple):
    """The values of a sparse matrix, with their rows and columns."""

    rows: Tensor
    columns: Tensor
    values: Tensor

    @property
    def turned(self) -> Elements:
        """The same of the transposed matrix."""
        return Elements(self.columns, self.rows, self.values)


def elements(matrix: Tensor) -> Elements:
    """Return the values of a sparse matrix with their places."""
    parts = matrix._sparse
    if matrix.is_sparse:
        check(parts.sparse_dim == 2 and parts.values.ndim == 1, lambda: "matrix product: expected a sparse matrix with "
              f"2 sparse dimensions, got {parts.sparse_dim}, and {parts.dense_dim} dense ones")
        return Elements(parts.indices[0], parts.indices[1], parts.values)
    if not parts.blocksize:
        return Elements(*rows_and_columns(parts), parts.values)
    places, values = elements_of(matrix)
    return Elements(places[1], places[2], values)


def times(matrix: Tensor, right: Tensor) -> Tensor:
    """Return the product of a sparse matrix and a dense matrix or vector."""
    parts, rows, made = matrix._sparse, matrix.shape[0], None
    places = [parts.indices] if parts.plain is None else [parts.indices, parts.plain]
    if parts.values.ndim == 1 and matrix._dtype in MULTIPLIED and right._array is not None and 0 not in (
            rows, right._array.size) and is_unseen(*places, parts.values, right):
        arrays: Any = *[place._array for place in places], parts.values._array, right._array
        if parts.plain is not None:
            made = by_lines(rows, parts.layout in BY_ROW, *arrays)
        elif parts.sparse_dim == 2:
            made = by_coordinates(rows, *arrays[0], *arrays[1:])
    return times_dense(elements(matrix), rows, right) if made is None else from_array(made, matrix._dtype)


def times_dense(left: Elements, rows: int, right: Tensor) -> Tensor:
    """Return the product of the elements of a sparse matrix of so many rows and a dense matrix or vector."""
    scale = left.values.reshape((-1, *(1,) * (right.ndim - 1)))
    return added(right.index_select(0, left.columns) * scale, left.rows, rows)


def scaled(value: Tensor, number: Any) -> Tensor:
    return value if number == 1 else value * number


def check_factors(left: Tensor, right: Tensor) -> None:
    check(left.ndim == 2 and right.ndim == 2, lambda: "mm: Expected tensors to be matrices, got "
          f"{left.ndim}-D and {right.ndim}-D")
    (n, k), (k2, m) = left.shape, right.shape
    check(k == k2, lambda: f"addmm: Argument #3 (dense): Expected dim 0 size {k}, got {k2}"
          if left.is_sparse and right.layout is strided else
          f"mat1 and mat2 shapes cannot be multiplied ({n}x{k} and {k2}x{m})", kind="matmul shapes")
    check(left._dtype is right._dtype, lambda: f"mat1 dtype {NAMES[left._dtype.name]} does not match mat2 dtype "
          f"{NAMES[right._dtype.name]}" if left._keys & right._keys & SPARSES else
          f"addmm: expected self and mat2 to have the same dtype, but got {left.dtype} and {right.dtype}")


@sparse("mm")
def mm(self: Tensor, mat2: Tensor) -> Tensor:
    """Multiply two matrices: a dense result, unless both are sparse (``torch.mm``)."""
    check_factors(self, mat2)
    if not mat2._keys & SPARSES:
        return times(self, mat2)
    if not self._keys & SPARSES:
        return times_dense(elements(mat2).turned, mat2.shape[1], self.t()).t()
    result = both_sparse(self, mat2)
    if self.is_sparse:
        return result
    return like(result, mat2 if mat2.layout is CSC and self.layout is CSC else self)


@sparse("_sparse_sparse_matmul")
def both_sparse(self: Tensor, other: Tensor) -> Tensor:
    """Multiply two sparse matrices."""
    check_factors(self, other)
    left, right = elements(self), elements(coalesce(other) if other.is_sparse else compressed_to_coo(other))
    counts = zeros((other.shape[0],), int64, None, self._device)
    counts = counts.index_add(0, right.rows, counts.new_ones(right.rows.shape[0]))
    starts = counts.cumsum(0) - counts
    many = counts[left.columns]
    source = repeated(arange(left.columns.shape[0], int64, None, self._device), many)
    before = (many.cumsum(0) - many)[source]
    at = starts[left.columns[source]] + arange(source.shape[0], int64, None, self._device) - before
    values = left.values[source] * right.values[at]
    return coalesce(coo_tensor(stack([left.rows[source], right.columns[at]]), values,
                               (self.shape[0], other.shape[1])))


@sparse("addmm _sparse_addmm")
def addmm(self: Tensor, mat1: Tensor, mat2: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Add a product to a matrix (``torch.addmm``)."""
    check(mat1.ndim == 2 and mat2.ndim == 2, lambda: f"addmm: matrices expected, got {mat1.ndim}D tensor" if
          mat1.ndim != 2 else f"addmm: matrices expected, got {mat2.ndim}D tensor")
    product = mm(mat1, mat2)
    shape = tuple(product.shape)
    product = scaled(product, alpha)
    if beta == 0:
        return product
    self = scaled(self, beta)
    if self._keys & SPARSES:
        return self + product if product._keys & SPARSES else product + self
    return self.expand(shape) + product


@sparse("mv")
def mv(self: Tensor, vec: Tensor) -> Tensor:
    """Multiply a sparse matrix and a dense vector (``torch.mv``)."""
    check(self.ndim == 2 and vec.ndim == 1, lambda: f"mv: two tensor dim should be 2 and 1, but got SparseTensor Dim: "
          f"{self.ndim}Tensor Dim: {vec.ndim}")
    check(self.shape[1] == vec.shape[0], lambda: "mv: expected self.size(-1) == vec.size(-1)")
    if not self._keys & SPARSES:
        return registry["mv"].call(self, vec.to_dense())
    return times(self, vec)


@compressed("addmv")
def addmv(self: Tensor, mat: Tensor, vec: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    product = mv(mat, vec) * alpha
    return product if beta == 0 else self * beta + product


@sparse("bmm")
def bmm(self: Tensor, mat2: Tensor) -> Tensor:
    """Multiply sparse matrices and dense ones, one by one (``torch.bmm``)."""
    check(not mat2._keys & SPARSES, "bmm_sparse: Tensor 'mat2' must be dense")
    check(self.ndim == 3, lambda: f"bmm_sparse: Tensor 'self' must have 3 dims, but has {self.ndim} dims")
    check(mat2.ndim == 3, lambda: f"bmm_sparse: Tensor 'mat2' must have 3 dims, but has {mat2.ndim} dims")
    (batch, n, k), (other, k2, m) = self.shape, mat2.shape
    check(batch == other, "bmm_sparse: 'self.size(0)' and 'mat2.size(0)' must match")
    check(k == k2, "bmm_sparse: 'self.size(2)' and 'mat2.size(1)' must match")
    if self.is_sparse:
        (which, row, column), values = self._sparse.indices.unbind(0), self._sparse.values
    else:
        places, values = elements_of(self)
        which, row, column = places.unbind(0)
    flat = Elements(which * n + row, which * k + column, values)
    return times_dense(flat, batch * n, mat2.reshape(batch * k, m)).reshape(batch, n, m)


@coo("hspmm")
def hspmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """Multiply a sparse matrix and a dense one, with a result of whole rows (``torch.hspmm``)."""
    check_factors(mat1, mat2)
    left = elements(coalesce(mat1))
    rows, where, _ = registry["_unique2"].call(left.rows, True, True)
    values = times_dense(Elements(where, left.columns, left.values), rows.shape[0], mat2)
    return coo_tensor(rows.unsqueeze(0), values, (mat1.shape[0], mat2.shape[1]))


@coo("sspaddmm")
def sspaddmm(self: Tensor, mat1: Tensor, mat2: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Add the product of a sparse and a dense matrix to a sparse one, sparsely (``torch.sspaddmm``)."""
    check_factors(mat1, mat2)
    product = hspmm(mat1, mat2)._sparse
    columns = mat2.shape[1]
    rows = product.indices[0].repeat_interleave(columns)
    across = arange(columns, int64, None, self._device).repeat(product.nnz)
    mine = self._sparse
    first = scaled(mine.values, beta)
    return coo_tensor(cat([mine.indices, stack([rows, across])], 1),
                      cat([first, product.values.reshape(-1) * alpha], 0), self.shape)


@compressed("sparse_sampled_addmm")
def sparse_sampled_addmm(self: Tensor, mat1: Tensor, mat2: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Add a product of dense matrices at the places of a sparse one (``torch.sparse.sampled_addmm``)."""
    name = "sampled_addmm"
    check(self.layout in COMPRESSED and self.is_sparse_csr, lambda: f"{name}: Expected self to have sparse csr layout, "
          f"but got {layout_name(self.layout)}")
    for what, factor in (("mat1", mat1), ("mat2", mat2)):
        check(factor.layout is strided, lambda: f"{name}: Expected {what} to have strided layout, but got "  # noqa: B023
              f"{layout_name(factor.layout)}")  # noqa: B023
    check(mat1._dtype is mat2._dtype, lambda: f"{name}: Expected mat1 and mat2 to have the same dtype, but got "
          f"{mat1.dtype} and {mat2.dtype}")
    check(mat1.shape[-1] == mat2.shape[-2], lambda: f"{name}: mat1 and mat2 shapes cannot be multiplied "
          f"({mat1.shape[-2]}x{mat1.shape[-1]} and {mat2.shape[-2]}x{mat2.shape[-1]})")
    check(self.shape[-2] == mat1.shape[-2], lambda: f"{name}: self.shape[-2] must match mat1.shape[-2]")
    check(self.shape[-1] == mat2.shape[-1], lambda: f"{name}: self.shape[-1] must match mat2.shape[-1]")
    parts = self._sparse
    row, column = rows_and_columns(parts)
    if (count := prod(self.shape[:-2])) != 1:  # rows have numbers of their own in each matrix, columns have none
        column = column + arange(count, int64, None, self._device).repeat_interleave(parts.nnz) * self.shape[-1]
    left, right = (factor.reshape((-1, mat1.shape[-1])).index_select(0, at)
                   for factor, at in ((mat1, row), (mat2.mT, column)))
    sampled = scaled((left * right).sum(-1).reshape(parts.values.shape), alpha)
    return with_values(self, sampled if beta == 0 else scaled(parts.values, beta) + sampled)


