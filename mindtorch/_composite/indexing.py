"""Indexing operators that return a new tensor, in terms of those that write; and those made of other ones."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._base.errors import NAMES, check
from .._base.layout import Ints, broadcast_shapes
from .._dispatch.aten import clone, expand, gather, index_add, index_add_, index_put, index_Tensor, masked_scatter_
from .._dispatch.dispatcher import is_seen
from .._dispatch.registry import inplace_name
from .._dispatch.schemas import registry
from .._dtype import int64
from . import COMPOSITES
from .creation import fresh

Row = Callable[..., Any]


def written(name: str, memory_format: str) -> Row:
    """The operator that returns a copy, in a memory format, in which the in-place one has written."""
    write = registry[name].call

    def row(self: Any, *args: Any) -> Any:
        return fresh(write(clone(self, memory_format), *args))

    return row


def masked_scatter(self: Any, mask: Any, source: Any) -> Any:
    """``torch.masked_scatter``: the mask and this tensor are broadcast."""
    shape = broadcast_shapes(mask.shape, self.shape)
    return fresh(masked_scatter_(clone(expand(self, shape), "contiguous_format"), mask, source))


def index_select_backward(grad: Any, self_sizes: Ints, dim: int, index: Any) -> Any:
    """The gradient of ``index_select``."""
    whole = grad.new_zeros(self_sizes)
    return (index_add if is_seen(grad) else index_add_)(whole, dim, index, grad)


def masked_scatter_backward(grad_output: Any, mask: Any, sizes: Ints) -> Any:
    """What of the gradient belongs to the source: that under the mask, and zeros for what was not used."""
    chosen = grad_output.masked_select(mask)
    out = grad_output.new_zeros(sizes)
    flat = out.view(-1)
    flat.narrow(0, 0, chosen.numel()).copy_(chosen)
    return fresh(out)


def within(self: Any, indices: list[Any]) -> list[Any]:
    """Indices brought into the range of their dimensions."""
    return [None if index is None else index.clamp(-self.shape[d], self.shape[d] - 1)
            for d, index in enumerate(indices)]


def _unsafe_masked_index(self: Any, mask: Any, indices: list[Any], fill: Any) -> Any:
    """What indices choose where a mask holds, and a number elsewhere, where they may be out of range."""
    return index_Tensor(self, within(self, indices)).masked_fill(mask.logical_not(), fill)


def _unsafe_masked_index_put_accumulate(self: Any, mask: Any, indices: list[Any], values: Any) -> Any:
    """A copy to which values are added at the indices where a mask holds."""
    kept = values.masked_fill(mask.logical_not(), 0)
    return index_put(self, within(self, indices), kept, True)


def take_along_dim(self: Any, indices: Any, dim: int | None = None) -> Any:
    """``torch.take_along_dim``: ``gather``, broadcast but for ``dim``. Along a dimension it raises RuntimeError
    unless indices are int64.
    """
    if dim is None:
        return gather(self.view(-1) if self.is_contiguous() else self.reshape(-1), 0, indices.view(-1))
    check(indices._dtype is int64,
          lambda: f"torch.take_along_dim(): dtype of indices should be Long but got {NAMES[indices._dtype.name]}")
    check(self.dim() == indices.dim(), lambda: "torch.take_along_dim(): input and indices should have the same number "
          f"of dimensions, but got {self.dim()} dimensions for input, and {indices.dim()} dimensions for indices")
    size = self.size(dim)  # which checks dim
    dim %= max(self.dim(), 1)

    def but_dim(shape: Ints, n: int) -> Ints:
        return (*shape[:dim], n, *shape[dim + 1:]) if shape else ()

    common = broadcast_shapes(but_dim(tuple(self.shape), indices.size(dim)), tuple(indices.shape))
    wide = broadcast_shapes(but_dim(tuple(indices.shape), size), tuple(self.shape))
    return gather(expand(self, wide), dim, expand(indices, common).remainder(max(size, 1)))


COMPOSITES.add(masked_scatter, masked_scatter_backward, index_select_backward, _unsafe_masked_index,
               _unsafe_masked_index_put_accumulate, take_along_dim)
COMPOSITES.update({
    name: written(inplace_name(name), memory_format)
    for memory_format, names in (
        ("preserve_format", ("index_put", "put", "fill.Scalar", "fill.Tensor", "index_fill.int_Scalar",
                             "index_fill.int_Tensor")),
        ("contiguous_format", ("index_add", "index_copy", "index_reduce", "scatter.src", "scatter.value",
                               "scatter.reduce", "scatter.value_reduce", "scatter_add", "scatter_reduce.two")))
    for name in names
})
