"""Sparse layouts: how tensors come to have one and leave it, and the operators that only they have.

The kernels of these and of other operators are in ``_backends/sparse``; what stands here for dense tensors refuses
them in PyTorch's words.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._backends.sparse import compressing, coordinates, parts
from .._backends.sparse.products import scaled
from .._base.errors import check
from .._base.formats import LAYOUTS, layout_name, sparse_coo, strided
from .._dispatch.aten import (
    _coalesce, _sparse_addmm, _sparse_coo_tensor_with_dims_and_tensors, _sparse_log_softmax,
    _sparse_log_softmax_backward_data, _sparse_softmax, _sparse_softmax_backward_data, _sparse_sparse_matmul,
    _sparse_sum_backward, _sparse_sum_dim, _to_dense, _to_sparse, _to_sparse_bsc, _to_sparse_bsr, _to_sparse_csc,
    _to_sparse_csr, _to_sparse_sparse_dim, clone, mm, sparse_mask, sparse_sampled_addmm, sspaddmm, t, zeros,
)
from .._dispatch.keys import SPARSES
from .._dispatch.schemas import registry
from .._dtype import DType, int64
from .._tensor import Tensor
from . import operator, schemas
from .linalg import conj

schemas("""
method:
    is_coalesced(Tensor self) -> bool  # Whether each index of the sparse tensor `self` is known to be there once, in order.
    coalesce(Tensor(a) self) -> Tensor(a)  # The sparse tensor `self` with each index once, in order; values of equal indices are added.
    indices(Tensor(a) self) -> Tensor(a)  # The coordinates of the values of the coalesced sparse tensor `self`, one a column.
    values(Tensor(a) self) -> Tensor(a)  # The values of the sparse tensor `self`.
    crow_indices(Tensor(a) self) -> Tensor(a)  # Where the rows of the sparse tensor `self` begin among its values.
    col_indices(Tensor(a) self) -> Tensor(a)  # The columns of the values of the sparse tensor `self`.
    ccol_indices(Tensor(a) self) -> Tensor(a)  # Where the columns of the sparse tensor `self` begin among its values.
    row_indices(Tensor(a) self) -> Tensor(a)  # The rows of the values of the sparse tensor `self`.
    _indices(Tensor(a) self) -> Tensor(a)  # The coordinates of the values of the sparse tensor `self`, coalesced or not.
    _values(Tensor(a) self) -> Tensor(a)  # The values of the sparse tensor `self`, coalesced or not, outside the graph.
    _nnz(Tensor self) -> int  # The number of values (or blocks of them) of the sparse tensor `self`.
    _dimI(Tensor self) -> int  # The number of sparse dimensions of `self`.
    _dimV(Tensor self) -> int  # The number of dense dimensions of the sparse tensor `self`.
    sparse_dim(Tensor self) -> int  # The number of sparse dimensions of `self`: 0 if it is strided.
    dense_dim(Tensor self) -> int  # The number of dense dimensions of `self`: all if it is strided.
    _coalesced_(Tensor(a!) self, bool coalesced) -> Tensor(a!)  # Marks the sparse tensor `self` as coalesced or not.
    sparse_mask(Tensor self, Tensor mask) -> Tensor  # The values of `self` at the places at which the sparse tensor `mask` has values.
    to_dense(Tensor self, ScalarType? dtype=None, *, bool? masked_grad=None) -> Tensor  # `self` as a strided tensor, with zeros where a sparse tensor has no values.
    to_sparse.sparse_dim(Tensor self, int sparse_dim) -> Tensor  # `self` in a sparse layout, by default that of coordinates, whose values are the elements other than 0.
    to_sparse(Tensor self, *, Layout? layout=None, int[2]? blocksize=None, int? dense_dim=None) -> Tensor
    to_sparse_csr(Tensor self, int? dense_dim=None) -> Tensor  # `self` with compressed rows.
    to_sparse_csc(Tensor self, int? dense_dim=None) -> Tensor  # `self` with compressed columns.
    to_sparse_bsr(Tensor self, int[2] blocksize, int? dense_dim=None) -> Tensor  # `self` with compressed rows of blocks.
    to_sparse_bsc(Tensor self, int[2] blocksize, int? dense_dim=None) -> Tensor  # `self` with compressed columns of blocks.
    sparse_resize_(Tensor(a!) self, int[] size, int sparse_dim, int dense_dim) -> Tensor(a!)  # Gives the sparse tensor `self` another shape; its values stay where they are.
    sparse_resize_and_clear_(Tensor(a!) self, int[] size, int sparse_dim, int dense_dim) -> Tensor(a!)  # Gives the sparse tensor `self` another shape, and no values.
function, method:
    smm(Tensor self, Tensor mat2) -> Tensor  # The product of the sparse matrix `self` and the dense one `mat2`, which is sparse.
    sspaddmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor  # `beta` times the sparse matrix `self` plus `alpha` times the product of the sparse `mat1` and the dense `mat2`, which is sparse.
function:
    hspmm(Tensor mat1, Tensor mat2) -> Tensor  # The product of the sparse matrix `mat1` and the dense one `mat2`, as a sparse tensor of whole rows.
    _coalesce(Tensor self) -> Tensor  # The sparse tensor `self`, which is not coalesced, with each index once.
    _sparse_coo_tensor_unsafe(Tensor indices, Tensor values, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool? is_coalesced=None) -> Tensor  # A sparse tensor of the coordinates `indices` and `values`, which are not checked.
    _to_dense(Tensor self, ScalarType? dtype=None, bool? masked_grad=None) -> Tensor  # The sparse tensor `self` as a strided one.
    _to_sparse.sparse_dim(Tensor self, int sparse_dim) -> Tensor  # A copy of `self` in a sparse layout.
    _to_sparse(Tensor self, *, Layout? layout=None, int[2]? blocksize=None, int? dense_dim=None) -> Tensor
    _to_sparse_csr(Tensor self, int? dense_dim=None) -> Tensor  # A copy of `self` with compressed rows.
    _to_sparse_csc(Tensor self, int? dense_dim=None) -> Tensor  # A copy of `self` with compressed columns.
    _to_sparse_bsr(Tensor self, int[2] blocksize, int? dense_dim=None) -> Tensor  # A copy of `self` with compressed rows of blocks.
    _to_sparse_bsc(Tensor self, int[2] blocksize, int? dense_dim=None) -> Tensor  # A copy of `self` with compressed columns of blocks.
    _sparse_mm(Tensor sparse, Tensor dense) -> Tensor  # The product of the matrices `sparse` and `dense`, of which either may be the sparse one: its gradient is as sparse as it.
    _sparse_sum(Tensor self) -> Tensor  # The sum of the values of the sparse tensor `self`, over the dimensions `dim` or over all.
    _sparse_sum.dtype(Tensor self, *, ScalarType dtype) -> Tensor
    _sparse_sum.dim(Tensor self, int[1] dim) -> Tensor
    _sparse_sum.dim_dtype(Tensor self, int[1] dim, *, ScalarType dtype) -> Tensor
    _sparse_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor  # The softmax of the values of the sparse tensor `self` along `dim`: where it has none, it has -inf.
    _sparse_softmax(Tensor self, int dim, bool half_to_float) -> Tensor
    _sparse_log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor  # The logarithm of the softmax of the values of the sparse tensor `self` along `dim`.
    _sparse_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor
    _sparse_sum_backward(Tensor grad, Tensor self, int[] dim) -> Tensor  # The gradient of `_sparse_sum` with respect to `self`.
    _sparse_softmax_backward_data(Tensor grad_output, Tensor output, int dim, Tensor self) -> Tensor  # The gradient of `_sparse_softmax` with respect to `self`.
    _sparse_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, Tensor self) -> Tensor  # The gradient of `_sparse_log_softmax` with respect to `self`.
    _sparse_broadcast_to(Tensor(a) self, int[] size) -> Tensor(a)  # The sparse tensor `self`, repeated to the shape `size`.
function, out:
    _sparse_addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor  # `addmm`, with a gradient for the sparse `mat1` that is as sparse as it.
    sparse_sampled_addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor  # `beta` times the sparse matrix `self` plus `alpha` times the product of the dense `mat1` and `mat2` at the places at which `self` has values.
    _convert_indices_from_csr_to_coo(Tensor crow_indices, Tensor col_indices, *, bool out_int32=False, bool transpose=False) -> Tensor  # The coordinates of values in the columns `col_indices` of rows that begin at `crow_indices`.
    _convert_indices_from_coo_to_csr(Tensor self, int size, *, bool out_int32=False) -> Tensor  # Where each of `size` rows begins among the sorted row numbers `self`.
function, method:
    resize_as_sparse_(Tensor(a!) self, Tensor the_template) -> Tensor(a!)  # Gives the sparse tensor `self` the shape of `the_template`.
operator only:
    _sparse_compressed_tensor_with_dims(int nnz, int dense_dim, int[] size, int[] blocksize, ScalarType index_dtype, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False) -> Tensor  # A sparse tensor with compressed rows or columns, and `nnz` uninitialised values.
    _sparse_coo_tensor_with_dims_and_tensors(int sparse_dim, int dense_dim, SymInt[] size, Tensor indices, Tensor values, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False, bool? is_coalesced=None) -> Tensor  # A sparse tensor of the coordinates `indices` and `values`, of a shape that is checked.
    sparse_compressed_tensor.comp_plain_value_size(Tensor compressed_indices, Tensor plain_indices, Tensor values, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False) -> Tensor  # A sparse tensor of `values` with compressed rows or columns, as `layout` says.
    _sparse_sparse_matmul(Tensor self, Tensor other) -> Tensor  # The product of two sparse matrices, which is sparse.
    _sparse_mask_projection(Tensor self, Tensor mask, bool accumulate_matches=False) -> Tensor  # The values of the sparse tensor `self` at the places at which the sparse `mask` has values.
    embedding_sparse_backward(Tensor grad, Tensor indices, int num_weights, int padding_idx, bool scale_grad_by_freq) -> Tensor  # The gradient of `embedding`, which has values only in the rows at `indices`.
    _embedding_bag_sparse_backward(Tensor grad, Tensor indices, Tensor offsets, Tensor offset2bag, Tensor bag_size, SymInt num_weights, bool scale_grad_by_freq, int mode, Tensor? per_sample_weights, int padding_idx=-1) -> Tensor  # The gradient of `embedding_bag`, which has values only in the rows at `indices`.
""")  # noqa: E501

# -- what dense tensors, and those of another layout, do not have ------------------------------------------------------

#: By operator: the kind of layout that it expects.
EXPECTED = {"is_coalesced": "coordinate", "indices": "coordinate", "values": "",
            "crow_indices": "row compressed", "col_indices": "row compressed", "ccol_indices": "column compressed",
            "row_indices": "column compressed"}


def refusing(name: str, kind: str) -> Callable[[Tensor], Any]:
    """Return the composite of an operator that a tensor of another layout does not have."""

    def refuse(self: Tensor) -> Any:
        raise RuntimeError(f"{name} expected sparse {kind}{' ' * bool(kind)}tensor layout but got "
                           f"{layout_name(self.layout)}")

    return refuse


for _name, _kind in EXPECTED.items():
    formulas: dict[str, Any] = {"self": lambda grad, self: values_backward(grad, self)} if _name == "values" else {}
    operator(_name, composite=refusing(_name, _kind), differentiable=_name == "values", **formulas)
operator("sparse_dim", composite=lambda self: 0, differentiable=False)
operator("dense_dim", composite=lambda self: self.ndim, differentiable=False)
operator("_indices _values _nnz _dimI _dimV _coalesced_ _sparse_mask_projection", differentiable=False)


def values_backward(grad: Tensor, self: Tensor) -> Tensor:
    """Return a sparse tensor with the gradient of the values of ``self`` at their places."""
    held = self._sparse
    if held.plain is None:
        return coo_unsafe(held.indices, grad, self.shape, is_coalesced=True)
    made: Tensor = compressed_tensor(held.indices, held.plain, grad, tuple(self.shape), None, held.layout)
    return made


# -- construction ------------------------------------------------------------------------------------------------------

compressed_tensor: Any = registry["sparse_compressed_tensor.comp_plain_value_size"].call


def coo_unsafe(indices: Tensor, values: Tensor, size: Any, dtype: DType | None = None, layout: Any = None,
               device: Any = None, pin_memory: Any = None, is_coalesced: bool | None = None) -> Tensor:
    sparse_dim = indices.shape[0]
    return _sparse_coo_tensor_with_dims_and_tensors(sparse_dim, values.ndim - 1, tuple(size), indices, values, dtype,
                                                    layout, device, pin_memory, is_coalesced)


operator("_sparse_coo_tensor_unsafe", composite=coo_unsafe)
operator("_sparse_coo_tensor_with_dims_and_tensors", composite=coordinates.of_dims_and_tensors,
         values=lambda grad, result: sparse_mask(grad, result)._values() if not grad.requires_grad else
             sparse_mask(grad, result).coalesce().values())
operator("sparse_compressed_tensor.comp_plain_value_size", composite=compressing.of_tensors,
         node="SparseCompressedTensorBackward0",
         values=lambda grad, result: sparse_mask(grad, result).values())


def coalesced(self: Tensor) -> Tensor:
    """Return a tensor with sorted coordinates, each of them there once (``torch.Tensor.coalesce``)."""
    if not self.is_sparse:
        refusing("coalesce", "coordinate")(self)
    return self if self._sparse.coalesced else _coalesce(self)


operator("coalesce", composite=coalesced)
operator("_coalesce", self=lambda grad: grad)
operator("_convert_indices_from_csr_to_coo", composite=compressing.csr_to_coo, differentiable=False)
operator("_convert_indices_from_coo_to_csr", composite=compressing.coo_to_csr, differentiable=False)
operator("_sparse_compressed_tensor_with_dims", composite=parts.with_dims, differentiable=False)
operator("resize_as_sparse_", composite=parts.resize_as_sparse_)


# -- to and from dense -------------------------------------------------------------------------------------------------


def to_dense(self: Tensor, dtype: DType | None = None, masked_grad: bool | None = None) -> Tensor:
    """Return a sparse tensor's elements as a strided one; a strided tensor itself (``torch.Tensor.to_dense``)."""
    if self._keys & SPARSES:
        return _to_dense(self, dtype, masked_grad)
    return self if dtype is None else self.to(dtype)


def to_dense_backward(grad: Tensor, self: Tensor, masked_grad: bool | None) -> Tensor:
    """Return the gradient at the places of the values, or (not masked) at all places."""
    held = self._sparse
    if masked_grad is None or masked_grad:
        return sparse_mask(grad, self.coalesce() if self.is_sparse else self)
    if self.is_sparse:
        return grad.to_sparse(held.sparse_dim)
    return grad.to_sparse(layout=held.layout, blocksize=held.blocksize or None, dense_dim=held.dense_dim)


operator("to_dense", composite=to_dense)
operator("_to_dense", self=to_dense_backward)


def to_sparse(self: Tensor, layout: Any = None, blocksize: Any = None, dense_dim: int | None = None) -> Tensor:
    """Return this tensor in a sparse layout (``torch.Tensor.to_sparse``); itself if it has it."""
    wanted = layout or sparse_coo
    if self.layout is wanted and (blocksize is None or tuple(blocksize) == self._sparse.blocksize):
        return self
    return _to_sparse(self, layout, blocksize, dense_dim)


def to_sparse_dim(self: Tensor, sparse_dim: int) -> Tensor:
    """Return this tensor as coordinates of the first ``sparse_dim`` dimensions and values of the others."""
    return _to_sparse_sparse_dim(self, sparse_dim)


def unless(layout: str, convert: Any) -> Callable[..., Tensor]:
    """Return the composite that converts a tensor unless it has this layout."""

    def to_layout(self: Tensor, dense_dim: int | None = None) -> Tensor:
        return self if self.layout is LAYOUTS[layout] else convert(self, dense_dim)

    def to_blocks(self: Tensor, blocksize: Any, dense_dim: int | None = None) -> Tensor:
        same = self.layout is LAYOUTS[layout] and self._sparse.blocksize == tuple(blocksize)
        return self if same else convert(self, blocksize, dense_dim)

    return to_blocks if "_bs" in layout else to_layout


def to_sparse_backward(grad: Tensor, self: Tensor) -> Tensor:
    """Return the gradient in the layout of the input."""
    if grad.layout is self.layout:
        return grad
    if self.layout is strided:
        return grad.to_dense()
    return grad.to_sparse(layout=self.layout, blocksize=self._sparse.blocksize or None)


operator("to_sparse", composite=to_sparse)
operator("to_sparse.sparse_dim", composite=to_sparse_dim)
for _layout, _convert in {"sparse_csr": _to_sparse_csr, "sparse_csc": _to_sparse_csc, "sparse_bsr": _to_sparse_bsr,
                          "sparse_bsc": _to_sparse_bsc}.items():
    operator(f"to_{_layout}", composite=unless(_layout, _convert))
operator("_to_sparse", composite=compressing.to_layout, node="ToSparseBackward1", self=to_sparse_backward)
operator("_to_sparse.sparse_dim", composite=coordinates.of_dense, self=to_sparse_backward)
operator("_to_sparse_csr", composite=compressing.to_csr, self=to_sparse_backward)
operator("_to_sparse_csc", composite=compressing.to_csc, self=to_sparse_backward)
operator("_to_sparse_bsr", composite=compressing.to_bsr, self=to_sparse_backward)
operator("_to_sparse_bsc", composite=compressing.to_bsc, self=to_sparse_backward)


def sparse_mask_backward(grad: Tensor, self: Tensor, mask: Tensor) -> Tensor:
    """Return the gradient where the mask has values, strided if the input is."""
    masked = sparse_mask(grad, mask)
    return masked.to_dense() if self.layout is strided else masked


operator("sparse_mask", self=sparse_mask_backward)


# -- products ----------------------------------------------------------------------------------------------------------


def product_of_sparse(sparse: Tensor, dense: Tensor) -> Tensor:
    """Return the product of two matrices with at least one sparse factor (``torch.sparse.mm``)."""
    if sparse.is_sparse and dense.is_sparse:
        return _sparse_sparse_matmul(sparse, dense)
    if sparse._keys & SPARSES:
        return _sparse_addmm(zeros((), dense._dtype, None, dense._device), sparse, dense, 0, 1)
    return t(_sparse_addmm(zeros((), dense._dtype, None, dense._device), t(dense), t(sparse), 0, 1))


def mat1_gradient(grad: Tensor, mat1: Tensor, mat2: Tensor, alpha: Any) -> Tensor:
    """Return the gradient of the sparse factor: at its places only."""
    if grad.layout is strided and mat2.layout is strided and mat1.is_sparse:
        return sparse_mask(scaled(mm(grad, t(conj(mat2))), alpha), mat1.coalesce())
    if grad.layout is strided and mat2.layout is strided and mat1.is_sparse_csr:
        nothing = clone(mat1)
        nothing._sparse.values.zero_()
        sampled: Tensor = sparse_sampled_addmm(nothing, grad, t(conj(mat2)), 1, alpha)
        return sampled
    return scaled(mm(grad, t(conj(mat2))), alpha)


operator("_sparse_mm", composite=product_of_sparse)
operator("_sparse_addmm", self=lambda grad, beta: scaled(grad, beta), mat1=mat1_gradient,
         mat2=lambda grad, mat1, alpha: scaled(mm(t(conj(mat1)), grad), alpha))


def sparse_product_gradient(grad: Tensor, left: Tensor, right: Tensor, place: Tensor) -> Tensor:
    """Return the gradient of a factor of two sparse matrices, at the places of the factor ``place``."""
    return _sparse_sparse_matmul(left, right).sparse_mask(place.coalesce())


operator("_sparse_sparse_matmul",
         self=lambda grad, self, other: sparse_product_gradient(grad, grad, t(conj(other)), self),
         other=lambda grad, self, other: sparse_product_gradient(grad, t(conj(self)), grad, other))
operator("sparse_sampled_addmm",
         self=lambda grad, beta: scaled(grad, beta),
         mat1=lambda grad, mat2, alpha: scaled(mm(grad, t(conj(mat2))), alpha),
         mat2=lambda grad, mat1, alpha: scaled(mm(t(conj(mat1)), grad), alpha))


def sspaddmm_of_others(self: Tensor, mat1: Tensor, mat2: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    raise RuntimeError("tensor.sspaddmm(...) can only be called on sparse tensors")


operator("sspaddmm", composite=sspaddmm_of_others)
operator("smm", composite=lambda self, mat2: sspaddmm(
    parts.nothing((self.shape[0], mat2.shape[1]), self.layout, mat2._dtype, mat2._device), self, mat2, 0, 1)
    if self.is_sparse else sspaddmm_of_others(self, self, mat2))


# -- reductions --------------------------------------------------------------------------------------------------------


def summed(self: Tensor, dtype: DType | None = None) -> Tensor:
    """Return the sum of all values."""
    return self.coalesce().values().sum(dtype=dtype)


operator("_sparse_sum", composite=summed)
operator("_sparse_sum.dtype", composite=summed)
operator("_sparse_sum.dim_dtype", composite=lambda self, dim, dtype: _sparse_sum_dim(self.to(dtype), dim))
operator("_sparse_sum.dim", self=lambda grad, self, dim: _sparse_sum_backward(grad, self, dim))
operator("_sparse_softmax.int", composite=lambda self, dim, dtype=None: _sparse_softmax(
    self if dtype is None else self.to(dtype), dim, False))
operator("_sparse_log_softmax.int", composite=lambda self, dim, dtype=None: _sparse_log_softmax(
    self if dtype is None else self.to(dtype), dim, False))
operator("_sparse_softmax", self=lambda grad, result, dim, self: _sparse_softmax_backward_data(grad, result, dim, self))
operator("_sparse_log_softmax",
         self=lambda grad, result, dim, self: _sparse_log_softmax_backward_data(grad, result, dim, self))
operator("_sparse_broadcast_to", self=lambda grad, self_shape: grad.to_dense().sum_to_size(self_shape))


# -- gradients of tables -----------------------------------------------------------------------------------------------


def of_rows(grad: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool) -> Tensor:
    """Return the sparse gradient of an embedding table: one value for each look-up."""
    check(not scale_grad_by_freq, "embedding_backward: scale_grad_by_freq not supported with sparse gradients")
    places, values = indices.reshape((-1,)), grad.reshape((-1, grad.shape[-1]))
    if padding_idx >= 0:
        keep = (places != padding_idx).nonzero().reshape((-1,))
        places, values = places[keep], values[keep]
    return coo_unsafe(places.reshape((1, -1)).to(int64), values, (num_weights, grad.shape[-1]))


def of_bags(grad: Tensor, indices: Tensor, offsets: Tensor, offset2bag: Tensor, bag_size: Tensor, num_weights: int,
            scale_grad_by_freq: bool, mode: int, per_sample_weights: Tensor | None, padding_idx: int = -1) -> Tensor:
    """Return the gradient of a table of whose rows bags were made: a value for each row of a bag."""
    values = grad.index_select(0, offset2bag)
    if mode == MEAN:
        values = values / bag_size.index_select(0, offset2bag).clamp(min=1).to(grad._dtype).unsqueeze(1)
    if per_sample_weights is not None:
        values = values * per_sample_weights.unsqueeze(1)
    return of_rows(values, indices, num_weights, padding_idx, scale_grad_by_freq)


MEAN = 1  #: a mode of bags
operator("embedding_sparse_backward", composite=of_rows)
operator("_embedding_bag_sparse_backward", composite=of_bags)
