"""The schemas: a table a family, one row an operator, ``flags schema``.

Flags: ``f`` a function of torch, ``m`` a method, ``i`` has an in-place form, ``o`` an ``out=`` form, ``n`` numbers
may stand for tensors (but for the first), ``e`` the tensor given as ``out`` must have exactly the result's dtype,
``x`` it must share no memory with what is read, ``t`` one that the result's dtype cannot be cast to is a TypeError,
``d`` the forms compute in the dtype of what they write to, ``v`` it changes a tensor's layout in place, not its values.
An ``out`` of another shape takes the result's strides, with ``l`` contiguous ones; of composites it is the other way
round; with ``z``, one without elements does so even if it has the shape. The forms are derived from the one row.
"""
from importlib import import_module

from ..dispatcher import registry

#: In the order in which the operators are defined.
FAMILIES = (
    "core", "creation", "distance", "fft", "histogram", "indexing", "linalg", "random", "reduction", "scan", "search",
    "softmax", "sorting", "shape", "views", "activation", "comparison", "pointwise", "special", "nn", "optim",
)  # fmt: skip
for _family in FAMILIES:
    registry.define_table(import_module(f".{_family}", __name__).SCHEMAS, _family)
__all__ = ["registry"]
