"""Meta kernels of indexing. Operators that write are checked here in their in-place form; the others are made of it."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ...._base.about import about
from ...._base.errors import NAMES, check, check_fill, check_number, check_takes
from ...._base.layout import (
    Ints, Spec, broadcast_shapes, contiguous_strides, expand_strides, iterator_strides, view_strides, wrap_dim,
)
from ...._dtype import bool_, int32, int64, uint8
from ...common.overlap import check_disjoint, check_separate, check_writable, deprecated_on, repeats, with_overlap
from . import META_KERNELS

Check = Callable[..., None]


# -- index and index_put -----------------------------------------------------------------------------------------------

def entries_of(self: Any, indices: Any) -> list[Any]:
    """For each dimension that ``indices`` speaks of the (shape, stride) of its index, or None for all of it; a mask
    speaks of as many dimensions as it has, and is counted.

    Raises:
        IndexError: for a dtype that cannot index, a mask of the wrong shape, too many indices.
    """
    entries: list[Any] = []
    for index in indices:
        if index is None:
            entries.append(None)
            continue
        dtype = index._dtype
        if dtype not in (int64, int32, uint8, bool_):
            raise about(IndexError("tensors used as indices must be long, int, byte or bool tensors"),
                        "index type", index=index)
        if dtype not in (uint8, bool_):
            entries.append((tuple(index.shape), index._strides()))
            continue
        if dtype is uint8:
            warnings.warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.",
                          stacklevel=2)
        first = len(entries)
        for d, size in enumerate(index.shape):
            if first + d >= self.dim() or self.shape[first + d] != size:
                raise about(IndexError(f"The shape of the mask {list(index.shape)} at index {d} does not match the "
                                       f"shape of the indexed tensor {list(self.shape)} at index {first + d}"),
                            "mask shape", mask=index.shape, at=d, dim=first + d)
        count = int((index._host("index") != 0).sum())
        entries.extend([((count,), (max(index.dim(), 1),))] * index.dim())
    check(len(entries) <= self.dim(),
          lambda: about(IndexError(f"too many indices for tensor of dimension {self.dim()} (got {len(entries)})"),
                        "too many indices", given=len(entries)))
    return entries


def common_shape(entries: list[Any]) -> Ints:
    """The shape that the indices broadcast to."""
    shapes = [entry[0] for entry in entries if entry is not None]
    try:
        return broadcast_shapes(*shapes)
    except RuntimeError as error:
        raise about(IndexError("shape mismatch: indexing tensors could not be broadcast together with shapes "
                         + ", ".join(str(list(shape)) for shape in shapes)),
                    "index shapes", shapes=[tuple(shape) for shape in shapes]) from error


def indexed(self: Any, indices: Any) -> tuple[Ints, list[tuple[Ints, Ints]]]:
    """The shape of ``self[indices]``, and the layouts that its strides come from: ``self`` with stride 0 where it is
    indexed, and the indices. Indexed dimensions that are not adjacent go to the front.
    """
    entries = entries_of(self, indices)
    found = common_shape(entries)
    shape, stride = list(self.shape), list(self._strides())
    entries += [None] * (len(shape) - len(entries))
    at = [d for d, entry in enumerate(entries) if entry is not None]
    for d in at:
        if not shape[d] and 0 not in found:
            raise IndexError(f"index is out of bounds for dimension with size {shape[d]}")
    before = at[0] if at and at[-1] - at[0] == len(at) - 1 else 0
    rest = [d for d in range(len(shape)) if d not in at]
    front, back = rest[:before], rest[before:]
    result = (*(shape[d] for d in front), *found, *(shape[d] for d in back))
    source = (*(stride[d] for d in front), *(0 for _ in found), *(stride[d] for d in back))
    layouts = [(result, source)]
    for entry in entries:
        if entry is not None:
            steps = expand_strides(entry[0], entry[1], found)
            alone = (*(1 for _ in front), *found, *(1 for _ in back))
            layouts.append((alone, view_strides(found, steps, alone) or contiguous_strides(alone)))
    return result, layouts


def index(self: Any, indices: Any) -> Spec:
    shape, layouts = indexed(self, indices)
    return Spec(shape, self._dtype, iterator_strides(shape, tuple(layouts)))


def fills_mask(self: Any, indices: Any, values: Any) -> bool:
    """Whether one mask chooses where to put one number: PyTorch then calls ``masked_fill_``."""
    tensors = [index for index in indices if index is not None]
    if values.numel() != 1 or values.is_meta or len(tensors) != 1:
        return False
    return tensors[0]._dtype in (bool_, uint8)


def index_put_(self: Any, indices: Any, values: Any, accumulate: bool = False) -> None:
    if not accumulate and fills_mask(self, indices, values):
        entries_of(self, indices)
        check(all(index is None or index._dtype is bool_ for index in indices),
              "masked_fill_ only supports boolean masks, but got mask with dtype unsigned char", kind="mask dtype")
        return
    if any(i is not None and i.is_meta and i._dtype in (uint8, bool_) for i in indices):
        return  # how many elements a mask chooses is not known
    shape, _ = indexed(self, indices)
    given = tuple(values.shape)
    fits = all(n in (1, m) for n, m in zip(given[::-1], shape[::-1], strict=False))
    check(fits and len(given) <= len(shape), lambda: f"shape mismatch: value tensor of shape {list(given)} cannot be "
          f"broadcast to indexing result of shape {list(shape)}")
    check(self._dtype is values._dtype,
          lambda: f"Index put requires the source and destination dtypes match, got {NAMES[self._dtype.name]} for the "
                  f"destination and {NAMES[values._dtype.name]} for the source.", kind="assigned dtype")


# -- one dimension by a vector of indices ------------------------------------------------------------------------------

def index_select(self: Any, dim: int, index: Any) -> Spec:
    check(index.dim() <= 1, "index_select(): Index is supposed to be a vector", IndexError)
    wrap_dim(dim, self.dim())
    check(self.dim() or index.numel() == 1,
          lambda: f"index_select(): Index to scalar can have only 1 value, got {index.numel()} value(s)")
    dim = wrap_dim(dim, self.dim())
    check(index._dtype in (int32, int64), "index_select(): Expected dtype int32 or int64 for index", kind="index dtype")
    shape = tuple(self.shape)
    return Spec((*shape[:dim], index.numel(), *shape[dim + 1:]) if shape else (), self._dtype)


def index_add_like(name: str) -> Check:
    """The check of ``index_add_`` and ``index_reduce_``."""

    def row(self: Any, dim: int, index: Any, source: Any, *rest: Any) -> None:
        dim = wrap_dim(dim, self.dim())
        check(index.dim() <= 1, lambda: f"{name}(): Index is supposed to be a vector, but got dim: {index.dim()} with "
              f"type: {NAMES[index._dtype.name]} and size: {list(index.shape)}", IndexError)
        check(index._dtype in (int32, int64), lambda: f"{name}(): Expected dtype int32/int64 for index but got: "
              f"{NAMES[index._dtype.name]}", kind="index dtype")
        check(self._dtype is source._dtype, lambda: f"{name}(): self ({NAMES[self._dtype.name]}) and source "
              f"({NAMES[source._dtype.name]}) must have the same scalar type")
        check(dim == 0 or dim < source.dim(),
              lambda: f"{name}(): Indexing dim {dim} is out of bounds of the source tensor with dim {source.dim()}")
        check(source.dim() or not self.dim(),
              lambda: f"Dimension specified as {dim} but tensor has no dimensions", IndexError)
        count = source.shape[dim] if source.dim() else 1
        check(source.dim() or index.numel() == count, lambda: f"Dimension specified as {dim} but tensor has no "
              "dimensions", IndexError)  # PyTorch asks for the dimension's size in order to name it
        check(index.numel() == count, lambda: f"{name}(): Number of indices ({index.numel()}) should be equal to "
              f"source.size(dim): ({count}), for dim: {dim}")
        if source.dim():
            ours, given = list(self.shape), list(source.shape)
            check(bool(ours) and ours[:dim] + ours[dim + 1:] == given[:dim] + given[dim + 1:],
                  lambda: "source tensor shape must match self tensor shape, excluding the specified dimension. Got "
                          f"self.shape = {ours} source.shape = {given}")

    return row


def index_add_(self: Any, dim: int, index: Any, source: Any, alpha: Any = 1) -> None:
    index_add_like("index_add_")(self, dim, index, source)
    check_number(self._dtype, alpha)


def index_reduce_(self: Any, dim: int, index: Any, source: Any, reduce: str, include_self: bool = True) -> None:
    check(reduce in ("prod", "mean", "amax", "amin"),
          lambda: f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    index_add_like("index_reduce_")(self, dim, index, source)


def index_copy_(self: Any, dim: int, index: Any, source: Any) -> None:
    dim = wrap_dim(dim, self.dim())
    check(index.dim() < 2, lambda: f"index_copy_(): Index should have dimension 1 or 0 (got {index.dim()})", IndexError)
    check(source.dim() or index.numel() == 1, lambda: "index_copy_(): When source is scalar, index should have one "
          f"element (got {index.numel()})", IndexError)
    check(source.dim() == self.dim() or not source.dim() or not self.dim(),
          lambda: "index_copy_(): When source and destination are not scalars, their dimensionality must match. "
                  f"Source dimensionality ({source.dim()}), destination dimensionality ({self.dim()})", IndexError)
    check(index._dtype is int64, lambda: "index_copy_(): Expected a long tensor for index, but got "
          f"{NAMES[index._dtype.name]}", kind="index dtype")
    check(self._dtype is source._dtype, lambda: "index_copy_(): self and source expected to have the same dtype, but "
          f"got (self) {NAMES[self._dtype.name]} and (source) {NAMES[source._dtype.name]}")
    ours, given = ([n for d, n in enumerate(t.shape) if d != dim] for t in (self, source))
    check(ours == given, lambda: "index_copy_(): Source/destination tensor must have same slice shapes. Destination "
          f"slice shape: {ours} at dimension {dim} and source slice shape: {given} at dimension 0.")
    count = source.shape[dim] if source.dim() else 1
    check(index.numel() == count, lambda: f"index_copy_(): Number of indices ({index.numel()}) should be equal to "
          f"source.size(dim) ({count})", IndexError)


def fill_(self: Any, value: Any) -> None:
    check_fill(self._dtype, value, self.numel())


def index_fill_scalar_(self: Any, dim: int, index: Any, value: Any) -> None:
    check(index._dtype is int64, "index_fill_(): Expected dtype int64 for index.", IndexError)
    check(self._dtype.is_complex or not isinstance(value, complex),
          "index_fill_(): Converting complex Scalar to non-complex type is not supported")
    wrap_dim(dim, self.dim())
    check(index.dim() <= 1, "Index has to be a vector/scalar")
    check_number(self._dtype, value)


def index_fill_tensor_(self: Any, dim: int, index: Any, value: Any) -> None:
    check(not value.dim(), lambda: "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
          f"{value.dim()} dimension(s).")
    index_fill_scalar_(self, dim, index, 0j if value._dtype.is_complex else 0)


# -- gather and scatter ------------------------------------------------------------------------------------------------

def sizes(tensor: Any) -> Ints:
    """A shape in which a tensor without dimensions has one."""
    return tuple(tensor.shape) or (1,)


def gather(self: Any, dim: int, index: Any, sparse_grad: bool = False) -> Spec:
    dim = wrap_dim(dim, self.dim())
    if index.numel():
        check(index._dtype in (int32, int64), "gather(): Expected dtype int32/int64 for index", kind="index dtype")
        have, wanted = sizes(self), sizes(index)
        check(len(have) == len(wanted),
              "Index tensor must have the same number of dimensions as input tensor", kind="gather dimensions")
        check(all(n <= m for d, (n, m) in enumerate(zip(wanted, have, strict=True)) if d != dim),
              lambda: f"Size does not match at dimension {dim} expected index {list(index.shape)} to be no larger than "
                      f"self {list(self.shape)} apart from dimension {dim}")
    return Spec(tuple(index.shape), self._dtype)


def check_scatter(self: Any, dim: int, index: Any, src: Any = None) -> None:
    """What all forms of ``scatter`` check; ``src`` is None for a number."""
    dim = wrap_dim(dim, self.dim())
    check(index._dtype in (int32, int64) or not index.numel(),
          "scatter(): Expected dtype int32/int64 for index", kind="index dtype")
    check(src is None or src._dtype is self._dtype,
          "scatter(): Expected self.dtype to be equal to src.dtype", kind="assigned dtype")
    if not index.numel():
        return
    have, wanted = sizes(self), sizes(index)
    check(len(have) == len(wanted),
          "Index tensor must have the same number of dimensions as self tensor", kind="gather dimensions")
    fits = all(n <= m for d, (n, m) in enumerate(zip(wanted, have, strict=True)) if d != dim)

    def too_large() -> str:
        return (f"Expected index {list(index.shape)} to be no larger than self {list(self.shape)} "
                f"apart from dimension {dim}")

    if src is None:
        return check(fits, too_large)
    given = sizes(src)
    for d in range(len(wanted) if fits and src.dim() else 0):
        if wanted[d] > src.size(d):  # which has to be a dimension
            break
    check(len(given) == len(wanted),
          "Index tensor must have the same number of dimensions as src tensor", kind="gather dimensions")
    check(fits and all(n <= m for n, m in zip(wanted, given, strict=True)),
          lambda: f"{too_large()} and to be no larger size than src {list(src.shape)}")


def scatter_value_(self: Any, dim: int, index: Any, value: Any) -> None:
    check_scatter(self, dim, index)
    if index.numel():
        check_number(self._dtype, value)


def check_reduce(reduce: str) -> None:
    check(reduce in ("add", "multiply"), "reduce argument must be either add or multiply.")


def scatter_reduce_old_(self: Any, dim: int, index: Any, src: Any, reduce: str) -> None:
    warnings.warn("The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in a future "
                  "PyTorch release. Use torch.scatter_reduce instead for more reduction options.", stacklevel=2)
    check_scatter(self, dim, index, src)
    check_reduce(reduce)


def scatter_value_reduce_(self: Any, dim: int, index: Any, value: Any, reduce: str) -> None:
    check_scatter(self, dim, index)
    check_reduce(reduce)
    if index.numel():
        check_number(self._dtype, value)


def scatter_reduce_(self: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool = True) -> None:
    check_scatter(self, dim, index, src)
    check(reduce in ("sum", "prod", "mean", "amax", "amin"),
          lambda: f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    refused = (reduce == "mean" and self._dtype is bool_) or (reduce[0] == "a" and self._dtype.is_complex)
    check_takes(not refused or not index.numel(), f"scatter_gather_tensor_cpu_reduce_{reduce}", self._dtype)


# -- flat positions and masks ------------------------------------------------------------------------------------------

def take(self: Any, index: Any) -> Spec:
    check(index._dtype is int64,
          lambda: f"take(): Expected a long tensor for index, but got {NAMES[index._dtype.name]}", kind="index dtype")
    check(self.numel() or not index.numel(), "take(): tried to take from an empty tensor", IndexError)
    return Spec(tuple(index.shape), self._dtype)


def put_(self: Any, index: Any, source: Any, accumulate: bool = False) -> None:
    check(index._dtype is int64,
          lambda: f"put_(): Expected a long tensor for index, but got {NAMES[index._dtype.name]}", kind="index dtype")
    check(self._dtype is source._dtype, lambda: "put_(): self and source expected to have the same dtype, but got "
          f"self.dtype = {NAMES[self._dtype.name]} and source.dtype = {NAMES[source._dtype.name]}")
    check(source.numel() == index.numel(), lambda: "put_(): Expected source and index to have the same number of "
          f"elements, but got source.numel() = {source.numel()}, index.numel() = {index.numel()}", IndexError)
    check(self.numel() or not index.numel(), "put_(): Tried to put elements into an empty tensor", IndexError)


def masked_select(self: Any, mask: Any) -> Spec:
    check(mask._dtype is bool_, "masked_select: expected BoolTensor for mask")
    broadcast_shapes(mask.shape, self.shape)
    return Spec(None, self._dtype)


def masked_scatter_(self: Any, mask: Any, source: Any) -> None:
    check(self._dtype is source._dtype, lambda: "masked_scatter: expected self and source to have same dtypes but "
          f"got{NAMES[self._dtype.name]} and {NAMES[source._dtype.name]}")
    if mask.shape != self.shape:
        mask.expand(self.shape)
    check(mask._dtype is bool_,
          lambda: f"masked_scatter_ only supports boolean masks, but got mask with dtype {NAMES[mask._dtype.name]}")


def fill_tensor_(self: Any, value: Any) -> None:
    check(not value.dim(),
          lambda: f"fill_ only supports 0-dimension value tensor but got tensor with {value.dim()} dimensions.")


warn_of_index_put = deprecated_on("index_put_", "indices")


def index_put_memory(self: Any, inputs: Any) -> None:
    """Elements may be written several times, but not be read meanwhile."""
    indices, values, *accumulate = inputs
    if accumulate != [True]:
        warn_of_index_put(self, inputs)
    if accumulate == [True] or not fills_mask(self, indices, values):
        check_disjoint(self, [values, *(index for index in indices if index is not None)])


def target_only(self: Any, inputs: Any) -> None:
    """The value is read before the first element is written."""
    check_writable(self)


META_KERNELS.add(index_select, gather, take, masked_select)
META_KERNELS.update({
    "masked_scatter_": with_overlap(masked_scatter_, target_only),
    "index.Tensor": index,
    "index_put_": with_overlap(index_put_, index_put_memory),
    "index_add_": with_overlap(index_add_, check_separate),
    "index_reduce_": with_overlap(index_reduce_, check_separate),
    "index_copy_": with_overlap(index_copy_, check_separate),
    "index_fill_.int_Scalar": with_overlap(index_fill_scalar_, deprecated_on("index_fill_")),
    "index_fill_.int_Tensor": with_overlap(index_fill_tensor_, deprecated_on("index_fill_")),
    "scatter_.src": with_overlap(check_scatter, check_separate),
    "scatter_.value": with_overlap(scatter_value_, check_separate),
    "scatter_.reduce": with_overlap(scatter_reduce_old_, check_separate),
    "scatter_.value_reduce": with_overlap(scatter_value_reduce_, check_separate),
    "scatter_add_": with_overlap(check_scatter, check_separate),
    "scatter_reduce_.two": with_overlap(scatter_reduce_, check_separate),
    "put_": with_overlap(put_, check_separate),
    "fill_.Scalar": with_overlap(fill_, repeats),
    "fill_.Tensor": with_overlap(fill_tensor_, target_only),
    "zero_": with_overlap(lambda self: None, repeats),
})
