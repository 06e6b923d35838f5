"""Normalisation by the mean and variance of batches, layers, groups of channels, and samples."""

SCHEMAS = """
function:
    batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor  # `input` less the mean and over the standard deviation of each channel, times `weight` plus `bias`; in `training` these are the batch's, and move the running ones by `momentum`, otherwise the running ones.
    instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor  # `input` less the mean and over the standard deviation of each channel of each sample, times `weight` plus `bias`.
    layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enable=True) -> Tensor  # `input` less the mean and over the standard deviation of its last dimensions, which have the sizes `normalized_shape`, times `weight` plus `bias`.
    group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enabled=True) -> Tensor  # `input` less the mean and over the standard deviation of each of `num_groups` groups of channels of each sample, times `weight` plus `bias`.
    rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor  # `input` over the root of the mean square of its last dimensions, which have the sizes `normalized_shape`, times `weight`.
    native_layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor result0, Tensor result1, Tensor result2)  # The layer normalisation of `input`, and the means and the reciprocals of the standard deviations.
    native_group_norm(Tensor input, Tensor? weight, Tensor? bias, int N, int C, int HxW, int group, float eps) -> (Tensor result0, Tensor result1, Tensor result2)  # The group normalisation of `input`, which has N samples of C channels of HxW elements, and the means and the reciprocals of the standard deviations.
function, out:
    native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!)? running_mean, Tensor(b!)? running_var, bool training, float momentum, float eps) -> (Tensor result0, Tensor result1, Tensor result2)  # The batch normalisation of `input`, and in `training` the mean and the reciprocal of the standard deviation of each channel.
    _native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) running_var, bool training, float momentum, float eps) -> (Tensor result0, Tensor result1, Tensor result2)  # What `native_batch_norm` computes of `input`.
    _native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum, float eps) -> (Tensor result0, Tensor result1, Tensor result2)
operator only:
    _batch_norm_with_update(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) running_var, float momentum, float eps) -> (Tensor result0, Tensor result1, Tensor result2, Tensor result3)  # What `native_batch_norm` computes of `input` in training, and an empty tensor.
out:
    native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_invstd, bool train, float eps, bool[3] output_mask) -> (Tensor result0, Tensor result1, Tensor result2)
    native_layer_norm_backward(Tensor grad_out, Tensor input, int[] normalized_shape, Tensor mean, Tensor rstd, Tensor? weight, Tensor? bias, bool[3] output_mask) -> (Tensor result0, Tensor result1, Tensor result2)
    native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, int N, int C, int HxW, int group, bool[3] output_mask) -> (Tensor result0, Tensor result1, Tensor result2)
"""
