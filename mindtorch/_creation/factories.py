"""Tensors from sizes: the factories of the namespace, their ``*_like`` forms and their ``new_*`` methods."""
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _device
from .._backends.common.uninitialized import refusal
from .._backends.sparse.parts import nothing
from .._base.about import check_flags, check_format, wrong_argument
from .._base.errors import NAMES
from .._base.formats import strided
from .._base.symbolic import SYMBOLIC, SymInt
from .._dispatch.aten import (
    copy_ as _copy_, empty_like as _empty_like, empty_memory_format as _empty, empty_permuted as _empty_permuted,
    empty_strided as _empty_strided, full as _full, full_like as _full_like, new_empty as _new_empty,
    new_empty_strided as _new_empty_strided, new_full as _new_full, new_ones as _new_ones, new_zeros as _new_zeros,
    ones as _ones, ones_like as _ones_like, resize_ as _resize_, zeros as _zeros, zeros_like as _zeros_like,
)
from .._dispatch.binding import LONG
from .._dispatch.dispatcher import TENSOR_TYPES
from .._dispatch.keys import SPARSES, UNINITIALIZED
from .._dtype import FLOATING, DType, as_dtype
from .._tensor import Method, Tensor, tensor_method

NUMBERS = int, float, bool, complex


def sizes_of(function: str, size: tuple[Any, ...], named: Any = None, what: str = "size") -> tuple[int, ...]:
    """Return a factory's sizes: ``zeros(2, 3)``, ``zeros((2, 3))``, ``zeros(size=...)``; TypeError if invalid.

    The error names the argument ``what``.
    """
    if named is not None:
        if size:
            raise TypeError(f"{function}() got multiple values for argument 'size'")
        if not isinstance(named, (tuple, list)):
            raise TypeError(f"{function}(): argument '{what}' must be tuple of ints, not {type(named).__name__}")
        size = (named,)
    elif not size:
        raise TypeError(f'{function}() missing 1 required positional arguments: "size"')
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = tuple(size[0])
    plain = True
    for n in size:
        if n.__class__ is int:
            if n in LONG:
                continue
            raise TypeError(f"{function}(): argument '{what}' failed to unpack the object at pos {size.index(n) + 1} "
                            "with error \"Overflow when unpacking long long")
        plain = False
        if n.__class__ is SymInt:
            continue
        if isinstance(n, bool) or not (isinstance(n, (int, np.integer)) or (
                isinstance(n, np.ndarray) and not n.ndim and n.dtype.kind in "iu") or (
                isinstance(n, Tensor) and n._dtype.category < FLOATING and n.numel() == 1)):
            raise TypeError(f"{function}(): argument '{what}' must be tuple of ints, but found element of type "
                            f"{type(n).__name__}")
    return size if plain else tuple([
        n if n.__class__ is SymInt else n.item() if isinstance(n, Tensor) else int(n) for n in size])  # type: ignore[misc]


def _number(function: str, value: Any) -> Any:
    """Return the number to fill a tensor with. Raises TypeError if it is none."""
    if value.__class__ in TENSOR_TYPES and not value.requires_grad:
        return value.item()
    if value.__class__ not in NUMBERS and not isinstance(value, (np.number, np.bool_, *NUMBERS, *SYMBOLIC)):
        raise wrong_argument(function, "fill_value", "Number", value, 2)
    return value


def finish(function: str, out: Tensor, result: Tensor | None, requires_grad: bool, layout: Any = None,
           pin_memory: bool = False) -> Tensor:
    """Apply the options that all factories share. Raises TypeError if one is of another type."""
    if requires_grad is not False or pin_memory is not False:
        check_flags(function, True, requires_grad=requires_grad, pin_memory=pin_memory)
    if layout is not None and layout is not out.layout:
        if layout.__class__ is not strided.__class__:
            raise wrong_argument(function, "layout", "torch.layout", layout)
        raise RuntimeError(f"this factory makes tensors of the layout {out.layout} only, but got layout={layout}")
    if result is not None:
        if result.shape != out.shape:
            _resize_(result, tuple(out.shape))
        out = _copy_(result, out)
    return out._require_grad(True) if requires_grad else out


def dtype_for(function: str, dtype: DType | None, out: Tensor | None) -> DType | None:
    """Return the dtype of ``dtype=`` and ``out=``; RuntimeError if they differ, TypeError if it is no dtype."""
    dtype = as_dtype(function, dtype)
    if out is None:
        return dtype
    if dtype is not None and dtype is not out._dtype:
        raise RuntimeError(f"dtype {NAMES[dtype.name]} does not match dtype of out parameter "
                           f"({NAMES[out._dtype.name]})")
    return out._dtype


def _without_values(function: str, size: tuple[int, ...], layout: Any, dtype: Any, device: Any,
                    requires_grad: bool) -> Tensor:
    """Return a tensor of a sparse layout that has no values."""
    if layout.__class__ is not strided.__class__:
        raise wrong_argument(function, "layout", "torch.layout", layout)
    made = nothing(size, layout, as_dtype(function, dtype), _device.resolve_device(device))
    return finish(function, made, None, requires_grad)


def empty(*sizes: Any, size: Any = None, out: Tensor | None = None, dtype: DType | None = None, layout: Any = None,
          device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
          memory_format: Any = None) -> Tensor:
    """Return an uninitialised tensor (``torch.empty``); RuntimeError if a size is negative."""
    if layout is not None and layout is not strided:
        return _without_values("empty", sizes_of("empty", sizes, size), layout, dtype, device, requires_grad)
    if memory_format is not None:
        check_format("empty", memory_format)
    made = _empty(sizes_of("empty", sizes, size), dtype_for("empty", dtype, out), layout,
                  _device.resolve_device(device), pin_memory, memory_format)
    return finish("empty", made, out, requires_grad, layout, pin_memory)


def empty_strided(size: Any, stride: Any, *, dtype: DType | None = None, layout: Any = None, device: Any = None,
                  requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """Return an uninitialised tensor with the given strides in elements (``torch.empty_strided``)."""
    size, stride = [sizes_of("empty_strided", (), given, name) for name, given in (("size", size), ("stride", stride))]
    _check_ranks(size, stride)
    made = _empty_strided(size, stride, as_dtype("empty_strided", dtype), layout,
                          _device.resolve_device(device), pin_memory)
    return finish("empty_strided", made, None, requires_grad, layout, pin_memory)


def _check_ranks(size: Any, stride: Any) -> None:
    if len(size) != len(stride):
        raise RuntimeError(f"dimensionality of sizes ({len(size)}) must match dimensionality of strides "
                           f"({len(stride)})")


def empty_permuted(size: Any, physical_layout: Any, *, dtype: DType | None = None, layout: Any = None,
                   device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """Return an uninitialised tensor whose dimensions lie in memory in a given order (``torch.empty_permuted``)."""
    size, order = [sizes_of("empty_permuted", (), given, name)
                   for name, given in (("size", size), ("physical_layout", physical_layout))]
    made = _empty_permuted(size, order, as_dtype("empty_permuted", dtype), layout,
                           _device.resolve_device(device), pin_memory)
    return finish("empty_permuted", made, None, requires_grad, layout, pin_memory)


def full(size: Any, fill_value: Any, *, out: Tensor | None = None, dtype: DType | None = None, layout: Any = None,
         device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """Return a tensor filled with a number, of the number's dtype unless given (``torch.full``)."""
    made = _full(sizes_of("full", (), size), _number("full", fill_value), dtype_for("full", dtype, out), layout,
                 _device.resolve_device(device), pin_memory)
    return finish("full", made, out, requires_grad, layout, pin_memory)


def zeros(*sizes: Any, size: Any = None, out: Tensor | None = None, dtype: DType | None = None, layout: Any = None,
          device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """Return a tensor of zeros, of the default dtype unless given (``torch.zeros``)."""
    if layout is not None and layout is not strided:
        return _without_values("zeros", sizes_of("zeros", sizes, size), layout, dtype, device, requires_grad)
    if out is not None and out._keys & SPARSES:
        return out.sparse_resize_and_clear_(shape := sizes_of("zeros", sizes, size), len(shape), 0)
    made = _zeros(sizes_of("zeros", sizes, size), dtype_for("zeros", dtype, out), layout,
                  _device.resolve_device(device), pin_memory)
    return finish("zeros", made, out, requires_grad, layout, pin_memory)


def ones(*sizes: Any, size: Any = None, out: Tensor | None = None, dtype: DType | None = None, layout: Any = None,
         device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """Return a tensor of ones, of the default dtype unless given (``torch.ones``)."""
    made = _ones(sizes_of("ones", sizes, size), dtype_for("ones", dtype, out), layout,
                 _device.resolve_device(device), pin_memory)
    return finish("ones", made, out, requires_grad, layout, pin_memory)


def _options(function: str, dtype: DType | None, layout: Any, device: Any, pin_memory: bool) -> tuple[Any, ...]:
    """Return the options of a factory that takes missing ones from a tensor."""
    return as_dtype(function, dtype), layout, None if device is None else _device.resolve_device(device), pin_memory


def empty_like(input: Tensor, *, dtype: DType | None = None, layout: Any = None, device: Any = None,
               requires_grad: bool = False, memory_format: Any = None, pin_memory: bool = False) -> Tensor:
    """Return an uninitialised tensor like another one, its strides kept if dense (``torch.empty_like``)."""
    return like("empty_like", _empty_like, input, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory,
                memory_format=memory_format, requires_grad=requires_grad)


def like(function: str, operator: Callable[..., Tensor], input: Tensor, *values: Any, dtype: DType | None = None,
         layout: Any = None, device: Any = None, pin_memory: bool = False, memory_format: Any = None,
         requires_grad: bool = False) -> Tensor:
    """Call a factory that makes a tensor like ``input``.

    Raises:
        TypeError: PyTorch's, if ``input`` is not a tensor; also for one without a shape yet.
    """
    if input.__class__ not in TENSOR_TYPES:
        raise wrong_argument(function, "input", "Tensor", input, 1)
    if input._keys & UNINITIALIZED:
        raise refusal(function)
    if memory_format is not None:
        check_format(function, memory_format)
    made = operator(input, *values, *_options(function, dtype, layout, device, pin_memory), memory_format)
    return finish(function, made, None, requires_grad, layout, pin_memory)


def options_of(factory: Callable[..., Any]) -> Callable[[Method], Method]:
    """Decorate a function to show its ``**options`` as the keywords of ``factory``."""

    def show(function: Method) -> Method:
        signature, more = inspect.signature(function), inspect.signature(factory).parameters.values()
        own = {name: p for name, p in signature.parameters.items() if p.kind != p.VAR_KEYWORD}
        given = [*own.values(), *(p for p in more if p.kind == p.KEYWORD_ONLY and p.name not in own)]
        function.__signature__ = signature.replace(parameters=given)  # type: ignore[attr-defined]
        return function

    return show


@options_of(empty_like)
def full_like(input: Tensor, fill_value: Any, **options: Any) -> Tensor:
    """Return a tensor like another one, filled with a number (``torch.full_like``)."""
    return like("full_like", _full_like, input, _number("full_like", fill_value), **options)


@options_of(empty_like)
def zeros_like(input: Tensor, **options: Any) -> Tensor:
    """Return a tensor of zeros like another tensor (``torch.zeros_like``)."""
    return like("zeros_like", _zeros_like, input, **options)


@options_of(empty_like)
def ones_like(input: Tensor, **options: Any) -> Tensor:
    """Return a tensor of ones like another tensor (``torch.ones_like``)."""
    return like("ones_like", _ones_like, input, **options)


# -- with a tensor's dtype and on its device ---------------------------------------------------------------------------


@tensor_method("new_empty")
def new_empty(self: Tensor, *sizes: Any, size: Any = None, dtype: DType | None = None, layout: Any = None,
              device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """Return an uninitialised tensor with this tensor's dtype and device unless given (``torch.Tensor.new_empty``)."""
    made = _new_empty(self, sizes_of("new_empty", sizes, size),
                      *_options("new_empty", dtype, layout, device, pin_memory))
    return finish("new_empty", made, None, requires_grad, layout, pin_memory)


@tensor_method("new_zeros")
def new_zeros(self: Tensor, *sizes: Any, size: Any = None, dtype: DType | None = None, layout: Any = None,
              device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """Return a tensor of zeros with this tensor's dtype and device unless given (``torch.Tensor.new_zeros``)."""
    made = _new_zeros(self, sizes_of("new_zeros", sizes, size),
                      *_options("new_zeros", dtype, layout, device, pin_memory))
    return finish("new_zeros", made, None, requires_grad, layout, pin_memory)


@tensor_method("new_ones")
def new_ones(self: Tensor, *sizes: Any, size: Any = None, dtype: DType | None = None, layout: Any = None,
             device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """Return a tensor of ones with this tensor's dtype and device unless given (``torch.Tensor.new_ones``)."""
    made = _new_ones(self, sizes_of("new_ones", sizes, size), *_options("new_ones", dtype, layout, device, pin_memory))
    return finish("new_ones", made, None, requires_grad, layout, pin_memory)


@tensor_method("new_full")
def new_full(self: Tensor, size: Any, fill_value: Any, *, dtype: DType | None = None, layout: Any = None,
             device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """Return a filled tensor, by default of this one's dtype and device (``torch.Tensor.new_full``)."""
    made = _new_full(self, sizes_of("new_full", (), size), _number("new_full", fill_value),
                     *_options("new_full", dtype, layout, device, pin_memory))
    return finish("new_full", made, None, requires_grad, layout, pin_memory)


@tensor_method("new_empty_strided")
def new_empty_strided(self: Tensor, size: Any, stride: Any, *, dtype: DType | None = None, layout: Any = None,
                      device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """Return an uninitialised tensor of these strides in elements (``torch.Tensor.new_empty_strided``)."""
    size, stride = [sizes_of("new_empty_strided", (), of, name) for name, of in (("size", size), ("stride", stride))]
    _check_ranks(size, stride)
    made = _new_empty_strided(self, size, stride,
                              *_options("new_empty_strided", dtype, layout, device, pin_memory))
    return finish("new_empty_strided", made, None, requires_grad, layout, pin_memory)
