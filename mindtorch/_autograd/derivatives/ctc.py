"""The derivative of connectionist temporal classification. As in PyTorch, it has none itself."""
from __future__ import annotations

from ..._dispatch.aten import _ctc_loss_backward
from ..derivative import derivative

derivative("_ctc_loss", None, (0,),
           log_probs=lambda grad, log_probs, targets, input_lengths, target_lengths, neg_log_likelihood, log_alpha,
           blank, zero_infinity: _ctc_loss_backward(grad, log_probs, targets, input_lengths, target_lengths,
                                                    neg_log_likelihood, log_alpha, blank, zero_infinity))
