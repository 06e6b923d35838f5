"""Products of matrices and vectors, norms of slices, distances."""
from __future__ import annotations

ROWS = """
aclnnMm            hf      tensor self, tensor mat2, out out, int8 cubeMathType
aclnnMatmul        hf      tensor self, tensor mat2, out out, int8 cubeMathType
aclnnBatchMatMul   hf      tensor self, tensor mat2, out out, int8 cubeMathType
aclnnAddmm         hf      tensor self, tensor mat1, tensor mat2, scalar beta, scalar alpha, out out, int8 cubeMathType
aclnnBaddbmm       hf      tensor self, tensor batch1, tensor batch2, scalar beta, scalar alpha, out out,
                           int8 cubeMathType
aclnnAddbmm        hf      tensor self, tensor batch1, tensor batch2, scalar beta, scalar alpha, out out,
                           int8 cubeMathType
aclnnAddmv         bihfd   tensor self, tensor mat, tensor vec, scalar alpha, scalar beta, out:ihfd out,
                           int8 cubeMathType
aclnnAddr          bihfd   tensor self, tensor vec1, tensor vec2, scalar? betaOptional, scalar? alphaOptional, out out
aclnnDot           u14hf   tensor self, tensor tensor, out out
aclnnMv            hf      tensor self, tensor vec, out out, int8 cubeMathType
aclnnLinalgCross   ihfc    tensor self, tensor other, int64 dim, out out
aclnnTrace         bihfdc  tensor self, out:8hfdc out
aclnnPdistForward  hf      tensor self, scalar pScalar, out out
aclnnRenorm        hf      tensor self, scalar p, int64 dim, scalar maxNorm, out out
"""
