"""New tensors of random numbers: ``rand``, ``randn``, ``randint``, ``randperm``, ``normal``, ``*_like``.

All draw in place, into a new tensor or into ``out=``, in the order of its memory.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _device
from .._dispatch.aten import normal_ as _normal, random__from as _random_from, resize_ as _resize, uniform_ as _uniform
from .._dispatch.binding import make_function
from .._dispatch.dispatcher import call_on
from .._dispatch.keys import AUTOGRAD
from .._dispatch.schemas import registry
from .._dtype import DType, int64
from .._errors import NAMES
from .._random.generator import Generator
from .._tensor import Tensor
from .factories import check_input, empty, empty_like, finish, fresh, options_of, sizes_of

_randperm, _normal_of_tensors = registry["randperm"], make_function("normal")


def _draw(function: str, fill: Callable[..., Tensor], parameters: tuple[Any, ...], size: tuple[int, ...],
          generator: Generator | None, out: Tensor | None, dtype: DType | None, layout: Any, device: Any,
          requires_grad: bool) -> Tensor:
    """Fill ``out``, brought to the size, or a new tensor.

    Raises:
        TypeError: if ``generator`` is none.
        RuntimeError: if ``out`` requires grad, or is of another dtype than asked for.
    """
    if generator is not None and not isinstance(generator, Generator):
        raise TypeError(f"{function}(): argument 'generator' must be torch.Generator, not {type(generator).__name__}")
    if out is None:
        made = empty(size, dtype=dtype, layout=layout, device=device)
        return finish(fresh(fill(made, *parameters, generator)), None, requires_grad)
    if out._keys & AUTOGRAD:
        raise RuntimeError(f"aten::{function}(): functions with out=... arguments don't support automatic "
                           "differentiation, but one of the arguments requires grad.")
    if dtype is not None and dtype is not out.dtype:
        raise RuntimeError(f"{function}(): dtype {NAMES[dtype.name]} does not match dtype of out parameter "
                           f"({NAMES[out.dtype.name]})")
    return finish(fill(_resize(out, size), *parameters, generator), None, requires_grad)


def _integer(function: str, name: str, value: Any) -> int:
    if (isinstance(value, (int, np.integer)) and not isinstance(value, bool)) or isinstance(value, Tensor):
        return value.__index__()
    raise TypeError(f"{function}(): argument '{name}' must be int, not {type(value).__name__}")


# -- of a size -----------------------------------------------------------------------------------------------


def rand(*sizes: Any, size: Any = None, generator: Generator | None = None, out: Tensor | None = None,
         dtype: DType | None = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
         pin_memory: bool = False) -> Tensor:
    """Uniform numbers in [0, 1), of the default dtype unless given (``torch.rand``).

    Raises:
        NotImplementedError: for a dtype that is neither floating point nor complex.
    """
    shape = sizes_of("rand", sizes, size)
    return _draw("rand", _uniform, (0.0, 1.0), shape, generator, out, dtype, layout, device, requires_grad)


def randn(*sizes: Any, size: Any = None, generator: Generator | None = None, out: Tensor | None = None,
          dtype: DType | None = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
          pin_memory: bool = False) -> Tensor:
    """Normal numbers of mean 0 and variance 1, of the default dtype unless given (``torch.randn``).

    Raises:
        NotImplementedError: for a dtype that is neither floating point nor complex.
    """
    shape = sizes_of("randn", sizes, size)
    return _draw("randn", _normal, (0.0, 1.0), shape, generator, out, dtype, layout, device, requires_grad)


def randint(low: Any = 0, high: Any = None, size: Any = None, *, generator: Generator | None = None,
            out: Tensor | None = None, dtype: DType | None = None, layout: Any = None, device: Any = None,
            requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """Integers in [low, high), int64 unless given, by ``randint(high, size)`` or ``randint(low, high, size)``
    (``torch.randint``).

    Raises:
        RuntimeError: if the range is empty, or the dtype does not hold it.
    """
    if size is None and isinstance(high, (tuple, list)):
        high, size = None, high
    if high is None:
        low, high = 0, low
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"randint(): argument 'size' must be tuple of ints, not {type(size).__name__}")
    bounds = _integer("randint", "low", low), _integer("randint", "high", high)
    if dtype is None and out is None:
        dtype = int64
    shape = sizes_of("randint", (size,))
    return _draw("randint", _random_from, bounds, shape, generator, out, dtype, layout, device, requires_grad)


def randperm(n: int, *, generator: Generator | None = None, out: Tensor | None = None, dtype: DType | None = None,
             layout: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """The integers from 0 to ``n - 1`` in random order, of dtype int64 unless given (``torch.randperm``).

    Raises:
        RuntimeError: if ``n`` is negative, or more than the dtype counts to.
    """
    n = _integer("randperm", "n", n)
    where = _device.resolve_device(device)
    dtype = dtype or (int64 if out is None else out.dtype)
    with _device.selected(where):
        made = call_on(_randperm, where.type, n, generator, dtype)
    return finish(made, out, requires_grad, layout)


def normal(mean: Any, std: Any = 1.0, size: Any = None, *, generator: Generator | None = None,
           out: Tensor | None = None, dtype: DType | None = None, layout: Any = None, device: Any = None,
           requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """Normal numbers of given means and deviations: tensors, or two numbers and a size (``torch.normal``).

    Raises:
        RuntimeError: for a negative or complex deviation.
    """
    if size is None:
        more = {} if out is None else {"out": out}
        return _normal_of_tensors(mean, std, generator=generator, **more)
    parameters, shape = (float(mean), float(std)), sizes_of("normal", (size,))
    return _draw("normal", _normal, parameters, shape, generator, out, dtype, layout, device, requires_grad)


# -- like another tensor -------------------------------------------------------------------------------------


@options_of(empty_like)
def rand_like(input: Tensor, *, generator: Generator | None = None, requires_grad: bool = False,
              **options: Any) -> Tensor:
    """``torch.rand`` of a tensor's shape, strides, dtype and device (``torch.rand_like``)."""
    check_input("rand_like", input)
    return finish(fresh(_uniform(empty_like(input, **options), 0.0, 1.0, generator)), None, requires_grad)


@options_of(empty_like)
def randn_like(input: Tensor, *, generator: Generator | None = None, requires_grad: bool = False,
               **options: Any) -> Tensor:
    """``torch.randn`` of a tensor's shape, strides, dtype and device (``torch.randn_like``)."""
    check_input("randn_like", input)
    return finish(fresh(_normal(empty_like(input, **options), 0.0, 1.0, generator)), None, requires_grad)


@options_of(empty_like)
def randint_like(input: Tensor, low: Any = 0, high: Any = None, *, generator: Generator | None = None,
                 requires_grad: bool = False, **options: Any) -> Tensor:
    """``torch.randint`` of a tensor's shape, strides, dtype and device (``torch.randint_like``)."""
    check_input("randint_like", input)
    if high is None:
        low, high = 0, low
    bounds = _integer("randint_like", "low", low), _integer("randint_like", "high", high)
    return finish(fresh(_random_from(empty_like(input, **options), *bounds, generator)), None, requires_grad)
