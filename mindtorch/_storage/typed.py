"""``torch.TypedStorage``: a storage as elements of one dtype, and the classes ``torch.FloatStorage`` and so on."""
from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _device
from .._base import errors as errors
from .._base.call_site import warn_once
from .._dtype import DTYPES, DType, get_default_dtype
from .untyped import StorageBase, UntypedStorage


class TypedStorage(StorageBase):
    """A storage as elements of one dtype (``torch.TypedStorage``): ``TypedStorage(5)`` has five, uninitialised ones,
    ``TypedStorage([1, 2])`` these, and ``TypedStorage(wrap_storage=storage, dtype=dtype)`` those of an untyped storage.

    Calling it returns it, so that ``t.storage`` and ``t.storage()`` are the same. Raises RuntimeError for arguments
    that do not go together, and TypeError for arguments of another type.
    """

    dtype: DType

    def __init__(self, *args: Any, wrap_storage: UntypedStorage | None = None, dtype: DType | None = None,
                 device: Any = None, _internal: bool = False):
        if not _internal:
            _warn_of_removal()
        if wrap_storage is not None:
            if args or device is not None:
                raise RuntimeError("TypedStorage.__init__ received an invalid combination of arguments: neither sizes "
                                   "nor a device should be given when using 'wrap_storage'")
            if dtype is None:
                raise RuntimeError("TypedStorage.__init__ received an invalid combination of arguments: Argument "
                                   "'dtype' must be specified")
            if not isinstance(dtype, DType):
                raise TypeError(f"Argument 'dtype' must be torch.dtype, not {type(dtype)}")
            if not isinstance(wrap_storage, UntypedStorage):
                raise TypeError(f"Argument 'wrap_storage' must be UntypedStorage, but got {type(wrap_storage)}")
        elif len(args) > 1:
            raise RuntimeError("TypedStorage.__init__ received an invalid combination of arguments: Too many "
                               "positional arguments")
        self.dtype = dtype = dtype or get_default_dtype()
        self._untyped = _made(args[0] if args else 0, dtype, device) if wrap_storage is None else wrap_storage

    def __call__(self) -> TypedStorage:
        _warn_of_removal()
        return self

    def untyped(self) -> UntypedStorage:
        """Return the same storage as bytes (``torch.TypedStorage.untyped``)."""
        return self._untyped

    _untyped_storage = property(untyped)

    def _like(self, storage: UntypedStorage) -> TypedStorage:
        return storage.typed(self.dtype)

    @property
    def device(self) -> _device.device:  # type: ignore[override]
        """The device whose memory this is (``torch.TypedStorage.device``)."""
        return self._untyped.device

    @property
    def data(self) -> np.ndarray:
        """The elements of a CPU storage as a flat NumPy array over the same memory."""
        usable = self._untyped._nbytes // self.dtype.itemsize * self.dtype.itemsize
        return self._untyped._host_bytes()[:usable].view(self.dtype.np)

    def _elements(self) -> np.ndarray:
        return self.data

    def size(self) -> int:
        """Return the number of elements (``torch.TypedStorage.size``)."""
        return self._untyped.nbytes() // self.dtype.itemsize

    __len__ = size

    def element_size(self) -> int:
        """Return the size of one element in bytes (``torch.TypedStorage.element_size``)."""
        return self.dtype.itemsize

    def type(self) -> str:
        """Return the name of the class of storages of this dtype (``torch.TypedStorage.type``)."""
        if self.device.type in ("cpu", "npu"):
            return f"torch.{'npu.' * (self.device.type == 'npu')}{self.pickle_storage_type()}"
        return "torch.storage.TypedStorage"

    def pickle_storage_type(self) -> str:
        """Return this dtype's storage name in files (``torch.TypedStorage.pickle_storage_type``)."""
        return NAMES[self.dtype]

    def resize_(self, size: int) -> TypedStorage:
        """Change the number of elements (``torch.TypedStorage.resize_``)."""
        self._untyped.resize_(size * self.dtype.itemsize)
        return self

    def copy_(self, source: StorageBase, non_blocking: bool | None = None) -> TypedStorage:
        """Copy another storage's elements into this one, converted to this dtype (``torch.TypedStorage.copy_``)."""
        self.data[:] = source.cpu()._elements()
        return self

    def fill_(self, value: Any) -> TypedStorage:
        """Set every element to ``value`` (``torch.TypedStorage.fill_``)."""
        self[:] = value
        return self

    def share_memory_(self) -> TypedStorage:
        """Move the storage to shared memory (``torch.TypedStorage.share_memory_``)."""
        self._untyped.share_memory_()
        return self

    @classmethod
    def from_file(cls, filename: str, shared: bool = False, size: int = 0) -> TypedStorage:
        """Map a file's first ``size`` elements (``torch.FloatStorage.from_file``), given a dtype's class."""
        if not hasattr(cls, "dtype"):
            raise RuntimeError("from_file can only be called on derived classes")
        return UntypedStorage.from_file(filename, shared, size * cls.dtype.itemsize).typed(cls.dtype)

    @classmethod
    def from_buffer(cls, buffer: Any, byte_order: str = "native", count: int = -1, offset: int = 0, *,
                    dtype: DType | None = None) -> TypedStorage:
        """Return a storage with a copy of the elements in a buffer from byte ``offset`` on, whose bytes are in
        ``byte_order`` 'little', 'big' or 'native' (``torch.FloatStorage.from_buffer``). Raises ValueError for another
        byte order, and for a buffer that is too short.
        """
        if byte_order not in ("native", "little", "big"):
            raise ValueError(f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')")
        dtype = getattr(cls, "dtype", None) or dtype or get_default_dtype()
        data = np.frombuffer(buffer, np.uint8)[offset:]
        if offset < 0 or count * dtype.itemsize > data.size or (count < 0 and data.size % dtype.itemsize):
            raise ValueError(f"the buffer of {memoryview(buffer).nbytes} bytes has not {count} elements of "
                             f"{dtype.itemsize} bytes from byte {offset} on")
        storage = UntypedStorage(data=data[: count * dtype.itemsize if count >= 0 else None].copy())
        if byte_order not in ("native", sys.byteorder):
            storage.byteswap(dtype)
        if dtype.name == "bool":
            storage._host_bytes()[:] = storage._host_bytes() != 0
        return storage.typed(dtype)

    def __getitem__(self, index: int) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return self.data[index].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        if not isinstance(index, (int, slice)):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        self.data[index] = value

    def _described(self) -> str:
        return f"TypedStorage(dtype={self.dtype}, device={self.device}"


class Removal:
    """True to warn of each typed storage's deprecation, not only of the first one's."""

    always = False


def _warn_of_removal() -> None:
    """Issue PyTorch's deprecation warning of typed storages."""
    warn_once("TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only "
              "storage class. This should only matter to you if you are using storages directly.  To access "
              "UntypedStorage directly, use tensor.untyped_storage() instead of tensor.storage()",
              always=Removal.always)


def _made(data: Any, dtype: DType, device: Any) -> UntypedStorage:
    """Make an untyped storage of a number of elements, or with these elements; TypeError if ``data`` is neither."""
    if isinstance(data, (int, np.integer)):
        return UntypedStorage(int(data) * dtype.itemsize, device="cpu" if device is None else device)
    if not isinstance(data, Sequence):
        raise TypeError("TypedStorage.__init__ received an invalid combination of arguments: Argument type not "
                        f"recognized: {type(data)}")
    storage = UntypedStorage(data=np.array(data, dtype.np).view(np.uint8))
    return storage if device is None else storage.to(device=device)


def typed(self: UntypedStorage, dtype: DType) -> TypedStorage:
    """Return this storage as elements of ``dtype``: always the same object for one dtype."""
    if self._typed is None:
        self._typed = {}
    found = self._typed.get(dtype)
    if found is None:
        found = self._typed[dtype] = TypedStorage(wrap_storage=self, dtype=dtype, _internal=True)
    return found


class _LegacyStorageType(type):
    dtype: DType

    def __instancecheck__(cls, instance: Any) -> bool:
        dtype = getattr(cls, "dtype", None)
        return isinstance(instance, TypedStorage) and instance.dtype is dtype and instance.device.type == "cpu"


class _LegacyStorage(TypedStorage, metaclass=_LegacyStorageType):
    """A class of storages of one dtype. What it makes is a ``TypedStorage``; that is one of its instances, too."""

    def __new__(cls, *args: Any, wrap_storage: UntypedStorage | None = None, **kwargs: Any) -> Any:
        if cls is _LegacyStorage:
            raise RuntimeError("Only child classes of _LegacyStorage can be instantiated")
        for name in kwargs:
            raise RuntimeError(f"{cls}.__new__ received an invalid combination of arguments: Keyword argument '{name}' "
                               "cannot be specified")
        return TypedStorage(*args, wrap_storage=wrap_storage, dtype=cls.dtype)


#: PyTorch's classes of storages, by the dtypes of their elements.
NAMES = {dtype: f"{errors.NAMES[name]}Storage" for name, dtype in DTYPES.items()}
LEGACY_STORAGES: dict[str, Any] = {
    name: _LegacyStorageType(name, (_LegacyStorage,), {"dtype": dtype, "__module__": "mindtorch",
                                                       "__doc__": f"Storages of {dtype} (``torch.{name}``)."})
    for dtype, name in NAMES.items()}


def _converter(name: str, dtype: DType) -> Any:
    def convert(self: StorageBase) -> TypedStorage:
        return UntypedStorage(data=self.cpu()._elements().astype(dtype.np).view(np.uint8)).to(
            device=self.device).typed(dtype)

    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = f"A copy of the elements in the dtype {dtype.name} (``torch.UntypedStorage.{name}``)."
    return convert


for _name, _dtype in {"double": "float64", "float": "float32", "half": "float16", "long": "int64", "int": "int32",
                      "short": "int16", "char": "int8", "byte": "uint8", "bool": "bool", "bfloat16": "bfloat16",
                      "complex_double": "complex128", "complex_float": "complex64"}.items():
    setattr(StorageBase, _name, _converter(_name, DTYPES[_dtype]))
