"""Evenly spaced numbers, and the identity matrix."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _device
from .._base.about import about
from .._base.call_site import outside
from .._dispatch.aten import (
    arange as _arange, arange_start, arange_start_step, eye as _eye, eye_m, linspace as _linspace,
    logspace as _logspace,
)
from .._dtype import FLOATING, DType, as_dtype, get_default_dtype
from .._tensor import Tensor
from .factories import dtype_for, finish, options_of

NUMBERS = {int, float, complex, bool, type(None)}  #: and what stands for none
INT = {int}
#: The operators of ``arange``, by how many bounds they take.
BY_COUNT: dict[int, Callable[..., Tensor]] = {1: _arange, 2: arange_start, 3: arange_start_step}


def _number(value: Any) -> Any:
    if value.__class__ in NUMBERS:
        return value
    if isinstance(value, Tensor) and value.is_meta:
        return 0j if value.is_complex() else 0.0  # only the output's shape and dtype are wanted
    return value.item() if isinstance(value, (Tensor, np.generic)) else value


def arange(*bounds: Any, out: Tensor | None = None, dtype: DType | None = None, layout: Any = None, device: Any = None,
           requires_grad: bool = False, pin_memory: bool = False, **named: Any) -> Tensor:
    """Return the values in [start, end) in steps of ``step``, int64 if all are ints: ``arange(end)``, ``arange(start,
    end, step)`` (``torch.arange``). Raises RuntimeError if the step is zero or leads away from the end.
    """
    if INT.issuperset(map(type, bounds)) and out is None and not named and (of := BY_COUNT.get(len(bounds))):
        made = of(*bounds, as_dtype("arange", dtype), layout, _device.resolve_device(device), pin_memory)
        return finish("arange", made, None, requires_grad, layout, pin_memory)
    values = [_number(b) for b in bounds]
    start = named.pop("start", None)
    end, step = named.pop("end", None), named.pop("step", None)
    if named:
        raise about(TypeError(f"arange() got an unexpected keyword argument '{next(iter(named))}'"),
                    "unknown argument", function="arange", keyword=next(iter(named)))
    if len(values) == 1 and end is None:
        end = values[0] if start is None else end
    elif values:
        start = values[0]
        end = values[1] if len(values) > 1 else end
        step = values[2] if len(values) > 2 else step
    given = start, end, step
    if end is None or type(None) in map(type, bounds) or (
            not NUMBERS.issuperset(map(type, given)) and any(isinstance(v, (str, list, tuple)) for v in given)):
        raise TypeError("arange() received an invalid combination of arguments: expected numbers (end), (start, end) "
                        f"or (start, end, step), got {tuple(bounds)}")
    options = dtype_for("arange", dtype, out), layout, _device.resolve_device(device), pin_memory
    end = _number(end)
    if step is not None:
        made = arange_start_step(_number(0 if start is None else start), end, _number(step), *options)
    elif start is not None:
        made = arange_start(_number(start), end, *options)
    else:
        made = _arange(end, *options)
    count = made.numel()
    if out is not None and 0 != out.numel() != count:
        warnings.warn(f"The number of elements in the out tensor of shape {list(out.shape)} is {out.numel()} which "
                      f"does not match the computed number of elements {count}. Note that this may occur as a result "
                      f"of rounding error. The out tensor will be resized to a tensor of shape ({count},).",
                      stacklevel=outside())
    return finish("arange", _as_given(made, out), out, requires_grad, layout, pin_memory)


def _as_given(made: Tensor, out: Tensor | None) -> Tensor:
    """Return a sequence in the shape of ``out``, if that holds as many elements."""
    return made if out is None or made.ndim != 1 or made.numel() != out.numel() else made.view(out.shape)


@options_of(arange)
def range(start: Any = 0, end: Any = None, step: Any = 1, **options: Any) -> Tensor:
    """Return the values in [start, end] with the end, in floating point; ``arange`` is preferred (``torch.range``)."""
    options.setdefault("dtype", get_default_dtype())
    if options["dtype"].category < FLOATING:
        start, end, step = int(start), int(end), int(step)
    warnings.warn("torch.range is deprecated and will be removed in a future release because its behavior is "
                  "inconsistent with Python's range builtin. Instead, use torch.arange, which produces values in "
                  "[start, end).", stacklevel=3)
    count = int((end - start) / step) + 1
    return arange(start, start + count * step - step / 2, step, **options)


def _spaced(function: str, operator: Callable[..., Tensor], *args: Any, out: Tensor | None, dtype: DType | None,
            layout: Any, device: Any, requires_grad: bool, pin_memory: bool) -> Tensor:
    numbers = args
    if not NUMBERS.issuperset(map(type, args)):
        if device is None and any(isinstance(a, Tensor) and a.is_meta for a in args):
            device = "meta"
        numbers = tuple(_number(a) for a in args)
    if len(numbers) > 2 and (not isinstance(numbers[2], int) or numbers[2].__class__ is bool):
        raise TypeError(f"{function}(): argument 'steps' (position 3) must be int, not {type(numbers[2]).__name__}")
    made = operator(*numbers, dtype_for(function, dtype, out), layout, _device.resolve_device(device), pin_memory)
    return finish(function, _as_given(made, out), out, requires_grad, layout, pin_memory)


def linspace(start: Any, end: Any, steps: int, *, out: Tensor | None = None, dtype: DType | None = None,
             layout: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """Return ``steps`` evenly spaced values from ``start`` to ``end``, both included (``torch.linspace``)."""
    return _spaced("linspace", _linspace, start, end, steps, out=out, dtype=dtype, layout=layout, device=device,
                   requires_grad=requires_grad, pin_memory=pin_memory)


def logspace(start: Any, end: Any, steps: int, base: float = 10.0, *, out: Tensor | None = None,
             dtype: DType | None = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
             pin_memory: bool = False) -> Tensor:
    """Return powers of ``base`` with exponents as in ``linspace`` (``torch.logspace``)."""
    return _spaced("logspace", _logspace, start, end, steps, base, out=out, dtype=dtype, layout=layout, device=device,
                   requires_grad=requires_grad, pin_memory=pin_memory)


def eye(n: int, m: int | None = None, *, out: Tensor | None = None, dtype: DType | None = None, layout: Any = None,
        device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """Return a matrix of ones on the diagonal and zeros elsewhere (``torch.eye``)."""
    operator, sizes = (_eye, (n,)) if m is None else (eye_m, (n, m))
    return _spaced("eye", operator, *sizes, out=out, dtype=dtype, layout=layout, device=device,
                   requires_grad=requires_grad, pin_memory=pin_memory)
