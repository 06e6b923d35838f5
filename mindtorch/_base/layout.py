"""Shapes and strides as plain tuples: the rules that every device shares. Strides and offsets count elements."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from math import prod
from typing import Any, NamedTuple, TypeVar

from .._dtype import DType
from .about import about
from .symbolic import SymInt, has_unknown, is_symbolic, promised

Ints = tuple[int, ...]


#: The order in which the channels-last formats lay out dimensions, outermost first, by number of dimensions.
CHANNELS_LAST = {4: (0, 2, 3, 1), 5: (0, 2, 3, 4, 1)}


class Spec(NamedTuple):
    """A meta kernel's output; ``stride`` None is contiguous, ``shape`` None data-dependent (stride a function)."""

    shape: Ints | None
    dtype: DType
    stride: Any = None


class Layout:
    """A tensor's shape, strides (None: contiguous) and dtype; interned, so cache keys compare by identity."""

    __slots__ = ("dtype", "shape", "stride")

    def __init__(self, shape: Ints, stride: Ints | None, dtype: DType) -> None:
        self.shape, self.stride, self.dtype = shape, stride, dtype

    def __repr__(self) -> str:
        strides = "" if self.stride is None else f", strides {list(self.stride)}"
        return f"{self.dtype.name}{list(self.shape)}{strides}"


#: The interned layouts, by content. Bounded: a program whose sizes change at every call gets new objects.
_layouts: dict[tuple[Ints, Ints | None, DType], Layout] = {}
MOST_LAYOUTS = 1 << 14


def intern_layout(shape: Ints, stride: Ints | None, dtype: DType) -> Layout:
    """Return the one ``Layout`` of a shape, strides (None: contiguous) and dtype."""
    content = shape, stride, dtype
    found = _layouts.get(content)
    if found is None:
        if len(_layouts) >= MOST_LAYOUTS:
            _layouts.clear()
        found = _layouts.setdefault(content, Layout(*content))
    return found


Function = TypeVar("Function", bound=Callable[..., Any])


def remembered(function: Function) -> Function:
    """Decorate a function of layouts that costs more than a small operator: programs repeat their layouts. Layouts with
    symbolic sizes are not remembered: they belong to one trace, and every question about them may leave a guard.
    """
    found = lru_cache(4096)(function)

    @wraps(function)
    def call(*layouts: Any) -> Any:
        try:
            return found(*layouts)
        except TypeError:  # SymInts cannot be hashed
            return function(*layouts)

    return call  # type: ignore[return-value]


def contiguous_strides(shape: Ints) -> Ints:
    """Return the strides of a fresh contiguous tensor. Those of few dimensions cost less than a look-up."""
    ndim = len(shape)
    if ndim < 2:
        return (1,) * ndim
    if ndim == 2 and (size := shape[1]).__class__ is int:
        return size or 1, 1
    return _contiguous_strides(shape)


@remembered
def _contiguous_strides(shape: Ints) -> Ints:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= (size or 1) if size.__class__ is not SymInt else size.__sym_max__(1)
    return tuple(strides[::-1])


def is_contiguous(shape: Sequence[int], stride: Sequence[int]) -> bool:
    """Return True if elements lie in row-major order without gaps; dimensions of size 1 do not count."""
    return 0 in shape or _follow(shape, stride, range(len(shape)))


def is_channels_last(shape: Sequence[int], stride: Sequence[int]) -> bool:
    """Return True if images or volumes are dense in channels-last order; PyTorch checks empty ones, too."""
    order = CHANNELS_LAST.get(len(shape))
    return order is not None and _follow(shape, stride, order)


def _follow(shape: Sequence[int], stride: Sequence[int], order: Sequence[int]) -> bool:
    """Return True if strides have no gaps for dimensions in this order; dimensions of size 1 do not count."""
    expected = 1
    for dim in reversed(order):
        if shape[dim] != 1:
            if stride[dim] != expected:
                return False
            expected *= shape[dim]
    return True


def is_non_overlapping_and_dense(shape: Sequence[int], stride: Sequence[int]) -> bool:
    """Return True if some permutation of the dimensions is contiguous; dimensions of size 1 do not count."""
    if 0 in shape:
        return True
    expected = 1
    for step, size in sorted((st, si) for si, st in zip(shape, stride, strict=True) if si != 1):
        if step != expected:
            return False
        expected *= size
    return True


def overlaps_itself(shape: Sequence[int], stride: Sequence[int]) -> bool:
    """Return True if two indices certainly share an element: a dimension longer than 1 has stride 0."""
    return 0 not in shape and any(size > 1 and step == 0 for size, step in zip(shape, stride, strict=True))


@remembered
def never_overlaps(shape: Ints, stride: Ints) -> bool:
    """Return True if no two indices can share an element: each stride exceeds the reach of the smaller ones."""
    reach = 0
    for step, size in sorted(zip(stride, shape, strict=True)):
        if size > 1:
            if step <= reach:
                return False
            reach += step * (size - 1)
    return True


def storage_size(shape: Sequence[int], stride: Sequence[int], offset: int = 0) -> int:
    """Return the number of elements that a storage needs to hold this layout."""
    if not is_symbolic(shape) and 0 in shape:
        return 0
    end = offset + 1
    for size, step in zip(shape, stride, strict=True):
        end += (size - 1) * step
    return end


def wrap_dim(dim: int, ndim: int) -> int:
    """Return a dimension as a non-negative index (0-d tensors have -1 and 0); IndexError if out of range."""
    span = ndim or 1
    if not -span <= dim < span:
        raise about(IndexError(f"Dimension out of range (expected to be in range of [{-span}, {span - 1}], but got "
                               f"{dim})"), "dimension", low=-span, high=span - 1, given=dim)
    return dim % span


def wrap_dims(dims: Sequence[int] | int | None, ndim: int) -> Ints:
    """Return a reduction's dimensions in order, all for None or (); IndexError or RuntimeError (twice) if invalid."""
    return _wrapped(dims if dims is None or isinstance(dims, int) else tuple(dims), ndim)


@remembered
def _wrapped(dims: Ints | int | None, ndim: int) -> Ints:
    if dims is None or dims == ():
        return tuple(range(ndim))
    wrapped: list[int] = []
    for dim in (dims,) if isinstance(dims, int) else dims:
        axis = wrap_dim(dim, ndim)
        if axis in wrapped:
            raise RuntimeError(f"dim {axis} appears multiple times in the list of dims")
        wrapped.append(axis)
    return tuple(sorted(wrapped)) if ndim else ()


@remembered
def broadcast_shapes(*shapes: Ints) -> Ints:
    """Return the common shape; RuntimeError with PyTorch's message if sizes do not match."""
    ndim = max((len(shape) for shape in shapes), default=0)
    result = [1] * ndim
    for shape in shapes:
        for back in range(1, len(shape) + 1):
            size, have = shape[-back], result[-back]
            if have == 1:
                result[-back] = size
            elif size != 1 and size != have:
                raise about(RuntimeError(f"The size of tensor a ({have}) must match the size of tensor b ({size}) at "
                                         f"non-singleton dimension {ndim - back}"), "broadcast")
    return tuple(result)


def expand_strides(shape: Sequence[int], stride: Sequence[int], to: Sequence[int]) -> Ints:
    """Return the strides of a tensor expanded to a larger shape."""
    extra = len(to) - len(shape)
    kept = (0 if size == 1 and wide != 1 else step for size, step, wide in zip(shape, stride, to[extra:], strict=True))
    return (*(0 for _ in range(extra)), *kept)


def stride_order(shape: Ints, layouts: Sequence[Ints]) -> list[int]:
    """Return the dimensions innermost first by the operands' strides (ATen's ``reorder_dimensions``)."""
    order = list(range(len(shape)))[::-1]

    def swaps(inner: int, outer: int) -> int:
        for strides in layouts:
            a, b = strides[inner], strides[outer]
            if a == 0 or b == 0:
                continue
            if a != b:
                return -1 if a < b else 1
            if shape[inner] > shape[outer]:
                return 1
        return 0

    for i in range(1, len(order)):
        position = i
        for j in range(i - 1, -1, -1):
            verdict = swaps(order[j], order[position])
            if verdict > 0:
                order[j], order[position] = order[position], order[j]
                position = j
            elif verdict < 0:
                break
    return order


@remembered
def iterator_strides(shape: Ints, layouts: tuple[tuple[Ints, Ints], ...], numbers: bool = False) -> Ints | None:
    """Return a pointwise operator's output strides, as PyTorch's TensorIterator decides them; None for contiguous.

    ``layouts`` holds the (shape, stride) of every operand; ``numbers`` is True if there are numbers as well. Operands
    of one shape and one dense layout pass it on; otherwise the output is dense in the order of the operands' strides.
    """
    if not numbers and all(layout[0] == shape for layout in layouts):
        if all(is_contiguous(*layout) for layout in layouts):
            return None
        if len(shape) == 4 and all(is_channels_last(*layout) for layout in layouts):
            return ordered_strides(shape, CHANNELS_LAST[4])
        last = layouts[-1][1]
        if all(layout[1] == last for layout in layouts) and is_non_overlapping_and_dense(shape, last):
            return last
    order = stride_order(shape, [expand_strides(size, step, shape) for size, step in layouts])
    if order == list(range(len(shape)))[::-1]:
        return None
    strides, step = [0] * len(shape), 1
    for dim in order:
        strides[dim] = step
        step *= shape[dim]
    return tuple(strides)


def like_strides(shape: Ints, stride: Ints) -> Ints | None:
    """Return the strides of ``empty_like``: kept if dense, else dense in the same order; None for contiguous."""
    if not is_non_overlapping_and_dense(shape, stride):
        stride = ordered_strides(shape, stride_order(shape, [stride])[::-1])
    return None if stride == contiguous_strides(shape) else stride


def infer_size(shape: Sequence[int], numel: int) -> Ints:
    """Replace the -1 in a shape.

    Raises:
        RuntimeError: PyTorch's, if the shape cannot hold ``numel`` elements.
    """
    unknown, known = None, 1
    for i, size in enumerate(shape):
        if size == -1:
            if unknown is not None:
                raise about(RuntimeError("only one dimension can be inferred"), "view two unknown")
            unknown = i
        elif size < 0:
            raise RuntimeError(f"invalid shape dimension {size} at index {i} of shape {list(shape)}")
        else:
            known *= size
    if unknown is not None and known == 0:
        raise RuntimeError(
            f"cannot reshape tensor of {numel} elements into shape {list(shape)} because the unspecified dimension "
            "size -1 can be any value and is ambiguous"
        ) if numel == 0 else RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
    if numel == known and unknown is None:
        return tuple(shape)
    if unknown is None or numel % known:
        raise about(RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}"),
                    "view elements", shape=tuple(shape), numel=numel)
    return (*shape[:unknown], numel // known, *shape[unknown + 1:])


def view_strides(shape: Ints, stride: Ints, new_shape: Ints) -> Ints | None:
    """Return the strides with which a layout can be viewed in a new shape; None if it needs a copy."""
    if not shape:
        return (1,) * len(new_shape)
    if has_unknown(new_shape) and stride == contiguous_strides(shape):
        return contiguous_strides(new_shape)  # whatever the sizes are, which only the data say
    if prod(shape) == 0:
        return stride if shape == new_shape else contiguous_strides(new_shape)
    result = [0] * len(new_shape)
    view_dim = len(new_shape) - 1
    chunk_step, tensor_numel, view_numel = stride[-1], 1, 1
    for dim in range(len(shape) - 1, -1, -1):
        tensor_numel *= shape[dim]
        if dim == 0 or (shape[dim - 1] != 1 and stride[dim - 1] != tensor_numel * chunk_step):
            while view_dim >= 0 and (view_numel < tensor_numel or new_shape[view_dim] == 1):
                result[view_dim] = view_numel * chunk_step
                view_numel *= new_shape[view_dim]
                view_dim -= 1
            if view_numel != tensor_numel:
                return None
            if dim > 0:
                chunk_step, tensor_numel, view_numel = stride[dim - 1], 1, 1
    return tuple(result) if view_dim == -1 else None


def check_sizes(shape: Sequence[int], itemsize: int = 1) -> Ints:
    """Return a new tensor's shape; RuntimeError for negative sizes or more than 63 bits of bytes (or elements)."""
    for size in shape:
        if size < 0 if size.__class__ is int else not promised(size >= 0):
            raise about(RuntimeError(f"Trying to create tensor with negative dimension {size}: {list(shape)}"),
                        "negative size", shape=tuple(shape))
    if not is_symbolic(shape) and prod(shape) * itemsize >= 2**63:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")
    return tuple(shape)


def ordered_strides(shape: Sequence[int], order: Sequence[int]) -> Ints:
    """Return the strides of a dense tensor whose dimensions lie in this order, outermost first."""
    strides = [0] * len(order)
    for dim, step in zip(order, contiguous_strides(tuple([shape[d] for d in order])), strict=True):
        strides[dim] = step
    return tuple(strides)


def channels_last_strides(shape: Sequence[int]) -> Ints:
    """Return channels-last strides; as PyTorch's, 0 outside a dimension without elements."""
    strides, step = [0] * len(shape), 1
    for dim in reversed(CHANNELS_LAST[len(shape)]):
        strides[dim] = step
        step *= shape[dim]
    return tuple(strides)


def suggested_order(shape: Ints, stride: Ints) -> Ints | None:
    """Return the order of the channels-last format that strides suggest (ATen's ``suggest_memory_format``), or None."""
    order = CHANNELS_LAST.get(len(shape))
    if order is None or stride[1] == 0 or 0 in shape:
        return None
    least = 0
    for dim in reversed(order):
        if stride[dim] < least or (dim == 0 and least == stride[1]):
            return None
        least = stride[dim] * max(shape[dim], 1)
    return order


def suggested_strides(shape: Ints, order: Ints | None) -> Ints | None:
    """Return the strides of a new tensor in a suggested order; None for contiguous."""
    if order is None:
        return None
    strides = ordered_strides(shape, order)
    return None if strides == contiguous_strides(shape) else strides
