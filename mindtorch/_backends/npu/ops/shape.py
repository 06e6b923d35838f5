"""NPU rows of what joins, repeats and rearranges elements, and of indexing."""
from __future__ import annotations

from typing import Any

from ...._dtype import int64
from . import ACLNN_CALLS
from .pointwise import named
from .row import Aclnn, OnCopy

#: ACLNN's codes of what a scatter does with what is there.
REDUCTIONS = {"add": 1, "sum": 1, "multiply": 2, "prod": 2}


def reduces(*args: Any) -> bool:
    return args[-1] in REDUCTIONS


def by_integers(self: Any, indices: Any, *rest: Any) -> bool:
    """Whether none of the indices is a mask, with which the shape depends on data, and none is empty or left out at the
    end: an empty index means a dimension that is left out (op-plugin's convention).
    """
    return all(index is None or (index._dtype.name in ("int32", "int64") and index.numel()) for index in indices)


def spelled(self: Any, indices: Any) -> list[Any]:
    """Indices as ACLNN takes them."""
    return [self.new_empty((0,), dtype=int64) if index is None else index.to(self._device) for index in indices]


ACLNN_CALLS.update({
    **named("""
        cat Cat                      stack Stack                  flip Flip                    tril Tril
        triu Triu                    constant_pad_nd ConstantPadNd                             repeat Repeat
        index_select IndexSelect     scatter_add ScatterAdd       take Take
        reflection_pad1d ReflectionPad1d                          reflection_pad1d_backward ReflectionPad1dBackward
        reflection_pad2d ReflectionPad2d                          reflection_pad2d_backward ReflectionPad2dBackward
        replication_pad1d ReplicationPad1d                        replication_pad1d_backward ReplicationPad1dBackward
        replication_pad2d ReplicationPad2d                        replication_pad2d_backward ReplicationPad2dBackward
    """),
    "roll": Aclnn("aclnnRoll", when=lambda self, shifts, dims: len(shifts) == len(dims) > 0),
    "gather": Aclnn("aclnnGather", lambda self, dim, index, sparse_grad, out: (self, dim, index, out)),
    "scatter.src": Aclnn("aclnnScatter", lambda self, dim, index, src, out: (self, dim, index, src, 0, out)),
    "scatter.value": Aclnn("aclnnScatterValue", lambda self, dim, index, value, out: (self, dim, index, value, 0, out)),
    "scatter.reduce": Aclnn("aclnnScatter", lambda self, dim, index, src, reduce, out: (
        self, dim, index, src, REDUCTIONS[reduce], out), when=reduces),
    "index.Tensor": Aclnn("aclnnIndex", lambda self, indices, out: (
        self, spelled(self, indices), out), when=by_integers),
    "index_put": OnCopy("aclnnIndexPutImpl", lambda self, indices, values, accumulate: (
        self, spelled(self, indices), values, accumulate, False), when=by_integers),
    "index_copy": OnCopy("aclnnInplaceIndexCopy", when=lambda self, *rest: self.ndim > 0),
    "put": OnCopy("aclnnInplacePut"),
    "masked_fill.Scalar": OnCopy("aclnnInplaceMaskedFillScalar"),
    "masked_fill.Tensor": OnCopy("aclnnInplaceMaskedFillTensor",
                                 when=lambda self, mask, value: value.device == self.device),
    "masked_scatter": OnCopy("aclnnInplaceMaskedScatter"),
    "index_add": Aclnn("aclnnIndexAdd"),
    "fill_.Scalar": Aclnn("aclnnInplaceFillScalar"),
    "fill_.Tensor": Aclnn("aclnnInplaceFillTensor", when=lambda self, value: value.device == self.device),
    "zero_": Aclnn("aclnnInplaceZero"),
})
