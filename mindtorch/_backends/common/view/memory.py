"""``Tensor.set_``: make a tensor an alias of another storage."""
from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from ...._base.errors import CPP_NAMES, NAMES, check
from ...._base.layout import Ints, contiguous_strides, storage_size
from ...._dtype import DType
from ...._storage import UntypedStorage
from ...._storage.memory import MAX_DIMS
from ...._tensor import Tensor


def bytes_of_layout(dtype: DType, offset: int, size: Ints, stride: Ints) -> int:
    """Return how many bytes of storage a layout needs. Raises RuntimeError if the layout is invalid."""
    check(offset >= 0, lambda: f"Tensor: invalid storage offset {offset}")
    check(len(size) == len(stride), lambda: f"unequal size length ({len(size)}) and stride length ({len(stride)})")
    check(min(size, default=0) >= 0 and max(prod(size), offset, *size, *stride) * dtype.itemsize < 2**63,
          lambda: f"numel: integer multiplication overflow with sizes={list(size)}")
    check(min(stride, default=0) >= 0,
          lambda: f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    check(len(size) <= MAX_DIMS, lambda: f"a tensor of {len(size)} dimensions: NumPy has at most {MAX_DIMS}")
    return storage_size(size, stride, offset) * dtype.itemsize


def check_layout(storage: UntypedStorage, dtype: DType, offset: int, size: Ints, stride: Ints) -> None:
    """Raise RuntimeError if a layout is invalid or exceeds a storage."""
    needed = bytes_of_layout(dtype, offset, size, stride)
    check(needed <= storage.nbytes(),
          lambda: f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize "
                  f"{dtype.itemsize} requiring a storage size of {needed} are out of bounds for storage of size "
                  f"{storage.nbytes()}")


def set_storage_offset(self: Tensor, source: Any, storage_offset: int, size: Ints, stride: Ints = ()) -> Tensor:
    """Give the tensor a layout in a storage, growing the storage if necessary.

    Raises:
        RuntimeError: if the layout is invalid, the storage is on another device, or it would have to grow and cannot.
    """
    storage = source.untyped()
    check(source is storage or source.dtype is self._dtype,
          lambda: f"Expected a Storage of type {CPP_NAMES[self._dtype.name]} or an UntypedStorage, but got type "
                  f"{NAMES[source.dtype.name]} for argument 1 'storage'")
    check(storage.device.type == self._device.type,
          lambda: f"Attempted to set the storage of a tensor on device \"{self._device}\" to a storage on different "
                  f"device \"{storage.device}\".  This is no longer allowed; the devices must match.")
    stride = stride or contiguous_strides(size)
    needed = bytes_of_layout(self._dtype, storage_offset, size, stride)
    if needed > storage.nbytes():
        storage.resize_(needed)
    self.untyped_storage()
    self._set_layout(storage, size, stride, storage_offset)
    self._accumulator = None  # the old gradient accumulator belongs to the old tensor
    return self


def set_storage(self: Tensor, source: Any) -> Tensor:
    """Give the tensor all of a storage, as a vector."""
    return set_storage_offset(self, source, 0, (source.untyped().nbytes() // self._dtype.itemsize,))


def set_tensor(self: Tensor, source: Tensor) -> Tensor:
    """Give the tensor another tensor's storage and layout. Raises RuntimeError if their dtypes differ."""
    check(source._dtype is self._dtype,
          lambda: f"Could not set tensor of type {CPP_NAMES[source._dtype.name]} to a tensor of type "
                  f"{CPP_NAMES[self._dtype.name]}")
    return set_storage_offset(self, source.untyped_storage(), source._offset, tuple(source.shape), source._strides())


def set_(self: Tensor) -> Tensor:
    """Give the tensor an empty storage."""
    return set_storage_offset(self, UntypedStorage(0, device=self._device), 0, (0,))


KERNELS: dict[str, Callable[..., Tensor]] = {
    "set_": set_,
    "set_.source_Tensor": set_tensor,
    "set_.source_Storage": set_storage,
    "set_.source_Storage_storage_offset": set_storage_offset,
}
