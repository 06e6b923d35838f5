"""``torch.Tensor(...)``, ``torch.LongTensor(...)`` and subclasses of the tensor."""
from __future__ import annotations

from typing import Any

import numpy as np

from .. import _device
from .._backends.common.convert import strides_for
from .._base.about import wrong_argument
from .._base.errors import CPP_NAMES, NAMES
from .._base.formats import strided
from .._base.layout import contiguous_strides, storage_size as span
from .._base.size import Size
from .._dispatch.aten import alias
from .._dispatch.keys import AUTOGRAD, BACKEND_OF_DEVICE, FUNCTION, NONCONTIGUOUS, PYTHON, SPARSES
from .._dispatch.local import local
from .._dispatch.torch_dispatch import dispatches
from .._dispatch.torch_function import DisableTorchFunction
from .._dtype import DTYPES, DType, get_default_dtype
from .._storage import StorageBase, UntypedStorage
from .._tensor import Tensor, keys_of_class, new, state_of, tensor_method
from .data import of_storage, tensor
from .sizes import empty


def legacy_constructor(cls: Any, *data: Any, dtype: DType | None = None, device: Any = None) -> Any:
    """Construct ``torch.Tensor(2, 3)`` (uninitialised) or ``torch.Tensor([1, 2])`` (float32, whatever the numbers), on
    the CPU unless the type is another device's.
    """
    device = _device.CPU if device is None else device
    if len(data) == 1 and isinstance(data[0], Tensor):
        if dtype is not None and data[0]._dtype is not dtype:
            raise TypeError(f"expected {_options(dtype, _device.CPU)} "
                            f"(got {_options(data[0]._dtype, data[0]._device)})")
        made = alias(data[0])
        return made if cls is Tensor else as_subclass(made, cls)
    dtype = dtype or get_default_dtype()
    if len(data) == 1 and isinstance(data[0], (list, tuple, np.ndarray)) and data[0].__class__ is not Size:
        made = tensor(data[0], dtype=dtype, device=device)
    elif len(data) == 1 and isinstance(data[0], StorageBase):
        made = of_storage(data[0], dtype)
    else:
        made = empty(*(data or (0,)), dtype=dtype, device=device)
    return made if cls is Tensor else as_subclass(made, cls)


def _options(dtype: DType, device: Any) -> str:
    """Format a tensor's options for a message."""
    return (f"TensorOptions(dtype={CPP_NAMES[dtype.name]}, device={device}, layout=Strided, "
            "requires_grad=false (default), pinned_memory=false (default), memory_format=(nullopt))")


def _make_subclass(cls: Any, data: Tensor, require_grad: bool = False) -> Any:
    """Return a leaf on a tensor's data, as an instance of a subclass (``torch.Tensor._make_subclass``)."""
    with DisableTorchFunction():  # the subclass may not have set its attributes yet
        return as_subclass(data._shallow_copy_and_detach(), cls)._require_grad(require_grad)


def _make_wrapper_subclass(cls: Any, size: Any, strides: Any = None, storage_offset: int | None = None,
                           memory_format: Any = None, dtype: DType | None = None, layout: Any = strided,
                           device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
                           dispatch_sizes_strides_policy: str | None = None, dispatch_device: bool = False,
                           dispatch_layout: bool = False, _extra_dispatch_keys: Any = None,
                           storage_size: int | None = None, **unknown: Any) -> Any:
    """Make a tensor of a subclass that has a shape, strides, a dtype and a device, but no elements: the class's
    ``__torch_dispatch__`` runs its operators (``torch.Tensor._make_wrapper_subclass``). Raises RuntimeError if the
    class has no ``__torch_dispatch__``, or it is to require grad and cannot.
    """
    if unknown:
        raise TypeError(f"_make_wrapper_subclass() got an unexpected keyword argument '{next(iter(unknown))}'")
    if not dispatches(cls):
        raise RuntimeError(f"{cls.__name__} must define __torch_dispatch__")
    if not isinstance(requires_grad, bool):
        raise wrong_argument("_make_wrapper_subclass", "requires_grad", "bool", requires_grad, 10)
    shape, where = Size(size), _device.resolve_device(device)
    out: Any = new(cls)
    out._shape, out._dtype, out._device = shape, dtype or get_default_dtype(), where
    out._stride, out._offset = None if strides is None else tuple(strides), storage_offset or 0
    out._keys = BACKEND_OF_DEVICE[where.type] | keys_of_class(cls)
    if memory_format is not None:
        out._stride = strides_for(out, memory_format)
    if out._strides() != contiguous_strides(shape):
        out._keys |= NONCONTIGUOUS
    nbytes = storage_size
    if nbytes is None:
        nbytes = (span(shape, out._strides()) + out._offset) * out._dtype.itemsize
    out._storage = UntypedStorage(nbytes, device=_device.META)  # a size and no memory, wherever it is said to be
    out._storage.device = where
    out._storage.add_alias(out)
    return out._require_grad(requires_grad)


@tensor_method("as_subclass")
def as_subclass(self: Tensor, cls: Any) -> Any:
    """Return this tensor's data as an instance of a subclass (``torch.Tensor.as_subclass``)."""
    if self._keys & AUTOGRAD and self._grad_fn is None and local.grad_enabled:
        self = alias(self)  # a leaf stays the leaf
    out = new(cls)
    state_of(out).update(state_of(self))
    out._hooks = out._accumulator = None
    out._keys = self._keys & ~(FUNCTION | PYTHON) | keys_of_class(cls)
    if not self._keys & SPARSES:
        with DisableTorchFunction():
            self.untyped_storage().add_alias(out)
    out._storage, out._version_counter = self._storage, self._version_counter
    return out


def _constructor(cls: Any, *data: Any, device: Any = None) -> Any:
    """Construct a tensor of the default dtype."""
    return legacy_constructor(cls, *data, device=device)


Tensor.__new__ = staticmethod(_constructor)  # type: ignore[method-assign]
Tensor._make_subclass = staticmethod(_make_subclass)
Tensor._make_wrapper_subclass = staticmethod(_make_wrapper_subclass)


class TypedTensor(type):
    """The type of ``torch.LongTensor`` and its like: calling one makes a tensor, which is an instance of it."""

    dtype: DType

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> TypedTensor:
        if bases:
            raise TypeError(f"type 'torch.{bases[0].__name__}' is not an acceptable base type")
        return super().__new__(cls, name, bases, namespace)

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        return legacy_constructor(Tensor, *args, dtype=cls.dtype, device=device)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype and instance.device.type == "cpu"


def typed_constructor(name: str, dtype: DType) -> TypedTensor:
    """Make a class such as ``torch.LongTensor``."""
    doc = f"An uninitialised {dtype.name} tensor of these sizes, or one of these values (``torch.{name}``)."
    return TypedTensor(name, (), {"__doc__": doc, "dtype": dtype, "__module__": __name__.partition(".")[0]})


LEGACY_TENSORS = {f"{NAMES[name]}Tensor": typed_constructor(f"{NAMES[name]}Tensor", dtype)
                  for name, dtype in DTYPES.items()}
