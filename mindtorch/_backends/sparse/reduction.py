"""Sums, norms and softmaxes of sparse tensors, over dimensions that are sparse, dense or both."""
from __future__ import annotations

from typing import Any

from ..._base.errors import check
from ..._base.layout import wrap_dim, wrap_dims
from ..._dispatch.aten import _unique2 as unique, scatter_reduce_two as scatter_reduce, zeros
from ..._dispatch.schemas import registry
from ..._dtype import FLOATING, DType, int64
from ..._tensor import Tensor
from ..._tensor.sparse import coo as coo_tensor, with_values
from . import compressed, coo, sparse
from .compressing import compressed_to_coo, like
from .coordinates import added, coalesce, found_values, numbered


@sparse("sum")
def total(self: Tensor, dtype: DType | None = None) -> Tensor:
    return self._sparse.values.sum(dtype=dtype)


@coo("any")
def any_of(self: Tensor) -> Tensor:
    return self._sparse.values.any()


@coo("sum.dim_IntList")
def sum_over(self: Tensor, dim: Any = None, keepdim: bool = False, dtype: DType | None = None) -> Tensor:
    """Sum over some dimensions (``torch.sum``): dense if no sparse one is left."""
    dtype = dtype or (int64 if self._dtype.category < FLOATING else self._dtype)
    if dim is None or not self.ndim:
        return total(self, dtype)
    dims = tuple(wrap_dims(dim, self.ndim)) if len(dim) else ()
    summed = _sparse_sum(with_values(self, self._sparse.values.to(dtype)), dims)
    for d in sorted(dims) if keepdim else ():
        summed = summed.unsqueeze(d)
    return summed


def without(self: Tensor, dims: tuple[int, ...], dtype: DType | None) -> Tensor:
    """Return a sparse tensor summed over dimensions, which are gone then."""
    parts = self._sparse
    dense = tuple(d - parts.sparse_dim + 1 for d in dims if d >= parts.sparse_dim)
    kept = [d for d in range(parts.sparse_dim) if d not in dims]
    values = parts.values.sum(dense, dtype=dtype) if dense else parts.values.to(dtype or self._dtype)
    shape = [n for d, n in enumerate(self.shape) if d not in dims]
    indices = parts.indices if len(kept) == parts.sparse_dim else parts.indices[kept]
    result = coo_tensor(indices, values, shape, parts.coalesced and len(kept) == parts.sparse_dim)
    return coalesce(result) if len(kept) < parts.sparse_dim else result


@sparse("_sparse_sum.dim")
def _sparse_sum(self: Tensor, dim: Any) -> Tensor:
    """Sum over dimensions: dense if no sparse one is left (``torch.sparse.sum``)."""
    if not self.is_sparse:
        return like(_sparse_sum(compressed_to_coo(self), dim), self)
    parts = self._sparse
    check(len(dim) <= self.ndim, "dimension out of range")
    dims = tuple(wrap_dims(dim, self.ndim))
    if not len(dim):
        return coalesce(self)
    if all(d in dims for d in range(parts.sparse_dim)):
        dense = tuple(d - parts.sparse_dim for d in dims if d >= parts.sparse_dim)
        values = parts.values.sum(0)
        return values.sum(dense) if dense else values
    return without(self, dims, None)


@sparse("_sparse_sum_backward")
def _sparse_sum_backward(grad: Tensor, self: Tensor, dim: Any) -> Tensor:
    """Return the gradient of a sum at the places of the input."""
    if not self.is_sparse:
        return like(_sparse_sum_backward(grad, compressed_to_coo(self), dim), self)
    dims, parts = tuple(wrap_dims(dim, self.ndim)), self._sparse
    dense = [d - parts.sparse_dim for d in dims if d >= parts.sparse_dim]
    kept = [d for d in range(parts.sparse_dim) if d not in dims]
    if kept:
        values = found_values(grad, parts.indices[kept])
        for d in sorted(dense):
            values = values.unsqueeze(d + 1)
    else:
        for d in sorted(dense):
            grad = grad.unsqueeze(d)
        values = grad.unsqueeze(0)
    return with_values(self, values.expand(parts.values.shape).clone())


@coo("norm.ScalarOpt_dim linalg_vector_norm")
def norm(self: Tensor, p: Any = 2, dim: Any = None, keepdim: bool = False, dtype: DType | None = None) -> Tensor:
    check(not dim or len(wrap_dims(dim, self.ndim)) == self.ndim, "norm_sparse currently only supports full "
          "reductions, so 'dim' must either be empty or contain all dimensions of the input")
    if dtype is not None:
        raise RuntimeError("norm_sparse currently does not support 'dtype' argument")
    check(not keepdim, "norm_sparse currently does not support keepdim=True")
    values = coalesce(self)._sparse.values.reshape(-1)
    return values.norm(2 if p is None else p)


@compressed("sum.dim_IntList")
def sum_compressed(self: Tensor, dim: Any = None, keepdim: bool = False, dtype: DType | None = None) -> Tensor:
    dims = tuple(wrap_dims(dim, self.ndim))
    if len(dims) == self.ndim:
        return total(self, dtype) if not keepdim else total(self, dtype).reshape((1,) * self.ndim).to_sparse_csr()
    return like(sum_over(compressed_to_coo(self), dims, True, dtype), self)


# -- softmax -----------------------------------------------------------------------------------------------------------


def groups(self: Tensor, dim: int) -> tuple[Tensor, int]:
    """Return for each value the number of its line along a sparse dimension, and the number of lines."""
    parts = self._sparse
    others = [d for d in range(parts.sparse_dim) if d != dim]
    numbers = numbered(parts.indices[others], [self.shape[d] for d in others]) if others else parts.indices[0] * 0
    lines, places, _ = unique(numbers, True, True)
    return places, lines.shape[0]


def softmax_of(self: Tensor, dim: int, log: bool) -> Tensor:
    self = coalesce(self)
    parts, dim = self._sparse, wrap_dim(dim, self.ndim)
    name = "log_softmax.int" if log else "softmax.int"
    if not parts.nnz:
        return self
    if dim >= parts.sparse_dim:
        return with_values(self, registry[name].call(parts.values, dim - parts.sparse_dim + 1))
    places, count = groups(self, dim)
    values = parts.values
    spread = places.reshape((-1, *(1,) * (values.ndim - 1))).expand(values.shape)
    most = scatter_reduce(zeros((count, *values.shape[1:]), self._dtype, None, self._device), 0, spread, values,
                          "amax", False)
    shifted = values - most[places]
    shifted = shifted.masked_fill(values == float("-inf"), float("-inf"))
    exponentials = shifted.exp()
    sums = added(exponentials, places, count)[places]
    return with_values(self, shifted - sums.log() if log else exponentials / sums)


coo("_sparse_softmax")(lambda self, dim, half_to_float: softmax_of(self, dim, False))
coo("_sparse_log_softmax")(lambda self, dim, half_to_float: softmax_of(self, dim, True))


def softmax_gradient(grad: Tensor, output: Tensor, dim: int, log: bool) -> Tensor:
    """Return the gradient of a softmax, or of its logarithm, at the places of the output."""
    parts, dim = output._sparse, wrap_dim(dim, output.ndim)
    values = found_values(grad, parts.indices)
    weighted = values if log else values * parts.values
    if dim >= parts.sparse_dim:
        sums = weighted.sum(dim - parts.sparse_dim + 1, True)
    else:
        places, count = groups(output, dim)
        sums = added(weighted, places, count)[places]
    return with_values(output, values - parts.values.exp() * sums if log else parts.values * (values - sums))


coo("_sparse_softmax_backward_data")(lambda grad, output, dim, self: softmax_gradient(grad, output, dim, False))
coo("_sparse_log_softmax_backward_data")(lambda grad, output, dim, self: softmax_gradient(grad, output, dim, True))
