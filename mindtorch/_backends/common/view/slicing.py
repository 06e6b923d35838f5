"""Layouts of views of a part of the elements: slices, diagonals, windows, and the pieces of a split."""
from __future__ import annotations

from collections.abc import Callable

from ...._base.about import about
from ...._base.errors import check
from ...._base.layout import Ints, wrap_dim
from ...._base.symbolic import is_symbolic
from ...._tensor import Tensor
from .layouts import Layout

LARGEST = 2**63 - 1  #: the end of a slice that PyTorch gives where there is none


def replaced(values: Ints, at: int, value: int) -> Ints:
    """Return a tuple with one item replaced."""
    return (*values[:at], value, *values[at + 1:])


def select(self: Tensor, dim: int, index: int) -> Layout:
    """Select an index and drop the dimension (``torch.select``). Raises IndexError if either is out of range."""
    shape, stride = tuple(self.shape), self._strides()
    check(shape, "select() cannot be applied to a 0-dim tensor.", IndexError)
    dim = wrap_dim(dim, len(shape))
    size = shape[dim]
    check(-size <= index < size,
          lambda: about(IndexError(f"select(): index {index} out of range for tensor of size {list(shape)} at "
                                   f"dimension {dim}"), "select", index=index, dim=dim, size=size))
    offset = self._offset + (index if index >= 0 else index + size) * stride[dim]
    return (*shape[:dim], *shape[dim + 1:]), (*stride[:dim], *stride[dim + 1:]), offset


def bounds(start: int | None, end: int | None, size: int) -> tuple[int, int]:
    """Return where a slice begins and ends in a dimension, clamped as Python does."""
    if not is_symbolic((start, end, size)):
        start, stop, _ = slice(start, end).indices(size)
        return start, max(start, stop)
    begin, stop = 0 if start is None else start, size if end is None else end
    begin, stop = (n + size if n < 0 else n for n in (begin, stop))
    if begin < 0:
        begin = 0
    elif begin > size:
        begin = size
    if stop is not size and ((stop.__class__ is int and stop == LARGEST) or stop > size):
        stop = size
    return begin, begin if stop < begin else stop


def slice_(self: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Layout:
    """Slice a dimension, clamping the bounds as Python does (ATen's ``slice``).

    Raises:
        IndexError: for a tensor without dimensions.
        RuntimeError: unless the step is positive.
    """
    shape, stride = tuple(self.shape), self._strides()
    check(shape, "slice() cannot be applied to a 0-dim tensor.", IndexError)
    dim = wrap_dim(dim, len(shape))
    check(step > 0, "slice step must be positive")
    start, stop = bounds(start, end, shape[dim])
    length = -(-(stop - start) // step)
    return replaced(shape, dim, length), replaced(stride, dim, stride[dim] * step), self._offset + start * stride[dim]


def diagonal(self: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Layout:
    """Replace two dimensions by their diagonal, put last (``torch.diagonal``). Raises RuntimeError if they are equal.
    """
    shape, stride = self.shape, self._strides()
    first, second = wrap_dim(dim1, len(shape)), wrap_dim(dim2, len(shape))
    check(first != second, lambda: f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    rows, columns = shape[first], shape[second]
    length = max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))
    start = self._offset
    if length:
        start += offset * stride[second] if offset >= 0 else -offset * stride[first]
    kept = [d for d in range(len(shape)) if d not in (first, second)]
    return ((*(shape[d] for d in kept), length), (*(stride[d] for d in kept), stride[first] + stride[second]), start)


def unfold(self: Tensor, dimension: int, size: int, step: int) -> Layout:
    """Slide a window over a dimension and put its elements into a new last one (``Tensor.unfold``).

    Raises:
        RuntimeError: if the window is longer than the dimension, or the step is not positive.
    """
    shape, stride = tuple(self.shape), self._strides()
    dim = wrap_dim(dimension, len(shape))
    have, pace = (shape[dim], stride[dim]) if shape else (1, 1)
    check(size >= 0, lambda: f"size is {size} but must be >= 0")
    check(size <= have, lambda: f"maximum size for tensor at dimension {dim} is {have} but size is {size}")
    check(step > 0, lambda: f"step is {step} but must be > 0")
    if not shape:
        return (size,), (1,), self._offset
    windows = (have - size) // step + 1
    return (*replaced(shape, dim, windows), size), (*replaced(stride, dim, step * pace), pace), self._offset


def unbind(self: Tensor, dim: int = 0) -> list[Layout]:
    """Select every index of a dimension (``torch.unbind``). Raises IndexError for a tensor without dimensions."""
    dim = wrap_dim(dim, self.dim())
    check(self.dim(), f"Dimension specified as {dim} but tensor has no dimensions", IndexError)
    return [select(self, dim, i) for i in range(self.shape[dim])]


def split_with_sizes(self: Tensor, split_sizes: Ints, dim: int = 0) -> list[Layout]:
    """Split into pieces of given sizes (``torch.split_with_sizes``). Raises RuntimeError unless they add up."""
    check(self.dim(), "split expects at least a 1-dimensional tensor")
    given, dim = dim, wrap_dim(dim, self.dim())
    check(all(n >= 0 for n in split_sizes), lambda: "split_with_sizes expects split_sizes have only non-negative "
          f"entries, but got split_sizes={list(split_sizes)}")
    check(sum(split_sizes) == self.shape[dim],
          lambda: f"split_with_sizes expects split_sizes to sum exactly to {self.shape[dim]} (input tensor's size at "
                  f"dimension {given}), but got split_sizes={list(split_sizes)}", kind="split sizes")
    pieces, start = [], 0
    for size in split_sizes:
        pieces.append(slice_(self, dim, start, start + size))
        start += size
    return pieces


def split(self: Tensor, split_size: int, dim: int = 0) -> list[Layout]:
    """Split into pieces of one size; the last may be smaller (``torch.split``).

    Raises:
        RuntimeError: if the size is negative, or 0 where the dimension is not.
    """
    check(self.dim(), "split expects at least a 1-dimensional tensor")
    check(split_size >= 0, lambda: f"split expects split_size be non-negative, but got split_size={split_size}")
    dim = wrap_dim(dim, self.dim())
    have = self.shape[dim]
    check(split_size > 0 or have == 0,
          lambda: f"split_size can only be 0 if dimension size is 0, but got dimension size of {have}")
    step = max(split_size, 1)
    pieces = max(int(-(-have // step)), 1)
    return [slice_(self, dim, i * step, (i + 1) * step if i < pieces - 1 else have) for i in range(pieces)]


LAYOUTS: dict[str, Callable[..., Layout]] = {
    "select.int": select,
    "slice.Tensor": slice_,
    "diagonal": diagonal,
    "unfold": unfold,
}
MULTIPLE: dict[str, Callable[..., list[Layout]]] = {
    "unbind.int": unbind,
    "split.Tensor": split,
    "split_with_sizes": split_with_sizes,
}
