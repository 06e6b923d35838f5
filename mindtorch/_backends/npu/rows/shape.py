"""Concatenation, splitting, repetition, reordering, diagonals and padding."""
from __future__ import annotations

ROWS = """
aclnnCat                         bihfdC  tensors tensors, int64 dim, out out
aclnnStack                       bihfdc  tensors tensors, int64 dim, out out
aclnnSplitTensor                 bihfdc  tensor self, uint64 splitSections, int64 dim, outs out
aclnnSplitWithSize               bihfdc  tensor self, ints splitSize, int64 dim, outs out
aclnnRepeat                      bihfdc  tensor self, ints repeats, out out
aclnnRepeatInterleave            bihf    tensor self, tensor:48 repeats, int64 outputSize, out out
aclnnRepeatInterleaveWithDim     bihf    tensor self, tensor:48 repeats, int64 dim, int64 outputSize, out out
aclnnRepeatInterleaveInt         bihf    tensor self, int64 repeats, int64 outputSize, out out
aclnnRepeatInterleaveIntWithDim  bihf    tensor self, int64 repeats, int64 dim, int64 outputSize, out out
aclnnRepeatInterleaveTensor      48      tensor repeats, int64 outputSize, out out
aclnnFlip                        bihfc   tensor self, ints dims, out out
aclnnRoll                        bihf    tensor x, ints shifts, ints dims, out out
aclnnTril                        bihfdC  tensor self, int64 diagonal, out out
aclnnTriu                        bihfdC  tensor self, int64 diagonal, out out
aclnnDiag                        bihfdC  tensor self, int64 diagonal, out out
aclnnDiagFlat                    bihfdC  tensor self, int64 diagonal, out out
aclnnConstantPadNd               bihfdc  tensor self, ints pad, scalar value, out out
aclnnReflectionPad1d             bihfdc  tensor self, ints padding, out out
aclnnReflectionPad1dBackward     hfdc    tensor gradOutput, tensor self, ints padding, out gradInput
aclnnReflectionPad2d             bihfdc  tensor self, ints padding, out out
aclnnReflectionPad2dBackward     hfdc    tensor gradOutput, tensor self, ints padding, out gradInput
aclnnReflectionPad3d             bihfdc  tensor self, ints padding, out out
aclnnReflectionPad3dBackward     hfdc    tensor gradOutput, tensor self, ints padding, out gradInput
aclnnReplicationPad1d            ihfdc   tensor self, ints padding, out out
aclnnReplicationPad1dBackward    hfdc    tensor gradOutput, tensor self, ints padding, out gradInput
aclnnReplicationPad2d            ihfdc   tensor self, ints padding, out out
aclnnReplicationPad2dBackward    hfdc    tensor gradOutput, tensor self, ints padding, out gradInput
aclnnReplicationPad3d            ihfdc   tensor self, ints padding, out out
aclnnReplicationPad3dBackward    hfdc    tensor gradOutput, tensor self, ints padding, out gradInput
"""
