"""Masked reductions of sparse tensors: over the elements that the mask keeps, in the sparse layout of the input.

An element that the mask keeps and the input does not specify is 0. Where no element is kept, the result specifies none.
"""
from __future__ import annotations

from math import prod
from typing import Any

from .._creation import tensor as tensor_of
from .._creation.sparse import sparse_coo_tensor
from .._dispatch.keys import SPARSES
from .._dtype import DType, bool_, int64
from .._methods.api import FUNCTIONS
from .._tensor import Tensor

COO, CSR = "torch.sparse_coo", "torch.sparse_csr"


def is_sparse(input: Any) -> bool:
    """Return True for a tensor of a sparse layout."""
    return isinstance(input, Tensor) and bool(input._keys & SPARSES)


def reduced(name: str, input: Any, dims: tuple[int, ...], keepdim: bool, dtype: DType, mask: Any,
            identity: Any) -> Any:
    """Reduce a sparse tensor. ``identity`` stands for what the mask leaves out of kept dense parts.

    Raises:
        ValueError: for a layout other than COO and CSR; without a mask, unless the reduction is a sum.
        AssertionError: for CSR and ``keepdim=False``.
    """
    layout = str(input.layout)
    if layout not in (COO, CSR):
        raise ValueError(f"masked {name} expects strided, sparse_coo or sparse_csr tensor (got {input.layout} tensor)")
    if mask is None and name != "sum":
        raise ValueError(f"masked {name} expects explicit mask for {layout.removeprefix('torch.')} tensor input")
    if layout == CSR and not keepdim:
        raise AssertionError("reduction operations on CSR tensors with keepdim=False is unsupported")
    at, values, sparse_dims = _kept(input, mask, identity)
    made = _by_place(name, at, values.to(dtype), tuple(input.shape), sparse_dims, dims, keepdim,
                     identity)
    return made if layout == COO else made.to_sparse_csr()


def _kept(input: Any, mask: Any, identity: Any) -> tuple[Any, Any, int]:
    """Return the indices of the kept elements, their values, and the number of sparse dimensions."""
    coo = input.to_sparse_coo().coalesce() if str(input.layout) == CSR else input.coalesce()
    if mask is None:
        return coo.indices(), coo.values(), coo.sparse_dim()
    if not is_sparse(mask) or mask.shape != coo.shape:
        mask = mask.to_dense().expand(coo.shape).to_sparse(coo.sparse_dim())
    mask = mask.to_sparse_coo().coalesce()
    passed = mask.values().to(bool_)
    whole = passed.reshape(len(passed), -1).any(1) if passed.ndim > 1 else passed
    at, passed = mask.indices()[:, whole], passed[whole]
    dense = coo.to_dense()
    values = dense[tuple(at)] if len(at) else dense.expand(at.shape[1], *dense.shape)
    return at, FUNCTIONS["where"](passed, values, identity) if passed.ndim > 1 else values, coo.sparse_dim()


def _by_place(name: str, at: Any, values: Any, shape: tuple[int, ...], sparse_dims: int, dims: tuple[int, ...],
              keepdim: bool, identity: Any) -> Any:
    """Reduce the values of each place that is left."""
    sparse, dense = [d for d in dims if d < sparse_dims], [d - sparse_dims + 1 for d in dims if d >= sparse_dims]
    if dense:
        if name != "sum":
            raise NotImplementedError(f"masked {name} does not reduce dense dimensions of a sparse tensor")
        values = values.sum(dense, keepdim)
    left = [d for d in range(sparse_dims) if d not in sparse]
    size = [1 if d in dims else n for d, n in enumerate(shape) if keepdim or d not in dims]
    if not left:
        nothing = not len(values) and name in ("amax", "amin")
        result = tensor_of(identity, dtype=values.dtype) if nothing else getattr(values, name)(0)
        return result.reshape((*[1] * (sparse_dims * keepdim), *result.shape)).to_sparse()
    kept_sizes = [shape[d] for d in left]
    flat = sum((at[d] * prod(kept_sizes[i + 1:]) for i, d in enumerate(left)), tensor_of(0, dtype=int64))
    places, inverse = flat.unique(return_inverse=True)
    out = values.new_empty((len(places), *values.shape[1:]))
    inverse = inverse.reshape(-1, *[1] * (values.ndim - 1)).expand(values.shape)
    out = out.scatter_reduce(0, inverse, values, name, include_self=False) if len(places) else out
    of = {d: places // prod(kept_sizes[i + 1:]) % max(shape[d], 1) for i, d in enumerate(left)}
    rows = FUNCTIONS["stack"]([of.get(d, places * 0) for d in range(sparse_dims) if keepdim or d in of])
    return sparse_coo_tensor(rows, out, size)
