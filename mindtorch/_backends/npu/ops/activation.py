"""NPU rows of activations, their derivatives, and softmax."""
from __future__ import annotations

from . import ACLNN_CALLS
from .pointwise import named
from .row import Aclnn

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
    "gelu": Aclnn("aclnnGeluV2", lambda self, approximate, out: (self, int(approximate == "tanh"), out)),
    "gelu_backward": Aclnn("aclnnGeluBackwardV2"),
    "_softmax": Aclnn("aclnnSoftmax", lambda self, dim, half_to_float, out: (self, dim, out)),
    "_log_softmax": Aclnn("aclnnLogSoftmax", lambda self, dim, half_to_float, out: (self, dim, out)),
    "_softmax_backward_data": Aclnn(
        "aclnnSoftmaxBackward", lambda grad, output, dim, dtype, out: (grad, output, dim, out)),
    "_log_softmax_backward_data": Aclnn(
        "aclnnLogSoftmaxBackward", lambda grad, output, dim, dtype, out: (grad, output, dim, out)),
})
