"""Solutions of 'names.attention'. The hint has a wrong one's docstring, or the text in `WRONG`."""
import math

import mindtorch as torch


def right_with_a_mask_that_is_added(q, k, v):
    scores = scores_of(q, k)
    mask = torch.full(scores.shape[-2:], -math.inf).triu(1)
    return (scores + mask).softmax(-1).matmul(v)


def right_position_by_position(q, k, v):
    """Only what may be seen is computed."""
    found = []
    for i in range(q.shape[-2]):
        scores = (k[..., :i + 1, :] * q[..., i:i + 1, :]).sum(-1) / math.sqrt(q.shape[-1])
        weights = (scores - scores.max(-1, keepdim=True).values).exp()
        weights = weights / weights.sum(-1, keepdim=True)
        found.append((weights.unsqueeze(-1) * v[..., :i + 1, :]).sum(-2))
    return torch.stack(found, -2)


def scores_of(q, k, scale=None):
    return torch.einsum("bhid,bhjd->bhij", q, k) * (q.shape[-1] ** -0.5 if scale is None else scale)


def hidden(scores, distance=1):
    i = torch.arange(scores.shape[-1])
    return i[None, :] - i[:, None] >= distance


def mean(scores, v, distance=1, value=-math.inf, dim=-1):
    return torch.where(hidden(scores, distance), torch.tensor(value), scores).softmax(dim) @ v


def wrong_detached(q, k, v):
    """do not detach"""
    scores = scores_of(q, k)
    return scores.masked_fill(hidden(scores), -math.inf).softmax(-1).detach() @ v


WRONG = [
    ("Divide the scores by the root, do not multiply by it.",
     lambda q, k, v: mean(scores_of(q, k, q.shape[-1] ** 0.5), v)),
    ("Hide every position after the position itself, from the next one on: triu(1).",
     lambda q, k, v: mean(scores_of(q, k), v, 2)),
    ("The softmax runs along the keys, the last dimension, not over heads.",
     lambda q, k, v: mean(scores_of(q, k), v, dim=1)),
    ("k.t() takes two dimensions only, and k.T reverses all of them: k.transpose(-2, -1) swaps the last two.",
     lambda q, k, v: (q @ k.t()).softmax(-1) @ v),
]
