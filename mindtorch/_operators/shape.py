"""Joining, repeating, reversing and padding tensors; triangles and diagonals; the memory under a tensor."""
from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from itertools import pairwise
from math import prod
from typing import Any

from .._backends.common.overlap import repeats, with_overlap
from .._base.about import about
from .._base.determinism import filled as filled_if_deterministic
from .._base.errors import check, check_takes
from .._base.layout import (
    Ints, Spec, channels_last_strides, check_sizes, contiguous_strides, like_strides, storage_size, suggested_order,
    suggested_strides, view_strides, wrap_dim, wrap_dims,
)
from .._device import CPU
from .._dispatch.aten import (
    _unsafe_view, arange_start_step, atleast_2d, cat, clone, constant_pad_nd, copy_, diagonal as diagonal_view,
    diagonal_backward, empty_memory_format as empty, expand, flatten_using_ints as flatten, hstack, narrow,
    repeat as repeat_dims, repeat_interleave_Tensor, reshape, select_int as select, stack, unsqueeze, view,
)
from .._dispatch.keys import AUTOGRAD
from .._dispatch.local import local
from .._dispatch.registry import Operator
from .._dispatch.schemas import registry
from .._dtype import DType, bool_, int32, int64, promote_types
from .._tensor import Tensor
from .._transforms.batching.frames import Frame, filled, lowered
from .._transforms.batching.rules import along_dimensions, as_it_is, by_element, composed, shifted, with_defaults
from . import composites, operator, schemas
from .creation import fresh

Row = Callable[..., Any]

schemas("""
function, out, no overlap, TypeError:
    cat(Tensor[] tensors, int dim=0) -> Tensor  # The `tensors` joined along their dimension `dim`.
    stack(Tensor[] tensors, int dim=0) -> Tensor  # The `tensors`, all of one shape, joined along a new dimension `dim`.
operator only:
    block_diag(Tensor[] tensors) -> Tensor  # The matrix with the `tensors` as blocks along its diagonal and zeros elsewhere.
""")  # noqa: E501

Layout = tuple[Ints, Ints]


def joined(layouts: list[Layout], dim: int, dtype: DType) -> Spec:
    """Return ``cat``'s specification, an empty vector joining any; RuntimeError unless they fit but for ``dim``."""
    for i, (shape, _) in enumerate(layouts):
        if not shape:
            raise about(RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated"),
                        "numbers to join")
    kept = [(i, shape) for i, (shape, _) in enumerate(layouts) if shape != (0,)]
    if not kept:
        return Spec((0,), dtype)
    first, total = kept[0][1], 0
    dim = wrap_dim(dim, len(first))
    for i, shape in kept:
        if len(shape) != len(first):
            raise about(RuntimeError(f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}"),
                        "cat dimensions")
        for d, (wanted, size) in enumerate(zip(first, shape, strict=True)):
            if d != dim and wanted != size:
                raise about(RuntimeError(f"Sizes of tensors must match except in dimension {dim}. Expected size "
                                         f"{wanted} but got size {size} for tensor number {i} in the list."),
                            "cat shapes", dim=dim, wanted=wanted, got=size, number=i)
        total += shape[dim]
    out = (*first[:dim], total, *first[dim + 1:])
    orders = {suggested_order(*layout) for layout in layouts}
    return Spec(out, dtype, suggested_strides(out, orders.pop()) if len(orders) == 1 else None)


def common_dtype(tensors: Any) -> DType:
    dtypes: list[DType] = [t._dtype for t in tensors]
    return reduce(promote_types, dtypes)


def meta_cat(tensors: Any, dim: int = 0) -> Spec:
    check(tensors, "torch.cat(): expected a non-empty list of Tensors", ValueError, kind="nothing to join")
    return joined([(tuple(t.shape), t._strides()) for t in tensors], dim, common_dtype(tensors))


def meta_stack(tensors: Any, dim: int = 0) -> Spec:
    check(tensors, "stack expects a non-empty TensorList")
    shape = tuple(tensors[0].shape)
    dim = wrap_dim(dim, len(shape) + 1)
    for i, t in enumerate(tensors):
        if t.shape != shape:
            raise about(RuntimeError(f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 "
                                     f"and {list(t.shape)} at entry {i}"), "stack shapes", number=i)

    dtype = common_dtype(tensors)
    if dim == len(shape):
        return joined([((*shape, 1), (*t._strides(), 1)) for t in tensors], dim, dtype)
    flat = joined([(shape, t._strides()) for t in tensors], dim, dtype)  # which is then seen with that dimension split
    split = (*shape[:dim], len(tensors), *shape[dim:])
    return Spec(split, dtype, None if flat.stride is None else view_strides(flat.shape or (), flat.stride, split))


def check_blocks(tensors: list[Any]) -> None:
    for i, t in enumerate(tensors):
        if t.dim() > 2:
            raise RuntimeError(f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has "
                               f"{t.dim()} dimensions")


def block_diag(tensors: list[Any]) -> Any:
    """``torch.block_diag``: matrices along a larger one's diagonal. Raises RuntimeError for more than 2 dimensions."""
    check_blocks(tensors)
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


def real_if(grad: Tensor, dtype: Any) -> Any:
    """Return a gradient's real part, for a real input."""
    return grad.real if grad.is_complex() and not dtype.is_complex else grad


def cat_grads(grad: Tensor, tensors_shape: list[Any], tensors_dtype: list[Any], dim: int) -> list[Any]:
    grads, start = [], 0
    for shape, dtype in zip(tensors_shape, tensors_dtype, strict=True):
        if shape == (0,):
            grads.append(grad.new_zeros((0,)))
            continue
        grads.append(real_if(narrow(grad, dim, start, shape[dim]), dtype))
        start += shape[dim]
    return grads


def block_diag_grads(grad: Tensor, tensors_shape: list[Any], tensors_dtype: list[Any]) -> list[Any]:
    grads, row, column = [], 0, 0
    for shape, dtype in zip(tensors_shape, tensors_dtype, strict=True):
        rows, columns = (1, 1, *shape)[-2:]
        block = narrow(narrow(grad, 0, row, rows), 1, column, columns)
        grads.append(real_if(block if shape else reshape(block, shape), dtype))  # a row is summed to a vector later
        row, column = row + rows, column + columns
    return grads


def cat_batch_rule(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """Join tensors: those that are not batched are so first; a vector of nothing joins with any."""
    dim = args[1] if len(args) > 1 else 0
    meta_cat(*args)  # an element, as outside
    tensors = [t for t in args[0] if t.shape != (0,)] or args[0]
    return cat([filled(t, frame) for t in tensors], shifted(dim, tensors[0].ndim))


def decomposed_stack(tensors: Any, dim: int = 0) -> Tensor:
    return cat([t.unsqueeze(dim) for t in tensors], dim)


def decomposed_block_diag(tensors: Any) -> Tensor:
    """Place matrices along the diagonal of one, with zeros beside them."""
    check_blocks(tensors)
    blocks = [t.reshape((1,) * (2 - t.ndim) + tuple(t.shape)) for t in tensors]
    width, before, rows = sum(block.shape[1] for block in blocks), 0, []
    for block in blocks:
        count, columns = block.shape
        after = width - before - columns
        rows.append(cat([block.new_zeros((count, before)), block, block.new_zeros((count, after))], 1))
        before += columns
    return cat(rows, 0)


operator("cat", meta_cat, batching=cat_batch_rule, autocast="cpu promote", tensors=cat_grads)
operator("stack", meta_stack, batching=composed(decomposed_stack), autocast="cpu promote",
         tensors=lambda grad, tensors_dtype, dim:
             [real_if(select(grad, dim, i), dtype) for i, dtype in enumerate(tensors_dtype)])
operator("block_diag", composite=block_diag, batching=composed(decomposed_block_diag), tensors=block_diag_grads)

schemas("""
function, out, no overlap, TypeError:
    concat(Tensor[] tensors, int dim=0) -> Tensor  # The `tensors` joined along their dimension `dim`; another name for `cat`.
    concatenate(Tensor[] tensors, int dim=0) -> Tensor  # The `tensors` joined along their dimension `dim`; another name for `cat`.
    hstack(Tensor[] tensors) -> Tensor  # The `tensors` joined side by side: vectors along their only dimension, others along their second.
    vstack(Tensor[] tensors) -> Tensor  # The `tensors` joined one below the other along the first dimension; vectors are rows.
    row_stack(Tensor[] tensors) -> Tensor  # The `tensors` joined one below the other along the first dimension; another name for `vstack`.
    dstack(Tensor[] tensors) -> Tensor  # The `tensors` joined along the third dimension, which is added where they have none.
    column_stack(Tensor[] tensors) -> Tensor  # The `tensors` joined side by side along the second dimension; vectors are columns.
    _chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor  # Each of the `tensors` padded with zeros and split into `num_chunks` along `dim`, and the chunks flattened and joined.
""")  # noqa: E501


def stack_along(name: str, ndim: int, dim: int) -> Row:
    """``torch.hstack``, ``vstack`` or ``dstack``: joined in ``dim`` after getting at least ``ndim`` dimensions."""
    atleast = registry[f"atleast_{ndim}d"].call

    def row(tensors: list[Any]) -> Any:
        check(tensors, lambda: f"{name} expects a non-empty TensorList")
        wide = [atleast(t) for t in tensors]
        return cat(wide, 0 if wide[0].dim() == 1 else dim)

    return row


def column_stack(tensors: list[Any]) -> Tensor:
    """``torch.column_stack``: vectors as columns beside matrices."""
    check(tensors, "column_stack expects a non-empty TensorList")
    return hstack([t if t.dim() > 1 else t.reshape(t.numel(), 1) for t in tensors])


def _chunk_cat(tensors: list[Any], dim: int, num_chunks: int) -> Tensor:
    """Return tensors padded with zeros to multiples of ``num_chunks`` in ``dim``, cut into so many chunks, and joined
    flat.
    """
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


composites(column_stack, _chunk_cat)
operator("concat concatenate", composite=cat)
operator("hstack", composite=stack_along("hstack", 1, 1))
operator("vstack row_stack", composite=stack_along("vstack", 2, 0))
operator("dstack", composite=stack_along("dstack", 3, 2))

schemas("""
operator only:
    cartesian_prod(Tensor[] tensors) -> Tensor  # All combinations of one element of each of the vectors `tensors`, a row for each.
    meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]  # The coordinates of a grid whose lines along each dimension are at the values of one of `tensors`: a tensor for each dimension.
function:
    combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor  # All choices of `r` elements of the vector `self`, a row for each, of one element more than once only if `with_replacement`.
""")  # noqa: E501


def meshgrid(tensors: list[Any], indexing: str = "ij") -> tuple[Any, ...]:
    """``torch.meshgrid``: vectors over the grid of all; RuntimeError for more dimensions or mixed dtypes."""
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


def combinations(self: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
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


def arange(like: Any, *bounds: int) -> Tensor:
    """Return a range of integers on a tensor's device."""
    start, end = bounds if len(bounds) == 2 else (0, bounds[0])
    return arange_start_step(start, end, 1, int64, None, like._device)


composites(cartesian_prod, combinations)
operator("meshgrid.indexing", composite=meshgrid)

schemas("""
operator only:
    tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor  # The row and column indices of the elements on and below the diagonal `offset` of a matrix of `row` rows and `col` columns.
    triu_indices(int row, int col, int offset=0, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor  # The row and column indices of the elements on and above the diagonal `offset` of a matrix of `row` rows and `col` columns.
function, method:
    flip(Tensor self, int[] dims) -> Tensor  # `self` with the order of its elements reversed along the dimensions `dims`.
    fliplr(Tensor self) -> Tensor  # `self` with the order of its elements reversed along the second dimension, left to right.
    flipud(Tensor self) -> Tensor  # `self` with the order of its elements reversed along the first dimension, top to bottom.
""")  # noqa: E501


def meta_flip(self: Tensor, dims: Ints) -> Spec:
    if dims:
        wrap_dims(dims, self.dim())
    return Spec(tuple(self.shape), self._dtype, like_strides(tuple(self.shape), self._strides()))


def triangle_size(row: int, col: int, offset: int) -> int:
    """Count the elements of a matrix on the diagonal ``offset`` or below it."""
    first = min(row, max(0, -offset))  # the rows before it have none, and from ``full`` on they have all
    full = min(row, max(first, col - 1 - offset))
    return (full - first) * (first + 1 + full + 2 * offset) // 2 + (row - full) * col


def triangle_indices(name: str, count: Callable[[int, int, int], int]) -> Callable[..., Spec]:
    def meta(row: int, col: int, offset: int = 0, dtype: DType | None = None, *options: Any) -> Spec:
        check(row >= 0, lambda: f"row must be non-negative, got{row}")
        check(col >= 0, lambda: f"col must be non-negative, got{col}")
        dtype = dtype or int64
        check_takes(dtype in (int64, int32), name, dtype)
        return Spec((2, count(row, col, offset)), dtype)

    return meta


def flip_dim(name: str, ndim: int, dim: int) -> Row:
    """``torch.fliplr`` or ``flipud``."""

    def row(self: Tensor) -> Any:
        check(self.dim() >= ndim, lambda: f"Input must be >= {ndim}-d.")
        return self.flip(dim)

    return row


operator("tril_indices", triangle_indices("tril_indices", triangle_size))
operator("triu_indices",
         triangle_indices(
             "triu_indices", lambda row, col, offset: row * col - triangle_size(row, col, offset - 1)))
operator("flip", meta_flip, batching=along_dimensions, self=lambda grad, dims: grad.flip(dims))
operator("fliplr", composite=flip_dim("fliplr", 2, 1))
operator("flipud", composite=flip_dim("flipud", 1, 0))

schemas("""
function, method:
    roll(Tensor self, int[1] shifts, int[1] dims=[]) -> Tensor  # `self` with its elements moved by `shifts` along the dimensions `dims`; those that leave at the end come back at the start.
    rot90(Tensor self, int k=1, int[] dims=[0,1]) -> Tensor  # `self` rotated `k` times by 90 degrees in the plane of the dimensions `dims`, from the first towards the second.
    tile(Tensor self, int[] dims) -> Tensor  # `self` copied as often along each dimension as `dims` says, before which ones are put if it is shorter than the shape.
""")  # noqa: E501


def tile(self: Tensor, dims: Ints) -> Tensor:
    """``torch.tile``: ``repeat`` with 1 for the leading dimensions that ``dims`` does not have."""
    return repeat_dims(self, (*(1,) * (self.dim() - len(dims)), *dims))


def roll(self: Tensor, shifts: Ints, dims: Ints = ()) -> Tensor:
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


def roll_batch_rule(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """``roll``, which without dimensions rolls the elements as one line."""
    self, shifts, dims = with_defaults(op, args)
    if dims or not self.ndim:
        return along_dimensions(op, frame, args)
    lines = lowered(self, frame).reshape((frame.size, self.numel()))
    return op.call(lines, shifts, (1,)).reshape((frame.size, *self.shape))


composites(tile)
operator("roll", composite=roll, batching=roll_batch_rule,
         self=lambda grad, shifts, dims: grad.roll(tuple(-n for n in shifts[::-1]), dims[::-1]))
operator("rot90", composite=rot90, self=lambda grad, k, dims: grad.rot90(-k, dims))

schemas("""
function, method:
    repeat_interleave.self_int(Tensor self, int repeats, int? dim=None, *, int? output_size=None) -> Tensor  # `self` with each element along `dim` copied as often as `repeats` says, one copy after the other.
    repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, int? output_size=None) -> Tensor
    diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor  # The matrices, in the dimensions `dim1` and `dim2`, whose diagonals `offset` are the last dimension of `self`, with zeros elsewhere.
function:
    repeat_interleave.Tensor(Tensor repeats, *, int? output_size=None) -> Tensor
""")  # noqa: E501


def meta_repeat_interleave(repeats: Any, output_size: int | None = None) -> Spec:
    check_takes(repeats._dtype in (int32, int64), "repeat_interleave_cpu", repeats._dtype)
    check(repeats.dim() == 1, "repeat_interleave only accept 1D vector as repeat")
    if not repeats.numel() and not repeats.is_meta:
        return Spec((0,), repeats._dtype)
    return Spec(None if output_size is None else (output_size,), repeats._dtype)


def repeat_interleave_int(self: Tensor, repeats: int, dim: int | None = None, output_size: int | None = None) -> Any:
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


def repeat_interleave_tensor(self: Tensor, repeats: Any, dim: int | None = None, output_size: int | None = None) -> Any:
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


operator("repeat_interleave.self_int", composite=repeat_interleave_int)
operator("repeat_interleave.self_Tensor", composite=repeat_interleave_tensor)
operator("repeat_interleave.Tensor", meta_repeat_interleave, differentiable=False)
operator("diag_embed", composite=diag_embed, self=lambda grad, offset, dim1, dim2: grad.diagonal(offset, dim1, dim2))

schemas("""
function, method:
    diagflat(Tensor self, int offset=0) -> Tensor  # The matrix whose diagonal `offset` has the elements of `self`, with zeros elsewhere.
    trace(Tensor self) -> Tensor  # The sum of the elements on the main diagonal of the matrix `self`.
function, method, out, exact dtype, no overlap:
    diag(Tensor self, int diagonal=0) -> Tensor  # The diagonal `diagonal` of the matrix `self`, or of a vector the matrix that has it there.
""")  # noqa: E501


def diag(self: Any, diagonal: int = 0) -> Any:
    """``torch.diag``: a matrix with this diagonal, or the diagonal of a matrix."""
    check(self.dim() in (1, 2), lambda: f"diag(): Supports 1D or 2D tensors. Got {self.dim()}D")
    return registry["diag_embed" if self.dim() == 1 else "diagonal_copy"].call(self, diagonal)


def trace(self: Tensor) -> Tensor:
    """``torch.trace``: the sum of the diagonal. Raises RuntimeError unless the tensor is a matrix."""
    check_takes(self._dtype is not bool_, "trace", self._dtype)
    check(self.dim() == 2, lambda: f"trace: expected a matrix, but got tensor with dim {self.dim()}")
    return self.diagonal().sum()


def trace_grad(grad: Tensor, shape: Any) -> Tensor:
    return diagonal_backward(grad.expand((min(shape),)), shape, 0, 0, 1)


composites(diag)
operator("diagflat", composite=lambda self, offset=0: diag(view(self.contiguous(), (-1,)), offset))
operator("trace", composite=trace, autocast="cpu float32", self=lambda grad, self_shape: trace_grad(grad, self_shape))

schemas("""
function, method:
    resize_as_(Tensor(a!) self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor(a!)  # Gives `self` the shape of `the_template`, on the same storage, which grows if it is too small.
method, explicit:
    resize_(Tensor(a!) self, int[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!)  # Gives `self` the shape `size`, on the same storage, which grows if it is too small.
""")  # noqa: E501


def resize_(self: Tensor, size: Ints, memory_format: Any = None) -> Tensor:
    """``Tensor.resize_``: another shape, contiguous, in the same storage, which grows if it has to. Raises RuntimeError
    for a tensor that requires grad, a storage whose memory belongs to another library, or a shape that cannot be.
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
            filled_if_deterministic(self, before // self._dtype.itemsize)
        self._bump()
    return self


def resize_as_(self: Tensor, the_template: Tensor, memory_format: Any = None) -> Tensor:
    """``Tensor.resize_as_``: the shape of another tensor."""
    if getattr(memory_format, "name", memory_format) == "preserve_format":
        order = suggested_order(tuple(the_template.shape), the_template._strides())
        memory_format = None if order is None else {4: "channels_last", 5: "channels_last_3d"}[len(order)]
    resized: Tensor = registry["resize_"].call(self, tuple(the_template.shape), memory_format)
    return resized


composites(resize_as_, resize_)

schemas("""
method:
    fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)  # Writes `fill_value` on the main diagonal of `self`, which begins again at the bottom of a high matrix if `wrap`.
    repeat(Tensor self, int[] repeats) -> Tensor  # `self` copied as often along each dimension as `repeats` says.
method, explicit:
    set_(Tensor(a!) self) -> Tensor(a!)  # Makes `self` a tensor on the storage of `source`, with its shape and strides or those given.
    set_.source_Tensor(Tensor(a!) self, Tensor source) -> Tensor(a!)
    set_.source_Storage(Tensor(a!) self, Storage source) -> Tensor(a!)
    set_.source_Storage_storage_offset(Tensor(a!) self, Storage source, int storage_offset, int[] size, int[] stride=[]) -> Tensor(a!)
method:
    set_.source_Tensor_storage_offset(Tensor(a!) self, Tensor source, int storage_offset, int[] size, int[] stride=[]) -> Tensor(a!)
""")  # noqa: E501


def repeat(self: Tensor, repeats: Ints) -> Tensor:
    """``Tensor.repeat``: copies along dimensions, in new memory. Raises RuntimeError for too few or negative counts."""
    extra = len(repeats) - self.dim()
    check(extra >= 0,
          "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor", kind="repeat")
    shape = (*(1,) * extra, *self.shape)
    target = check_sizes(tuple(n * times for n, times in zip(shape, repeats, strict=True)))
    pairs = view(self, tuple(n for size in shape for n in (1, size)))
    counts = [max(times, 0) if times.__class__ is int else times for times in repeats]  # -1 of no rows
    wide = expand(pairs, tuple(n for pair in zip(counts, shape, strict=True) for n in pair))
    return _unsafe_view(clone(wide, "contiguous_format"), target)


def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """``Tensor.fill_diagonal_``: with ``wrap``, a high matrix's diagonal begins again; RuntimeError below 2-d."""
    check(self.dim() >= 2, "dimensions must larger than 1")
    height, width = self.shape[:2]
    check(self.dim() == 2 or len(set(self.shape)) == 1, "all dimensions of input must be of equal length")
    size, step = min(self.shape), sum(self._strides())
    self.as_strided((size,), (step,)).fill_(fill_value)
    if wrap and self.dim() == 2 and height > width + 1:
        again = -(-self.numel() // (width + 1)) - size
        self.as_strided((again,), (step,), self._offset + (width + 1) * self._strides()[0]).fill_(fill_value)
    return self


def set_tensor_window(self: Tensor, source: Tensor, storage_offset: int, size: Ints, stride: Ints = ()) -> Tensor:
    """``Tensor.set_``: a layout in the storage of a tensor, counted from that tensor's offset. Raises RuntimeError for
    a source that is not contiguous.
    """
    check(source.is_contiguous(), "passed in tensor to be used as storage must be contiguous")
    made: Tensor = registry["set_.source_Storage_storage_offset"].call(
        self, source.untyped_storage(), source._offset + storage_offset, size, stride)
    return made


def repeat_grad(grad: Tensor, repeats: Any, shape: Any) -> Tensor:
    """Return the sum over all copies."""
    if 0 in repeats:
        return grad.new_zeros(shape)
    extra = len(repeats) - len(shape)
    for _ in range(extra):
        grad = grad.sum(0)
    sizes: list[int] = []
    summed: list[int] = []
    for times, size in zip(repeats[extra:], shape, strict=True):
        if times != 1:
            summed.append(len(sizes))
            sizes.append(times)
        sizes.append(size)
    grad = reshape(grad, tuple(sizes))
    return grad.sum(tuple(summed)) if summed else grad


composites(fill_diagonal_)
operator("set_.source_Tensor_storage_offset", composite=set_tensor_window, batching=by_element)
operator("repeat", composite=repeat, self=lambda grad, self_shape, repeats: repeat_grad(grad, repeats, self_shape))

schemas("""
function, method, in-place, out, exact dtype, no overlap:
    tril(Tensor self, int diagonal=0) -> Tensor  # The elements of the matrices `self` on and below the diagonal `diagonal`, with zeros above.
    triu(Tensor self, int diagonal=0) -> Tensor  # The elements of the matrices `self` on and above the diagonal `diagonal`, with zeros below.
""")  # noqa: E501


def triangle(name: str) -> Callable[..., Spec]:
    def row(self: Tensor, diagonal: int = 0) -> Spec:
        check(self.dim() >= 2, lambda: f"{name}: input tensor must have at least 2 dimensions")
        return Spec(tuple(self.shape), self._dtype)

    return row


def triangle_batch_rule(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    triangle(op.packet)(*args)  # checks the shape of one element
    return as_it_is(op, frame, args)


operator("tril", triangle("tril"), batching=triangle_batch_rule, self=lambda grad, diagonal: grad.tril(diagonal))
operator("tril_", with_overlap(triangle("tril"), repeats))
operator("triu", triangle("triu"), batching=triangle_batch_rule, self=lambda grad, diagonal: grad.triu(diagonal))
operator("triu_", with_overlap(triangle("triu"), repeats))
