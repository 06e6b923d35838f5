"""Solutions of 'broadcasting.unbroadcast'. The hint has a wrong one's docstring, or the text in `WRONG`."""
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


def wrong_kept(grad, shape):
    """drop them, by a sum without keepdim"""
    padded = (1,) * (grad.dim() - len(shape)) + tuple(shape)
    for d, n in enumerate(padded):
        if n == 1:
            grad = grad.sum(d, keepdim=True)
    return grad


WRONG = [
    ("Nothing is summed yet", lambda grad, shape: grad.clone()),
    ("Sum only the dimensions that were stretched; keep the others.",
     lambda grad, shape: torch.tensor(grad.sum().item(), dtype=grad.dtype)),
    ("The shape is right, but elements were left out: reshaping and slicing only pick elements, so sum them.",
     lambda grad, shape: grad.reshape(-1)[:torch.empty(shape).numel()].view(shape)),
    ("keeps its dtype", lambda grad, shape: right_in_one_sum(grad, shape).to(torch.float32)),
    ("not ones of its shape", lambda grad, shape: torch.ones(shape, dtype=grad.dtype)),
]
