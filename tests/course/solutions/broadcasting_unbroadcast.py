"""Solutions of 'broadcasting.unbroadcast', right and wrong."""
import numpy as np

import mindtorch as torch


def right_one_dimension_at_a_time(grad, shape):
    for _ in range(grad.dim() - len(shape)):
        grad = grad.sum(0)
    for d, size in enumerate(shape):
        if size == 1:
            grad = grad.sum(d, keepdim=True)
    return grad


def right_by_asking_autograd(grad, shape):
    with torch.enable_grad():
        leaf = torch.zeros(shape, dtype=grad.dtype, requires_grad=True)
        leaf.expand(grad.shape).backward(grad)
    return leaf.grad


def wrong_first_elements(grad, shape):
    """All rows count, not only the first: add them."""
    while grad.dim() > len(shape):
        grad = grad[0]
    return grad[tuple(slice(0, n) for n in shape)]


def wrong_keepdim_forgotten(grad, shape):
    """A dimension of size 1 stays, with size 1: sum with keepdim=True"""
    lead = grad.dim() - len(shape)
    dims = [d for d in range(grad.dim()) if d < lead or shape[d - lead] == 1]
    return grad.sum(dims) if dims else grad


def wrong_mean(grad, shape):
    """The contributions are added, not averaged"""
    while grad.dim() > len(shape):
        grad = grad.mean(0)
    for d, size in enumerate(shape):
        if size == 1:
            grad = grad.mean(d, keepdim=True)
    return grad


def wrong_aligned_left(grad, shape):
    """Shapes are aligned at their right ends, so the dimensions that were added are the first ones"""
    for d, size in enumerate(shape):
        if size == 1 and grad.shape[d] != 1:
            grad = grad.sum(d, keepdim=True)
    while grad.dim() > len(shape):
        grad = grad.sum(-1)
    return grad


def wrong_only_missing(grad, shape):
    """Sum over the dimensions of size 1, too: broadcasting stretched them"""
    while grad.dim() > len(shape):
        grad = grad.sum(0)
    return grad


def wrong_only_ones(grad, shape):
    """Sum over the dimensions that broadcasting put in front, too, and drop them"""
    for d in range(1, len(shape) + 1):
        if shape[-d] == 1:
            grad = grad.sum(-d, keepdim=True)
    return grad


def wrong_maximum(grad, shape):
    """Add all contributions: do not take the largest."""
    while grad.dim() > len(shape):
        grad = grad.max(0).values
    for d, size in enumerate(shape):
        if size == 1:
            grad = grad.max(d, keepdim=True).values
    return grad


def wrong_returns_nothing(grad, shape):
    """Is the return missing?"""
    while grad.dim() > len(shape):
        grad = grad.sum(0)
    for d, size in enumerate(shape):
        if size == 1:
            grad = grad.sum(d, keepdim=True)


def right_in_one_sum(grad, shape):
    extra = grad.dim() - len(shape)
    dims = [*range(extra), *[d for d in range(extra, grad.dim()) if shape[d - extra] == 1]]
    return grad.sum(dims).reshape(shape) if dims else grad


def right_by_adding_elements(grad, shape):
    total = np.zeros(shape, grad.numpy().dtype)
    for index, value in np.ndenumerate(grad.numpy()):
        index = index[grad.dim() - len(shape):]
        total[tuple(i if n > 1 else 0 for i, n in zip(index, shape))] += value
    return torch.from_numpy(total)


WRONG = [
    ("Reshaping keeps all elements, and the shape has fewer: add those that belong to one.",
     lambda grad, shape: grad.reshape(shape)),
    ("Sum only the dimensions that were stretched; keep the others.", lambda grad, shape: grad.sum().expand(shape)),
]
