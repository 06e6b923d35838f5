"""Resampling functions of ``torch.nn.functional``: other sizes of images, and images sampled at places of a grid."""
import warnings
from typing import Any

from ..._base.call_site import outside
from ..._dispatch.schemas import registry
from ..._methods.functions import affine_grid_generator as _affine_grid_generator, grid_sampler as _grid_sampler
from ..._tensor import Tensor
from .pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d

__all__ = [
    "affine_grid", "grid_sample", "interpolate", "upsample", "upsample_bilinear", "upsample_nearest",
]
__dir__ = __all__.copy

#: By mode: the operators for inputs of 3, 4 and 5 dimensions.
_OPERATORS = {
    "nearest": {3: "upsample_nearest1d", 4: "upsample_nearest2d", 5: "upsample_nearest3d"},
    "nearest-exact": {
        3: "_upsample_nearest_exact1d", 4: "_upsample_nearest_exact2d", 5: "_upsample_nearest_exact3d"},
    "linear": {3: "upsample_linear1d"},
    "bilinear": {4: "upsample_bilinear2d"},
    "trilinear": {5: "upsample_trilinear3d"},
    "bicubic": {4: "upsample_bicubic2d"},
    "lanczos": {},
}
_ANTIALIASED = {
    "bilinear": "_upsample_bilinear2d_aa", "bicubic": "_upsample_bicubic2d_aa", "lanczos": "_upsample_lanczos2d_aa",
}
_AREA: dict[int, Any] = {3: adaptive_avg_pool1d, 4: adaptive_avg_pool2d, 5: adaptive_avg_pool3d}


def _one_each(what: str, values: Any, input: Tensor) -> list[Any]:
    """Return one number for each spatial dimension."""
    spatial = list(input.shape[2:])
    if not isinstance(values, (list, tuple)):
        return [values] * len(spatial)
    if len(values) != len(spatial):
        said, letter = ("output size", "o") if what == "size" else ("scale_factor of shape", "s")
        raise ValueError(f"Input and {'output' if what == 'size' else 'scale_factor'} must have the same number of "
                         f"spatial dimensions, but got input with spatial dimensions of {spatial} and {said} "
                         f"{'of ' if what == 'size' else ''}{values}. Please provide input tensor in (N, C, d1, d2, "
                         f"...,dK) format and {what.replace('size', 'output size')} in ({letter}1, {letter}2, ..."
                         f",{letter}K) format.")
    return list(values)


def interpolate(input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
                align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
                antialias: bool = False) -> Tensor:
    """Give (N, C, ...) another size in its one to three last dimensions (``torch.nn.functional.interpolate``).

    ``size``, or ``scale_factor`` times the input's; ``mode`` is 'nearest', 'nearest-exact', 'linear', 'bilinear',
    'bicubic', 'trilinear', 'area' or 'lanczos'. With ``antialias``, what gets smaller is averaged over as many elements
    as one stands for. ``align_corners`` keeps the centres of the outermost elements in place, not their edges. Raises
    ValueError if there is not exactly one of size and scale factor, or an option does not go with the mode, and
    NotImplementedError for a mode that does not go with the number of dimensions.
    """
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | "
                             "bicubic | trilinear")
    elif align_corners is None:
        align_corners = False
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    ndim = input.dim()
    factors: Any = None
    if size is not None:
        if isinstance(size, (list, tuple)) and not all(isinstance(n, int) for n in size):
            raise TypeError("expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], "
                            f"but got size with types {[type(n) for n in size]}")
        size = _one_each("size", size, input)
    else:
        factors = _one_each("scale_factor", scale_factor, input)
        size = [int(n * factor) for n, factor in zip(input.shape[2:], factors, strict=True)]
        if max(size, default=0) >= 2**63:
            raise RuntimeError("value cannot be converted to type int64_t without overflow")
        if recompute_scale_factor or mode == "area":
            factors = None
    if antialias and not (mode in _ANTIALIASED and ndim == 4):
        raise ValueError("Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D "
                         "tensor as input")
    if mode == "area" and ndim in _AREA:
        return _AREA[ndim](input, size)
    if mode == "lanczos" and ndim == 4:
        if align_corners:
            raise ValueError("Lanczos mode does not support align_corners=True")
        if not antialias:
            raise ValueError("Lanczos mode requires antialias=True")
    name = _ANTIALIASED[mode] if antialias else _OPERATORS.get(mode, {}).get(ndim)
    if name is None:
        if mode in ("linear", "bilinear", "trilinear") and ndim in (3, 4, 5):
            raise NotImplementedError(f"Got {ndim}D input, but {mode} mode needs {min(_OPERATORS[mode])}D input")
        raise NotImplementedError(f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {ndim}D) for the "
                                  "modes: nearest | linear | bilinear | bicubic | trilinear | lanczos | area | "
                                  f"nearest-exact (got {mode})")
    corners = () if align_corners is None else (align_corners,)
    scales = [None] * (ndim - 2) if factors is None else [float(factor) for factor in factors]
    return registry[name].call(input, tuple(size), *corners, *scales)


def upsample(input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
             align_corners: bool | None = None) -> Tensor:
    """Do what ``interpolate`` does; this is its deprecated name (``torch.nn.functional.upsample``)."""
    warnings.warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.",
    stacklevel=outside())
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Do what ``interpolate`` does in the mode 'nearest' (``torch.nn.functional.upsample_nearest``, deprecated)."""
    warnings.warn("`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.",
                  stacklevel=outside())
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Interpolate, 'bilinear' with ``align_corners``; deprecated (``torch.nn.functional.upsample_bilinear``)."""
    warnings.warn("`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.",
                  stacklevel=outside())
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


# -- grids -------------------------------------------------------------------------------------------------------------

_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")


def _corners(align_corners: bool | None) -> bool:
    if align_corners is None:
        warnings.warn("Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. "
                      "Please specify align_corners=True if the old behavior is desired. See the documentation of "
                      "grid_sample for details.", stacklevel=outside())
        return False
    return align_corners


def grid_sample(input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros",
                align_corners: bool | None = None) -> Tensor:
    """Sample images (N, C, H, W) at the places of a grid (N, oH, oW, 2), or volumes at those of (N, oD, oH, oW, 3)
    (``torch.nn.functional.grid_sample``). A place is (x, y) or (x, y, z), each from -1 to 1. Raises ValueError for a
    mode or a padding that there is not, and RuntimeError if the shapes do not fit together.
    """
    if mode not in _MODES:
        raise ValueError("nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but "
                         f"got: '{mode}'")
    if padding_mode not in _PADDINGS:
        raise ValueError("nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', "
                         f"but got: '{padding_mode}'")
    return _grid_sampler(input, grid, _MODES.index(mode), _PADDINGS.index(padding_mode), _corners(align_corners))


def affine_grid(theta: Tensor, size: Any, align_corners: bool | None = None) -> Tensor:
    """Return the grid at whose places ``grid_sample`` finds what affine maps ``theta`` (N, 2, 3) or (N, 3, 4) bring to
    the elements of an output of ``size`` (``torch.nn.functional.affine_grid``). Raises ValueError if ``theta`` has
    another shape or no floating point dtype, or the size is empty, and NotImplementedError for another number of
    dimensions.
    """
    corners = _corners(align_corners)
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    dims = len(size) - 2
    if dims not in (2, 3):
        raise NotImplementedError("affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
                                  f"respectively. Got size {size}.")
    if theta.dim() != 3 or tuple(theta.shape[1:]) != (dims, dims + 1):
        raise ValueError(f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} for size {size}. "
                         f"Got {theta.shape}.")
    if corners and min(size[2:]) == 1:
        warnings.warn("Since version 1.3.0, affine_grid behavior has changed for unit-size grids when "
                      "align_corners=True. This is not an intended use case of affine_grid. See the documentation of "
                      "affine_grid for details.", stacklevel=outside())
    elif min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    return _affine_grid_generator(theta, tuple(size), corners)
