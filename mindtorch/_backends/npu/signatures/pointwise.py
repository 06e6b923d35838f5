"""Arithmetic, elementary and special functions, rounding and complex numbers."""
from __future__ import annotations

SIGNATURES = """
aclnnAdd                    all               tensor self, tensor other, scalar alpha, out out
aclnnAdds                   all               tensor self, scalar other, scalar alpha, out out
aclnnSub                    all               tensor self, tensor other, scalar alpha, out out
aclnnSubs                   all               tensor self, scalar other, scalar alpha, out out
aclnnRsub                   real|complex      tensor self, tensor other, scalar alpha, out out
aclnnRsubs                  real|complex      tensor self, scalar other, scalar alpha, out out
aclnnMul                    all               tensor self, tensor other, out out
aclnnMuls                   all               tensor self, scalar other, out out
aclnnDiv                    all               tensor self, tensor other, out out
aclnnDivs                   all               tensor self, scalar other, out out
aclnnDivMod                 all               tensor self, tensor other, int mode, out out
aclnnDivMods                all               tensor self, scalar other, int mode, out out
aclnnFloorDivide            bool|real         tensor self, tensor other, out out
aclnnFloorDivides           bool|real         tensor self, scalar other, out out
aclnnRemainderTensorTensor  int32|int64|reduced|floating  tensor self, tensor other, out out
aclnnRemainderTensorScalar  int32|int64|reduced|floating  tensor self, scalar other, out out
aclnnRemainderScalarTensor  int32|int64|reduced|floating  scalar self, tensor other, out out
aclnnFmodTensor             uint8|int8|int32|int64|reduced|floating  tensor self, tensor other, out out
aclnnFmodScalar             uint8|int8|int32|int64|reduced|floating  tensor self, scalar other, out out
aclnnPowTensorTensor        all               tensor self, tensor exponent, out out
aclnnPowTensorScalar        all               tensor self, scalar exponent, out out
aclnnPowScalarTensor        real|complex      scalar self, tensor exponent, out out
aclnnNeg                    int8|int32|int64|reduced|floating|complex  tensor self, out out
aclnnAbs                    bool|real|complex64  tensor self, out:bool|real out
aclnnSign                   bool|int32|int64|reduced|floating|complex  tensor self, out result
aclnnSignbit                bool|real         tensor self, out:bool out
aclnnReciprocal             all               tensor self, out:reduced|floating|complex out
aclnnSqrt                   all               tensor self, out:reduced|floating|complex out
aclnnRsqrt                  all               tensor self, out:reduced|floating|complex out
aclnnExp                    bool|int64|reduced|floating|complex  tensor self, out:reduced|floating|complex out
aclnnExp2                   bool|real         tensor self, out:reduced|floating out
aclnnExpm1                  bool|int64|reduced|float32  tensor self, out:reduced|float32 out
aclnnLog                    all               tensor self, out:reduced|floating|complex out
aclnnLog2                   all               tensor self, out:reduced|floating|complex out
aclnnLog10                  all               tensor self, out:reduced|float32|complex out
aclnnLog1p                  bool|real         tensor self, out:reduced|floating out
aclnnSin                    all               tensor self, out:reduced|floating|complex out
aclnnCos                    all               tensor input, out:reduced|floating|complex out
aclnnTan                    all               tensor self, out:reduced|floating|complex out
aclnnAsin                   bool|real         tensor self, out:reduced|floating out
aclnnAcos                   bool|real         tensor input, out:reduced|floating out
aclnnAtan                   bool|real         tensor input, out:reduced|floating out
aclnnSinh                   all               tensor self, out:reduced|floating|complex out
aclnnCosh                   all               tensor self, out:reduced|floating|complex out
aclnnTanh                   bool|integral|reduced|float32  tensor self, out:reduced|float32 out
aclnnAsinh                  all               tensor input, out:reduced|floating|complex out
aclnnAcosh                  all               tensor self, out:reduced|floating|complex out
aclnnAtanh                  all               tensor input, out:reduced|floating|complex out
aclnnAtan2                  bool|real         tensor self, tensor other, out:reduced|floating out
aclnnSinc                   bool|real         tensor self, out:reduced|floating out
aclnnSigmoid                all               tensor self, out:reduced|floating|complex out
aclnnSigmoidBackward        reduced|floating|complex  tensor gradOutput, tensor output, out gradInput
aclnnTanhBackward           reduced|floating  tensor gradOutput, tensor output, out gradInput
aclnnLogAddExp              bool|real         tensor self, tensor other, out:reduced|float32 out
aclnnLogAddExp2             bool|real         tensor self, tensor other, out:reduced|float32 out
aclnnCeil                   reduced|floating  tensor self, out out
aclnnFloor                  real              tensor self, out out
aclnnRound                  int32|int64|reduced|floating  tensor self, out out
aclnnRoundDecimals          int32|int64|reduced|floating  tensor self, int64 decimals, out out
aclnnTrunc                  reduced|float32   tensor self, out out
aclnnFrac                   integral|reduced|float32  tensor input, out out
aclnnGcd                    integral          tensor self, tensor other, out out
aclnnLerp                   reduced|float32   tensor self, tensor end, tensor weight, out out
aclnnLerps                  reduced|float32   tensor self, tensor end, scalar weight, out out
aclnnAddcmul                uint8|int8|int32|int64|reduced|floating  tensor self, tensor tensor1, tensor tensor2,
    scalar value, out out
aclnnAddcdiv                int64|reduced|floating  tensor self, tensor tensor1, tensor tensor2, scalar value, out out
aclnnErf                    bool|int64|reduced|floating  tensor self, out:reduced|floating out
aclnnErfc                   bool|int64|reduced|floating  tensor self, out:reduced|floating out
aclnnErfinv                 bool|integral|reduced|float32  tensor self, out:reduced|float32 out
aclnnLgamma                 float16|floating  tensor self, out out
aclnnDigamma                float16|floating  tensor self, out out
aclnnLogit                  reduced|float32   tensor input, double eps, out out
aclnnLogitGrad              reduced|float32   tensor x, tensor dy, double eps, out out
aclnnXLogYTensor            bool|integral|reduced|float32  tensor self, tensor other, out out
aclnnXLogYScalarOther       bool|integral|reduced|float32  tensor self, scalar other, out:reduced|float32 out
aclnnXLogYScalarSelf        bool|real         scalar self, tensor other, out:reduced|float32 out
aclnnNanToNum               bool|integral|reduced|float32  tensor self, float nan, float posinf, float neginf, out out
aclnnComplex                float16|floating  tensor real, tensor imag, out:complex out
aclnnPolar                  float32           tensor input, tensor angle, out:complex64 out
"""
