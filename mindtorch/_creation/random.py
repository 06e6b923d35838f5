"""New tensors of random numbers: ``rand``, ``randn``, ``randint``, ``randperm``, ``normal``, ``*_like``.

All draw in place, into a new tensor or into ``out=``, in the order of its memory.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _device
from .._backends.random.generator import Generator
from .._base.errors import NAMES
from .._base.symbolic import SIZES
from .._dispatch.aten import (
    normal_ as _normal_, normal_float_float as _normal_of_numbers, rand as _rand, rand_generator as _rand_generator,
    rand_like as _rand_like, rand_like_generator as _rand_like_generator, randint as _randint,
    randint_generator as _randint_generator, randint_like as _randint_like,
    randint_like_generator as _randint_like_generator, randint_like_low_dtype as _randint_like_low,
    randint_like_low_generator_dtype as _randint_like_low_generator, randint_low as _randint_low,
    randint_low_generator as _randint_low_generator, randn as _randn, randn_generator as _randn_generator,
    randn_like as _randn_like, randn_like_generator as _randn_like_generator, random__from as _random_from_,
    randperm as _randperm, randperm_generator as _randperm_generator, resize_ as _resize_, uniform_ as _uniform_,
)
from .._dispatch.binding import make_function
from .._dispatch.dispatcher import refuse_random_out
from .._dispatch.keys import AUTOGRAD
from .._dtype import DType, as_dtype
from .._tensor import Tensor
from .factories import empty_like, finish, like, options_of, sizes_of

_normal_of_tensors = make_function("normal")
Operator = Callable[..., Tensor]


def _drawn(function: str, operator: Operator, operator_generator: Operator, *values: Any,
           fill: tuple[Any, ...], generator: Generator | None, out: Tensor | None, dtype: DType | None, layout: Any,
           device: Any, requires_grad: bool, pin_memory: bool) -> Tensor:
    """Call a factory, which has an overload for a generator, or fill ``out``, brought to the size, by the operator and
    the parameters ``fill``. Raises TypeError if ``generator`` is none, and RuntimeError if ``out`` requires grad, or is
    of another dtype than asked for.
    """
    if generator is not None and not isinstance(generator, Generator):
        raise TypeError(f"{function}(): argument 'generator' must be torch.Generator, not {type(generator).__name__}")
    dtype = as_dtype(function, dtype)
    if out is None:
        options = dtype, layout, _device.resolve_device(device), pin_memory
        made = (operator(*values, *options) if generator is None and operator is not operator_generator
                else operator_generator(*values, generator, *options))
        return finish(function, made, None, requires_grad, layout, pin_memory)
    refuse_random_out()
    if out._keys & AUTOGRAD:
        raise RuntimeError(f"aten::{function}(): functions with out=... arguments don't support automatic "
                           "differentiation, but one of the arguments requires grad.")
    if dtype is not None and dtype is not out.dtype:
        raise RuntimeError(f"{function}(): dtype {NAMES[dtype.name]} does not match dtype of out parameter "
                           f"({NAMES[out.dtype.name]})")
    write, *parameters = fill
    return finish(function, write(_resize_(out, values[-1]), *parameters, generator), None, requires_grad)


def _integer(function: str, name: str, value: Any) -> int:
    if value.__class__ in SIZES:
        return value
    if (isinstance(value, (int, np.integer)) and not isinstance(value, bool)) or isinstance(value, Tensor):
        return value.__index__()
    raise TypeError(f"{function}(): argument '{name}' must be int, not {type(value).__name__}")


# -- of a size -----------------------------------------------------------------------------------------------


def rand(*sizes: Any, size: Any = None, generator: Generator | None = None, out: Tensor | None = None,
         dtype: DType | None = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
         pin_memory: bool = False) -> Tensor:
    """Draw uniform numbers in [0, 1) (``torch.rand``); NotImplementedError unless floating point or complex."""
    return _drawn("rand", _rand, _rand_generator, sizes_of("rand", sizes, size), fill=(_uniform_, 0.0, 1.0),
                  generator=generator, out=out, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad,
                  pin_memory=pin_memory)


def randn(*sizes: Any, size: Any = None, generator: Generator | None = None, out: Tensor | None = None,
          dtype: DType | None = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
          pin_memory: bool = False) -> Tensor:
    """Draw standard normal numbers (``torch.randn``); NotImplementedError unless floating point or complex."""
    return _drawn("randn", _randn, _randn_generator, sizes_of("randn", sizes, size), fill=(_normal_, 0.0, 1.0),
                  generator=generator, out=out, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad,
                  pin_memory=pin_memory)


def randint(low: Any = 0, high: Any = None, size: Any = None, *, generator: Generator | None = None,
            out: Tensor | None = None, dtype: DType | None = None, layout: Any = None, device: Any = None,
            requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """Draw integers in [low, high), int64 unless given, by ``randint(high, size)`` or ``randint(low, high, size)``
    (``torch.randint``). Raises RuntimeError if the range is empty, or the dtype does not hold it.
    """
    if size is None and isinstance(high, (tuple, list)):
        high, size = None, high
    operators: tuple[Operator, Operator] = _randint_low, _randint_low_generator
    if high is None:
        low, high, operators = 0, low, (_randint, _randint_generator)
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"randint(): argument 'size' must be tuple of ints, not {type(size).__name__}")
    low, high = _integer("randint", "low", low), _integer("randint", "high", high)
    bounds = (high,) if operators[0] is _randint else (low, high)
    return _drawn("randint", *operators, *bounds, sizes_of("randint", (size,)), fill=(_random_from_, low, high),
                  generator=generator, out=out, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad,
                  pin_memory=pin_memory)


def randperm(n: int, *, generator: Generator | None = None, out: Tensor | None = None, dtype: DType | None = None,
             layout: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """Return the integers from 0 to ``n - 1`` in random order, of dtype int64 unless given (``torch.randperm``). Raises
    RuntimeError if ``n`` is negative, or more than the dtype counts to.
    """
    n = _integer("randperm", "n", n)
    options = dtype or (None if out is None else out.dtype), layout, _device.resolve_device(device), pin_memory
    made = _randperm(n, *options) if generator is None else _randperm_generator(n, generator, *options)
    return finish("randperm", made, out, requires_grad, layout, pin_memory)


def normal(mean: Any, std: Any = 1.0, size: Any = None, *, generator: Generator | None = None,
           out: Tensor | None = None, dtype: DType | None = None, layout: Any = None, device: Any = None,
           requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """Draw normal numbers of given means and deviations: tensors, or two numbers and a size (``torch.normal``). Raises
    RuntimeError for a negative or complex deviation.
    """
    if size is None:
        more = {} if out is None else {"out": out}
        return _normal_of_tensors(mean, std, generator=generator, **more)
    mean, std = float(mean), float(std)
    return _drawn("normal", _normal_of_numbers, _normal_of_numbers, mean, std, sizes_of("normal", (size,)),
                  fill=(_normal_, mean, std), generator=generator, out=out, dtype=dtype, layout=layout,
                  device=_device.CPU if device is None else device,  # whatever the default device is, as in PyTorch
                  requires_grad=requires_grad, pin_memory=pin_memory)


# -- like another tensor -------------------------------------------------------------------------------------


def _drawn_like(function: str, operator: Operator, operator_generator: Operator, input: Tensor, *values: Any,
                generator: Generator | None, **options: Any) -> Tensor:
    return (like(function, operator, input, *values, **options) if generator is None
            else like(function, operator_generator, input, *values, generator, **options))


@options_of(empty_like)
def rand_like(input: Tensor, *, generator: Generator | None = None, **options: Any) -> Tensor:
    """Draw as ``torch.rand`` with a tensor's shape, strides, dtype and device (``torch.rand_like``)."""
    return _drawn_like("rand_like", _rand_like, _rand_like_generator, input, generator=generator, **options)


@options_of(empty_like)
def randn_like(input: Tensor, *, generator: Generator | None = None, **options: Any) -> Tensor:
    """Draw as ``torch.randn`` with a tensor's shape, strides, dtype and device (``torch.randn_like``)."""
    return _drawn_like("randn_like", _randn_like, _randn_like_generator, input, generator=generator, **options)


@options_of(empty_like)
def randint_like(input: Tensor, low: Any = 0, high: Any = None, *, generator: Generator | None = None,
                 **options: Any) -> Tensor:
    """Draw as ``torch.randint`` with a tensor's shape, strides, dtype and device (``torch.randint_like``)."""
    if high is None:
        high = _integer("randint_like", "high", low)
        return _drawn_like("randint_like", _randint_like, _randint_like_generator, input, high, generator=generator,
                           **options)
    low, high = _integer("randint_like", "low", low), _integer("randint_like", "high", high)
    return _drawn_like("randint_like", _randint_like_low, _randint_like_low_generator, input, low, high,
                       generator=generator, **options)
