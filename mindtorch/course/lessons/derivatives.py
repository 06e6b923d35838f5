"""Lesson 6: where do gradients come from?"""
from __future__ import annotations

from functools import partial

from ..tasks import Lab, lesson
from . import torch


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

LESSON = lesson(
    "derivatives", relu=partial(
        Lab, cases=(
         _case([1., 1, 1], [3., 2, 1]), _case([1., 1, 1], [-1., 2, 3]), _case([2., 3, 4], [-1., 5, 0.5]),
         _case([-2., -3, 4], [1., -5, 0.5]), _case([1., 1], [0., 1]), _case([[1., 2], [3, 4]], [[-1., 1], [2, -2]]),
         _case([float("inf"), 1], [-1., 1])),
        describe=_described("relu_backward"), refuses=("threshold_backward", *ENGINE)),
    log_softmax=partial(
        Lab, cases=(
         _case_of_softmax([1., 0, 0], [1., 2, 3], 0), _case_of_softmax([1., 2, 3], [0.5, -1., 2], 0),
         _case_of_softmax([[1., 2, 3], [4, 5, 7]], [[0.5, -1., 2], [1, 0, 0]], 1),
         _case_of_softmax([[1., 2, 3], [4, 5, 7]], [[0.5, -1., 2], [1, 0, 0]], 0),
         _case_of_softmax([[[1.], [-2]], [[3], [4]]], [[[1.], [0]], [[2], [5]]], 1),
         _case_of_softmax([1., 2, -1], [1000., 0, -1000], 0)),
        describe=_described("log_softmax_backward"), refuses=("_log_softmax_backward_data", *ENGINE)))
