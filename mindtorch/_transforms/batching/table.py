"""Which rule an operator has: one row a rule."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._dispatch.aten import (
    bmm, diagonal, mm, mv, searchsorted_Tensor as searchsorted, select_int as select, slice_Tensor as slice_of,
)
from .networks import (
    batch_norm_gradients, batch_normalised, convolution_gradients, convolved, group_norm_gradients, group_normalised,
    layer_norm_gradients, layer_normalised,
)
from .rules import (
    Rule, added, along_dimensions, along_index, as_it_is, bagged, block_diagonal, by_sample, composed, distance,
    each_element, elementwise, embedded, embedding_gradient, flat, index_written, indexed, joined, loss, masked_fill,
    masked_scatter, nll, one_hot, over_all, product, put, renormalised, rolled, scattered, searched, selected, squeezed,
    stacked, strided, taken, trailing, transposed, trilinear, unbatchable, with_size,
)


def names(rule: Callable[..., Any], text: str) -> dict[str, Rule]:
    """One rule for the operators that a text names."""
    return dict.fromkeys(text.split(), rule)


#: By operator name; what a user registers stands here too.
RULES: dict[str, Rule] = {
    # views, and what reads dimensions
    **names(along_dimensions, """
        select.int slice.Tensor unsqueeze transpose.int squeeze.dim squeeze.dims permute unbind.int split.Tensor
        unsafe_split.Tensor split_with_sizes diagonal unfold flip
        sum.dim_IntList mean.dim amax amin hash_tensor max.dim min.dim any.dim all.dim any.dims all.dims nansum
        var.correction std.correction var_mean.correction std_mean.correction prod.dim_int logsumexp linalg_vector_norm
        norm.ScalarOpt_dim count_nonzero.dim_IntList median.dim nanmedian.dim mode kthvalue topk sort sort.stable
        cumsum cumprod cummax cummin logcumsumexp glu _softmax _log_softmax _safe_softmax
        _softmax_backward_data _log_softmax_backward_data linalg_cross _fft_r2c _fft_c2c _fft_c2r
        gather scatter.src scatter.value scatter.reduce scatter.value_reduce scatter_add scatter_reduce.two"""),
    "sum": over_all("sum.dim_IntList"), "mean": over_all("mean.dim"), "any": over_all("any.dims"),
    "all": over_all("all.dims"), "prod": flat("prod.dim_int"), "max": flat("max.dim", True),
    "min": flat("min.dim", True), "median": flat("median.dim", True), "nanmedian": flat("nanmedian.dim", True),
    **names(flat(), "argmax argmin aminmax"),
    "roll": rolled, "t": transposed, "squeeze": squeezed, "as_strided": strided, "cat": joined,
    "stack": composed(stacked),
    **names(with_size, "view _unsafe_view _reshape_alias expand new_zeros new_ones new_empty new_full"),
    **names(as_it_is, """
        clone _to_copy detach alias _conj _neg_view zeros_like ones_like empty_like full_like fill_.Scalar zero_
        view_as_real view_as_complex tril triu log_sigmoid_forward frexp.Tensor view.dtype"""),
    # places
    **names(along_index, "index_select index_add index_copy index_fill.int_Scalar index_fill.int_Tensor index_reduce"),
    "index.Tensor": indexed, "index_put": index_written, "take": composed(taken), "put": composed(put),
    "embedding": embedded, "one_hot": composed(one_hot), "embedding_dense_backward": embedding_gradient,
    "searchsorted.Tensor": searched,
    "bucketize.Tensor": composed(lambda self, boundaries, out_int32=False, right=False: searchsorted(
        boundaries, self, out_int32, right)),
    **names(composed(masked_fill), "masked_fill.Scalar masked_fill.Tensor"),
    **{f"{name}_scatter": composed(scattered(view)) for name, view in (
        ("select", select), ("slice", slice_of), ("diagonal", diagonal))},
    "masked_select": selected, "block_diag": composed(block_diagonal),
    "masked_scatter": composed(masked_scatter),
    # products and linear algebra
    **names(product, "mm bmm mv dot"),
    "vdot": composed(lambda self, other: (self.conj() * other).sum()),
    "addmm": added(mm), "addmv": added(mv), "baddbmm": added(bmm),
    "addbmm": added(lambda left, right: bmm(left, right).sum(0)),
    "addr": added(lambda left, right: left.unsqueeze(1) * right),
    "linear": composed(lambda x, weight, bias=None: x @ weight.t() if bias is None else x @ weight.t() + bias),
    **names(trailing(), """
        linalg_cholesky_ex cholesky cholesky_inverse cholesky_solve linalg_eig linalg_qr geqrf _linalg_slogdet
        _linalg_det linalg_inv_ex linalg_lu_factor_ex linalg_lu linalg_ldl_factor_ex linalg_matrix_exp
        linalg_solve_triangular triangular_solve _linalg_solve_ex _cdist_forward"""),
    "_linalg_svd": trailing(flags={"compute_uv": True}), "_linalg_eigh": trailing(flags={"compute_v": True}),
    "linalg_pinv.atol_rtol_tensor": trailing(2, 0, 0),
    **names(trailing(2, 1), "linalg_householder_product lu_unpack"),
    **names(trailing(2, 1, 2), "linalg_lu_solve linalg_ldl_solve ormqr"),
    "renorm": composed(renormalised), "dist": composed(distance), "_trilinear": composed(trilinear),
    # networks
    "convolution": convolved, "convolution_backward": convolution_gradients,
    "native_layer_norm": layer_normalised, "native_layer_norm_backward": composed(layer_norm_gradients),
    "native_group_norm": group_normalised, "native_group_norm_backward": composed(group_norm_gradients),
    "native_batch_norm": batch_normalised, "native_batch_norm_backward": batch_norm_gradients,
    **names(by_sample, """
        max_pool2d_with_indices max_pool3d_with_indices avg_pool2d avg_pool3d adaptive_max_pool2d adaptive_max_pool3d
        _adaptive_avg_pool2d _adaptive_avg_pool3d max_unpool2d max_unpool3d fractional_max_pool2d
        max_pool2d_with_indices_backward max_pool3d_with_indices_backward avg_pool2d_backward avg_pool3d_backward
        adaptive_max_pool2d_backward adaptive_max_pool3d_backward _adaptive_avg_pool2d_backward
        _adaptive_avg_pool3d_backward
        upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_linear1d upsample_bilinear2d
        upsample_bicubic2d upsample_trilinear3d _upsample_nearest_exact1d _upsample_nearest_exact2d
        _upsample_nearest_exact3d _upsample_bilinear2d_aa _upsample_bicubic2d_aa
        upsample_nearest1d_backward upsample_nearest2d_backward upsample_nearest3d_backward upsample_linear1d_backward
        upsample_bilinear2d_backward upsample_bicubic2d_backward upsample_trilinear3d_backward
        grid_sampler_2d grid_sampler_3d grid_sampler_2d_backward grid_sampler_3d_backward"""),
    # losses
    **names(loss, """
        mse_loss huber_loss smooth_l1_loss soft_margin_loss binary_cross_entropy binary_cross_entropy_with_logits"""),
    **names(composed(nll), "nll_loss_forward nll_loss2d_forward"),
    # others
    **names(elementwise, "native_dropout_backward copy_"), "_embedding_bag_forward_only": bagged,
    **names(each_element, """
        ctc_loss.Tensor ctc_loss.IntList linalg_lstsq multilabel_margin_loss_forward _pdist_forward"""),
    **names(unbatchable, "nonzero _unique2 unique_dim unique_consecutive unique_dim_consecutive"),
}
