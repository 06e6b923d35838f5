"""NPU rows of activations, their derivatives, and softmax."""
from __future__ import annotations

from collections.abc import Iterator

from ...._base.layout import Spec
from ...._tensor import Tensor
from . import ACLNN_CALLS
from .pointwise import named
from .row import Aclnn, Call, Each


def gelu(self: Tensor, approximate: str, out: Tensor) -> Iterator[Call]:
    yield ("aclnnGelu", (self, out)) if approximate == "none" else ("aclnnGeluV2", (self, 1, out))


def gelu_backward(grad: Tensor, self: Tensor, approximate: str, out: Tensor) -> Iterator[Call]:
    yield (("aclnnGeluBackward", (grad, self, out)) if approximate == "none"
           else ("aclnnGeluBackwardV2", (grad, self, approximate, out)))


ACLNN_CALLS.update({
    **named("""
        relu Relu                        selu Selu                         celu Celu
        silu Silu                        silu_backward SiluBackward
        mish Mish                        mish_backward MishBackward
        hardsigmoid Hardsigmoid          hardsigmoid_backward HardsigmoidBackward
        hardswish Hardswish              hardswish_backward HardswishBackward
        hardtanh Hardtanh                hardtanh_backward HardtanhBackward
        elu Elu                          elu_backward EluBackward
        leaky_relu LeakyRelu             leaky_relu_backward LeakyReluBackward
        softplus Softplus                softplus_backward SoftplusBackward
        softshrink Softshrink            softshrink_backward SoftshrinkBackward
        hardshrink Hardshrink            hardshrink_backward HardshrinkBackward
        threshold Threshold              threshold_backward ThresholdBackward
        glu Glu                          glu_backward GluBackward
        log_sigmoid_forward LogSigmoidForward                              log_sigmoid_backward LogSigmoidBackward
    """),
    "gelu": Each("", gelu),
    "gelu_backward": Each("", gelu_backward),
    "_prelu_kernel": Aclnn("aclnnPrelu", lambda self, weight, out: (self, weight.reshape(-1), out)),
    "_prelu_kernel_backward": Aclnn(  # ACLNN sums the gradient of the weight
        "aclnnPreluBackward", lambda grad, self, weight, out, out_weight: (
            grad, self, weight.reshape(-1), out, out_weight.view(-1)),
        spec=lambda grad, self, weight: (Spec(tuple(self.shape), self._dtype),
                                         Spec(tuple(weight.shape), weight._dtype))),
    "_softmax": Aclnn("aclnnSoftmax", lambda self, dim, half_to_float, out: (self, dim, out)),
    "_log_softmax": Aclnn("aclnnLogSoftmax", lambda self, dim, half_to_float, out: (self, dim, out)),
    "_softmax_backward_data": Aclnn(
        "aclnnSoftmaxBackward", lambda grad, output, dim, dtype, out: (grad, output, dim, out)),
    "_log_softmax_backward_data": Aclnn(
        "aclnnLogSoftmaxBackward", lambda grad, output, dim, dtype, out: (grad, output, dim, out)),
})
