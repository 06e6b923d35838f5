"""Autocast: before an operator of PyTorch's lists runs, its floating point inputs are cast; inside it, nothing is."""
from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from .._base.errors import check
from .._dtype import DType, float32, float64
from .dispatcher import TENSOR_TYPES, registry, set_local
from .keys import AUTOGRAD
from .local import local
from .registry import Operator

#: What is computed in the lower precision, and what in float32, by device (ATen's ``autocast_mode.cpp``). Operators
#: that want one dtype for all their inputs promote by themselves.
LOWER = {
    "cpu": """
        _addmm_activation _convolution addbmm addmm baddbmm bmm conv1d conv2d conv3d conv_tbc conv_transpose1d
        conv_transpose2d conv_transpose3d linalg_vecdot linear matmul mkldnn_rnn_layer mm prelu
        scaled_dot_product_attention""",
    "npu": """
        _convolution addbmm addmm addmv addr baddbmm bmm chain_matmul conv1d conv2d conv3d conv_tbc conv_transpose1d
        conv_transpose2d conv_transpose3d convolution einsum gru_cell linalg_multi_dot linalg_vecdot linear lstm_cell
        matmul mm mv prelu rnn_relu_cell rnn_tanh_cell scaled_dot_product_attention""",
}
FLOAT32 = {
    "cpu": """
        _lu_with_info adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d binary_cross_entropy
        binary_cross_entropy_with_logits cdist cholesky cholesky_inverse cholesky_solve cosine_embedding_loss
        cross_entropy_loss ctc_loss fft_fft fft_fft2 fft_fftn fft_hfft fft_ifft fft_ifft2 fft_ifftn fft_ihfft fft_irfft
        fft_irfft2 fft_irfftn fft_rfft fft_rfft2 fft_rfftn fractional_max_pool2d fractional_max_pool3d geqrf
        grid_sampler grid_sampler_2d grid_sampler_3d hinge_embedding_loss huber_loss inverse kl_div l1_loss
        linalg_cholesky linalg_cholesky_ex linalg_cond linalg_eig linalg_eigh linalg_eigvals linalg_eigvalsh
        linalg_householder_product linalg_inv linalg_inv_ex linalg_lstsq linalg_matrix_rank linalg_qr linalg_solve
        linalg_svd linalg_svdvals linalg_tensorinv linalg_tensorsolve lu_solve margin_ranking_loss max_pool3d
        max_unpool2d max_unpool3d mse_loss multi_margin_loss multilabel_margin_loss nanquantile nll_loss nll_loss2d
        nll_loss_nd orgqr ormqr pinverse poisson_nll_loss polar prod qr quantile reflection_pad1d reflection_pad2d
        replication_pad1d replication_pad2d replication_pad3d smooth_l1_loss soft_margin_loss stft svd trace
        triangular_solve triplet_margin_loss view_as_complex""",
    "npu": """
        acos asin binary_cross_entropy_with_logits cdist cosh cosine_embedding_loss cosine_similarity cumprod cumsum
        dist erfinv exp expm1 frobenius_norm group_norm hinge_embedding_loss huber_loss kl_div l1_loss layer_norm
        linalg_matrix_norm linalg_vector_norm log log10 log1p log2 log_softmax logsumexp margin_ranking_loss mse_loss
        multi_margin_loss multilabel_margin_loss native_layer_norm nll_loss nll_loss2d nll_loss_nd norm nuclear_norm
        pdist poisson_nll_loss pow prod reciprocal renorm rms_norm rsqrt sinh smooth_l1_loss soft_margin_loss softmax
        softplus sum tan triplet_margin_loss""",
}
#: What takes inputs of the lower precision and of float32 together, and no others.
PROMOTES = {"cpu": "cat stack index_copy", "npu": "addcdiv addcmul atan2 bilinear cross dot index_put tensordot vdot"}
_LOWER, _FLOAT32, _PROMOTES = 1, 2, 3
#: How an operator computes, by device; others are left alone. ``library.register_autocast`` adds dtypes.
POLICY: dict[str, dict[str, Any]] = {
    device: {**dict.fromkeys(LOWER[device].split(), _LOWER), **dict.fromkeys(FLOAT32[device].split(), _FLOAT32),
             **dict.fromkeys(PROMOTES[device].split(), _PROMOTES)} for device in LOWER}

#: Parameters in the lower precision, so that each is cast once a block: by id and whether recording, with a reference
#: that tells whether the id is still the parameter's.
_cache: dict[tuple[int, bool], tuple[weakref.ref[Any], Any]] = {}
cache_enabled = True


def clear_cache() -> None:
    """Forget the parameters that were cast."""
    _cache.clear()


def switch(device: str, dtype: DType | None) -> None:
    """Cast to ``dtype`` on a device in this thread from now on; for None, do not cast."""
    active = {kind: found for kind, found in (local.autocast or {}).items() if kind != device}
    set_local("autocast", {**active, device: dtype} if dtype is not None else active or None)


def casting(op: Operator) -> Callable[..., Any] | None:
    """The operator with its inputs cast; None for one that is in no list for the devices on which this thread casts."""
    name = op.name.partition(".")[0]
    if op.is_inplace or op.is_out or not any(name in POLICY.get(device, ()) for device in local.autocast):
        return None

    def call(*args: Any) -> Any:
        active, local.autocast = local.autocast, None
        try:
            return op.call(*[_cast(value, name, active) for value in args])
        finally:
            local.autocast = active

    return call


def _cast(value: Any, name: str, active: dict[str, DType]) -> Any:
    """A tensor, or tensors in a list, in the dtype that the operator computes in on its device."""
    if value.__class__ not in TENSOR_TYPES:
        if (kind := value.__class__) is list or kind is tuple:
            return kind([_cast(item, name, active) for item in value])
        return value
    lower = active.get(value._device.type)
    policy = None if lower is None else POLICY[value._device.type].get(name)
    if policy is None or not value._dtype.is_floating_point or value._dtype is float64:
        return value
    if policy == _PROMOTES:
        check(value._dtype in (lower, float32), "Unexpected floating ScalarType in at::autocast::prioritize")
        return value
    dtype: Any = lower if policy == _LOWER else float32 if policy == _FLOAT32 else policy
    if value._dtype is dtype:
        return value
    if not (policy == _LOWER and cache_enabled and value._keys & AUTOGRAD and value._dtype is float32
            and value._base is None and value._grad_fn is None):
        return registry["_to_copy"].call(value, dtype)
    key = (id(value), local.grad_enabled)
    found = _cache.get(key)
    if found is None or found[0]() is not value or found[1]._dtype is not dtype:
        found = _cache[key] = weakref.ref(value), registry["_to_copy"].call(value, dtype)
    return found[1]
