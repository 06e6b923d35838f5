"""Pooling in one dimension, and what leaves out the places of maxima."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._backends.meta.ops.pooling import check_filled
from .._base.errors import check, check_real
from .._base.layout import CHANNELS_LAST, Ints, suggested_order, wrap_dims
from .._dispatch.aten import (
    _adaptive_avg_pool2d, _adaptive_avg_pool3d, adaptive_max_pool2d, avg_pool2d, max_pool2d_with_indices,
    max_pool3d_with_indices,
)
from . import COMPOSITES


def check_line(name: str, self: Any) -> None:
    """A tensor (N, C, L) or (C, L)."""
    check(self.dim() in (2, 3) and 0 not in self.shape[-2:],
          lambda: f"{name}: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:"
                  f"{list(self.shape)}")


def check_single(name: str, **given: Ints) -> None:
    """Refuse lists of another number of ints than one."""
    for argument, ints in given.items():
        if len(ints) != 1:
            raise RuntimeError(f"{name}() argument '{argument}' should contain one int (got {len(ints)})")


def max_pool1d_with_indices(self: Any, kernel_size: Ints, stride: Ints = (), padding: Ints = (0,),
                            dilation: Ints = (1,), ceil_mode: bool = False) -> tuple[Any, Any]:
    """``torch.nn.functional.max_pool1d`` with the places of the maxima.

    Raises:
        RuntimeError: for another number of dimensions, or sizes that do not fit.
    """
    check_line("max_pool1d", self)
    check_single("max_pool1d", kernel_size=kernel_size, stride=stride or kernel_size, padding=padding,
                 dilation=dilation)
    values, indices = max_pool2d_with_indices(self.unsqueeze(-2), (1, *kernel_size), (1, *(stride or kernel_size)),
                                              (0, *padding), (1, *dilation), ceil_mode)
    return values.squeeze(-2), indices.squeeze(-2)


def first_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """The maxima without their places."""

    def row(*args: Any) -> Any:
        return function(*args)[0]

    return row


def max_pool1d(self: Any, kernel_size: Ints, stride: Ints = (), padding: Ints = (0,), dilation: Ints = (1,),
               ceil_mode: bool = False) -> Any:
    check_line("max_pool1d", self)
    check_single("max_pool1d", kernel_size=kernel_size, stride=stride or kernel_size, padding=padding,
                 dilation=dilation)
    check(kernel_size[0] > 0, lambda: f"max_pool1d() kernel_size must be greater than zero, but got {kernel_size[0]}")
    check(padding[0] >= 0, lambda: f"max_pool1d() padding must be non-negative, but got {padding[0]}")
    check(padding[0] <= kernel_size[0] // 2, lambda: "max_pool1d() padding should be at most half of kernel size, but "
          f"got padding={padding[0]} and kernel_size={kernel_size[0]}")
    step, reach = (stride or kernel_size)[0], dilation[0] * (kernel_size[0] - 1) + 1
    check(step > 0, lambda: f"max_pool1d() stride must be greater than zero, but got {step}")
    check(dilation[0] > 0, lambda: f"max_pool1d() dilation must be greater than zero, but got {dilation[0]}")
    room = self.shape[-1] + 2 * padding[0] - reach
    check(room >= (0 if not ceil_mode else 1 - step), lambda: "max_pool1d() Invalid computed output size: "
          f"{(-(-room // step) if ceil_mode else room // step) + 1}")
    if self.device.type == "cpu":
        check_real("max_pool1d_impl", self)
    return max_pool1d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode)[0]


def avg_pool1d(self: Any, kernel_size: Ints, stride: Ints = (), padding: Ints = (0,), ceil_mode: bool = False,
               count_include_pad: bool = True) -> Any:
    check(self.dim() in (2, 3), lambda: f"Expected 2 to 3 dimensions, but got {self.dim()}-dimensional tensor for "
                                        "argument #1 'self' (while checking arguments for avg_pool1d)")
    check_single("avg_pool1d", kernel_size=kernel_size, stride=stride or kernel_size, padding=padding)
    return avg_pool2d(self.unsqueeze(-2), (1, *kernel_size), (1, *(stride or kernel_size)), (0, *padding), ceil_mode,
                      count_include_pad).squeeze(-2)


def check_adaptive(name: str, self: Any, output_size: Ints) -> None:
    check(self.dim() in (2, 3), lambda: f"{name}(): Expected 2D or 3D tensor, but got {list(self.shape)}")
    check(len(output_size) == 1, lambda: f"{name}() argument 'output_size' should contain one int")


def adaptive_avg_pool1d(self: Any, output_size: Ints) -> Any:
    check_adaptive("adaptive_avg_pool1d", self, output_size)
    return adaptive_avg_pool(2)(self.unsqueeze(-2), (1, *output_size)).squeeze(-2)


def adaptive_max_pool1d(self: Any, output_size: Ints) -> tuple[Any, Any]:
    check_adaptive("adaptive_max_pool1d", self, output_size)
    check_filled("adaptive_max_pool1d", "input", tuple(self.shape))
    values, indices = adaptive_max_pool2d(self.unsqueeze(-2), (1, *output_size))
    return values.squeeze(-2), indices.squeeze(-2)


def adaptive_avg_pool(dims: int) -> Callable[..., Any]:
    """``adaptive_avg_pool2d`` and ``adaptive_avg_pool3d``: of a single region, the mean."""
    pool, name = {2: _adaptive_avg_pool2d, 3: _adaptive_avg_pool3d}[dims], f"adaptive_avg_pool{dims}d"

    def row(self: Any, output_size: Ints) -> Any:
        check(len(output_size) == dims, lambda: f"{name}: output_size must be {dims}")
        check(min(output_size) >= 0,
              lambda: f"{name}: elements of output_size must be greater than or equal to 0 but received "
                      f"{{{', '.join(map(str, output_size))}}}")
        if set(output_size) != {1} or self.dim() < dims:
            return pool(self, output_size)
        mean = self.mean(wrap_dims(tuple(range(-dims, 0)), self.dim()), True)
        if suggested_order(tuple(self.shape), self._strides()) == CHANNELS_LAST.get(self.dim(), ()):
            channels = mean.shape[1]
            return mean.as_strided(mean.shape, (channels, 1, *[channels] * dims))
        return mean

    return row


COMPOSITES.add(max_pool1d_with_indices, max_pool1d, avg_pool1d, adaptive_avg_pool1d, adaptive_max_pool1d)
COMPOSITES.update({
    "max_pool2d": first_of(max_pool2d_with_indices),
    "max_pool3d": first_of(max_pool3d_with_indices),
    "adaptive_avg_pool2d": adaptive_avg_pool(2),
    "adaptive_avg_pool3d": adaptive_avg_pool(3),
})
