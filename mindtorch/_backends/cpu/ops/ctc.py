"""CPU kernels of connectionist temporal classification (Graves et al., 2006).

A label sequence is expanded to states: a blank, the first label, a blank, the second label, ..., a blank. At each time
step a path stays, advances to the next state, or skips a blank between two different labels. ``alpha`` holds the log
probabilities of all paths from the start to a state, ``beta`` of all paths from it to the end, batched.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ...._base.layout import Ints
from . import CPU_KERNELS


def states(targets: np.ndarray, lengths: Ints, blank: int, labels: int) -> np.ndarray:
    """Return the label of each state, (batch, states). Raises RuntimeError for a label out of range."""
    batch, longest = len(lengths), max(lengths)
    within = np.arange(longest) < np.array(lengths)[:, None]
    found = np.full((batch, 2 * longest + 1), blank)
    of_labels = np.full((batch, longest), blank)
    of_labels[within] = targets if targets.ndim == 1 else targets[:, :longest][within]
    if of_labels.size and not 0 <= of_labels.min() <= of_labels.max() < labels:
        raise RuntimeError(f"Expected targets to have values from 0 to {labels - 1}, but got values from "
                           f"{of_labels.min()} to {of_labels.max()}")
    found[:, 1::2] = of_labels
    return found


def at_states(log_probs: np.ndarray, state: np.ndarray) -> np.ndarray:
    """Return the log probabilities of the states' labels, (time, batch, states)."""
    return np.take_along_axis(log_probs, state[None], -1)


def arrived(before: np.ndarray, may_skip: np.ndarray) -> np.ndarray:
    """Return the log probabilities of paths that reach each state from the previous step's states."""
    result = before.copy()
    result[:, 1:] = np.logaddexp(result[:, 1:], before[:, :-1])
    result[:, 2:] = np.where(may_skip, np.logaddexp(result[:, 2:], before[:, :-2]), result[:, 2:])
    return result


def skips(state: np.ndarray, blank: int) -> np.ndarray:
    """Return where a path may skip a blank, for each state from the third on."""
    return (state[:, 2:] != blank) & (state[:, 2:] != state[:, :-2])


def ctc_loss(log_probs: np.ndarray, targets: np.ndarray, input_lengths: Ints, target_lengths: Ints, blank: int = 0,
             zero_infinity: bool = False) -> tuple[Any, Any]:
    """Compute the forward pass, in double precision since logarithms of many factors accumulate."""
    log_probs = log_probs.astype(np.float64)
    times, batch, labels = log_probs.shape
    state = states(targets, target_lengths, blank, labels)
    probs, may_skip = at_states(log_probs, state), skips(state, blank)
    alpha = np.full((batch, times + 1, state.shape[1] + 1), -np.inf, log_probs.dtype)  # padded in time and state
    alpha[:, 0, 0] = 0
    first = np.full((batch, state.shape[1]), -np.inf, log_probs.dtype)
    first[:, :2] = 0
    for t in range(times):
        alpha[:, t + 1, 1:] = (arrived(alpha[:, t, 1:], may_skip) if t else first) + probs[t]
    rows, last = np.arange(batch), 2 * np.array(target_lengths)
    ends = alpha[rows, np.array(input_lengths)]
    likely = np.logaddexp(ends[rows, last + 1], np.where(last > 0, ends[rows, last], -np.inf))
    nothing = np.where(last == 0, 0, -np.inf)  # with an input of length 0, only an empty target has a path
    loss = -np.where(np.array(input_lengths) > 0, likely, nothing)
    return loss, alpha[:, 1:, 1:]


def ctc_loss_backward(grad: np.ndarray, log_probs: np.ndarray, targets: np.ndarray, input_lengths: Ints,
                      target_lengths: Ints, loss: np.ndarray, alpha: np.ndarray, blank: int,
                      zero_infinity: bool = False) -> np.ndarray:
    log_probs = log_probs.astype(np.float64)
    times, batch, labels = log_probs.shape
    state = states(targets, target_lengths, blank, labels)
    probs = at_states(log_probs, state)
    may_skip = skips(state[:, ::-1], blank)
    last, ends = 2 * np.array(target_lengths)[:, None], np.array(input_lengths)[:, None] - 1
    places = np.arange(state.shape[1])
    final = np.where((places == last) | (places == last - 1), 0, -np.inf).astype(log_probs.dtype)
    through = np.empty((times, batch, state.shape[1]), log_probs.dtype)
    beta = np.full((batch, state.shape[1]), -np.inf, log_probs.dtype)
    for t in reversed(range(times)):
        beta = np.where(t == ends, final, arrived(beta[:, ::-1], may_skip)[:, ::-1]) + probs[t]
        through[t] = alpha[:, t] + beta
    most = through.max(-1, keepdims=True)
    most = np.where(np.isfinite(most), most, 0)
    share = np.zeros(log_probs.shape, log_probs.dtype)
    rows = np.arange(times)[:, None, None], np.arange(batch)[:, None], state
    np.add.at(share, rows, np.exp(through - most))
    with np.errstate(divide="ignore", invalid="ignore"):
        result = np.exp(log_probs) - np.exp(np.log(share) + most + loss[:, None] - log_probs)
    result *= grad[:, None]
    unread = np.arange(times)[:, None] > ends.T
    result[unread | (zero_infinity & np.isinf(loss))] = 0
    return result


CPU_KERNELS.update({"_ctc_loss": ctc_loss, "_ctc_loss_backward": ctc_loss_backward})
