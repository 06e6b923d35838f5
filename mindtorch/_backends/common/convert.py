"""Copies between tensors, dtypes and devices."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ... import _device
from ..._base.about import about
from ..._base.backend import backends
from ..._base.errors import check_broadcast
from ..._base.layout import Ints, Spec, broadcast_shapes, channels_last_strides, contiguous_strides, like_strides
from ..._dispatch.aten import _to_copy as convert_copy
from ..._dispatch.keys import NONCONTIGUOUS, PIPELINE
from ..._dtype import DType, bool_
from ..._tensor import Tensor, empty_tensor
from .overlap import check_writable


def copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Write another tensor's values, broadcast and converted (``Tensor.copy_``).

    Raises:
        RuntimeError: if the shapes do not broadcast to this one.
        NotImplementedError: if the source has no data.
    """
    if src is self or same_elements(self, src):
        return self
    if src.shape != self.shape:
        check_broadcast(broadcast_shapes(self.shape, src.shape), self.shape)
    check_writable(self, (src,))
    if src._dtype.is_complex and not self._dtype.is_complex and self._dtype is not bool_:
        warnings.warn("Casting complex values to real discards the imaginary part", stacklevel=2)
    backends[self._device.type].write(self, src, non_blocking)
    return self


def same_elements(self: Tensor, src: Tensor) -> bool:
    """Return True if two tensors are the same elements of one storage in the same order."""
    return (self._storage is not None and self._storage is src._storage and self._offset == src._offset
            and self._dtype is src._dtype and self.shape == src.shape and self._strides() == src._strides())


def clone(self: Tensor, memory_format: Any = None) -> Tensor:
    """Copy a tensor, with its strides if it is dense (``torch.clone``)."""
    return _to_copy(self, memory_format=memory_format)


def _to_copy(self: Tensor, dtype: DType | None = None, device: _device.device | None = None, non_blocking: bool = False,
             memory_format: Any = None) -> Tensor:
    """Copy a tensor to another dtype or device."""
    dtype = dtype or self._dtype
    out = empty_tensor(Spec(tuple(self.shape), dtype, strides_for(self, memory_format)), device or self._device)
    if device is not None and device.type == "meta":
        return out
    return copy_(out, self, non_blocking)


def strides_for(self: Tensor, memory_format: Any) -> Ints | None:
    """Return the strides of a copy in a memory format (None means ``torch.preserve_format``); None for contiguous."""
    name = getattr(memory_format, "name", memory_format)
    if name == "contiguous_format" or (not self._keys & NONCONTIGUOUS and name in (None, "preserve_format")):
        return None
    if name in (None, "preserve_format"):
        return like_strides(tuple(self.shape), self._strides())
    return strides_in_format(tuple(self.shape), name)


def strides_in_format(shape: Ints, name: str) -> Ints | None:
    """Return the strides of a shape in the memory format ``name``; None for contiguous.

    Raises:
        RuntimeError: if the format is for another number of dimensions.
    """
    if name == "contiguous_format":
        return None
    rank = {"channels_last": 4, "channels_last_3d": 5}[name]
    if len(shape) != rank:
        raise RuntimeError(f"required rank {rank} tensor to use {name} format")
    strides = channels_last_strides(shape)
    return None if strides == contiguous_strides(shape) else strides


def to_device(self: Tensor, device: _device.device | str, dtype: DType | None = None, non_blocking: bool = False,
              copy: bool = False) -> Tensor:
    """Return the tensor on a device and in a dtype: the tensor itself if nothing changes, unless ``copy``.

    Raises:
        NotImplementedError: if it is a meta tensor and the device is not: there is no data to copy.
    """
    target = _device.resolve_device(device)
    if self._keys & PIPELINE and target.type == "cpu" and not (
            self._device.type == "cpu" and self._pending.pipeline.records_copies):
        self._wait()
    dtype = dtype or self._dtype
    if not copy and dtype is self._dtype and (target == self._device or target.type == self._device.type == "cpu"):
        return self
    if self.is_meta and target.type != "meta":
        raise about(NotImplementedError("Cannot copy out of meta tensor; no data! Please use "
                                        "torch.nn.Module.to_empty() instead of torch.nn.Module.to() when moving "
                                        "module from meta to a different device."), "meta data", self=self)
    return convert_copy(self, dtype, target, non_blocking, None)


#: Kernels of every backend.
KERNELS: dict[str, Callable[..., Any]] = {"copy_": copy_, "clone": clone, "_to_copy": _to_copy,
                                          "_local_scalar_dense": lambda self: self._item()}
