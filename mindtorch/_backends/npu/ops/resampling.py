"""NPU rows of other sizes of images and volumes. A scale that is not given is 0 in ACLNN, or -1."""
from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from ...common.shapes import RESAMPLING
from . import ACLNN_CALLS
from .row import Aclnn


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
