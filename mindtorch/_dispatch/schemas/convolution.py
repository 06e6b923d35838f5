"""Convolutions, of one to three dimensions. ``input`` is (N, C, ...), or (C, ...) where an operator says so."""

SCHEMAS = """
function:
    conv1d(Tensor input, Tensor weight, Tensor? bias=None, int[1] stride=1, int[1] padding=0, int[1] dilation=1, int groups=1) -> Tensor  # The sums of `input`, in windows of one dimension, times each filter of `weight`, plus `bias`; `input` may lack its batch dimension.
    conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[1] stride=1, str padding="valid", int[1] dilation=1, int groups=1) -> Tensor
    conv2d(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, int[2] padding=0, int[2] dilation=1, int groups=1) -> Tensor  # The sums of `input`, in windows of two dimensions, times each filter of `weight`, plus `bias`; `input` may lack its batch dimension.
    conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, str padding="valid", int[2] dilation=1, int groups=1) -> Tensor
    conv3d(Tensor input, Tensor weight, Tensor? bias=None, int[3] stride=1, int[3] padding=0, int[3] dilation=1, int groups=1) -> Tensor  # The sums of `input`, in windows of three dimensions, times each filter of `weight`, plus `bias`; `input` may lack its batch dimension.
    conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[3] stride=1, str padding="valid", int[3] dilation=1, int groups=1) -> Tensor
    conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, int[1] stride=1, int[1] padding=0, int[1] output_padding=0, int groups=1, int[1] dilation=1) -> Tensor  # What `conv1d` has as its gradient: each element of `input` times the filters of `weight`, added up where the windows lie, plus `bias`.
    conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, int[2] padding=0, int[2] output_padding=0, int groups=1, int[2] dilation=1) -> Tensor  # What `conv2d` has as its gradient: each element of `input` times the filters of `weight`, added up where the windows lie, plus `bias`.
    conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, int[3] stride=1, int[3] padding=0, int[3] output_padding=0, int groups=1, int[3] dilation=1) -> Tensor  # What `conv3d` has as its gradient: each element of `input` times the filters of `weight`, added up where the windows lie, plus `bias`.
    convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups) -> Tensor  # The convolution of `input` with `weight` in as many dimensions as `weight` has besides two, or the transposed one, plus `bias`.
    _convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups, bool benchmark, bool deterministic, bool cudnn_enabled, bool allow_tf32) -> Tensor  # What `convolution` computes of `input` and `weight`; the last four settings are those of GPUs.
    _convolution_mode(Tensor input, Tensor weight, Tensor? bias, int[] stride, str padding, int[] dilation, int groups) -> Tensor  # What `convolution` computes of `input` and `weight`, with the padding 'valid' (none) or 'same' (as much as keeps the size).
    conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor  # The convolution along the first dimension of `self` (time, batch, channels) with `weight` (time, channels in, channels out), plus `bias`.
operator only:
    convolution_backward(Tensor grad_output, Tensor input, Tensor weight, int[]? bias_sizes, int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)
    _convolution_double_backward(Tensor? ggI, Tensor? ggW, Tensor? ggb, Tensor gO, Tensor weight, Tensor self, int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)  # The gradients of `convolution_backward` with respect to `gO`, `self` and `weight`, from those of its outputs.
"""
