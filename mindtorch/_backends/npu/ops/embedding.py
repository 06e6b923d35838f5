"""NPU rows of embeddings."""
from __future__ import annotations

from . import ACLNN_CALLS
from .row import Aclnn

ACLNN_CALLS.update({
    "embedding": Aclnn("aclnnEmbedding", lambda weight, indices, padding, scale, sparse, out: (weight, indices, out)),
    "embedding_renorm_": Aclnn("aclnnEmbeddingRenorm"),
    # no row is for padding where it is negative, which ACLNN reads as a number without sign
    "embedding_dense_backward": Aclnn("aclnnEmbeddingDenseBackward", lambda grad, indices, rows, padding, scale, out: (
        grad, indices, rows, padding % 2**64, scale, out)),
})
