"""Mistakes that readers of lesson 3 make, each with its hint, and cases that only graders run."""
from __future__ import annotations

import mindtorch as torch
from mindtorch.course.lessons.broadcasting import _count, _grad
from mindtorch.course.masters import Mistake, solution

unbroadcast = solution("broadcasting.unbroadcast")


def _extra(grad, shape):
    return range(grad.dim() - len(shape))


def _leading_only(grad, shape):
    return grad.sum(tuple(_extra(grad, shape))) if _extra(grad, shape) else grad


def _ones_only(grad, shape):
    offset = grad.dim() - len(shape)
    dims = tuple(d + offset for d, n in enumerate(shape) if n == 1 and grad.shape[d + offset] != 1)
    return grad.sum(dims, keepdim=True) if dims else grad


def _first(grad, shape):
    for _ in _extra(grad, shape):
        grad = grad[0]
    for d, n in enumerate(shape):
        grad = grad.narrow(d, 0, 1) if n == 1 else grad
    return grad


def _mean(grad, shape):
    for _ in _extra(grad, shape):
        grad = grad.mean(0)
    for d, n in enumerate(shape):
        grad = grad.mean(d, keepdim=True) if n == 1 else grad
    return grad


def _no_keepdim(grad, shape):
    offset = grad.dim() - len(shape)
    dims = (*_extra(grad, shape), *(d + offset for d, n in enumerate(shape) if n == 1 and grad.shape[d + offset] != 1))
    return grad.sum(dims) if dims else grad


def _largest(grad, shape):
    for _ in _extra(grad, shape):
        grad = grad.amax(0)
    for d, n in enumerate(shape):
        grad = grad.amax(d, keepdim=True) if n == 1 else grad
    return grad


def _keep_all(grad, shape):
    offset = grad.dim() - len(shape)
    dims = (*_extra(grad, shape), *(d + offset for d, n in enumerate(shape) if n == 1))
    return grad.sum(dims, keepdim=True) if dims else grad


def _last(grad, shape):
    while grad.dim() > len(shape):
        grad = grad.sum(-1)
    for d, n in enumerate(shape):
        grad = grad.sum(d, keepdim=True) if n == 1 else grad
    return grad


MISTAKES = (
    Mistake("Broadcasting read an element several times, and each time it contributed to the result: add the "
            "contributions. Nothing is summed yet.", lambda g, shape: g),
    Mistake("All rows count, not only the first: add them.", _first),
    Mistake("The contributions are added, not averaged.", _mean),
    Mistake("Sum over the dimensions of size 1, too: broadcasting stretched them.", _leading_only),
    Mistake("Sum over the dimensions that broadcasting put in front, too, and drop them.", _ones_only),
    Mistake("A dimension of size 1 stays, with size 1: sum with keepdim=True.", _no_keepdim),
    Mistake("The dimensions that broadcasting put in front are not in the shape: drop them, by a sum without keepdim.",
            _keep_all),
    Mistake("Shapes are aligned at their right ends, so the dimensions that were added are the first ones.", _last),
    Mistake("Sum only the dimensions that were stretched; keep the others.",
            lambda g, shape: g.sum().expand(shape)),
    Mistake("Sum only the dimensions that were stretched; keep the others.", lambda g, shape: g.sum()),
    Mistake("The shape is right, but elements were left out: reshaping and slicing only pick elements, so sum them.",
            lambda g, shape: g.flatten()[:_count(shape)].reshape(shape)),
    Mistake("Reshaping keeps all elements, and the shape has fewer: add those that belong to one.",
            lambda g, shape: g.reshape(shape)),
    Mistake("Add all contributions: do not take the largest.", _largest),
    Mistake("The gradient keeps its dtype.", lambda g, shape: unbroadcast(g, shape).float()),
    Mistake("Return the gradient itself, not ones of its shape.",
            lambda g, shape: unbroadcast(g * 0 + 1, shape)),
    Mistake("Return the gradient itself, not ones of its shape.",
            lambda g, shape: torch.ones(shape, dtype=g.dtype)),
)

MISTAKES_OF = {"unbroadcast": MISTAKES}
HIDDEN = {"unbroadcast": ((_grad(2, 3, 4, 5), (3, 1, 5)), (_grad(5, 1), (1,)), (_grad(2, 2, 2), (1, 1, 1)))}
