"""Reductions and scans."""
from __future__ import annotations

ROWS = """
aclnnReduceSum          bihfdc  tensor self, ints dims, bool keepDims, dtype dtype, out out
aclnnReduceNansum       bihf    tensor self, ints dim, bool keepDim, dtype dtype, out out
aclnnMean               ihfdc   tensor self, ints dim, bool keepDim, dtype dtype, out out
aclnnProd               bihfdc  tensor self, dtype dtype, out out
aclnnProdDim            bihfdc  tensor self, int64 dim, bool keepDim, dtype dtype, out out
aclnnVar                hf      tensor self, ints? dim, bool unbiased, bool keepdim, out out
aclnnVarCorrection      hf      tensor self, ints? dim, int64 correction, bool keepdim, out out
aclnnVarMean            hf      tensor self, ints? dim, int64 correction, bool keepdim, out varOut, out meanOut
aclnnStd                hf      tensor self, ints? dim, int64 correction, bool keepdim, out out
aclnnStdMeanCorrection  hf      tensor self, ints? dim, int64 correction, bool keepdim, out stdOut, out meanOut
aclnnAll                bihfd   tensor self, ints dim, bool keepdim, out:bu out
aclnnAny                bihfd   tensor self, ints dim, bool keepdim, out:b out
aclnnAmax               bihfd   tensor self, ints dim, bool keepDim, out out
aclnnAmin               bihfd   tensor self, ints dim, bool keepDim, out out
aclnnAminmaxDim         bihfd   tensor self, int64 dim, bool keepDim, out minOut, out maxOut
aclnnMax                bihfd   tensor self, out out
aclnnMin                bihfd   tensor self, out out
aclnnMaxDim             b8hf    tensor self, int64 dim, bool keepdim, out out, out:48 indices
aclnnMinDim             b8hf    tensor self, int64 dim, bool keepdim, out out, out:48 indices
aclnnArgMax             ihfd    tensor self, int64 dim, bool keepdim, out:48 out
aclnnArgMin             ihfd    tensor self, int64 dim, bool keepdim, out:48 out
aclnnLogSumExp          bihf    tensor self, ints dim, bool keepDim, out:hf out
aclnnNorm               hf      tensor self, scalar pScalar, ints dim, bool keepdim, out out
aclnnLinalgVectorNorm   hf      tensor self, scalar ord, ints dims, bool keepDims, dtype dtype, out out
aclnnCumsum             ihfdc   tensor self, int64 dim, dtype dtype, out out
aclnnCumprod            ihfd    tensor input, scalar dim, dtype dtype, out out
aclnnCummax             bihfd   tensor self, int64 dim, out valuesOut, out:48 indicesOut
aclnnCummin             bihfd   tensor self, int64 dim, out valuesOut, out:48 indicesOut
aclnnMedian             ihf     tensor self, out valuesOut
aclnnMedianDim          ihf     tensor self, int64 dim, bool keepDim, out valuesOut, out:8 indicesOut
aclnnNanMedian          ihf     tensor self, out out
aclnnNanMedianDim       ihf     tensor self, int64 dim, bool keepDim, out valuesOut, out:8 indicesOut
"""
