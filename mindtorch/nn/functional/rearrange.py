"""Padding, windows and pixels: the functions of ``torch.nn.functional`` that move elements."""
from typing import Any

from ..._dispatch.binding import make_function
from ..._methods.functions import channel_shuffle, native_channel_shuffle, pad, pixel_shuffle, pixel_unshuffle
from ..._tensor import Tensor
from .._sizes import pair as _pair

__all__ = ["channel_shuffle", "fold", "native_channel_shuffle", "pad", "pixel_shuffle", "pixel_unshuffle", "unfold"]
__dir__ = __all__.copy
_fold, _unfold = map(make_function, ("col2im", "im2col"))


def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Turn windows of images into columns, (N, C, H, W) to (N, C·kh·kw, L) (``torch.nn.functional.unfold``)."""
    return _unfold(input, _pair(kernel_size), _pair(dilation), _pair(padding), _pair(stride))


def fold(input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0,
         stride: Any = 1) -> Tensor:
    """Add up columns where they came from, (N, C·kh·kw, L) to (N, C, H, W) (``torch.nn.functional.fold``)."""
    return _fold(input, _pair(output_size), _pair(kernel_size), _pair(dilation), _pair(padding), _pair(stride))
