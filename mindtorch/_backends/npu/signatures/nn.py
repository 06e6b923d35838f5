"""Losses, normalisation, the step of Adam."""
from __future__ import annotations

SIGNATURES = """
aclnnMseLoss                 reduced|float32  tensor self, tensor target, int64 reduction, out out
aclnnMseLossBackward         reduced|float32  tensor gradOutput, tensor self, tensor target, int64 reduction, out out
aclnnL1Loss                  int64|reduced|float32  tensor self, tensor target, int64 reduction, out out
aclnnL1LossBackward          reduced|float32  tensor gradOutput, tensor self, tensor target, int64 reduction,
    out gradInput
aclnnSmoothL1Loss            reduced|float32  tensor self, tensor target, int64 reduction, float beta, out result
aclnnSmoothL1LossBackward    reduced|float32  tensor gradOut, tensor self, tensor target, int64 reduction, float beta,
    out gradInput
aclnnSoftMarginLoss          reduced|float32  tensor self, tensor target, int64 reduction, out out
aclnnSoftMarginLossBackward  reduced|float32  tensor gradOutput, tensor self, tensor target, int64 reduction, out out
aclnnBinaryCrossEntropy      reduced|float32  tensor self, tensor target, tensor? weight, int64 reduction, out out
aclnnBinaryCrossEntropyBackward  reduced|float32  tensor gradOutput, tensor self, tensor target, tensor? weightOptional,
    int64 reduction, out out
aclnnBinaryCrossEntropyWithLogits  reduced|float32  tensor self, tensor target, tensor? weightOptional,
    tensor? posWeightOptional, int64 reduction, out out
aclnnBinaryCrossEntropyWithLogitsBackward  reduced|float32  tensor gradOutput, tensor self, tensor target,
    tensor? weightOptional, tensor? posWeightOptional, int64 reduction, out out
aclnnKlDiv                   reduced|float32  tensor self, tensor target, int64 reduction, bool logTarget, out out
aclnnKlDivBackward           reduced|float32  tensor gradOutput, tensor self, tensor target, int64 reduction,
    bool logTarget, out out
aclnnNLLLoss                 reduced|float32  tensor self, tensor:uint8|int32|int64 target, tensor weight,
    int64 reduction, int64 ignoreIndex, out out, out totalWeightOut
aclnnNLLLossBackward         reduced|float32  tensor gradOutput, tensor self, tensor:uint8|int32|int64 target,
    tensor weight, int64 reduction, int64 ignoreIndex, tensor totalWeight, out out
aclnnNLLLoss2d               reduced|float32  tensor self, tensor:uint8|int32|int64 target, tensor weight,
    int64 reduction, int64 ignoreIndex, out out, out totalWeightOut
aclnnNLLLoss2dBackward       reduced|float32  tensor gradOutput, tensor self, tensor:uint8|int32|int64 target,
    tensor weight, int64 reduction, int64 ignoreIndex, tensor totalWeight, out out
aclnnMultilabelMarginLoss    reduced|float32  tensor self, tensor:int32|int64 target, int64 reduction, out out,
    out isTarget
aclnnLayerNorm               reduced|float32  tensor input, ints normalizedShape, tensor? weightOptional,
    tensor? biasOptional, double eps, out out, out? meanOutOptional, out? rstdOutOptional
aclnnLayerNormBackward       reduced|float32  tensor gradOut, tensor input, ints normalizedShape, tensor mean,
    tensor rstd, tensor? weightOptional, tensor? biasOptional, bools outputMask, out? gradInputOut, out? gradWeightOut,
    out? gradBiasOut
aclnnBatchNorm               reduced|float32  tensor input, tensor? weight, tensor? bias, ref? runningMean,
    ref? runningVar, bool training, double momentum, double eps, out output, out saveMean, out saveInvstd
aclnnBatchNormBackward       reduced|float32  tensor gradOut, tensor input, tensor? weight, tensor? runningMean,
    tensor? runningVar, tensor? saveMean, tensor? saveInvstd, bool training, double eps, bools outputMask,
    out? gradInput, out? gradWeight, out? gradBias
aclnnGroupNorm               reduced|float32  tensor self, tensor? gamma, tensor? beta, int64 N, int64 C, int64 HxW,
    int64 group, double eps, out out, out meanOut, out rstdOut
aclnnGroupNormBackward       reduced|float32  tensor gradOut, tensor input, tensor mean, tensor rstd, tensor? gamma,
    int64 N, int64 C, int64 HxW, int64 group, bools outputMask, out? gradInput, out? gradGammaOut, out? gradBetaOut
aclnnRmsNorm                 reduced|float32  tensor x, tensor gamma, double epsilon, out yOut, out:float32 rstdOut
aclnnRmsNormGrad             reduced|float32  tensor dy, tensor x, tensor:float32 rstd, tensor gamma, out dxOut,
    out:float32 dgammaOut
aclnnApplyAdamWV2            reduced|float32  ref varRef, ref mRef, ref vRef, ref? maxGradNormOptionalRef, tensor grad,
    tensor:int64|float32 step, float lr, float beta1, float beta2, float weightDecay, float eps, bool amsgrad,
    bool maximize
"""
