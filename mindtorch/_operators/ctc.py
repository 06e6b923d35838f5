"""Connectionist temporal classification: the loss of a sequence of labels whose places in time are not known."""
from __future__ import annotations

from typing import Any

from .._base.errors import check, check_takes
from .._base.layout import Ints, Spec
from .._dispatch.aten import _ctc_loss, _ctc_loss_backward
from .._dtype import INTEGER, int64
from .._tensor import Tensor
from .._transforms.batching.rules import each_element
from . import operator, schemas
from .nn import MEAN, reduced

schemas("""
function:
    ctc_loss.IntList(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor  # The negative log probabilities of the sequences `targets` under the log probabilities `log_probs` of each label at each time, where labels may be repeated and separated by `blank`, or by `reduction` their mean or sum.
    ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor
    _ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, bool zero_infinity=False) -> (Tensor neg_log_likelihood, Tensor log_alpha)  # The negative log probability of each of the sequences `targets`, and the log probabilities of all their beginnings up to each time.
operator only:
    _ctc_loss_backward(Tensor grad, Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, Tensor neg_log_likelihood, Tensor log_alpha, int blank, bool zero_infinity=False) -> Tensor
""")  # noqa: E501

WHERE = "(while checking arguments for ctc_loss_allocate_outputs)"


def meta_ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Ints, target_lengths: Ints, blank: int = 0,
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
    """Compute ``ctc_loss`` with lengths that are tensors."""
    for name, lengths in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        check(lengths._dtype.category <= INTEGER, f"{name} must be integral")
    times, sizes = (tuple(lengths.reshape(-1).tolist()) for lengths in (input_lengths, target_lengths))
    return ctc_loss(log_probs, targets, times, sizes, *rest)


operator("ctc_loss.IntList", composite=ctc_loss, batching=each_element, autocast="cpu float32")
operator("ctc_loss.Tensor", composite=of_tensors, batching=each_element, autocast="cpu float32")
operator("_ctc_loss", meta_ctc_loss, outputs=(0,),
         log_probs=lambda grad, log_probs, targets, input_lengths, target_lengths, neg_log_likelihood, log_alpha,
             blank, zero_infinity: _ctc_loss_backward(grad, log_probs, targets, input_lengths, target_lengths,
                                        neg_log_likelihood, log_alpha, blank, zero_infinity))
operator("_ctc_loss_backward", lambda grad, log_probs, *_: Spec(tuple(log_probs.shape), log_probs._dtype))
