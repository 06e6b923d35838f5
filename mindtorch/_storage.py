"""Storages: the memory under tensors, and who shares it."""
from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _device
from ._about import about
from ._backend import DeviceMemory, backends
from ._dtype import DType

if TYPE_CHECKING:
    from ._tensor import Tensor


def allocate(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An uninitialised array. Raises PyTorch's RuntimeError if there is not that much memory."""
    try:
        return np.empty(shape, dtype)
    except (MemoryError, ValueError):
        size = prod(shape) * dtype.itemsize
        raise about(RuntimeError(f"DefaultCPUAllocator: can't allocate memory: you tried to allocate {size} bytes."),
                    "out of memory", asked=size, host=True) from None


_BYTE = np.dtype(np.uint8)


class UntypedStorage:
    """A number of bytes on a device (``torch.UntypedStorage``).

    A CPU storage owns host memory (``_bytes``, a flat uint8 array), an NPU storage device memory (``_memory``) and
    nothing on the host, a meta storage has a size and no data. ``aliases`` holds weak references to the tensors that
    see this storage.
    """

    device = _device.CPU
    resizable = True
    _prune_at = 16
    _memory_map: mmap.mmap | None = None
    _shared_file: Any = None  #: the file under shared memory, which has no name
    _bytes: np.ndarray | None = None
    _memory: DeviceMemory | None = None
    _pinned: Any = None  #: what owns page-locked host memory

    def __init__(self, size: int = 0, *, device: _device.device | str | None = None, data: np.ndarray | None = None):
        if device is not None:
            self.device = _device.resolve_device(device)
        if size < 0:
            raise RuntimeError(f"Storage size must not be negative, got {size}")
        self._nbytes = size if data is None else data.nbytes
        memory = backends[self.device.type].allocate(size, self.device) if data is None else data
        if memory is None or isinstance(memory, np.ndarray):
            self._bytes = memory
        else:
            self._memory = memory
        self._aliases: list[weakref.ref[Tensor]] = []
        self._typed: dict[DType, TypedStorage] = {}

    def add_alias(self, tensor: Tensor) -> None:
        """Remember a tensor that sees this storage, for as long as it lives."""
        aliases = self._aliases
        aliases.append(weakref.ref(tensor))
        if len(aliases) > self._prune_at:
            self._aliases = [ref for ref in aliases if ref() is not None]
            self._prune_at = max(16, 2 * len(self._aliases))

    def aliases(self) -> list[Tensor]:
        """The live tensors that see this storage, oldest first."""
        return [tensor for ref in self._aliases if (tensor := ref()) is not None and tensor._storage is self]

    def nbytes(self) -> int:
        """The size in bytes (``torch.UntypedStorage.nbytes``)."""
        return self._nbytes

    size = nbytes
    __len__ = nbytes

    def data_ptr(self) -> int:
        """The address of the first byte, 0 where there is no memory (``torch.UntypedStorage.data_ptr``)."""
        if self._memory is not None:
            return self._memory.address
        return 0 if self._bytes is None or not self._nbytes else self._bytes.ctypes.data

    def element_size(self) -> int:
        """The size of one element in bytes, which is 1 (``torch.UntypedStorage.element_size``)."""
        return 1

    def typed(self, dtype: DType) -> TypedStorage:
        """This storage as elements of ``dtype``: always the same object for the same dtype."""
        found = self._typed.get(dtype)
        if found is None:
            found = self._typed[dtype] = TypedStorage(self, dtype)
        return found

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
        """Change the size in bytes, and keep the bytes that fit (``torch.UntypedStorage.resize_``).

        Raises:
            RuntimeError: if the memory belongs to another library (a NumPy array).
        """
        if not self.resizable:
            raise RuntimeError("Trying to resize storage that is not resizable")
        if self._bytes is None:
            if self._memory is not None:
                self._memory = self._memory.grown(size)
            self._nbytes = size
            return self
        data = np.zeros(size, np.uint8)
        kept = min(size, self._nbytes)
        data[:kept] = self._bytes[:kept]
        self._rebind(data)
        return self

    def copy_(self, source: UntypedStorage) -> UntypedStorage:
        """Copy another storage's bytes into this one, which has the same size (``torch.UntypedStorage.copy_``).

        Raises:
            RuntimeError: if the sizes differ.
            NotImplementedError: if one of the two is on the meta device.
        """
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

    def cpu(self) -> UntypedStorage:
        """The bytes in host memory, which is the storage itself on the CPU (``torch.UntypedStorage.cpu``)."""
        return self if self._memory is None else UntypedStorage(data=self._memory.read(self._nbytes))

    def fill_(self, value: int) -> UntypedStorage:
        """Set every byte to ``value`` (``torch.UntypedStorage.fill_``)."""
        if self._memory is not None:
            self._memory.copy_from(np.full(self._nbytes, value, np.uint8), self._nbytes)
        else:
            self._host_bytes()[:] = value
        return self

    def clone(self) -> UntypedStorage:
        """A copy of the bytes on the same device (``torch.UntypedStorage.clone``)."""
        if self._memory is not None:
            return UntypedStorage(self._nbytes, device=self.device).copy_(self)
        return UntypedStorage(device=self.device, data=self._host_bytes().copy())

    def tolist(self) -> list[int]:
        """The bytes as a list of integers (``torch.UntypedStorage.tolist``)."""
        return self.cpu()._host_bytes().tolist()

    def _host_bytes(self) -> np.ndarray:
        if self._bytes is None:
            raise NotImplementedError(f"Not available for '{self.device.type}' storage")
        return self._bytes

    def share_memory_(self) -> UntypedStorage:
        """Move the bytes to shared memory, which forked processes see, and others by its descriptor
        (``torch.UntypedStorage.share_memory_``).
        """
        if self._shared_file is None and self._nbytes:
            file = _nameless_file()
            file.truncate(self._nbytes)
            data = self._map_file(file)
            data[:] = self._host_bytes()
            self._rebind(data)
        return self

    def descriptor(self) -> int:
        """The file descriptor of shared memory, which is open for as long as this storage lives."""
        return self._shared_file.fileno()

    @classmethod
    def _over_descriptor(cls, descriptor: int, nbytes: int) -> UntypedStorage:
        """A storage over another process's shared memory. The descriptor belongs to it from now on."""
        storage = cls()
        storage._rebind(storage._map_file(os.fdopen(descriptor, "r+b", buffering=0), nbytes))
        return storage

    def _map_file(self, file: Any, nbytes: int = 0) -> np.ndarray:
        self._shared_file = file
        self._memory_map = mmap.mmap(file.fileno(), nbytes or self._nbytes)
        return np.frombuffer(self._memory_map, np.uint8)

    def is_shared(self) -> bool:
        """Whether the bytes lie in memory that other processes can see (``torch.UntypedStorage.is_shared``)."""
        return self._memory_map is not None

    def is_pinned(self) -> bool:
        """Whether the bytes lie in page-locked host memory (``torch.UntypedStorage.is_pinned``)."""
        return self._pinned is not None

    @classmethod
    def from_file(cls, filename: str, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """A storage over a file's bytes (``torch.UntypedStorage.from_file``). With ``shared``, writes go to the file,
        which is made or grown as needed.

        Raises:
            RuntimeError: if the file is shorter than ``nbytes`` and not ``shared``.
        """
        if shared:
            with open(filename, "a+b") as file:
                if file.seek(0, 2) < nbytes:
                    file.truncate(nbytes)
                mapped = mmap.mmap(file.fileno(), nbytes)
            storage = cls(data=np.frombuffer(mapped, np.uint8))
            storage._memory_map = mapped
        else:
            data = np.fromfile(filename, np.uint8, count=nbytes or -1)
            if data.nbytes < nbytes:
                raise RuntimeError(f"unable to map {nbytes} bytes from file {filename}: it has only {data.nbytes}")
            storage = cls(data=data)
        storage.resizable = False
        return storage

    def __getitem__(self, index: Any) -> Any:
        item = self._host_bytes()[index]
        return UntypedStorage(data=item) if isinstance(item, np.ndarray) else int(item)

    def __setitem__(self, index: Any, value: Any) -> None:
        self._host_bytes()[index] = value

    def __repr__(self) -> str:
        return f"<torch.storage.UntypedStorage of {self._nbytes} bytes on {self.device} at {self.data_ptr():#x}>"


class TypedStorage:
    """A storage as elements of one dtype (``torch.TypedStorage``). Calling it returns it, so that ``t.storage`` and
    ``t.storage()`` are the same.
    """

    def __init__(self, untyped: UntypedStorage, dtype: DType):
        self._untyped = untyped
        self.dtype = dtype

    def __call__(self) -> TypedStorage:
        return self

    def untyped(self) -> UntypedStorage:
        """The same storage as bytes (``torch.TypedStorage.untyped``)."""
        return self._untyped

    @property
    def device(self) -> _device.device:
        """The device whose memory this is (``torch.TypedStorage.device``)."""
        return self._untyped.device

    @property
    def data(self) -> np.ndarray:
        """The elements of a CPU storage as a flat NumPy array over the same memory."""
        usable = self._untyped._nbytes // self.dtype.itemsize * self.dtype.itemsize
        return self._untyped._host_bytes()[:usable].view(self.dtype.np)

    def nbytes(self) -> int:
        """The size in bytes (``torch.TypedStorage.nbytes``)."""
        return self._untyped.nbytes()

    def size(self) -> int:
        """The number of elements (``torch.TypedStorage.size``)."""
        return self._untyped.nbytes() // self.dtype.itemsize

    __len__ = size

    def element_size(self) -> int:
        """The size of one element in bytes (``torch.TypedStorage.element_size``)."""
        return self.dtype.itemsize

    def data_ptr(self) -> int:
        """The address of the first element (``torch.TypedStorage.data_ptr``)."""
        return self._untyped.data_ptr()

    def resize_(self, size: int) -> TypedStorage:
        """Change the number of elements (``torch.TypedStorage.resize_``)."""
        self._untyped.resize_(size * self.dtype.itemsize)
        return self

    def copy_(self, source: TypedStorage) -> TypedStorage:
        """Copy another storage's elements into this one, converted to this dtype (``torch.TypedStorage.copy_``)."""
        self.data[:] = source.data
        return self

    def fill_(self, value: Any) -> TypedStorage:
        """Set every element to ``value`` (``torch.TypedStorage.fill_``)."""
        self.data[:] = value
        return self

    def share_memory_(self) -> TypedStorage:
        """Move the storage to shared memory (``torch.TypedStorage.share_memory_``)."""
        self._untyped.share_memory_()
        return self

    def is_shared(self) -> bool:
        """Whether the storage is in memory that other processes can see (``torch.TypedStorage.is_shared``)."""
        return self._untyped.is_shared()

    def tolist(self) -> list[Any]:
        """The elements as a list of Python numbers (``torch.TypedStorage.tolist``)."""
        return self.data.tolist()

    def __getitem__(self, index: int) -> Any:
        return self.data[index].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self.data[index] = value

    def __iter__(self) -> Any:
        return iter(self.data.tolist())

    def __repr__(self) -> str:
        lines = "".join(f" {value}\n" for value in self.tolist()) if self.device.type == "cpu" else "...\n"
        return f"{lines}[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {self.size()}]"


def _nameless_file() -> Any:
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("mindtorch_storage"), "r+b", buffering=0)
    return tempfile.TemporaryFile(buffering=0)


def storage_of_array(array: np.ndarray, resizable: bool = True) -> UntypedStorage:
    """A CPU storage over the memory of a C-contiguous array."""
    storage = UntypedStorage(data=array.reshape(-1).view(_BYTE) if array.size else np.empty(0, _BYTE))
    if not resizable:
        storage.resizable = False
    return storage
