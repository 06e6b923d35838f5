"""Indexing, gathering, scattering and embeddings."""
from __future__ import annotations

ROWS = """
aclnnIndex                   bihfd   tensor self, tensors:b48 indices, out out
aclnnIndexPutImpl            bihfd   ref selfRef, tensors:b48 indices, tensor values, bool accumulate, bool unsafe
aclnnIndexSelect             bihfdc  tensor self, int64 dim, tensor:48 index, out out
aclnnIndexAdd                bihfd   tensor self, int64 dim, tensor:48 index, tensor source, scalar alpha, out out
aclnnIndexFillTensor         b48hf   tensor self, int64 dim, ints index, scalar value, out out
aclnnInplaceIndexCopy        bihfdc  ref selfRef, int64 dim, tensor:48 index, tensor source
aclnnGather                  bihfd   tensor self, int64 dim, tensor:48 index, out out
aclnnScatter                 bihfdc  tensor self, int64 dim, tensor:48 index, tensor src, int64 reduce, out out
aclnnScatterAdd              bihfdc  tensor self, int64 dim, tensor:48 index, tensor src, out out
aclnnScatterValue            bihfdc  tensor self, int64 dim, tensor:48 index, scalar value, int64 reduce, out out
aclnnInplaceScatter          bihfdc  ref selfRef, int64 dim, tensor:48 index, tensor src, int64 reduce
aclnnInplaceScatterValue     bihfdc  ref selfRef, int64 dim, tensor:48 index, scalar value, int64 reduce
aclnnTake                    bihfdc  tensor self, tensor:48 index, out out
aclnnInplacePut              bihfdc  ref selfRef, tensor:48 index, tensor source, bool accumulate
aclnnInplaceMaskedScatter    bihfd   ref selfRef, tensor:b mask, tensor source
aclnnEmbedding               bihfdc  tensor weight, tensor:48 indices, out out
aclnnEmbeddingDenseBackward  hf      tensor grad, tensor:48 indices, uint64 numWeights, uint64 paddingIdx,
                                     bool scaleGradByFreq, out out
aclnnEmbeddingRenorm         hf      ref selfRef, tensor:48 indices, double maxNorm, double normType
aclnnOneHot                  48      tensor self, int numClasses, tensor:48Hf onValue, tensor:48Hf offValue, int64 axis,
                                     out:48Hf out
"""
