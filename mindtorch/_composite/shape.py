"""Joining, repeating and reordering in terms of views and copies, and the memory under a tensor."""
from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import prod
from typing import Any

from .._base.about import about
from .._base.determinism import filled
from .._base.errors import check, check_takes
from .._base.layout import (
    Ints, channels_last_strides, check_sizes, contiguous_strides, storage_size, suggested_order, wrap_dim,
)
from .._device import CPU
from .._dispatch.aten import (
    _unsafe_view, arange_start_step, atleast_2d, cat, clone, constant_pad_nd, copy_, diagonal as diagonal_view,
    empty_memory_format as empty, expand, flatten_using_ints as flatten, hstack, narrow, repeat as repeat_dims,
    repeat_interleave_Tensor, stack, unsqueeze, view,
)
from .._dispatch.keys import AUTOGRAD
from .._dispatch.local import local
from .._dispatch.schemas import registry
from .._dtype import bool_, int64
from . import COMPOSITES
from .creation import fresh

Row = Callable[..., Any]


# -- joining -----------------------------------------------------------------------------------------------------------

def stack_along(name: str, ndim: int, dim: int) -> Row:
    """``torch.hstack``, ``vstack`` or ``dstack``: joined in ``dim`` after getting at least ``ndim`` dimensions."""
    atleast = registry[f"atleast_{ndim}d"].call

    def row(tensors: list[Any]) -> Any:
        check(tensors, lambda: f"{name} expects a non-empty TensorList")
        wide = [atleast(t) for t in tensors]
        return cat(wide, 0 if wide[0].dim() == 1 else dim)

    return row


def column_stack(tensors: list[Any]) -> Any:
    """``torch.column_stack``: vectors as columns beside matrices."""
    check(tensors, "column_stack expects a non-empty TensorList")
    return hstack([t if t.dim() > 1 else t.reshape(t.numel(), 1) for t in tensors])


def _chunk_cat(tensors: list[Any], dim: int, num_chunks: int) -> Any:
    """Tensors padded with zeros to multiples of ``num_chunks`` in ``dim``, cut into so many chunks, and joined flat."""
    check(tensors, "_chunk_cat expects a non-empty input tensor list")
    check(num_chunks >= 1, "_chunk_cat expects positive num_chunks")
    check(all(t._dtype is tensors[0]._dtype for t in tensors),
          "_chunk_cat expects all input tensors with the same dtype")
    check(all(t.numel() for t in tensors), "_chunk_cat expects non-empty tensor")
    dim = wrap_dim(dim, tensors[0].dim())
    rows = []
    for t in tensors:
        check(t.shape[:dim] == tensors[0].shape[:dim], "_chunk_cat expects same sizes of 0,...,dim-1 dimensions")
        missing = -t.shape[dim] % num_chunks
        after = (0, 0) * (t.dim() - 1 - dim)
        padded = constant_pad_nd(t, (*after, 0, missing)) if missing else t.contiguous()
        rows.append(view(padded, (*t.shape[:dim], num_chunks, -1)))
    return cat(rows, dim + 1)


def block_diag(tensors: list[Any]) -> Any:
    """``torch.block_diag``: matrices along a larger one's diagonal. Raises RuntimeError for more than 2 dimensions."""
    for i, t in enumerate(tensors):
        if t.dim() > 2:
            raise RuntimeError(f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has "
                               f"{t.dim()} dimensions")
    if not tensors:
        return empty((1, 0), None, None, CPU)
    blocks = [atleast_2d(t) for t in tensors]
    dtype = registry["cat"].meta([block.reshape(-1) for block in blocks]).dtype
    out = blocks[0].new_zeros((sum(b.shape[0] for b in blocks), sum(b.shape[1] for b in blocks)), dtype=dtype)
    row = column = 0
    for block in blocks:
        rows, columns = block.shape
        copy_(narrow(narrow(out, 0, row, rows), 1, column, columns), block)
        row, column = row + rows, column + columns
    return fresh(out)


def meshgrid(tensors: list[Any], indexing: str = "ij") -> tuple[Any, ...]:
    """``torch.meshgrid``: each vector expanded over the grid of all.

    Raises:
        RuntimeError: if one has more than one dimension, dtypes or devices differ, or for another indexing.
    """
    check(tensors, "meshgrid expects a non-empty TensorList")
    for t in tensors:
        check(t._dtype is tensors[0]._dtype, "meshgrid expects all tensors to have the same dtype")
        check(t._device == tensors[0]._device, "meshgrid expects all tensors to have the same device")
        if t.dim() > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {list(t.shape)}")
    check(indexing in ("ij", "xy"),
          lambda: f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    places = list(range(len(tensors)))
    if indexing == "xy":
        places[:2] = places[:2][::-1]
    shape = tuple(tensors[place].numel() for place in places)
    return tuple(expand(view(t, tuple(n if d == place else 1 for d, n in enumerate(shape))), shape)
                 for t, place in zip(tensors, places, strict=True))


def cartesian_prod(tensors: list[Any]) -> Any:
    """``torch.cartesian_prod``: all combinations of one element of each vector, as rows."""
    for t in tensors:
        if t.dim() != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return stack([flatten(grid) for grid in meshgrid(tensors)], 1)


def combinations(self: Any, r: int = 2, with_replacement: bool = False) -> Any:
    """``torch.combinations``: ``r`` elements of a vector, as rows. Raises RuntimeError for no vector or ``r`` < 0."""
    check(self.dim() == 1, lambda: f"Expect a 1D vector, but got shape {list(self.shape)}")
    check(r >= 0, lambda: f"Expect a non-negative number, but got {r}")
    if not r:
        return self.new_empty((0,))
    count = self.numel()
    places = meshgrid([arange(self, count)] * r)
    mask = places[0].new_ones((count,) * r, dtype=bool_)
    for one, next_ in pairwise(places):
        mask = mask.logical_and(one <= next_ if with_replacement else one < next_)
    return stack([grid.masked_select(mask) for grid in meshgrid([self] * r)], 1)


def arange(like: Any, *bounds: int) -> Any:
    """A range of integers on a tensor's device."""
    start, end = bounds if len(bounds) == 2 else (0, bounds[0])
    return arange_start_step(start, end, 1, int64, None, like._device)


# -- repeating ---------------------------------------------------------------------------------------------------------

def repeat(self: Any, repeats: Ints) -> Any:
    """``Tensor.repeat``: copies along dimensions, in new memory. Raises RuntimeError for too few or negative counts."""
    extra = len(repeats) - self.dim()
    check(extra >= 0,
          "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor", kind="repeat")
    shape = (*(1,) * extra, *self.shape)
    target = check_sizes(tuple(n * times for n, times in zip(shape, repeats, strict=True)))
    pairs = view(self, tuple(n for size in shape for n in (1, size)))
    wide = expand(pairs, tuple(n for pair in zip(repeats, shape, strict=True) for n in pair))
    return _unsafe_view(clone(wide, "contiguous_format"), target)


def tile(self: Any, dims: Ints) -> Any:
    """``torch.tile``: ``repeat`` with 1 for the leading dimensions that ``dims`` does not have."""
    return repeat_dims(self, (*(1,) * (self.dim() - len(dims)), *dims))


def repeat_interleave_int(self: Any, repeats: int, dim: int | None = None, output_size: int | None = None) -> Any:
    """``torch.repeat_interleave``: each element so many times in a row. Raises RuntimeError for negative repeats."""
    source = flatten(self) if dim is None else self
    dim = wrap_dim(dim or 0, source.dim())
    check(repeats >= 0, "Repeats must be non-negative")
    wide = unsqueeze(source, dim + 1)
    size = source.shape[dim] * repeats
    check(output_size is None or output_size == size,
          lambda: f"repeat_interleave: Invalid output_size, expected {size} but got {output_size}")
    shape = (*source.shape[:dim + 1], repeats, *source.shape[dim + 1:])
    return flatten(clone(expand(wide, shape), "contiguous_format"), dim, dim + 1)


def repeat_interleave_tensor(self: Any, repeats: Any, dim: int | None = None, output_size: int | None = None) -> Any:
    """``torch.repeat_interleave`` by numbers, one for each element or one for all. Raises RuntimeError otherwise."""
    source = flatten(self) if dim is None else self
    check(repeats.dim() <= 1, "repeats must be 0-dim or 1-dim tensor")
    dim = wrap_dim(dim or 0, source.dim())
    size = source.size(dim)
    if not repeats.dim() or repeats.numel() == 1:
        repeats = expand(repeats.reshape(1), (size,))
    check(repeats.numel() == size, lambda: "repeats must have the same size as input along dim, but got "
          f"repeats.size(0) = {repeats.numel()} and input.size({dim}) = {size}")
    return source.index_select(dim, repeat_interleave_Tensor(repeats, output_size))


# -- reversing and rotating --------------------------------------------------------------------------------------------

def roll(self: Any, shifts: Ints, dims: Ints = ()) -> Any:
    """``torch.roll``: what leaves a dimension's end comes in in front. Raises RuntimeError unless each has a shift."""
    check(len(shifts), "`shifts` required")
    if not dims and len(shifts) == 1:
        flat = view(self.contiguous(), (-1,))
        return _unsafe_view(roll(flat, shifts, (0,)), self.shape)
    check(len(shifts) == len(dims),
          lambda: f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    if not self.numel():
        return clone(self)
    for shift, dim in zip(shifts, dims, strict=True):
        if not self.dim():
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        size = self.size(dim)
        if self.numel():
            start = -shift % size
            self = cat([narrow(self, dim, start, size - start), narrow(self, dim, 0, start)], dim)
        else:
            self = clone(self)
    return self


def rot90(self: Any, k: int = 1, dims: Ints = (0, 1)) -> Any:
    """``torch.rot90``: ``k`` turns by 90 degrees. Raises RuntimeError unless ``dims`` are two different dimensions."""
    ndim = self.dim()
    check(len(dims) == 2, lambda: f"expected total rotation dims == 2, but got dims = {len(dims)}")
    check(ndim >= 2, lambda: f"expected total dims >= 2, but got total dims = {ndim}")
    first, second = (wrap_dim(dim, ndim) for dim in dims)
    check(first != second,
          lambda: f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    turns = k % 4
    if turns == 0:
        return clone(self, "contiguous_format")
    if turns == 2:
        return self.flip(dims)
    return fresh(self.flip(second if turns == 1 else first).transpose_(first, second))


def flip_dim(name: str, ndim: int, dim: int) -> Row:
    """``torch.fliplr`` or ``flipud``."""

    def row(self: Any) -> Any:
        check(self.dim() >= ndim, lambda: f"Input must be >= {ndim}-d.")
        return self.flip(dim)

    return row


# -- diagonals ---------------------------------------------------------------------------------------------------------

def diag(self: Any, diagonal: int = 0) -> Any:
    """``torch.diag``: a matrix with this diagonal, or the diagonal of a matrix."""
    check(self.dim() in (1, 2), lambda: f"diag(): Supports 1D or 2D tensors. Got {self.dim()}D")
    return registry["diag_embed" if self.dim() == 1 else "diagonal_copy"].call(self, diagonal)


def diag_embed(self: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """``torch.diag_embed``: the last dimension as diagonals. Raises RuntimeError if the two dimensions are the same."""
    ndim = self.dim() + 1
    first, second = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    check(first != second, lambda: f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    check(self.dim(), lambda: about(IndexError("Dimension out of range (expected to be in range of [-1, 0], but got "
                                               "-2)"), "dimension", low=-1, high=0, given=-2))
    size = self.shape[-1] + abs(offset)
    rest = iter(self.shape)
    out = self.new_zeros(tuple(size if d in (first, second) else next(rest) for d in range(ndim)))
    copy_(diagonal_view(out, offset, first, second), self)
    return fresh(out)


def trace(self: Any) -> Any:
    """``torch.trace``: the sum of the diagonal. Raises RuntimeError unless the tensor is a matrix."""
    check_takes(self._dtype is not bool_, "trace", self._dtype)
    check(self.dim() == 2, lambda: f"trace: expected a matrix, but got tensor with dim {self.dim()}")
    return self.diagonal().sum()


def fill_diagonal_(self: Any, fill_value: Any, wrap: bool = False) -> Any:
    """``Tensor.fill_diagonal_``: a number on the main diagonal; with ``wrap`` that of a high matrix begins again.

    Raises:
        RuntimeError: for less than two dimensions, or more of different sizes.
    """
    check(self.dim() >= 2, "dimensions must larger than 1")
    height, width = self.shape[:2]
    check(self.dim() == 2 or len(set(self.shape)) == 1, "all dimensions of input must be of equal length")
    size, step = min(self.shape), sum(self._strides())
    self.as_strided((size,), (step,)).fill_(fill_value)
    if wrap and self.dim() == 2 and height > width + 1:
        again = -(-self.numel() // (width + 1)) - size
        self.as_strided((again,), (step,), self._offset + (width + 1) * self._strides()[0]).fill_(fill_value)
    return self


# -- memory ------------------------------------------------------------------------------------------------------------

def resize_(self: Any, size: Ints, memory_format: Any = None) -> Any:
    """``Tensor.resize_``: another shape, contiguous, in the same storage, which grows if it has to.

    Raises:
        RuntimeError: for a tensor that requires grad, a storage whose memory belongs to another library, or a shape
            that cannot be.
    """
    check(local.inference or not self._keys & AUTOGRAD, "cannot resize variables that require grad")
    size = tuple(size)
    check(min(size, default=0) >= 0 and prod(size) < 2**63, "numel: integer multiplication overflow")
    check(prod(max(n, 1) for n in size) < 2**63, "Stride calculation overflowed")
    check(self.is_meta or prod(size) * self._dtype.itemsize < 2**63,
          lambda: f"Storage size calculation overflowed with sizes={list(size)}")
    name = getattr(memory_format, "name", memory_format)
    check(name != "preserve_format", "Unsupported memory format preserve_format")
    rank = {"channels_last": 4, "channels_last_3d": 5}.get(name)
    check(rank in (None, len(size)), lambda: f"required rank {rank} tensor to use {name} format")
    if self.shape != size or rank is not None:
        storage = self.untyped_storage()
        stride = contiguous_strides(size) if rank is None else channels_last_strides(size)
        needed = storage_size(size, stride, self._offset) * self._dtype.itemsize
        before = storage.nbytes()
        if needed > before:
            storage.resize_(needed)
        self._set_layout(None, size, stride, self._offset)
        if needed > before:
            filled(self, before // self._dtype.itemsize)
        self._bump()
    return self


def resize_as_(self: Any, the_template: Any, memory_format: Any = None) -> Any:
    """``Tensor.resize_as_``: the shape of another tensor."""
    if getattr(memory_format, "name", memory_format) == "preserve_format":
        order = suggested_order(tuple(the_template.shape), the_template._strides())
        memory_format = None if order is None else {4: "channels_last", 5: "channels_last_3d"}[len(order)]
    return resize_(self, tuple(the_template.shape), memory_format)


COMPOSITES.add(column_stack, _chunk_cat, block_diag, cartesian_prod, combinations, roll, rot90, repeat, tile, diag,
               diag_embed, trace, fill_diagonal_, resize_, resize_as_)
COMPOSITES.update({
    **dict.fromkeys(("concat", "concatenate"), cat),
    "hstack": stack_along("hstack", 1, 1),
    "vstack": stack_along("vstack", 2, 0),
    "row_stack": stack_along("vstack", 2, 0),
    "dstack": stack_along("dstack", 3, 2),
    "meshgrid.indexing": meshgrid,
    "fliplr": flip_dim("fliplr", 2, 1),
    "flipud": flip_dim("flipud", 1, 0),
    "repeat_interleave.self_int": repeat_interleave_int,
    "repeat_interleave.self_Tensor": repeat_interleave_tensor,
    "diagflat": lambda self, offset=0: diag(view(self.contiguous(), (-1,)), offset),
})
