"""Losses, normalisation, convolution, pooling, the step of Adam."""
from __future__ import annotations

ROWS = """
aclnnMseLoss                               hf   tensor self, tensor target, int64 reduction, out out
aclnnMseLossBackward                       hf   tensor gradOutput, tensor self, tensor target, int64 reduction, out out
aclnnL1Loss                                8hf  tensor self, tensor target, int64 reduction, out out
aclnnL1LossBackward                        hf   tensor gradOutput, tensor self, tensor target, int64 reduction,
                                                out gradInput
aclnnSmoothL1Loss                          hf   tensor self, tensor target, int64 reduction, float beta, out result
aclnnSmoothL1LossBackward                  hf   tensor gradOut, tensor self, tensor target, int64 reduction, float beta,
                                                out gradInput
aclnnSoftMarginLoss                        hf   tensor self, tensor target, int64 reduction, out out
aclnnSoftMarginLossBackward                hf   tensor gradOutput, tensor self, tensor target, int64 reduction, out out
aclnnBinaryCrossEntropy                    hf   tensor self, tensor target, tensor? weight, int64 reduction, out out
aclnnBinaryCrossEntropyBackward            hf   tensor gradOutput, tensor self, tensor target, tensor? weightOptional,
                                                int64 reduction, out out
aclnnBinaryCrossEntropyWithLogits          hf   tensor self, tensor target, tensor? weightOptional,
                                                tensor? posWeightOptional, int64 reduction, out out
aclnnBinaryCrossEntropyWithLogitsBackward  hf   tensor gradOutput, tensor self, tensor target, tensor? weightOptional,
                                                tensor? posWeightOptional, int64 reduction, out out
aclnnKlDiv                                 hf   tensor self, tensor target, int64 reduction, bool logTarget, out out
aclnnKlDivBackward                         hf   tensor gradOutput, tensor self, tensor target, int64 reduction,
                                                bool logTarget, out out
aclnnNLLLoss                               hf   tensor self, tensor:u48 target, tensor weight, int64 reduction,
                                                int64 ignoreIndex, out out, out totalWeightOut
aclnnNLLLossBackward                       hf   tensor gradOutput, tensor self, tensor:u48 target, tensor weight,
                                                int64 reduction, int64 ignoreIndex, tensor totalWeight, out out
aclnnNLLLoss2d                             hf   tensor self, tensor:u48 target, tensor weight, int64 reduction,
                                                int64 ignoreIndex, out out, out totalWeightOut
aclnnNLLLoss2dBackward                     hf   tensor gradOutput, tensor self, tensor:u48 target, tensor weight,
                                                int64 reduction, int64 ignoreIndex, tensor totalWeight, out out
aclnnMultilabelMarginLoss                  hf   tensor self, tensor:48 target, int64 reduction, out out, out isTarget
aclnnLayerNorm                             hf   tensor input, ints normalizedShape, tensor? weightOptional,
                                                tensor? biasOptional, double eps, out out, out? meanOutOptional,
                                                out? rstdOutOptional
aclnnLayerNormBackward                     hf   tensor gradOut, tensor input, ints normalizedShape, tensor mean,
                                                tensor rstd, tensor? weightOptional, tensor? biasOptional,
                                                bools outputMask, out? gradInputOut, out? gradWeightOut,
                                                out? gradBiasOut
aclnnBatchNorm                             hf   tensor input, tensor? weight, tensor? bias, ref? runningMean,
                                                ref? runningVar, bool training, double momentum, double eps, out output,
                                                out saveMean, out saveInvstd
aclnnBatchNormBackward                     hf   tensor gradOut, tensor input, tensor? weight, tensor? runningMean,
                                                tensor? runningVar, tensor? saveMean, tensor? saveInvstd, bool training,
                                                double eps, bools outputMask, out? gradInput, out? gradWeight,
                                                out? gradBias
aclnnGroupNorm                             hf   tensor self, tensor? gamma, tensor? beta, int64 N, int64 C, int64 HxW,
                                                int64 group, double eps, out out, out meanOut, out rstdOut
aclnnGroupNormBackward                     hf   tensor gradOut, tensor input, tensor mean, tensor rstd, tensor? gamma,
                                                int64 N, int64 C, int64 HxW, int64 group, bools outputMask,
                                                out? gradInput, out? gradGammaOut, out? gradBetaOut
aclnnRmsNorm                               hf   tensor x, tensor gamma, double epsilon, out yOut, out:f rstdOut
aclnnRmsNormGrad                           hf   tensor dy, tensor x, tensor:f rstd, tensor gamma, out dxOut,
                                                out:f dgammaOut
aclnnConvolution                           hf   tensor input, tensor weight, tensor? bias, ints stride, ints padding,
                                                ints dilation, bool transposed, ints outputPadding, int64 groups,
                                                out output, int8 cubeMathType
aclnnConvolutionBackward                   hf   tensor gradOutput, tensor input, tensor weight, ints? biasSizes,
                                                ints stride, ints padding, ints dilation, bool transposed,
                                                ints outputPadding, int groups, bools outputMask, int8 cubeMathType,
                                                out? gradInput, out? gradWeight, out? gradBias
aclnnAvgPool2d                             hf   tensor self, ints kernelSize, ints strides, ints paddings,
                                                bool ceilMode, bool countIncludePad, int64 divisorOverride,
                                                int8 cubeMathType, out out
aclnnAvgPool2dBackward                     hf   tensor gradOutput, tensor self, ints kernelSize, ints stride,
                                                ints padding, bool ceilMode, bool countIncludePad,
                                                int64 divisorOverride, int8 cubeMathType, out gradInput
aclnnMaxPool2dWithIndices                  hf   tensor self, ints kernelSize, ints stride, ints padding, ints dilation,
                                                bool ceilMode, out out, out:48 indices
aclnnMaxPool2dWithIndicesBackward          hf   tensor gradOutput, tensor self, tensor:48 indices, ints kernelSize,
                                                ints stride, ints padding, ints dilation, bool ceilMode, out gradInput
aclnnAdaptiveAvgPool2d                     hf   tensor self, ints outputSize, out out
aclnnAdaptiveAvgPool2dBackward             hf   tensor gradOutput, tensor self, out out
aclnnApplyAdamWV2                          hf   ref varRef, ref mRef, ref vRef, ref? maxGradNormOptionalRef,
                                                tensor grad, tensor:8f step, float lr, float beta1, float beta2,
                                                float weightDecay, float eps, bool amsgrad, bool maximize
"""
