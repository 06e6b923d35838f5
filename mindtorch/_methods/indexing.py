"""``tensor[index]`` and ``tensor[index] = value``, with everything that can index.

Ints, slices, None and ``...`` make views, one operator after the other; tensors, lists and arrays are collected and
indexed with at the end. Mirrors PyTorch's ``python_variable_indexing``.
"""
from __future__ import annotations

import operator
import warnings
from collections.abc import Sequence
from types import NoneType
from typing import Any

import numpy as np

from .._backends.cpu.views import basic_view
from .._base.about import about, note
from .._base.errors import check_fill
from .._base.symbolic import SYMBOLIC, SymInt
from .._creation import tensor as make_tensor
from .._dispatch import dispatcher
from .._dispatch.aten import (
    alias, copy_, expand, fill__Scalar as fill_scalar_, fill__Tensor as fill_tensor_, index_put_,
    index_Tensor as index_tensor, select_int as select, slice_Tensor as slice_, unsqueeze, view,
)
from .._dispatch.binding import LONG
from .._dispatch.dispatcher import TENSOR_TYPES, is_seen
from .._dispatch.keys import (
    AUTOGRAD, BATCHED, CPU, FUNCTION, NONCONTIGUOUS, OBSERVED, PYTHON, REDIRECTING, SPARSES, THREAD_STATE,
)
from .._dispatch.observers import told
from .._dispatch.torch_function import asked, handle
from .._dtype import FLOATING, INTEGER, DType, bool_, int64, uint8, uint64
from .._tensor import Tensor, tensor_method

PLAIN = CPU | NONCONTIGUOUS
RECORDED = PLAIN | AUTOGRAD
#: The classes of what takes no tensor to index with.
BASIC = {slice, int, NoneType, type(Ellipsis)}


# -- the hot paths -----------------------------------------------------------------------------------------------------

@tensor_method("__getitem__")
def getitem(self: Tensor, index: Any) -> Tensor:
    """Compute ``self[index]``: a view for ints, slices, None and ``...``; a copy as soon as a tensor, list or array
    indexes. Raises IndexError if an index is out of range, there are too many, or an object cannot index, and
    ValueError for a slice with a negative step.
    """
    try:
        kind = index.__class__
        if kind is int:
            if not self._keys & AUTOGRAD:
                try:
                    return select(self, 0, index)
                except IndexError:
                    pass  # which is said in other words here
            return apply_select(self, 0, index, 0)
        if kind is slice:
            return apply_slice(self, 0, index)
        if kind in TENSOR_TYPES and index.ndim and not index._keys & FUNCTION:
            return index_tensor(self, [index])
        if (kind is tuple or index is None or index is Ellipsis) and (
                not dispatcher.mode & REDIRECTING and self._keys | NONCONTIGUOUS == PLAIN):
            items = index if kind is tuple else (index,)
            return told(get_basic, get_general, self, items) if dispatcher.mode & OBSERVED else get_basic(self, items)
        if kind is tuple and self._keys | NONCONTIGUOUS == RECORDED and not dispatcher.mode & REDIRECTING and (
                BASIC.issuperset(map(type, index))):
            return get_by_operators(self, index)
        return get_general(self, index)
    except Exception as error:
        note(error, "getitem", (self, index))
        raise


@tensor_method("__setitem__")
def setitem(self: Tensor, index: Any, value: Any) -> None:
    """Write a tensor or a number, broadcast, to the elements that ``index`` chooses: ``self[index] = value``.

    Raises:
        IndexError, ValueError: as for reading.
        TypeError: if the value is neither a tensor nor a number.
        RuntimeError: if it does not fit.
    """
    try:
        if not dispatcher.mode & REDIRECTING and self._keys == CPU and is_basic(index) and is_safe(value, self._dtype):
            try:
                self._array[index] = value  # type: ignore[index]
                if dispatcher.mode & OBSERVED:
                    told(no_more, set_general, self, index, value)
            except (IndexError, OverflowError):
                pass  # which the general path explains
            else:
                self._bump()
                return
        if found := asked((*as_items(index), value), {}):
            handle(Tensor.__setitem__, found, (self, index, value), {})
        else:
            if self._keys & SPARSES:
                raise TypeError("Cannot assign to a sparse tensor")
            set_general(self, index, value)
    except Exception as error:
        note(error, "setitem", (self, index, value))
        raise


def no_more(*args: Any) -> None:
    """Do what is done already."""


def is_basic(index: Any) -> bool:
    """Return True if an index is made of ints and of slices without a step."""
    if index.__class__ is tuple:
        return all(item.__class__ is int or (item.__class__ is slice and item.step is None) for item in index)
    return index.__class__ is int or (index.__class__ is slice and index.step is None)


def is_safe(value: Any, dtype: DType) -> bool:
    """Return True if NumPy writes a number into an array of this dtype as PyTorch does."""
    kind = value.__class__
    if kind is float:
        return dtype.category == FLOATING and dtype.itemsize >= 4 and -3e38 < value < 3e38
    return kind is int and ((dtype.category == INTEGER and dtype is not uint64)
                            or (dtype.category == FLOATING and -65000 < value < 65000))


# -- the general path --------------------------------------------------------------------------------------------------

def get_general(self: Tensor, index: Any) -> Tensor:
    """Read, in PyTorch's order of cases."""
    if found := asked(as_items(index), {}):
        return handle(Tensor.__getitem__, found, (self, index), {})
    if index is None:
        return unsqueeze(self, 0)
    if index is Ellipsis:
        return alias(self)
    if isinstance(index, bool):
        return index_tensor(unsqueeze(self, 0), [truth(self, index)])
    if is_int(index):
        return apply_select(self, 0, as_int(index), 0)
    part, tensors = apply_slicing(self, as_tuple(index))
    if tensors:
        return index_tensor(part, tensors)
    return alias(self) if part is self else part


#: Several views at once, where no key but the backend's is set, so that those in between are not seen.
def get_basic(self: Tensor, index: tuple[Any, ...]) -> Tensor:
    """Return ``self[index]`` of a CPU tensor outside the graph: one view where the index is basic."""
    try:
        view = basic_view(self, index)
    except (IndexError, TypeError, ValueError):  # which the operators explain
        view = None
    return get_general(self, index) if view is None else view


def get_by_operators(self: Tensor, items: tuple[Any, ...]) -> Tensor:
    """Return ``self[items]`` of a CPU tensor for ints, slices, None and at most one ``...``, by an operator for each
    item that is no whole dimension.
    """
    part, sizes = self, self._array.shape  # type: ignore[union-attr]
    left, dim = len(sizes), 0  # dimensions without an item; the next item's dimension of the part
    for item in items:
        left -= item.__class__ is slice or item.__class__ is int
    if left < 0 or items.count(Ellipsis) > 1:
        return get_general(self, items)
    at = 0  # the next item's dimension of the tensor
    for item in items:
        kind = item.__class__
        if kind is slice:
            start, stop, step = item.start, item.stop, item.step
            if not ((start is None or start.__class__ is int) and (stop is None or stop.__class__ is int)
                    and (step is None or (step.__class__ is int and step > 0))):
                return get_general(self, items)
            if start or (stop is not None and stop < sizes[at]) or (step is not None and step != 1):
                part = slice_(part, dim, start, stop, 1 if step is None else step)
            dim, at = dim + 1, at + 1
        elif kind is int:
            if not -sizes[at] <= item < sizes[at]:
                return get_general(self, items)
            part, at = select(part, dim, item), at + 1
        elif item is None:
            part, dim = unsqueeze(part, dim), dim + 1
        else:
            dim, at = dim + left, at + left
    return alias(self) if part is self else part


def set_general(self: Tensor, index: Any, value: Any) -> None:
    """Write, in PyTorch's order of cases."""
    value = as_value(self, value)
    if index is False:
        return
    if index is None or index is True:
        return copy_to(unsqueeze(self, 0), value)
    if index is Ellipsis:
        return copy_to(self, value)
    if is_int(index):
        return copy_to(apply_select(self, 0, as_int(index), 0), value)
    if index.__class__ is slice:
        return copy_to(apply_slice(self, 0, index, skip_whole=True), value)
    part, tensors = apply_slicing(self, as_tuple(index))
    if not tensors:
        return copy_to(part, value)
    if value.__class__ not in TENSOR_TYPES:
        value = make_tensor(value, dtype=self._dtype, device=self._device)
    index_put_(part, tensors, without_leading_ones(value))
    return None


def as_value(self: Tensor, value: Any) -> Any:
    """Convert an assigned tensor or number to a tensor, as autograd sees it; TypeError for any other value."""
    if value.__class__ in TENSOR_TYPES:
        return value
    if value.__class__ in SYMBOLIC:
        return value
    if isinstance(value, (bool, int, float, complex, np.integer)):
        number = value.item() if isinstance(value, np.generic) else value
        if isinstance(number, int) and number not in LONG:
            raise ValueError(f"Overflow when unpacking long long: {number}")
        dtype = self._dtype
        check_fill(dtype, number, 1)
        is_half = dtype.category == FLOATING and dtype.itemsize == 2  # where what is too large becomes infinite
        if isinstance(number, complex) and dtype.category in (INTEGER, FLOATING):
            number = number.real
        return make_tensor(number, dtype=dtype, device=self._device) if (
            is_half or self._keys & AUTOGRAD or is_seen(self)) else number
    raise TypeError(f"can't assign a {type_name(value)} to a {self.type()}")


def type_name(value: Any) -> str:
    """Return a value's type as Python's C functions name it."""
    kind = type(value)
    return f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__


def copy_to(part: Tensor, value: Any) -> None:
    """Write a value into a view."""
    if value.__class__ not in TENSOR_TYPES:
        if part._keys & NONCONTIGUOUS:  # which a number may fill, though it overlap itself
            fill_tensor_(part, make_tensor(value, dtype=part._dtype, device=part._device))
        else:
            fill_scalar_(part, value)
    elif part.shape == value.shape:
        copy_(part, value)
    elif not value.ndim and value._keys & CPU:
        fill_tensor_(part, value)
    else:
        copy_(part, expand(without_leading_ones(value), part.shape))


def without_leading_ones(value: Tensor) -> Tensor:
    """Return a view without the leading dimensions of size 1."""
    shape = value.shape
    first = next((d for d, size in enumerate(shape) if size != 1), len(shape))
    return view(value, shape[first:]) if first else value


def as_items(index: Any) -> tuple[Any, ...]:
    """Return the parts of an index, each of which may have a ``__torch_function__``."""
    return index if index.__class__ is tuple else (index,)


def is_int(index: Any) -> bool:
    return isinstance(index, (int, np.integer, SymInt)) and not isinstance(index, bool)


def as_int(index: Any) -> Any:
    """Return an index as Python's int, or as it is if it is symbolic."""
    return index if index.__class__ is SymInt else int(index)


def as_tuple(index: Any) -> tuple[Any, ...]:
    """Return an index as one item a dimension; a list of tensors, sequences, slices or None is a tuple."""
    if isinstance(index, tuple):
        return index
    if index.__class__ in TENSOR_TYPES or isinstance(index, np.ndarray) or not isinstance(index, Sequence):
        return (index,)
    if len(index) >= 32 or not any(item is None or item is Ellipsis or item.__class__ in TENSOR_TYPES
                                   or isinstance(item, (slice, Sequence, np.ndarray)) for item in index):
        return (index,)
    warnings.warn("Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in "
                  "pytorch 2.9; use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor "
                  "index, x[torch.tensor(seq)], which will result either in an error or a different result",
                  stacklevel=4)
    return tuple(index)


def dims_of(item: Any) -> int:
    """Return the number of dimensions that an item stands for."""
    if (kind := item.__class__) is slice or kind is int:
        return 1
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    if kind in TENSOR_TYPES and item._dtype in (bool_, uint8):
        return item.ndim
    return 1


def apply_slicing(self: Tensor, items: tuple[Any, ...]) -> tuple[Tensor, list[Any]]:
    """Return the view by ints, slices, None and ``...``, and the tensors left to index it, by dimension."""
    if not items or items[0].__class__ in TENSOR_TYPES:
        if all(item.__class__ in TENSOR_TYPES and item._dtype is int64 and item.ndim for item in items) and (
                len(items) <= self.ndim):
            return self, list(items)
        if len(items) == 1 and items[0]._dtype is bool_ and 0 < items[0].ndim <= self.ndim:
            return self, list(items)
    specified = sum(map(dims_of, items))
    if specified > self.ndim:
        raise about(IndexError(f"too many indices for tensor of dimension {self.ndim}"),
                    "too many indices", given=len(items))
    tensors: list[Any] = []
    part, dim, spoken_of = self, 0, 0
    for position, item in enumerate(items):
        if item is None:
            part, dim = unsqueeze(part, dim), dim + 1
        elif item is Ellipsis:
            dim += self.ndim - specified
        elif item.__class__ is slice:
            whole = item.step is None and item.start in (None, 0) and (item.stop is None)
            part, dim = part if whole else apply_slice(part, dim, item, skip_whole=True), dim + 1
        elif item.__class__ is int or is_int(item):
            part = apply_select(part, dim, as_int(item), position)
        else:
            index = index_of(self, item)
            if index.ndim or index._dtype.category >= FLOATING:
                pass
            elif index._dtype in (bool_, uint8):
                part, index = unsqueeze(part, dim), truth(self, bool(index))
            elif not index._keys & BATCHED:  # which is another number for each element
                part = apply_select(part, dim, index.item(), position)
                continue
            tensors += [None] * (dim - spoken_of) + [index]
            dim += max(dims_of(index), 1)
            spoken_of = dim
    return part, tensors


def index_of(self: Tensor, item: Any) -> Tensor:
    """Convert any other index to a tensor; IndexError if it cannot index; TypeError for complex numbers."""
    if item.__class__ in TENSOR_TYPES:
        return item
    if isinstance(item, bool):
        return make_tensor(item)
    if isinstance(item, (Sequence, np.ndarray)):
        found = make_tensor(item if isinstance(item, (list, tuple, str, bytes, np.ndarray)) else list(item))
        if found._dtype.is_complex and not isinstance(item, np.ndarray):
            raise TypeError("'complex' object cannot be interpreted as an integer")
        is_mask = found._dtype in (bool_, uint8) and found.numel()
        return found if is_mask else found.to(int64)
    try:
        return make_tensor(operator.index(item))
    except TypeError:
        raise about(IndexError("only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are "
                               f"valid indices (got {type_name(item)})"), "index type", index=item) from None


def truth(self: Tensor, value: bool) -> Tensor:
    """Return the index into a new dimension of size 1 that keeps it (True) or leaves nothing of it (False)."""
    return make_tensor([0] if value else [], dtype=int64, device=self._device)


def apply_select(part: Tensor, dim: int, index: int, position: int) -> Tensor:
    """Apply ``select``, with errors that name the dimension of the indexed tensor."""
    if index.__class__ is not SymInt and index not in LONG:
        raise ValueError("Overflow when unpacking long long")
    shape = part.shape
    if not shape and not index and not dim:
        raise about(IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` "
                               "in C++ to convert a 0-dim tensor to a number"), "no dimensions", self=part)
    size = shape[dim] if dim < len(shape) else 0
    if not -size <= index < size:
        raise about(IndexError(f"index {index} is out of bounds for dimension {position} with size {size}"),
                    "index", index=index, dim=position, size=size)
    return select(part, dim, index)


def apply_slice(part: Tensor, dim: int, index: slice, skip_whole: bool = False) -> Tensor:
    """Apply ``slice``, with Python's errors; return ``part`` itself for a whole dimension if ``skip_whole``."""
    start, stop, step = index.start, index.stop, 1 if index.step is None else operator.index(index.step)
    if step <= 0:
        if step:
            raise about(ValueError("step must be greater than zero"), "negative step", self=part)
        raise ValueError("slice step cannot be zero")
    if start.__class__ not in PLAIN_ENDS or stop.__class__ not in PLAIN_ENDS:
        start, stop = slice_end(start), slice_end(stop)
    if skip_whole and step == 1 and not start and part.ndim and (stop is None or stop >= part.shape[dim]):
        return part
    if (part._keys & PYTHON or dispatcher.mode & THREAD_STATE) and is_seen(part):  # the bounds that PyTorch fills in
        start, stop = 0 if start is None else start, LONG[-1] if stop is None else stop
    return slice_(part, dim, start, stop, step)


#: The classes of a slice's ends that are what they stand for.
PLAIN_ENDS = {int, NoneType}


def slice_end(value: Any) -> int | SymInt | None:
    try:
        return value if value is None or value.__class__ is SymInt else operator.index(value)
    except TypeError:
        if value.__class__ in TENSOR_TYPES:
            raise
        raise TypeError("slice indices must be integers or None or have an __index__ method") from None


@tensor_method("__delitem__")
def delitem(self: Tensor, index: Any) -> None:
    """Raise TypeError: elements cannot be deleted."""
    raise TypeError("Tensor does not support deleting items")
