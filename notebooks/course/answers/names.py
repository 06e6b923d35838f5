"""Mistakes that readers of lesson 16 make, each with its hint, and cases that only graders run."""
from __future__ import annotations

import mindtorch as torch
from mindtorch.course.masters import Mistake, solution

attention = solution("names.attention")


def _attention(*, scale=lambda length, positions: length ** 0.5, mask=lambda later: later.triu(1), fill=float("-inf"),
               dim=-1, after=False, swap=False, weights=lambda w: w, use=lambda w, v: w @ v):
    """Attention, but for what is said."""

    def mine(q, k, v):
        positions, length = q.shape[-2:]
        q, k = (k, q) if swap else (q, k)
        scores = q @ k.transpose(-2, -1) / scale(length, positions)
        later = mask(torch.ones(positions, positions, dtype=torch.bool))
        if after:
            return use(weights(scores.softmax(dim).masked_fill(later, 0)), v)
        return use(weights(scores.masked_fill(later, fill).softmax(dim)), v)

    return mine


MISTAKES = (
    Mistake("Here a position looks at later positions: fill their scores with minus infinity before the softmax.",
            _attention(mask=lambda later: ~later)),
    Mistake("Divide the scores by the square root of the vectors' length.", _attention(scale=lambda n, t: 1)),
    Mistake("Divide the scores by the square root of the length, not by the length.",
            _attention(scale=lambda n, t: n)),
    Mistake("Use the length of the vectors, the last dimension, not the number of positions.",
            _attention(scale=lambda n, t: t ** 0.5)),
    Mistake("Divide the scores by the root, do not multiply by it.",
            _attention(scale=lambda n, t: n ** -0.5)),
    Mistake("It is the other way round: hide later positions, and show earlier ones.",
            _attention(mask=lambda later: later.tril(-1))),
    Mistake("A position may look at itself, too: hide only the positions after it, triu(1).",
            _attention(mask=lambda later: later.triu(0))),
    Mistake("Hide every position after the position itself, from the next one on: triu(1).",
            _attention(mask=lambda later: later.triu(2))),
    Mistake("A score of 0 is a score like any other: only minus infinity becomes a weight of 0.", _attention(fill=0.0)),
    Mistake("The weights of a position sum to 1: fill before the softmax, not after it.", _attention(after=True)),
    Mistake("The softmax runs along the keys, the last dimension.", _attention(dim=-2)),
    Mistake("The softmax runs along the keys, the last dimension, not over heads.", _attention(dim=1)),
    Mistake("The softmax runs along the keys, the last dimension, not over names.", _attention(dim=0)),
    Mistake("Rows of the scores are queries and columns are keys: q @ k.transpose(-2, -1).", _attention(swap=True)),
    Mistake("Apply the weights to the values: weights @ v.", _attention(use=lambda w, v: w)),
    Mistake("Apply the weights to the values as they are: weights @ v, without transposing.",
            _attention(use=lambda w, v: w.transpose(-2, -1) @ v)),
    Mistake("The softmax is missing: it turns scores into weights that sum to 1.",
            lambda q, k, v: (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).tril() @ v),
    Mistake("k.t() takes two dimensions only, and k.T reverses all of them: k.transpose(-2, -1) swaps the last two.",
            lambda q, k, v: q @ k.t() @ v),
    Mistake("k.t() takes two dimensions only, and k.T reverses all of them: k.transpose(-2, -1) swaps the last two.",
            lambda q, k, v: q @ k.T @ v),
    Mistake("Queries are compared with keys, and the values are what is averaged: k and v are exchanged here.",
            lambda q, k, v: attention(q, v, k)),
    Mistake("Here all values count equally: the weights come from the products of queries and keys.",
            lambda q, k, v: attention(0 * q.detach(), k.detach(), v)),
    Mistake("Gradients flow through the weights, too: do not detach.", _attention(weights=lambda w: w.detach())),
)

MISTAKES_OF = {"attention": MISTAKES}
HIDDEN = {"attention": ((3, 2, 7, 3),)}
