"""CPU kernels of connectionist temporal classification (Graves et al., 2006).

A label sequence is expanded to states: a blank, the first label, a blank, the second label, ..., a blank. At each time
step a path stays, advances to the next state, or skips a blank between two different labels. ``alpha`` holds the log
probabilities of all paths from the start to a state, ``beta`` of all paths from it to the end, batched.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ...._base import loops
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


PASSES = 16  #: of NumPy, for a step


def paths(probs: np.ndarray, may_skip: np.ndarray, first: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the log probabilities of all paths to each state, (time, batch, states), given those of the states; paths
    of a sample begin at a time of its own with the factors ``first``.
    """
    out = np.full(probs.shape, -np.inf)
    if loop := loops.add_paths.compiled(PASSES * (probs.size + CALL * len(probs))):
        loop(np.ascontiguousarray(probs), may_skip.astype(np.uint8), np.ascontiguousarray(first), starts, out)
        return out
    for t, now in enumerate(out):
        now[:] = np.where(starts[:, None] == t, first, arrived(out[t - 1], may_skip) if t else -np.inf) + probs[t]
    return out


CALL = 1 << 10  #: elements that NumPy computes in the time of a call


def ctc_loss(log_probs: np.ndarray, targets: np.ndarray, input_lengths: Ints, target_lengths: Ints, blank: int = 0,
             zero_infinity: bool = False) -> tuple[Any, Any]:
    """Compute the forward pass, in double precision since logarithms of many factors accumulate."""
    log_probs = log_probs.astype(np.float64)
    times, batch, labels = log_probs.shape
    state = states(targets, target_lengths, blank, labels)
    first = np.where(np.arange(state.shape[1]) < 2, 0, np.full((batch, 1), -np.inf))
    alpha = paths(at_states(log_probs, state), skips(state, blank), first, np.zeros(batch, np.int64))
    rows, last, lengths = np.arange(batch), 2 * np.array(target_lengths), np.array(input_lengths)
    nothing = np.where(last == 0, 0, -np.inf)  # with an input of length 0, only an empty target has a path
    likely = nothing
    if times:
        ends = alpha[np.maximum(lengths, 1) - 1, rows]
        likely = np.logaddexp(ends[rows, last], np.where(last > 0, ends[rows, last - 1], -np.inf))
    return -np.where(lengths > 0, likely, nothing), alpha.swapaxes(0, 1)


def ctc_loss_backward(grad: np.ndarray, log_probs: np.ndarray, targets: np.ndarray, input_lengths: Ints,
                      target_lengths: Ints, loss: np.ndarray, alpha: np.ndarray, blank: int,
                      zero_infinity: bool = False) -> np.ndarray:
    log_probs = log_probs.astype(np.float64)
    times, batch, labels = log_probs.shape
    state = states(targets, target_lengths, blank, labels)
    last, ends, places = 2 * np.array(target_lengths)[:, None], np.array(input_lengths) - 1, np.arange(state.shape[1])
    final = np.where((places == last) | (places == last - 1), 0, -np.inf)
    turned = at_states(log_probs, state)[::-1, :, ::-1]  # paths from the end
    beta = paths(turned, skips(state[:, ::-1], blank), final[:, ::-1], times - 1 - ends)[::-1, :, ::-1]
    through = alpha.swapaxes(0, 1) + beta
    most = through.max(-1, keepdims=True)
    most = np.where(np.isfinite(most), most, 0)
    share = np.zeros(log_probs.shape, log_probs.dtype)
    rows = np.arange(times)[:, None, None], np.arange(batch)[:, None], state
    np.add.at(share, rows, np.exp(through - most))
    with np.errstate(divide="ignore", invalid="ignore"):
        result = np.exp(log_probs) - np.exp(np.log(share) + most + loss[:, None] - log_probs)
    result *= grad[:, None]
    unread = np.arange(times)[:, None] > ends
    result[unread | (zero_infinity & np.isinf(loss))] = 0
    return result


CPU_KERNELS.update({"_ctc_loss": ctc_loss, "_ctc_loss_backward": ctc_loss_backward})
