"""Products of matrices and vectors, norms of slices, distances."""
from __future__ import annotations

SIGNATURES = """
aclnnMm            reduced|float32  tensor self, tensor mat2, out out, int8 cubeMathType
aclnnMatmul        reduced|float32  tensor self, tensor mat2, out out, int8 cubeMathType
aclnnBatchMatMul   reduced|float32  tensor self, tensor mat2, out out, int8 cubeMathType
aclnnAddmm         reduced|float32  tensor self, tensor mat1, tensor mat2, scalar beta, scalar alpha, out out,
    int8 cubeMathType
aclnnBaddbmm       reduced|float32  tensor self, tensor batch1, tensor batch2, scalar beta, scalar alpha, out out,
    int8 cubeMathType
aclnnAddbmm        reduced|float32  tensor self, tensor batch1, tensor batch2, scalar beta, scalar alpha, out out,
    int8 cubeMathType
aclnnAddmv         bool|real        tensor self, tensor mat, tensor vec, scalar alpha, scalar beta, out:real out,
    int8 cubeMathType
aclnnAddr          bool|real        tensor self, tensor vec1, tensor vec2, scalar? betaOptional, scalar? alphaOptional,
    out out
aclnnDot           uint8|int8|int32|reduced|float32  tensor self, tensor tensor, out out
aclnnMv            reduced|float32  tensor self, tensor vec, out out, int8 cubeMathType
aclnnLinalgCross   integral|reduced|float32|complex  tensor self, tensor other, int64 dim, out out
aclnnTrace         all              tensor self, out:int64|reduced|floating|complex out
aclnnPdistForward  reduced|float32  tensor self, scalar pScalar, out out
aclnnRenorm        reduced|float32  tensor self, scalar p, int64 dim, scalar maxNorm, out out
"""
