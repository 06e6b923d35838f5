"""Reading and writing elements by index, by mask, or all of them."""
from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from .._autograd.function import undifferentiable
from .._backends.common.overlap import (
    check_disjoint, check_separate, check_writable, deprecated_on, repeats, with_overlap,
)
from .._base.about import about
from .._base.call_site import warn_once
from .._base.errors import NAMES, check, check_fill, check_number, check_takes
from .._base.layout import (
    Ints, Spec, broadcast_shapes, contiguous_strides, expand_strides, iterator_strides, view_strides, wrap_dim,
)
from .._dispatch.aten import (
    _unsafe_masked_index as unsafe_masked_index,
    _unsafe_masked_index_put_accumulate as unsafe_masked_index_put_accumulate, arange, clone, empty_like, expand,
    fill__Scalar, fill__Tensor, gather, index_add, index_add_, index_fill_int_Scalar, index_put, index_put_,
    index_reduce, index_select, index_select_backward, index_Tensor, masked_scatter_, masked_scatter_backward,
    new_zeros, ones_like, put, reshape, scatter_add, scatter_add_, scatter_reduce_two, scatter_value, take,
    where_self as where, zeros as zeros_of, zeros_like,
)
from .._dispatch.dispatcher import is_seen
from .._dispatch.keys import BATCHED
from .._dispatch.local import local
from .._dispatch.registry import Operator
from .._dispatch.schemas import registry
from .._dtype import bool_, int32, int64, uint8
from .._tensor import Tensor
from .._transforms.batching.frames import Frame, filled, is_batched, lowered
from .._transforms.batching.rules import (
    aligned, along_dimensions, as_it_is, composed, each_element, filled_like, is_tensor, shifted,
)
from . import composites, operator, schemas
from .creation import fresh


def sizes(tensor: Tensor) -> Ints:
    """Return a shape in which a tensor without dimensions has one."""
    return tuple(tensor.shape) or (1,)


def check_scatter(self: Tensor, dim: int, index: Tensor, src: Tensor | None = None) -> None:
    """Check the arguments of all forms of ``scatter``; ``src`` is None for a number."""
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


Row = Callable[..., Any]


def written(name: str, memory_format: str) -> Row:
    """Return the operator that applies the in-place one to a copy in a memory format."""
    write = registry[name].call

    def row(self: Tensor, *args: Any) -> Any:
        return fresh(write(clone(self, memory_format), *args))

    return row


def zeros(grad: Tensor, shape: Any) -> Tensor:
    return new_zeros(grad, shape)


schemas("""
operator only:
    index.Tensor(Tensor self, Tensor?[] indices) -> Tensor  # The elements of `self` at `indices`, one tensor of integers or bools for each leading dimension, or None for all of it.
function, method, in-place:
    index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor  # `self` with `values` written at `indices`, or added there if `accumulate`.
""")  # noqa: E501


def check_mask(self: Tensor, index: Tensor, first: int) -> None:
    """Raise IndexError unless a mask has the sizes of the dimensions of ``self`` from ``first`` on."""
    for d, size in enumerate(index.shape):
        if first + d >= self.dim() or self.shape[first + d] != size:
            raise about(IndexError(f"The shape of the mask {list(index.shape)} at index {d} does not match the "
                                   f"shape of the indexed tensor {list(self.shape)} at index {first + d}"),
                        "mask shape", mask=index.shape, at=d, dim=first + d)


def entries_of(self: Tensor, indices: Any) -> list[Any]:
    """Return for each dimension that is indexed the (shape, stride) of its index, or None for all of it; a mask indexes
    as many dimensions as it has, and is counted. Raises IndexError for a dtype that cannot index, a mask of the wrong
    shape, too many indices.
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
        check_mask(self, index, len(entries))
        count = int((index._host("index") != 0).sum())
        entries.extend([((count,), (max(index.dim(), 1),))] * index.dim())
    check(len(entries) <= self.dim(),
          lambda: about(IndexError(f"too many indices for tensor of dimension {self.dim()} (got {len(entries)})"),
                        "too many indices", given=len(entries)))
    return entries


def common_shape(entries: list[Any]) -> Ints:
    """Return the shape that the indices broadcast to."""
    shapes = [entry[0] for entry in entries if entry is not None]
    try:
        return broadcast_shapes(*shapes)
    except RuntimeError as error:
        raise about(IndexError("shape mismatch: indexing tensors could not be broadcast together with shapes "
                         + ", ".join(str(list(shape)) for shape in shapes)),
                    "index shapes", shapes=[tuple(shape) for shape in shapes]) from error


def indexed(self: Tensor, indices: Any) -> tuple[Ints, list[tuple[Ints, Ints]]]:
    """Return the shape of ``self[indices]`` and the layouts of its strides; separated indices move to the front."""
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


def meta_index(self: Tensor, indices: Any) -> Spec:
    shape, layouts = indexed(self, indices)
    return Spec(shape, self._dtype, iterator_strides(shape, tuple(layouts)))


def fills_mask(self: Tensor, indices: Any, values: Any) -> bool:
    """Return True if one mask chooses where to put one number: PyTorch then calls ``masked_fill_``."""
    tensors = [index for index in indices if index is not None]
    if values.numel() != 1 or values.is_meta or len(tensors) != 1:
        return False
    return tensors[0]._dtype in (bool_, uint8)


def check_written(given: tuple[int, ...], shape: Sequence[int]) -> None:
    fits = all(n in (1, m) for n, m in zip(given[::-1], shape[::-1], strict=False))
    check(fits and len(given) <= len(shape), lambda: f"shape mismatch: value tensor of shape {list(given)} cannot be "
          f"broadcast to indexing result of shape {list(shape)}")


def meta_index_put_(self: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> None:
    if not accumulate and fills_mask(self, indices, values):
        entries_of(self, indices)
        check(all(index is None or index._dtype is bool_ for index in indices),
              "masked_fill_ only supports boolean masks, but got mask with dtype unsigned char", kind="mask dtype")
        return
    if any(i is not None and i.is_meta and i._dtype in (uint8, bool_) for i in indices):
        return  # how many elements a mask chooses is not known
    check_written(tuple(values.shape), indexed(self, indices)[0])
    check(self._dtype is values._dtype,
          lambda: f"Index put requires the source and destination dtypes match, got {NAMES[self._dtype.name]} for the "
                  f"destination and {NAMES[values._dtype.name]} for the source.", kind="assigned dtype")


warn_of_index_put = deprecated_on("index_put_", "indices")


def index_put_memory(self: Tensor, inputs: Any) -> None:
    """Check that no element is read while it is written; it may be written several times."""
    indices, values, *accumulate = inputs
    if accumulate != [True]:
        warn_of_index_put(self, inputs)
    if accumulate == [True] or not fills_mask(self, indices, values):
        check_disjoint(self, [values, *(index for index in indices if index is not None)])


#: What an operator does with one index for all places along other dimensions, where each place has an index.
AT_EACH_PLACE = {"index_select": "gather", "index_add": "scatter_add", "index_copy": "scatter.src",
                 "index_fill.int_Scalar": "scatter.value", "index_fill.int_Tensor": "scatter.value",
                 "index_reduce": "scatter_reduce.two"}


def from_start(index: Any, self: Tensor) -> Any:
    """Return places in one row, the negative ones counted from its end."""
    return index.where(index >= 0, index + self.numel())


class Places:
    """The indices of ``x[i, :, j]``, each with the batch's elements in front, led by one that counts those."""

    def __init__(self, tensor: Tensor, indices: Any, frame: Frame):
        self.named: list[tuple[int, Any]] = []
        position = 0
        for index in indices:
            if index is None:
                position += 1
            elif index._dtype in (uint8, bool_):
                check_mask(tensor, index, position)
                if is_batched(index, frame) and frame.tangents_only:
                    index = lowered(index, frame)[0]
                elif is_batched(index, frame):
                    raise RuntimeError("vmap: We do not support batching operators that can support dynamic shape. "
                                       "Attempting to batch over indexing with a boolean mask.")
                found = index.nonzero().unbind(1)
                self.named += [(position + i, part) for i, part in enumerate(found)]
                position += index.ndim
            else:
                self.named.append((position, index))
                position += 1
        self.shape = broadcast_shapes(*[index.shape for _, index in self.named])
        self.ndim = len(self.shape)
        at = [where for where, _ in self.named]
        self.first = at[0] if at == list(range(at[0], at[-1] + 1)) else 0  # where the dimensions of the indices lie
        count = arange(frame.size, int64, None, tensor._device).reshape((frame.size, *(1,) * self.ndim))
        whole: list[Any] = [None] * (tensor.ndim + 1)
        whole[0] = count
        for position, index in self.named:
            whole[position + 1] = aligned(index, self.ndim, frame)
        self.whole = whole


def index_batch_rule(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """``x[i, :, j]``: with the index that counts the elements, the dimensions of the indices lie in front."""
    self = args[0]
    places = Places(self, args[1], frame)
    result = op.call(filled(self, frame), places.whole)
    before, count = places.first + 1, places.ndim
    return result.permute((0, *range(count + 1, count + before), *range(1, count + 1),
                           *range(count + before, result.ndim)))


def index_put_batch_rule(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """``x[i, :, j] = values``."""
    self, indices, values, *rest = args
    places = Places(self, indices, frame)
    kept = [n for d, n in enumerate(self.shape) if d not in dict(places.named)]
    check_written(tuple(values.shape), (*kept[:places.first], *places.shape, *kept[places.first:]))
    if places.first:  # the dimensions of the indices lie in front there
        before, count = places.first + 1, places.ndim
        whole = filled(values.expand((*kept[:places.first], *places.shape, *kept[places.first:])), frame)
        values = whole.permute((0, *range(before, before + count), *range(1, before),
                                *range(before + count, whole.ndim)))
    else:
        values = aligned(values, places.ndim + len(kept), frame)
    return op.call(filled(self, frame), places.whole, values, *rest)


operator("index.Tensor", meta_index, batching=index_batch_rule,
         self=lambda grad, self_shape, indices:
             (index_put if is_seen(grad) else index_put_)(zeros(grad, self_shape), indices, grad, True))
operator("index_put", composite=written("index_put_", "preserve_format"), batching=index_put_batch_rule,
         autocast="npu promote",
         self=lambda grad, indices, values_shape, accumulate:
             grad if accumulate else
             grad.index_put(indices, zeros_of(values_shape, grad._dtype, None, grad._device), False),
         values=registry["index.Tensor"])
operator("index_put_", with_overlap(meta_index_put_, index_put_memory))

schemas("""
operator only:
    index_select_backward(Tensor grad, int[] self_sizes, int dim, Tensor index) -> Tensor
function, method, out, exact dtype, no overlap:
    index_select(Tensor self, int dim, Tensor index) -> Tensor  # The slices of `self` along `dim` at the positions `index`.
""")  # noqa: E501


def meta_index_select(self: Tensor, dim: int, index: Tensor) -> Spec:
    check(index.dim() <= 1, "index_select(): Index is supposed to be a vector", IndexError)
    wrap_dim(dim, self.dim())
    check(self.dim() or index.numel() == 1,
          lambda: f"index_select(): Index to scalar can have only 1 value, got {index.numel()} value(s)")
    dim = wrap_dim(dim, self.dim())
    check(index._dtype in (int32, int64), "index_select(): Expected dtype int32 or int64 for index", kind="index dtype")
    shape = tuple(self.shape)
    return Spec((*shape[:dim], index.numel(), *shape[dim + 1:]) if shape else (), self._dtype)


def composite_index_select_backward(grad: Tensor, self_sizes: Ints, dim: int, index: Tensor) -> Tensor:
    """Return the gradient of ``index_select``."""
    whole = grad.new_zeros(self_sizes)
    return (index_add if is_seen(grad) else index_add_)(whole, dim, index, grad)


def index_dim_batch_rule(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """Return places along a dimension that a vector names: the same for all elements, or others for each."""
    self, dim, index, *rest = args
    check = registry.meta_rows.get(op.name) or registry.meta_rows[f"{op.packet}_{op.name.removeprefix(op.packet)}"]
    check(*args)  # an element, as outside
    if not self.ndim or (rest and is_batched(rest[0], frame) and rest[0].ndim != self.ndim):
        return each_element(op, frame, args)
    if not is_batched(index, frame):
        source = [filled(a, frame) if is_tensor(a) and a.ndim else a for a in rest]
        return op.call(filled(self, frame), shifted(dim, self.ndim), index, *source)
    dim %= self.ndim
    shape = [index.numel() if d == dim else n for d, n in enumerate(self.shape)]
    places = index.reshape([-1 if d == dim else 1 for d in range(self.ndim)]).expand(shape)
    functional = (op.functional if op.is_inplace else op).name  # type: ignore[union-attr]
    if functional == "index_add" and len(rest) > 1:
        rest = [rest[0] * rest[1]]
    elif functional == "index_fill.int_Tensor":
        rest = [rest[0].item()]
    result = registry[AT_EACH_PLACE[functional]].call(self, dim, places, *rest)
    return self.copy_(result) if op.is_inplace else lowered(filled_like(result, frame), frame)


operator("index_select_backward", composite=composite_index_select_backward)
operator("index_select", meta_index_select, batching=index_dim_batch_rule,
         self=lambda grad, self_shape, dim, index:
             index_select_backward(grad, self_shape, dim, index))

schemas("""
operator only:
    masked_scatter_backward(Tensor grad_output, Tensor mask, int[] sizes) -> Tensor
function, method, in-place:
    masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor  # `self` with its elements where `mask` is true replaced by those of `source`, in order.
function:
    fill.Tensor(Tensor self, Tensor value) -> Tensor  # A tensor with the layout of `self` in which every element is `value`.
    fill.Scalar(Tensor self, Scalar value) -> Tensor
function, method:
    fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)  # Sets every element of `self` to `value`.
    fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)
""")  # noqa: E501


def meta_fill_(self: Tensor, value: Any) -> None:
    check_fill(self._dtype, value, self.numel())


def meta_masked_scatter_(self: Tensor, mask: Tensor, source: Tensor) -> None:
    check(self._dtype is source._dtype, lambda: "masked_scatter: expected self and source to have same dtypes but "
          f"got{NAMES[self._dtype.name]} and {NAMES[source._dtype.name]}")
    if mask.shape != self.shape:
        mask.expand(self.shape)
    check(mask._dtype is bool_,
          lambda: f"masked_scatter_ only supports boolean masks, but got mask with dtype {NAMES[mask._dtype.name]}")


def fill_tensor_(self: Tensor, value: Any) -> None:
    check(not value.dim(),
          lambda: f"fill_ only supports 0-dimension value tensor but got tensor with {value.dim()} dimensions.")


def target_only(self: Tensor, inputs: Any) -> None:
    """Check that the target is writable, and nothing more: the value is read before the first element is written."""
    check_writable(self)


def masked_scatter(self: Any, mask: Tensor, source: Any) -> Any:
    """``torch.masked_scatter``: the mask and this tensor are broadcast."""
    shape = broadcast_shapes(mask.shape, self.shape)
    return fresh(masked_scatter_(clone(expand(self, shape), "contiguous_format"), mask, source))


def composite_masked_scatter_backward(grad_output: Any, mask: Any, sizes: Ints) -> Any:
    """Return the gradient of the source: the elements under the mask, and zeros for unused elements."""
    chosen = grad_output.masked_select(mask)
    out = grad_output.new_zeros(sizes)
    flat = out.view(-1)
    flat.narrow(0, 0, chosen.numel()).copy_(chosen)
    return fresh(out)


def decomposed_masked_scatter(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Write the elements of ``source`` in their order where ``mask`` is true."""
    shape = broadcast_shapes(self.shape, mask.shape)
    self, row = self.expand(shape), mask.expand(shape).reshape(-1)
    order = (row.cumsum(0) - 1).clamp(min=0)
    return source.reshape(-1).gather(0, order.clamp(max=source.numel() - 1)).reshape(self.shape).where(
        row.reshape(self.shape), self)


operator("masked_scatter_backward", composite=composite_masked_scatter_backward,
         grad_output=lambda grad, grad_output_shape, mask:
             zeros(grad, grad_output_shape).masked_scatter(mask, grad))
def masked_scatter_batch_rule(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """Scatter into each element; a source without elements fits a mask that takes none."""
    self, mask, source = args
    if source.numel():
        return composed(decomposed_masked_scatter)(op, frame, args)
    check(not bool(lowered(mask, frame).any()), "Number of elements of source < number of ones in mask")
    return filled(self.expand(broadcast_shapes(self.shape, mask.shape)), frame).clone()


operator("masked_scatter", composite=masked_scatter, batching=masked_scatter_batch_rule,
         self=lambda grad, mask: grad.masked_fill(mask, 0),
         source=lambda grad, mask, source_shape: masked_scatter_backward(grad, mask, source_shape))
operator("masked_scatter_", with_overlap(meta_masked_scatter_, target_only))
operator("fill.Tensor", composite=lambda self, value: fresh(fill__Tensor(empty_like(self), value)),
         node="FillBackward1", self=lambda grad: zeros_like(grad), value=lambda grad: grad.sum())
operator("fill.Scalar", composite=lambda self, value: fresh(fill__Scalar(empty_like(self), value)),
         self=lambda grad: zeros_like(grad))
operator("fill_.Tensor", with_overlap(fill_tensor_, target_only), node="FillBackward3",
         self=lambda grad: zeros_like(grad), value=lambda grad: grad.sum())
operator("fill_.Scalar", with_overlap(meta_fill_, repeats), batching=as_it_is, node="FillBackward2",
         self=lambda grad: zeros_like(grad))

schemas("""
function, method, in-place:
    index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor  # `self` with the slices along `dim` at the positions `index` filled with `value`.
    index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor
    put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor  # `self` with the elements of `source` written, or added if `accumulate`, at the positions `index`, counted as if it had one dimension.
""")  # noqa: E501


def index_fill_scalar_(self: Tensor, dim: int, index: Any, value: Any) -> None:
    check(index._dtype is int64, "index_fill_(): Expected dtype int64 for index.", IndexError)
    check(self._dtype.is_complex or not isinstance(value, complex),
          "index_fill_(): Converting complex Scalar to non-complex type is not supported")
    wrap_dim(dim, self.dim())
    check(index.dim() <= 1, "Index has to be a vector/scalar")
    check_number(self._dtype, value)


def index_fill_tensor_(self: Tensor, dim: int, index: Any, value: Any) -> None:
    check(not value.dim(), lambda: "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
          f"{value.dim()} dimension(s).")
    index_fill_scalar_(self, dim, index, 0j if value._dtype.is_complex else 0)


def meta_put_(self: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> None:
    check(index._dtype is int64,
          lambda: f"put_(): Expected a long tensor for index, but got {NAMES[index._dtype.name]}", kind="index dtype")
    check(self._dtype is source._dtype, lambda: "put_(): self and source expected to have the same dtype, but got "
          f"self.dtype = {NAMES[self._dtype.name]} and source.dtype = {NAMES[source._dtype.name]}")
    check(source.numel() == index.numel(), lambda: "put_(): Expected source and index to have the same number of "
          f"elements, but got source.numel() = {source.numel()}, index.numel() = {index.numel()}", IndexError)
    check(self.numel() or not index.numel(), "put_(): Tried to put elements into an empty tensor", IndexError)


def index_fill_value_grad(grad: Tensor, dim: int, index: Any) -> Tensor:
    filled = zeros_like(grad).to(bool_).index_fill(dim, index, True)
    return grad.masked_fill(filled.logical_not(), 0).sum()


def decomposed_put(self: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """``put``: elements written to places among all, as if they stood in one row."""
    row, at, values = self.reshape(-1), from_start(index, self).reshape(-1), source.reshape(-1)
    return (row.scatter_add(0, at, values) if accumulate else row.scatter(0, at, values)).reshape(self.shape)


operator("index_fill.int_Tensor", composite=written("index_fill_.int_Tensor", "preserve_format"),
         batching=index_dim_batch_rule, node="IndexFillBackward1",
         self=lambda grad, dim, index: index_fill_int_Scalar(grad, dim, index, 0), value=index_fill_value_grad)
operator("index_fill_.int_Tensor", with_overlap(index_fill_tensor_, deprecated_on("index_fill_")))
operator("index_fill.int_Scalar", composite=written("index_fill_.int_Scalar", "preserve_format"),
         batching=index_dim_batch_rule, self=lambda grad, dim, index: index_fill_int_Scalar(grad, dim, index, 0))
operator("index_fill_.int_Scalar", with_overlap(index_fill_scalar_, deprecated_on("index_fill_")))
operator("put", composite=written("put_", "preserve_format"), batching=composed(decomposed_put),
         self=lambda grad, index, source_shape, accumulate:
             grad if accumulate else put(grad, index, zeros(grad, source_shape), False),
         source=lambda grad, index, source_shape: reshape(take(grad, index), source_shape))
operator("put_", with_overlap(meta_put_, check_separate))

schemas("""
function, method, out, exact dtype, no overlap:
    gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor  # The elements of `self` whose position along `dim` is given by `index` and otherwise their own.
    take(Tensor self, Tensor index) -> Tensor  # The elements at the positions `index` of `self`, counted as if it had one dimension.
    take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor  # The elements of `self` at the positions `indices` along `dim`, with the other dimensions broadcast.
""")  # noqa: E501


def meta_gather(self: Tensor, dim: int, index: Tensor, sparse_grad: bool = False) -> Spec:
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


def meta_take(self: Tensor, index: Tensor) -> Spec:
    check(index._dtype is int64,
          lambda: f"take(): Expected a long tensor for index, but got {NAMES[index._dtype.name]}", kind="index dtype")
    check(self.numel() or not index.numel(), "take(): tried to take from an empty tensor", IndexError)
    return Spec(tuple(index.shape), self._dtype)


def take_along_dim(self: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """``torch.take_along_dim``: ``gather``, broadcast but for ``dim``; RuntimeError unless indices are int64."""
    if dim is None:
        return gather(self.view(-1) if self.is_contiguous() else self.reshape(-1), 0, indices.view(-1))
    check(indices._dtype is int64,
          lambda: f"torch.take_along_dim(): dtype of indices should be Long but got {NAMES[indices._dtype.name]}")
    check(self.dim() == indices.dim(), lambda: "torch.take_along_dim(): input and indices should have the same number "
          f"of dimensions, but got {self.dim()} dimensions for input, and {indices.dim()} dimensions for indices")
    size = self.size(dim)  # which checks dim
    dim %= max(self.dim(), 1)

    def but_dim(shape: Ints, n: int) -> Ints:
        return (*shape[:dim], n, *shape[dim + 1:]) if shape else ()

    common = broadcast_shapes(but_dim(tuple(self.shape), indices.size(dim)), tuple(indices.shape))
    wide = broadcast_shapes(but_dim(tuple(indices.shape), size), tuple(self.shape))
    return gather(expand(self, wide), dim, expand(indices, common).remainder(max(size, 1)))


def gather_grad(grad: Tensor, self_shape: Any, dim: int, index: Any) -> Tensor:
    whole = zeros(grad, self_shape)
    return scatter_add(whole, dim, index, grad) if is_seen(grad) else scatter_add_(whole, dim, index, grad)


def zeros_for(self: Tensor, grad: Tensor) -> Tensor:
    """Return zeros like an input, into which its gradient can be written: for a batch, if that is one."""
    if grad._keys & BATCHED:
        return grad.new_zeros(self.shape, dtype=self.dtype)
    return zeros_like(self)


def take_grad(grad: Tensor, self: Tensor, index: Any) -> Tensor:
    whole = zeros_for(self, grad)
    return whole.put(index, grad, True) if is_seen(grad) else whole.put_(index, grad, True)


def decomposed_take(self: Tensor, index: Tensor) -> Tensor:
    """``take``: places among all elements, as if they stood in one row."""
    return self.reshape(-1)[index.reshape(-1)].reshape(index.shape)


composites(take_along_dim)
operator("gather", meta_gather, batching=along_dimensions, self=gather_grad)
operator("take", meta_take, batching=composed(decomposed_take), self=take_grad)

schemas("""
function, method, out, exact dtype, no overlap:
    masked_select(Tensor self, Tensor mask) -> Tensor  # The elements of `self` where `mask` is true, in one dimension.
""")


def meta_masked_select(self: Tensor, mask: Tensor) -> Spec:
    check(mask._dtype is bool_, "masked_select: expected BoolTensor for mask")
    broadcast_shapes(mask.shape, self.shape)
    return Spec(None, self._dtype)


def masked_select_grad(grad: Tensor, self: Tensor, mask: Tensor) -> Tensor:
    shape = broadcast_shapes(self.shape, mask.shape)
    whole = zeros_for(self if self.shape == shape and not is_seen(grad) else expand(self, shape), grad)
    return whole.masked_scatter(mask, grad) if is_seen(grad) else masked_scatter_(whole, mask, grad)


def masked_select_batch_rule(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """Select by one mask for all elements; RuntimeError for masks of their own."""
    self, mask = args
    if is_batched(mask, frame) and frame.tangents_only:
        mask = lowered(mask, frame)[0]
    elif is_batched(mask, frame):
        raise RuntimeError("vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support "
                           "this because for each batch this would return a differently shaped Tensor. Please file an "
                           "issue at https://github.com/pytorch/pytorch/issues if you need this feature.")
    shape = broadcast_shapes(self.shape, mask.shape)
    return filled(self.expand(shape)[mask.expand(shape)], frame)


operator("masked_select", meta_masked_select, batching=masked_select_batch_rule, self=masked_select_grad)

schemas("""
function, method, in-place, out, exact dtype, no overlap:
    index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor  # `self` with the slices along `dim` at the positions `index` replaced by those of `source`.
    index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor  # `self` with the slices of `source`, multiplied by `alpha`, added along `dim` at the positions `index`.
    index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor  # `self` with the slices of `source` combined into it along `dim` at the positions `index`, by the operation `reduce`.
    scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor  # `self` with the elements of `src` combined into it along `dim` at the positions `index`, by the operation `reduce`.
""")  # noqa: E501

Check = Callable[..., None]


def index_add_like(name: str) -> Check:
    """Return the check of ``index_add_`` and ``index_reduce_``."""

    def row(self: Tensor, dim: int, index: Any, source: Any, *rest: Any) -> None:
        dim = wrap_dim(dim, self.dim())
        check(index.dim() <= 1, lambda: f"{name}(): Index is supposed to be a vector, but got dim: {index.dim()} with "
              f"type: {NAMES[index._dtype.name]} and size: {list(index.shape)}", IndexError)
        check(index._dtype in (int32, int64), lambda: f"{name}(): Expected dtype int32/int64 for index but got: "
              f"{NAMES[index._dtype.name]}", kind="index dtype")
        check(self._dtype is source._dtype, lambda: f"{name}(): self ({NAMES[self._dtype.name]}) and source "
              f"({NAMES[source._dtype.name]}) must have the same scalar type")
        check(dim == 0 or dim < source.dim(),
              lambda: f"{name}(): Indexing dim {dim} is out of bounds of the source tensor with dim {source.dim()}")
        count = source.shape[dim] if source.dim() else 1
        check(source.dim() or index.numel() == count, lambda: f"Dimension specified as {dim} but tensor has no "
              "dimensions", IndexError)  # PyTorch asks for the dimension's size in order to name it
        check(index.numel() == count, lambda: f"{name}(): Number of indices ({index.numel()}) should be equal to "
              f"source.size(dim): ({count}), for dim: {dim}")
        if source.dim() or self.dim():
            ours, given = list(self.shape), list(source.shape)
            check(bool(ours and given) and ours[:dim] + ours[dim + 1:] == given[:dim] + given[dim + 1:],
                  lambda: "source tensor shape must match self tensor shape, excluding the specified dimension. Got "
                          f"self.shape = {ours} source.shape = {given}")

    return row


def meta_index_add_(self: Tensor, dim: int, index: Tensor, source: Tensor, alpha: Any = 1) -> None:
    index_add_like("index_add_")(self, dim, index, source)
    check_number(self._dtype, alpha)


def meta_index_reduce_(self: Any, dim: int, index: Any, source: Any, reduce: str, include_self: bool = True) -> None:
    check(reduce in ("prod", "mean", "amax", "amin"),
          lambda: f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    warn_once("index_reduce() is in beta and the API may change at any time.")
    index_add_like("index_reduce_")(self, dim, index, source)
    by_slices = {"prod": "", "mean": "div_floor_cpu", "amax": "maximum_cpu", "amin": "minimum_cpu"}
    kernel = ("index_reduce_func_exclude_input_init" if not include_self else
              "index_func_" if self.dim() < 2 else by_slices[reduce])
    refused = (kernel[:5] == "index" or reduce == "mean" if self._dtype is bool_ else
               self._dtype.is_complex and (kernel[:5] == "index" or reduce[0] == "a"))
    check_takes(not refused, kernel, self._dtype)


def meta_index_copy_(self: Tensor, dim: int, index: Tensor, source: Tensor) -> None:
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


def meta_scatter_reduce_(self: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool = True) -> None:
    check_scatter(self, dim, index, src)
    check(reduce in ("sum", "prod", "mean", "amax", "amin"),
          lambda: f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    check_takes(index.numel() or reduce != "mean" or self._dtype is not bool_, "div_floor_cpu", bool_)
    refused = (reduce == "mean" and self._dtype is bool_) or (reduce[0] == "a" and self._dtype.is_complex)
    check_takes(not refused or not index.numel(), f"scatter_gather_tensor_cpu_reduce_{reduce}", self._dtype)


def source_grad(grad: Tensor, dim: int, index: Any, source_shape: Any) -> Tensor:
    """Return the gradient of the source of ``index_add`` or ``index_copy``."""
    if not source_shape:
        return index_select(grad, dim, index.squeeze(0))
    found = index_select(grad, dim, index)
    return found if found.shape == source_shape else found.expand(source_shape)


class Along:
    """How an index relates a tensor and a source, in the operators of ``scatter_reduce`` or of ``index_reduce``."""

    def __init__(self, calls: tuple[Any, Any, Any, Any], dim: int, index: Any):
        self.calls, self.dim, self.index = calls, dim, index
        self.names = ("scatter_reduce", "src") if calls is SCATTER else ("index_reduce", "source")

    def add(self, tensor: Any, source: Any) -> Any:
        """Return the tensor with the source added."""
        return self.calls[0](tensor, self.dim, self.index, source)

    def get(self, tensor: Tensor) -> Any:
        """Return the tensor's values at the source's places."""
        return self.calls[1](tensor, self.dim, self.index)

    def fill(self, tensor: Any, value: Any) -> Any:
        """Return the tensor with this value at the source's places."""
        return self.calls[2](tensor, self.dim, self.index, value)

    def multiply(self, tensor: Any, source: Any, include_self: bool) -> Any:
        """Return the tensor multiplied by the source."""
        return self.calls[3](tensor, self.dim, self.index, source, "prod", include_self)


SCATTER = scatter_add, gather, scatter_value, scatter_reduce_two
INDEX = index_add, index_select, index_fill_int_Scalar, index_reduce


def reduce_grads(calls: Any, grad: Any, self: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool,
                 result: Tensor) -> tuple[Any, Any]:
    """Return the gradients of ``scatter_reduce`` or ``index_reduce`` for both inputs (ATen's formulas)."""
    if not self.numel() or not index.numel():
        return grad, zeros(grad, src.shape)
    along = Along(calls, dim, index)
    if reduce == "sum":
        of_self, of_src = grad, along.get(grad)
    elif reduce == "mean":
        count = along.add(ones_like(grad) if include_self else zeros_like(grad), ones_like(src))
        count = count.masked_fill(count == 0, 1)
        of_self, of_src = grad / count, along.get(grad) / along.get(count)
    elif reduce == "prod":
        of_self, of_src = prod_grads(along, grad, self, src, include_self, result)
    else:  # amax and amin: shared evenly by all that are equal to the result
        is_self, is_src = (self == result).to(self.dtype), (src == along.get(result)).to(self.dtype)
        shared = grad / along.add(is_self, is_src)
        of_self, of_src = is_self * shared, is_src * along.get(shared)
    return of_self if include_self else along.fill(of_self, 0), of_src


def prod_grads(along: Along, grad: Tensor, self: Tensor, src: Any, include_self: bool, result: Any) -> tuple[Any, Any]:
    """Return the gradients of a product; a single zero factor alone has one, the product of the others."""
    nonzero_self = self.masked_fill(self == 0, 1)
    of_self = grad * along.multiply(nonzero_self, src, include_self) / nonzero_self
    is_zero = src == 0
    zero_count = along.get(along.add(zeros_like(self), is_zero.to(self.dtype)))
    only_zero = is_zero.logical_and(zero_count == 1)
    others = along.multiply(self, src.masked_fill(only_zero, 1), include_self)
    of_src = where(only_zero, along.get(grad * others), along.get(grad * result) / src.masked_fill(is_zero, 1))
    if local.grad_enabled and zero_count.gt(1).any():
        name, factors = along.names
        (of_src,) = undifferentiable([of_src], (
            f"{name}(): Double backward is unsupported for {factors} when >1 zeros in {factors} are scattered to the "
            "same position in self"))
    return of_self, of_src


operator("index_copy", composite=written("index_copy_", "contiguous_format"), batching=index_dim_batch_rule,
         autocast="cpu promote", self=lambda grad, dim, index: index_fill_int_Scalar(grad, dim, index, 0),
         source=source_grad)
operator("index_copy_", with_overlap(meta_index_copy_, check_separate))
operator("index_add", composite=written("index_add_", "contiguous_format"), batching=index_dim_batch_rule,
         self=lambda grad: grad,
         source=lambda grad, dim, index, source_shape, alpha:
             source_grad(grad, dim, index, source_shape) * alpha if alpha != 1
             else source_grad(grad, dim, index, source_shape))
operator("index_add_", with_overlap(meta_index_add_, check_separate))
operator("index_reduce", composite=written("index_reduce_", "contiguous_format"), batching=index_dim_batch_rule,
         jointly={"self, source": lambda grad, self, dim, index, source, reduce, include_self, result:
              reduce_grads(INDEX, grad, self, dim, index, source, reduce, include_self, result)})
operator("index_reduce_", with_overlap(meta_index_reduce_, check_separate))
operator("scatter_reduce.two", composite=written("scatter_reduce_.two", "contiguous_format"), batching=along_dimensions,
         jointly={"self, src": lambda grad, self, dim, index, src, reduce, include_self, result:
              reduce_grads(SCATTER, grad, self, dim, index, src, reduce, include_self, result)})
operator("scatter_reduce_.two", with_overlap(meta_scatter_reduce_, check_separate))

schemas("""
function, method, in-place, out, exact dtype, no overlap:
    scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor  # `self` with the elements of `src` written along `dim` at the positions `index`.
    scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor
    scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor
    scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor
    scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor  # `self` with the elements of `src` added along `dim` at the positions `index`.
""")  # noqa: E501


def scatter_value_(self: Tensor, dim: int, index: Any, value: Any) -> None:
    check_scatter(self, dim, index)
    if index.numel():
        check_number(self._dtype, value)


def check_reduce(reduce: str) -> None:
    check(reduce in ("add", "multiply"), "reduce argument must be either add or multiply.")


def scatter_reduce_old_(self: Tensor, dim: int, index: Any, src: Any, reduce: str) -> None:
    warn_once("The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in a future "
              "PyTorch release. Use torch.scatter_reduce instead for more reduction options.")
    check_scatter(self, dim, index, src)
    check_reduce(reduce)


def scatter_value_reduce_(self: Tensor, dim: int, index: Any, value: Any, reduce: str) -> None:
    check_scatter(self, dim, index)
    check_reduce(reduce)
    if index.numel():
        check_number(self._dtype, value)


operator("scatter.src", composite=written("scatter_.src", "contiguous_format"), batching=along_dimensions,
         self=lambda grad, dim, index: scatter_value(grad, dim, index, 0),
         src=lambda grad, dim, index: gather(grad, dim, index))
operator("scatter_.src scatter_add_", with_overlap(check_scatter, check_separate))
operator("scatter.reduce", composite=written("scatter_.reduce", "contiguous_format"), batching=along_dimensions)
operator("scatter_.reduce", with_overlap(scatter_reduce_old_, check_separate))
operator("scatter.value", composite=written("scatter_.value", "contiguous_format"), batching=along_dimensions,
         node="ScatterBackward1", self=lambda grad, dim, index: scatter_value(grad, dim, index, 0))
operator("scatter_.value", with_overlap(scatter_value_, check_separate))
operator("scatter.value_reduce", composite=written("scatter_.value_reduce", "contiguous_format"),
         batching=along_dimensions)
operator("scatter_.value_reduce", with_overlap(scatter_value_reduce_, check_separate))
operator("scatter_add", composite=written("scatter_add_", "contiguous_format"), batching=along_dimensions,
         self=lambda grad: grad, src=lambda grad, dim, index: gather(grad, dim, index))

schemas("""
function:
    _unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor  # The elements of `self` at `indices` where `mask` is true, and `fill` elsewhere.
    _unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, Tensor values) -> Tensor  # `self` with `values` added at `indices` where `mask` is true.
function, method:
    zero_(Tensor(a!) self) -> Tensor(a!)  # Sets every element of `self` to zero.
""")  # noqa: E501


def within(self: Tensor, indices: list[Any]) -> list[Any]:
    """Return indices brought into the range of their dimensions."""
    return [None if index is None else index.clamp(-self.shape[d], self.shape[d] - 1)
            for d, index in enumerate(indices)]


def _unsafe_masked_index(self: Tensor, mask: Tensor, indices: list[Any], fill: Any) -> Tensor:
    """Index where a mask holds, and return a number elsewhere, where indices may be out of range."""
    return index_Tensor(self, within(self, indices)).masked_fill(mask.logical_not(), fill)


def _unsafe_masked_index_put_accumulate(self: Tensor, mask: Tensor, indices: list[Any], values: Tensor) -> Tensor:
    """Return a copy with values added at the indices where a mask holds."""
    kept = values.masked_fill(mask.logical_not(), 0)
    return index_put(self, within(self, indices), kept, True)


operator("_unsafe_masked_index", composite=_unsafe_masked_index,
         self=lambda grad, self_shape, mask, indices:
             unsafe_masked_index_put_accumulate(zeros(grad, self_shape), mask, indices, grad))
operator("_unsafe_masked_index_put_accumulate", composite=_unsafe_masked_index_put_accumulate, self=lambda grad: grad,
         values=lambda grad, mask, indices: unsafe_masked_index(grad, mask, indices, 0))
operator("zero_", with_overlap(lambda self: None, repeats), batching=as_it_is, self=lambda grad: zeros_like(grad))
