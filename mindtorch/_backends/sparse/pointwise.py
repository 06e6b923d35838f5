"""Arithmetic of sparse tensors: what maps 0 to 0 computes on the values alone."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._base.errors import check
from ..._base.formats import layout_name
from ..._base.layout import broadcast_shapes
from ..._dispatch.aten import (
    add_Tensor as add_dense, cat, div_Tensor as divide, div_Tensor_mode as divide_rounding, mul_Tensor as multiply,
)
from ..._dispatch.dispatcher import TENSOR_TYPES
from ..._dispatch.keys import SPARSES
from ..._dispatch.schemas import registry
from ..._dtype import int64
from ..._tensor import Tensor
from ..._tensor.sparse import coo as coo_tensor, with_values
from . import COALESCED, compressed, coo, sparse
from .compressing import compressed_to_coo, like
from .coordinates import all_places, coalesce, found, gathered, joined, numbered, put

UNARY = ("abs asin asinh atan atanh ceil deg2rad erf erfinv expm1 floor frac isinf isnan isneginf "
         "isposinf log1p nan_to_num neg rad2deg relu round round.decimals sgn sign signbit sin sinh sqrt tan "
         "tanh trunc threshold_backward angle _conj_physical")


def on_values(name: str) -> Callable[..., Any]:
    """Return the row of an operator that maps 0 to 0: it computes on the coalesced tensor's values."""

    def row(self: Tensor, *args: Any) -> Tensor:
        self = self if name in LINEAR else coalesce(self)
        given = [coalesce(arg)._sparse.values if arg.__class__ in TENSOR_TYPES and arg._keys & SPARSES else arg
                 for arg in args]
        return with_values(self, registry[name].call(self._sparse.values, *given))

    row.__name__ = name.partition(".")[0]
    return row


LINEAR = ("neg", "conj_physical", "_conj_physical")
for _name in UNARY.split():
    if _name in registry.operators:
        sparse(_name)(on_values(_name))
        if _name not in LINEAR:
            COALESCED.add(_name)
sparse("conj _conj")(on_values("conj_physical"))
coo("pow.Tensor_Scalar")(lambda self, exponent: powered(self, exponent))


def powered(self: Tensor, exponent: Any) -> Tensor:
    check(exponent != 0, "pow: exponent must be non-zero: 0 to the power of 0 is 1, which would be dense")
    return on_values("pow.Tensor_Scalar")(self, exponent)


def is_number(value: Any) -> bool:
    """Return True for a number, or a dense tensor that holds one."""
    return value.__class__ not in TENSOR_TYPES or (not value.ndim and not value._keys & SPARSES)


# -- products ----------------------------------------------------------------------------------------------------------


@sparse("mul.Tensor")
def mul(self: Any, other: Any) -> Tensor:
    """Multiply a sparse tensor by a number, a dense or a sparse tensor (``torch.mul``)."""
    if getattr(self, "_keys", 0) & getattr(other, "_keys", 0) & SPARSES and not self.ndim * other.ndim:
        self, other = (self, other.to_dense()) if self.ndim else (other, self.to_dense())
    if is_number(other) or is_number(self):
        self, other = (self, other) if is_number(other) else (other, self)
        return with_values(self, multiply(self._sparse.values, other))
    if not self._keys & SPARSES:
        self, other = other, self
    if not self.is_sparse or (other._keys & SPARSES and not other.is_sparse):
        if self.is_sparse:
            self, other = other, self
        return like(mul(compressed_to_coo(self), compressed_to_coo(other) if other._keys & SPARSES and not
                        other.is_sparse else other), self)
    if not other._keys & SPARSES:
        shape = tuple(broadcast_shapes(self.shape, other.shape))
        self = broadcast_to(self, shape)
        parts = self._sparse
        return with_values(self, multiply(parts.values, gathered(other.expand(shape), parts.indices)))
    shape = tuple(self.shape)
    check(shape == tuple(other.shape) and (self._sparse.sparse_dim == other._sparse.sparse_dim or not self._sparse.nnz
          or not other._sparse.nnz), lambda: "mul: expects sparse inputs with equal dimensionality, number of sparse "
          f"dimensions, and shape of sparse dimensions, but got {list(shape)} and {list(other.shape)} with "
          f"{self._sparse.sparse_dim} and {other._sparse.sparse_dim} sparse dimensions")
    one, two = self._sparse, other._sparse
    both = one.coalesced and two.coalesced
    if not both and (one.coalesced or (not two.coalesced and one.nnz >= two.nnz)):  # the coordinates of one remain
        one, two, self, other = two, one, other, self
    two, sizes = coalesce(other)._sparse, shape[:one.sparse_dim]
    places, there = found(numbered(one.indices, sizes), numbered(two.indices, sizes))
    if both or not one.nnz or not two.nnz:
        keep = there.nonzero().reshape(-1)
        values = multiply(one.values[keep], two.values[places[keep]])
        return coo_tensor(one.indices.index_select(1, keep), values, shape, True)
    values = multiply(one.values, two.values[places])
    missing = there.logical_not().reshape((-1, *(1,) * (values.ndim - 1)))
    return coo_tensor(one.indices, values.masked_fill(missing, 0), shape, False)


@coo("_sparse_broadcast_to")
def broadcast_to(self: Tensor, size: Any) -> Tensor:
    """Repeat a sparse tensor along dimensions that are new, or of size 1."""
    size, parts, old = tuple(size), self._sparse, tuple(self.shape)
    if size == old:
        return self
    extra = len(size) - len(old)
    grown = [d for d in range(len(size)) if d < extra or old[d - extra] != size[d]]
    sparse_dim, count = parts.sparse_dim + extra, parts.nnz
    repeated = [d for d in grown if d < sparse_dim]
    copies = all_places([size[d] for d in repeated], self._device)
    rows = []
    for d in range(sparse_dim):
        if d in repeated:
            rows.append(copies[repeated.index(d)].repeat_interleave(count).unsqueeze(0))
        else:
            rows.append(parts.indices[d - extra].repeat(copies.shape[1]).unsqueeze(0))
    values = parts.values.expand((count, *size[sparse_dim:]))
    values = values.repeat((copies.shape[1], *(1,) * (values.ndim - 1))) if repeated else values.contiguous()
    result = coo_tensor(cat(rows, 0) if rows else parts.indices.to(int64), values, size)
    return coalesce(result) if parts.coalesced else result


@coo("div.Tensor div.Tensor_mode")
def div(self: Tensor, other: Any, rounding_mode: str | None = None) -> Tensor:
    """Divide a sparse tensor by a number (``torch.div``)."""
    check(self._keys & SPARSES != 0 and is_number(other),
          lambda: f"Sparse {'floor ' * (rounding_mode == 'floor')}division requires a scalar or zero-dim dense tensor "
                  f"divisor (got {'a sparse' if not other.ndim else f'shape {list(other.shape)} for'} divisor)")
    self = coalesce(self) if rounding_mode is not None else self
    values = self._sparse.values
    return with_values(self, divide(values, other) if rounding_mode is None else
                       divide_rounding(values, other, rounding_mode))


coo("floor_divide")(lambda self, other: div(self, other, "floor"))


@compressed("div.Tensor pow.Tensor_Scalar sub.Tensor")
def refused(self: Tensor, *args: Any) -> Tensor:
    raise RuntimeError(f"unsupported tensor layout: {layout_name(self.layout)}")


# -- sums --------------------------------------------------------------------------------------------------------------


@coo("add.Tensor")
def add(self: Any, other: Any, alpha: Any = 1) -> Tensor:
    """Add sparse tensors, or a sparse one to a dense one (``torch.add``)."""
    if not self._keys & SPARSES:
        return added_to_dense(self, other, alpha)
    check(other.__class__ in TENSOR_TYPES and other._keys & SPARSES != 0,
          "add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    if not other.is_sparse:
        other = compressed_to_coo(other)
    check(self.shape == other.shape, lambda: "add: expected sizes of 'self' and 'other' to match, but "
          f"{list(self.shape)} != {list(other.shape)}")
    if not other._sparse.nnz or not self._sparse.nnz:
        rest = other if self._sparse.nnz == 0 and other._sparse.nnz else self
        wanted = add_dense(self._sparse.values.reshape(-1)[:0], other._sparse.values.reshape(-1)[:0])._dtype
        result = with_values(rest, rest._sparse.values.to(wanted).clone())
        return result if rest is self or alpha == 1 else with_values(result, result._sparse.values * alpha)
    check(self._sparse.sparse_dim == other._sparse.sparse_dim, lambda: "add: expected 'self' and 'other' to have same "
          f"number of sparse dimensions, but {self._sparse.sparse_dim} != {other._sparse.sparse_dim}")
    scaled = other if alpha == 1 else with_values(other, other._sparse.values * alpha)
    wanted = add_dense(self._sparse.values.reshape(-1)[:0], scaled._sparse.values.reshape(-1)[:0])._dtype
    indices, values = joined(with_values(self, self._sparse.values.to(wanted)),
                             with_values(scaled, scaled._sparse.values.to(wanted)))
    result = coo_tensor(indices, values, self.shape)
    if is_sorted(self) and is_sorted(other) and not self.is_meta:
        merged = coalesce(result)._sparse
        both = self._sparse.coalesced and other._sparse.coalesced
        return coo_tensor(merged.indices, merged.values, self.shape, both)
    return coalesce(result) if self.is_meta or values.shape[0] > self.numel() else result


def is_sorted(self: Tensor) -> bool:
    """Return True if coordinates are in order, each of them there once, whether that was known or not."""
    parts = self._sparse
    if not parts.values.is_contiguous():  # where PyTorch puts the values side by side
        return False
    if parts.coalesced or parts.nnz < 2:
        return True
    if self.is_meta:
        return False
    numbers = numbered(parts.indices, self.shape[:parts.sparse_dim])
    return bool((numbers[1:] > numbers[:-1]).all())


def added_to_dense(self: Tensor, other: Tensor, alpha: Any) -> Tensor:
    """Return a dense tensor with the values of a sparse one added at their places."""
    check(self.shape == other.shape, lambda: "add: expected 'self' and 'other' to have same size, but self "
          f"has size {list(self.shape)} while other has size {list(other.shape)} (FYI: dense-sparse addition does not "
          "currently support broadcasting)")
    parts = other._sparse
    values = parts.values if alpha == 1 else parts.values * alpha
    wanted = add_dense(self.reshape(-1)[:0], values.reshape(-1)[:0])._dtype
    result = self.to(wanted, copy=True)
    return put(result, parts.indices, values.to(wanted)) if parts.nnz else result


@compressed("add.Tensor")
def add_compressed(self: Any, other: Any, alpha: Any = 1) -> Tensor:
    """Add compressed tensors of one layout, or a compressed one and a dense one."""
    if not self._keys & SPARSES:
        return added_to_dense(self, compressed_to_coo(other), alpha)
    if other.__class__ not in TENSOR_TYPES or not other._keys & SPARSES:
        check(other.__class__ in TENSOR_TYPES and other.shape == self.shape, lambda: "add: expected 'self' and 'other' "
              f"to have same size, but self has size {list(getattr(other, 'shape', []))} while other has size "
              f"{list(self.shape)} (FYI: op2-sparse addition does not currently support broadcasting)")
        return added_to_dense(other, compressed_to_coo(self), alpha)  # as in PyTorch, which swaps the two
    check(self.shape == other.shape, lambda: f"torch.add: Expected input tensors to have the same shape, but got "
          f"tensor `self` with shape {list(self.shape)} and tensor `other` with shape {list(other.shape)}")
    if self.is_sparse:
        return add(self, other, alpha)
    return like(add(compressed_to_coo(self), other, alpha), self)


@coo("sub.Tensor")
def sub(self: Any, other: Any, alpha: Any = 1) -> Tensor:
    """Subtract a sparse tensor (``torch.sub``)."""
    check(self._keys & SPARSES == 0 or (other.__class__ in TENSOR_TYPES and other._keys & SPARSES != 0),
          "sub(sparse, dense) is not supported. Use sub(dense, sparse) instead.")
    return add(self, other, -alpha)
