"""Meta kernels of resampling to another size."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...._base.errors import check, check_takes
from ...._base.layout import Ints, Spec
from ...._dtype import FLOATING, uint8
from . import META_KERNELS
from .pooling import like_format

#: By operator: over how many dimensions it goes, the way in which it interpolates, and whether it has
#: ``align_corners``.
KINDS: dict[str, tuple[int, str, bool]] = {
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


def check_sizes(dims: int, input_size: Ints, output_size: Ints) -> None:
    """The sizes of images (N, C, ...), and of what they become."""
    check(len(output_size) == dims,
          lambda: f"It is expected output_size equals to {dims}, but got size {len(output_size)}")
    check(len(input_size) == dims + 2,
          lambda: f"It is expected input_size equals to {dims + 2}, but got size {len(input_size)}")
    check(min((*input_size[2:], *output_size)) > 0,
          lambda: f"Input and output sizes should be greater than 0, but got input {list(input_size[2:])} output "
                  f"{list(output_size)}")
    check(input_size[1] > 0,
          lambda: f"Non-empty {dims + 2}D data tensor expected but got a tensor with sizes {list(input_size)}")


def resample(name: str, dims: int) -> Callable[..., Spec]:
    def meta(self: Any, output_size: Ints, *settings: Any) -> Spec:
        shape, dtype = tuple(self.shape), self._dtype
        check_sizes(dims, shape, output_size)
        narrow = dtype.itemsize == 2 and name.endswith("_aa")
        check_takes((dtype.category == FLOATING and not narrow) or (dtype is uint8 and takes_bytes(name)), name, dtype)
        return like_format(self, (*shape[:2], *output_size))

    return meta


def takes_bytes(name: str) -> bool:
    """Whether ATen's kernel takes uint8: those of images, and all that choose elements."""
    return "nearest" in name or (name.strip("_").startswith("upsample_bi") or "lanczos" in name)


def resample_backward(name: str, dims: int) -> Callable[..., Spec]:
    def meta(grad_output: Any, output_size: Ints, input_size: Ints, *settings: Any) -> Spec:
        check_sizes(dims, input_size, output_size)
        expected = (*input_size[:2], *output_size)
        check(tuple(grad_output.shape) == expected,
              lambda: f"Expected grad_output to have the same shape as output; output.size = {list(expected)} but got "
                      f"grad_output.size = {list(grad_output.shape)}")
        check_takes(grad_output._dtype.category == FLOATING, f"{name}_backward", grad_output._dtype)
        return like_format(grad_output, tuple(input_size))

    return meta


META_KERNELS.update({name: resample(name, kind[0]) for name, kind in KINDS.items()})
META_KERNELS.update({f"{name}_backward": resample_backward(name, kind[0]) for name, kind in KINDS.items()})
