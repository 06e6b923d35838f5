"""Solutions of 'names.attention'. A wrong one's docstring is what the hint has to say."""
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


def wrong_future(q, k, v):
    """Here a position looks at later positions: fill their scores with minus infinity before the softmax."""
    return scores_of(q, k).softmax(-1) @ v


def wrong_no_scale(q, k, v):
    """Divide the scores by the square root of the vectors' length."""
    return mean(scores_of(q, k, 1), v)


def wrong_length(q, k, v):
    """Divide the scores by the square root of the length, not by the length."""
    return mean(scores_of(q, k, 1 / q.shape[-1]), v)


def wrong_positions(q, k, v):
    """Use the length of the vectors, the last dimension, not the number of positions."""
    return mean(scores_of(q, k, q.shape[-2] ** -0.5), v)


def wrong_multiplied(q, k, v):
    """Divide the scores by the root, do not multiply by it."""
    return mean(scores_of(q, k, q.shape[-1] ** 0.5), v)


def wrong_past_hidden(q, k, v):
    """It is the other way round: hide later positions, and show earlier ones."""
    scores = scores_of(q, k)
    return scores.masked_fill(hidden(scores).t(), -math.inf).softmax(-1) @ v


def wrong_not_itself(q, k, v):
    """A position may look at itself"""
    return mean(scores_of(q, k), v, 0)


def wrong_one_too_many(q, k, v):
    """Hide every position after the position itself, from the next one on: triu(1)."""
    return mean(scores_of(q, k), v, 2)


def wrong_zero_filled(q, k, v):
    """A score of 0 is a score like any other: only minus infinity becomes a weight of 0."""
    return scores_of(q, k).tril().softmax(-1) @ v


def wrong_after_the_softmax(q, k, v):
    """fill before the softmax"""
    return scores_of(q, k).softmax(-1).tril() @ v


def wrong_dimension(q, k, v):
    """The softmax runs along the keys, the last dimension."""
    return mean(scores_of(q, k), v, dim=-2)


def wrong_over_heads(q, k, v):
    """The softmax runs along the keys, the last dimension, not over heads."""
    return mean(scores_of(q, k), v, dim=1)


def wrong_roles(q, k, v):
    """Rows of the scores are queries"""
    return mean(scores_of(k, q), v)


def wrong_weights_alone(q, k, v):
    """Apply the weights to the values: weights @ v."""
    scores = scores_of(q, k)
    return scores.masked_fill(hidden(scores), -math.inf).softmax(-1)


def wrong_no_softmax(q, k, v):
    """The softmax is missing"""
    return scores_of(q, k).tril() @ v


def wrong_transpose(q, k, v):
    """k.t() takes two dimensions only, and k.T reverses all of them: k.transpose(-2, -1) swaps the last two."""
    return (q @ k.t()).softmax(-1) @ v


def wrong_detached(q, k, v):
    """do not detach"""
    scores = scores_of(q, k)
    return scores.masked_fill(hidden(scores), -math.inf).softmax(-1).detach() @ v
