"""Tensors from numbers, lists, arrays and sizes: the factories of the namespace and their ``new_*`` methods."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _device
from ._backends.common.convert import strides_for, to_device
from ._backends.common.layout import contiguous_strides
from ._dispatch.dispatcher import call_on
from ._dispatch.schemas import registry
from ._dtype import (
    BOOL, COMPLEX, FLOATING, INTEGER, DType, bool_, dtype_of_number, from_numpy_dtype, get_default_dtype, int64,
)  # fmt: skip
from ._formats import strided
from ._tensor import Tensor, from_array, new

_call_empty, _call_full = registry["empty"], registry["full"]
_empty_strided, _copy = registry["empty_strided"], registry["copy_"]


# -- sizes ---------------------------------------------------------------------------------------------------------


def sizes_of(function: str, size: tuple[Any, ...]) -> tuple[int, ...]:
    """The size arguments of a factory, ``zeros(2, 3)`` or ``zeros((2, 3))``.

    Raises:
        TypeError: if one is not an integer.
    """
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = tuple(size[0])
    for n in size:
        if n.__class__ is not int and not (isinstance(n, (int, np.integer, Tensor)) and not isinstance(n, bool)):
            raise TypeError(f"{function}(): argument 'size' must be tuple of ints, but found element of type {type(n).__name__}")
    return tuple([int(n) for n in size])


def _finish(out: Tensor, result: Tensor | None, requires_grad: bool, layout: Any = None) -> Tensor:
    """Apply what all factories take: ``out=`` and ``requires_grad=``."""
    if layout is not None and layout is not strided:
        raise RuntimeError(f"mindtorch has strided tensors only, but got layout={layout}")
    if result is not None:
        if result.shape != out.shape:
            registry["resize_"].call(result, tuple(out.shape))
        out = _copy.call(result, out)
    return out.requires_grad_() if requires_grad else out


def empty(*size: Any, out: Tensor | None = None, dtype: DType | None = None, layout: Any = None, device: Any = None,
          requires_grad: bool = False, pin_memory: bool = False, memory_format: Any = None) -> Tensor:
    """An uninitialised tensor of the default dtype unless given (``torch.empty``).

    Raises:
        RuntimeError: for a negative size.
    """
    where = _device.resolve_device(device)
    result = call_on(_call_empty, where.type, sizes_of("empty", size), dtype or get_default_dtype(), where)
    if memory_format is not None:
        strides = strides_for(result, memory_format)
        if strides is not None:
            result = empty_strided(result.shape, strides, dtype=dtype, device=device)
    return _finish(result, out, requires_grad, layout)


def empty_strided(size: Any, stride: Any, *, dtype: DType | None = None, layout: Any = None, device: Any = None,
                  requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """An uninitialised tensor with the given strides in elements (``torch.empty_strided``)."""
    where = _device.resolve_device(device)
    if len(size) != len(stride):
        raise RuntimeError(f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})")
    result = call_on(_empty_strided, where.type, tuple(size), tuple(stride), dtype or get_default_dtype(), None, where)
    return _finish(result, None, requires_grad, layout)


def empty_permuted(size: Any, physical_layout: Any, *, dtype: DType | None = None, layout: Any = None, device: Any = None,
                   requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """An uninitialised tensor whose dimensions lie in memory in the order ``physical_layout`` (``torch.empty_permuted``)."""
    if sorted(physical_layout) != list(range(len(size))):
        raise RuntimeError(
            f"Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = {len(size)} "
            f"is not equal to len(physical_layout) = {len(physical_layout)}, or it is no permutation: {tuple(physical_layout)}"
        )
    packed = contiguous_strides([size[d] for d in physical_layout])
    strides = [packed[list(physical_layout).index(d)] for d in range(len(size))]
    return empty_strided(size, strides, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def _full(size: tuple[int, ...], value: Any, dtype: DType, device: Any) -> Tensor:
    where = _device.resolve_device(device)
    return call_on(_call_full, where.type, size, value, dtype, where)


def full(size: Any, fill_value: Any, *, out: Tensor | None = None, dtype: DType | None = None, layout: Any = None,
         device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A tensor filled with a number, of the number's dtype unless given (``torch.full``)."""
    if isinstance(fill_value, Tensor):
        fill_value = fill_value.item()
    if dtype is None:
        dtype = out.dtype if out is not None else dtype_of_number(fill_value)
    return _finish(_full(sizes_of("full", (size,)), fill_value, dtype, device), out, requires_grad, layout)


def zeros(*size: Any, out: Tensor | None = None, dtype: DType | None = None, layout: Any = None, device: Any = None,
          requires_grad: bool = False, pin_memory: bool = False, **kwargs: Any) -> Tensor:
    """A tensor of zeros (``torch.zeros``)."""
    size = (kwargs.pop("size"),) if "size" in kwargs else size
    return _finish(_full(sizes_of("zeros", size), 0, dtype or get_default_dtype(), device), out, requires_grad, layout)


def ones(*size: Any, out: Tensor | None = None, dtype: DType | None = None, layout: Any = None, device: Any = None,
         requires_grad: bool = False, pin_memory: bool = False, **kwargs: Any) -> Tensor:
    """A tensor of ones (``torch.ones``)."""
    size = (kwargs.pop("size"),) if "size" in kwargs else size
    return _finish(_full(sizes_of("ones", size), 1, dtype or get_default_dtype(), device), out, requires_grad, layout)


def fresh(out: Tensor) -> Tensor:
    """A new tensor, after the writes in place that filled it: these do not count in its version."""
    out._cell = None
    return out


# -- like another tensor -------------------------------------------------------------------------------------------


def empty_like(input: Tensor, *, dtype: DType | None = None, layout: Any = None, device: Any = None,  # noqa: A002
               requires_grad: bool = False, memory_format: Any = None, pin_memory: bool = False) -> Tensor:
    """An uninitialised tensor like another one, its strides kept if dense (``torch.empty_like``)."""
    where = input._device if device is None else _device.device(device)
    shape = tuple(input.shape)
    strides = strides_for(input, memory_format) or contiguous_strides(shape)
    out = call_on(_empty_strided, where.type, shape, strides, dtype or input._dtype, None, where)
    return _finish(out, None, requires_grad, layout)


def full_like(input: Tensor, fill_value: Any, **options: Any) -> Tensor:  # noqa: A002
    """A tensor like another one, filled with a number (``torch.full_like``)."""
    requires_grad = options.pop("requires_grad", False)
    out = empty_like(input, **options)
    return _finish(fresh(registry["fill_"].call(out, fill_value)), None, requires_grad)


def zeros_like(input: Tensor, **options: Any) -> Tensor:  # noqa: A002
    """Zeros like another tensor (``torch.zeros_like``)."""
    return full_like(input, 0, **options) if options else registry["zeros_like"].call(input)


def ones_like(input: Tensor, **options: Any) -> Tensor:  # noqa: A002
    """Ones like another tensor (``torch.ones_like``)."""
    return full_like(input, 1, **options) if options else registry["ones_like"].call(input)


def _new(function: Callable[..., Tensor], count: int = 0) -> Callable[..., Tensor]:
    """A ``new_*`` method: the factory, with this tensor's dtype and device for defaults."""

    def method(self: Tensor, *args: Any, dtype: DType | None = None, device: Any = None, **options: Any) -> Tensor:
        return function(*args, dtype=dtype or self._dtype, device=self._device if device is None else device, **options)

    method.__name__ = method.__qualname__ = f"new_{function.__name__}"
    method.__doc__ = f"``torch.{function.__name__}`` with this tensor's dtype and device."
    return method


def new_tensor(self: Tensor, data: Any, *, dtype: DType | None = None, device: Any = None, requires_grad: bool = False,
               layout: Any = None, pin_memory: bool = False) -> Tensor:
    """``torch.tensor`` with this tensor's dtype and device."""
    return tensor(data, dtype=dtype or self._dtype, device=self._device if device is None else device,
                  requires_grad=requires_grad)


for _factory in (empty, full, zeros, ones, empty_strided):
    setattr(Tensor, f"new_{_factory.__name__}", _new(_factory))
Tensor.new_tensor = new_tensor  # type: ignore[attr-defined]


# -- sequences -----------------------------------------------------------------------------------------------------


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, (Tensor, np.generic)) else value


def arange(*bounds: Any, out: Tensor | None = None, dtype: DType | None = None, layout: Any = None, device: Any = None,
           requires_grad: bool = False, pin_memory: bool = False, **named: Any) -> Tensor:
    """``arange(end)``, ``arange(start, end, step=1)``: the values in ``[start, end)`` (``torch.arange``).

    Raises:
        RuntimeError: if the step is zero or leads away from the end.
    """
    values = [_number(b) for b in bounds]
    start = named.pop("start", None)
    end, step = named.pop("end", None), named.pop("step", None)
    if named:
        raise TypeError(f"arange() got an unexpected keyword argument '{next(iter(named))}'")
    if len(values) == 1 and end is None:
        end = values[0] if start is None else end
        start = 0 if start is None else start
    elif values:
        start = values[0]
        end = values[1] if len(values) > 1 else end
        step = values[2] if len(values) > 2 else step
    if end is None or any(isinstance(v, (str, list, tuple)) for v in (start, end, step)):
        raise TypeError("arange() received an invalid combination of arguments: expected numbers (end), (start, end) or "
                        f"(start, end, step), got {tuple(bounds)}")
    args = (_number(0 if start is None else start), _number(end), _number(1 if step is None else step))
    if dtype is None and out is not None:
        dtype = out.dtype
    where = _device.resolve_device(device)
    return _finish(call_on(registry["arange"], where.type, *args, dtype), out, requires_grad, layout)


def range(start: Any = 0, end: Any = None, step: Any = 1, **options: Any) -> Tensor:  # noqa: A001 (PyTorch's name)
    """Deprecated in PyTorch in favour of ``arange``: includes the end, and is floating point (``torch.range``)."""
    count = int((end - start) / step) + 1
    options.setdefault("dtype", get_default_dtype())
    return arange(start, start + count * step - step / 2, step, **options)


def _spaced(name: str, *args: Any, out: Tensor | None, dtype: DType | None, device: Any, requires_grad: bool) -> Tensor:
    where = _device.resolve_device(device)
    numbers = tuple(_number(a) for a in args)
    return _finish(call_on(registry[name], where.type, *numbers, dtype or (out.dtype if out is not None else None)), out,
                   requires_grad)


def linspace(start: Any, end: Any, steps: int, *, out: Tensor | None = None, dtype: DType | None = None, layout: Any = None,
             device: Any = None, requires_grad: bool = False) -> Tensor:
    """``steps`` values evenly from ``start`` to ``end``, both included (``torch.linspace``)."""
    return _spaced("linspace", start, end, steps, out=out, dtype=dtype, device=device, requires_grad=requires_grad)


def logspace(start: Any, end: Any, steps: int, base: float = 10.0, *, out: Tensor | None = None, dtype: DType | None = None,
             layout: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """``base`` to the powers of ``linspace`` (``torch.logspace``)."""
    return _spaced("logspace", start, end, steps, base, out=out, dtype=dtype, device=device, requires_grad=requires_grad)


def eye(n: int, m: int | None = None, *, out: Tensor | None = None, dtype: DType | None = None, layout: Any = None,
        device: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones on the diagonal, zeros elsewhere (``torch.eye``)."""
    return _spaced("eye", n, n if m is None else m, out=out, dtype=dtype, device=device, requires_grad=requires_grad)


# -- data ----------------------------------------------------------------------------------------------------------


def _shape_of(data: Any, depth: int = 0) -> tuple[int, ...]:
    """The shape of nested sequences, from their first elements.

    Raises:
        ValueError: if they are nested too deep (or contain themselves).
    """
    shape: list[int] = []
    while isinstance(data, (list, tuple)) or isinstance(data, (Tensor, np.ndarray)) and data.ndim:
        if isinstance(data, (Tensor, np.ndarray)):
            return (*shape, *data.shape)
        if len(shape) > 128:
            raise ValueError("too many dimensions 'list': the nesting is deeper than 128, or a list contains itself")
        shape.append(len(data))
        if not data:
            break
        data = data[0]
    return tuple(shape)


def _flatten(data: Any, shape: tuple[int, ...], flat: list[Any], dim: int = 0) -> None:
    """Append the numbers of nested sequences in order.

    Raises:
        ValueError: if they are ragged.
        TypeError: for what is no number.
    """
    if dim == len(shape):
        if isinstance(data, Tensor):
            data = data.item()
        elif isinstance(data, (list, tuple)):
            raise TypeError(f"only length-1 sequences can be converted to a number, got {type(data).__name__}")
        elif not isinstance(data, (int, float, complex, np.number, np.bool_)):
            if isinstance(data, str):
                raise TypeError("new(): invalid data type 'str'")
            raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
        flat.append(data)
        return
    if isinstance(data, (Tensor, np.ndarray)):
        data = data.tolist()
    if not isinstance(data, (list, tuple)):
        raise TypeError(f"not a sequence: expected {shape[dim]} elements at dim {dim}, got {type(data).__name__}")
    if len(data) != shape[dim]:
        raise ValueError(f"expected sequence of length {shape[dim]} at dim {dim} (got {len(data)})")
    for item in data:
        _flatten(item, shape, flat, dim + 1)


def _infer_dtype(flat: list[Any], data: Any) -> DType:
    """The dtype of numbers: the highest category, tensors' and NumPy scalars' own dtypes kept."""
    category = BOOL if flat else FLOATING
    for value in flat:
        kind = value.__class__
        found = (BOOL if kind is bool or kind is np.bool_ else INTEGER if isinstance(value, (int, np.integer)) else
                 FLOATING if isinstance(value, (float, np.floating)) else COMPLEX)
        category = max(category, found)
    return (bool_, int64, get_default_dtype(), get_default_dtype().to_complex())[category]


def _array_of(data: Any, dtype: DType | None) -> tuple[np.ndarray, DType]:
    """Numbers or nested sequences as a fresh array."""
    shape = _shape_of(data)
    flat: list[Any] = []
    _flatten(data, shape, flat)
    if dtype is None:
        scalar = data if not shape else flat[0] if flat else None
        if isinstance(scalar, np.generic) and all(v.__class__ is scalar.__class__ for v in flat):
            dtype = from_numpy_dtype(scalar.dtype)
        else:
            dtype = _infer_dtype(flat, data)
    if dtype.category < FLOATING and dtype is not bool_:
        flat = [_to_integer(value, dtype) for value in flat]
    elif dtype.category == FLOATING and any(isinstance(v, (complex, np.complexfloating)) for v in flat):
        raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow: it is complex")
    try:
        array = np.array(flat, dtype.np if dtype.name != "bfloat16" else np.float32)
    except OverflowError as error:
        raise RuntimeError(f"Overflow when unpacking long: {error}") from None
    return array.astype(dtype.np, copy=False).reshape(shape), dtype


def _to_integer(value: Any, dtype: DType) -> int:
    if isinstance(value, (complex, np.complexfloating)):
        raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow: it is complex")
    if value != value or value in (math.inf, -math.inf):
        raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow: {value}")
    whole = int(value)
    if not dtype.is_signed and -256 < whole < 0:
        return whole % 256
    bits = dtype.itemsize * 8 - dtype.is_signed
    if not -(1 << bits) * dtype.is_signed <= whole < 1 << bits:
        if dtype is int64:
            raise ValueError(f"Overflow when unpacking long long: {whole}")
        raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow: {whole}")
    return whole


def tensor(data: Any, *, dtype: DType | None = None, device: Any = None, requires_grad: bool = False,
           pin_memory: bool = False) -> Tensor:
    """A new tensor from numbers, nested sequences, an array or a tensor: always a copy (``torch.tensor``).

    Raises:
        ValueError: for ragged or endlessly nested sequences, and NaN as an integer.
        RuntimeError: for numbers that do not fit, or what is no number.
    """
    if dtype is not None and not isinstance(dtype, DType):
        dtype = {bool: bool_, int: int64, float: get_default_dtype()}.get(dtype)
        if dtype is None:
            raise TypeError("tensor(): argument 'dtype' must be torch.dtype")
    where = _device.resolve_device(device)
    if isinstance(data, Tensor):
        out = registry["_to_copy"].call(data.detach(), dtype, where if device is not None else data._device, False, "contiguous_format")
        return out.requires_grad_() if requires_grad else out
    if isinstance(data, np.ndarray):
        found = from_numpy_dtype(data.dtype)
        array, dtype = data.astype((dtype or found).np, order="C", copy=True), dtype or found
    elif isinstance(data, str):
        raise TypeError("new(): invalid data type 'str'")
    elif not isinstance(data, (list, tuple, int, float, complex, np.generic)) and hasattr(data, "__array__"):
        array = np.array(data)
        dtype = dtype or from_numpy_dtype(array.dtype)
        array = array.astype(dtype.np)
    else:
        if not isinstance(data, (list, tuple)) and hasattr(data, "__len__") and hasattr(data, "__getitem__"):
            data = [data[i] for i in iter(_indices(len(data)))]
        array, dtype = _array_of(data, dtype)
    out = from_array(array, dtype)
    if where.type != "cpu":
        out = to_device(out, where)
    return out.requires_grad_() if requires_grad else out


def _indices(count: int) -> Any:
    return np.arange(count).tolist()


def scalar_tensor(value: Any, *, dtype: DType | None = None, layout: Any = None, device: Any = None,
                  requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A 0-d tensor of the default dtype unless given (``torch.scalar_tensor``)."""
    return full((), value, dtype=dtype or get_default_dtype(), device=device, requires_grad=requires_grad)


def from_numpy(array: np.ndarray) -> Tensor:
    """A tensor over a NumPy array's memory (``torch.from_numpy``).

    Raises:
        TypeError: if it is no array, or of a dtype that no tensor has.
        ValueError: for negative strides, or strides that are no whole number of elements.
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    dtype = from_numpy_dtype(array.dtype)
    size = dtype.itemsize
    strides = tuple(step // size for step in array.strides)
    plain = array if array.__class__ is np.ndarray else np.asarray(array)
    if array.flags.c_contiguous and (strides == contiguous_strides(array.shape) or not array.size):
        out = from_array(plain, dtype)
        out.untyped_storage().resizable = False
        return out
    if any(step < 0 for step in array.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not currently "
            "supported. (You can probably work around this by making a copy of your array with array.copy().)"
        )
    if any(step % size for step in array.strides):
        raise ValueError("given numpy array strides not a multiple of the element byte size. Copy the numpy array to "
                         "reallocate the memory.")
    count = 1 + sum((n - 1) * step for n, step in zip(array.shape, strides, strict=True))
    flat = np.lib.stride_tricks.as_strided(plain, (count,), (size,), writeable=array.flags.writeable)
    out = from_array(flat, dtype)
    storage = out.untyped_storage()
    storage.resizable = False
    out._set_layout(None, array.shape, strides, 0)
    return out


def as_tensor(data: Any, dtype: DType | None = None, device: Any = None) -> Tensor:
    """A tensor over the same data where that is possible, else a copy (``torch.as_tensor``)."""
    if isinstance(data, np.ndarray):
        out = from_numpy(data)
    elif isinstance(data, Tensor):
        out = data
    else:
        return tensor(data, dtype=dtype, device=device)
    return to_device(out, out._device if device is None and isinstance(data, Tensor) else _device.resolve_device(device), dtype)


def asarray(obj: Any, *, dtype: DType | None = None, device: Any = None, copy: bool | None = None,
            requires_grad: bool = False) -> Tensor:
    """A tensor from anything that holds data, sharing memory if it may (``torch.asarray``).

    Raises:
        ValueError: if ``copy=False`` and a copy is needed.
    """
    if isinstance(obj, Tensor):
        source = obj if requires_grad else obj.detach() if obj.requires_grad else obj
    elif isinstance(obj, np.ndarray):
        source = from_numpy(obj)
    elif hasattr(obj, "__dlpack__"):
        source = from_dlpack(obj)
    elif isinstance(obj, (bytearray, memoryview)):
        source = frombuffer(obj, dtype=dtype or get_default_dtype())
    else:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        return tensor(obj, dtype=dtype, device=device, requires_grad=requires_grad)
    out = to_device(source, source._device if device is None else device, dtype)
    if copy is False and out is not source:
        raise ValueError("can't alias tensor: a copy is needed for another dtype or device.")
    if copy and out is source:
        out = source.clone()  # type: ignore[attr-defined]
    return out.requires_grad_() if requires_grad and not out.requires_grad else out


def frombuffer(buffer: Any, *, dtype: DType, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A 1-d tensor over the memory of a buffer (``torch.frombuffer``).

    Raises:
        ValueError: if the buffer is too short, or the length no multiple of the element size.
    """
    length = memoryview(buffer).nbytes
    if length == 0 or count == 0:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({length} bytes) minus 1")
    if count < 0 and (length - offset) % dtype.itemsize:
        raise ValueError(
            f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a multiple of element size "
            f"({dtype.itemsize})"
        )
    if count > 0 and offset + count * dtype.itemsize > length:
        raise ValueError(
            f"requested buffer length ({count} * {dtype.itemsize} bytes) after offset ({offset} bytes) must not be greater "
            f"than actual buffer length ({length} bytes)"
        )
    stop = length - offset if count < 0 else count * dtype.itemsize
    data = np.frombuffer(buffer, np.uint8)[offset : offset + stop]
    return from_numpy(data.view(dtype.np)).requires_grad_(requires_grad)


# -- DLPack --------------------------------------------------------------------------------------------------------


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of another library's array (``torch.from_dlpack``)."""
    out = from_numpy(np.from_dlpack(ext_tensor, copy=copy))
    return out if device is None else to_device(out, device)


def to_dlpack(tensor: Tensor) -> Any:
    """A DLPack capsule over a tensor's memory."""
    return _dlpack(tensor)


def _dlpack(self: Tensor, **options: Any) -> Any:
    """The protocol by which other libraries see this tensor's memory.

    Raises:
        BufferError: if the tensor requires grad, or has no host memory.
    """
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if self._device.type != "cpu":
        raise BufferError(f"Can't export tensors on the device {self.device} to DLPack")
    return self._host("dlpack").__dlpack__(**{k: v for k, v in options.items() if v is not None})


Tensor.__dlpack__ = _dlpack  # type: ignore[attr-defined]
Tensor.__dlpack_device__ = lambda self: (1, 0)  # type: ignore[attr-defined]  # kDLCPU


# -- torch.Tensor(...) ---------------------------------------------------------------------------------------------


def legacy_constructor(cls: Any, *args: Any, dtype: DType | None = None, device: Any = None, **kwargs: Any) -> Any:
    """``torch.Tensor(2, 3)`` (uninitialised) and ``torch.Tensor([1, 2])`` (float32, whatever the numbers)."""
    if cls is not Tensor and "__init__" in cls.__dict__ or "__new__" in cls.__dict__:
        out = cls.__new__(cls, *args, **({"dtype": dtype} if dtype else {}), **({"device": device} if device else {}), **kwargs)
        if isinstance(out, cls) and cls.__init__ is not object.__init__:
            cls.__init__(out, *args, **kwargs)
        return out
    dtype = dtype or get_default_dtype()
    if len(args) == 1 and isinstance(args[0], Tensor):
        made = args[0]._shallow() if args[0].dtype is dtype else args[0].to(dtype)  # type: ignore[attr-defined]
    elif len(args) == 1 and isinstance(args[0], (list, tuple, np.ndarray)) and not args[0].__class__.__name__ == "Size":
        made = tensor(args[0], dtype=dtype, device=device)
    else:
        made = empty(*args, dtype=dtype, device=device)
    return made if cls is Tensor else as_subclass(made, cls)


def as_subclass(self: Tensor, cls: type) -> Any:
    """This tensor's data as an instance of a subclass."""
    out = new(cls)
    out.__dict__.update(self.__dict__)
    out._hooks = out._accumulator = None
    self.untyped_storage().add_alias(out)
    out._storage, out._cell = self._storage, self._cell
    return out


type(Tensor).construct = staticmethod(legacy_constructor)  # type: ignore[attr-defined, misc]
Tensor.as_subclass = as_subclass  # type: ignore[attr-defined]


def typed_constructor(dtype: DType) -> Callable[..., Tensor]:
    """``torch.LongTensor`` and the like."""

    def construct(*args: Any, device: Any = None) -> Tensor:
        return legacy_constructor(Tensor, *args, dtype=dtype, device=device)

    return construct


__all__ = [
    "arange", "as_subclass", "as_tensor", "asarray", "empty", "empty_like", "empty_permuted", "empty_strided", "eye",
    "from_dlpack", "from_numpy", "frombuffer", "full", "full_like", "legacy_constructor", "linspace", "logspace",
    "ones", "ones_like", "range", "scalar_tensor", "tensor", "to_dlpack", "zeros", "zeros_like",
]  # fmt: skip
