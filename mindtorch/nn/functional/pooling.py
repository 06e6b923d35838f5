"""Pooling functions of ``torch.nn.functional``.

``kernel_size``, ``stride``, ``padding``, ``dilation`` and ``output_size`` are one int, or one for each dimension.
Inputs are (N, C, ...), or (C, ...).
"""
import inspect
import math
from collections.abc import Callable
from typing import Any

from ..._creation.random import rand
from ..._methods.functions import (
    adaptive_avg_pool1d, adaptive_avg_pool2d as _adaptive_avg_pool2d, adaptive_avg_pool3d as _adaptive_avg_pool3d,
    adaptive_max_pool1d as _adaptive_max_pool1d, adaptive_max_pool2d as _adaptive_max_pool2d,
    adaptive_max_pool3d as _adaptive_max_pool3d, avg_pool1d, avg_pool2d, avg_pool3d,
    fractional_max_pool2d as _fractional_max_pool2d, fractional_max_pool3d as _fractional_max_pool3d,
    max_pool1d as _max_pool1d, max_pool1d_with_indices as _max_pool1d_with_indices, max_pool2d as _max_pool2d,
    max_pool2d_with_indices as _max_pool2d_with_indices, max_pool3d as _max_pool3d,
    max_pool3d_with_indices as _max_pool3d_with_indices, max_unpool2d as _max_unpool2d, max_unpool3d as _max_unpool3d,
)
from ..._tensor import Tensor
from .._sizes import ntuple as _ntuple, with_defaults as _with_defaults

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d", "adaptive_max_pool3d_with_indices", "avg_pool1d", "avg_pool2d", "avg_pool3d",
    "fractional_max_pool2d", "fractional_max_pool2d_with_indices", "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices", "lp_pool1d", "lp_pool2d", "lp_pool3d", "max_pool1d",
    "max_pool1d_with_indices", "max_pool2d", "max_pool2d_with_indices", "max_pool3d", "max_pool3d_with_indices",
    "max_unpool1d", "max_unpool2d", "max_unpool3d",
]
__dir__ = __all__.copy




def _named(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Give a function made for some number of dimensions its public name, also in tracebacks and its docstring."""
    function.__code__ = function.__code__.replace(co_name=name, co_qualname=name)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = (function.__doc__ or "").replace("NAME", name)
    return function


def _pair(with_indices: Callable[..., tuple[Tensor, Tensor]], name: str, place: int,
          maxima: Callable[..., Tensor] | None = None) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the function that returns places only if ``return_indices``, at a place among its arguments, is true, and
    the one that always does. The first takes any arguments, as that of PyTorch's ``boolean_dispatch``.
    """
    def max_pool(*args: Any, **kwargs: Any) -> Any:
        if kwargs["return_indices"] if "return_indices" in kwargs else len(args) > place and args[place]:
            return with_indices(*args, **kwargs)
        return with_indices(*args, **kwargs)[0] if maxima is None else maxima(*args, **kwargs)

    max_pool.__doc__ = (with_indices.__doc__ or "").replace(", and", ", and with ``return_indices``", 1)
    signature = inspect.signature(with_indices)
    max_pool.__signature__ = signature.replace(return_annotation=Any)  # type: ignore[attr-defined]
    return _named(max_pool, name), _named(with_indices, f"{name}_with_indices")


# -- maxima of windows -------------------------------------------------------------------------------------------------

def _max_pools(dims: int, plain: Callable[..., Tensor],
               both: Callable[..., tuple[Tensor, Tensor]]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def maxima(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
               ceil_mode: bool = False, return_indices: bool = False) -> Tensor:
        return plain(input, kernel_size, () if stride is None else stride, padding, dilation, ceil_mode)

    def with_indices(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
                     ceil_mode: bool = False, return_indices: bool = False) -> tuple[Tensor, Tensor]:
        """Return the greatest element of each window, and its place in the dimensions of windows
        (``torch.nn.functional.NAME``). Raises RuntimeError if the sizes do not fit together.
        """
        return both(input, kernel_size, () if stride is None else stride, padding, dilation, ceil_mode)

    return _pair(with_indices, f"max_pool{dims}d", 6, maxima)


max_pool1d, max_pool1d_with_indices = _max_pools(1, _max_pool1d, _max_pool1d_with_indices)
max_pool2d, max_pool2d_with_indices = _max_pools(2, _max_pool2d, _max_pool2d_with_indices)
max_pool3d, max_pool3d_with_indices = _max_pools(3, _max_pool3d, _max_pool3d_with_indices)


def _unpooled_size(input: Tensor, kernel: tuple[int, ...], stride: tuple[int, ...], padding: tuple[int, ...],
                   output_size: Any) -> list[int]:
    """Return the size that pooling with these settings started from: the given one, if it is possible."""
    dims = len(kernel)
    sizes = [(n - 1) * s + k - 2 * p
             for n, k, s, p in zip(input.shape[-dims:], kernel, stride, padding, strict=False)]
    if output_size is not None:
        given = list(output_size)[2:] if len(output_size) == dims + 2 else list(output_size)
        if len(given) != dims:
            raise ValueError(f"output_size should be a sequence containing {dims} or {dims + 2} elements, but it has a "
                             f"length of '{len(given)}'")
        for d, (size, default, step) in enumerate(zip(given, sizes, stride, strict=True)):
            if not default - step < size < default + step:
                raise ValueError(f'invalid output_size "{output_size}" (dim {d} must be between {default - step} and '
                                 f"{default + step})")
        sizes = given
    for d, size in enumerate(sizes):
        if size < 0:
            raise ValueError("max_unpooling: output_size must contain non-negative spatial dimensions, but got "
                             f"output_size[{d}]={size}")
    return sizes


def _unpool(dims: int, input: Tensor, kernel_size: Any, stride: Any, padding: Any,
            output_size: Any) -> tuple[list[int], tuple[int, ...], tuple[int, ...]]:
    """Return the size of the output, and stride and padding with a number for each dimension."""
    kernel, padding = _ntuple(dims)(kernel_size), _ntuple(dims)(padding)
    stride = kernel if stride is None else _ntuple(dims)(stride)
    return _unpooled_size(input, kernel, stride, padding, output_size), stride, padding


def _max_unpool(dims: int) -> Callable[..., Tensor]:
    def max_unpool(input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
                   output_size: Any = None) -> Tensor:
        """Put maxima back where pooling found them, among zeros (``torch.nn.functional.NAME``). Raises ValueError if
        ``output_size`` is not one that pooling could have started from, and RuntimeError if shapes do not fit, or an
        index is out of range.
        """
        size, stride, padding = _unpool(dims, input, kernel_size, stride, padding, output_size)
        if dims == 3:
            return _max_unpool3d(input, indices, size, stride, padding)
        if dims == 2:
            return _max_unpool2d(input, indices, size)
        return _max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), [*size, 1]).squeeze(-1)

    return _named(max_unpool, f"max_unpool{dims}d")


max_unpool1d, max_unpool2d, max_unpool3d = map(_max_unpool, (1, 2, 3))


# -- windows at random -------------------------------------------------------------------------------------------------

def _fractional(dims: int, input: Tensor, output_size: Any, output_ratio: Any, samples: Any) -> tuple[Any, Any]:
    """Return the size of the output, and the random numbers that place the windows."""
    name = f"fractional_max_pool{dims}d"
    if output_size is None:
        if output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
        ratios = _ntuple(dims)(output_ratio)
        if len(ratios) > dims:
            raise ValueError(f"{name} requires output_ratio to either be a single Int or tuple of Ints.")
        output_size = [int(n * ratio) for n, ratio in zip(input.shape[-dims:], ratios, strict=True)]
    if samples is None:
        batch = 1 if input.dim() == dims + 1 else input.size(0)
        samples = rand(batch, input.size(-dims - 1), dims, dtype=input.dtype, device=input.device)
    return output_size, samples


def _fractional_max_pools(dims: int, pool: Callable[..., tuple[Tensor, Tensor]]) -> tuple[
        Callable[..., Any], Callable[..., Any]]:
    def with_indices(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
                     return_indices: bool = False, _random_samples: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return the greatest element of each of ``output_size`` windows at random places, or ``output_ratio`` of the
        input's size, and its place (``torch.nn.functional.NAME``).

        Raises:
            ValueError: without a size or a ratio.
            RuntimeError: if the sizes do not fit together.
        """
        size, samples = _fractional(dims, input, output_size, output_ratio, _random_samples)
        return pool(input, kernel_size, size, samples)

    return _pair(with_indices, f"fractional_max_pool{dims}d", 4)


fractional_max_pool2d, fractional_max_pool2d_with_indices = _fractional_max_pools(2, _fractional_max_pool2d)
fractional_max_pool3d, fractional_max_pool3d_with_indices = _fractional_max_pools(3, _fractional_max_pool3d)


# -- regions -----------------------------------------------------------------------------------------------------------

def _sizes(output_size: Any, input: Tensor, dims: int) -> Any:
    """Return the size of an output, with the input's in place of None; of one dimension, it is checked later."""
    if dims == 1:
        return output_size
    return _with_defaults((None,) * dims if output_size is None else output_size, input.shape)


def _adaptive_avg_pool(dims: int, pool: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def adaptive_avg_pool(input: Tensor, output_size: Any) -> Tensor:
        """Return the means of ``output_size`` regions, as even as they can be; None keeps the input's size
        (``torch.nn.functional.NAME``). Raises RuntimeError if the sizes do not fit together.
        """
        return pool(input, _sizes(output_size, input, dims))

    return _named(adaptive_avg_pool, f"adaptive_avg_pool{dims}d")


adaptive_avg_pool2d = _adaptive_avg_pool(2, _adaptive_avg_pool2d)
adaptive_avg_pool3d = _adaptive_avg_pool(3, _adaptive_avg_pool3d)


def _adaptive_max_pools(dims: int, pool: Callable[..., tuple[Tensor, Tensor]]) -> tuple[
        Callable[..., Any], Callable[..., Any]]:
    def with_indices(input: Tensor, output_size: Any, return_indices: bool = False) -> tuple[Tensor, Tensor]:
        """Return the greatest elements of ``output_size`` regions, as even as they can be, and their places
        (``torch.nn.functional.NAME``). Raises RuntimeError if the sizes do not fit together.
        """
        return pool(input, _sizes(output_size, input, dims))

    return _pair(with_indices, f"adaptive_max_pool{dims}d", 2)


adaptive_max_pool1d, adaptive_max_pool1d_with_indices = _adaptive_max_pools(1, _adaptive_max_pool1d)
adaptive_max_pool2d, adaptive_max_pool2d_with_indices = _adaptive_max_pools(2, _adaptive_max_pool2d)
adaptive_max_pool3d, adaptive_max_pool3d_with_indices = _adaptive_max_pools(3, _adaptive_max_pool3d)


# -- power averages ----------------------------------------------------------------------------------------------------

def _lp_pool(dims: int, max_pool: Callable[..., Tensor], avg_pool: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def lp_pool(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None,
                ceil_mode: bool = False) -> Tensor:
        """Return the p-norm of each window, for p = ``norm_type`` (``torch.nn.functional.NAME``). Raises RuntimeError
        if the sizes do not fit together.
        """
        elements = math.prod(_ntuple(dims)(kernel_size))
        if norm_type == math.inf:
            return max_pool(input.abs(), kernel_size, stride, 0, 1, ceil_mode)
        if norm_type == -math.inf:
            return -max_pool(-input.abs(), kernel_size, stride, 0, 1, ceil_mode)
        mean = avg_pool(input.pow(norm_type), kernel_size, () if stride is None else stride, 0, ceil_mode)
        return (mean.sign() * mean.abs().relu()).mul(elements).pow(1.0 / norm_type)

    return _named(lp_pool, f"lp_pool{dims}d")


lp_pool1d, lp_pool2d, lp_pool3d = map(_lp_pool, (1, 2, 3), (max_pool1d, max_pool2d, max_pool3d),
                                      (avg_pool1d, avg_pool2d, avg_pool3d))
