"""Attention."""
from __future__ import annotations

SIGNATURES = """
aclnnFlashAttentionScore      reduced|float32  tensor query, tensor key, tensor value, tensor? realShiftOptional,
    tensor?:uint8 dropMaskOptional, tensor? paddingMaskOptional, tensor?:bool|uint8 attenMaskOptional,
    ints? prefixOptional, double scaleValue, double keepProb, int64 preTokens, int64 nextTokens, int64 headNum,
    chars inputLayout, int64 innerPrecise, int64 sparseMode, out:float32 softmaxMaxOut, out:float32 softmaxSumOut,
    out softmaxOutOut, out attentionOutOut
aclnnFlashAttentionScoreGrad  reduced|float32  tensor query, tensor keyIn, tensor value, tensor dy,
    tensor? pseShiftOptional, tensor?:uint8 dropMaskOptional, tensor? paddingMaskOptional,
    tensor?:bool|uint8 attenMaskOptional, tensor?:float32 softmaxMaxOptional, tensor?:float32 softmaxSumOptional,
    tensor? softmaxInOptional, tensor? attentionInOptional, ints? prefixOptional, double scaleValue, double keepProb,
    int64 preTokens, int64 nextTokens, int64 headNum, chars inputLayout, int64 innerPrecise, int64 sparseMode,
    out dqOut, out dkOut, out dvOut, out? dpseOut
"""
