"""NPU rows of products of matrices, attention, losses, embeddings and normalisation.

``cubeMathType`` 0 (KEEP_DTYPE) computes in the operands' own precision.
"""
from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from typing import Any

from ...._dtype import bfloat16, bool_, finfo, float16, float32
from ...._tensor import Tensor
from . import ACLNN_CALLS
from .pointwise import named
from .row import Aclnn, Call, Each

KEEP_DTYPE = 0


def product(name: str) -> Aclnn:
    return Aclnn(name, lambda self, other, out: (self, other, out, KEEP_DTYPE))


def sum_of_products(name: str) -> Aclnn:
    return Aclnn(name, lambda self, first, second, beta, alpha,
                 out: (self, first, second, beta, alpha, out, KEEP_DTYPE))


ACLNN_CALLS.update({
    "mm": product("aclnnMm"),
    "bmm": product("aclnnBatchMatMul"),
    "mv": product("aclnnMv"),
    "dot": Aclnn("aclnnDot"),
    "addmm": sum_of_products("aclnnAddmm"),
    "baddbmm": sum_of_products("aclnnBaddbmm"),
    "addbmm": sum_of_products("aclnnAddbmm"),
    "addmv": Aclnn("aclnnAddmv", lambda self, mat, vec, beta, alpha, out: (
        self, mat, vec, alpha, beta, out, KEEP_DTYPE)),
    "addr": Aclnn("aclnnAddr"),
    "linalg_cross": Aclnn("aclnnLinalgCross"),
    "_pdist_forward": Aclnn("aclnnPdistForward"),
    "renorm": Aclnn("aclnnRenorm", lambda self, p, dim, maxnorm, out: (self, p, dim % self.ndim, maxnorm, out)),
})


#: How far before and after itself a query looks, where nothing bounds that.
UNBOUNDED = 2**31 - 1
#: The code of "nothing after the query, counted from the upper left", the size of the mask that comes with it, and the
#: code that allows rows in which everything is hidden.
CAUSAL, CAUSAL_MASK, EMPTY_ROWS = 2, 2048, 2
#: How often the maximum and the sum of a row of scores are there: as many float32 as are 32 bytes.
COPIES = 8
#: The heads, and the widths of them, that aclnnFlashAttentionScore takes at most (op-plugin; CANN's pages).
MOST_HEADS, MOST_WIDTH = 256, 512


def fits(query: Tensor, key: Tensor, value: Tensor, seen: Any, *rest: Any) -> bool:
    """Return True if op-plugin would call aclnnFlashAttentionScore: boolean masks, float32 rows in fours."""
    heads, width = query.shape[1], query.shape[3]
    return (query._dtype in (float16, bfloat16, float32) and (seen is None or seen._dtype is bool_)
            and heads <= MOST_HEADS and width <= MOST_WIDTH and not (query._dtype is float32 and width % 4))


def is_long(query: Tensor, key: Tensor) -> bool:
    """Return True if the full mask would be larger than that of ``CAUSAL``, for which CANN advises the code."""
    return max(query.shape[2], key.shape[2]) > CAUSAL_MASK


def mask_of(query: Tensor, key: Tensor, seen: Any, causal: bool) -> Any:
    """Return the mask of hidden scores or None: two-dimensional where ACLNN takes that, else of their shape."""
    if causal:
        sizes = (CAUSAL_MASK, CAUSAL_MASK) if is_long(query, key) else (query.shape[2], key.shape[2])
        return query.new_ones(sizes, dtype=bool_).triu(1)
    if seen is None:
        return None
    whole = (*query.shape[:3], key.shape[2])
    if seen.ndim != 2 or seen.shape != whole[2:]:
        seen = seen.expand(whole)
    return seen.logical_not()


def settings(query: Tensor, key: Tensor, seen: Any, causal: bool, scale: float | None) -> tuple[Any, ...]:
    precise = EMPTY_ROWS if seen is not None and query.shape[2] > 1 else 0
    return (1 / sqrt(query.shape[3]) if scale is None else scale, 1.0, UNBOUNDED, 0 if causal else UNBOUNDED,
            query.shape[1], "BNSD", precise, CAUSAL if causal and is_long(query, key) else 0)


def attention(query: Tensor, key: Tensor, value: Tensor, seen: Any, dropout_p: float, causal: bool, debug: bool,
              scale: float | None, out: Tensor, logsumexp: Any, *rest: Any) -> Iterator[Call]:
    """ACLNN gives the maxima and the sums of the rows of scores, where ATen has the logarithms."""
    most, total = (query.new_empty((*query.shape[:3], COPIES), dtype=float32) for _ in range(2))
    yield "aclnnFlashAttentionScore", (
        query, key, value, None, None, None, mask_of(query, key, seen, causal), None,
        *settings(query, key, seen, causal, scale), most, total, query.new_empty((0,)), out)
    yield "aclnnLog", (total.select(-1, 0), logsumexp)
    yield "aclnnAdd", (logsumexp, most.select(-1, 0), 1, logsumexp)


def attention_backward(grad: Tensor, query: Tensor, key: Tensor, value: Tensor, seen: Any, wanted: Any, out: Tensor,
                       logsumexp: Any, cum_seq_q: None, cum_seq_k: None, max_q: int, max_k: int, dropout_p: float,
                       causal: bool, seed: None, offset: None, scale: float | None, *grads: Any) -> Iterator[Call]:
    """Weights are exp(score - maximum) / sum, and so the logarithm of the sum is a maximum with the sum 1."""
    rows = (*query.shape[:3], COPIES)
    yield "aclnnFlashAttentionScoreGrad", (
        query, key, value, grad, None, None, None, mask_of(query, key, seen, causal),
        logsumexp.unsqueeze(-1).expand(rows), logsumexp.new_ones(rows), None, out, None,
        *settings(query, key, seen, causal, scale), *grads)


ACLNN_CALLS.update({
    "_scaled_dot_product_fused_attention_overrideable": Each("", attention, when=fits),
    "_scaled_dot_product_fused_attention_overrideable_backward": Each(
        "", attention_backward, when=lambda grad, *args: fits(*args)),
})


def weights(self: Tensor, weight: Any) -> Any:
    """Return the weights of the classes: ones if there are none, since ACLNN requires them."""
    return self.new_ones(self.shape[1 if self.ndim > 1 else 0]) if weight is None else weight


def nll_loss(self: Tensor, target: Tensor, weight: Any, *rest: Any) -> tuple[Any, ...]:
    return self, target, weights(self, weight), *rest


def nll_loss_backward(grad: Tensor, *args: Any) -> tuple[Any, ...]:
    return grad, *nll_loss(*args)


ACLNN_CALLS.update({
    **named("""
        mse_loss MseLoss                      mse_loss_backward MseLossBackward
        smooth_l1_loss SmoothL1Loss           smooth_l1_loss_backward SmoothL1LossBackward
        soft_margin_loss SoftMarginLoss       soft_margin_loss_backward SoftMarginLossBackward
        binary_cross_entropy BinaryCrossEntropy
        binary_cross_entropy_backward BinaryCrossEntropyBackward
        binary_cross_entropy_with_logits BinaryCrossEntropyWithLogits
        multilabel_margin_loss_forward MultilabelMarginLoss
        l1_loss L1Loss                        kl_div KlDiv
    """),
    "nll_loss_forward": Aclnn("aclnnNLLLoss", nll_loss),
    "nll_loss_backward": Aclnn("aclnnNLLLossBackward", nll_loss_backward),
    "nll_loss2d_forward": Aclnn("aclnnNLLLoss2d", nll_loss),
    "nll_loss2d_backward": Aclnn("aclnnNLLLoss2dBackward", nll_loss_backward),
})


ACLNN_CALLS.update({
    "embedding": Aclnn("aclnnEmbedding", lambda weight, indices, padding, scale, sparse, out: (weight, indices, out)),
    "embedding_renorm_": Aclnn("aclnnEmbeddingRenorm"),
    # no row is for padding where it is negative, which ACLNN reads as a number without sign
    "embedding_dense_backward": Aclnn("aclnnEmbeddingDenseBackward", lambda grad, indices, rows, padding, scale, out: (
        grad, indices, rows, padding % 2**64, scale, out)),
})


def same_dtypes(*tensors: Any) -> bool:
    """Return whether all tensors that are given have one dtype, in which ACLNN makes its outputs, too."""
    return len({tensor._dtype for tensor in tensors if tensor is not None}) == 1


def rms_norm(input: Tensor, shape: Any, weight: Any, eps: float | None, out: Tensor) -> tuple[Any, ...]:
    """ACLNN needs weights, and a place for what the backward would need."""
    outer = tuple(input.shape[: input.ndim - len(shape)])
    rstd = input.new_empty((*outer, *(1,) * len(shape)), dtype=float32)
    return (input, input.new_ones(shape) if weight is None else weight,
            finfo(float32).eps if eps is None else eps, out, rstd)


ACLNN_CALLS.update({
    "rms_norm": Aclnn("aclnnRmsNorm", rms_norm, when=lambda input, shape, weight, eps: same_dtypes(input, weight)),
    "native_layer_norm": Aclnn("aclnnLayerNorm", when=lambda input, shape, weight, bias, eps:
                               same_dtypes(input, weight, bias)),
    "native_layer_norm_backward": Aclnn(
        "aclnnLayerNormBackward", when=lambda grad, input, shape, mean, rstd, weight, bias, mask:
        same_dtypes(grad, input, weight)),
    "native_group_norm": Aclnn("aclnnGroupNorm", when=lambda input, weight, bias, *rest:
                               same_dtypes(input, weight, bias)),
    "native_group_norm_backward": Aclnn("aclnnGroupNormBackward", when=lambda grad, input, mean, rstd, weight, *rest:
                                        same_dtypes(grad, input, weight)),
    # in evaluation ATen saves nothing, and ACLNN wants a place for what it would save
    "native_batch_norm": Aclnn("aclnnBatchNorm", when=lambda input, weight, bias, mean, var, training, *rest:
                               training and same_dtypes(input, weight, bias, mean, var)),
    "native_batch_norm_backward": Aclnn(
        "aclnnBatchNormBackward", when=lambda grad, input, weight, mean, var, save_mean, save_invstd, *rest:
        same_dtypes(grad, input, weight, mean, var)),
})
