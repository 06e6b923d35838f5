"""Lesson 3: broadcasting and promotion."""
from __future__ import annotations

from ..tasks import Lab, Lesson, Prediction
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
        "unbroadcast", "What is the gradient of a tensor that was broadcast?", "unbroadcast", CASES,
        ("An element that was read several times gets several contributions, which are added. Along which dimensions "
         "were elements read several times?",
         "There are two kinds: dimensions that the shape does not have are summed and disappear; dimensions of size 1 "
         "are summed and stay, with keepdim=True.",
         "While grad.dim() > len(shape): grad = grad.sum(0). Then, for every d with shape[d] == 1: grad = grad.sum(d, "
         "keepdim=True)."),
        3, refuses=("sum_to_size",),
        describe=lambda grad, shape: f"unbroadcast(a gradient of shape {tuple(grad.shape)}, {shape})"),
     ),
)
