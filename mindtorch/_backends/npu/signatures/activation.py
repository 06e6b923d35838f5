"""Activations, softmax and their backward."""
from __future__ import annotations

SIGNATURES = """
aclnnRelu                 int8|int32|int64|reduced|float32  tensor self, out out
aclnnElu                  reduced|float32   tensor self, scalar alpha, scalar scale, scalar inputScale, out out
aclnnEluBackward          reduced|float32   tensor gradOutput, scalar alpha, scalar scale, scalar inputScale,
    bool isResult, tensor selfOrResult, out gradInput
aclnnSelu                 int8|int32|reduced|float32  tensor self, out out
aclnnSeluBackward         int8|int32|reduced|float32  tensor gradOutput, tensor result, out gradInput
aclnnCelu                 reduced|float32   tensor self, scalar alpha, out out
aclnnGelu                 reduced|float32   tensor self, out out
aclnnGeluBackward         reduced|float32   tensor gradOutput, tensor self, out gradInput
aclnnGeluV2               reduced|float32   tensor x, int64 approximate, out y
aclnnGeluBackwardV2       reduced|float32   tensor gradOutput, tensor self, chars approximate, out gradInput
aclnnSilu                 reduced|float32   tensor self, out out
aclnnSiluBackward         reduced|float32   tensor gradOutput, tensor self, out gradInput
aclnnMish                 reduced|float32   tensor self, out out
aclnnMishBackward         reduced|float32   tensor gradOutput, tensor self, out gradInput
aclnnHardtanh             real              tensor self, scalar clipValueMin, scalar clipValueMax, out out
aclnnHardtanhBackward     reduced|float32   tensor gradOutput, tensor self, scalar min, scalar max, out out
aclnnHardsigmoid          int32|reduced|float32  tensor self, out out
aclnnHardsigmoidBackward  reduced|float32   tensor gradOutput, tensor self, out out
aclnnHardswish            reduced|float32   tensor self, out out
aclnnHardswishBackward    reduced|float32   tensor gradOutput, tensor self, out out
aclnnLeakyRelu            reduced|float32   tensor self, scalar negativeSlope, out out
aclnnLeakyReluBackward    reduced|floating  tensor gradOutput, tensor self, scalar negativeSlope, bool selfIsResult,
    out out
aclnnSoftplus             reduced|float32   tensor self, scalar beta, scalar threshold, out out
aclnnSoftplusBackward     reduced|floating  tensor gradOutput, tensor self, scalar beta, scalar threshold, out gradInput
aclnnSoftshrink           reduced|float32   tensor self, scalar lambd, out out
aclnnSoftshrinkBackward   reduced|float32   tensor gradOutput, tensor self, scalar lambda, out gradInput
aclnnHardshrink           reduced|float32   tensor self, scalar lambd, out out
aclnnHardshrinkBackward   reduced|float32   tensor gradOutput, tensor self, scalar lambd, out gradInput
aclnnThreshold            integral|reduced|float32  tensor self, scalar threshold, scalar value, out out
aclnnThresholdBackward    uint8|int8|int32|int64|reduced|float32  tensor gradOutput, tensor self, scalar threshold,
    out out
aclnnLogSigmoidForward    reduced|float32   tensor self, out out, out buffer
aclnnLogSigmoidBackward   reduced|float32   tensor gradOutput, tensor self, tensor buffer, out gradInput
aclnnGlu                  reduced|floating  tensor self, int64 dim, out out
aclnnGluBackward          reduced|floating  tensor gradOut, tensor self, int64 dim, out out
aclnnPrelu                reduced|float32   tensor self, tensor weight, out out
aclnnPreluBackward        reduced|float32   tensor gradOutput, tensor self, tensor weight, out gradInput, out gradWeight
aclnnSoftmax              reduced|floating  tensor self, int64 dim, out out
aclnnSoftmaxBackward      reduced|float32   tensor gradOutput, tensor output, int64 dim, out out
aclnnLogSoftmax           reduced|floating  tensor self, int64 dim, out out
aclnnLogSoftmaxBackward   reduced|float32   tensor gradOutput, tensor output, int64 dim, out out
"""
