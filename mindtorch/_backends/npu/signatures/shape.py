"""Concatenation, splitting, repetition, reordering, diagonals and padding."""
from __future__ import annotations

SIGNATURES = """
aclnnCat                     bool|real|complex64  tensors tensors, int64 dim, out out
aclnnStack                   all           tensors tensors, int64 dim, out out
aclnnSplitTensor             all           tensor self, uint64 splitSections, int64 dim, outs out
aclnnSplitWithSize           all           tensor self, ints splitSize, int64 dim, outs out
aclnnRepeat                  all           tensor self, ints repeats, out out
aclnnRepeatInterleave        bool|integral|reduced|float32  tensor self, tensor:int32|int64 repeats, int64 outputSize,
    out out
aclnnRepeatInterleaveWithDim  bool|integral|reduced|float32  tensor self, tensor:int32|int64 repeats, int64 dim,
    int64 outputSize, out out
aclnnRepeatInterleaveTensor  int32|int64   tensor repeats, int64 outputSize, out out
aclnnFlip                    bool|integral|reduced|float32|complex  tensor self, ints dims, out out
aclnnRoll                    bool|integral|reduced|float32  tensor x, ints shifts, ints dims, out out
aclnnTril                    bool|real|complex64  tensor self, int64 diagonal, out out
aclnnTriu                    bool|real|complex64  tensor self, int64 diagonal, out out
aclnnInplaceTril             bool|real|complex64  ref selfRef, int64 diagonal
aclnnInplaceTriu             bool|real|complex64  ref selfRef, int64 diagonal
aclnnDiag                    bool|real|complex64  tensor self, int64 diagonal, out out
aclnnDiagFlat                bool|real|complex64  tensor self, int64 diagonal, out out
aclnnConstantPadNd           all           tensor self, ints pad, scalar value, out out
aclnnReflectionPad1d         all           tensor self, ints padding, out out
aclnnReflectionPad1dBackward  reduced|floating|complex  tensor gradOutput, tensor self, ints padding, out gradInput
aclnnReflectionPad2d         all           tensor self, ints padding, out out
aclnnReflectionPad2dBackward  reduced|floating|complex  tensor gradOutput, tensor self, ints padding, out gradInput
aclnnReflectionPad3d         all           tensor self, ints padding, out out
aclnnReflectionPad3dBackward  reduced|floating|complex  tensor gradOutput, tensor self, ints padding, out gradInput
aclnnReplicationPad1d        real|complex  tensor self, ints padding, out out
aclnnReplicationPad1dBackward  reduced|floating|complex  tensor gradOutput, tensor self, ints padding, out gradInput
aclnnReplicationPad2d        real|complex  tensor self, ints padding, out out
aclnnReplicationPad2dBackward  reduced|floating|complex  tensor gradOutput, tensor self, ints padding, out gradInput
aclnnReplicationPad3d        real|complex  tensor self, ints padding, out out
aclnnReplicationPad3dBackward  reduced|floating|complex  tensor gradOutput, tensor self, ints padding, out gradInput
"""
