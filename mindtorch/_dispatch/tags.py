"""PyTorch's tags of operators (``torch.Tag``): facts for tools, such as whether an operator is of the core set."""
from __future__ import annotations

from enum import Enum
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .registry import Operator


class Tag(Enum):
    """PyTorch's tags of operators (``torch.Tag``)."""

    core = 0
    cudagraph_unsafe = 1
    data_dependent_output = 2
    dynamic_output_shape = 3
    flexible_layout = 4
    generated = 5
    inplace = 6
    inplace_view = 7
    maybe_aliasing_or_mutating = 8
    needs_contiguous_strides = 9
    needs_exact_strides = 10
    needs_fixed_stride_order = 11
    nondeterministic_bitwise = 12
    nondeterministic_seeded = 13
    out = 14
    out_variant = 15
    pointwise = 16
    pt2_compliant_tag = 17
    reduction = 18
    view_copy = 19


#: The operators of each tag that neither name nor schema gives away. A name without an overload stands for all of
#: its overloads.
TAGGED = {
    Tag.core: """
        _adaptive_avg_pool2d _adaptive_avg_pool2d_backward _adaptive_avg_pool3d _cdist_forward _embedding_bag _fft_c2r
        _fft_r2c _local_scalar_dense _log_softmax.default _native_batch_norm_legit.default
        _native_batch_norm_legit.no_stats _native_batch_norm_legit_no_training _pdist_forward _softmax.default
        _to_copy abs.default acos.default acosh.default adaptive_avg_pool1d add.Scalar add.Tensor addmm.default alias
        amax.default amin.default any.default any.dim any.dims arange.start_step argmax.default argmin.default
        as_strided asin.default asinh.default atan.default atan2 atanh.default avg_pool1d avg_pool2d.default
        avg_pool2d_backward avg_pool3d.default bitwise_and.Scalar bitwise_and.Tensor bitwise_not.default
        bitwise_or.Scalar bitwise_or.Tensor bitwise_xor.Scalar bitwise_xor.Tensor bmm.default cat.default ceil.default
        clamp.Tensor clamp.default clone col2im constant_pad_nd convolution convolution_backward copy cos.default
        cosh.default cumsum.default diagonal div.Scalar div.Tensor div.Tensor_mode elu.default embedding
        embedding_dense_backward empty empty_strided eq.Scalar eq.Tensor erf.default exp.default expand expm1.default
        fill.Scalar flip floor.default fmod.Scalar fmod.Tensor full full_like gather.default ge.Scalar ge.Tensor
        gelu.default grid_sampler_2d gt.Scalar gt.Tensor hardtanh.default index index_put index_select.default isinf
        isnan le.Scalar le.Tensor leaky_relu.default log.default log10.default log1p.default log2.default
        logical_and.default logical_not.default logical_or.default logical_xor.default lt.Scalar lt.Tensor
        masked_scatter max.dim max_pool2d_with_indices.default max_pool2d_with_indices_backward
        max_pool3d_with_indices.default maximum.default mean.default mean.dim min.dim minimum.default mm.default
        mul.Scalar mul.Tensor native_dropout native_group_norm native_group_norm_backward.default native_layer_norm
        native_layer_norm_backward.default ne.Scalar ne.Tensor neg.default nonzero.default permute pow.Scalar
        pow.Tensor_Scalar pow.Tensor_Tensor prod.default prod.dim_int rand.default randn.default randperm.default
        reciprocal.default reflection_pad1d reflection_pad2d reflection_pad3d relu remainder.Scalar remainder.Tensor
        repeat replication_pad2d replication_pad3d resize_ round.default rsqrt.default scalar_tensor scatter.src
        scatter.value scatter_add.default scatter_reduce.two select select_scatter.default sigmoid.default
        sign.default sin.default sinh.default slice slice_scatter.default sort.default split_with_sizes sqrt.default
        squeeze.dim squeeze.dims sub.Scalar sub.Tensor sum.dim_IntList sym_numel sym_size sym_storage_offset
        sym_stride tan.default tanh.default topk.default trunc.default unsqueeze upsample_bilinear2d.vec
        upsample_nearest2d.vec var.correction var.dim view.default where.self
    """,
    Tag.pointwise: """
        _conj_physical abs acos acos_ acosh acosh_ add add_ addcdiv addcdiv_ addcmul addcmul_ angle asin asin_ asinh
        asinh_ atan atan2 atan2_ atan_ atanh atanh_ bitwise_and bitwise_and_ bitwise_left_shift bitwise_left_shift_
        bitwise_not bitwise_not_ bitwise_or bitwise_or_ bitwise_right_shift bitwise_right_shift_ bitwise_xor
        bitwise_xor_ ceil ceil_ celu celu_ clamp clamp_ clamp_max clamp_max_ clamp_min clamp_min_ clip.Tensor
        clip.default clip.out clip_ clone conj_physical conj_physical_ copysign cos cos_ cosh cosh_ deg2rad deg2rad_
        digamma digamma_ div div_ elu.default elu_ eq equal erf erf_ erfc erfc_ erfinv erfinv_ exp exp2 exp2_ exp_
        expm1 expm1_ float_power float_power_ floor floor_ fmax fmin fmod fmod_ frac frac_ frexp gcd ge gelu.default
        gelu_backward gt hardshrink.default hardsigmoid.default hardsigmoid_ hardtanh.default hardtanh_ heaviside
        hypot hypot_ i0 i0_ igamma igamma_ igammac igammac_ isfinite isinf isnan isneginf isposinf lcm ldexp le
        leaky_relu.default leaky_relu_ lerp lerp_ lgamma lgamma_ log log10 log10_ log1p log1p_ log2 log2_ log_
        logaddexp logaddexp2 logical_and logical_and_ logical_not logical_not_ logical_or logical_or_ logical_xor
        logical_xor_ logit logit_ logit_backward lt masked_fill.Scalar max.other max.out maximum min.other min.out
        minimum mish.default mul mul_ mvlgamma mvlgamma_ nan_to_num nan_to_num_ native_dropout_backward ne neg neg_
        nextafter nextafter_ polygamma polygamma_ positive pow pow_ rad2deg rad2deg_ reciprocal reciprocal_ relu relu6
        relu_ remainder remainder_ round round_ rrelu rsqrt rsqrt_ rsub.Scalar selu selu_ sgn sgn_ sigmoid sigmoid_
        sigmoid_backward sign sign_ signbit silu silu_ silu_backward sin sin_ sinc sinc_ sinh sinh_ softplus.default
        softshrink.default special_airy_ai special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1
        special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v
        special_chebyshev_polynomial_w special_entr special_erfcx special_hermite_polynomial_h
        special_hermite_polynomial_he special_i0e special_i1 special_i1e special_laguerre_polynomial_l
        special_legendre_polynomial_p special_log_ndtr special_modified_bessel_i0 special_modified_bessel_i1
        special_modified_bessel_k0 special_modified_bessel_k1 special_ndtri special_scaled_modified_bessel_k0
        special_scaled_modified_bessel_k1 special_shifted_chebyshev_polynomial_t
        special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v
        special_shifted_chebyshev_polynomial_w special_spherical_bessel_j0 special_xlog1py special_zeta sqrt sqrt_
        square square_ sub sub_ tan tan_ tanh tanh_ tanh_backward threshold.default threshold_backward
        true_divide.Tensor trunc trunc_ where.self xlogy xlogy_.Tensor
    """,
    Tag.reduction: """
        all amax amin aminmax any argmax argmin count_nonzero linalg_vector_norm logsumexp max.default max.dim
        max.dim_max mean min.default min.dim min.dim_min nansum norm.Scalar norm.ScalarOpt_dim norm.out prod std
        std_mean sum var var_mean
    """,
    Tag.nondeterministic_seeded: """
        _fused_sdp_choice _sample_dirichlet _scaled_dot_product_attention_math
        _scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_fused_attention_overrideable _standard_gamma
        alpha_dropout alpha_dropout_ bernoulli bernoulli_ binomial cauchy cauchy_ dropout dropout_ exponential
        exponential_ feature_alpha_dropout feature_alpha_dropout_ feature_dropout feature_dropout_ geometric
        geometric_ gru log_normal log_normal_ lstm multinomial native_dropout normal normal_ normal_functional poisson
        rand rand_like randint randint_like randn randn_like random random_ randperm rnn_relu rnn_tanh rrelu rrelu_
        rrelu_with_noise rrelu_with_noise_ rrelu_with_noise_functional scaled_dot_product_attention uniform uniform_
    """,
    Tag.dynamic_output_shape: """
        _ctc_loss _unique2 argwhere bincount index linalg_lstsq masked_select nonzero one_hot repeat_interleave.Tensor
        unique_consecutive unique_dim
    """,
    Tag.data_dependent_output: "_local_scalar_dense allclose equal",
    Tag.inplace_view: """
        as_strided_ detach_ resize_ resize_as_ set_ squeeze_ swapaxes_ swapdims_ t_ transpose_ unsqueeze_
    """,
    Tag.view_copy: """
        _conj_copy _neg_view_copy _reshape_alias_copy alias_copy as_strided_copy detach_copy diagonal_copy expand_copy
        lift_fresh_copy narrow_copy.default permute_copy select_copy slice_copy slice_scatter split_copy.Tensor
        split_with_sizes_copy.default squeeze_copy t_copy transpose_copy unbind_copy.int unfold_copy unsqueeze_copy
        view_as_complex_copy view_as_real_copy view_copy
    """,
    Tag.generated: """
        _batch_norm_with_update_functional _conj_copy.out _foreach_zero _native_batch_norm_legit_functional
        _neg_view_copy.out _reshape_alias_copy.out _sparse_addmm.out alias_copy.out as_strided_copy.out
        as_strided_scatter.out bernoulli.Tensor bucketize.Scalar_out cauchy detach_copy.out diagonal_copy.out
        diagonal_scatter.out embedding_renorm expand_copy.out exponential geometric linalg_matrix_exp.out log_normal
        native_batch_norm_backward.out native_group_norm_backward.out native_layer_norm_backward.out norm.Scalar_out
        permute_copy.out random resize rrelu_with_noise_functional select_copy.int_out select_scatter.out set
        slice_copy.Tensor_out slice_scatter.out squeeze_copy.dim_out squeeze_copy.dims_out squeeze_copy.out t_copy.out
        transpose_copy.int_out unfold_copy.out uniform unsqueeze_copy.out view_as_complex_copy.out
        view_as_real_copy.out view_copy.dtype_out view_copy.out zero
    """,
    Tag.maybe_aliasing_or_mutating: """
        alpha_dropout atleast_1d atleast_2d atleast_3d batch_norm cartesian_prod conj_physical.default dropout
        feature_alpha_dropout feature_dropout unsafe_chunk
    """,
    Tag.needs_exact_strides: "_scaled_mm",
}


@cache
def _by_name() -> dict[str, list[Tag]]:
    found: dict[str, list[Tag]] = {}
    for tag, names in TAGGED.items():
        for name in names.split():
            found.setdefault(name, []).append(tag)
    return found


def tags_of(op: Operator, packet: str, overload: str) -> list[Tag]:
    """Return an operator's tags: PyTorch's by PyTorch's name for it, or the ones that it was defined with."""
    if "::" in op.name:
        return [*op.tags]
    known = _by_name()
    tags = {Tag.pt2_compliant_tag, *known.get(packet, ()), *known.get(f"{packet}.{overload}", ())}
    if op.is_out:
        tags.add(Tag.out)
    elif packet.endswith("_") and not packet.endswith("__"):
        tags.add(Tag.inplace)
    return sorted(tags, key=lambda tag: tag.value)
