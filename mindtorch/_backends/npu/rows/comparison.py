"""Comparison, logic, bits, limits, choice by a mask, tests of floating point numbers."""
from __future__ import annotations

ROWS = """
aclnnEqTensor                 bihfdc  tensor self, tensor other, out out
aclnnEqScalar                 bihfdc  tensor self, scalar other, out out
aclnnNeTensor                 bihfdc  tensor self, tensor other, out out
aclnnNeScalar                 bihfdc  tensor self, scalar other, out out
aclnnLtTensor                 bihfd   tensor self, tensor other, out:bihfdc out
aclnnLtScalar                 bihfd   tensor self, scalar other, out:bihfdc out
aclnnLeTensor                 bihfd   tensor self, tensor other, out:bihfdc out
aclnnLeScalar                 bihfd   tensor self, scalar other, out:bihfdc out
aclnnGtTensor                 bihfd   tensor self, tensor other, out:bihfdc out
aclnnGtScalar                 bihfd   tensor self, scalar other, out:bihfdc out
aclnnGeTensor                 bihfd   tensor self, tensor other, out:bihfdc out
aclnnGeScalar                 bihfd   tensor self, scalar other, out:bihfdc out
aclnnLogicalAnd               bihfdc  tensor self, tensor other, out out
aclnnLogicalOr                bihfdc  tensor self, tensor other, out out
aclnnLogicalXor               bihfdc  tensor self, tensor other, out out
aclnnLogicalNot               bihfd   tensor self, out out
aclnnBitwiseAndTensor         bi      tensor self, tensor other, out out
aclnnBitwiseAndScalar         bi      tensor self, scalar other, out out
aclnnBitwiseOrTensor          bi      tensor self, tensor other, out out
aclnnBitwiseOrScalar          bi      tensor self, scalar other, out out
aclnnBitwiseXorTensor         bi      tensor self, tensor other, out out
aclnnBitwiseXorScalar         bi      tensor self, scalar other, out out
aclnnBitwiseNot               bi      tensor self, out out
aclnnMaximum                  bihfd   tensor self, tensor other, out out
aclnnMinimum                  bihfd   tensor self, tensor other, out out
aclnnClamp                    bihf    tensor self, scalar? clipValueMin, scalar? clipValueMax, out out
aclnnClampTensor              ihfd    tensor self, tensor?:bihfd clipValueMin, tensor?:bihfd clipValueMax, out out
aclnnClampMin                 ihfd    tensor self, scalar clipValueMin, out out
aclnnClampMinTensor           ihfd    tensor self, tensor:bihfd clipValueMin, out out
aclnnClampMax                 ihfd    tensor self, scalar clipValueMax, out out
aclnnClampMaxTensor           ihfd    tensor self, tensor:bihfd max, out out
aclnnSWhere                   bihfdc  tensor:b condition, tensor self, tensor other, out out
aclnnInplaceMaskedFillScalar  b148hf  ref selfRef, tensor:b mask, scalar value
aclnnInplaceMaskedFillTensor  b148hf  ref selfRef, tensor:b mask, tensor value
aclnnIsFinite                 hfd     tensor self, out:b out
aclnnIsInf                    bihfd   tensor x, out:b out
aclnnIsPosInf                 hfd     tensor self, out:b out
aclnnIsNegInf                 hfd     tensor self, out:b out
aclnnIsClose                  bihfd   tensor self, tensor other, double rtol, double atol, bool equal_nan, out:b out
aclnnEqual                    bihfd   tensor self, tensor other, out:b out
"""
