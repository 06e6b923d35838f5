"""NPU rows of convolution, pooling, and other sizes of images and volumes.

``cubeMathType`` 0 (KEEP_DTYPE) computes in the operands' own precision. A scale that is not given is 0 in ACLNN, or -1.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf
from typing import Any

from ...._dtype import float32, int8, int32
from ...._tensor import Tensor
from ...common.shapes import RESAMPLING
from . import ACLNN_CALLS
from .nn import KEEP_DTYPE
from .row import Aclnn, Call, Each


def each(dims: int, *settings: Any) -> list[Any]:
    """Return settings with one number for each dimension."""
    return [tuple(values) * dims if len(values) == 1 else tuple(values) for values in settings]


def convolution(input: Tensor, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
                output_padding: Any, groups: int, out: Tensor) -> tuple[Any, ...]:
    stride, padding, dilation, output_padding = each(weight.ndim - 2, stride, padding, dilation, output_padding)
    return input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, out, KEEP_DTYPE


def convolution_backward(grad: Tensor, input: Tensor, weight: Any, bias_sizes: Any, stride: Any, padding: Any,
                         dilation: Any, transposed: bool, output_padding: Any, groups: int, output_mask: Any,
                         *grads: Any) -> tuple[Any, ...]:
    stride, padding, dilation, output_padding = each(weight.ndim - 2, stride, padding, dilation, output_padding)
    return (grad, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups,
            tuple(output_mask), KEEP_DTYPE, *grads)


def means(tensors: int, *math_type: int) -> Callable[..., Any]:
    """Return the arguments of mean pooling after ``count`` tensors. ACLNN's divisor 0 means the window's size."""

    def arguments(*args: Any) -> tuple[Any, ...]:
        given, (kernel, stride, padding, ceil_mode, include, override) = args[:tensors], args[tensors:-1]
        return *given, kernel, stride or kernel, padding, ceil_mode, include, override or 0, *math_type, args[-1]

    return arguments


def within(self: Tensor, kernel: Any, *rest: Any) -> bool:
    """Return whether no window is larger than the volume: a 910B takes no other ones."""
    return all(k <= n for k, n in zip(*each(3, kernel), self.shape[-3:], strict=True))


def undilated(at: int) -> Callable[..., bool]:
    """Return whether the windows have no gaps: a 910B takes no other ones."""
    return lambda *args: set(args[at]) <= {1}


# -- maxima: a 910B counts places in int32, and ATen in int64 ----------------------------------------------------------

def widened(calls: Callable[..., Call]) -> Callable[..., Iterator[Call]]:
    """Make the calls that write int32 positions, which ``calls`` gets room for, and their conversion."""

    def arguments(*args: Any) -> Iterator[Call]:
        found = args[-1].new_empty(args[-1].shape, dtype=int32)
        yield calls(*args[:-1], found)
        yield "aclnnInplaceCopy", (args[-1], found)

    return arguments


def flat(tensor: Tensor) -> Any:
    """Return an image as a volume of one layer, whose elements have the same positions."""
    return tensor.unsqueeze(-3)


def layer(one: int, *settings: Any) -> list[Any]:
    """Return settings of a window in a volume of one layer."""
    return [(one, *values) for values in each(2, *settings)]


def max_pool2d(self: Tensor, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, out: Tensor,
               indices: Tensor) -> Call:
    """Return the call. The operator of images takes float32 only, that of volumes half precision, too. op-plugin
    prefers ``aclnnMaxPool2dWithMask``, which writes a bit mask instead of ATen's indices, where no indices are wanted.
    """
    if self._dtype is float32:
        return "aclnnMaxPool2dWithIndices", (self, kernel, stride or kernel, padding, dilation, ceil_mode, out, indices)
    kernel, stride, dilation = layer(1, kernel, stride or kernel, dilation)
    return "aclnnMaxPool3dWithArgmax", (flat(self), kernel, stride, *layer(0, padding), dilation, ceil_mode, flat(out),
                                        flat(indices))


def max_pool2d_backward(grad: Tensor, self: Tensor, kernel: Any, stride: Any, padding: Any, dilation: Any,
                        ceil_mode: bool, indices: Tensor, out: Tensor) -> Iterator[Call]:
    indices = indices.to(int32)
    if self._dtype is float32:
        yield "aclnnMaxPool2dWithIndicesBackward", (
            grad, self, indices, kernel, stride or kernel, padding, dilation, ceil_mode, out)
    else:
        kernel, stride, dilation = layer(1, kernel, stride or kernel, dilation)
        yield "aclnnMaxPool3dWithArgmaxBackward", (
            flat(grad), flat(self), flat(indices), kernel, stride, *layer(0, padding), dilation, ceil_mode, flat(out))


MASK_BITS = 16  #: of places, which masks have in groups of so many, twice


def max_pool2d_alone(self: Tensor, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool,
                     out: Tensor) -> tuple[Any, ...]:
    high, wide = kernel if len(kernel) == 2 else kernel * 2
    groups = -(-out.shape[-2] * out.shape[-1] // MASK_BITS) + 1
    mask = self.new_empty((*self.shape[:-2], high * wide, groups * 2 * MASK_BITS), dtype=int8)
    return self, kernel, stride or kernel, padding, dilation, ceil_mode, out, mask


ACLNN_CALLS.update({
    "convolution": Aclnn("aclnnConvolution", convolution),
    "convolution_backward": Aclnn("aclnnConvolutionBackward", convolution_backward),
    "avg_pool2d": Aclnn("aclnnAvgPool2d", means(1, KEEP_DTYPE)),
    "avg_pool2d_backward": Aclnn("aclnnAvgPool2dBackward", means(2, KEEP_DTYPE)),
    "avg_pool3d": Aclnn("aclnnAvgPool3d", means(1), when=within),
    "avg_pool3d_backward": Aclnn("aclnnAvgPool3dBackward", means(2), when=lambda grad, *rest: within(*rest)),
    "max_pool2d": Aclnn("aclnnMaxPool2dWithMask", max_pool2d_alone, when=undilated(4)),
    "max_pool2d_with_indices": Each("", widened(max_pool2d), when=undilated(4)),
    "max_pool2d_with_indices_backward": Each("", max_pool2d_backward, when=undilated(5)),
    "max_pool3d_with_indices": Each("", widened(
        lambda self, kernel, stride, padding, dilation, ceil_mode, out, indices: (
            "aclnnMaxPool3dWithArgmax", (self, kernel, stride or kernel, padding, dilation, ceil_mode, out, indices))),
        when=undilated(4)),
    "max_pool3d_with_indices_backward": Aclnn(
        "aclnnMaxPool3dWithArgmaxBackward",
        lambda grad, self, kernel, stride, padding, dilation, ceil_mode, indices, out: (
            grad, self, indices.to(int32), kernel, stride or kernel, padding, dilation, ceil_mode, out),
        when=undilated(5)),
    "_adaptive_avg_pool2d": Aclnn("aclnnAdaptiveAvgPool2d"),
    "_adaptive_avg_pool2d_backward": Aclnn("aclnnAdaptiveAvgPool2dBackward"),
    "_adaptive_avg_pool3d": Aclnn("aclnnAdaptiveAvgPool3d"),
    "_adaptive_avg_pool3d_backward": Aclnn("aclnnAdaptiveAvgPool3dBackward"),
    "adaptive_max_pool2d": Aclnn("aclnnAdaptiveMaxPool2d"),
    # CANN 8.1 has none of images
    "adaptive_max_pool2d_backward": Aclnn("aclnnAdaptiveMaxPool3dBackward", lambda grad, self, indices, out: (
        flat(grad), flat(self), flat(indices.to(int32)), flat(out))),
    "adaptive_max_pool3d": Each("", widened(
        lambda self, size, out, indices: ("aclnnAdaptiveMaxPool3d", (self, size, out, indices)))),
    "adaptive_max_pool3d_backward": Aclnn("aclnnAdaptiveMaxPool3dBackward", lambda grad, self, indices, out: (
        grad, self, indices.to(int32), out)),
})


def fits(dims: int, size_of: Callable[..., Any], shrinks: float, grows: float) -> Callable[..., bool]:
    """Return whether a 910B resamples so: within these factors, and to the sizes that follow from the scales."""

    def when(*args: Any) -> bool:
        return all(n <= shrinks * m and m <= grows * n and (scale is None or int(n * scale) == m)
                   for n, m, scale in zip(size_of(*args), args[1], args[-dims:], strict=True))

    return when


def resampling(ours: str, theirs: str, backward: str, absent: int = 0, shrinks: float = inf,
               grows: float = inf) -> dict[str, Aclnn]:
    """Make the rows of an operator and its backward in ATen's order; ``shrinks`` and ``grows`` bound them."""
    dims = RESAMPLING[ours][0]

    def arguments(*args: Any) -> list[Any]:
        return [absent if arg is None else arg for arg in args]

    return {
        ours: Aclnn(f"aclnnUpsample{theirs}", arguments,
                    when=fits(dims, lambda self, *rest: self.shape[2:], shrinks, inf)),
        f"{ours}_backward": Aclnn(f"aclnnUpsample{backward}", arguments,
                                  when=fits(dims, lambda grad, size, input_size, *rest: input_size[2:], inf, grows)),
    }


ACLNN_CALLS.update(
    resampling("upsample_nearest1d", "Nearest1dV2", "Nearest1dBackward", absent=-1)
    | resampling("upsample_nearest2d", "Nearest2dV2", "Nearest2dBackward", absent=-1)
    | resampling("upsample_nearest3d", "Nearest3d", "Nearest3dBackward")
    | resampling("_upsample_nearest_exact1d", "NearestExact1d", "NearestExact1dBackward", grows=50)
    | resampling("_upsample_nearest_exact2d", "NearestExact2d", "NearestExact2dBackward", grows=50)
    | resampling("_upsample_nearest_exact3d", "NearestExact3d", "NearestExact3dBackward", grows=50)
    | resampling("upsample_linear1d", "Linear1d", "Linear1dBackward", absent=-1, grows=500)
    | resampling("upsample_bilinear2d", "Bilinear2d", "Bilinear2dBackwardV2")
    | resampling("upsample_trilinear3d", "Trilinear3d", "Trilinear3dBackward", shrinks=50)
    | resampling("upsample_bicubic2d", "Bicubic2d", "Bicubic2dBackward")
    | resampling("_upsample_bilinear2d_aa", "Bilinear2dAA", "Bilinear2dAABackward", shrinks=50, grows=50)
    | resampling("_upsample_bicubic2d_aa", "Bicubic2dAA", "Bicubic2dAAGrad", shrinks=50, grows=50)
)
