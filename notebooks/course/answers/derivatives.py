"""Mistakes that readers of lesson 6 make, each with its hint, and cases that only graders run."""
from __future__ import annotations

import mindtorch as torch
from mindtorch.course.lessons.derivatives import _case, _case_of_softmax
from mindtorch.course.masters import Mistake, solution

relu_backward = solution("derivatives.relu")
log_softmax_backward = solution("derivatives.log_softmax")


RELU_MISTAKES = (
    Mistake("Where relu returned 0 nothing passes: the gradient passes only where the result is greater than 0.",
            lambda g, r: g),
    Mistake("It is the other way round: where the result is positive the gradient passes.",
            lambda g, r: torch.where(r > 0, torch.zeros_like(g), g)),
    Mistake("That is only the slope: by the chain rule it is multiplied by the gradient that arrives.",
            lambda g, r: (r > 0).to(g.dtype)),
    Mistake("The slope of relu is 1 where the result is positive, and not the result itself.", lambda g, r: g * r),
    Mistake("The slope is 1 where the result is positive, and not one half.", lambda g, r: relu_backward(g, r) / 2),
    Mistake("The result decides whether the gradient passes, not the gradient's own sign.",
            lambda g, r: g.relu()),
    Mistake("The result decides whether the gradient passes, not the gradient's own sign.",
            lambda g, r: relu_backward(g, r).relu()),
    Mistake("An infinite gradient times 0 is NaN: choose with torch.where instead of multiplying.",
            lambda g, r: g * (r > 0)),
    Mistake("Where the result is 0 nothing passes at all, not even a little.",
            lambda g, r: torch.where(r > 0, g, 0.01 * g)),
    Mistake("Where the result is 0 nothing passes at all, not even a little.",
            lambda g, r: torch.where(r > 0, g, 0.5 * g)),
    Mistake("That is a mask of where the gradient passes, not the gradient: use it to choose between grad and 0.",
            lambda g, r: r > 0),
    Mistake("The gradient has the shape of the input: put a 0 where nothing passes.", lambda g, r: g[r > 0]),
    Mistake("A tensor has one truth value for each element: torch.where chooses element by element.",
            lambda g, r: g if r > 0 else torch.zeros_like(g)),
    Mistake("Do not write into the gradient that arrives: return a new tensor.",
            lambda g, r: g.masked_fill_(r == 0, 0)),
    Mistake("The gradient has the shape of the input: sum nothing.", lambda g, r: relu_backward(g, r).sum()),
    Mistake("The sign stays: relu rises where it is not flat.", lambda g, r: -relu_backward(g, r)),
)


MISTAKES = (
    Mistake("The softmax is the exponential of the log-softmax: result.exp().",
            lambda g, r, dim: g - r * g.sum(dim, keepdim=True)),
    Mistake("Each output depends on all inputs, through the sum in the denominator: a second term is missing.",
            lambda g, r, dim: g),
    Mistake("Each output depends on all inputs, so the second term has the sum of the gradients along dim, not each "
            "gradient by itself.", lambda g, r, dim: g - r.exp() * g),
    Mistake("The sum keeps its dimension, with size 1, so that it broadcasts against the rest: keepdim=True.",
            lambda g, r, dim: g - r.exp() * g.sum(dim)),
    Mistake("The sum runs along dim, not over all elements: rows are independent of each other.",
            lambda g, r, dim: g - r.exp() * g.sum()),
    Mistake("The sum runs along dim, which need not be the last dimension.",
            lambda g, r, dim: g - r.exp() * g.sum(-1, keepdim=True)),
    Mistake("The sum runs along dim, which need not be the first dimension.",
            lambda g, r, dim: g - r.exp() * g.sum(0, keepdim=True)),
    Mistake("The gradients are added, not averaged.", lambda g, r, dim: g - r.exp() * g.mean(dim, keepdim=True)),
    Mistake("The second term is subtracted: raising one input lowers the others' share.",
            lambda g, r, dim: g + r.exp() * g.sum(dim, keepdim=True)),
    Mistake("Both terms count in full: nothing is halved.", lambda g, r, dim: log_softmax_backward(g, r, dim) / 2),
    Mistake("That is the derivative of softmax; that of its logarithm is grad - softmax * the sum of grad.",
            lambda g, r, dim: r.exp() * (g - (g * r.exp()).sum(dim, keepdim=True))),
    Mistake("Sum the gradients alone, not gradients times softmax.",
            lambda g, r, dim: g - r.exp() * (g * r.exp()).sum(dim, keepdim=True)),
    Mistake("The softmax is multiplied by the sum of the gradients.", lambda g, r, dim: g - r.exp()),
    Mistake("In the second term, sum the gradients first, then multiply by each element's softmax.",
            lambda g, r, dim: g - (g * r.exp()).sum(dim, keepdim=True)),
    Mistake("result.exp() is the softmax already: do not take it a second time.",
            lambda g, r, dim: g - r.exp().softmax(dim) * g.sum(dim, keepdim=True)),
    Mistake("The second term has the softmax of the element as a factor.",
            lambda g, r, dim: g - g.sum(dim, keepdim=True)),
    Mistake("The first term is the gradient that arrives, not 1: by the chain rule the slope is multiplied by it.",
            lambda g, r, dim: 1 - r.exp() * g.sum(dim, keepdim=True)),
    Mistake("The sign is the wrong way round: it is grad - softmax * sum.",
            lambda g, r, dim: r.exp() * g.sum(dim, keepdim=True) - g),
)

MISTAKES_OF = {"relu": RELU_MISTAKES, "log_softmax": MISTAKES}
HIDDEN = {"relu": (_case([[5.]], [[0.]]),),
          "log_softmax": (_case_of_softmax([[0., 0], [1, 1]], [[3., 4], [5, 6]], -1),)}
