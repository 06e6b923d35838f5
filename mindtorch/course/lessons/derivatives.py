"""Lesson 6: where do gradients come from?"""
from __future__ import annotations

from ..tasks import Lab, Lesson, Prediction
from . import torch

PREDICTIONS = (
    Prediction("relu", "x is (-1, 0, 2). What is the gradient of x.relu().sum() with respect to x? Write three "
                       "numbers.", (0, 0, 1),
               "Where x is negative a small change of it changes nothing; where it is positive the sum changes as much "
               "as x. At 0 the curve has a corner and no slope; PyTorch takes 0."),
    Prediction("kept", "The derivative of exp(x) is exp(x). What should the node of exp save for the backward pass: "
                       "its input (write 'self') or its output (write 'result')?", "result",
               "The derivative is the output itself. A node that saves the input has to compute the exponential "
               "twice."),
    Prediction("softmax", "x has three elements. What is the gradient of x.softmax(0).sum() with respect to x? Write "
                          "three numbers.", (0, 0, 0),
               "The softmax of any x sums to 1. A sum that cannot change has slope 0, though its elements have "
               "slopes."),
)


def _case(grad, x):
    return torch.tensor(grad), torch.tensor(x).relu()


def _case_of_softmax(grad, x, dim):
    return torch.tensor(grad), torch.tensor(x).log_softmax(dim), dim


def _described(name):
    def describe(grad, result, *dim):
        return f"{name}(grad of shape {tuple(grad.shape)}, result{''.join(f', {d}' for d in dim)})"

    return describe


#: The functions that run backward passes.
ENGINE = ("autograd.grad", "autograd.backward", "Tensor.backward", "_autograd.engine.execute")

LESSON = Lesson(
    6, "derivatives", "Where do gradients come from?", "06_derivatives", 35, PREDICTIONS,
    (Lab(
        "relu", "What is the derivative of relu?", "relu_backward",
        (_case([1., 1, 1], [3., 2, 1]), _case([1., 1, 1], [-1., 2, 3]), _case([2., 3, 4], [-1., 5, 0.5]),
         _case([-2., -3, 4], [1., -5, 0.5]), _case([1., 1], [0., 1]), _case([[1., 2], [3, 4]], [[-1., 1], [2, -2]]),
         _case([float("inf"), 1], [-1., 1])),
        ("Where relu passed its input through, the slope is 1; where it returned 0, the slope is 0.",
         "By the chain rule the slope is multiplied by the gradient that arrives: it passes where the result is "
         "positive, and is 0 elsewhere.",
         "torch.where(condition, a, b) takes from a where the condition holds, and from b elsewhere."),
        2, describe=_described("relu_backward"),
        refuses=("threshold_backward", *ENGINE)),
     Lab(
        "log_softmax", "What is the derivative of log_softmax?", "log_softmax_backward",
        (_case_of_softmax([1., 0, 0], [1., 2, 3], 0), _case_of_softmax([1., 2, 3], [0.5, -1., 2], 0),
         _case_of_softmax([[1., 2, 3], [4, 5, 7]], [[0.5, -1., 2], [1, 0, 0]], 1),
         _case_of_softmax([[1., 2, 3], [4, 5, 7]], [[0.5, -1., 2], [1, 0, 0]], 0),
         _case_of_softmax([[[1.], [-2]], [[3], [4]]], [[[1.], [0]], [[2], [5]]], 1),
         _case_of_softmax([1., 2, -1], [1000., 0, -1000], 0)),
        ("log_softmax(x) is x minus one number for each row, log(sum(exp(x))). The first term passes the gradient "
         "through unchanged. What does the second do?",
         "The derivative of log(sum(exp(x))) with respect to an element is its softmax, which is result.exp(). It is "
         "subtracted from all outputs of the row, so their gradients are added up.",
         "grad - softmax * grad.sum(dim, keepdim=True)"),
        3, describe=_described("log_softmax_backward"),
        refuses=("_log_softmax_backward_data", *ENGINE)),
     ),
)
