"""The loss of connectionist temporal classification from that of each sequence."""
from __future__ import annotations

from typing import Any

from .._base.errors import check
from .._dispatch.aten import _ctc_loss
from .._dtype import INTEGER, int64
from . import COMPOSITES
from .nn import MEAN, reduced


def ctc_loss(log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0,
             reduction: int = MEAN, zero_infinity: bool = False) -> Any:
    """``torch.nn.functional.ctc_loss``; a mean is of the losses by label."""
    batched = log_probs.ndim == 3
    if not batched:
        log_probs, targets = log_probs.unsqueeze(1), targets.unsqueeze(0)
    losses, _ = _ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity)
    if zero_infinity:
        losses = losses.masked_fill(losses.isinf(), 0)
    if reduction == MEAN:
        return (losses / losses.new_tensor(target_lengths, dtype=int64).clamp_min(1)).mean()
    return reduced(losses if batched else losses.squeeze(0), reduction)


def of_tensors(log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, *rest: Any) -> Any:
    """The same, with lengths that are tensors."""
    for name, lengths in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        check(lengths._dtype.category <= INTEGER, f"{name} must be integral")
    times, sizes = (tuple(lengths.reshape(-1).tolist()) for lengths in (input_lengths, target_lengths))
    return ctc_loss(log_probs, targets, times, sizes, *rest)


COMPOSITES.update({"ctc_loss.IntList": ctc_loss, "ctc_loss.Tensor": of_tensors})
