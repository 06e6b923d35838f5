"""The tensor's methods that convert, copy and show: ``to`` in all its forms, dtypes, devices, printing."""
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .. import _device
from .._backends.common.convert import to_device
from .._backends.sparse.parts import nothing
from .._base.about import check_format
from .._base.backend import backends
from .._base.errors import check
from .._base.formats import contiguous_format, preserve_format, sparse_coo
from .._base.layout import suggested_order
from .._dispatch.aten import clone
from .._dispatch.binding import resolve_overload
from .._dispatch.keys import NONCONTIGUOUS, PYTHON, SPARSES
from .._dispatch.registry import Operator
from .._dispatch.schemas import registry
from .._dtype import DTYPE_ALIASES, NAMES, DType, bfloat16, bool_, float32, get_default_dtype, int8, int64, uint8
from .._storage import LEGACY_STORAGES, NAMES as STORAGE_NAMES
from .._tensor import Tensor, tensor_method
from .._tensor.printing import _str
from .legacy import LEGACY_TENSORS, TypedTensor, legacy_constructor
from .sparse import sparse_coo_tensor

_to_copy = registry["_to_copy"]
FORMATS = {4: "channels_last", 5: "channels_last_3d"}  #: by number of dimensions
LEGACY_TYPES: dict[str, DType] = {name: kind.dtype for name, kind in LEGACY_TENSORS.items()}
#: The forms of ``to``, as the binder takes them.
FORMS = [Operator(registry, f"to.{form}, bool non_blocking=False, bool copy=False, *, "
                            "MemoryFormat? memory_format=None) -> Tensor") for form in (
    "device(Device? device=None, ScalarType? dtype=None", "dtype(ScalarType dtype", "other(Tensor tensor")]
#: Frequent forms of ``to``: the names of the keywords, by the types of all arguments.
SPELLED: dict[tuple[type, ...], set[tuple[str, ...]]] = {(DType,): {("dtype",)}}
for _kind in (str, _device.device):
    SPELLED |= {(_kind,): {("device",)}, (_kind, DType): {(), ("dtype",), ("device", "dtype")}}
#: Methods that convert, besides those with an alias of their dtype, and the dtypes that they convert to.
CONVERSIONS = {"bool": bool_, "byte": uint8, "char": int8, "bfloat16": bfloat16}


def parse_to(*args: Any, **kwargs: Any) -> tuple[Any, DType | None, bool, bool, Any]:
    """Return the device, dtype, ``non_blocking``, ``copy`` and memory format that the arguments of ``to`` mean. Raises
    TypeError if they are none of ``to(dtype)``, ``to(device, dtype)``, ``to(other)`` with their options.
    """
    op, given = resolve_overload("to", args, kwargs, packet=FORMS)
    if op.overload == "device":
        device, *options = given
        return None if device is None else _device.resolve_device(device), *options
    first, *options = given
    return (None, *given) if op.overload == "dtype" else (first._device, first._dtype, *options)


def _as_shown(self: Tensor, device: Any = None, dtype: DType | None = None, non_blocking: bool = False,
              copy: bool = False, *, tensor: Tensor | None = None, memory_format: Any = None) -> Tensor:
    """Show the arguments of ``to``; a dtype or a tensor may come first, too."""
    raise NotImplementedError


@tensor_method("to")
def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Return this tensor on another device or in another dtype, or itself if nothing changes (``torch.Tensor.to``).

    Forms: ``to(dtype)``, ``to(device, dtype=None)``, ``to(other)``, each with ``non_blocking``, ``copy``,
    ``memory_format``.
    """
    if len(args) == 1 and args[0].__class__ is DType and not kwargs:
        return self if args[0] is self._dtype else _to_copy.call(self, args[0])
    if len(args) == 1 and not kwargs and (args[0].__class__ is _device.device or args[0].__class__ is str):
        return to_device(self, args[0])
    kinds = (*map(type, args), *map(type, kwargs.values()))
    if (*kwargs,) in SPELLED.get(kinds, ()):
        device, dtype = kwargs.get("device", args and args[0]), kwargs.get("dtype", args and args[-1])
        if kinds[0] is not DType:
            return to_device(self, device, dtype if kinds[-1] is DType else None)
        return self if dtype is self._dtype else _to_copy.call(self, dtype)
    device, dtype, non_blocking, copy, memory_format = parse_to(*args, **kwargs)
    if memory_format is not None and memory_format.name != "preserve_format":
        order = suggested_order(tuple(self.shape), self._strides())
        suggested = "contiguous_format" if order is None else FORMATS[len(order)]
        if (not copy and memory_format.name == suggested and dtype in (None, self._dtype)
                and device in (None, self._device)):
            return self
        return _to_copy.call(self, dtype, device or self._device, non_blocking, memory_format)
    return to_device(self, self._device if device is None else device, dtype, non_blocking, copy)


to.__signature__ = inspect.signature(_as_shown)  # type: ignore[attr-defined]


def _to_dtype(name: str, dtype: DType) -> Callable[..., Tensor]:
    def method(self: Tensor, *, memory_format: Any = None) -> Tensor:
        if memory_format is not None:
            check_format(name, memory_format)
            return to(self, dtype, memory_format=memory_format)
        return self if self._dtype is dtype else _to_copy.call(self, dtype)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"This tensor in the dtype {dtype.name}, or itself if it has it (``torch.Tensor.{name}``)."
    return method


@tensor_method("type")
def type_(self: Tensor, dtype: DType | str | None = None, non_blocking: bool = False) -> Any:
    """Return the name of the legacy type, or the tensor converted to a dtype or to a type of that name
    (``torch.Tensor.type``). Raises ValueError if there is no type of that name.
    """
    if dtype is None:
        name = f"{NAMES[self._dtype.name]}Tensor"
        kind = "sparse." if self.is_sparse else "sparse_csr." if self._keys & SPARSES else ""
        where = "" if self._device.type == "cpu" else f"{self._device.type}."
        return f"torch.{where}{kind}{name}"
    if isinstance(dtype, str):
        found = LEGACY_TYPES.get(dtype.rpartition(".")[2])
        if found is None:
            raise ValueError(f"invalid type: '{dtype}'")
        dtype = found
    elif isinstance(dtype, TypedTensor):
        dtype = dtype.dtype
    elif dtype is Tensor:
        dtype = get_default_dtype()
    elif not isinstance(dtype, DType):
        dtype = {"bool": bool_, "int": int64,
                 "float": float32}.get(getattr(dtype, "__name__", ""))
        if dtype is None:
            raise TypeError("type(): argument 'dtype' must be a dtype, a type name or a Python number type")
    return self.to(dtype)


@tensor_method("to_sparse_coo")
def to_sparse_coo(self: Tensor) -> Tensor:
    """Return this tensor in the layout ``sparse_coo`` (``torch.Tensor.to_sparse_coo``)."""
    return self.to_sparse()


@tensor_method("cpu")
def cpu(self: Tensor, *, memory_format: Any = None) -> Tensor:
    """Return this tensor in host memory; itself if it is there (``torch.Tensor.cpu``)."""
    if memory_format is not None:
        check_format("cpu", memory_format)
    return to_device(self, "cpu")


@tensor_method("npu")
def npu(self: Tensor, device: Any = None, non_blocking: bool = False) -> Tensor:
    """Return this tensor on an NPU, by default the current one, as ``torch.Tensor.cuda`` does for a GPU."""
    return to_device(self, "npu" if device is None else device, non_blocking=non_blocking)


@tensor_method("cuda")
def cuda(self: Tensor, device: Any = None, non_blocking: bool = False) -> Tensor:
    """Raise the error of a PyTorch without CUDA (``torch.Tensor.cuda``); see ``npu``.

    Raises:
        AssertionError, or RuntimeError for the number of a device: always.
    """
    check(not isinstance(device, int), "Cannot access accelerator device when none is available.")
    raise _device.no_backend("cuda")


@tensor_method("type_as")
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """Convert this tensor to the dtype of another (``torch.Tensor.type_as``)."""
    return to(self, other._dtype)


@tensor_method("storage_type")
def storage_type(self: Tensor) -> Any:
    """Return the class of the storage's elements (``torch.Tensor.storage_type``)."""
    return LEGACY_STORAGES[STORAGE_NAMES[self._dtype]]


@tensor_method("pin_memory")
def pin_memory(self: Tensor, device: Any = "npu") -> Tensor:
    """Return the tensor in page-locked memory (``torch.Tensor.pin_memory``); RuntimeError unless on the CPU."""
    return backends[_device.device(device or "npu").type].pin_memory(self)


@tensor_method("new")
def _new(self: Any, *sizes: Any, size: Any = None, device: Any = None) -> Any:
    """Return a tensor of this one's class and dtype, from sizes or from values (``torch.Tensor.new``)."""
    if self._keys & SPARSES:
        if len(sizes) > 1 and isinstance(sizes[0], Tensor):
            return sparse_coo_tensor(*sizes, dtype=self._dtype, device=device or self._device)
        given = sizes if size is None else size
        shape = given[0] if len(given) == 1 and isinstance(given[0], (tuple, list)) else given or (0,)
        return nothing(shape, sparse_coo, self._dtype, device or self._device)
    return legacy_constructor(type(self), *(sizes if size is None else size), dtype=self._dtype,
                              device=device or self._device)


@tensor_method("contiguous")
def contiguous(self: Tensor, *, memory_format: Any = contiguous_format) -> Tensor:
    """Return this tensor if its elements lie in order, else an ordered copy (``torch.Tensor.contiguous``)."""
    if memory_format is contiguous_format and not self._keys & (NONCONTIGUOUS | PYTHON | SPARSES):
        return self
    check_format("contiguous", memory_format)
    if memory_format is preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    return self if self.is_contiguous(memory_format=memory_format) else clone(self, memory_format)


@tensor_method("__format__")
def _format(self: Tensor, spec: str) -> str:
    if not self.ndim and not self.is_meta:
        return self.item().__format__(spec)
    return object.__format__(self, spec)


@tensor_method("__repr__")
def representation(self: Tensor, *, tensor_contents: Any = None) -> str:
    """Return PyTorch's text of a tensor."""
    return _str(self, tensor_contents=tensor_contents)


#: Draws a tensor or a module as HTML. The package puts it here: what draws stands below all that it draws.
draw: Callable[[Any], str] = repr


@tensor_method("_repr_html_")
def _html(self: Tensor) -> str:
    """Return the card that notebooks show."""
    return draw(self)


@tensor_method("_repr_mimebundle_")
def _mimebundle(self: Tensor, include: Any = None, exclude: Any = None) -> dict[str, str]:
    """Return the card and the text for a notebook, the card first: it never waits for values."""
    return {"text/html": self._repr_html_(), "text/plain": repr(self)}


for _name, _dtype in {**DTYPE_ALIASES, **CONVERSIONS}.items():
    setattr(Tensor, _name, _to_dtype(_name, _dtype))
