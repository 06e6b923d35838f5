"""Arithmetic, elementary and special functions, rounding and complex numbers."""
from __future__ import annotations

ROWS = """
aclnnAdd                    bihfdc   tensor self, tensor other, scalar alpha, out out
aclnnAdds                   bihfdc   tensor self, scalar other, scalar alpha, out out
aclnnSub                    bihfdc   tensor self, tensor other, scalar alpha, out out
aclnnSubs                   bihfdc   tensor self, scalar other, scalar alpha, out out
aclnnRsub                   ihfdc    tensor self, tensor other, scalar alpha, out out
aclnnRsubs                  ihfdc    tensor self, scalar other, scalar alpha, out out
aclnnMul                    bihfdc   tensor self, tensor other, out out
aclnnMuls                   bihfdc   tensor self, scalar other, out out
aclnnDiv                    bihfdc   tensor self, tensor other, out out
aclnnDivs                   bihfdc   tensor self, scalar other, out out
aclnnDivMod                 bihfdc   tensor self, tensor other, int mode, out out
aclnnDivMods                bihfdc   tensor self, scalar other, int mode, out out
aclnnFloorDivide            bihfd    tensor self, tensor other, out out
aclnnFloorDivides           bihfd    tensor self, scalar other, out out
aclnnRemainderTensorTensor  48hfd    tensor self, tensor other, out out
aclnnRemainderTensorScalar  48hfd    tensor self, scalar other, out out
aclnnRemainderScalarTensor  48hfd    scalar self, tensor other, out out
aclnnFmodTensor             u148hfd  tensor self, tensor other, out out
aclnnFmodScalar             u148hfd  tensor self, scalar other, out out
aclnnPowTensorTensor        bihfdc   tensor self, tensor exponent, out out
aclnnPowTensorScalar        bihfdc   tensor self, scalar exponent, out out
aclnnPowScalarTensor        ihfdc    scalar self, tensor exponent, out out
aclnnNeg                    148hfdc  tensor self, out out
aclnnAbs                    bihfdC   tensor self, out:bihfd out
aclnnSign                   b48hfdc  tensor self, out result
aclnnSignbit                bihfd    tensor self, out:b out
aclnnReciprocal             bihfdc   tensor self, out:hfdc out
aclnnSqrt                   bihfdc   tensor self, out:hfdc out
aclnnRsqrt                  bihfdc   tensor self, out:hfdc out
aclnnExp                    b8hfdc   tensor self, out:hfdc out
aclnnExp2                   bihfd    tensor self, out:hfd out
aclnnExpm1                  b8hf     tensor self, out:hf out
aclnnLog                    bihfdc   tensor self, out:hfdc out
aclnnLog2                   bihfdc   tensor self, out:hfdc out
aclnnLog10                  bihfdc   tensor self, out:hfc out
aclnnLog1p                  bihfd    tensor self, out:hfd out
aclnnSin                    bihfdc   tensor self, out:hfdc out
aclnnCos                    bihfdc   tensor input, out:hfdc out
aclnnTan                    bihfdc   tensor self, out:hfdc out
aclnnAsin                   bihfd    tensor self, out:hfd out
aclnnAcos                   bihfd    tensor input, out:hfd out
aclnnAtan                   bihfd    tensor input, out:hfd out
aclnnSinh                   bihfdc   tensor self, out:hfdc out
aclnnCosh                   bihfdc   tensor self, out:hfdc out
aclnnTanh                   bihf     tensor self, out:hf out
aclnnAsinh                  bihfdc   tensor input, out:hfdc out
aclnnAcosh                  bihfdc   tensor self, out:hfdc out
aclnnAtanh                  bihfdc   tensor input, out:hfdc out
aclnnAtan2                  bihfd    tensor self, tensor other, out:hfd out
aclnnSinc                   bihfd    tensor self, out:hfd out
aclnnSigmoid                bihfdc   tensor self, out:hfdc out
aclnnSigmoidBackward        hfdc     tensor gradOutput, tensor output, out gradInput
aclnnTanhBackward           hfd      tensor gradOutput, tensor output, out gradInput
aclnnLogAddExp              bihfd    tensor self, tensor other, out:hf out
aclnnLogAddExp2             bihfd    tensor self, tensor other, out:hf out
aclnnCeil                   hfd      tensor self, out out
aclnnFloor                  ihfd     tensor self, out out
aclnnRound                  48hfd    tensor self, out out
aclnnRoundDecimals          48hfd    tensor self, int64 decimals, out out
aclnnTrunc                  hf       tensor self, out out
aclnnFrac                   ihf      tensor input, out out
aclnnGcd                    i        tensor self, tensor other, out out
aclnnLerp                   hf       tensor self, tensor end, tensor weight, out out
aclnnLerps                  hf       tensor self, tensor end, scalar weight, out out
aclnnAddcmul                u148hfd  tensor self, tensor tensor1, tensor tensor2, scalar value, out out
aclnnAddcdiv                8hfd     tensor self, tensor tensor1, tensor tensor2, scalar value, out out
aclnnErf                    b8hfd    tensor self, out:hfd out
aclnnErfc                   b8hfd    tensor self, out:hfd out
aclnnErfinv                 bihf     tensor self, out:hf out
aclnnLgamma                 Hfd      tensor self, out out
aclnnDigamma                Hfd      tensor self, out out
aclnnLogit                  hf       tensor input, double eps, out out
aclnnLogitGrad              hf       tensor x, tensor dy, double eps, out out
aclnnXLogYTensor            bihf     tensor self, tensor other, out out
aclnnXLogYScalarOther       bihf     tensor self, scalar other, out:hf out
aclnnXLogYScalarSelf        bihfd    scalar self, tensor other, out:hf out
aclnnNanToNum               bihf     tensor self, float nan, float posinf, float neginf, out out
aclnnComplex                Hfd      tensor real, tensor imag, out:c out
aclnnPolar                  f        tensor input, tensor angle, out:C out
aclnnReal                   fc       tensor self, out:fd out
"""
