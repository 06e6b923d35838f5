"""Meta kernels of connectionist temporal classification."""
from __future__ import annotations

from typing import Any

from ...._base.errors import check, check_takes
from ...._base.layout import Ints, Spec
from . import META_KERNELS

WHERE = "(while checking arguments for ctc_loss_allocate_outputs)"


def ctc_loss(log_probs: Any, targets: Any, input_lengths: Ints, target_lengths: Ints, blank: int = 0,
             zero_infinity: bool = False) -> tuple[Spec, Spec]:
    check(log_probs.numel(), "log_probs tensor must not be empty")
    check_takes(log_probs._dtype.name in ("float32", "float64"), "ctc_loss_cpu", log_probs._dtype)
    check(log_probs.ndim == 3, lambda: f"Expected 3-dimensional tensor, but got {log_probs.ndim}-dimensional tensor "
          f"for argument #1 'log_probs' {WHERE}")
    check(1 <= targets.ndim <= 2, lambda: f"Expected 1 to 2 dimensions, but got {targets.ndim}-dimensional tensor "
          f"for argument #2 'targets' {WHERE}")
    times, batch, labels = log_probs.shape
    check(0 <= blank < labels, "blank must be in label range")
    check(len(input_lengths) == batch, "input_lengths must be of size batch_size")
    check(len(target_lengths) == batch, "target_lengths must be of size batch_size")
    for name, least in (("target_lengths", min(target_lengths)), ("input_lengths", min(input_lengths))):
        check(least >= 0, f"Expected {name} to have value at least 0, but got value {least} {WHERE}")
    longest, have = max(target_lengths), targets.shape
    if targets.ndim == 1:
        check(sum(target_lengths) == have[0], lambda: f"Expected tensor to have size {sum(target_lengths)} at "
              f"dimension 0, but got size {have[0]} for argument #2 'targets' {WHERE}")
    else:
        check(have[0] == batch, lambda: f"Expected tensor to have size {batch} at dimension 0, but got size {have[0]} "
              f"for argument #2 'targets' {WHERE}")
        check(have[1] >= longest, lambda: f"Expected tensor to have size at least {longest} at dimension 1, but got "
              f"size {have[1]} for argument #2 'targets' {WHERE}")
    check(max(input_lengths) <= times, lambda: f"Expected input_lengths to have value at most {times}, but got value "
          f"{max(input_lengths)} {WHERE}")
    return Spec((batch,), log_probs._dtype), Spec((batch, times, 2 * longest + 1), log_probs._dtype)


META_KERNELS.update({
    "_ctc_loss": ctc_loss,
    "_ctc_loss_backward": lambda grad, log_probs, *_: Spec(tuple(log_probs.shape), log_probs._dtype),
})
