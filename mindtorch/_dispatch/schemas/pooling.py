"""Pooling: maxima and means of windows. Without a ``stride``, the window moves by its own size."""

SCHEMAS = """
function:
    max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, int[1] dilation=1, bool ceil_mode=False) -> Tensor  # The greatest element of each window of `kernel_size` that moves over the last dimension.
    max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> Tensor  # The greatest element of each window of `kernel_size` that moves over the last two dimensions.
    max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) -> Tensor  # The greatest element of each window of `kernel_size` that moves over the last three dimensions.
    max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, int[1] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)  # The greatest element of each window of `kernel_size` that moves over the last dimension, and its place in that.
    avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, bool ceil_mode=False, bool count_include_pad=True) -> Tensor  # The mean of each window of `kernel_size` that moves over the last dimension.
    adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor  # The means of `output_size` regions, as even as they can be, of the last dimension.
    adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)  # The greatest elements of `output_size` regions, as even as they can be, of the last dimension, and their places in that.
    _adaptive_avg_pool2d(Tensor self, int[2] output_size) -> Tensor  # The means of `output_size` regions, as even as they can be, of the last two dimensions, if they are more than one.
    _adaptive_avg_pool3d(Tensor self, int[3] output_size) -> Tensor  # The means of `output_size` regions, as even as they can be, of the last three dimensions, if they are more than one.
operator only:
    adaptive_avg_pool2d(Tensor self, int[2] output_size) -> Tensor  # The means of `output_size` regions, as even as they can be, of the last two dimensions.
    adaptive_avg_pool3d(Tensor self, int[3] output_size) -> Tensor  # The means of `output_size` regions, as even as they can be, of the last three dimensions.
    max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, int[2] dilation, bool ceil_mode, Tensor indices) -> Tensor
    max_pool3d_with_indices_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] stride, int[3] padding, int[3] dilation, bool ceil_mode, Tensor indices) -> Tensor
    avg_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor
    avg_pool3d_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] stride, int[3] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor
    _adaptive_avg_pool2d_backward(Tensor grad_output, Tensor self) -> Tensor
    _adaptive_avg_pool3d_backward(Tensor grad_output, Tensor self) -> Tensor
    adaptive_max_pool2d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor
    adaptive_max_pool3d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor
    fractional_max_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] output_size, Tensor indices) -> Tensor
    fractional_max_pool3d_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] output_size, Tensor indices) -> Tensor
out, exact dtype, no overlap:
    max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> (Tensor result0, Tensor result1)  # The greatest element of each window of `kernel_size` that moves over the last two dimensions, and its place in these, counted as if they were one.
    max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) -> (Tensor result0, Tensor result1)  # The greatest element of each window of `kernel_size` that moves over the last three dimensions, and its place in these, counted as if they were one.
    avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor  # The mean of each window of `kernel_size` that moves over the last two dimensions, or its sum over `divisor_override`.
    avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor  # The mean of each window of `kernel_size` that moves over the last three dimensions, or its sum over `divisor_override`.
    adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor result0, Tensor result1)  # The greatest elements of `output_size` regions, as even as they can be, of the last two dimensions, and their places in these, counted as if they were one.
    adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor result0, Tensor result1)  # The greatest elements of `output_size` regions, as even as they can be, of the last three dimensions, and their places in these, counted as if they were one.
    fractional_max_pool2d(Tensor self, int[2] kernel_size, int[2] output_size, Tensor random_samples) -> (Tensor result0, Tensor result1)  # The greatest elements of `output_size` windows, which lie as `random_samples` says, of the last two dimensions, and their places in these, counted as if they were one.
    fractional_max_pool3d(Tensor self, int[3] kernel_size, int[3] output_size, Tensor random_samples) -> (Tensor result0, Tensor result1)  # The greatest elements of `output_size` windows, which lie as `random_samples` says, of the last three dimensions, and their places in these, counted as if they were one.
    max_unpool2d(Tensor self, Tensor indices, int[2] output_size) -> Tensor  # Zeros, with the elements of `self` at the places `indices` in the last two dimensions.
    max_unpool3d(Tensor self, Tensor indices, int[3] output_size, int[3] stride, int[3] padding) -> Tensor  # Zeros, with the elements of `self` at the places `indices` in the last three dimensions.
"""
