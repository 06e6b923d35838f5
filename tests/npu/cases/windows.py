"""Cases of convolution, pooling and resampling."""
from __future__ import annotations

from typing import Any

import torch

from .draw import aten, case

MASK = (True, True, True)

#: input, weight, stride, padding, dilation, transposed, output padding, groups
CONVOLUTIONS = (
    ((2, 3, 8), (4, 3, 3), (2,), (1,), (1,), False, (0,), 1),
    ((2, 4, 7, 6), (6, 2, 3, 2), (1, 2), (1, 0), (2, 1), False, (0, 0), 2),
    ((1, 2, 4, 4, 5), (3, 2, 2, 2, 2), (1, 1, 2), (0, 1, 0), (1, 1, 1), False, (0, 0, 0), 1),
    ((2, 4, 5, 4), (4, 3, 3, 2), (2, 1), (1, 0), (1, 2), True, (1, 0), 2),
    ((2, 3, 6), (3, 2, 3), (3,), (1,), (1,), True, (2,), 1),
)
for size, kernel, *settings in CONVOLUTIONS:
    transposed, groups = settings[3], settings[5]
    channels = kernel[1] * groups if transposed else kernel[0]
    case(
        "Convolution",
        lambda x, s=size, k=kernel, c=channels, o=settings: (x(*s), x(*k), x(c), *o, 0),
        lambda a, w, b, *rest: aten.convolution(a, w, b, *rest[:-1]),
        "float32",
    )
    case("ConvolutionBackward",
         lambda x, s=size, k=kernel, c=channels, o=settings: (
             x.like(aten.convolution(a := x(*s), w := x(*k), None, *o)), a, w, (c,), *o, MASK, 0),
         lambda g, a, w, b, *rest: aten.convolution_backward(g, a, w, list(b), *rest[:-1]), "float32")
case("Convolution", lambda x: (x(1, 2, 5, 5), x(3, 2, 3, 3), None, (1, 1), (0, 0), (1, 1), False, (0, 0), 1, 0),
     lambda a, w, b, *rest: aten.convolution(a, w, b, *rest[:-1]), "reduced|float32")

#: kernel, stride, padding, ceil mode
POOLS = (((2, 2), (2, 2), (0, 0), False), ((3, 2), (2, 1), (1, 0), True), ((3, 3), (), (1, 1), False))
for kernel, stride, pad, ceil in POOLS:
    for count, override in ((True, 0), (False, 0), (True, 3)):
        case(
            "AvgPool2d",
            lambda x, p=(kernel, stride, pad, ceil, count, override): (x(2, 3, 7, 6), *p, 0),
            lambda a, k, s, p, c, i, o, _: aten.avg_pool2d(a, k, s, p, c, i, o or None),
            "float32",
        )
        case("AvgPool2dBackward", lambda x, p=(kernel, stride, pad, ceil, count, override): (
                 x.like(aten.avg_pool2d(a := x(2, 3, 7, 6), *p[:5], p[5] or None)), a, *p, 0),
             lambda g, a, k, s, p, c, i, o, _: aten.avg_pool2d_backward(g, a, k, s, p, c, i, o or None), "float32")
    case("MaxPool2dWithIndices", lambda x, p=(kernel, stride, pad, (1, 1), ceil): (x(2, 3, 7, 6), *p),
         aten.max_pool2d_with_indices, "float32")
    case("MaxPool2dWithIndicesBackward", lambda x, p=(kernel, stride, pad, (1, 1), ceil): (
             x.like((pooled := aten.max_pool2d_with_indices(a := x(2, 3, 7, 6), *p))[0]), a, pooled[1], *p),
         lambda g, a, i, *p: aten.max_pool2d_with_indices_backward(g, a, *p, i), "float32")
case("AdaptiveAvgPool2d", lambda x: (x(2, 3, 7, 5), (3, 2)), aten._adaptive_avg_pool2d, "reduced|float32")
case("AdaptiveAvgPool2dBackward", lambda x: (x(2, 3, 3, 2), x(2, 3, 7, 5)), aten._adaptive_avg_pool2d_backward,
     "float32")


def mask_of(a: Any, kernel: Any, stride: Any, pad: Any, dilation: Any, ceil: bool) -> Any:
    """The maxima, and for each place in the window a bit for each window."""
    out, indices = aten.max_pool2d_with_indices(a, kernel, stride, pad, dilation, ceil)
    high, wide = out.shape[-2:]
    down, right = stride or kernel
    groups = -(-high * wide // 16) + 1
    bits = torch.zeros(*a.shape[:-2], kernel[0] * kernel[1], groups * 2 * 16, 8, dtype=torch.uint8)
    for n, c, i, j in torch.cartesian_prod(*map(torch.arange, out.shape)).tolist():
        y, x = divmod(indices[n, c, i, j].item(), a.shape[-1])
        place = (y - i * down + pad[0]) * kernel[1] + x - j * right + pad[1]
        bits[(n, c, place, *divmod(i * wide + j, 8))] = 1
    return out, (bits * 2 ** torch.arange(8)).sum(-1).to(torch.uint8).view(torch.int8)


for kernel, stride, pad, ceil in POOLS:
    case("MaxPool2dWithMask", lambda x, p=(kernel, stride, pad, (1, 1), ceil): (x(2, 3, 7, 6), *p), mask_of,
         "reduced|float32")

#: kernel, stride, padding, ceil mode
POOLS_3D = (((2, 2, 2), (2, 2, 2), (0, 0, 0), False), ((3, 2, 1), (2, 1, 1), (1, 0, 0), True),
            ((2,), (), (1,), False))
for kernel, stride, pad, ceil in POOLS_3D:
    for count, override in ((True, 0), (False, 0), (True, 3)):
        case("AvgPool3d", lambda x, p=(kernel, stride, pad, ceil, count, override): (x(2, 3, 5, 7, 6), *p),
             lambda a, k, s, p, c, i, o: aten.avg_pool3d(a, k, s, p, c, i, o or None), "float32")
        case("AvgPool3dBackward", lambda x, p=(kernel, stride, pad, ceil, count, override): (
                 x.like(aten.avg_pool3d(a := x(2, 3, 5, 7, 6), *p[:5], p[5] or None)), a, *p),
             lambda g, a, k, s, p, c, i, o: aten.avg_pool3d_backward(g, a, k, s, p, c, i, o or None), "float32")

    def places(a: Any, *p: Any) -> Any:
        out, indices = aten.max_pool3d_with_indices(a, *p)
        return out, indices.int()

    case("MaxPool3dWithArgmax", lambda x, p=(kernel, stride, pad, (1,), ceil): (x(2, 3, 5, 7, 6), *p), places,
         "reduced|float32")
    case("MaxPool3dWithArgmaxBackward", lambda x, p=(kernel, stride, pad, (1, 1, 1), ceil): (
             x.like((pooled := aten.max_pool3d_with_indices(a := x(2, 3, 5, 7, 6), *p))[0]), a, pooled[1], *p),
         lambda g, a, i, *p: aten.max_pool3d_with_indices_backward(g, a, *p, i), "float32")
case("AdaptiveAvgPool3d", lambda x: (x(2, 3, 4, 7, 5), (3, 2, 2)), aten._adaptive_avg_pool3d, "reduced|float32")
case("AdaptiveAvgPool3dBackward", lambda x: (x(2, 3, 2, 3, 2), x(2, 3, 4, 7, 5)), aten._adaptive_avg_pool3d_backward,
     "float32")
case("AdaptiveMaxPool2d", lambda x: (x(2, 3, 7, 5), (3, 2)), aten.adaptive_max_pool2d, "reduced|float32")


def adaptive_places(a: Any, size: Any) -> Any:
    out, indices = aten.adaptive_max_pool3d(a, size)
    return out, indices.int()


case("AdaptiveMaxPool3d", lambda x: (x(2, 3, 4, 7, 5), (3, 2, 2)), adaptive_places, "reduced|float32")
case("AdaptiveMaxPool3dBackward", lambda x: (
         x(2, 3, 2, 3, 2), a := x(2, 3, 4, 7, 5), aten.adaptive_max_pool3d(a, (2, 3, 2))[1]),
     aten.adaptive_max_pool3d_backward, "float32")

# -- resampling --------------------------------------------------------------------------------------------------------

SIZE = (5, 4, 6)  #: of what is resampled, the last of these
#: sizes, and the scales that say so; of no scales
TARGETS = (((10, 6, 3), (2.0, 1.5, 0.5)), ((3, 7, 5), None))


def resampling(ours: str, theirs: str, backward: str, dims: int, corners: bool, absent: int = 0) -> None:
    """Cases of an operator and its backward, with scales and without, and with both ways to align."""
    forward, back = getattr(aten, ours), getattr(aten, ours + "_backward")
    shape = (2, 3, *SIZE[-dims:])

    def given(*values: Any) -> list[Any]:
        return [None if isinstance(v, (int, float)) and not isinstance(v, bool) and v <= 0 else v for v in values]

    for sizes, scales in TARGETS:
        out = sizes[-dims:]
        factors = (absent,) * dims if scales is None else scales[-dims:]
        for align in ((True,), (False,)) if corners else ((),):
            case(f"Upsample{theirs}", lambda x, s=(out, *align, *factors): (x(*shape), *s),
                 lambda a, *s: forward(a, *given(*s)), "float32")
            case(f"Upsample{backward}", lambda x, o=out, s=(*align, *factors): (x(2, 3, *o), o, shape, *s),
                 lambda g, o, i, *s: back(g, o, i, *given(*s)), "float32")


for n in (1, 2, 3):
    resampling(f"upsample_nearest{n}d", f"Nearest{n}d" + "V2" * (n < 3), f"Nearest{n}dBackward", n, False, -(n < 3))
    resampling(f"_upsample_nearest_exact{n}d", f"NearestExact{n}d", f"NearestExact{n}dBackward", n, False)
resampling("upsample_linear1d", "Linear1d", "Linear1dBackward", 1, True, -1)
resampling("upsample_bilinear2d", "Bilinear2d", "Bilinear2dBackwardV2", 2, True)
resampling("upsample_trilinear3d", "Trilinear3d", "Trilinear3dBackward", 3, True)
resampling("upsample_bicubic2d", "Bicubic2d", "Bicubic2dBackward", 2, True)
resampling("_upsample_bilinear2d_aa", "Bilinear2dAA", "Bilinear2dAABackward", 2, True)
resampling("_upsample_bicubic2d_aa", "Bicubic2dAA", "Bicubic2dAAGrad", 2, True)
