"""Sorting, searching, counting, and operators whose number of results depends on the data."""
from __future__ import annotations

SIGNATURES = """
aclnnSort               bool|integral|reduced|float32  tensor self, bool stable, int64 dim, bool descending,
    out valuesOut, out:int64 indicesOut
aclnnArgsort            integral|reduced|float32  tensor self, int64 dim, bool descending, out:int64 out
aclnnTopk               real       tensor self, int64 k, int64 dim, bool largest, bool sorted, out valuesOut,
    out:int64 indicesOut
aclnnKthvalue           integral|reduced|float32  tensor self, int64 k, int64 dim, bool keepdim, out valuesOut,
    out:int64 indicesOut
aclnnSearchSorted       integral|float16|floating  tensor sortedSequence, tensor self, bool outInt32, bool right,
    tensor?:int64 sorter, out:int32|int64 out
aclnnSearchSorteds      integral|float16|floating  tensor sortedSequence, scalar self, bool outInt32, bool right,
    tensor?:int64 sorter, out:int32|int64 out
aclnnUnique2            bool|real  tensor self, bool sorted, bool returnInverse, bool returnCounts, out valueOut,
    out:int64 inverseOut, out:int64 countsOut
aclnnUniqueConsecutive  all        tensor self, bool returnInverse, bool returnCounts, int64 dim, out valueOut,
    out:int32|int64 inverseOut, out:int32|int64 countsOut
aclnnIsInTensorScalar   all        tensor element, scalar testElement, bool assumeUnique, bool invert, out:bool out
aclnnIsInScalarTensor   all        scalar element, tensor testElements, bool assumeUnique, bool invert, out:bool out
aclnnHistc              integral|float16|float32  tensor self, int64 bins, scalar min, scalar max, out out
aclnnNonzero            bool|real  tensor self, out:int64 out
aclnnMaskedSelect       bool|real  tensor self, tensor:bool mask, out out
"""
