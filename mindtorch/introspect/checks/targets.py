"""Silent mistakes in what a loss function is given: each row of ``RULES`` is a loss and what it takes."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ..why.explanation import Call
from .watching import Watcher, told, values_of

Given = Mapping[str, Any]
#: What is amiss: kind, title, cause, the cures.
Amiss = tuple[str, str, str, list[tuple[str, str]]]
SIGNS = ("soft_margin_loss", "hinge_embedding_loss", "margin_ranking_loss", "cosine_embedding_loss")


def _floats(tensor: Any) -> np.ndarray | None:
    values = values_of(tensor)
    return None if values is None or values.dtype.kind != "f" or not values.size or not np.isfinite(
        values).all() else values


def exchanged(name: str, given: Given) -> Iterator[Amiss]:
    """Find the model's output where the target belongs."""
    first, second = given.get("input"), given.get("target")
    if first is not None and second is not None and second.requires_grad and not first.requires_grad:
        yield ("operands exchanged", f"{name} was given its operands exchanged: the target first",
               "The first operand has no graph, and the second has: the loss measures the data by the model's output. "
               "Of this loss that is another number, with other gradients.",
               [("the model's output comes first", f"F.{name}(output, target)")])


def logarithms(name: str, given: Given) -> Iterator[Amiss]:
    """Check that kl_div gets logarithms of probabilities, and probabilities."""
    scores, target = _floats(given.get("input")), _floats(given.get("target"))
    if scores is None or target is None or not scores.ndim:
        return
    undone = np.exp(scores.astype(np.float64))
    sums = undone.sum(-1)
    if not any(np.allclose(undone.sum(dim), 1, atol=0.02) for dim in (-1, 1 % scores.ndim)):
        yield ("not logarithms", "kl_div was given what are no logarithms of probabilities",
               "Its first operand is to be logarithms: undone by exp, they add up to 1; here to "
               f"{sums.flat[0]:.3g} in the first row. What it computes is no divergence, and can be negative.",
               [("give it logarithms", "F.kl_div(F.log_softmax(scores, -1), p, reduction='batchmean')")])
    if not given.get("log_target") and (target < 0).any():
        yield ("not probabilities", "the target of kl_div is to be probabilities, and has negative numbers",
               "These seem to be logarithms. A negative weight counts as 0 in one term of the divergence, and with the "
               "wrong sign in the other.",
               [("say that they are logarithms", "F.kl_div(logp, logq, log_target=True, reduction='batchmean')"),
                ("or undo the logarithm", "F.kl_div(logp, logq.exp(), reduction='batchmean')")])


def zero_to_one(name: str, given: Given) -> Iterator[Amiss]:
    """Check that binary cross-entropy gets targets between 0 and 1."""
    target = _floats(given.get("target"))
    if target is not None and (target.min() < 0 or target.max() > 1):
        yield ("target out of range", f"the target of {name} is to be between 0 and 1, and goes from "
               f"{target.min():.3g} to {target.max():.3g}",
               "The loss is that of probabilities. With targets beyond 0 and 1 it has no lowest value: scores grow "
               "without end.",
               [("of -1 and 1 make 0 and 1", "y = (y + 1) / 2"), ("of classes", "y = F.one_hot(t).float()")])


def signs(name: str, given: Given) -> Iterator[Amiss]:
    """Check that losses with a margin get 1 and -1."""
    target = _floats(given.get("target"))
    if target is not None and set(np.unique(target).tolist()) == {0.0, 1.0}:
        yield ("targets are no signs", f"{name} wants targets 1 and -1, and gets 0 and 1",
               "The target is multiplied with the score. A sample with the target 0 has the same loss whatever its "
               "score is, so nothing is learnt from it.",
               [("make signs of them", "y = 2 * y - 1")])


def distribution(name: str, given: Given) -> Iterator[Amiss]:
    """Check that the targets of cross_entropy, where they are numbers of each class, are probabilities."""
    scores, target = values_of(given.get("input")), _floats(given.get("target"))
    if scores is None or target is None or scores.shape != target.shape or target.ndim < 2:
        return
    sums = target.sum(1)
    if not np.allclose(sums, 1, atol=0.05):
        yield ("targets are no distribution", f"the targets of cross_entropy add up to {sums.min():.3g} … "
               f"{sums.max():.3g} by sample, and not to 1",
               "It takes the probability of each class, of which one is true. If several may be true, or none, classes "
               "are questions of their own.",
               [("of several labels", "F.binary_cross_entropy_with_logits(scores, y)"),
                ("or of probabilities", "y = y / y.sum(1, keepdim=True)")])


def itself(name: str, given: Given) -> Iterator[Amiss]:
    """Find a contrastive loss that does not leave out the diagonal."""
    scores, target = _floats(given.get("input")), values_of(given.get("target"))
    if scores is None or target is None or scores.ndim != 2 or len(scores) < 4 or len(scores) != scores.shape[1]:
        return
    if target.dtype.kind != "i" or target.shape != scores.shape[:1] or not np.allclose(scores, scores.T, atol=1e-5):
        return
    each = np.arange(len(scores))
    if (scores.argmax(1) == each).all() and not (target == each).any():
        yield ("compared with itself", "each sample is compared with itself, which is nearest",
               "The diagonal of the similarities holds each sample's likeness to itself. It is the largest of the row, "
               "is never the answer, and takes most of the softmax.",
               [("leave the diagonal out", "scores = scores.masked_fill(torch.eye(len(z)).bool(), -1e9)")])


Rule = Callable[[str, Given], Iterator[Amiss]]
RULES: dict[str, tuple[Rule, ...]] = {
    "kl_div": (exchanged, logarithms),
    "binary_cross_entropy": (exchanged, zero_to_one),
    "binary_cross_entropy_with_logits": (exchanged, zero_to_one),
    "cross_entropy": (distribution, itself),
    **dict.fromkeys(SIGNS, (signs,)),
}


class Targets(Watcher):
    """The arguments of loss functions."""

    def function(self, name: str, given: Given, place: Call) -> None:
        for rule in RULES.get(name, ()):
            for kind, title, cause, fixes in rule(name, given):
                self.record.found(told(kind, title, cause, place, fixes, [
                    ("data", "", ""), (name, "takes something else", "-"), ("loss", "another one than meant", "-")]))
                return
