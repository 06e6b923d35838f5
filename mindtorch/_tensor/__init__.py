"""The tensor: a layout over a storage, with its keys, its version and its place in the autograd graph.

A CPU tensor is a NumPy array and a dtype; everything else (shape as ``Size``, strides, storage, version) is computed on
demand. ``_methods.api`` attaches operators as methods, ``values`` the conversions to Python.
"""
from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, MutableMapping
from copyreg import _slotnames  # type: ignore[attr-defined]
from math import prod
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import ref

import numpy as np

from .. import _device
from .._autograd import engine, views
from .._autograd.accumulate import check_assigned_grad, grad_accumulator, grad_dtype, set_grad_dtype
from .._autograd.hooks import HookDict, RemovableHandle
from .._autograd.node import Node
from .._base.about import about, check_format, wrong_argument
from .._base.backend import backends
from .._base.formats import LAYOUTS, contiguous_format, layout, strided
from .._base.layout import (
    Ints, Layout, Spec, contiguous_strides, intern_layout, is_channels_last, is_contiguous,
    is_non_overlapping_and_dense, storage_size,
)
from .._base.quiet import silent
from .._base.size import Size, Stride, index_of
from .._base.symbolic import SymInt
from .._device import device as Device
from .._dispatch.aten import clone, detach
from .._dispatch.dispatcher import TENSOR_TYPES
from .._dispatch.keys import (
    AUTOGRAD, BACKEND_OF_DEVICE, BATCHED, CONJUGATE, CPU, DERIVED, FUNCTION, INFERENCE, MATH_BITS, META, NEGATIVE,
    NONCONTIGUOUS, PIPELINE, PYTHON, SPARSE, SPARSE_CSR, SPARSES, UNINITIALIZED,
)
from .._dispatch.local import local
from .._dispatch.pipeline import flush_for
from .._dispatch.torch_dispatch import disabled_torch_dispatch, dispatches
from .._dispatch.torch_function import (
    PLAIN, DisableTorchFunctionSubclass, disabled_torch_function, handler_changed, note_handler, of_class,
    order_of_bases, overrides, replaced,
)
from .._dtype import FLOATING, WIDER, DType
from .._storage import TypedStorage, UntypedStorage, allocate, can_be, out_of_host_memory, storage_of_array

WITHOUT_STORAGE = PIPELINE | BATCHED | SPARSES  #: the keys of tensors that have no storage, or not yet
OF_VIEWS = ~(DERIVED | NONCONTIGUOUS)  #: the keys that a contiguous view has of its tensor
#: The plan of a CPU view: shape, dtype, how many elements further it begins, strides in bytes (None: all elements of a
#: contiguous tensor in another shape), strides (None: contiguous), and its layout, by which its own plans are found.
Step = tuple[Ints, np.dtype, int, Ints | None, Ints | None, Layout | None]
new: Callable[..., Any] = object.__new__
ndarray = np.ndarray
new_size: Callable[..., Any] = tuple.__new__
Method = TypeVar("Method", bound=Callable[..., Any])


if TYPE_CHECKING:
    from .methods import Methods  # a stub, made by the build, of what is attached to tensors
    from .sparse import Parts
else:
    class Methods:
        """An object with a dictionary."""


#: The descriptor of the dictionary that holds a tensor's own attributes and those that a program gave it.
STATE: Any = vars(Methods)["__dict__"]
state_of: Callable[[Tensor], dict[str, Any]] = STATE.__get__


class Attributes(dict[str, Any]):
    """The attributes that a program gave a tensor, by name: to set one here is to set it there."""

    __slots__ = ("tensor",)
    update, setdefault, clear = MutableMapping.update, MutableMapping.setdefault, MutableMapping.clear
    popitem = MutableMapping.popitem

    def __init__(self, tensor: Tensor):
        dict.update(self, {name: value for name, value in state_of(tensor).items() if not is_own(name)})
        self.tensor = tensor

    def __setitem__(self, name: str, value: Any) -> None:
        dict.__setitem__(self, name, value)
        state_of(self.tensor)[name] = value

    def __delitem__(self, name: str) -> None:
        dict.__delitem__(self, name)
        del state_of(self.tensor)[name]

    def pop(self, name: str, *default: Any) -> Any:
        """Remove an attribute, and return it, or the default."""
        if name in self:
            del state_of(self.tensor)[name]
        return dict.pop(self, name, *default)

    def __ior__(self, other: Any) -> Attributes:  # type: ignore[override, misc]
        self.update(other)
        return self

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


def is_own(name: str) -> bool:
    """Return True if every tensor has an attribute of this name."""
    return hasattr(Tensor, name) or name in Tensor.__annotations__


def replace_attributes(self: Tensor, attributes: dict[str, Any]) -> None:
    """Give a tensor other attributes; its own stay what they are."""
    found = Attributes(self)
    found.clear()
    found.update({name: value for name, value in attributes.items() if not is_own(name)})


#: The ``__dict__`` of tensors. Each class has it, since any other base would bring the descriptor of all of them.
ATTRIBUTES = property(Attributes, replace_attributes)


class _TensorMeta(type):
    """The type of tensor classes; ``Tensor.__new__``, the legacy constructor, is only for users' calls."""

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **kwargs: Any) -> Any:
        """Make a class whose instances show the attributes that programs gave them."""
        return super().__new__(mcs, name, bases, {"__dict__": ATTRIBUTES, **namespace}, **kwargs)

    def mro(cls) -> list[type]:
        """Return the order of the bases: a subclass with a ``__torch_function__`` has ``Overridable`` in it."""
        return order_of_bases(cls, type.mro(cls))

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **kwargs: Any) -> None:
        """Make a class one of the tensors' (not in ``__init_subclass__``, which a subclass may replace)."""
        super().__init__(name, bases, namespace)
        TENSOR_TYPES.add(cls)
        if cls.__base__ is Methods:
            return
        if dispatches(cls) and inspect.getattr_static(cls, "__torch_function__") is OWN_TORCH_FUNCTION:
            cls.__torch_function__ = staticmethod(disabled_torch_function)
        note_handler(cls)

    def __getattribute__(cls, name: str) -> Any:
        """Return an attribute of a class; methods of tensors in the form that asks ``__torch_function__``."""
        value = type.__getattribute__(cls, name)
        if value.__class__ is FunctionType and type.__getattribute__(cls, "__base__") is Methods:  # not of a subclass
            return of_class(name, value)
        return value

    def __repr__(cls) -> str:
        """Return the public name of ``Tensor``; its module's own is where ``inspect`` finds the source."""
        return type.__repr__(cls).replace("._tensor.Tensor", ".Tensor")

    def __setattr__(cls, name: str, value: Any) -> None:
        """Set an attribute of a class; a ``__torch_function__`` is asked from then on."""
        type.__setattr__(cls, name, value)
        if cls.__base__ is Methods:
            replaced(name, value)
        elif name == "__torch_function__":
            handler_changed(cls)

    def __delattr__(cls, name: str) -> None:
        """Delete an attribute of a class; the ``__torch_function__`` of a base is asked from then on."""
        type.__delattr__(cls, name)
        if name == "__torch_function__":
            handler_changed(cls)

    @property
    def __signature__(cls) -> inspect.Signature:
        """That of the method by which a subclass makes its instances, or else of the legacy constructor."""
        made = getattr(cls, "__new__")  # noqa: B009 (mypy takes it for an instance's)
        if made is Tensor.__new__ and getattr(cls, "__init__") is not object.__init__:  # noqa: B009
            made = getattr(cls, "__init__")  # noqa: B009
        shown = inspect.signature(made)
        return shown.replace(parameters=[*shown.parameters.values()][1:])


class Tensor(Methods, metaclass=_TensorMeta):
    """A multi-dimensional array of one dtype on one device (``torch.Tensor``)."""

    _array: np.ndarray | None = None  #: the elements, of a CPU tensor; shares memory with the storage
    _dtype: DType
    _keys: int  #: dispatch keys, see ``_dispatch.keys``
    _device: _device.device = _device.CPU
    _shape: Size | None = None  #: None: that of the array
    _stride: Ints | None = None  #: None: contiguous
    _layout: Layout | None = None  #: shape, strides and dtype, interned, once a plan was looked up by them
    _offset: int = 0
    _storage: UntypedStorage | None = None  #: None: the array's memory, not asked for yet
    #: [version, storage(, whole array)], shared with views and saved aliases; None: [0, None]
    _version_counter: list[Any] | None = None
    _grad_fn: Node | None = None
    _output_nr: int = 0
    _grad: Tensor | None = None
    _grad_dtype: Any = ...  #: of a leaf: ``grad_dtype`` if it was set
    #: where ``detach_`` took it out of the graph: nodes with a smaller number had kept it with its history
    _detached_at: int = 0
    _accumulator: Any = None  #: weak reference to the AccumulateGrad node of a leaf
    _base: Tensor | None = None
    _creation_meta: str | None = None  #: why a view must not be written in place, see ``_autograd.views``
    _own_grad: bool = False  #: of a view: whether it is a leaf that was itself made to require grad
    #: of a view of another dtype: how to make it from the base again
    _view_func: Callable[[Tensor], Tensor] | None = None
    _attr_version: int = 0  #: of a view: the version for which ``_grad_fn`` holds
    _hooks: HookDict | None = None  #: of a leaf
    _post_accumulate_hooks: HookDict | None = None
    _retains_grad: bool = False
    #: in forward mode: the derivative along the direction of each level, see ``_autograd.forward``
    _tangents: dict[Any, Tensor] | None = None
    #: inside ``vmap``: all elements, along which dimension, of which frame; see ``_transforms.batching``
    _batched: Any = None
    _pending: Any = None  #: the pipeline entry that will compute this tensor
    _sparse: Parts = None  # type: ignore[assignment]  #: of a sparse tensor: the dense ones that it consists of
    __array_priority__ = 1000  # NumPy arrays leave mixed arithmetic to us
    __hash__ = object.__hash__

    # -- subclasses ------------------------------------------------------------------------------------------------

    __torch_dispatch__ = staticmethod(disabled_torch_dispatch)

    @classmethod
    def __torch_function__(cls, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call a function for a subclass and convert its results (``torch.Tensor.__torch_function__``)."""
        if not all(issubclass(cls, kind) for kind in types):
            return NotImplemented
        with DisableTorchFunctionSubclass():
            result = func(*args, **(kwargs or {}))
        return result if func in UNWRAPPED else wrapped(result, cls)

    # -- metadata --------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> Size:
        """The sizes of the dimensions (``torch.Tensor.shape``)."""
        shape = self._shape
        if shape is None:
            shape = self._shape = new_size(Size, self._array.shape)  # type: ignore[union-attr]  # of ints, unchecked
        return shape

    @property
    def stride(self) -> Stride:
        """The strides in elements, a tuple that can be called as well: ``t.stride(0)`` (``torch.Tensor.stride``)."""
        if self._keys & SPARSE_CSR:
            raise RuntimeError("Sparse CSR tensors do not have strides")
        return Stride(self._strides())

    def _strides(self) -> Ints:
        if self._stride is None:
            self._stride = contiguous_strides(self.shape)
        return self._stride

    def _layout_of_plans(self) -> Layout:
        """Return the interned layout, by which plans of calls are looked up."""
        shape = self._array.shape if self._array is not None else tuple(self.shape)
        self._layout = intern_layout(shape, self._strides() if self._keys & NONCONTIGUOUS else None, self._dtype)
        return self._layout

    @property
    def dtype(self) -> DType:
        """The dtype of the elements (``torch.Tensor.dtype``)."""
        return self._dtype

    @property
    def device(self) -> Device:
        """The device whose memory holds the elements (``torch.Tensor.device``)."""
        return self._device

    @property
    def ndim(self) -> int:
        """The number of dimensions (``torch.Tensor.ndim``)."""
        return len(self._array.shape) if self._array is not None else len(self.shape)

    def dim(self) -> int:
        """Return the number of dimensions (``torch.Tensor.dim``)."""
        return self.ndim

    ndimension = dim

    def size(self, dim: int | None = None) -> Any:
        """Return the shape, or the size of one dimension (``torch.Tensor``); IndexError if ``dim`` is out of range."""
        if dim is None:
            return self.shape
        if dim.__class__ is not int:
            dim = index_of("size", dim)
        array = self._array
        shape = self.shape if array is None else array.shape
        span = len(shape)
        if not -span <= dim < span:
            if not span:
                raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
            raise about(IndexError(f"Dimension out of range (expected to be in range of [{-span}, {span - 1}], but got "
                                   f"{dim})"), "dimension", self=self, low=-span, high=span - 1, given=dim)
        return shape[dim]

    def numel(self) -> int:
        """Return the number of elements (``torch.Tensor.numel``)."""
        return self._array.size if self._array is not None else prod(self.shape)

    nelement = numel

    def storage_offset(self) -> int:
        """Return the place of the first element in the storage, in elements (``torch.Tensor.storage_offset``)."""
        return self._offset

    def element_size(self) -> int:
        """Return the size of one element in bytes (``torch.Tensor.element_size``)."""
        return self._dtype.itemsize

    @property
    def itemsize(self) -> int:
        """The size of one element in bytes (``torch.Tensor.itemsize``)."""
        return self._dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The size of all elements in bytes, ``numel() * itemsize`` (``torch.Tensor.nbytes``)."""
        return self.numel() * self._dtype.itemsize

    def is_contiguous(self, *, memory_format: Any = contiguous_format) -> bool:
        """Return True if dense in row-major order, or a format's (``torch.Tensor.is_contiguous``)."""
        if self._keys & SPARSE_CSR:
            raise RuntimeError("Sparse CSR tensors do not have is_contiguous")
        if memory_format is not contiguous_format:
            check_format("is_contiguous", memory_format)
            if memory_format.name in ("channels_last", "channels_last_3d"):
                ndim = 4 if memory_format.name == "channels_last" else 5
                return self.dim() == ndim and is_channels_last(self.shape, self._strides())
        if not self._keys & NONCONTIGUOUS:
            return True
        return is_contiguous(self.shape, self._strides()) if self._array is None else self._array.flags.c_contiguous

    def _is_dense(self) -> bool:
        return not self._keys & NONCONTIGUOUS or is_non_overlapping_and_dense(self.shape, self._strides())

    def is_floating_point(self) -> bool:
        """Return True if the dtype is a floating point one (``torch.Tensor.is_floating_point``)."""
        return self._dtype.is_floating_point

    def is_complex(self) -> bool:
        """Return True if the dtype is a complex one (``torch.Tensor.is_complex``)."""
        return self._dtype.is_complex

    def is_signed(self) -> bool:
        """Return True if the dtype can hold negative numbers (``torch.Tensor.is_signed``)."""
        return self._dtype.is_signed

    def is_conj(self) -> bool:
        """Return True if elements are the memory's conjugates, as after ``conj`` (``torch.Tensor.is_conj``)."""
        return bool(self._keys & CONJUGATE)

    def is_neg(self) -> bool:
        """Return True if the elements are the negatives of the memory's: ``conj().imag`` (``torch.Tensor.is_neg``)."""
        return bool(self._keys & NEGATIVE)

    @property
    def is_meta(self) -> bool:
        """True if the tensor is on the meta device, which holds no values (``torch.Tensor.is_meta``)."""
        return bool(self._keys & META)

    @property
    def is_cpu(self) -> bool:
        """True if the tensor is on the CPU (``torch.Tensor.is_cpu``)."""
        return bool(self._keys & CPU)

    @property
    def is_npu(self) -> bool:
        """True if the tensor is on an NPU, as ``torch.Tensor.is_cuda`` for a GPU."""
        return self._device.type == "npu"

    is_cuda = is_quantized = is_mps = is_xpu = is_nested = is_mkldnn = False
    is_ipu = is_maia = is_mtia = is_vulkan = is_xla = False

    @property
    def is_sparse(self) -> bool:
        """True if the tensor has the layout `sparse_coo` (``torch.Tensor.is_sparse``)."""
        return bool(self._keys & SPARSE)

    @property
    def is_sparse_csr(self) -> bool:
        """True if the tensor has the layout `sparse_csr` (``torch.Tensor.is_sparse_csr``)."""
        return self.layout is LAYOUTS["sparse_csr"]

    @property
    def layout(self) -> layout:
        """The kind of storage (``torch.Tensor.layout``)."""
        return self._sparse.layout if self._keys & SPARSES else strided

    def get_device(self) -> int:
        """Return the index of the device, -1 for the CPU (``torch.Tensor.get_device``)."""
        return -1 if self._device.index is None else self._device.index

    # -- storage ---------------------------------------------------------------------------------------------------

    def untyped_storage(self) -> UntypedStorage:
        """Return the storage, the same object for all tensors that share it (``torch.Tensor.untyped_storage``)."""
        storage = self._storage
        if storage is None:
            if self._keys & WITHOUT_STORAGE:
                if self._keys & PIPELINE:
                    self._wait()
                if self._keys & (BATCHED | SPARSES):
                    raise NotImplementedError(f"Cannot access storage of {self._implementation()}")
            cell = self._version_counter
            if cell is None:
                cell = self._version_counter = [0, None]
            storage = self._storage = cell[1]
            if storage is None:  # a twin may be repeated, or transposed
                array: Any = self._array.T if self._keys & NONCONTIGUOUS else self._array  # type: ignore[union-attr]
                storage = self._storage = cell[1] = storage_of_array(cell[2] if len(cell) > 2 else array, self)
            else:
                storage.add_alias(self)
        return storage

    @property
    def storage(self) -> TypedStorage:
        """The storage as elements of this dtype; calling it returns it (``torch.Tensor.storage``)."""
        return self.untyped_storage().typed(self._dtype)

    def data_ptr(self) -> int:
        """Return the address of the first element, 0 where there is none (``torch.Tensor.data_ptr``).

        Raises:
            RuntimeError: inside of ``vmap``, where a tensor has no memory of its own.
        """
        if self._keys & (BATCHED | SPARSES):
            raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")
        if self._keys & PIPELINE:
            self._wait()
        if self._keys & PYTHON and self._array is None:
            return 0
        pointer = self.untyped_storage().data_ptr()
        return pointer + self._offset * self._dtype.itemsize if pointer and self.numel() else 0

    def _implementation(self) -> str:
        """Return the name of PyTorch's class for tensors without a storage."""
        if self._keys & BATCHED:
            return "BatchedTensorImpl"
        return "SparseTensorImpl" if self._keys & SPARSE else "SparseCsrTensorImpl"

    def is_set_to(self, tensor: Tensor) -> bool:
        """Return True if another tensor has the same storage, layout and offset (``torch.Tensor.is_set_to``)."""
        return (self.untyped_storage() is tensor.untyped_storage() and self._offset == tensor._offset
                and self.shape == tensor.shape and self._strides() == tensor._strides()
                and not (self._keys ^ tensor._keys) & MATH_BITS)

    def is_shared(self) -> bool:
        """Return True if the storage is in memory that other processes can see (``torch.Tensor.is_shared``)."""
        return self.untyped_storage().is_shared()

    def module_load(self, other: Tensor, assign: bool = False) -> Tensor:
        """Return the replacement of this tensor when a module loads ``other``, or ``other`` itself with ``assign``
        (``torch.Tensor.module_load``). Called where modules swap parameters, see ``torch.__future__``.
        """
        return other.detach() if assign else self.detach().copy_(other)

    def share_memory_(self) -> Tensor:
        """Move the storage to shared memory (``torch.Tensor.share_memory_``)."""
        self.untyped_storage().share_memory_()
        return self

    def is_pinned(self, device: Any = None) -> bool:
        """Return True if the elements lie in page-locked host memory (``torch.Tensor.is_pinned``)."""
        return self._device.type == "cpu" and self.untyped_storage().is_pinned()

    def record_stream(self, stream: Any) -> None:
        """Keep this tensor's memory, once freed, from reuse until the present work of ``stream`` is done
        (``torch.Tensor.record_stream``). Raises RuntimeError if the tensor is not on an NPU.
        """
        memory: Any = self.untyped_storage()._memory
        if memory is None:
            raise RuntimeError(f"record_stream is for tensors on an NPU, but this one is on {self.device}")
        memory.record_stream(stream)

    def _refresh_array(self) -> None:
        """Make the array anew from the storage and the layout, after either changed."""
        storage, size = self._storage, self._dtype.itemsize
        if storage is not None and storage._bytes is not None:
            self._array = view_of_bytes(storage._bytes, self.shape, self._dtype, self._offset, self._strides(), size)

    def _set_layout(self, storage: UntypedStorage | None, shape: Ints, stride: Ints, offset: int) -> None:
        """Point this tensor at another layout, and at another storage unless None."""
        if storage is not None and storage is not self._storage:
            self._storage = storage
            storage.add_alias(self)
        self._shape, self._stride, self._offset, self._layout = Size(shape), tuple(stride), offset, None
        canonical = self._stride == contiguous_strides(shape)
        self._keys = self._keys & ~NONCONTIGUOUS if canonical else self._keys | NONCONTIGUOUS
        self._refresh_array()

    # -- aliases ---------------------------------------------------------------------------------------------------

    def _alias(self, shape: Ints, stride: Ints | None, offset: int, dtype: DType | None = None) -> Tensor:
        """Return another tensor on the same storage and version counter, without a place in the graph."""
        out, storage = new(Tensor), self._storage
        if storage is None:
            storage = self.untyped_storage()
        if self._version_counter is None:
            self._version_counter = [0, storage]
        dtype = dtype or self._dtype
        keys = self._keys & ~(DERIVED | NONCONTIGUOUS)
        if stride is None:
            stride = contiguous_strides(shape)
        if storage._bytes is not None:
            array = out._array = view_of_bytes(storage._bytes, shape, dtype, offset, stride, dtype.itemsize)
            canonical = array.flags.c_contiguous and stride == contiguous_strides(shape)
        else:
            out._shape = Size(shape)
            canonical = stride == contiguous_strides(shape)
        if keys & PIPELINE:
            out._pending = self._pending
        out._dtype, out._keys, out._device = dtype, keys if canonical else keys | NONCONTIGUOUS, self._device
        out._stride, out._offset, out._storage, out._version_counter = stride, offset, storage, self._version_counter
        storage.add_alias(out)
        return out

    def _view(self, shape: Ints, stride: Ints | None, offset: int, dtype: DType | None = None) -> Tensor:
        """Return a view: an alias that knows its base."""
        out = self._alias(shape, stride, offset, dtype)
        views.mark_view(out, self)
        return out

    def _shallow_copy_and_detach(self, kind: Any = None) -> Any:
        """Return an alias with the same layout that is not a view, as ``detach`` and saved outputs need; of another
        class, if one is given.
        """
        if kind is not None:
            out = new(kind)
        elif self._keys & PYTHON:  # the class, and what its methods put there, is what the tensor is
            out = new(type(self))
            state_of(out).update({name: value for name, value in state_of(self).items() if name not in OF_GRAPH})
            for name in _slotnames(type(self)):
                if hasattr(self, name):
                    setattr(out, name, getattr(self, name))
        else:
            out = new(Tensor)
        storage, offset = self._storage, self._offset
        if self._keys & SPARSES:
            return self._sparse_alias(out)
        if storage is None:
            storage = self.untyped_storage()
        if self._version_counter is None:
            self._version_counter = [0, storage]
        out._array, out._dtype, out._keys = self._array, self._dtype, self._keys & ~DERIVED
        out._storage, out._version_counter = storage, self._version_counter
        if offset:
            out._offset = offset
        if self._stride is not None:
            out._stride = self._stride
        if self._array is None or self._pending is not None:
            out._shape, out._device, out._pending = self._shape, self._device, self._pending
        storage.add_alias(out)
        return out

    def _sparse_alias(self, out: Tensor) -> Tensor:
        """Make ``out`` this sparse tensor, outside the graph."""
        if self._version_counter is None:
            self._version_counter = [0, None]
        out._sparse, out._dtype, out._keys = self._sparse, self._dtype, self._keys & ~DERIVED
        out._shape, out._stride, out._device = self._shape, self._stride, self._device
        out._version_counter = self._version_counter
        return out

    def _view_by(self, step: Step, apart: bool = False) -> Tensor:
        """Return a CPU view by its plan; an alias without a base if ``apart``."""
        shape, dtype, further, strides, stride, layout = step
        storage, cell, base = self._storage, self._version_counter, self._base
        if storage is None or cell is None:
            storage = self.untyped_storage()
            cell = self._version_counter or self._start_counter()
        out = new(Tensor)
        out._dtype = self._dtype if layout is None else layout.dtype
        out._layout, out._storage, out._version_counter = layout, storage, cell
        out._offset = offset = self._offset + further
        out._array = (self._array.reshape(shape) if strides is None  # type: ignore[union-attr]
                      else ndarray(shape, dtype, storage._bytes, offset * dtype.itemsize, strides))
        if stride is None:
            out._keys = self._keys & OF_VIEWS
        else:
            out._keys, out._stride = self._keys & OF_VIEWS | NONCONTIGUOUS, stride
        (aliases := storage._aliases).append(ref(out))  # ``add_alias``, without the call
        if len(aliases) > storage._prune_at:
            storage.prune()
        if apart:
            return out
        out._base = self if base is None else base
        if cell[0]:
            out._attr_version = cell[0]
        if base is None or self._view_func is None:  # else, and for less frequent marks, there is more to do
            if local.grad_enabled:
                if base is None or self._creation_meta is None:
                    return out
            elif not local.inference and not out._base._keys & AUTOGRAD:
                out._creation_meta = views.NO_GRAD
                return out
        views.mark_view(out, self)
        return out

    def _views_by(self, steps: Iterable[Step], sliced: bool) -> tuple[Tensor, ...]:
        """Return CPU views by their plans; unless each was ``sliced`` alone, none may be written in place where
        derivatives are recorded.
        """
        storage, cell, base = self._storage, self._version_counter, self._base
        if not local.grad_enabled or storage is None or cell is None or (
                base is not None and (self._view_func or self._creation_meta) is not None):
            pieces = tuple([self._view_by(step) for step in steps])
            return pieces if sliced else views.mark_multiple(pieces)
        keys, start, of, made = self._keys & OF_VIEWS, self._offset, self if base is None else base, []
        array, memory, aliases, written = self._array, storage._bytes, storage._aliases, cell[0]
        for shape, dtype, further, strides, stride, known in steps:  # as ``_view_by``, in two thirds of the time
            out = new(Tensor)
            out._dtype = self._dtype if known is None else known.dtype
            out._layout, out._storage, out._version_counter = known, storage, cell
            out._offset = offset = start + further
            out._array = (array.reshape(shape) if strides is None  # type: ignore[union-attr]
                          else ndarray(shape, dtype, memory, offset * dtype.itemsize, strides))
            if stride is None:
                out._keys = keys
            else:
                out._keys, out._stride = keys | NONCONTIGUOUS, stride
            out._base = of
            if not sliced:
                out._creation_meta = views.MULTIPLE
            if written:
                out._attr_version = written
            aliases.append(ref(out))
            made.append(out)
        if len(aliases) > storage._prune_at:
            storage.prune()
        return tuple(made)

    def _saved_alias(self) -> Tensor:
        """Return the same tensor outside the graph, for a node to keep: without a reference back to it, and cheap."""
        if self._keys & (PIPELINE | PYTHON | SPARSES):
            return self._shallow_copy_and_detach()  # which learns of the values when they come
        out = new(Tensor)
        out._array, out._dtype, out._keys = self._array, self._dtype, self._keys & ~DERIVED
        if self._version_counter is None:
            self._version_counter = [0, self._storage]
        out._version_counter = self._version_counter
        if self._stride is not None:
            out._stride = self._stride
        if self._storage is not None or self._array is None:  # else all the rest is as of a new tensor
            out._shape, out._offset = self._shape, self._offset
            out._device, out._storage = self._device, self._storage
        return out

    def _transposed_alias(self) -> Tensor:
        """Return an alias of this CPU matrix, transposed, for formulas whose temporaries nothing else refers to."""
        out, cell = new(Tensor), self._version_counter
        array: Any = self._array
        rows, columns = array.shape
        first, second = self._stride or (columns, 1)
        keys = self._keys & ~DERIVED
        contiguous = first == 1 and second == rows
        out._array, out._dtype, out._stride = array.T, self._dtype, (second, first)
        out._keys = keys & ~NONCONTIGUOUS if contiguous else keys | NONCONTIGUOUS
        if cell is None:
            cell = self._version_counter = [0, self._storage]
        out._version_counter = cell
        if self._storage is not None:
            out._storage, out._offset, out._device = self._storage, self._offset, self._device
        return out

    def _reshaped_alias(self, shape: Ints) -> Tensor:
        """Return an alias of this contiguous CPU tensor in another shape, for formulas as above."""
        out, cell = new(Tensor), self._version_counter
        out._array, out._dtype, out._keys = self._array.reshape(shape), self._dtype, self._keys & ~DERIVED  # type: ignore[union-attr]
        if cell is None:
            cell = self._version_counter = [0, self._storage]
        out._version_counter = cell
        if self._storage is not None:
            out._storage, out._offset, out._device = self._storage, self._offset, self._device
        return out

    def _product(self, other: Tensor, turned: bool, other_turned: bool) -> Tensor:
        """Return the product of two CPU matrices of one dtype, transposed if ``turned``."""
        out, left, right = new(Tensor), self._array, other._array
        left, right = left.T if turned else left, right.T if other_turned else right  # type: ignore[union-attr]
        by_number = left.size == 1 or right.size == 1  # type: ignore[union-attr]  # by which ``dot`` takes 0 times NaN for 0
        array = silent().run(np.matmul, left, right) if by_number else silent().run(left.dot, right)  # type: ignore[union-attr, arg-type]
        out._array, out._dtype, out._keys = array, self._dtype, CPU
        return out

    def _batched_product(self, other: Tensor, turned: bool, other_turned: bool) -> Tensor:
        """Return the product of two batches of CPU matrices of one dtype and one size, transposed if ``turned``."""
        left: Any = self._array
        right: Any = other._array
        out = new(Tensor)
        array = silent().run(np.matmul, left.mT if turned else left, right.mT if other_turned else right)
        out._array, out._dtype, out._keys = array, self._dtype, CPU
        return out

    def _one(self) -> Tensor:
        """Return a 1 of this 0-d CPU tensor's dtype, with which its backward pass starts."""
        out, array = new(Tensor), np.empty((), self._array.dtype)  # type: ignore[union-attr]
        array.fill(1)
        out._array, out._dtype, out._keys = array, self._dtype, CPU
        return out

    def _contiguous_copy(self) -> Tensor:
        """Return a contiguous copy of this CPU tensor outside the graph, for a node to keep."""
        out = new(Tensor)
        out._array, out._dtype, out._keys = self._array.copy(), self._dtype, CPU  # type: ignore[union-attr]
        return out

    def _expanded_alias(self, shape: Ints) -> Tensor:
        """Return an alias of this 0-d CPU tensor, expanded to a shape, for formulas."""
        out, stride, array = new(Tensor), (0,) * len(shape), self._array
        if (cell := self._version_counter) is None:
            cell = self._version_counter = [0, self._storage, array]
        elif len(cell) == 2:
            cell.append(array)
        try:
            out._array = np.ndarray(shape, array.dtype, array, 0, stride)  # type: ignore[union-attr]
        except ValueError:  # bfloat16 has no buffers
            out._array = np.broadcast_to(array, shape)  # type: ignore[arg-type]
        out._dtype, out._keys, out._stride = self._dtype, self._keys & ~DERIVED | NONCONTIGUOUS, stride
        out._version_counter, out._offset = cell, self._offset
        return out

    def _is_view(self) -> bool:
        return self._base is not None

    @property
    def _version(self) -> int:
        """The number of in-place writes to this tensor's memory, by any tensor that shares its version counter."""
        if self._keys & INFERENCE:
            raise RuntimeError("Inference tensors do not track version counter.")
        return 0 if self._version_counter is None else self._version_counter[0]

    def _bump(self) -> None:
        """Count a write."""
        (self._version_counter or self._start_counter())[0] += 1

    def _start_counter(self) -> list[Any]:
        """Return a new version counter, which this tensor has from now on."""
        self._version_counter = [0, self._storage]
        return self._version_counter

    def _forget_writes(self) -> Tensor:
        """Return this new tensor with a version counter that ignores the writes that filled it."""
        cell = self._version_counter
        self._version_counter = None if cell is None or len(cell) == 2 else [0, *cell[1:]]  # which knows the memory
        return self

    @property
    def data(self) -> Tensor:
        """This tensor without its history, and with a version counter of its own (``torch.Tensor.data``)."""
        out = detach(self) if self._keys & PYTHON else self._shallow_copy_and_detach()
        out._version_counter = None
        out._keys &= ~UNINITIALIZED
        return out

    @data.setter
    def data(self, value: Tensor) -> None:
        if value.__class__ not in TENSOR_TYPES:
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if (value._keys ^ self._keys) & META:
            raise RuntimeError("Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have "
                               "incompatible tensor type.")
        if value._device.type != self._device.type and self._grad_fn is not None:
            raise RuntimeError("cannot assign data on another device to a tensor with history")
        if self._keys & AUTOGRAD and value._dtype.category < FLOATING:
            raise about(RuntimeError("data set to a tensor that requires gradients must be floating point or complex "
                                     "dtype"), "requires_grad of integers", self=value)
        storage = None if value._keys & SPARSES else value.untyped_storage()
        if value._dtype is not self._dtype or value._device != self._device:
            self._accumulator = None  # which knows the gradients that the leaf had
        self._dtype, self._device, self._array = value._dtype, value._device, value._array
        own = DERIVED | INFERENCE | UNINITIALIZED | FUNCTION | PYTHON
        self._keys = self._keys & own | value._keys & ~own
        if storage is None:
            self._sparse, self._shape, self._stride, self._storage = value._sparse, value._shape, value._stride, None
            return
        self._set_layout(storage, value.shape, value._strides(), value._offset)

    @data.deleter
    def data(self) -> None:
        raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")

    # -- autograd --------------------------------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """True if autograd records operators on this tensor (``torch.Tensor.requires_grad``)."""
        return bool(self._keys & AUTOGRAD)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if type(value) is not bool:
            raise RuntimeError("requires_grad must be a bool")
        self._require_grad(value, "only Tensors of floating point and complex dtype can require gradients")

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise RuntimeError("requires_grad of a tensor cannot be deleted")

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set whether autograd records operators on this leaf (``torch.Tensor.requires_grad_``). Raises RuntimeError
        for integers and bools, and for switching it off on a non-leaf.
        """
        if requires_grad.__class__ is not bool:
            raise wrong_argument("requires_grad_", "requires_grad", "bool", requires_grad, 1)
        return self._require_grad(requires_grad, "only Tensors of floating point dtype can require gradients")

    def _require_grad(self, requires_grad: bool, refusal: str = "Only Tensors of floating point and complex dtype can "
                                                                "require gradients") -> Tensor:
        """Set whether autograd records operators on this leaf. The words of ``refusal``, for integers and bools, are a
        factory's if none are given.
        """
        if requires_grad and self._dtype.category < FLOATING:
            raise about(RuntimeError(refusal), "requires_grad of integers", self=self)
        if not requires_grad and self._grad_fn is not None:
            raise about(RuntimeError("you can only change requires_grad flags of leaf variables. If you want to use a "
                                     "computed variable in a subgraph that doesn't require differentiation use "
                                     "var_no_grad = var.detach()."), "requires_grad of a result", self=self)
        if requires_grad and self._keys & INFERENCE and not local.inference:
            raise about(RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not "
                                     "allowed."), "inference tensor", self=self)
        if self._base is not None:
            self._own_grad = requires_grad
            requires_grad = requires_grad or bool(self._base._keys & AUTOGRAD)
        self._keys = self._keys | AUTOGRAD if requires_grad else self._keys & ~AUTOGRAD
        if self._base is None:
            views.propagate_requires_grad(self)
        return self

    @property
    def grad_fn(self) -> Node | None:
        """The node that computed this tensor, None for a leaf (``torch.Tensor.grad_fn``)."""
        if self._base is not None:
            views.refresh(self)
        node = self._grad_fn
        if node is not None:
            node.unfold()
        return node

    @property
    def is_leaf(self) -> bool:
        """True unless a recorded operator computed this tensor (``torch.Tensor.is_leaf``)."""
        if self._base is not None:
            views.refresh(self)
        return self._grad_fn is None

    @property
    def output_nr(self) -> int:
        """The number of the output of ``grad_fn`` that this tensor is (``torch.Tensor.output_nr``)."""
        return self._output_nr

    @property
    def volatile(self) -> bool:
        """False, with a warning: once, whether operators on this tensor were left out of graphs."""
        warnings.warn("volatile was removed (Variable.volatile is always False)", stacklevel=2)
        return False

    @volatile.setter
    def volatile(self, value: bool) -> None:
        warnings.warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.", stacklevel=2)

    @property
    def grad(self) -> Tensor | None:
        """The accumulated gradient of a leaf, or of a tensor with ``retain_grad`` (``torch.Tensor.grad``)."""
        if self._grad is None and self._grad_fn is not None and not self._retains_grad:
            views.warn_grad_of_non_leaf()
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            check_assigned_grad(self, value)
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def grad_dtype(self) -> DType | None:
        """The dtype of this leaf's gradient, its own unless set; None lets the gradient have any
        (``torch.Tensor.grad_dtype``). Raises RuntimeError for a tensor that is not a leaf.
        """
        if not self.is_leaf:
            raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
        return grad_dtype(self)

    @grad_dtype.setter
    def grad_dtype(self, dtype: DType | None) -> None:
        if not self.is_leaf:
            raise RuntimeError("grad_dtype can only be set on leaf tensors.")
        set_grad_dtype(self, dtype)

    @property
    def retains_grad(self) -> bool:
        """True if ``retain_grad`` was called on this non-leaf (``torch.Tensor.retains_grad``)."""
        return self._retains_grad

    def retain_grad(self) -> None:
        """Have backward keep this non-leaf's gradient in ``grad`` (``torch.Tensor.retain_grad``). Raises RuntimeError
        if the tensor does not require grad.
        """
        if not self.requires_grad:
            raise about(RuntimeError("can't retain_grad on Tensor that has requires_grad=False"),
                        "no gradient", self=self, wanted="keep its gradient")
        if self._grad_fn is not None and self.grad_fn is not None:
            self._retains_grad = True
            self._grad_fn.retain_grad_of(self)

    def backward(self, gradient: Tensor | None = None, retain_graph: bool | None = None, create_graph: bool = False,
                 inputs: Any = None) -> None:
        """Accumulate the gradients of this tensor into the leaves below it (``torch.Tensor.backward``). Raises
        RuntimeError if no graph leads here, the graph was freed, or a gradient is needed and not given.
        """
        engine.backward(self, gradient, retain_graph, create_graph, None, inputs)

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Call ``hook(grad)`` with this tensor's gradient in backward; its result, if any, replaces the gradient
        (``torch.Tensor.register_hook``). Raises RuntimeError if the tensor does not require grad.
        """
        if not self.requires_grad:
            raise about(RuntimeError("cannot register a hook on a tensor that doesn't require gradient"),
                        "no gradient", self=self, wanted="call a hook with its gradient")
        if self.grad_fn is not None:
            return RemovableHandle(self._grad_fn.hooks_of_output(self._output_nr), hook)  # type: ignore[union-attr]
        if self._hooks is None:
            self._hooks = HookDict()
        return RemovableHandle(self._hooks, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call ``hook(tensor)`` after backward has accumulated into ``grad`` of this leaf
        (``torch.Tensor.register_post_accumulate_grad_hook``). Raises RuntimeError if the tensor does not require grad,
        or is not a leaf.
        """
        if not self.requires_grad:
            raise about(RuntimeError("cannot register a hook on a tensor that doesn't require gradient"),
                        "no gradient", self=self, wanted="call a hook with its gradient")
        if self.grad_fn is not None:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        if self._post_accumulate_hooks is None:
            self._post_accumulate_hooks = HookDict()
        return RemovableHandle(self._post_accumulate_hooks, hook)

    def is_inference(self) -> bool:
        """Return True if this tensor was made in inference mode (``torch.Tensor.is_inference``)."""
        return bool(self._keys & INFERENCE)

    def _grad_edge(self) -> tuple[Node, int] | None:
        """Return the destination of this tensor's gradient: its node and output number, or its accumulator."""
        node = self._grad_fn
        if self._base is not None and self._attr_version != self._version_counter[0]:  # type: ignore[index]
            node = self.grad_fn
        return self._leaf_edge() if node is None else (node, self._output_nr)

    def _leaf_edge(self) -> tuple[Node, int] | None:
        """Return the accumulator of a leaf; None for a view that requires grad only because its base does now."""
        return None if self._base is not None and not self._own_grad else (grad_accumulator(self), 0)

    # -- values ----------------------------------------------------------------------------------------------------

    def _wait(self) -> None:
        """Have the values computed: run the pipeline that this tensor is pending in."""
        flush_for(self)

    def _host(self, operation: str) -> np.ndarray:
        """Return the values as an array for ``operation``, after pending work; copy them from other devices."""
        local.reads += 1
        if self._keys & BATCHED:
            whole, dim, frame = self._batched
            if operation == "check":  # an element that is wrong is enough
                return whole._host(operation)
            if frame.tangents_only:
                return whole.detach().select(dim, 0)._host(operation)
            if operation == "bool":
                raise RuntimeError("vmap: It looks like you're attempting to use a Tensor in some data-dependent "
                                   "control flow. We don't support that yet, please file an issue at "
                                   "https://github.com/pytorch/pytorch/issues .")
            raise RuntimeError(f"vmap: It looks like you're calling .{operation}() on a Tensor. We don't support vmap "
                               f"over calling .{operation}() on a Tensor, please try to rewrite what you're doing with "
                               "other operations. If error is occurring somewhere inside PyTorch internals, please "
                               "file a bug report.")
        if self._keys & PYTHON and self._array is None:
            raise RuntimeError(f".{operation}() is not supported for tensor subclasses.")
        if self._keys & SPARSES:
            raise of_sparse(self, operation)
        if self._keys & PIPELINE:
            self._wait()
        if self._keys & MATH_BITS:
            return clone(self.detach())._host(operation)
        array = self._array
        return backends[self._device.type].read(self, operation) if array is None else array

    def _item(self) -> Any:
        array = self._host("item")
        if array.size != 1:
            raise about(RuntimeError(f"a Tensor with {array.size} elements cannot be converted to Scalar"),
                        "number of many", self=self)
        wider = WIDER.get(self._dtype.name)
        return array.item() if wider is None else array.astype(wider).item()


# Python keeps the attributes of a class's first 30 objects or so without a dictionary for each, and of later ones only
# those whose names it has met by then. A view made after 30 plain tensors would take half as long again.
_first = new(Tensor)
for _name in Tensor.__annotations__:
    setattr(_first, _name, None)
del _first
OWN_TORCH_FUNCTION = vars(Tensor)["__torch_function__"]
PLAIN.add(Tensor)
#: The attributes that say of a tensor where it stands in the graph, and of its memory whose view it is.
OF_GRAPH = frozenset({
    "_grad_fn", "_output_nr", "_grad", "_grad_dtype", "_accumulator", "_base", "_creation_meta", "_own_grad",
    "_view_func", "_attr_version", "_hooks", "_post_accumulate_hooks", "_retains_grad", "_tangents"})
#: What returns no tensor of a subclass though it is called with one.
UNWRAPPED: set[Any] = {Tensor.__dict__["grad"].__get__}


def of_sparse(tensor: Tensor, operation: str) -> Exception:
    """Return PyTorch's error for an operation on the memory of a sparse tensor, which has several."""
    if operation in ("numpy", "__array__"):
        kind = "Sparse" if tensor._keys & SPARSE else "SparseCsr"
        return TypeError(f"can't convert {kind} layout tensor to numpy. Use Tensor.to_dense() first.")
    if operation in ("item", "bool") and tensor.numel() != 1:
        return RuntimeError(f"a Tensor with {tensor.numel()} elements cannot be converted to Scalar" if operation ==
                            "item" else "Boolean value of Tensor with more than one value is ambiguous")
    return RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")


def keys_of_class(cls: type) -> int:
    """Return the keys that tensors have because of their class."""
    return (FUNCTION if overrides(cls) and cls is not Tensor else 0) | (PYTHON if dispatches(cls) else 0)


def wrapped(value: Any, cls: Any) -> Any:
    """Convert a tensor, or the tensors in a list or tuple, to a subclass."""
    if cls is Tensor:
        return value
    if isinstance(value, Tensor):
        return value if isinstance(value, cls) else value.as_subclass(cls)
    if isinstance(value, (tuple, list)):
        items = [wrapped(item, cls) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def tensor_method(name: str) -> Callable[[Method], Method]:
    """Decorate a function to make it a method of tensors. The stub lists methods by this decorator."""

    def attach(function: Method) -> Method:
        if name.startswith("__"):  # which no function is called by itself; tracebacks and explanations show the name
            function.__name__, function.__qualname__ = name, f"Tensor.{name}"
            function.__code__ = function.__code__.replace(co_name=name, co_qualname=f"Tensor.{name}")
        setattr(Tensor, name, function)
        return function

    return attach


BYTE = np.dtype(np.uint8)


def view_of_bytes(data: np.ndarray, shape: Ints, dtype: DType, offset: int, stride: Ints, size: int) -> np.ndarray:
    """Return an array over part of a flat byte array, whose bounds NumPy checks.

    Raises:
        RuntimeError: PyTorch's, if the view has more elements or dimensions than an array can have.
    """
    try:
        if 0 in shape:  # the offset may lie behind the end
            return np.ndarray(shape, dtype.np, np.empty(0, np.uint8), 0, tuple(s * size for s in stride))
        return np.ndarray(shape, dtype.np, data, offset * size, tuple([s * size for s in stride]))
    except ValueError:
        if not can_be(shape, dtype.np):
            raise out_of_host_memory(shape, dtype.np) from None
        used = tuple([0 if n == 1 or 0 in shape else step for n, step in zip(shape, stride, strict=True)])
        if used == stride:
            raise
    return view_of_bytes(data, shape, dtype, offset, used, size)  # NumPy counts in strides that no element needs, too


def from_array(array: np.ndarray, dtype: DType) -> Tensor:
    """Return a fresh CPU tensor over a C-contiguous array of the dtype's NumPy dtype, which nothing else refers to."""
    out = new(Tensor)
    out._array, out._dtype, out._keys = array, dtype, CPU
    return out


def empty_tensor(spec: Spec, device: _device.device = _device.CPU) -> Tensor:
    """Return an uninitialised CPU tensor, or a meta tensor, of a specification."""
    shape, dtype, stride = spec
    if shape is None:
        raise NotImplementedError("the output's shape depends on data, which a meta tensor does not have")
    if device.type == "cpu" and stride is None:
        return from_array(allocate(shape, dtype.np), dtype)
    if device.type == "cpu" and 0 not in shape:  # the storage is made when it is asked for, over the same bytes
        data = allocate((storage_size(shape, stride) * dtype.itemsize,), BYTE)
        out = from_array(view_of_bytes(data, shape, dtype, 0, stride, dtype.itemsize), dtype)
        out._keys, out._stride, out._version_counter = CPU | NONCONTIGUOUS, stride, [0, None, data]
        return out
    out = new(Tensor)
    out._device, out._dtype, out._stride = device, dtype, stride
    out._shape = shape if shape.__class__ is Size else Size(shape)
    out._keys = BACKEND_OF_DEVICE[device.type] if stride is None else BACKEND_OF_DEVICE[device.type] | NONCONTIGUOUS
    size = (prod(shape) if stride is None else storage_size(shape, stride)) * dtype.itemsize
    if size.__class__ is not SymInt and size >= 2**63:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}"
                           + (f" and strides={list(stride)}" if stride else ""))
    out._storage = UntypedStorage(size, device=device)
    out._storage.add_alias(out)
    out._refresh_array()
    return out
