"""Solutions of 'broadcasting.unbroadcast'. A wrong one's docstring is what the hint has to say."""
import numpy as np

import mindtorch as torch


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


def wrong_nothing(grad, shape):
    """Nothing is summed yet"""
    return grad.clone()


def wrong_first_row(grad, shape):
    """All rows count, not only the first: add them."""
    while grad.dim() > len(shape):
        grad = grad[0]
    return grad[tuple(slice(0, n) for n in shape)]


def wrong_mean(grad, shape):
    """not averaged"""
    extra = grad.dim() - len(shape)
    dims = [*range(extra), *[d for d in range(extra, grad.dim()) if shape[d - extra] == 1]]
    return grad.mean(dims).reshape(shape) if dims else grad


def wrong_front_only(grad, shape):
    """Sum over the dimensions of size 1, too"""
    for _ in range(grad.dim() - len(shape)):
        grad = grad.sum(0)
    return grad


def wrong_ones_only(grad, shape):
    """that broadcasting put in front, too"""
    padded = (0,) * (grad.dim() - len(shape)) + tuple(shape)
    for d, n in enumerate(padded):
        if n == 1:
            grad = grad.sum(d, keepdim=True)
    return grad


def wrong_dropped(grad, shape):
    """keepdim=True"""
    padded = (1,) * (grad.dim() - len(shape)) + tuple(shape)
    for d in reversed(range(grad.dim())):
        if padded[d] == 1 and (grad.shape[d] != 1 or d < grad.dim() - len(shape)):
            grad = grad.sum(d)
    return grad


def wrong_kept(grad, shape):
    """drop them, by a sum without keepdim"""
    padded = (1,) * (grad.dim() - len(shape)) + tuple(shape)
    for d, n in enumerate(padded):
        if n == 1:
            grad = grad.sum(d, keepdim=True)
    return grad


def wrong_end(grad, shape):
    """aligned at their right ends"""
    for _ in range(grad.dim() - len(shape)):
        grad = grad.sum(grad.dim() - 1)
    for d, n in enumerate(shape):
        if n == 1:
            grad = grad.sum(d, keepdim=True)
    return grad


def wrong_all(grad, shape):
    """Sum only the dimensions that were stretched; keep the others."""
    return torch.full(shape, grad.sum().item(), dtype=grad.dtype)


def wrong_scalar(grad, shape):
    """Sum only the dimensions that were stretched; keep the others."""
    return torch.tensor(grad.sum().item(), dtype=grad.dtype)


def wrong_slice(grad, shape):
    """The shape is right, but elements were left out: reshaping and slicing only pick elements, so sum them."""
    return grad.reshape(-1)[:torch.empty(shape).numel()].view(shape)


def wrong_dtype(grad, shape):
    """keeps its dtype"""
    return right_in_one_sum(grad, shape).to(torch.float32)


def wrong_ones(grad, shape):
    """not ones of its shape"""
    return torch.ones(shape, dtype=grad.dtype)
