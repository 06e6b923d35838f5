"""Convolution, pooling, and other sizes of images and volumes."""
from __future__ import annotations

SIGNATURES = """
aclnnConvolution             reduced|float32  tensor input, tensor weight, tensor? bias, ints stride, ints padding,
    ints dilation, bool transposed, ints outputPadding, int64 groups, out output, int8 cubeMathType
aclnnConvolutionBackward     reduced|float32  tensor gradOutput, tensor input, tensor weight, ints? biasSizes,
    ints stride, ints padding, ints dilation, bool transposed, ints outputPadding, int groups, bools outputMask,
    int8 cubeMathType, out? gradInput, out? gradWeight, out? gradBias
aclnnAvgPool2d               reduced|float32  tensor self, ints kernelSize, ints strides, ints paddings, bool ceilMode,
    bool countIncludePad, int64 divisorOverride, int8 cubeMathType, out out
aclnnAvgPool2dBackward       reduced|float32  tensor gradOutput, tensor self, ints kernelSize, ints stride,
    ints padding, bool ceilMode, bool countIncludePad, int64 divisorOverride, int8 cubeMathType, out gradInput
aclnnAvgPool3d               reduced|float32  tensor self, ints kernelSize, ints stride, ints padding, bool ceilMode,
    bool countIncludePad, int64 divisorOverride, out out
aclnnAvgPool3dBackward       reduced|float32  tensor gradOuput, tensor self, ints kernelSize, ints stride, ints padding,
    bool ceilMode, bool countIncludePad, int64 divisorOverride, out output
aclnnMaxPool2dWithIndices    float32          tensor self, ints kernelSize, ints stride, ints padding, ints dilation,
    bool ceilMode, out out, out:int32 indices
aclnnMaxPool2dWithIndicesBackward  float32    tensor gradOutput, tensor self, tensor:int32 indices,
    ints kernelSize, ints stride, ints padding, ints dilation, bool ceilMode, out gradInput
aclnnMaxPool2dWithMask       reduced|float32  tensor self, ints kernelSize, ints stride, ints padding, ints dilation,
    bool ceilMode, out out, out:int8 indices
aclnnMaxPool3dWithArgmax     reduced|float32  tensor self, ints kernelSize, ints stride, ints padding, ints dilation,
    bool ceilMode, out out, out:int32 indices
aclnnMaxPool3dWithArgmaxBackward  reduced|float32  tensor gradOutput, tensor self, tensor:int32 indices,
    ints kernelSize, ints stride, ints padding, ints dilation, bool ceilMode, out gradInput
aclnnAdaptiveAvgPool2d       reduced|float32  tensor self, ints outputSize, out out
aclnnAdaptiveAvgPool2dBackward  reduced|float32  tensor gradOutput, tensor self, out out
aclnnAdaptiveAvgPool3d       reduced|float32  tensor self, ints outputSize, out out
aclnnAdaptiveAvgPool3dBackward  reduced|float32  tensor gradOutput, tensor self, out out
aclnnAdaptiveMaxPool2d       reduced|floating  tensor self, ints outputSize, out outputOut, out:int64 indicesOut
aclnnAdaptiveMaxPool3d       reduced|float32  tensor self, ints outputSize, out outputOut, out:int32 indicesOut
aclnnAdaptiveMaxPool3dBackward  reduced|float32  tensor gradOutput, tensor self, tensor:int32 indices, out gradInput
aclnnUpsampleNearest1dV2     uint8|reduced|floating  tensor self, ints outputSize, float scaleL, out out
aclnnUpsampleNearest2dV2     uint8|reduced|floating  tensor self, ints outputSize, float scalesH, float scalesW, out out
aclnnUpsampleNearest3d       reduced|floating  tensor self, ints outputSize, double scalesD, double scalesH,
    double scalesW, out out
aclnnUpsampleNearest1dBackward  reduced|floating  tensor gradOut, ints outputSize, ints inputSize, double scales,
    out out
aclnnUpsampleNearest2dBackward  reduced|float32  tensor gradOut, ints outputSize, ints inputSize, double scalesH,
    double scalesW, out gradInput
aclnnUpsampleNearest3dBackward  reduced|floating  tensor gradOut, ints outputSize, ints inputSize, double scalesD,
    double scalesH, double scalesW, out gradInput
aclnnUpsampleNearestExact1d  reduced|float32  tensor self, ints outputSize, double scales, out out
aclnnUpsampleNearestExact2d  reduced|float32  tensor self, ints outputSize, double scalesH, double scalesW, out out
aclnnUpsampleNearestExact3d  reduced|float32  tensor self, ints outputSize, double scalesD, double scalesH,
    double scalesW, out out
aclnnUpsampleNearestExact1dBackward  reduced|float32  tensor gradOutput, ints outputSize, ints inputSize, double scales,
    out out
aclnnUpsampleNearestExact2dBackward  reduced|float32  tensor gradOutput, ints outputSize, ints inputSize,
    double scalesH, double scalesW, out out
aclnnUpsampleNearestExact3dBackward  reduced|float32  tensor gradOut, ints outputSize, ints inputSize, double scalesD,
    double scalesH, double scalesW, out gradInput
aclnnUpsampleLinear1d        reduced|float32  tensor self, ints outputSize, bool alignCorners, double scales, out out
aclnnUpsampleLinear1dBackward  float16|float32  tensor gradOut, ints outputSize, ints inputSize, bool alignCorners,
    double scales, out out
aclnnUpsampleBilinear2d      reduced|float32  tensor self, ints outputSize, bool alignCorners, double scalesH,
    double scalesW, out out
aclnnUpsampleBilinear2dBackwardV2  reduced|float32  tensor gradOut, ints outputSize, ints inputSize, bool alignCorners,
    double scalesH, double scalesW, out out
aclnnUpsampleTrilinear3d     reduced|float32  tensor self, ints outputSize, bool alignCorners, double scalesD,
    double scalesH, double scalesW, out out
aclnnUpsampleTrilinear3dBackward  reduced|float32  tensor gradOut, ints outputSize, ints inputSize, bool alignCorners,
    double scalesD, double scalesH, double scalesW, out gradInput
aclnnUpsampleBicubic2d       reduced|float32  tensor self, ints outputSize, bool alignCorners, double scalesH,
    double scalesW, out out
aclnnUpsampleBicubic2dBackward  reduced|float32  tensor gradOut, ints outputSize, ints inputSize, bool alignCorners,
    double scalesH, double scalesW, out gradInput
aclnnUpsampleBilinear2dAA    reduced|float32  tensor input, ints outputSize, bool alignCorners, double scalesH,
    double scalesW, out out
aclnnUpsampleBilinear2dAABackward  reduced|float32  tensor gradOutput, ints outputSize, ints inputSize,
    bool alignCorners, double scalesH, double scalesW, out out
aclnnUpsampleBicubic2dAA     reduced|float32  tensor x, ints outputSize, bool alignCorners, double scalesH,
    double scalesW, out out
aclnnUpsampleBicubic2dAAGrad  reduced|float32  tensor gradOutput, ints outputSize, ints inputSize, bool alignCorners,
    double scalesH, double scalesW, out out
"""
