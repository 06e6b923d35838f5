"""Derivatives of sorting and selection: gradients go where the values came from."""
from __future__ import annotations

from ..derivative import derivative
from .reduction import extremum_grad, selection_grad

SELECTIONS = {
    "kthvalue": None, "mode": None, "median.dim": "MedianBackward1", "nanmedian.dim": "NanmedianBackward1",
}
SORTS = {"sort": None, "sort.stable": "SortBackward1", "topk": None}
for name, node in SELECTIONS.items():
    derivative(name, node, self=lambda grad, self_shape, dim, indices, keepdim: (
        selection_grad(grad, self_shape, dim, indices, keepdim)))
for name, node in SORTS.items():
    derivative(name, node, self=lambda grad, self_shape, dim, indices: (selection_grad(grad, self_shape, dim, indices)))
derivative("median nanmedian", self=lambda grad, self, result: extremum_grad(grad, self, result))
