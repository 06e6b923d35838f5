"""``torch.UntypedStorage``: the bytes under tensors."""
from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from .. import _device
from .._base.about import about
from .._base.backend import DeviceMemory, backends
from .._base.layout import storage_size
from .._dtype import DType
from .memory import out_of_host_memory

if TYPE_CHECKING:
    from .._tensor import Tensor
    from .typed import TypedStorage

_BYTE, ndarray, new = np.dtype(np.uint8), np.ndarray, object.__new__


class StorageBase:
    """The methods that storages of bytes and of elements share."""

    is_sparse = is_sparse_csr = is_cuda = is_hpu = False
    device: _device.device

    def untyped(self) -> UntypedStorage:
        """Return the same storage as bytes (``torch.TypedStorage.untyped``)."""
        raise NotImplementedError

    def _like(self, storage: UntypedStorage) -> Any:
        """Return another storage as elements of the same kind."""
        raise NotImplementedError

    def _elements(self) -> np.ndarray:
        """Return a CPU storage's elements as a flat array; NotImplementedError on other devices."""
        raise NotImplementedError

    @property
    def _cdata(self) -> int:
        return id(self.untyped())

    @property
    def filename(self) -> str | None:
        """The file that a shared storage of ``from_file`` lies in, else None (``torch.UntypedStorage.filename``)."""
        return self.untyped()._filename

    def data_ptr(self) -> int:
        """Return the address of the first byte, 0 if there is no memory (``torch.UntypedStorage.data_ptr``)."""
        return self.untyped().data_ptr()

    def nbytes(self) -> int:
        """Return the size in bytes (``torch.UntypedStorage.nbytes``)."""
        return self.untyped()._nbytes

    def resizable(self) -> bool:
        """Return True if ``resize_`` can change the size (``torch.UntypedStorage.resizable``)."""
        return self.untyped()._resizable

    def is_shared(self) -> bool:
        """Return True if the storage is in memory that other processes can see (``torch.UntypedStorage.is_shared``)."""
        return self.untyped()._memory_map is not None

    def is_pinned(self, device: Any = None) -> bool:
        """Return True if the bytes lie in page-locked host memory (``torch.UntypedStorage.is_pinned``)."""
        return self.untyped()._pinned is not None

    def get_device(self) -> int:
        """Return the index of the device, -1 for the CPU (``torch.UntypedStorage.get_device``)."""
        return -1 if self.device.index is None else self.device.index

    def to(self, *, device: Any, non_blocking: bool = False) -> Any:
        """Return the storage on a device, which is itself if it is there (``torch.UntypedStorage.to``)."""
        where, source = _device.resolve_device(_device.device(device)), self.untyped()
        if where == self.device:
            return self
        return self._like(UntypedStorage(source._nbytes, device=where) if where.type == "meta"
                          else UntypedStorage(source._nbytes, device=where).copy_(source))

    def cpu(self) -> Any:
        """Return the storage in host memory, which is itself on the CPU (``torch.UntypedStorage.cpu``)."""
        return self.to(device="cpu")

    def npu(self, device: Any = None, non_blocking: bool = False) -> Any:
        """Return the storage on an NPU, by default the current one, as ``torch.UntypedStorage.cuda`` does for a GPU."""
        return self.to(device="npu" if device is None else _device.device(device))

    def clone(self) -> Any:
        """Return a copy on the same device (``torch.UntypedStorage.clone``)."""
        source = self.untyped()
        if source._memory is not None:
            return self._like(UntypedStorage(source._nbytes, device=self.device).copy_(source))
        if self.device.type == "meta":
            return self._like(UntypedStorage(source._nbytes, device=self.device))
        return self._like(UntypedStorage(data=source._host_bytes().copy()))

    def tolist(self) -> list[Any]:
        """Return the elements as a list of Python numbers (``torch.UntypedStorage.tolist``)."""
        return self.cpu()._elements().tolist()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __len__(self) -> int:
        raise NotImplementedError

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def __copy__(self) -> Any:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        source = self.untyped()
        if id(source) not in memo:
            memo[id(source)] = source.clone()
        return self._like(memo[id(source)])

    def _described(self) -> str:
        raise NotImplementedError

    def __repr__(self) -> str:
        lines = "..." if self.device.type == "meta" else " " + "\n ".join(map(str, self.tolist()))
        return f"{lines}\n[torch.storage.{self._described()}) of size {len(self)}]"


class UntypedStorage(StorageBase):
    """A number of bytes on a device (``torch.UntypedStorage``).

    A CPU storage owns host memory (``_bytes``, a flat uint8 array), an NPU storage device memory (``_memory``) and
    nothing on the host, a meta storage has a size and no data. ``aliases`` holds weak references to the tensors that
    see this storage.
    """

    device = _device.CPU
    _resizable = True
    _filename: str | None = None
    _checkpoint_offset: int | None = None  #: of a meta storage: where its bytes are in the file that it was loaded from
    _prune_at = 16
    _typed: dict[DType, TypedStorage] | None = None  #: it as elements of dtypes, where that was asked for
    _memory_map: mmap.mmap | None = None
    _shared_file: Any = None  #: the file under shared memory, which has no name
    _bytes: np.ndarray | None = None
    _memory: DeviceMemory | None = None
    _pinned: Any = None  #: what owns page-locked host memory

    def __init__(self, size: Any = 0, *, device: _device.device | str | None = None, data: np.ndarray | None = None):
        values = None
        if device is not None:
            self.device = _device.resolve_device(device)
        if isinstance(size, (list, tuple)):
            values = np.array(size, np.uint8)
            size = values.size
            if self.device.type == "cpu":
                values, data = None, values
        if size < 0:
            raise RuntimeError(f"Storage size must not be negative, got {size}")
        self._nbytes = size if data is None else data.nbytes
        memory = backends[self.device.type].allocate(size, self.device) if data is None else data
        if memory is None or isinstance(memory, np.ndarray):
            self._bytes = memory
        else:
            self._memory = memory
        self._aliases: list[ref[Tensor]] = []
        if values is not None and self.device.type != "meta":
            self.copy_(UntypedStorage(data=values))

    def add_alias(self, tensor: Tensor) -> None:
        """Register a tensor that uses this storage, for as long as it lives."""
        self._aliases.append(ref(tensor))
        if len(self._aliases) > self._prune_at:
            self.prune()

    def prune(self) -> None:
        """Forget the aliases that are gone."""
        self._aliases = [alias for alias in self._aliases if alias() is not None]
        self._prune_at = max(16, 2 * len(self._aliases))

    def aliases(self) -> list[Tensor]:
        """Return the live tensors that see this storage, oldest first."""
        return [tensor for alias in self._aliases if (tensor := alias()) is not None and tensor._storage is self]

    def untyped(self) -> UntypedStorage:
        """Return the storage itself (``torch.UntypedStorage.untyped``)."""
        return self

    def _like(self, storage: UntypedStorage) -> UntypedStorage:
        return storage

    def nbytes(self) -> int:
        """Return the size in bytes (``torch.UntypedStorage.nbytes``)."""
        return self._nbytes

    size = nbytes
    __len__ = nbytes

    def data_ptr(self) -> int:
        """Return the address of the first byte, 0 if there is no memory (``torch.UntypedStorage.data_ptr``). Raises
        RuntimeError for the storage of a wrapper subclass.
        """
        if self._memory is not None:
            return self._memory.address
        if self._bytes is None and self._nbytes and self.device.type == "cpu":
            raise RuntimeError("Attempted to access the data pointer on an invalid python storage.")
        return 0 if self._bytes is None or not self._nbytes else self._bytes.__array_interface__["data"][0]

    def element_size(self) -> int:
        """Return the size of one element in bytes, which is 1 (``torch.UntypedStorage.element_size``)."""
        return 1

    typed: Callable[[DType], TypedStorage]  #: see ``typed.py``

    def _rebind(self, data: np.ndarray) -> None:
        """Move to other memory, and every tensor that sees this storage with it."""
        self._bytes, self._nbytes = data, data.nbytes
        for tensor in self.aliases():
            tensor._refresh_array()

    def _take_over(self, other: UntypedStorage) -> None:
        """Have another storage's memory from now on, and every tensor that sees this storage with it."""
        if other._memory is not None:
            self._memory, self._nbytes = other._memory, other._nbytes
        else:
            self._rebind(other._host_bytes())

    def resize_(self, size: int) -> UntypedStorage:
        """Change the size in bytes, and keep the bytes that fit (``torch.UntypedStorage.resize_``). Raises RuntimeError
        if the memory belongs to another library (a NumPy array), or a tensor sees bytes that would go (PyTorch lets it
        read whatever comes to lie there).
        """
        if not self._resizable:
            raise RuntimeError("Trying to resize storage that is not resizable")
        for tensor in self.aliases() if size < self._nbytes else ():
            needed = storage_size(tensor.shape, tensor._strides(), tensor._offset) * tensor._dtype.itemsize
            if needed > size:
                raise RuntimeError(f"cannot resize the storage to {size} bytes: a tensor with sizes "
                                   f"{list(tensor.shape)}, strides {list(tensor._strides())} and storage offset "
                                   f"{tensor._offset} needs {needed} bytes of it")
        if self._bytes is None:
            if self._memory is not None:
                self._memory = self._memory.grown(size)
            self._nbytes = size
            return self
        try:
            data = np.zeros(size, np.uint8)
        except MemoryError:
            raise out_of_host_memory((size,), np.dtype(np.uint8)) from None
        kept = min(size, self._nbytes)
        data[:kept] = self._bytes[:kept]
        self._rebind(data)
        return self

    def copy_(self, source: StorageBase, non_blocking: bool | None = None) -> UntypedStorage:
        """Copy another storage's bytes into this one, which has the same size (``torch.UntypedStorage.copy_``). Raises
        RuntimeError if the sizes differ, and NotImplementedError if one of the two is on the meta device.
        """
        source = source.untyped()
        if "meta" in (self.device.type, source.device.type):
            raise about(NotImplementedError("Cannot copy out of meta tensor; no data!"), "meta data")
        if source._nbytes != self._nbytes:
            raise RuntimeError(f"size mismatch: this storage has {self._nbytes} bytes, the source {source._nbytes}")
        if self._memory is not None:
            self._memory.copy_from(source._host_bytes() if source._memory is None else source._memory, self._nbytes)
        else:
            self._host_bytes()[:] = (source._host_bytes() if source._memory is None
                                     else source._memory.read(self._nbytes))
        return self

    def fill_(self, value: int) -> UntypedStorage:
        """Set every byte to ``value`` (``torch.UntypedStorage.fill_``)."""
        if self._memory is not None:
            self._memory.copy_from(np.full(self._nbytes, value, np.uint8), self._nbytes)
        else:
            self._host_bytes()[:] = value
        return self

    def type(self) -> str:
        """Return the name of the class (``torch.UntypedStorage.type``)."""
        return "torch.storage.UntypedStorage"

    def byteswap(self, dtype: DType) -> None:
        """Reverse each element's bytes, by real and imaginary part (``torch.UntypedStorage.byteswap``)."""
        size = dtype.to_real().itemsize
        bytes_ = self._host_bytes()
        bytes_[:] = bytes_.reshape(-1, size)[:, ::-1].reshape(-1)

    def _elements(self) -> np.ndarray:
        return self._host_bytes()

    def _host_bytes(self) -> np.ndarray:
        if self._bytes is None:
            raise NotImplementedError(f"Not available for '{self.device.type}' storage")
        return self._bytes

    def share_memory_(self) -> UntypedStorage:
        """Move the bytes to shared memory, open to forks (``torch.UntypedStorage.share_memory_``)."""
        if self._shared_file is None and self._nbytes:
            file = _nameless_file()
            file.truncate(self._nbytes)
            data = self._map_file(file)
            data[:] = self._host_bytes()
            self._rebind(data)
        return self

    def descriptor(self) -> int:
        """Return the file descriptor of shared memory, which is open for as long as this storage lives."""
        return self._shared_file.fileno()

    @classmethod
    def _over_descriptor(cls, descriptor: int, nbytes: int) -> UntypedStorage:
        """Return a storage over another process's shared memory. The descriptor belongs to it from now on."""
        storage = cls()
        storage._rebind(storage._map_file(os.fdopen(descriptor, "r+b", buffering=0), nbytes))
        return storage

    def _map_file(self, file: Any, nbytes: int = 0) -> np.ndarray:
        self._shared_file = file
        weakref.finalize(self, file.close)  # the collector would warn of an open file
        self._memory_map = mmap.mmap(file.fileno(), nbytes or self._nbytes)
        return np.frombuffer(self._memory_map, np.uint8)

    @classmethod
    def from_file(cls, filename: str, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """Map the first bytes of a file as a storage, read on first access (``torch.UntypedStorage.from_file``). With
        ``shared``, writes go to the file, which is made or grown as needed. Raises RuntimeError if the file is shorter
        than ``nbytes`` and not ``shared``.
        """
        with open(filename, "a+b" if shared else "rb") as file:
            size = file.seek(0, 2)
            if shared and size < nbytes:
                file.truncate(nbytes)
            elif size < nbytes:
                raise RuntimeError(f"unable to map {nbytes} bytes from file {filename}: it has only {size}")
            if not nbytes:
                return cls()
            mapped = mmap.mmap(file.fileno(), nbytes, access=mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY)
        storage = cls(data=np.frombuffer(mapped, np.uint8))
        if shared:
            storage._memory_map, storage._filename = mapped, str(filename)
        storage._resizable = False
        return storage

    def __getitem__(self, index: Any) -> Any:
        item = self._host_bytes()[index]
        return UntypedStorage(data=item) if isinstance(item, np.ndarray) else int(item)

    def __setitem__(self, index: Any, value: Any) -> None:
        self._host_bytes()[index] = value

    def _described(self) -> str:
        return f"UntypedStorage(device={self.device}"


def _nameless_file() -> Any:
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("mindtorch_storage"), "r+b", buffering=0)
    return tempfile.TemporaryFile(buffering=0)


def storage_of_array(array: np.ndarray, tensor: Tensor) -> UntypedStorage:
    """Return a CPU storage over the memory of a C-contiguous array; a tensor is its first alias."""
    storage = new(UntypedStorage)  # whose __init__ would look for what this is not
    storage._aliases, storage._nbytes = [ref(tensor)], (nbytes := array.nbytes)
    try:
        storage._bytes = ndarray(nbytes, _BYTE, array)  # in half the time of two views
    except ValueError:  # bfloat16 has no buffers, and no elements have none
        storage._bytes = array.reshape(-1).view(_BYTE) if array.size else np.empty(0, _BYTE)
    return storage
