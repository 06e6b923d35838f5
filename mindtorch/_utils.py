"""Copying and pickling of tensors and storages, under the names of PyTorch's files: ``torch._utils``; and exceptions
that are sent from process to process.
"""
from __future__ import annotations

import copy
import copyreg
import reprlib
import sys
import threading
import traceback
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from operator import index
from types import ModuleType
from typing import Any

import numpy as np

from . import _device
from ._autograd.grad_mode import no_grad
from ._backends.common.convert import to_device
from ._backends.common.view.memory import check_layout
from ._base.about import about, tell_operators
from ._base.backend import backends
from ._base.forks import load_module
from ._base.formats import sparse_coo
from ._creation import as_subclass, empty_strided
from ._creation.sparse import (
    _validate_sparse_compressed_tensor_args, _validate_sparse_coo_tensor_args, sparse_compressed_tensor,
    sparse_coo_tensor,
)
from ._dispatch.aten import as_strided, cat, clone
from ._dispatch.keys import CONJUGATE, MATH_BITS, NEGATIVE, PIPELINE, PYTHON, SPARSES
from ._dtype import RARE, DType
from ._storage import TypedStorage, UntypedStorage
from ._tensor import Tensor, is_own, new, tensor_method


class _Loading(threading.local):
    """The state of this thread while it saves or loads a file."""

    map_location: Any = None  #: of the load that is going on
    resolved: dict[Any, Tensor] | None = None  #: of that load: storages whose elements were mapped, as flat tensors
    skip_data = False  #: whether the bytes of storages are neither written nor read
    checks: list[Callable[[], None]] | None = None  #: of tensors whose storages are filled at the end of the load


loading = _Loading()


# -- rebuilding ----------------------------------------------------------------------------------------------------


def _rebuild_tensor(storage: TypedStorage, storage_offset: int, size: Any, stride: Any) -> Tensor:
    """Return a tensor on a storage; TypeError if that is none; RuntimeError if the layout leaves the storage."""
    if not isinstance(storage, TypedStorage):
        raise TypeError(f"a tensor needs a storage, but got {type(storage).__name__}")
    return _on(storage.untyped(), storage.dtype, storage_offset, size, stride)


def _on(storage: UntypedStorage, dtype: DType, offset: int, size: Any, stride: Any, cls: Any = Tensor) -> Any:
    """Make a tensor without operators, which a pipeline would defer; check sizes, strides and storage."""
    if not isinstance(dtype, DType):
        raise TypeError(f"expected a dtype, but got {type(dtype).__name__}")
    offset, size, stride = index(offset), tuple(map(index, size)), tuple(map(index, stride))
    check_layout(storage, dtype, offset, size, stride)
    out = new(cls)
    out._dtype, out._device, out._keys = dtype, storage.device, backends[storage.device.type].key
    out._set_layout(storage, size, stride, offset)
    return out


def rebuild(cls: Any, storage: UntypedStorage, dtype: DType, shape: Any, stride: Any, offset: int,
            requires_grad: bool) -> Any:
    """Return a leaf of a class on a storage."""
    return _on(storage, dtype, offset, shape, stride, cls).requires_grad_(requires_grad)


def _finished(tensor: Tensor, requires_grad: bool, hooks: Any, metadata: Any) -> Tensor:
    """Restore a rebuilt tensor's conjugate and negative bits, ``requires_grad``, and the hooks of old files.

    Raises TypeError if bits or hooks are in no dictionary, and RuntimeError for a conjugate bit of real numbers.
    """
    for what, given in (("bits", metadata), ("hooks", hooks)):
        if not isinstance(given, (dict, type(None))) and not (type(given) is tuple and not given):
            raise TypeError(f"expected a dictionary of a tensor's {what}, but got {type(given).__name__}")
    metadata = metadata or {}
    if not all(isinstance(name, str) and isinstance(bit, int) for name, bit in metadata.items()):
        raise TypeError(f"a tensor's bits have names and are true or false, but got {reprlib.repr(metadata)}")
    for name, bit in (("conj", CONJUGATE), ("neg", NEGATIVE)):
        if metadata.get(name):
            if bit == CONJUGATE and not tensor._dtype.is_complex:
                raise RuntimeError(f"only complex numbers have a conjugate bit, but the tensor is {tensor._dtype}")
            tensor._keys ^= bit
    tensor.requires_grad = requires_grad
    for hook in (hooks or {}).values():
        tensor.register_hook(hook)
    return tensor


def _mapped(tensor: Tensor, what: Any, function: Callable[[Tensor], Tensor]) -> Tensor:
    """Make a tensor on a storage with mapped elements, once a load, needing only the storage's memory."""
    storage, known = tensor.untyped_storage(), {} if loading.resolved is None else loading.resolved
    key = (storage, tensor._dtype, what)
    if key not in known:
        known[key] = function(_on(storage, tensor._dtype, 0, (storage.nbytes() // tensor._dtype.itemsize,), (1,)))
    return as_strided(known[key], tuple(tensor.shape), tensor._strides(), tensor._offset).detach()


def _rebuild_tensor_v2(storage: TypedStorage, storage_offset: int, size: Any, stride: Any, requires_grad: bool,
                       backward_hooks: Any, metadata: Any = None) -> Tensor:
    """Return a tensor of a storage's dtype."""
    tensor = _rebuild_tensor(storage, storage_offset, size, stride)
    return _finished(tensor, requires_grad, backward_hooks, metadata)


def _rebuild_tensor_v3(storage: Any, storage_offset: int, size: Any, stride: Any, requires_grad: bool,
                       backward_hooks: Any, dtype: DType, metadata: Any = None) -> Tensor:
    """Return a tensor of a dtype on an untyped storage."""
    if not isinstance(storage, (TypedStorage, UntypedStorage)):
        raise TypeError(f"a tensor needs a storage, but got {type(storage).__name__}")
    tensor = _on(storage.untyped(), dtype, storage_offset, size, stride)
    return _finished(tensor, requires_grad, backward_hooks, metadata)


def _rebuild_meta_tensor_no_storage(dtype: DType, size: Any, stride: Any, requires_grad: bool) -> Tensor:
    """Return a meta tensor."""
    return _finished(empty_strided(size, stride, dtype=dtype, device="meta"), requires_grad, None, None)


def _rebuild_sparse_tensor(layout: Any, data: Any) -> Tensor:
    """Return a sparse tensor of its parts; what they must be is checked, since a file may hold anything."""
    first, second, *rest = data
    if not (isinstance(first, Tensor) and isinstance(second, Tensor)):
        raise TypeError(f"a sparse tensor needs tensors, but got {type(first).__name__} and {type(second).__name__}")
    now = loading.checks is None
    if layout is sparse_coo:
        size, *coalesced = rest
        known = coalesced[0] if coalesced else None
        made = sparse_coo_tensor(first, second, size, is_coalesced=known, check_invariants=now)
        check = partial(_validate_sparse_coo_tensor_args, first, second, size, known)
    else:
        values, size = rest
        made = sparse_compressed_tensor(first, second, values, size, layout=layout, check_invariants=now)
        check = partial(_validate_sparse_compressed_tensor_args, first, second, values, size, layout)
    if loading.checks is not None:
        loading.checks.append(check)
    return made


def _rebuild_device_tensor_from_cpu_tensor(data: Tensor, dtype: DType, device: Any, requires_grad: bool) -> Tensor:
    """Return a tensor whose values were saved as another tensor's, on the CPU."""
    where = restore_device(device)
    moved = _mapped(data, (where, dtype), lambda flat: to_device(flat, where, dtype))
    return moved.requires_grad_(requires_grad)


def _rebuild_device_tensor_from_numpy(data: np.ndarray, dtype: DType, device: Any, requires_grad: bool) -> Tensor:
    """Return a tensor whose values were saved as a NumPy array."""
    flat = Tensor(np.asarray(data))
    return to_device(flat, restore_device(device), dtype).requires_grad_(requires_grad)


def restore_device(device: Any) -> Any:
    """Return the device that ``map_location`` gives a tensor; RuntimeError if it is a function."""
    mapped = loading.map_location
    if isinstance(mapped, dict):
        return mapped.get(device, device)
    if callable(mapped):
        raise RuntimeError("Callable map_location not supported with _rebuild_wrapper_subclass or "
                           "_rebuild_device_tensor_from_numpy")
    return _device.device(device if mapped is None else mapped)


def _rebuild_from_type_v2(func: Callable[..., Tensor], new_type: Any, args: Any, state: Any) -> Tensor:
    """Return a tensor of a subclass, with the attributes that it had."""
    out = func(*args)
    if type(out) is not new_type:
        out = as_subclass(out, new_type)
    if type(out).__setstate__ is not Tensor.__setstate__:
        out.__setstate__(state)
        return out
    return _set_obj_state(out, state)


def _set_obj_state(obj: Any, state: Any) -> Any:
    """Set a tensor's attributes from a state: a dictionary, or two, the second for slots. Raises RuntimeError if the
    state is neither, or would change an attribute that every tensor has.
    """
    parts = state if isinstance(state, tuple) else (state,)
    if len(parts) > 2 or not all(part is None or isinstance(part, dict) for part in parts):
        raise RuntimeError(f"Invalid serialized state: {reprlib.repr(state)}")
    for part in parts:
        for name, value in (part or {}).items():
            if is_own(name):
                raise RuntimeError(f"Invalid serialized state: it has the attribute {name!r}, which is the tensor's")
            setattr(obj, name, value)
    return obj


# -- reducing ------------------------------------------------------------------------------------------------------


def get_obj_state(self: Tensor) -> Any:
    """Return the attributes and slots that users added to a tensor, as ``object.__getstate__`` does."""
    cls: Any = type(self)
    if cls.__getstate__ is not object.__getstate__:
        return self.__getstate__()
    slots = {name: getattr(self, name) for name in copyreg._slotnames(cls)  # type: ignore[attr-defined]
             if hasattr(self, name)}
    attributes = dict(self.__dict__) or None
    return (attributes, slots) if slots else attributes


@tensor_method("__reduce_ex__")
def _reduce_ex(self: Tensor, protocol: Any) -> Any:
    """Describe for pickle and ``copy.copy`` how to rebuild the tensor: from its storage and layout."""
    for hook in (self._hooks or {}).values():
        if not getattr(hook, "__torch_unserializable__", False):
            warnings.warn(f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can "
                          "decorate the function with @torch.utils.hooks.unserializable_hook to suppress this warning",
                          stacklevel=2)
    parts: tuple[Any, ...]
    bits = {name: True for name, bit in (("conj", CONJUGATE), ("neg", NEGATIVE)) if self._keys & bit}
    metadata = (bits,) if bits else ()
    if self._keys & PIPELINE:
        self._wait()
    if self._keys & SPARSES:
        held = self._sparse
        data = ((held.indices, held.values, self.shape, held.coalesced) if held.plain is None else
                (held.indices, held.plain, held.values, self.shape))
        return _rebuild_sparse_tensor, (held.layout, data)
    stride = (*self._strides(),)  # tensors may have one tuple between them, which PyTorch's never have
    if self.is_meta:
        if loading.skip_data:
            warnings.warn("Serializing tensors on the meta device under skip_data context manager is a no-op",
                          stacklevel=2)
        parts = (_rebuild_meta_tensor_no_storage, (self._dtype, tuple(self.shape), stride, self.requires_grad))
    elif self._dtype.name in RARE:  # which no class of storages is named after
        parts = (_rebuild_tensor_v3, (self.untyped_storage(), self._offset, tuple(self.shape), stride,
                                      self.requires_grad, OrderedDict(), self._dtype, *metadata))
    else:
        parts = (_rebuild_tensor_v2, (self.storage, self._offset, tuple(self.shape), stride,
                                      self.requires_grad, OrderedDict(), *metadata))
    state = get_obj_state(self)
    if type(self) is Tensor and not state:
        return parts
    return _rebuild_from_type_v2, (parts[0], type(self), parts[1], state)


def set_within(self: Tensor, source: Any, offset: int, size: Any, stride: Any) -> None:
    """Apply ``set_`` to a layout from a file. Raises RuntimeError for a layout that leaves its storage, which ``set_``
    would grow, and TypeError if there is no storage.
    """
    if not isinstance(source, (TypedStorage, UntypedStorage)):
        raise TypeError(f"a tensor needs a storage, but got {type(source).__name__}")
    check_layout(source.untyped(), self._dtype, index(offset), tuple(map(index, size)), tuple(map(index, stride)))
    self.set_(source, offset, size, stride)


@tensor_method("__setstate__")
def _setstate(self: Tensor, state: Any) -> None:
    """Set the state of a tensor in PyTorch's old files; RuntimeError if the tensor is not a leaf."""
    if not self.is_leaf:
        raise RuntimeError("__setstate__ can be only called on leaf Tensors")
    if len(state) == 4:
        set_within(self, *state)
        return
    if len(state) == 5:
        self.data = state[0]
        state = (state[3], state[4], state[2])
    self.requires_grad, _, _ = state  # no old file has the hooks in between


@tensor_method("__deepcopy__")
def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """Return a leaf with a storage of its own, shared as before within one copy; RuntimeError with history."""
    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf:
        raise about(RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
                                 "protocol at the moment.  If you were attempting to deepcopy a module, this may be "
                                 "because of a torch.nn.utils.weight_norm usage, see "
                                 "https://github.com/pytorch/pytorch/pull/103001"), "deep copy", self=self)
    if self._keys & PIPELINE:
        self._wait()
    if self._keys & SPARSES or (self._keys & PYTHON and self._array is None):
        return _copied_wrapper(self, memo)
    storage = copy.deepcopy(self.untyped_storage(), memo)
    bits = self._keys & MATH_BITS
    out = memo[id(self)] = rebuild(type(self), storage, self._dtype, tuple(self.shape), self._strides(), self._offset,
                                   self.requires_grad and not bits)
    if bits:  # what is copied is no longer put off
        out._keys |= bits
        out = memo[id(self)] = clone(out).requires_grad_(self.requires_grad)
    return _with_attributes(out, self, memo)


def _copied_wrapper(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """Copy a subclass without elements by its ``clone``; RuntimeError if the clone is of another class."""
    with no_grad():
        out = memo[id(self)] = self.clone()
    if type(out) is not type(self):
        raise RuntimeError("The default implementation of __deepcopy__() for wrapper subclasses only works for "
                           "subclass types that implement clone() and for which cloning returns another instance of "
                           "the same subclass. You should either properly implement clone() for your subclass or "
                           "override __deepcopy__() if it is intended behavior for clone() to return an instance of a "
                           "different type.")
    return _with_attributes(out.requires_grad_(self.requires_grad), self, memo)


def _with_attributes(out: Tensor, self: Tensor, memo: dict[int, Any]) -> Tensor:
    """Copy the gradient and a program's attributes to a copy."""
    if self._grad is not None:
        out._grad = _deepcopy(self._grad, memo)
    for name in copyreg._slotnames(type(self)):  # type: ignore[attr-defined]
        if hasattr(self, name):
            setattr(out, name, copy.deepcopy(getattr(self, name), memo))
    out.__dict__.update({name: copy.deepcopy(value, memo) for name, value in self.__dict__.items()})
    return out


def _storage_reduce(self: UntypedStorage, protocol: Any) -> Any:
    data = None if self.device.type == "meta" else self.cpu()._host_bytes().tobytes()
    return (_storage_of, (data, self.nbytes(), str(self.device)))


def _storage_of(data: bytes | None, size: int, device: str) -> UntypedStorage:
    storage = UntypedStorage(size, device=device)
    return storage if data is None else storage.copy_(UntypedStorage(data=np.frombuffer(data, np.uint8)))


def _typed_reduce(self: TypedStorage, protocol: Any) -> Any:
    return UntypedStorage.typed, (self.untyped(), self.dtype)


UntypedStorage.__reduce_ex__ = _storage_reduce  # type: ignore[method-assign, assignment]
TypedStorage.__reduce_ex__ = _typed_reduce  # type: ignore[method-assign, assignment]


# -- exceptions of other processes ---------------------------------------------------------------------------------


class KeyErrorMessage(str):
    """The text of a KeyError, which shows its argument's ``repr``."""

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """An exception, as text and type, that goes from where it was raised to where it is raised again."""

    def __init__(self, exc_info: Any = None, where: str = "in background"):
        info: Any = exc_info or sys.exc_info()
        kind, error, trace = info
        tell_operators(error)
        self.exc_type: Any = kind
        self.exc_msg = "".join(traceback.format_exception(kind, error, trace))
        self.where = where

    def reraise(self) -> None:
        """Raise an exception of the type, or a RuntimeError where that takes more than a message."""
        message = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            message = KeyErrorMessage(message)
        elif getattr(self.exc_type, "message", None):
            raise self.exc_type(message=message)
        try:
            error = self.exc_type(message)
        except Exception:
            raise RuntimeError(message) from None
        raise error


def _element_size(dtype: Any) -> int:
    """Return the size of one element in bytes (``torch._utils._element_size``); programs call it with dtypes."""
    return dtype.itemsize


def _get_available_device_type() -> str | None:
    """Return the kind of the accelerator, None without one (``torch._utils._get_available_device_type``)."""
    found = load_module("mindtorch.accelerator").current_accelerator()
    return None if found is None else found.type


def _get_device_module(device_type: str) -> ModuleType:
    """Return the module of a kind of device (``torch._utils._get_device_module``). Raises RuntimeError without one."""
    try:
        return load_module(f"mindtorch.{device_type}")
    except ModuleNotFoundError:
        raise RuntimeError(f"Device '{device_type}' does not have a corresponding module registered as "
                           f"'torch.{device_type}'.") from None


# -- lists of tensors, as distributed programs send them -------------------------------------------------------------


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """Return the elements of tensors of one dtype as a vector (``torch._utils._flatten_dense_tensors``)."""
    return cat([tensor.contiguous().view(-1) for tensor in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Return views of a vector in the shapes of tensors (``torch._utils._unflatten_dense_tensors``)."""
    found, offset = [], 0
    for tensor in tensors:
        count = tensor.numel()
        found.append(flat.narrow(0, offset, count).view(tensor.shape))
        offset += count
    return tuple(found)


def _take_tensors(tensors: Iterable[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """Yield groups of tensors of one type, of at most ``size_limit`` bytes unless a tensor alone has more
    (``torch._utils._take_tensors``).
    """
    groups: defaultdict[str, list[Tensor]] = defaultdict(list)
    sizes: defaultdict[str, int] = defaultdict(int)
    for tensor in tensors:
        kind = tensor.type()
        parts = (tensor._indices(), tensor._values()) if tensor.is_sparse else (tensor,)
        size = sum(part.numel() * part.element_size() for part in parts)
        if sizes[kind] and sizes[kind] + size > size_limit:
            yield groups[kind]
            groups[kind], sizes[kind] = [], 0
        groups[kind].append(tensor)
        sizes[kind] += size
    yield from groups.values()


def _reorder_tensors_as(tensors: Iterable[Tensor], ordered_tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """Return tensors in the order in which tensors of their types stand in another list
    (``torch._utils._reorder_tensors_as``).
    """
    by_kind: defaultdict[str, list[Tensor]] = defaultdict(list)
    for tensor in tensors:
        by_kind[tensor.type()].append(tensor)
    rest = {kind: iter(group) for kind, group in by_kind.items()}
    return tuple(next(rest[tensor.type()]) for tensor in ordered_tensors)
