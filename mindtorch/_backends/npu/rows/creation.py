"""Copies, conversion, filling, sequences and random numbers."""
from __future__ import annotations

ROWS = """
aclnnInplaceCopy             bihfdc   out selfRef, tensor src
aclnnCast                    bihfdc   tensor self, dtype dtype, out out
aclnnInplaceZero             bihfdc   out selfRef
aclnnInplaceOne              bihfd    out selfRef
aclnnInplaceFillScalar       bihfdc   out selfRef, scalar value
aclnnInplaceFillTensor       bihf     out selfRef, tensor value
aclnnArange                  48hfd    scalar start, scalar end, scalar step, out out
aclnnLinspace                u124hfd  scalar start, scalar end, int64 steps, out out
aclnnEye                     bihf     int64 n, int64 m, out out
aclnnInplaceNormal           hfd      out selfRef, float mean, float std, int64 seed, int64 offset
aclnnInplaceUniform          ihfd     out selfRef, double from, double to, uint64 seed, uint64 offset
aclnnInplaceRandom           bihfdc   out selfRef, int64 from, int64 to, int64 seed, int64 offset
aclnnInplaceBernoulli        bihfd    out selfRef, scalar prob, int64 seed, int64 offset
aclnnInplaceBernoulliTensor  bihfd    out selfRef, tensor:hfd prob, int64 seed, int64 offset
aclnnBernoulli               bihfd    tensor self, scalar prob, int64 seed, int64 offset, out out
aclnnBernoulliTensor         bihfd    tensor self, tensor:hfd prob, int64 seed, int64 offset, out out
aclnnNormalTensorTensor      hfd      tensor mean, tensor std, int64 seed, int64 offset, out out
aclnnNormalTensorFloat       hfd      tensor mean, float std, int64 seed, int64 offset, out out
aclnnNormalFloatTensor       hfd      float mean, tensor std, int64 seed, int64 offset, out out
aclnnNormalFloatFloat        hfd      float mean, float std, int64 seed, int64 offset, out out
aclnnRandperm                ihfd     int64 n, int64 seed, int64 offset, out out
aclnnMultinomial             hfd      tensor self, int64 numsamples, bool replacement, int64 seed, int64 offset,
                                      out:8 out
aclnnDropoutGenMask          u        ints shape, double prob, int64 seed, int64 offset, out out
aclnnDropoutDoMask           hf       tensor self, tensor:u mask, double prob, out out
"""
