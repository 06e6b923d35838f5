"""Solutions of 'names.attention', right and wrong."""
import math

import mindtorch as torch


def right_with_einsum(q, k, v):
    scores = torch.einsum("nhid,nhjd->nhij", q, k) * q.shape[-1] ** -0.5
    n = q.shape[-2]
    later = torch.arange(n)[None, :] > torch.arange(n)[:, None]
    weights = torch.where(later, torch.tensor(float("-inf")).to(q.dtype), scores).softmax(dim=-1)
    return torch.einsum("nhij,nhjd->nhid", weights, v)


def right_position_by_position(q, k, v):
    rows = []
    for i in range(q.shape[2]):
        scores = (q[:, :, i:i + 1] * k[:, :, :i + 1]).sum(-1) / math.sqrt(q.shape[3])
        weights = (scores - scores.max(-1, keepdim=True).values).exp()
        weights = weights / weights.sum(-1, keepdim=True)
        rows.append((weights.unsqueeze(-1) * v[:, :, :i + 1]).sum(2))
    return torch.stack(rows, 2)


def attend(q, k, v, scale=None, diagonal=1, dim=-1, hide=float("-inf"), after=False):
    scores = q @ k.transpose(-1, -2) / (math.sqrt(q.shape[-1]) if scale is None else scale)
    mask = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(diagonal)
    if after:
        return scores.softmax(dim).masked_fill(mask, 0) @ v
    return scores.masked_fill(mask, hide).softmax(dim) @ v


def wrong_sees_what_comes(q, k, v):
    """It is the other way round: hide later positions, and show earlier ones."""
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril(-1)
    return scores.masked_fill(mask, float("-inf")).softmax(-1) @ v


def wrong_no_softmax(q, k, v):
    """The softmax is missing: it turns scores into weights that sum to 1."""
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    return scores.tril() @ v


def wrong_weights_returned(q, k, v):
    """Apply the weights to the values: weights @ v."""
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    mask = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return scores.masked_fill(mask, float("-inf")).softmax(-1)


def right_with_a_mask_that_is_added(q, k, v):
    scores = scores_of(q, k)
    mask = torch.full(scores.shape[-2:], -math.inf).triu(1)
    return (scores + mask).softmax(-1).matmul(v)


def right_position_by_position_too(q, k, v):
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


WRONG = [
    ("Divide the scores by the square root of the vectors' length.", lambda q, k, v: attend(q, k, v, scale=1)),
    ("Divide the scores by the square root of the length, not by the length.",
     lambda q, k, v: attend(q, k, v, scale=q.shape[-1])),
    ("Use the length of the vectors, the last dimension, not the number of positions.",
     lambda q, k, v: attend(q, k, v, scale=math.sqrt(q.shape[-2]))),
    ("Here a position looks at later positions: fill their scores with minus infinity before the softmax.",
     lambda q, k, v: (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).softmax(-1) @ v),
    ("A position may look at itself, too: hide only the positions after it, triu(1).",
     lambda q, k, v: attend(q, k, v, diagonal=0)),
    ("The softmax runs along the keys, the last dimension.", lambda q, k, v: attend(q, k, v, dim=-2)),
    ("A score of 0 is a score like any other: only minus infinity becomes a weight of 0.",
     lambda q, k, v: attend(q, k, v, hide=0.0)),
    ("The weights of a position sum to 1: fill before the softmax, not after it.",
     lambda q, k, v: attend(q, k, v, after=True)),
    ("Queries are compared with keys, and the values are what is averaged", lambda q, k, v: attend(q, v, k)),
    ("Rows of the scores are queries and columns are keys: q @ k.transpose(-2, -1)", lambda q, k, v: attend(k, q, v)),
    ("k.t() takes two dimensions only, and k.T reverses all of them: k.transpose(-2, -1) swaps the last two.",
     lambda q, k, v: (q @ k / math.sqrt(q.shape[-1])).softmax(-1) @ v),
    ("k.t() takes two dimensions only, and k.T reverses all of them: k.transpose(-2, -1) swaps the last two.",
     lambda q, k, v: (q @ k.t() / math.sqrt(q.shape[-1])).softmax(-1) @ v),
    ("Here all values count equally: the weights come from the products of queries and keys.",
     lambda q, k, v: v.cumsum(-2) / torch.arange(1, v.shape[-2] + 1).view(-1, 1)),
]
