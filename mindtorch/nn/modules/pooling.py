"""Pooling; mirrors ``torch.nn.modules.pooling``. Inputs are (N, C, ...), or (C, ...)."""
from __future__ import annotations

from typing import Any

from ..._tensor import Tensor
from .. import functional as F
from .._sizes import ntuple, single
from ..module import Module

# -- maxima of windows -------------------------------------------------------------------------------------------------

class _MaxPoolNd(Module):
    __constants__ = ("kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode")
    _shown = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
                 return_indices: bool = False, ceil_mode: bool = False) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode


class MaxPool1d(_MaxPoolNd):
    """Takes the greatest element of each window, and with ``return_indices`` its place, too (``torch.nn``)."""

    def forward(self, input: Tensor):  # as PyTorch's, which graphs print
        return F.max_pool1d(input, self.kernel_size, self.stride, self.padding, self.dilation,
                            ceil_mode=self.ceil_mode, return_indices=self.return_indices)


class MaxPool2d(_MaxPoolNd):
    """Takes the greatest element of each window, and with ``return_indices`` its place, too (``torch.nn``)."""

    def forward(self, input: Tensor):  # as PyTorch's, which graphs print
        return F.max_pool2d(input, self.kernel_size, self.stride, self.padding, self.dilation,
                            ceil_mode=self.ceil_mode, return_indices=self.return_indices)


class MaxPool3d(_MaxPoolNd):
    """Takes the greatest element of each window, and with ``return_indices`` its place, too (``torch.nn``)."""

    def forward(self, input: Tensor):  # as PyTorch's, which graphs print
        return F.max_pool3d(input, self.kernel_size, self.stride, self.padding, self.dilation,
                            ceil_mode=self.ceil_mode, return_indices=self.return_indices)


class _MaxUnpoolNd(Module):
    __constants__ = _shown = ("kernel_size", "stride", "padding")
    dims: int

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        full = ntuple(self.dims)
        self.kernel_size, self.stride = full(kernel_size), full(kernel_size if stride is None else stride)
        self.padding = full(padding)


class MaxUnpool1d(_MaxUnpoolNd):
    """Puts maxima back where ``MaxPool1d`` found them, among zeros (``torch.nn.MaxUnpool1d``)."""

    dims = 1

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        return F.max_unpool1d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool2d(_MaxUnpoolNd):
    """Puts maxima back where ``MaxPool2d`` found them, among zeros (``torch.nn.MaxUnpool2d``)."""

    dims = 2

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        return F.max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool3d(_MaxUnpoolNd):
    """Puts maxima back where ``MaxPool3d`` found them, among zeros (``torch.nn.MaxUnpool3d``)."""

    dims = 3

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        return F.max_unpool3d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


# -- means of windows --------------------------------------------------------------------------------------------------

class _AvgPoolNd(Module):
    __constants__: tuple[str, ...] = ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad")
    _shown = ("kernel_size", "stride", "padding")


class AvgPool1d(_AvgPoolNd):
    """Takes the mean of each window (``torch.nn.AvgPool1d``)."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
                 count_include_pad: bool = True) -> None:
        super().__init__()
        self.kernel_size, self.padding = single(kernel_size), single(padding)
        self.stride = single(kernel_size if stride is None else stride)
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class _AvgPoolOfImages(_AvgPoolNd):
    __constants__ = (*_AvgPoolNd.__constants__, "divisor_override")

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
                 count_include_pad: bool = True, divisor_override: int | None = None) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.ceil_mode, self.count_include_pad = padding, ceil_mode, count_include_pad
        self.divisor_override = divisor_override


class AvgPool2d(_AvgPoolOfImages):
    """Takes the mean of each window, or its sum over ``divisor_override`` (``torch.nn.AvgPool2d``)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool2d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
                            self.divisor_override)


class AvgPool3d(_AvgPoolOfImages):
    """Takes the mean of each window, or its sum over ``divisor_override`` (``torch.nn.AvgPool3d``)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool3d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
                            self.divisor_override)


# -- windows at random -------------------------------------------------------------------------------------------------

class _FractionalMaxPoolNd(Module):
    __constants__ = ("kernel_size", "return_indices", "output_size", "output_ratio")
    dims: int

    def __init__(self, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
                 return_indices: bool = False, _random_samples: Tensor | None = None) -> None:
        super().__init__()
        full, name = ntuple(self.dims), type(self).__name__
        if self.dims == 3 and min(full(kernel_size)) <= 0:
            raise ValueError(f"kernel_size must be greater than 0, but got {kernel_size}")
        self.kernel_size, self.return_indices = full(kernel_size), return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else full(output_size)
        self.output_ratio = None if output_ratio is None else full(output_ratio)
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """Takes the greatest elements of ``output_size`` windows at random places, or ``output_ratio`` of the input's size,
    and with ``return_indices`` their places, too (``torch.nn.FractionalMaxPool2d``). Raises ValueError unless there is
    either a size or a ratio, which lies between 0 and 1.
    """

    dims = 2

    def forward(self, input: Tensor):  # as PyTorch's, which graphs print
        return F.fractional_max_pool2d(input, self.kernel_size, self.output_size, self.output_ratio,
                                       self.return_indices, _random_samples=self._random_samples)


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """Takes the greatest elements of ``output_size`` windows at random places, or ``output_ratio`` of the input's size,
    and with ``return_indices`` their places, too (``torch.nn.FractionalMaxPool3d``). Raises ValueError unless there is
    either a size or a ratio, which lies between 0 and 1.
    """

    dims = 3

    def forward(self, input: Tensor):  # as PyTorch's, which graphs print
        return F.fractional_max_pool3d(input, self.kernel_size, self.output_size, self.output_ratio,
                                       self.return_indices, _random_samples=self._random_samples)


# -- power averages ----------------------------------------------------------------------------------------------------

class _LPPoolNd(Module):
    __constants__ = _shown = ("norm_type", "kernel_size", "stride", "ceil_mode")

    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode


class LPPool1d(_LPPoolNd):
    """Takes the p-norm of each window, for p = ``norm_type`` (``torch.nn.LPPool1d``)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool1d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool2d(_LPPoolNd):
    """Takes the p-norm of each window, for p = ``norm_type`` (``torch.nn.LPPool2d``)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool2d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool3d(_LPPoolNd):
    """Takes the p-norm of each window, for p = ``norm_type`` (``torch.nn.LPPool3d``)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool3d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


# -- regions -----------------------------------------------------------------------------------------------------------

class _AdaptiveMaxPoolNd(Module):
    __constants__ = ("output_size", "return_indices")
    _shown = ("output_size",)

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Takes the greatest elements of ``output_size`` regions, as even as they can be, and with ``return_indices`` their
    places, too (``torch.nn.AdaptiveMaxPool1d``).
    """

    def forward(self, input: Tensor):  # as PyTorch's, which graphs print
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Takes the greatest elements of ``output_size`` regions, as even as they can be, and with ``return_indices`` their
    places, too (``torch.nn.AdaptiveMaxPool2d``).
    """

    def forward(self, input: Tensor):  # as PyTorch's, which graphs print
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Takes the greatest elements of ``output_size`` regions, as even as they can be, and with ``return_indices`` their
    places, too (``torch.nn.AdaptiveMaxPool3d``).
    """

    def forward(self, input: Tensor):  # as PyTorch's, which graphs print
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)


class _AdaptiveAvgPoolNd(Module):
    __constants__ = _shown = ("output_size",)

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Takes the means of ``output_size`` regions, as even as they can be (``torch.nn.AdaptiveAvgPool1d``)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Takes the means of ``output_size`` regions, as even as they can be (``torch.nn.AdaptiveAvgPool2d``)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Takes the means of ``output_size`` regions, as even as they can be (``torch.nn.AdaptiveAvgPool3d``)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool3d(input, self.output_size)
