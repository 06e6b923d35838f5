"""Lesson 3: broadcasting and promotion."""
from __future__ import annotations

from ..tasks import Lab, Lesson, Mistake, Prediction
from . import torch

PREDICTIONS = (
    Prediction("shape", "a has the shape (4, 1, 6), and b the shape (3, 1). What is the shape of a + b?", (4, 3, 6),
               "Shapes are aligned at their right ends. Where one has size 1, or no dimension, its elements are read "
               "again and again, by a stride of 0."),
    Prediction("dtype", "What is the dtype of torch.ones(2) + torch.tensor(1.5, dtype=torch.float64)? Write it as "
               "text, such as 'float64'.", "float32",
               "The second tensor has no dimensions, and so counts as a number: it does not widen the other's dtype, "
               "unless it is of a higher kind (bool, integer, floating point, complex)."),
    Prediction("gradient", "w has the shape (3,) and a the shape (2, 3), all ones. What is the gradient of (a * "
                           "w).sum() with respect to w? Write three numbers.", (2, 2, 2),
               "Each element of w was used twice, once in each row. A small change of it counts twice in the sum, so "
               "the contributions of both rows are added."),
)


def unbroadcast(grad, shape):
    while grad.dim() > len(shape):  # dimensions that broadcasting added in front
        grad = grad.sum(0)
    for d, size in enumerate(shape):
        if size == 1 and grad.shape[d] != 1:
            grad = grad.sum(d, keepdim=True)
    return grad


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


def _count(shape):
    count = 1
    for size in shape:
        count *= size
    return count


def _grad(*shape, dtype=None):
    return torch.arange(float(_count(shape)), dtype=dtype).reshape(shape) + 1


CASES = (
    (_grad(2, 3), (2, 3)), (_grad(2, 3), (3,)), (_grad(2, 3), (2, 1)), (_grad(4, 3, 2), (3, 1)), (_grad(2, 3), ()),
    (_grad(3, 3), (3,)), (_grad(4, 1, 2), (1, 2)), (_grad(2, 3, dtype=torch.float64), (1, 3)),
)

LESSON = Lesson(
    3, "broadcasting", "What does `a + b` do when shapes and dtypes differ?", "03_broadcasting", 30, PREDICTIONS,
    (Lab(
        "unbroadcast", "What is the gradient of a tensor that was broadcast?", unbroadcast, CASES,
        ("An element that was read several times gets several contributions, which are added. Along which dimensions "
         "were elements read several times?",
         "There are two kinds: dimensions that the shape does not have are summed and disappear; dimensions of size 1 "
         "are summed and stay, with keepdim=True.",
         "While grad.dim() > len(shape): grad = grad.sum(0). Then, for every d with shape[d] == 1: grad = grad.sum(d, "
         "keepdim=True)."),
        MISTAKES, 3,
        hidden=((_grad(2, 3, 4, 5), (3, 1, 5)), (_grad(5, 1), (1,)), (_grad(2, 2, 2), (1, 1, 1))),
        describe=lambda grad, shape: f"unbroadcast(a gradient of shape {tuple(grad.shape)}, {shape})"),
     ),
)
