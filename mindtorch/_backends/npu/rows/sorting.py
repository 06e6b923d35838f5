"""Sorting, searching, counting, and operators whose number of results depends on the data."""
from __future__ import annotations

ROWS = """
aclnnSort               bihf    tensor self, bool stable, int64 dim, bool descending, out valuesOut, out:8 indicesOut
aclnnArgsort            ihf     tensor self, int64 dim, bool descending, out:8 out
aclnnTopk               ihfd    tensor self, int64 k, int64 dim, bool largest, bool sorted, out valuesOut,
                                out:8 indicesOut
aclnnKthvalue           ihf     tensor self, int64 k, int64 dim, bool keepdim, out valuesOut, out:8 indicesOut
aclnnSearchSorted       ihfd    tensor sortedSequence, tensor self, bool outInt32, bool right, tensor?:8 sorter,
                                out:48 out
aclnnSearchSorteds      ihfd    tensor sortedSequence, scalar self, bool outInt32, bool right, tensor?:8 sorter,
                                out:48 out
aclnnUnique2            bihfd   tensor self, bool sorted, bool returnInverse, bool returnCounts, out valueOut,
                                out:8 inverseOut, out:8 countsOut
aclnnUniqueConsecutive  bihfdc  tensor self, bool returnInverse, bool returnCounts, int64 dim, out valueOut,
                                out:48 inverseOut, out:48 countsOut
aclnnIsInTensorScalar   bihfdc  tensor element, scalar testElement, bool assumeUnique, bool invert, out:b out
aclnnIsInScalarTensor   bihfdc  scalar element, tensor testElements, bool assumeUnique, bool invert, out:b out
aclnnHistc              iHf     tensor self, int64 bins, scalar min, scalar max, out out
aclnnNonzero            bihfd   tensor self, out:8 out
aclnnMaskedSelect       bihfd   tensor self, tensor:b mask, out out
"""
