"""Indexing, gathering, scattering and embeddings."""
from __future__ import annotations

SIGNATURES = """
aclnnIndex                   bool|real        tensor self, tensors:bool|int32|int64 indices, out out
aclnnIndexPutImpl            bool|real        ref selfRef, tensors:bool|int32|int64 indices, tensor values,
    bool accumulate, bool unsafe
aclnnIndexSelect             all              tensor self, int64 dim, tensor:int32|int64 index, out out
aclnnIndexAdd                bool|real        tensor self, int64 dim, tensor:int32|int64 index, tensor source,
    scalar alpha, out out
aclnnIndexFillTensor         bool|int32|int64|reduced|float32  tensor self, int64 dim, ints index, scalar value, out out
aclnnInplaceIndexFillTensor  bool|int32|int64|reduced|float32  ref selfRef, int64 dim, ints index, scalar value
aclnnInplaceIndexCopy        all              ref selfRef, int64 dim, tensor:int32|int64 index, tensor source
aclnnGather                  bool|real        tensor self, int64 dim, tensor:int32|int64 index, out out
aclnnScatter                 all              tensor self, int64 dim, tensor:int32|int64 index, tensor src,
    int64 reduce, out out
aclnnScatterAdd              all              tensor self, int64 dim, tensor:int32|int64 index, tensor src, out out
aclnnScatterValue            all              tensor self, int64 dim, tensor:int32|int64 index, scalar value,
    int64 reduce, out out
aclnnInplaceScatter          all              ref selfRef, int64 dim, tensor:int32|int64 index, tensor src, int64 reduce
aclnnInplaceScatterValue     all              ref selfRef, int64 dim, tensor:int32|int64 index, scalar value,
    int64 reduce
aclnnTake                    all              tensor self, tensor:int32|int64 index, out out
aclnnInplacePut              all              ref selfRef, tensor:int32|int64 index, tensor source, bool accumulate
aclnnInplaceMaskedScatter    bool|real        ref selfRef, tensor:bool mask, tensor source
aclnnEmbedding               all              tensor weight, tensor:int32|int64 indices, out out
aclnnEmbeddingDenseBackward  reduced|float32  tensor grad, tensor:int32|int64 indices, uint64 numWeights,
    uint64 paddingIdx, bool scaleGradByFreq, out out
aclnnEmbeddingRenorm         reduced|float32  ref selfRef, tensor:int32|int64 indices, double maxNorm, double normType
aclnnOneHot                  int32|int64      tensor self, int numClasses, tensor:int32|int64|float16|float32 onValue,
    tensor:int32|int64|float16|float32 offValue, int64 axis, out:int32|int64|float16|float32 out
"""
