"""Resampling: other sizes of images, and images sampled at the places of a grid.

``align_corners`` says whether the centres of the outermost elements stay in place, or their outer edges do. A scale is
how many elements of the output there are to one of the input; without it, the sizes say that.
``interpolation_mode``: 0 linear, 1 nearest, 2 cubic. ``padding_mode``: 0 zeros, 1 border, 2 reflection.
"""

SCHEMAS = """
out, exact dtype, no overlap:
    upsample_nearest1d(Tensor self, int[1] output_size, float? scales=None) -> Tensor  # `self` with the size `output_size` in its last dimension, each element that of `self` which lies nearest before it.
    upsample_nearest2d(Tensor self, int[2] output_size, float? scales_h=None, float? scales_w=None) -> Tensor  # `self` with the size `output_size` in its last two dimensions, each element that of `self` which lies nearest before it.
    upsample_nearest3d(Tensor self, int[3] output_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor  # `self` with the size `output_size` in its last three dimensions, each element that of `self` which lies nearest before it.
    _upsample_nearest_exact1d(Tensor self, int[1] output_size, float? scales=None) -> Tensor  # `self` with the size `output_size` in its last dimension, each element that of `self` which lies nearest to it.
    _upsample_nearest_exact2d(Tensor self, int[2] output_size, float? scales_h=None, float? scales_w=None) -> Tensor  # `self` with the size `output_size` in its last two dimensions, each element that of `self` which lies nearest to it.
    _upsample_nearest_exact3d(Tensor self, int[3] output_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor  # `self` with the size `output_size` in its last three dimensions, each element that of `self` which lies nearest to it.
    upsample_linear1d(Tensor self, int[1] output_size, bool align_corners, float? scales=None) -> Tensor  # `self` with the size `output_size` in its last dimension, the elements interpolated linearly.
    upsample_bilinear2d(Tensor self, int[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor  # `self` with the size `output_size` in its last two dimensions, the elements interpolated linearly.
    upsample_trilinear3d(Tensor self, int[3] output_size, bool align_corners, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor  # `self` with the size `output_size` in its last three dimensions, the elements interpolated linearly.
    upsample_bicubic2d(Tensor self, int[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor  # `self` with the size `output_size` in its last two dimensions, the elements interpolated by cubic polynomials.
    _upsample_bilinear2d_aa(Tensor self, int[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor  # `self` with the size `output_size` in its last two dimensions, the elements interpolated linearly, over as many of `self` as one stands for.
    _upsample_bicubic2d_aa(Tensor self, int[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor  # `self` with the size `output_size` in its last two dimensions, the elements interpolated by cubic polynomials, over as many of `self` as one stands for.
    _upsample_lanczos2d_aa(Tensor self, int[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor  # `self` with the size `output_size` in its last two dimensions, the elements interpolated by windows of the sinc function, over as many of `self` as one stands for.
operator only:
    upsample_nearest1d.vec(Tensor input, int[]? output_size, float[]? scale_factors) -> Tensor
    upsample_nearest2d.vec(Tensor input, int[]? output_size, float[]? scale_factors) -> Tensor
    upsample_nearest3d.vec(Tensor input, int[]? output_size, float[]? scale_factors) -> Tensor
    _upsample_nearest_exact1d.vec(Tensor input, int[]? output_size, float[]? scale_factors) -> Tensor
    _upsample_nearest_exact2d.vec(Tensor input, int[]? output_size, float[]? scale_factors) -> Tensor
    _upsample_nearest_exact3d.vec(Tensor input, int[]? output_size, float[]? scale_factors) -> Tensor
    upsample_linear1d.vec(Tensor input, int[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor
    upsample_bilinear2d.vec(Tensor input, int[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor
    upsample_trilinear3d.vec(Tensor input, int[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor
    upsample_bicubic2d.vec(Tensor input, int[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor
    _upsample_bilinear2d_aa.vec(Tensor input, int[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor
    _upsample_bicubic2d_aa.vec(Tensor input, int[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor
    _upsample_lanczos2d_aa.vec(Tensor input, int[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor
    upsample_nearest1d_backward(Tensor grad_output, int[1] output_size, int[3] input_size, float? scales=None) -> Tensor
    upsample_nearest2d_backward(Tensor grad_output, int[2] output_size, int[4] input_size, float? scales_h=None, float? scales_w=None) -> Tensor
    upsample_nearest3d_backward(Tensor grad_output, int[3] output_size, int[5] input_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor
    _upsample_nearest_exact1d_backward(Tensor grad_output, int[1] output_size, int[3] input_size, float? scales=None) -> Tensor
    _upsample_nearest_exact2d_backward(Tensor grad_output, int[2] output_size, int[4] input_size, float? scales_h=None, float? scales_w=None) -> Tensor
    _upsample_nearest_exact3d_backward(Tensor grad_output, int[3] output_size, int[5] input_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor
    upsample_linear1d_backward(Tensor grad_output, int[1] output_size, int[3] input_size, bool align_corners, float? scales=None) -> Tensor
    upsample_bilinear2d_backward(Tensor grad_output, int[2] output_size, int[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor
    upsample_trilinear3d_backward(Tensor grad_output, int[3] output_size, int[5] input_size, bool align_corners, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor
    upsample_bicubic2d_backward(Tensor grad_output, int[2] output_size, int[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor
    _upsample_bilinear2d_aa_backward(Tensor grad_output, int[2] output_size, int[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor
    _upsample_bicubic2d_aa_backward(Tensor grad_output, int[2] output_size, int[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor
    _upsample_lanczos2d_aa_backward(Tensor grad_output, int[2] output_size, int[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor
    grid_sampler_2d_backward(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, bool[2] output_mask) -> (Tensor, Tensor)
    grid_sampler_3d_backward(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, bool[2] output_mask) -> (Tensor, Tensor)
    affine_grid_generator_backward(Tensor grad, int[] size, bool align_corners) -> Tensor
function:
    grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor  # The images or volumes `input` at the places of `grid`, whose coordinates go from -1 to 1.
    grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor  # The images `input` at the places of `grid`, whose coordinates go from -1 to 1.
    grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor  # The volumes `input` at the places of `grid`, whose coordinates go from -1 to 1.
    affine_grid_generator(Tensor theta, int[] size, bool align_corners) -> Tensor  # The places that the affine maps `theta` give the elements of images or volumes of `size`, as `grid_sampler` takes them.
"""
