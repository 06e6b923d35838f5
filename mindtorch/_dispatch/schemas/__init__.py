"""The schemas: one table per family, one row per operator, ``schema  # what it computes``, below headings of words.

A heading says what there is of the operators below it. ``function``, ``method``: one of torch, and of tensors (as in
PyTorch's ``variants``). ``in-place``, ``out``: a form that writes into ``self``, or into ``out=``; the forms are made
from the one row. ``operator only``: none of these. Of the rarer words, these are about arguments and memory:

``wrapped numbers``: numbers may stand for tensors, but for the first (PyTorch's term). ``dtype of out``: the forms
compute in the dtype of what they write to. ``exact dtype``: ``out`` must have the result's dtype, not only one that it
can be cast to; where it cannot, ``TypeError`` is raised in place of RuntimeError. ``no overlap``: ``out`` must share no
memory with what is read, unless it is an operand of a pointwise operator. ``contiguous out``: an ``out`` of another
shape becomes contiguous, and does not take the result's strides; of composite operators it becomes so, unless there is
``strided out``. ``empty out resized``: this also happens to an ``out`` without elements that has the right shape.
``explicit``: to ``__torch_dispatch__`` the operator is one of its own though it is written in others. ``inplace_view``
(PyTorch's tag): the operator changes a tensor's layout in place, not its values.
"""
from importlib import import_module

from ..dispatcher import registry

#: In the order in which the operators are defined.
FAMILIES = (
    "core", "creation", "distance", "foreach", "fft", "histogram", "indexing", "linalg", "random", "reduction", "scan",
    "search",
    "softmax", "sorting", "shape", "views", "activation", "comparison", "pointwise", "special", "nn", "optim",
    "ctc", "spectrogram", "recurrent", "embedding", "attention", "normalization", "convolution", "pooling", "resampling",
)
for _family in FAMILIES:
    registry.define_table(import_module(f".{_family}", __name__).SCHEMAS, _family)
__all__ = ["registry"]
