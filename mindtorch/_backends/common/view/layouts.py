"""Layouts of views that have the same elements in another shape, order or dtype.

A layout function takes the tensor and the operator's arguments and returns ``(shape, stride, offset)``. Views, their
in-place forms and their copies all use it.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...._base.about import about
from ...._base.errors import NAMES, check, type_string
from ...._base.layout import Ints, infer_size, remembered, storage_size, view_strides, wrap_dim, wrap_dims
from ...._base.symbolic import is_symbolic
from ...._dispatch.keys import CONJUGATE, NEGATIVE
from ...._tensor import Tensor

Layout = tuple[Ints, Ints, int]


def view(self: Tensor, size: Ints) -> Layout:
    """Reshape without a copy (``Tensor.view``). Raises RuntimeError if size or strides do not allow it."""
    shape = infer_size(size, self.numel())
    strides = view_strides(tuple(self.shape), self._strides(), shape)
    check(strides is not None, "view size is not compatible with input tensor's size and stride (at least one "
          "dimension spans across two contiguous subspaces). Use .reshape(...) instead.", kind="view strides")
    return shape, strides, self._offset  # type: ignore[return-value]


def as_strided(self: Tensor, size: Ints, stride: Ints, storage_offset: int | None = None) -> Layout:
    """Use any layout within the storage (``torch.as_strided``). Raises RuntimeError if it is out of bounds."""
    offset = self._offset if storage_offset is None else storage_offset
    check(len(size) == len(stride), "mismatch in length of strides and shape")
    check(all(step >= 0 for step in stride),
          lambda: f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    check(all(n >= 0 for n in size),
          lambda: f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    check(offset >= 0, lambda: f"Tensor: invalid storage offset {offset}")
    needed = storage_size(size, stride, offset) * self._dtype.itemsize
    have = self.untyped_storage().nbytes()
    check(is_symbolic((needed, have)) or needed <= have,
          lambda: f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, "
          f"and itemsize {self._dtype.itemsize} requiring a storage size of {needed} are out of bounds for storage of "
          f"size {have}")
    return tuple(size), tuple(stride), offset


def expand(self: Tensor, size: Ints, implicit: bool = False) -> Layout:
    """Repeat dimensions of size 1, with stride 0 (``Tensor.expand``). Raises RuntimeError for other sizes."""
    shape, stride = tuple(self.shape), self._strides()
    extra = len(size) - len(shape)
    check(extra >= 0,
          lambda: about(RuntimeError(f"expand({type_string(self)}{{{list(shape)}}}, size={list(size)}): the number of "
                                     f"sizes provided ({len(size)}) must be greater or equal to the number of "
                                     f"dimensions in the tensor ({len(shape)})"),
                        "expand dimensions", size=tuple(size)))
    new_shape, new_stride = list(size), [0] * len(size)
    for d in range(len(size) - 1, -1, -1):
        wanted = size[d]
        if d >= extra:
            have, step = shape[d - extra], stride[d - extra]
        else:
            have, step = 1, new_shape[d + 1] * new_stride[d + 1] if d + 1 < len(size) else 1
        if wanted == -1:
            if d < extra:
                raise RuntimeError("The expanded size of the tensor (-1) isn't allowed in a leading, non-existing "
                                   f"dimension {d}")
            new_shape[d] = have
        elif wanted != have:
            if have != 1:
                raise about(RuntimeError(f"The expanded size of the tensor ({wanted}) must match the existing size "
                                         f"({have}) at non-singleton dimension {d}.  Target sizes: {list(size)}.  "
                                         f"Tensor sizes: {list(shape)}"),
                            "expand", dim=d, size=tuple(size), shape=tuple(shape))
            check(wanted >= 0, "numel: integer multiplication overflow")
            step = 0
        new_stride[d] = step if shape else 0
    return tuple(new_shape), tuple(new_stride), self._offset


def permute(self: Tensor, dims: Ints) -> Layout:
    """Reorder the dimensions (``torch.permute``). Raises RuntimeError unless each is given once."""
    shape, stride = self.shape, self._strides()
    check(len(dims) == len(shape), lambda: "permute(sparse_coo): number of dimensions in the tensor input does not "
          f"match the length of the desired ordering of dimensions i.e. input.dim() = {len(shape)} is not equal to "
          f"len(dims) = {len(dims)}", kind="permutation")
    order: Ints = ()
    for dim in dims:
        order += (wrap_dim(dim, len(shape)),)
        check(order[-1] not in order[:-1], "permute(): duplicate dims are not allowed.", kind="permutation")
    return tuple([shape[d] for d in order]), tuple([stride[d] for d in order]), self._offset


def transpose(self: Tensor, dim0: int, dim1: int) -> Layout:
    """Swap two dimensions (``torch.transpose``)."""
    shape, stride = list(self.shape), list(self._strides())
    first, second = wrap_dim(dim0, len(shape)), wrap_dim(dim1, len(shape))
    if shape:
        shape[first], shape[second] = shape[second], shape[first]
        stride[first], stride[second] = stride[second], stride[first]
    return tuple(shape), tuple(stride), self._offset


def t(self: Tensor, name: str = "t") -> Layout:
    """Transpose a matrix, keep a vector (``torch.t``). Raises RuntimeError for more than two dimensions."""
    shape = tuple(self.shape)
    check(len(shape) <= 2,
          lambda: f"{name}() expects a tensor with <= 2 dimensions, but self is {len(shape)}D",
          kind="t of many dimensions")
    return shape[::-1], self._strides()[::-1], self._offset


def t_(self: Tensor) -> Layout:
    """Transpose as ``t`` does, with its own name in the error (``Tensor.t_``)."""
    return t(self, "t_")


def unsqueeze(self: Tensor, dim: int) -> Layout:
    """Insert a dimension of size 1 (``torch.unsqueeze``)."""
    shape, stride = tuple(self.shape), self._strides()
    dim = wrap_dim(dim, len(shape) + 1)
    step = shape[dim] * stride[dim] if dim < len(shape) else 1
    return (*shape[:dim], 1, *shape[dim:]), (*stride[:dim], step, *stride[dim:]), self._offset


def squeeze_dims(self: Tensor, dim: Sequence[int]) -> Layout:
    """Remove the given dimensions that have size 1 (``torch.squeeze``)."""
    shape = self.shape
    return *squeezed(shape, self._strides(), wrap_dims(dim, len(shape)) if len(dim) else ()), self._offset


@remembered
def squeezed(shape: Ints, stride: Ints, dims: Ints) -> tuple[Ints, Ints]:
    """Return sizes and strides without the given dimensions that have size 1."""
    kept = [d for d in range(len(shape)) if d not in dims or shape[d] != 1]
    return tuple([shape[d] for d in kept]), tuple([stride[d] for d in kept])


def view_as_real(self: Tensor) -> Layout:
    """Split complex numbers into a last dimension of size 2 (``torch.view_as_real``). Raises RuntimeError for others.
    """
    check(self._dtype.is_complex, "view_as_real is only supported for complex tensors")
    check(not self._keys & CONJUGATE, "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the "
          "conjugate tensor so you can view it as real, use self.resolve_conj(); however, be warned that the resulting "
          "tensor will NOT alias the original.")
    return (*self.shape, 2), (*(2 * step for step in self._strides()), 1), 2 * self._offset


def view_as_complex(self: Tensor) -> Layout:
    """Merge a last dimension of size 2 into complex numbers (``torch.view_as_complex``).

    Raises:
        RuntimeError: if the dtype, the last size or the strides do not allow it.
    """
    shape, stride = tuple(self.shape), self._strides()
    check(self._dtype.is_floating_point and self._dtype.to_complex().itemsize == 2 * self._dtype.itemsize,
          lambda: "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar "
                  f"type: {NAMES[self._dtype.name]}")
    check(shape, "Input tensor must have one or more dimensions")
    check(shape[-1] == 2, "Tensor must have a last dimension of size 2")
    check(stride[-1] == 1, "Tensor must have a last dimension with stride 1")
    check(all(step % 2 == 0 for step in stride[:-1]),
          "Tensor must have a stride divisible by 2 for all but last dimension")
    check(self._offset % 2 == 0, "Tensor must have a storage_offset divisible by 2")
    return shape[:-1], tuple(step // 2 for step in stride[:-1]), self._offset // 2


def view_dtype(self: Tensor, dtype: Any) -> Layout:
    """Reinterpret the memory as another dtype (``Tensor.view``). Raises RuntimeError if last dimension, strides or
    offset do not allow it, or for a tensor with the Conjugate or Negative key.
    """
    for bit, kind in ((CONJUGATE, "conjugate view tensors"), (NEGATIVE, "tensors with negative bit set")):
        check(dtype is self._dtype or not self._keys & bit,
              f"torch.Tensor.view is not supported for {kind} when converting to a different dtype.")
    shape, stride, offset = list(self.shape), list(self._strides()), self._offset
    old, new = self._dtype.itemsize, dtype.itemsize
    if old == new:
        return tuple(shape), tuple(stride), offset
    names = f"to view {NAMES[self._dtype.name]} as {NAMES[dtype.name]} (different element sizes)"
    check(shape, lambda: f"self.dim() cannot be 0 {names}")
    check(stride[-1] == 1, lambda: f"self.stride(-1) must be 1 {names}, but got {stride[-1]}")
    if old > new:
        ratio = old // new
        return ((*shape[:-1], shape[-1] * ratio), (*(step * ratio for step in stride[:-1]), 1), offset * ratio)
    ratio = new // old
    check(shape[-1] % ratio == 0, lambda: f"self.size(-1) must be divisible by {ratio} {names}, but got {shape[-1]}")
    check(offset % ratio == 0, lambda: f"self.storage_offset() must be divisible by {ratio} {names}, but got {offset}")
    for d, step in enumerate(stride[:-1]):
        if step % ratio != 0:
            raise RuntimeError(f"self.stride({d}) must be divisible by {ratio} {names}, but got {step}")
    return ((*shape[:-1], shape[-1] // ratio), (*(step // ratio for step in stride[:-1]), 1), offset // ratio)


LAYOUTS: dict[str, Callable[..., Layout]] = {
    "view": view,
    "_reshape_alias": lambda self, size, stride: (size, stride, self._offset),
    "as_strided": as_strided,
    "expand": expand,
    "alias": lambda self: (tuple(self.shape), self._strides(), self._offset),
    "permute": permute,
    "transpose.int": transpose,
    "t": t,
    "unsqueeze": unsqueeze,
    "squeeze": lambda self: squeeze_dims(self, range(self.dim())),
    "squeeze.dim": lambda self, dim: squeeze_dims(self, (dim,)),
    "squeeze.dims": squeeze_dims,
}
