"""Reductions and scans."""
from __future__ import annotations

SIGNATURES = """
aclnnReduceSum          all              tensor self, ints dims, bool keepDims, dtype dtype, out out
aclnnReduceNansum       bool|integral|reduced|float32  tensor self, ints dim, bool keepDim, dtype dtype, out out
aclnnMean               real|complex     tensor self, ints dim, bool keepDim, dtype dtype, out out
aclnnProd               all              tensor self, dtype dtype, out out
aclnnProdDim            all              tensor self, int64 dim, bool keepDim, dtype dtype, out out
aclnnVarCorrection      reduced|float32  tensor self, ints? dim, int64 correction, bool keepdim, out out
aclnnVarMean            reduced|float32  tensor self, ints? dim, int64 correction, bool keepdim, out varOut, out meanOut
aclnnStd                reduced|float32  tensor self, ints? dim, int64 correction, bool keepdim, out out
aclnnStdMeanCorrection  reduced|float32  tensor self, ints? dim, int64 correction, bool keepdim, out stdOut, out meanOut
aclnnAll                bool|real        tensor self, ints dim, bool keepdim, out:bool|uint8 out
aclnnAny                bool|real        tensor self, ints dim, bool keepdim, out:bool out
aclnnAmax               bool|real        tensor self, ints dim, bool keepDim, out out
aclnnAmin               bool|real        tensor self, ints dim, bool keepDim, out out
aclnnAminmaxDim         bool|real        tensor self, int64 dim, bool keepDim, out minOut, out maxOut
aclnnAminmaxAll         bool|real        tensor self, out minOut, out maxOut
aclnnMax                bool|real        tensor self, out out
aclnnMin                bool|real        tensor self, out out
aclnnMaxDim             bool|int64|reduced|float32  tensor self, int64 dim, bool keepdim, out out,
    out:int32|int64 indices
aclnnMinDim             bool|int64|reduced|float32  tensor self, int64 dim, bool keepdim, out out,
    out:int32|int64 indices
aclnnArgMax             real             tensor self, int64 dim, bool keepdim, out:int32|int64 out
aclnnArgMin             real             tensor self, int64 dim, bool keepdim, out:int32|int64 out
aclnnLogSumExp          bool|integral|reduced|float32  tensor self, ints dim, bool keepDim, out:reduced|float32 out
aclnnNorm               reduced|float32  tensor self, scalar pScalar, ints dim, bool keepdim, out out
aclnnLinalgVectorNorm   reduced|float32  tensor self, scalar ord, ints dims, bool keepDims, dtype dtype, out out
aclnnCumsum             real|complex     tensor self, int64 dim, dtype dtype, out out
aclnnCumprod            real             tensor input, scalar dim, dtype dtype, out out
aclnnCummax             bool|real        tensor self, int64 dim, out valuesOut, out:int32|int64 indicesOut
aclnnCummin             bool|real        tensor self, int64 dim, out valuesOut, out:int32|int64 indicesOut
aclnnMedian             integral|reduced|float32  tensor self, out valuesOut
aclnnMedianDim          integral|reduced|float32  tensor self, int64 dim, bool keepDim, out valuesOut,
    out:int64 indicesOut
aclnnNanMedian          integral|reduced|float32  tensor self, out out
aclnnNanMedianDim       integral|reduced|float32  tensor self, int64 dim, bool keepDim, out valuesOut,
    out:int64 indicesOut
"""
