"""View operators: new layouts over the same storage, on every device alike. One row an operator."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._dispatch.dispatcher import registry
from ..._dispatch.keys import CPU
from ..._dispatch.registry import Kernel, Operator
from ..._tensor import Tensor
from .layout import infer_size, storage_size, view_strides

Ints = tuple[int, ...]


def view(self: Tensor, size: Ints) -> Tensor:
    """``Tensor.view``: another shape over the same elements.

    Raises:
        RuntimeError: if the size does not fit, or the strides do not allow it.
    """
    shape = infer_size(size, self.numel())
    strides = view_strides(self.shape, self._strides(), shape)
    if strides is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return self._view(shape, strides, self._offset)


def view_lane(self: Tensor, size: Ints) -> Tensor:
    """The hot path of ``view``: the tensor is contiguous, so NumPy's reshape does not copy, and is contiguous too."""
    try:
        return self._contiguous_view(self._array.reshape(size))  # type: ignore[union-attr]
    except (ValueError, TypeError):
        return view(self, size)


def as_strided(self: Tensor, size: Ints, stride: Ints, storage_offset: int | None = None) -> Tensor:
    """``torch.as_strided``: any layout within the storage.

    Raises:
        RuntimeError: if lengths differ, a size or stride is negative, or the layout leaves the storage.
    """
    offset = self._offset if storage_offset is None else storage_offset
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(step < 0 for step in stride):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    if any(n < 0 for n in size):
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    needed = storage_size(size, stride, offset) * self._dtype.itemsize
    have = self.untyped_storage().nbytes()
    if needed > have:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize "
            f"{self._dtype.itemsize} requiring a storage size of {needed} are out of bounds for storage of size {have}"
        )
    return self._view(tuple(size), tuple(stride), offset)


def t(self: Tensor) -> Tensor:
    """``torch.t``: a matrix transposed."""
    shape, stride = self.shape, self._strides()
    if len(shape) > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {len(shape)}D")
    return self._view(tuple(shape[::-1]), stride[::-1], self._offset)


def expand(self: Tensor, size: Ints, implicit: bool = False) -> Tensor:
    """``Tensor.expand``: dimensions of size 1 repeated with stride 0."""
    shape, stride = self.shape, self._strides()
    extra = len(size) - len(shape)
    if extra < 0:
        raise RuntimeError(
            f"expand({self.dtype}{list(shape)}, size={list(size)}): the number of sizes provided ({len(size)}) must be "
            f"greater or equal to the number of dimensions in the tensor ({len(shape)})"
        )
    new_shape, new_stride = list(size), [0] * len(size)
    for d in range(len(size) - 1, -1, -1):
        wanted = size[d]
        if d < extra:
            if wanted < 0:
                raise RuntimeError(
                    f"The expanded size of the tensor ({wanted}) isn't allowed in a leading, non-existing dimension {d}"
                )
            new_stride[d] = new_shape[d + 1] * new_stride[d + 1] if d + 1 < len(size) else 1
            new_stride[d] = new_stride[d] if wanted == 1 else 0
            continue
        have = shape[d - extra]
        new_stride[d] = stride[d - extra]
        if wanted == -1:
            new_shape[d] = have
        elif wanted != have:
            if have != 1:
                raise RuntimeError(
                    f"The expanded size of the tensor ({wanted}) must match the existing size ({have}) at non-singleton "
                    f"dimension {d}.  Target sizes: {list(size)}.  Tensor sizes: {list(shape)}"
                )
            new_stride[d] = 0
    return self._view(tuple(new_shape), tuple(new_stride), self._offset)


def detach(self: Tensor) -> Tensor:
    """``Tensor.detach``: an alias outside the graph, on the same version counter."""
    return self._shallow()


ROWS: dict[str, Callable[..., Any]] = {
    "view": view,
    "as_strided": as_strided,
    "t": t,
    "expand": expand,
    "detach": detach,
}
LANES: dict[str, Callable[..., Any]] = {"view": view_lane}


def find(op: Operator, backend: int) -> Kernel | None:
    """A view's row serves every backend: it only makes layouts."""
    row = ROWS.get(op.name)
    lane = LANES.get(op.name) if backend == CPU else None
    return None if row is None else Kernel(row, row, fast=lane, makes_view=True)


registry.add_finder(find)
