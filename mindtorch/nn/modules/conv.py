"""Convolutions; mirrors ``torch.nn.modules.conv``."""
from __future__ import annotations

from typing import Any

from ..._creation import empty
from ..._tensor import Tensor
from .. import functional as F, init
from .._sizes import ntuple, reverse_repeat
from ..module import Module
from ..parameter import Parameter, UninitializedParameter
from .lazy import LazyModuleMixin

PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """Base class of convolutions: settings, ``weight`` and ``bias``."""

    __constants__ = ("stride", "padding", "dilation", "groups", "padding_mode", "output_padding", "in_channels",
                     "out_channels", "kernel_size")
    dims: int  #: over how many dimensions the window moves
    weight: Tensor
    bias: Tensor | None

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
                 transposed: bool, output_padding: Any, groups: int, bias: bool, padding_mode: str,
                 device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        for name, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
            if channels % groups:
                raise ValueError(f"{name} must be divisible by groups")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
            if padding == "same" and any(step != 1 for step in stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in PADDING_MODES:
            raise ValueError(f"padding_mode must be one of {set(PADDING_MODES)}, but got "
                             f"padding_mode='{padding_mode}'")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride, self.padding, self.dilation = kernel_size, stride, padding, dilation
        self.transposed, self.output_padding, self.groups = transposed, output_padding, groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = self._padding_of_input()
        self.weight = Parameter(empty(self._filters(), device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(empty(out_channels, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def _filters(self) -> tuple[int, ...]:
        """Return the shape of ``weight``."""
        first, second = ((self.in_channels, self.out_channels) if self.transposed
                         else (self.out_channels, self.in_channels))
        return (first, second // self.groups, *self.kernel_size)

    def _padding_of_input(self) -> Any:
        """Return the padding for ``nn.functional.pad``, which padding modes other than zeros need."""
        if not isinstance(self.padding, str):
            return reverse_repeat(self.padding, 2)
        totals = [d * (k - 1) if self.padding == "same" else 0
                  for d, k in zip(self.dilation, self.kernel_size, strict=True)]
        return [part for total in reversed(totals) for part in (total // 2, total - total // 2)]

    def reset_parameters(self) -> None:
        """Draw weight and bias anew, uniform in ±1/sqrt(channels in a group x window), as PyTorch does."""
        init._uniform_by_fan_in(self.weight, self.bias)

    def extra_repr(self) -> str:
        ones, zeros = (1,) * len(self.dilation), (0,) * len(self.output_padding)
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        parts += [f"padding={self.padding}"] if self.padding != (0,) * len(self.padding) else []
        parts += [f"dilation={self.dilation}"] if self.dilation != ones else []
        parts += [f"output_padding={self.output_padding}"] if self.output_padding != zeros else []
        parts += [f"groups={self.groups}"] if self.groups != 1 else []
        parts += ["bias=False"] if self.bias is None else []
        parts += [f"padding_mode={self.padding_mode}"] if self.padding_mode != "zeros" else []
        return ", ".join(parts)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("padding_mode", "zeros")


class _Conv(_ConvNd):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
                 dilation: Any = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros",
                 device: Any = None, dtype: Any = None) -> None:
        full = ntuple(self.dims)
        super().__init__(in_channels, out_channels, full(kernel_size), full(stride),
                         padding if isinstance(padding, str) else full(padding), full(dilation), False, full(0), groups,
                         bias, padding_mode, device, dtype)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        convolve = (F.conv1d, F.conv2d, F.conv3d)[self.dims - 1]
        if self.padding_mode != "zeros":
            padded = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            return convolve(padded, weight, bias, self.stride, (0,) * self.dims, self.dilation, self.groups)
        return convolve(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        parameters = self._parameters  # straight from the table, as in ``Linear``
        try:
            return self._conv_forward(input, parameters["weight"], parameters["bias"])
        except KeyError:  # a value that is not a parameter was put in its place
            return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv):
    """Convolves (N, in_channels, L), or without N, with ``out_channels`` filters (``torch.nn.Conv1d``).

    ``weight`` is (out_channels, in_channels / groups, kernel_size), and ``bias`` (out_channels,); both start uniform in
    ±1/sqrt(elements of a filter). ``padding`` is one number, or 'valid' (none) or 'same' (which keeps the size). Raises
    ValueError if the channels are not multiples of the groups, or the padding is invalid.
    """

    dims = 1


class Conv2d(_Conv):
    """Convolves (N, in_channels, H, W), or without N, with ``out_channels`` filters (``torch.nn.Conv2d``).

    ``weight`` is (out_channels, in_channels / groups, *kernel_size), and ``bias`` (out_channels,); both start uniform
    in ±1/sqrt(elements of a filter). ``padding`` is of numbers, or 'valid' (none) or 'same' (which keeps the size).
    Raises ValueError if the channels are not multiples of the groups, or the padding is invalid.
    """

    dims = 2


class Conv3d(_Conv):
    """Convolves (N, in_channels, D, H, W), or without N, with ``out_channels`` filters (``torch.nn.Conv3d``).

    ``weight`` is (out_channels, in_channels / groups, *kernel_size), and ``bias`` (out_channels,); both start uniform
    in ±1/sqrt(elements of a filter). ``padding`` is of numbers, or 'valid' (none) or 'same' (which keeps the size).
    Raises ValueError if the channels are not multiples of the groups, or the padding is invalid.
    """

    dims = 3


class _ConvTransposeNd(_ConvNd):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
                 output_padding: Any = 0, groups: int = 1, bias: bool = True, dilation: Any = 1,
                 padding_mode: str = "zeros", device: Any = None, dtype: Any = None) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        full = ntuple(self.dims)
        super().__init__(in_channels, out_channels, full(kernel_size), full(stride), full(padding), full(dilation),
                         True, full(output_padding), groups, bias, padding_mode, device, dtype)

    def _output_padding(self, input: Tensor, output_size: Any) -> tuple[int, ...]:
        """Return by how many elements the requested output size exceeds the smallest one."""
        dims = self.dims
        if output_size is None:
            return self.output_padding
        others = 2 if input.dim() == dims + 2 else 1
        sizes = output_size[others:] if len(output_size) == others + dims else output_size
        if len(sizes) != dims:
            raise ValueError(f"ConvTranspose{dims}D: for {input.dim()}D input, output_size must have {dims} or "
                             f"{others + dims} elements (got {len(sizes)})")
        settings = zip(input.shape[others:], self.stride, self.padding, self.dilation, self.kernel_size, strict=True)
        least = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, s, p, d, k in settings]
        most = [size + step - 1 for size, step in zip(least, self.stride, strict=True)]
        if any(not low <= size <= high for low, size, high in zip(least, sizes, most, strict=True)):
            raise ValueError(f"requested an output size of {sizes}, but valid sizes range from {least} to {most} (for "
                             f"an input of {input.size()[2:]})")
        return tuple(size - low for size, low in zip(sizes, least, strict=True))

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        convolve = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[self.dims - 1]
        return convolve(input, self.weight, self.bias, self.stride, self.padding,
                        self._output_padding(input, output_size), self.groups, self.dilation)


class ConvTranspose1d(_ConvTransposeNd):
    """Applies the transposed convolution, the gradient of ``Conv1d``, to (N, in_channels, L), or without N
    (``torch.nn.ConvTranspose1d``). ``forward`` takes an ``output_size``.

    ``weight`` is (in_channels, out_channels / groups, kernel_size), and ``bias`` (out_channels,). Raises ValueError if
    the channels are not multiples of the groups, or the padding mode is not 'zeros'.
    """

    dims = 1


class ConvTranspose2d(_ConvTransposeNd):
    """Applies the transposed convolution, the gradient of ``Conv2d``, to (N, in_channels, H, W), or without N
    (``torch.nn.ConvTranspose2d``). ``forward`` takes an ``output_size``.

    ``weight`` is (in_channels, out_channels / groups, *kernel_size), and ``bias`` (out_channels,). Raises ValueError if
    the channels are not multiples of the groups, or the padding mode is not 'zeros'.
    """

    dims = 2


class ConvTranspose3d(_ConvTransposeNd):
    """Applies the transposed convolution, the gradient of ``Conv3d``, to (N, in_channels, D, H, W), or without N
    (``torch.nn.ConvTranspose3d``). ``forward`` takes an ``output_size``.

    ``weight`` is (in_channels, out_channels / groups, *kernel_size), and ``bias`` (out_channels,). Raises ValueError if
    the channels are not multiples of the groups, or the padding mode is not 'zeros'.
    """

    dims = 3


# -- which find out their channels -------------------------------------------------------------------------------------

class _LazyConvNd(LazyModuleMixin):
    """A convolution that takes its ``in_channels`` from its first input."""

    dims: int
    groups: int
    _filters: Any

    def _leave_open(self, out_channels: int, bias: bool, device: Any, dtype: Any) -> None:
        """Replace the parameters, made for no channels, by uninitialized ones."""
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw weight and bias anew, once they have a shape."""
        if not self.has_uninitialized_params() and self.in_channels:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Size weight and bias for an input; ValueError unless groups divide its channels."""
        if not self.has_uninitialized_params():
            return
        dims = self.dims
        if input.dim() not in (dims + 1, dims + 2):
            raise RuntimeError(f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to "
                               f"{type(self).__name__}, but got input of size: {input.shape}")
        self.in_channels = input.shape[-dims - 1]
        if self.in_channels % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        self.weight.materialize(self._filters())
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()


class _LazyConv(_LazyConvNd):
    def __init__(self, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
                 groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        self._leave_open(out_channels, bias, device, dtype)


class _LazyConvTranspose(_LazyConvNd):
    def __init__(self, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
                 groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros",
                 device: Any = None, dtype: Any = None) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode,
                         device, dtype)
        self._leave_open(out_channels, bias, device, dtype)


class LazyConv1d(_LazyConv, Conv1d):
    """A ``Conv1d`` that takes ``in_channels`` from its first input, and becomes a plain one then (``torch.nn``)."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    """A ``Conv2d`` that takes ``in_channels`` from its first input, and becomes a plain one then (``torch.nn``)."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyConv, Conv3d):
    """A ``Conv3d`` that takes ``in_channels`` from its first input, and becomes a plain one then (``torch.nn``)."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """A ``ConvTranspose1d`` that takes ``in_channels`` from its first input, and becomes a plain one then
    (``torch.nn.LazyConvTranspose1d``).
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """A ``ConvTranspose2d`` that takes ``in_channels`` from its first input, and becomes a plain one then
    (``torch.nn.LazyConvTranspose2d``).
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """A ``ConvTranspose3d`` that takes ``in_channels`` from its first input, and becomes a plain one then
    (``torch.nn.LazyConvTranspose3d``).
    """

    cls_to_become = ConvTranspose3d
