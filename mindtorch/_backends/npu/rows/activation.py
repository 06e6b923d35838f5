"""Activations, softmax and their backward."""
from __future__ import annotations

ROWS = """
aclnnRelu                 148hf   tensor self, out out
aclnnElu                  hf      tensor self, scalar alpha, scalar scale, scalar inputScale, out out
aclnnEluBackward          hf      tensor gradOutput, scalar alpha, scalar scale, scalar inputScale, bool isResult,
                                  tensor selfOrResult, out gradInput
aclnnSelu                 14hf    tensor self, out out
aclnnSeluBackward         14hf    tensor gradOutput, tensor result, out gradInput
aclnnCelu                 hf      tensor self, scalar alpha, out out
aclnnGelu                 hf      tensor self, out out
aclnnGeluBackward         hf      tensor gradOutput, tensor self, out gradInput
aclnnGeluV2               hf      tensor x, int64 approximate, out y
aclnnGeluBackwardV2       hf      tensor gradOutput, tensor self, chars approximate, out gradInput
aclnnSilu                 hf      tensor self, out out
aclnnSiluBackward         hf      tensor gradOutput, tensor self, out gradInput
aclnnMish                 hf      tensor self, out out
aclnnMishBackward         hf      tensor gradOutput, tensor self, out gradInput
aclnnHardtanh             ihfd    tensor self, scalar clipValueMin, scalar clipValueMax, out out
aclnnHardtanhBackward     hf      tensor gradOutput, tensor self, scalar min, scalar max, out out
aclnnHardsigmoid          4hf     tensor self, out out
aclnnHardsigmoidBackward  hf      tensor gradOutput, tensor self, out out
aclnnHardswish            hf      tensor self, out out
aclnnHardswishBackward    hf      tensor gradOutput, tensor self, out out
aclnnLeakyRelu            hf      tensor self, scalar negativeSlope, out out
aclnnLeakyReluBackward    hfd     tensor gradOutput, tensor self, scalar negativeSlope, bool selfIsResult, out out
aclnnSoftplus             hf      tensor self, scalar beta, scalar threshold, out out
aclnnSoftplusBackward     hfd     tensor gradOutput, tensor self, scalar beta, scalar threshold, out gradInput
aclnnSoftshrink           hf      tensor self, scalar lambd, out out
aclnnSoftshrinkBackward   hf      tensor gradOutput, tensor self, scalar lambda, out gradInput
aclnnHardshrink           hf      tensor self, scalar lambd, out out
aclnnHardshrinkBackward   hf      tensor gradOutput, tensor self, scalar lambd, out gradInput
aclnnThreshold            ihf     tensor self, scalar threshold, scalar value, out out
aclnnThresholdBackward    u148hf  tensor gradOutput, tensor self, scalar threshold, out out
aclnnLogSigmoidForward    hf      tensor self, out out, out buffer
aclnnLogSigmoidBackward   hf      tensor gradOutput, tensor self, tensor buffer, out gradInput
aclnnGlu                  hfd     tensor self, int64 dim, out out
aclnnGluBackward          hfd     tensor gradOut, tensor self, int64 dim, out out
aclnnPrelu                hf      tensor self, tensor weight, out out
aclnnPreluBackward        hf      tensor gradOutput, tensor self, tensor weight, out gradInput, out gradWeight
aclnnSoftmax              hfd     tensor self, int64 dim, out out
aclnnSoftmaxBackward      hf      tensor gradOutput, tensor output, int64 dim, out out
aclnnLogSoftmax           hfd     tensor self, int64 dim, out out
aclnnLogSoftmaxBackward   hf      tensor gradOutput, tensor output, int64 dim, out out
"""
