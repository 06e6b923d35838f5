"""Copies, conversion, filling, sequences and random numbers."""
from __future__ import annotations

SIGNATURES = """
aclnnInplaceCopy             all               out selfRef, tensor src
aclnnCast                    all               tensor self, dtype dtype, out out
aclnnInplaceZero             all               out selfRef
aclnnInplaceOne              bool|real         out selfRef
aclnnInplaceFillScalar       all               out selfRef, scalar value
aclnnInplaceFillTensor       bool|integral|reduced|float32  out selfRef, tensor value
aclnnArange                  int32|int64|reduced|floating  scalar start, scalar end, scalar step, out out
aclnnLinspace                uint8|int8|int16|int32|reduced|floating  scalar start, scalar end, int64 steps, out out
aclnnEye                     bool|integral|reduced|float32  int64 n, int64 m, out out
aclnnInplaceNormal           reduced|floating  out selfRef, float mean, float std, int64 seed, int64 offset
aclnnInplaceUniform          real              out selfRef, double from, double to, uint64 seed, uint64 offset
aclnnInplaceRandom           all               out selfRef, int64 from, int64 to, int64 seed, int64 offset
aclnnInplaceBernoulli        bool|real         out selfRef, scalar prob, int64 seed, int64 offset
aclnnInplaceBernoulliTensor  bool|real         out selfRef, tensor:reduced|floating prob, int64 seed, int64 offset
aclnnBernoulli               bool|real         tensor self, scalar prob, int64 seed, int64 offset, out out
aclnnBernoulliTensor         bool|real         tensor self, tensor:reduced|floating prob, int64 seed, int64 offset,
    out out
aclnnNormalTensorTensor      reduced|floating  tensor mean, tensor std, int64 seed, int64 offset, out out
aclnnNormalTensorFloat       reduced|floating  tensor mean, float std, int64 seed, int64 offset, out out
aclnnNormalFloatTensor       reduced|floating  float mean, tensor std, int64 seed, int64 offset, out out
aclnnNormalFloatFloat        reduced|floating  float mean, float std, int64 seed, int64 offset, out out
aclnnRandperm                real              int64 n, int64 seed, int64 offset, out out
aclnnMultinomial             reduced|floating  tensor self, int64 numsamples, bool replacement, int64 seed,
    int64 offset, out:int64 out
aclnnDropoutGenMask          uint8             ints shape, double prob, int64 seed, int64 offset, out out
aclnnDropoutDoMask           reduced|float32   tensor self, tensor:uint8 mask, double prob, out out
"""
