"""Derivatives of indexing."""
from __future__ import annotations

from typing import Any

from ..._base.formats import contiguous_format
from ..._base.layout import broadcast_shapes
from ..._dispatch.aten import (
    _unsafe_masked_index, _unsafe_masked_index_put_accumulate, index_put, index_put_, index_select_backward,
    masked_scatter_backward, ones_like, scatter_value, where_self as where, zeros as zeros_of, zeros_like,
)
from ..._dispatch.dispatcher import is_seen
from ..._dispatch.schemas import registry
from ..._dtype import bool_
from ..derivative import derivative


def zeros(grad: Any, shape: Any) -> Any:
    return grad.new_zeros(shape)


def source_grad(grad: Any, dim: int, index: Any, source_shape: Any) -> Any:
    """What of a gradient came from the source of ``index_add`` or ``index_copy``."""
    if source_shape:
        return grad.index_select(dim, index).expand(source_shape)
    return grad.index_select(dim, index.squeeze(0))


def index_fill_value_grad(grad: Any, dim: int, index: Any) -> Any:
    filled = zeros_like(grad).to(bool_).index_fill(dim, index, True)
    return grad.masked_fill(filled.logical_not(), 0).sum()


# The gradient is written into new zeros; into a copy of them, as in PyTorch, where somebody sees the operators.


def gather_grad(grad: Any, self_shape: Any, dim: int, index: Any) -> Any:
    whole = zeros(grad, self_shape)
    return whole.scatter_add(dim, index, grad) if is_seen(grad) else whole.scatter_add_(dim, index, grad)


def take_grad(grad: Any, self: Any, index: Any) -> Any:
    whole = zeros_like(self)
    return whole.put(index, grad, True) if is_seen(grad) else whole.put_(index, grad, True)


def masked_select_grad(grad: Any, self: Any, mask: Any) -> Any:
    shape = broadcast_shapes(self.shape, mask.shape)
    whole = zeros_like(self.expand(shape), None, None, None, None, contiguous_format)
    return whole.masked_scatter(mask, grad) if is_seen(grad) else whole.masked_scatter_(mask, grad)


class Along:
    """How an index relates a tensor and a source, in the operators of ``scatter_reduce`` or of ``index_reduce``."""

    def __init__(self, names: tuple[str, str, str, str], dim: int, index: Any):
        self.names, self.dim, self.index = names, dim, index

    def add(self, tensor: Any, source: Any) -> Any:
        """The source added into the tensor."""
        return getattr(tensor, self.names[0])(self.dim, self.index, source)

    def get(self, tensor: Any) -> Any:
        """The tensor's values at the places of the source."""
        return getattr(tensor, self.names[1])(self.dim, self.index)

    def fill(self, tensor: Any, value: Any) -> Any:
        """The tensor with this value at the places of the source."""
        return getattr(tensor, self.names[2])(self.dim, self.index, value)

    def multiply(self, tensor: Any, source: Any, include_self: bool) -> Any:
        """The source multiplied into the tensor."""
        return getattr(tensor, self.names[3])(self.dim, self.index, source, "prod", include_self=include_self)


SCATTER = ("scatter_add", "gather", "scatter", "scatter_reduce")
INDEX = ("index_add", "index_select", "index_fill", "index_reduce")


def reduce_grads(names: Any, grad: Any, self: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool,
                 result: Any) -> tuple[Any, Any]:
    """The gradients of ``scatter_reduce`` or ``index_reduce`` for both inputs (ATen's formulas)."""
    if not self.numel():
        return grad, grad
    if not index.numel():
        return grad, zeros(grad, src.shape)
    along = Along(names, dim, index)
    if reduce == "sum":
        of_self, of_src = grad, along.get(grad)
    elif reduce == "mean":
        count = along.add(ones_like(grad) if include_self else zeros_like(grad), ones_like(src))
        count = count.masked_fill(count == 0, 1)
        of_self, of_src = grad / count, along.get(grad) / along.get(count)
    elif reduce == "prod":
        of_self, of_src = prod_grads(along, grad, self, src, include_self, result)
    else:  # amax and amin: shared evenly by all that are equal to the result
        is_self, is_src = (self == result).to(self.dtype), (src == along.get(result)).to(self.dtype)
        shared = grad / along.add(is_self, is_src)
        of_self, of_src = is_self * shared, is_src * along.get(shared)
    return of_self if include_self else along.fill(of_self, 0), of_src


def prod_grads(along: Along, grad: Any, self: Any, src: Any, include_self: bool, result: Any) -> tuple[Any, Any]:
    """The gradients of a product; where one factor is zero, only that one has one, and it is the others' product."""
    nonzero_self = self.masked_fill(self == 0, 1)
    of_self = grad * along.multiply(nonzero_self, src, include_self) / nonzero_self
    is_zero = src == 0
    zero_count = along.get(along.add(zeros_like(self), is_zero.to(self.dtype)))
    only_zero = is_zero.logical_and(zero_count == 1)
    others = along.multiply(self, src.masked_fill(only_zero, 1), include_self)
    of_src = where(only_zero, along.get(grad * others), along.get(grad * result) / src.masked_fill(is_zero, 1))
    return of_self, of_src


derivative("index.Tensor", self=lambda grad, self_shape, indices:
           (index_put if is_seen(grad) else index_put_)(zeros(grad, self_shape), indices, grad, True))
derivative("index_put", self=lambda grad, indices, values_shape, accumulate:
           grad if accumulate else
           grad.index_put(indices, zeros_of(values_shape, grad._dtype, None, grad._device), False),
           values=registry["index.Tensor"])
derivative("_unsafe_masked_index", self=lambda grad, self_shape, mask, indices:
           _unsafe_masked_index_put_accumulate(zeros(grad, self_shape), mask, indices, grad))
derivative("_unsafe_masked_index_put_accumulate", self=lambda grad: grad,
           values=lambda grad, mask, indices: _unsafe_masked_index(grad, mask, indices, 0))
derivative("index_select", self=lambda grad, self_shape, dim, index:
           index_select_backward(grad, self_shape, dim, index))
derivative("index_fill.int_Scalar", self=lambda grad, dim, index: grad.index_fill(dim, index, 0))
derivative("index_fill.int_Tensor", "IndexFillBackward1", self=lambda grad, dim, index: grad.index_fill(dim, index, 0),
           value=index_fill_value_grad)
derivative("index_add", self=lambda grad: grad,
           source=lambda grad, dim, index, source_shape, alpha:
           source_grad(grad, dim, index, source_shape) * alpha if alpha != 1
           else source_grad(grad, dim, index, source_shape))
derivative("index_copy", self=lambda grad, dim, index: grad.index_fill(dim, index, 0), source=source_grad)
derivative("index_reduce", **{"self, source": lambda grad, self, dim, index, source, reduce, include_self, result:
                              reduce_grads(INDEX, grad, self, dim, index, source, reduce, include_self, result)})
derivative("gather", self=gather_grad)
derivative("scatter.src", self=lambda grad, dim, index: scatter_value(grad, dim, index, 0),
           src=lambda grad, dim, index: grad.gather(dim, index))
derivative("scatter.value", "ScatterBackward1", self=lambda grad, dim, index: scatter_value(grad, dim, index, 0))
derivative("scatter_add", self=lambda grad: grad, src=lambda grad, dim, index: grad.gather(dim, index))
derivative("scatter_reduce.two", **{"self, src": lambda grad, self, dim, index, src, reduce, include_self, result:
                                    reduce_grads(SCATTER, grad, self, dim, index, src, reduce, include_self, result)})
derivative("take", self=take_grad)
derivative("put", self=lambda grad, index, source_shape, accumulate:
           grad if accumulate else grad.put(index, zeros(grad, source_shape), False),
           source=lambda grad, index, source_shape: grad.take(index).reshape(source_shape))
derivative("masked_select", self=masked_select_grad)
derivative("masked_scatter", self=lambda grad, mask: grad.masked_fill(mask, 0),
           source=lambda grad, mask, source_shape: masked_scatter_backward(grad, mask, source_shape))
derivative("masked_scatter_backward", grad_output=lambda grad, grad_output_shape, mask:
           zeros(grad, grad_output_shape).masked_scatter(mask, grad))
derivative("fill.Scalar", self=lambda grad: zeros_like(grad))
derivative("fill.Tensor", "FillBackward1", self=lambda grad: zeros_like(grad), value=lambda grad: grad.sum())
derivative("fill_.Scalar", "FillBackward2", self=lambda grad: zeros_like(grad))
derivative("fill_.Tensor", "FillBackward3", self=lambda grad: zeros_like(grad), value=lambda grad: grad.sum())
derivative("zero_", self=lambda grad: zeros_like(grad))
