"""The inside of a sparse tensor: dense tensors that hold its values and the places of these.

A tensor of the layout ``sparse_coo`` has ``indices`` of shape (sparse dimensions, number of values). A compressed one
has the places where each row (``sparse_csr``, ``sparse_bsr``) or column (``sparse_csc``, ``sparse_bsc``) begins among
the values, and the column or row of each value. Values may be blocks (``sparse_bsr``, ``sparse_bsc``), and may have
dense dimensions, which come last.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .._base.call_site import warn_once
from .._base.formats import LAYOUTS, layout, sparse_coo
from .._base.size import Size
from .._dispatch.keys import BACKENDS, NONCONTIGUOUS, SPARSE, SPARSE_CSR
from . import Tensor, new

CSR, CSC, BSR, BSC = (LAYOUTS[f"sparse_{name}"] for name in ("csr", "csc", "bsr", "bsc"))
COMPRESSED = (CSR, CSC, BSR, BSC)
BY_ROW, BLOCKED = (CSR, BSR), (BSR, BSC)


class Parts(NamedTuple):
    """The dense tensors that a sparse tensor consists of. They have no autograd graph."""

    layout: layout
    indices: Tensor  #: coordinates, or where each row or column begins
    plain: Tensor | None  #: of a compressed tensor: the column or row of each value
    values: Tensor
    coalesced: bool = False  #: of coordinates: whether they are known to be sorted, each of them there once

    @property
    def nnz(self) -> int:
        """The number of values (or of blocks), in one matrix of a batch."""
        return self.indices.shape[1] if self.plain is None else self.plain.shape[-1]

    @property
    def batch_dim(self) -> int:
        """The number of dimensions before the matrix of a compressed tensor."""
        return 0 if self.plain is None else self.indices.ndim - 1

    @property
    def sparse_dim(self) -> int:
        """The number of sparse dimensions."""
        return self.indices.shape[0] if self.plain is None else 2

    @property
    def block_dim(self) -> int:
        """The number of dimensions of a block: 2, or 0 where values are no blocks."""
        return 2 if self.layout in BLOCKED else 0

    @property
    def dense_dim(self) -> int:
        """The number of dense dimensions."""
        return self.values.ndim - self.batch_dim - 1 - self.block_dim

    def named(self) -> list[tuple[str, Tensor]]:
        """Return the tensors by the names of the methods that return them."""
        if self.plain is None:
            return [("indices", self.indices), ("values", self.values)]
        names = ("crow_indices", "col_indices") if self.layout in BY_ROW else ("ccol_indices", "row_indices")
        return [(names[0], self.indices), (names[1], self.plain), ("values", self.values)]

    @property
    def blocksize(self) -> tuple[int, ...]:
        """The shape of a block, () where values are no blocks."""
        start = self.batch_dim + 1
        return tuple(self.values.shape[start:start + self.block_dim])


def sparse_tensor(parts: Parts, shape: Sequence[int]) -> Tensor:
    """Return a sparse tensor of a shape that consists of these parts, which it shares."""
    out, values = new(Tensor), parts.values
    if parts.layout is not sparse_coo:
        warn_once(f"Sparse {parts.layout.name[-3:].upper()} tensor support is in beta state. If you miss a "
                  "functionality in the sparse tensor support, please submit a feature request to "
                  "https://github.com/pytorch/pytorch/issues.", about="compressed")  # the first layout only
    out._sparse, out._shape, out._stride = parts, Size(shape), (0,) * len(shape)
    out._dtype, out._device = values._dtype, values._device
    kind = SPARSE if parts.layout is sparse_coo else SPARSE_CSR
    out._keys = (values._keys | parts.indices._keys) & BACKENDS | kind | NONCONTIGUOUS
    return out


def coo(indices: Tensor, values: Tensor, shape: Sequence[int], coalesced: bool = False) -> Tensor:
    """Return a tensor of the layout ``sparse_coo``; fewer than two values are in order."""
    return sparse_tensor(Parts(sparse_coo, indices, None, values, coalesced or values.shape[0] < 2), shape)


def with_values(tensor: Tensor, values: Tensor) -> Tensor:
    """Return a sparse tensor with other values at the same places."""
    return sparse_tensor(tensor._sparse._replace(values=values), tensor.shape)


def become(tensor: Tensor, other: Tensor) -> Tensor:
    """Give a sparse tensor the parts and the shape of another one."""
    tensor._sparse, tensor._shape, tensor._stride = other._sparse, other._shape, other._stride
    tensor._keys = tensor._keys & ~(SPARSE | SPARSE_CSR) | other._keys & (SPARSE | SPARSE_CSR)
    return tensor
