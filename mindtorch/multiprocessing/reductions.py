"""Pickling of tensors for another process: as a descriptor of their storage's shared memory."""
from __future__ import annotations

import os
from multiprocessing.reduction import DupFd, ForkingPickler
from typing import Any
from weakref import WeakValueDictionary, ref

from .._storage import UntypedStorage
from .._tensor import Tensor
from .._utils import rebuild
from ..nn.parameter import Parameter

#: The storages in shared memory that this process has, so that what is received twice is one storage.
_known: WeakValueDictionary[tuple[int, int], UntypedStorage] = WeakValueDictionary()


class StorageWeakRef:
    """A weak reference to a storage: two of one storage are equal
    (``torch.multiprocessing.reductions.StorageWeakRef``).
    """

    def __init__(self, storage: Any) -> None:
        untyped = storage if isinstance(storage, UntypedStorage) else storage._untyped_storage
        self._storage = ref(untyped)
        self.cdata = untyped._cdata

    def expired(self) -> bool:
        """Return True if the storage has been freed."""
        return self._storage() is None

    def __hash__(self) -> int:
        return self.cdata

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StorageWeakRef) and (other is self or self.cdata == other.cdata)


def reduce_tensor(tensor: Tensor) -> Any:
    """Reduce a leaf to its storage and layout."""
    if not tensor.is_leaf:
        raise RuntimeError("Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does "
                           "not support crossing process boundaries.  If you just want to transfer the data, call "
                           "detach() on the tensor before serializing (e.g., putting it on the queue).")
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.detach().clone().requires_grad_(tensor.requires_grad)
    return rebuild, (type(tensor), tensor.untyped_storage(), tensor.dtype, tuple(tensor.shape), tuple(tensor.stride()),
                     tensor.storage_offset(), tensor.requires_grad)


def reduce_storage(storage: UntypedStorage) -> Any:
    """Move host memory to shared memory and send its descriptor; send empty and device storages by value."""
    if storage.device.type != "cpu" or not storage.nbytes():
        return storage.__reduce__()
    descriptor = storage.share_memory_().descriptor()
    _known[_identity(descriptor)] = storage
    return _attach, (DupFd(descriptor), storage.nbytes())


def _identity(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


def _attach(handle: Any, nbytes: int) -> UntypedStorage:
    descriptor = handle.detach()
    found = _known.get(_identity(descriptor))
    if found is None:
        found = _known[_identity(descriptor)] = UntypedStorage._over_descriptor(descriptor, nbytes)
    else:
        os.close(descriptor)
    return found


for _kind in (Tensor, Parameter):
    ForkingPickler.register(_kind, reduce_tensor)
ForkingPickler.register(UntypedStorage, reduce_storage)
