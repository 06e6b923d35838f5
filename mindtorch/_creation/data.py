"""Tensors from numbers and nested sequences: always a copy."""
from __future__ import annotations

import warnings
from functools import reduce
from itertools import chain
from typing import Any

import numpy as np

from .. import _device
from .._backends.common.convert import to_device
from .._base.about import about, check_flags
from .._base.call_site import outside
from .._base.errors import limits
from .._base.layout import Spec
from .._base.quiet import quietly
from .._base.symbolic import SYMBOLIC
from .._dispatch.aten import _to_copy, lift_fresh as _lift_fresh
from .._dtype import (
    BOOL, COMPLEX, FLOATING, INTEGER, WIDER, DType, as_dtype, before_rounding, bool_, float16, float64,
    from_numpy_dtype, get_default_dtype, int64, promote_types, uint64,
)
from .._storage import StorageBase
from .._tensor import Tensor, empty_tensor, from_array, tensor_method

DEEPEST = 128  #: how deep sequences may be nested
_SEQUENCES = (list, tuple, range)


def _shape_of(data: Any) -> tuple[int, ...]:
    """Return nested sequences' shape by their first elements; ValueError if too deep or begun by a string."""
    shape: list[int] = []
    while isinstance(data, _SEQUENCES) or (isinstance(data, np.ndarray) and data.ndim):
        if isinstance(data, np.ndarray):
            return (*shape, *data.shape)
        if len(shape) > DEEPEST:
            raise ValueError(f"too many dimensions 'list': the nesting is deeper than {DEEPEST}, or a list contains "
                             "itself")
        shape.append(len(data))
        if not data:
            break
        data = data[0]
    if shape and isinstance(data, str) and data:  # a sequence of strings, of which each is one again, without end
        raise about(ValueError("too many dimensions 'str'"), "no number", given="str")
    return tuple(shape)


def _flatten(data: Any, shape: tuple[int, ...], flat: list[Any], whole: Any, dim: int = 0) -> None:
    """Append the numbers of nested sequences in order; ValueError if ragged, TypeError for no number."""
    if dim == len(shape):
        if isinstance(data, Tensor):
            data = _number(data)
        elif isinstance(data, np.ndarray) and not data.ndim:
            data = data.item()
        elif data.__class__ in SYMBOLIC:
            data = data.node.evaluate()
        elif isinstance(data, _SEQUENCES):
            _refuse_what_holds_itself(whole)
            raise TypeError(f"only length-1 sequences can be converted to a number, got {type(data).__name__}")
        elif not isinstance(data, (int, float, complex, np.number, np.bool_)):
            if isinstance(data, str):
                raise about(TypeError("new(): invalid data type 'str'"), "no number", given="str")
            raise about(RuntimeError(f"Could not infer dtype of {type(data).__name__}"),
                        "no number", given=type(data).__name__)
        flat.append(data)
        return
    if isinstance(data, (Tensor, np.ndarray)):
        data = data.tolist()
    if not isinstance(data, _SEQUENCES):
        _refuse_what_holds_itself(whole)
        raise about(TypeError(f"not a sequence: expected {shape[dim]} elements at dim {dim}, got "
                              f"{type(data).__name__}"), "ragged list", lengths=_lengths(whole))
    if len(data) != shape[dim]:
        _refuse_what_holds_itself(whole)
        raise about(ValueError(f"expected sequence of length {shape[dim]} at dim {dim} (got {len(data)})"),
                    "ragged list", lengths=_lengths(whole))
    for item in data:
        _flatten(item, shape, flat, whole, dim + 1)


def _refuse_what_holds_itself(data: Any) -> None:
    """Raise TypeError if one of the nested sequences is an item of its own."""
    seen, left = set(), [data]
    while left:
        one = left.pop()
        seen.add(id(one))
        for item in one:
            if item is one:
                raise TypeError("new(): self-referential lists are incompatible")
            if isinstance(item, _SEQUENCES) and id(item) not in seen:
                left.append(item)


def _number(tensor: Tensor) -> Any:
    """Return the number in a tensor that stands among numbers.

    Raises:
        ValueError, TypeError: PyTorch's, of floats and of integers, if it has several elements or none.
    """
    if tensor.numel() == 1:
        return tensor.item()
    error = (ValueError("only one element tensors can be converted to Python scalars")
             if tensor._dtype.category >= FLOATING else
             TypeError("only integer tensors of a single element can be converted to an index"))
    raise about(error, "tensor in a list", tensor=tensor)


def _lengths(data: Any) -> list[tuple[str, int | None]]:
    """Return the lengths of nested sequences, by place, in the first level in which they differ; at most a dozen."""
    level = [("data", data)]
    while True:
        lengths = [(place, len(item) if isinstance(item, _SEQUENCES) else None) for place, item in level]
        if len({length for _, length in lengths}) > 1:
            return lengths[:12]
        if not level or lengths[0][1] is None:
            return []
        level = [(f"{place}[{i}]", item) for place, items in level for i, item in enumerate(items)]


def _own_dtypes(data: Any) -> set[DType]:
    """Return the dtypes in nested sequences that hold a tensor, an array or a NumPy number."""
    if isinstance(data, (Tensor, np.ndarray, np.generic)):
        return {data._dtype if isinstance(data, Tensor) else from_numpy_dtype(data.dtype)}
    if not isinstance(data, _SEQUENCES):
        return set()
    found: set[DType] = set()
    if not _PLAIN.issuperset(map(type, data)):
        found = found.union(*map(_own_dtypes, data))
        if found:
            found |= {_infer_dtype([number]) for number in data if type(number) in _PLAIN}
    return found


_PLAIN = {bool, int, float, complex}
_QUICK = {bool, int, float, list, tuple}


def _infer_dtype(flat: list[Any]) -> DType:
    """Return the dtype of Python numbers: that of their highest category."""
    category = BOOL if flat else FLOATING
    for value in flat:
        kind = value.__class__
        found = (BOOL if kind is bool or kind is np.bool_ else INTEGER if isinstance(value, (int, np.integer)) else
                 FLOATING if isinstance(value, (float, np.floating)) else COMPLEX)
        category = max(category, found)
    return (bool_, int64, get_default_dtype(), get_default_dtype().to_complex())[category]


def _items(data: Any) -> list[Any]:
    """List the items of a sequence of another class."""
    try:
        return [data[i] for i in range(len(data))]
    except Exception as error:
        raise ValueError(f"could not determine the shape of object type '{type(data).__name__}'") from error


#: How deep sequences are looked into for numbers of one type.
_DEEP = 4
#: By the type of Python's numbers, the categories that NumPy converts all of them to as PyTorch does, or not at all.
_TAKES = {bool: (BOOL, INTEGER, FLOATING), int: (BOOL, INTEGER, FLOATING), float: (FLOATING,)}


def _type_of_all(data: Any) -> type | None:
    """Return the type of all numbers in nested lists or tuples, if they share one; else another type, or None."""
    kinds = {data.__class__}
    for _ in range(_DEEP):
        if not kinds <= {list, tuple}:
            break
        kinds = {*map(type, data)}
        if kinds and kinds <= {list, tuple}:
            data = [*chain.from_iterable(data)]
    return kinds.pop() if len(kinds) == 1 else None


def _array_of_one_type(data: Any, dtype: DType | None) -> tuple[np.ndarray, DType] | None:
    """Convert (nested lists of) numbers of one type to a fresh array; None for others, or if refused."""
    kind: Any = _type_of_all(data)
    if kind not in _TAKES:
        return None
    if dtype is None:
        dtype = get_default_dtype() if kind is float else int64 if kind is int else bool_
    if dtype.category not in _TAKES[kind]:
        return None
    try:
        if dtype is int64 or dtype is bool_ or dtype is float64:  # which hold all of them: there is no warning
            return np.array(data, dtype.np), dtype
        return _converted(data, dtype), dtype
    except (ValueError, OverflowError):
        return None


def _array_of(data: Any, dtype: DType | None) -> tuple[np.ndarray, DType]:
    """Convert numbers or nested sequences to a fresh array."""
    shape = _shape_of(data)
    flat: list[Any] = []
    _flatten(data, shape, flat, data)
    if dtype is None:
        own = _own_dtypes(data)
        dtype = reduce(promote_types, own) if own else _infer_dtype(flat)
    if dtype.category < FLOATING and dtype is not bool_:
        flat = [_to_integer(value, dtype) for value in flat]
    elif dtype.category == FLOATING and any(isinstance(v, (complex, np.complexfloating)) for v in flat):
        raise TypeError("must be real number, not complex")
    try:
        return _converted(flat, dtype).reshape(shape), dtype
    except OverflowError as error:
        raise RuntimeError(f"Overflow when unpacking long: {error}") from None


def _converted(data: Any, dtype: DType) -> np.ndarray:
    """Convert numbers to a fresh array of a dtype. Numbers out of range wrap as in C, without a warning."""
    before = None if isinstance(data, np.ndarray) else WIDER.get(dtype.name) or (dtype.np if dtype is not float16 else
                                                                                 np.float32)
    return quietly(lambda: before_rounding(np.array(data, before, order="C"), dtype.np).astype(dtype.np, copy=False))


def _to_integer(value: Any, dtype: DType) -> int:
    if isinstance(value, (complex, np.complexfloating)):
        raise TypeError("'complex' object cannot be interpreted as an integer")
    is_whole = not isinstance(value, (float, np.floating))
    if dtype is uint64:
        if not is_whole:
            raise TypeError(f"an integer is required, not {value}")
        if not 0 <= value < 1 << 64:
            raise OverflowError(f"can't convert negative int to unsigned: {value}" if value < 0 else
                                f"int too big to convert: {value}")
    elif is_whole and not -(1 << 63) <= value < 1 << 63:
        raise ValueError(f"Overflow when unpacking long long: {value}")
    least, most = limits(dtype)
    if is_whole and not dtype.is_signed:  # where negative ones wrap around
        least = -most
    if not least <= value <= most:
        raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow: {value}")
    return int(value) if dtype.is_signed else int(value) % (1 << 8 * dtype.itemsize)


def tensor(data: Any, *, dtype: DType | None = None, device: Any = None, requires_grad: bool = False,
           pin_memory: bool = False) -> Tensor:
    """Return a new tensor from numbers, nested sequences, an array or a tensor, whose data it copies
    (``torch.tensor``). Raises ValueError if sequences are ragged or nested without end, or NaN is to become an integer,
    and TypeError for text, and for complex numbers that are to become real, and RuntimeError if a number does not fit
    the dtype, or a value is not a number.
    """
    dtype = as_dtype("tensor", dtype)
    if requires_grad is not False or pin_memory is not False:
        check_flags("tensor", requires_grad=requires_grad, pin_memory=pin_memory)
    if data.__class__ in _QUICK:
        where = _device.resolve_device(device)
        found = _array_of_one_type(data, dtype)
        if found is not None and where.type == "cpu":
            out = _lift_fresh(from_array(*found))
            return out._require_grad(True) if requires_grad else out
    if isinstance(data, Tensor):
        return _copy_of(data, dtype, data._device if device is None else device, requires_grad, "torch.tensor")
    if isinstance(data, StorageBase):
        out = of_storage(data, dtype or getattr(data, "dtype", int64))
        return out._require_grad(True) if requires_grad else out
    where = _device.resolve_device(device)
    if isinstance(data, np.ndarray):
        own = from_numpy_dtype(data.dtype)  # refuses objects, whatever the dtype
        dtype = dtype or own
        array = _converted(data, dtype)
    elif isinstance(data, (str, bytes)):
        given = type(data).__name__
        raise about(TypeError(f"new(): invalid data type '{given}'"), "no number", given=given)
    elif not isinstance(data, (list, tuple, int, float, complex, np.generic)) and (
            hasattr(data, "__array__") or hasattr(data, "__dlpack__")):
        array = np.array(data if hasattr(data, "__array__") else np.from_dlpack(data))
        dtype = dtype or from_numpy_dtype(array.dtype)
        array = _converted(array, dtype)
    else:
        if not isinstance(data, (*_SEQUENCES, dict)) and hasattr(data, "__len__") and hasattr(data, "__getitem__"):
            data = _items(data)
        first = data
        for _ in range(DEEPEST):
            if first.__class__ is not list or not first:
                break
            first = first[0]
        if data.__class__ is list and isinstance(first, np.ndarray):
            warnings.warn("Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider "
                          "converting the list to a single numpy.ndarray with numpy.array() before converting to a "
                          "tensor.", stacklevel=2)
        array, dtype = _array_of(data, dtype)
    if where.type == "meta":
        out = empty_tensor(Spec(array.shape, dtype), where)
    else:
        out = _lift_fresh(from_array(array, dtype))
        if where.type != "cpu":
            out = to_device(out, where)
    return out._require_grad(True) if requires_grad else out


def of_storage(storage: Any, dtype: DType) -> Tensor:
    """Return all elements of a storage, as a vector over the same memory."""
    return empty_tensor(Spec((0,), dtype), storage.device).set_(storage)


def _copy_of(tensor: Tensor, dtype: DType | None, device: Any, requires_grad: bool, function: str) -> Tensor:
    warnings.warn("To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
                  f"sourceTensor.detach().clone().requires_grad_(True), rather than {function}(sourceTensor).",
                  stacklevel=outside())
    out = _to_copy(tensor.detach(), dtype, _device.resolve_device(device), False, "contiguous_format")
    return out._require_grad(True) if requires_grad else out


@tensor_method("new_tensor")
def new_tensor(self: Tensor, data: Any, *, dtype: DType | None = None, device: Any = None, requires_grad: bool = False,
               layout: Any = None, pin_memory: bool = False) -> Tensor:
    """Make a tensor as ``torch.tensor`` does, with this tensor's dtype and device (``torch.Tensor.new_tensor``)."""
    device = self._device if device is None else device
    if isinstance(data, Tensor):
        return _copy_of(data, dtype or self._dtype, device, requires_grad, "tensor.new_tensor")
    return tensor(data, dtype=dtype or self._dtype, device=device, requires_grad=requires_grad)
