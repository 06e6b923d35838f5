"""Derivatives of resampling, which is linear, and of sampling at the places of a grid."""
from __future__ import annotations

from typing import Any

from ..._dispatch.aten import (
    affine_grid_generator, affine_grid_generator_backward, grid_sampler_2d_backward, grid_sampler_3d_backward,
)
from ..._dispatch.schemas import registry
from ..derivative import derivative


def of_input(name: str) -> Any:
    """The formula for the input: formulas are called by the names of what they need, and ATen's scales have other names
    in each number of dimensions.
    """
    back = registry[f"{name}_backward"]
    names = ",".join(parameter.name for parameter in registry[name].schema.parameters[2:])
    return {
        "scales": lambda grad, output_size, self_shape, scales: back(grad, output_size, self_shape, scales),
        "scales_h,scales_w": lambda grad, output_size, self_shape, scales_h, scales_w:
            back(grad, output_size, self_shape, scales_h, scales_w),
        "scales_d,scales_h,scales_w": lambda grad, output_size, self_shape, scales_d, scales_h, scales_w:
            back(grad, output_size, self_shape, scales_d, scales_h, scales_w),
        "align_corners,scales": lambda grad, output_size, self_shape, align_corners, scales:
            back(grad, output_size, self_shape, align_corners, scales),
        "align_corners,scales_h,scales_w": lambda grad, output_size, self_shape, align_corners, scales_h, scales_w:
            back(grad, output_size, self_shape, align_corners, scales_h, scales_w),
        "align_corners,scales_d,scales_h,scales_w":
            lambda grad, output_size, self_shape, align_corners, scales_d, scales_h, scales_w:
                back(grad, output_size, self_shape, align_corners, scales_d, scales_h, scales_w),
    }[names]


for _name, _node in (
    *((f"upsample_nearest{n}d", f"UpsampleNearest{n}D") for n in (1, 2, 3)),
    *((f"_upsample_nearest_exact{n}d", f"UpsampleNearestExact{n}D") for n in (1, 2, 3)),
    ("upsample_linear1d", "UpsampleLinear1D"), ("upsample_bilinear2d", "UpsampleBilinear2D"),
    ("upsample_trilinear3d", "UpsampleTrilinear3D"), ("upsample_bicubic2d", "UpsampleBicubic2D"),
    ("_upsample_bilinear2d_aa", "UpsampleBilinear2DAa"), ("_upsample_bicubic2d_aa", "UpsampleBicubic2DAa"),
    ("_upsample_lanczos2d_aa", "UpsampleLanczos2DAa"),
):
    derivative(_name, f"{_node}Backward0", self=of_input(_name))
    derivative(f"{_name}_backward", f"{_node}BackwardBackward0", grad_output=registry[_name])

derivative("grid_sampler_2d", "GridSampler2DBackward0", **{
    "input, grid": lambda grad, input, grid, interpolation_mode, padding_mode, align_corners, output_mask:
        grid_sampler_2d_backward(grad, input, grid, interpolation_mode, padding_mode, align_corners, output_mask)})
derivative("grid_sampler_3d", "GridSampler3DBackward0", **{
    "input, grid": lambda grad, input, grid, interpolation_mode, padding_mode, align_corners, output_mask:
        grid_sampler_3d_backward(grad, input, grid, interpolation_mode, padding_mode, align_corners, output_mask)})
derivative("affine_grid_generator", theta=lambda grad, size, align_corners:
           affine_grid_generator_backward(grad, size, align_corners))
derivative("affine_grid_generator_backward", grad=lambda grad, size, align_corners:
           affine_grid_generator(grad, size, align_corners))
