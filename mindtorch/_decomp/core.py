"""The operators with a decomposition that do not belong to the core ATen operator set, as PyTorch draws its border."""
from __future__ import annotations

#: Beside the composites that are decomposed before a ``__torch_dispatch__`` receives them.
NAMES = """
_euclidean_dist _log_softmax_backward_data _prelu_kernel _prelu_kernel_backward _reshape_alias _safe_softmax
_softmax_backward_data _unsafe_masked_index _unsafe_masked_index_put_accumulate _unsafe_view
_weight_norm_interface addcdiv addcmul addr affine_grid_generator affine_grid_generator_backward alias_copy all
all.dim all.dims aminmax arange arange.start baddbmm bernoulli binary_cross_entropy
binary_cross_entropy_backward binary_cross_entropy_with_logits block_diag celu channel_shuffle clamp_max
clamp_max.Tensor clamp_min clamp_min.Tensor col2im count_nonzero.dim_IntList deg2rad detach diag_embed
diagonal_backward diagonal_copy dot elu_backward embedding_dense_backward expand_copy eye eye.m fill.Scalar
fill.Tensor floor_divide frac gelu_backward glu glu_backward hardshrink hardsigmoid hardsigmoid_backward
hardswish hardswish_backward hardtanh_backward heaviside huber_loss huber_loss_backward im2col index_add
index_copy index_fill.int_Scalar index_fill.int_Tensor isin.Scalar_Tensor isin.Tensor_Scalar isin.Tensor_Tensor
isneginf isposinf leaky_relu_backward lerp.Scalar lerp.Tensor linalg_cross linspace log_sigmoid_backward
log_sigmoid_forward logaddexp logaddexp2 logit logit_backward logspace logsumexp masked_fill.Scalar
masked_fill.Tensor mish mish_backward mse_loss mse_loss_backward multi_margin_loss
multilabel_margin_loss_forward mv mvlgamma nan_to_num nansum native_batch_norm_backward native_channel_shuffle
native_dropout_backward native_group_norm_backward native_layer_norm_backward new_empty new_full new_ones
new_zeros nll_loss2d_backward nll_loss2d_forward nll_loss_backward nll_loss_forward norm.ScalarOpt_dim ones
ones_like pixel_shuffle pixel_unshuffle rad2deg reflection_pad1d reflection_pad1d_backward reflection_pad2d
reflection_pad2d_backward reflection_pad3d reflection_pad3d_backward renorm replication_pad1d replication_pad2d
replication_pad3d roll rot90 rsub.Scalar rsub.Tensor select_backward select_scatter sgn sigmoid_backward silu
silu_backward sinc slice_backward smooth_l1_loss smooth_l1_loss_backward soft_margin_loss
soft_margin_loss_backward softplus softplus_backward softshrink special_entr special_log_ndtr special_xlog1py
special_xlog1py.other_scalar special_xlog1py.self_scalar split.Tensor split_with_sizes_copy squeeze squeeze.dim
squeeze_copy squeeze_copy.dim squeeze_copy.dims stack std.correction std_mean.correction sum t t_copy take
tanh_backward threshold threshold_backward trace transpose.int transpose_copy.int tril triu unbind.int
unfold_backward unfold_copy unsafe_split.Tensor unsafe_split_with_sizes unsqueeze_copy upsample_nearest1d
upsample_nearest2d upsample_nearest3d vdot xlogy.Scalar_Other xlogy.Scalar_Self xlogy.Tensor zero zeros
zeros_like
"""
NOT_CORE = frozenset(f"aten::{name}" for name in NAMES.split())
