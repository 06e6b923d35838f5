"""Output sizes that meta kernels and kernels compute alike."""
from __future__ import annotations

import math
from typing import Any

from ..._base.layout import Ints
from ..._base.symbolic import SymInt
from ..._dtype import DType, int64

#: By operator: the number of spatial dimensions, the interpolation, and whether it has ``align_corners``.
RESAMPLING: dict[str, tuple[int, str, bool]] = {
    **{f"upsample_nearest{n}d": (n, "nearest", False) for n in (1, 2, 3)},
    **{f"_upsample_nearest_exact{n}d": (n, "nearest exact", False) for n in (1, 2, 3)},
    "upsample_linear1d": (1, "linear", True),
    "upsample_bilinear2d": (2, "linear", True),
    "upsample_trilinear3d": (3, "linear", True),
    "upsample_bicubic2d": (2, "cubic", True),
    "_upsample_bilinear2d_aa": (2, "linear antialiased", True),
    "_upsample_bicubic2d_aa": (2, "cubic antialiased", True),
    "_upsample_lanczos2d_aa": (2, "lanczos antialiased", True),
}


def length(start: Any, end: Any, step: Any, dtype: DType) -> int:
    """Return ``ceil((end - start) / step)``; for int64, of the truncated numbers."""
    if dtype is int64:
        start, end, step = (v if isinstance(v, SymInt) else int(v) for v in (start, end, step))
    if all(isinstance(v, (int, SymInt)) for v in (start, end, step)):
        return -((start - end) // step)
    return math.ceil((end - start) / step)


def places(size: int, k: int, s: int, p: int, d: int, ceil_mode: bool) -> int:
    """Return how many windows fit along a dimension. No window begins in the padding behind the elements."""
    count = (size + 2 * p - d * (k - 1) - 1 + (s - 1 if ceil_mode else 0)) // s + 1
    return count - 1 if ceil_mode and (count - 1) * s >= size + p else count


def output_size(size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, transposed: bool,
                output_padding: Ints) -> Ints:
    """Return the spatial dimensions of a convolution's output."""
    settings = zip(size, kernel, stride, padding, dilation, output_padding, strict=True)
    if transposed:
        return tuple((n - 1) * s - 2 * p + d * (k - 1) + o + 1 for n, k, s, p, d, o in settings)
    return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d, _ in settings)
