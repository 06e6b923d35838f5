"""Tensors from sizes: the factories of the namespace, their ``*_like`` forms and their ``new_*`` methods."""
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _device
from .._about import wrong_argument
from .._backends.common.convert import strides_for
from .._backends.common.inplace_and_out import NAMES
from .._backends.common.uninitialized import refusal
from .._dispatch.aten import (
    fill__Scalar as _fill, ones_like as _ones_like, resize_ as _resize_, zeros_like as _zeros_like,
)
from .._dispatch.dispatcher import TENSOR_TYPES, call_on
from .._dispatch.keys import UNINITIALIZED
from .._dispatch.schemas import registry
from .._dtype import DType, as_dtype, dtype_of_number, get_default_dtype
from .._formats import strided
from .._layout import contiguous_strides
from .._tensor import Method, Tensor

_call_empty, _call_full = registry["empty"], registry["full"]
_empty_strided, _copy = registry["empty_strided"], registry["copy_"]


def sizes_of(function: str, size: tuple[Any, ...], named: Any = None) -> tuple[int, ...]:
    """The size arguments of a factory: ``zeros(2, 3)``, ``zeros((2, 3))`` or ``zeros(size=(2, 3))``.

    Raises:
        TypeError: if there is no size, or one is not an integer.
    """
    if named is not None:
        if size:
            raise TypeError(f"{function}() got multiple values for argument 'size'")
        size = (named,)
    elif not size:
        raise TypeError(f'{function}() missing 1 required positional arguments: "size"')
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = tuple(size[0])
    for n in size:
        if n.__class__ is not int and (isinstance(n, bool) or not (isinstance(n, (int, np.integer, Tensor)) or (
                isinstance(n, np.ndarray) and not n.ndim and n.dtype.kind in "iu"))):
            raise TypeError(f"{function}(): argument 'size' must be tuple of ints, but found element of type "
                            f"{type(n).__name__}")
    return tuple([int(n) for n in size])


def finish(out: Tensor, result: Tensor | None, requires_grad: bool, layout: Any = None) -> Tensor:
    """Apply what all factories take: ``out=`` and ``requires_grad=``."""
    if layout is not None and layout is not strided:
        raise RuntimeError(f"mindtorch has strided tensors only, but got layout={layout}")
    if result is not None:
        if result.shape != out.shape:
            _resize_(result, tuple(out.shape))
        out = _copy.call(result, out)
    return out.requires_grad_() if requires_grad else out


def dtype_for(function: str, dtype: DType | None, out: Tensor | None) -> DType | None:
    """The dtype that a factory computes in, given ``dtype=`` and ``out=``.

    Raises:
        RuntimeError: if the two differ.
        TypeError: if ``dtype`` is no dtype.
    """
    dtype = as_dtype(function, dtype)
    if out is None:
        return dtype
    if dtype is not None and dtype is not out._dtype:
        raise RuntimeError(f"dtype {NAMES[dtype.name]} does not match dtype of out parameter "
                           f"({NAMES[out._dtype.name]})")
    return out._dtype


def empty(*sizes: Any, size: Any = None, out: Tensor | None = None, dtype: DType | None = None, layout: Any = None,
          device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
          memory_format: Any = None) -> Tensor:
    """An uninitialised tensor, of the default dtype unless given (``torch.empty``).

    Raises:
        RuntimeError: if a size is negative.
    """
    where = _device.resolve_device(device)
    shape = sizes_of("empty", sizes, size)
    result = call_on(_call_empty, where.type, shape, dtype_for("empty", dtype, out) or get_default_dtype(), where)
    if memory_format is not None:
        strides = strides_for(result, memory_format)
        if strides is not None:
            result = empty_strided(result.shape, strides, dtype=dtype, device=device)
    return finish(result, out, requires_grad, layout)


def empty_strided(size: Any, stride: Any, *, dtype: DType | None = None, layout: Any = None, device: Any = None,
                  requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """An uninitialised tensor with the given strides in elements (``torch.empty_strided``)."""
    where = _device.resolve_device(device)
    if len(size) != len(stride):
        raise RuntimeError(f"dimensionality of sizes ({len(size)}) must match dimensionality of strides "
                           f"({len(stride)})")
    dtype = as_dtype("empty_strided", dtype) or get_default_dtype()
    result = call_on(_empty_strided, where.type, tuple(size), tuple(stride), dtype, None, where)
    return finish(result, None, requires_grad, layout)


def empty_permuted(size: Any, physical_layout: Any, *, dtype: DType | None = None, layout: Any = None,
                   device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """An uninitialised tensor whose dimensions lie in memory in a given order (``torch.empty_permuted``)."""
    if sorted(physical_layout) != list(range(len(size))):
        raise RuntimeError("Number of dimensions in size does not match the length of the physical_layout; i.e. "
                           f"len(size) = {len(size)} is not equal to len(physical_layout) = {len(physical_layout)}, or "
                           f"it is no permutation: {tuple(physical_layout)}")
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
    dtype = dtype_for("full", dtype, out) or dtype_of_number(fill_value)
    return finish(_full(sizes_of("full", (size,)), fill_value, dtype, device), out, requires_grad, layout)


def zeros(*sizes: Any, size: Any = None, out: Tensor | None = None, dtype: DType | None = None, layout: Any = None,
          device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A tensor of zeros, of the default dtype unless given (``torch.zeros``)."""
    result = _full(sizes_of("zeros", sizes, size), 0, dtype_for("zeros", dtype, out) or get_default_dtype(), device)
    return finish(result, out, requires_grad, layout)


def ones(*sizes: Any, size: Any = None, out: Tensor | None = None, dtype: DType | None = None, layout: Any = None,
         device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A tensor of ones, of the default dtype unless given (``torch.ones``)."""
    result = _full(sizes_of("ones", sizes, size), 1, dtype_for("ones", dtype, out) or get_default_dtype(), device)
    return finish(result, out, requires_grad, layout)


def fresh(out: Tensor) -> Tensor:
    """A new tensor, after the writes in place that filled it: these do not count in its version."""
    out._version_counter = None
    return out


def check_input(function: str, input: Any) -> None:
    """Refuse what is no tensor in the place of one that another is made like. Raises PyTorch's TypeError."""
    if input.__class__ not in TENSOR_TYPES:
        raise wrong_argument(function, "input", "Tensor", input, 1)


def empty_like(input: Tensor, *, dtype: DType | None = None, layout: Any = None, device: Any = None,
               requires_grad: bool = False, memory_format: Any = None, pin_memory: bool = False) -> Tensor:
    """An uninitialised tensor like another one, its strides kept if dense (``torch.empty_like``)."""
    check_input("empty_like", input)
    if input._keys & UNINITIALIZED:
        raise refusal("empty_like")
    where = input._device if device is None else _device.resolve_device(device)
    shape = tuple(input.shape)
    strides = strides_for(input, memory_format) or contiguous_strides(shape)
    dtype = as_dtype("empty_like", dtype) or input._dtype
    out = call_on(_empty_strided, where.type, shape, strides, dtype, None, where)
    return finish(out, None, requires_grad, layout)


def options_of(factory: Callable[..., Any]) -> Callable[[Method], Method]:
    """A decorator: show a function's ``**options`` as what the factory takes by keyword."""

    def show(function: Method) -> Method:
        signature, more = inspect.signature(function), inspect.signature(factory).parameters.values()
        own = {name: p for name, p in signature.parameters.items() if p.kind != p.VAR_KEYWORD}
        given = [*own.values(), *(p for p in more if p.kind == p.KEYWORD_ONLY and p.name not in own)]
        function.__signature__ = signature.replace(parameters=given)  # type: ignore[attr-defined]
        return function

    return show


@options_of(empty_like)
def full_like(input: Tensor, fill_value: Any, **options: Any) -> Tensor:
    """A tensor like another one, filled with a number (``torch.full_like``)."""
    check_input("full_like", input)
    requires_grad = options.pop("requires_grad", False)
    out = empty_like(input, **options)
    return finish(fresh(_fill(out, fill_value)), None, requires_grad)


@options_of(empty_like)
def zeros_like(input: Tensor, **options: Any) -> Tensor:
    """A tensor of zeros like another tensor (``torch.zeros_like``)."""
    check_input("zeros_like", input)
    return full_like(input, 0, **options) if options else _zeros_like(input)


@options_of(empty_like)
def ones_like(input: Tensor, **options: Any) -> Tensor:
    """A tensor of ones like another tensor (``torch.ones_like``)."""
    check_input("ones_like", input)
    return full_like(input, 1, **options) if options else _ones_like(input)


def _new(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A ``new_*`` method: the factory, with this tensor's dtype and device for defaults."""

    def method(self: Tensor, *args: Any, dtype: DType | None = None, device: Any = None, **options: Any) -> Tensor:
        return function(*args, dtype=dtype or self._dtype, device=self._device if device is None else device, **options)

    method.__name__ = method.__qualname__ = f"new_{function.__name__}"
    method.__doc__ = (f"``torch.{function.__name__}`` with this tensor's dtype and device "
                      f"(``torch.Tensor.{method.__name__}``).")
    shown, itself = inspect.signature(function), next(iter(inspect.signature(method).parameters.values()))
    method.__signature__ = shown.replace(parameters=[itself, *shown.parameters.values()])  # type: ignore[attr-defined]
    return method


NEW = ("empty", "full", "zeros", "ones", "empty_strided")
for _name in NEW:
    setattr(Tensor, f"new_{_name}", _new(globals()[_name]))
