"""Derivatives of views, of their in-place forms and copies, and of what writes where a view looks."""
from __future__ import annotations

from typing import Any

from ..._base.layout import storage_size
from ..._dispatch.aten import (
    arange_start_step, cat, copy_, diagonal_backward, expand, index_add_, new_empty_strided, reshape, select_backward,
    slice_backward, stack, unfold_backward, view_as_complex, view_as_real, zero_, zeros,
)
from ..._dispatch.schemas import registry
from ..._dispatch.schemas.views import COPIES
from ..._dtype import int64
from ..derivative import derivative, node_name, not_differentiable
from ..utils import reduce_grad, transposed


def unsqueeze_to(grad: Any, shape: Any, dims: Any = None) -> Any:
    """Put back the dimensions of size 1 (all, or those of ``dims``) that squeezing took."""
    wanted = range(len(shape)) if dims is None else [d % max(len(shape), 1) for d in dims]
    for d, size in enumerate(shape):
        if size == 1 and d in wanted:
            grad = grad.unsqueeze(d)
    return grad


def unpermute(grad: Any, dims: Any) -> Any:
    """Undo a permutation."""
    ndim = len(dims)
    order = [0] * ndim
    for new, old in enumerate(dims):
        order[old % ndim] = new
    return grad.permute(order)


def slice_grad(grad: Any, self_shape: Any, dim: int, start: int | None, end: int | None, step: int) -> Any:
    first, last = 0 if start is None else start, self_shape[dim] if end is None else end
    return slice_backward(grad, self_shape, dim, first, last, step)


def unbind_grad(grads: Any, dim: int) -> Any:
    known = next(g for g in grads if g is not None)
    return stack([expand(zeros((), known._dtype, None, known._device), known.shape) if g is None else g
                  for g in grads], dim)


def split_grad(grads: Any, sizes: Any, dim: int, shape: Any) -> Any:
    """The pieces' gradients joined, zeros for those that got none."""
    dim %= len(shape)
    known = next(g for g in grads if g is not None)
    pieces = [zeros((*shape[:dim], n, *shape[dim + 1:]), known._dtype, None, known._device) if g is None else g
              for g, n in zip(grads, sizes, strict=True)]
    return cat(pieces, dim)


def piece_sizes(size: int, split_size: int) -> list[int]:
    """The sizes of the pieces of a dimension."""
    step = max(split_size, 1)
    return [min(step, size - i) for i in range(0, max(size, 1), step)]


def may_overlap(size: Any, stride: Any) -> bool:
    """Whether two indices may mean the same element (ATen's test: exact for layouts that come from slicing)."""
    reach = 0
    for step, n in sorted(zip(stride, size, strict=True)):
        if step <= reach:
            return True
        reach += step * (n - 1)
    return False


def positions(grad: Any, length: int) -> Any:
    """0, 1, ... on the gradient's device."""
    return arange_start_step(0, length, 1, int64, None, grad._device)


def as_strided_grad(grad: Any, self_shape: Any, self_stride: Any, self_offset: int, size: Any, stride: Any,
                    storage_offset: int | None) -> Any:
    """The gradient of ``as_strided`` for an input of this shape, stride and offset: put into a storage of zeros
    through the view's layout, and seen through the input's. What the view shows several times adds up; what the input
    shows several times is shared evenly among its places.
    """
    if 0 in size or 0 in self_shape:
        return zero_(new_empty_strided(grad, self_shape, self_stride))
    storage_offset = self_offset if storage_offset is None else storage_offset
    for d in range(len(size) - 1, -1, -1):
        if size[d] == 1:
            grad = grad.squeeze(d)
        elif stride[d] == 0:
            grad = grad.sum(d)
    kept = [d for d, n in enumerate(size) if n != 1 and stride[d] != 0]
    size, stride = tuple(size[d] for d in kept), tuple(stride[d] for d in kept)
    longer = [d for d, n in enumerate(self_shape) if n != 1]
    inner = tuple(self_shape[d] for d in longer), tuple(self_stride[d] for d in longer)
    start = min(self_offset, storage_offset)
    length = max(storage_size(size, stride, storage_offset - start), storage_size(*inner, self_offset - start))
    storage = grad.new_zeros((length,))
    if may_overlap(size, stride):
        places = positions(grad, length).as_strided(size, stride, storage_offset - start)
        index_add_(storage, 0, places.reshape(-1), grad.reshape(-1))
    else:
        copy_(storage.as_strided(size, stride, storage_offset - start), grad)
    if may_overlap(*inner):
        places = positions(grad, length).as_strided(*inner, self_offset - start).reshape(-1)
        count = index_add_(grad.new_zeros((length,)), 0, places, grad.new_ones((places.numel(),)))
        storage.div_(count)
    return storage.as_strided(self_shape, self_stride, self_offset - start)


def as_strided_scatter_grad(grad: Any, self_shape: Any, self_stride: Any, size: Any, stride: Any,
                            storage_offset: int | None) -> Any:
    """PyTorch's gradient of ``as_strided_scatter`` for ``self``: what was written has it, not what was kept."""
    out = zero_(new_empty_strided(grad, self_shape, self_stride))
    copy_(out.as_strided(size, stride, storage_offset), grad.contiguous().as_strided(size, stride, storage_offset))
    return out


derivative("view", self=lambda grad, self_shape: reshape(grad, self_shape))
derivative("_reshape_alias", self=lambda grad, self_shape: reshape(grad, self_shape))
derivative("_unsafe_view", self=lambda grad, self_shape: reshape(grad, self_shape))
derivative("as_strided", self=as_strided_grad)
derivative("expand", self=lambda grad, self_shape: reduce_grad(grad, self_shape))
derivative("alias", self=lambda grad: grad)
derivative("_conj", self=lambda grad: grad.conj())
derivative("_neg_view", self=lambda grad: -grad)
derivative("permute", self=unpermute)
derivative("transpose.int", self=registry["transpose.int"])
derivative("t", self=lambda grad: transposed(grad))
derivative("unsqueeze", self=lambda grad, dim: grad.squeeze(dim))
derivative("squeeze", self=lambda grad, self_shape: unsqueeze_to(grad, self_shape))
derivative("squeeze.dim", "SqueezeBackward1", self=lambda grad, self_shape, dim: unsqueeze_to(grad, self_shape, (dim,)))
derivative("squeeze.dims", "SqueezeBackward2", self=lambda grad, self_shape, dim: unsqueeze_to(grad, self_shape, dim))
derivative("view_as_real", self=lambda grad: view_as_complex(grad.contiguous()))
derivative("view_as_complex", self=lambda grad: view_as_real(grad.contiguous().resolve_conj()))
derivative("select.int", self=lambda grad, self_shape, dim, index: select_backward(grad, self_shape, dim, index))
derivative("slice.Tensor", self=slice_grad)
derivative("diagonal", self=lambda grad, self_shape, offset, dim1, dim2:
           diagonal_backward(grad, self_shape, offset, dim1, dim2))
derivative("unfold", self=lambda grad, self_shape, dimension, size, step:
           unfold_backward(grad, self_shape, dimension, size, step))
derivative("unbind.int", self=unbind_grad)
derivative("split.Tensor", self=lambda grads, self_shape, split_size, dim:
           split_grad(grads, piece_sizes(self_shape[dim], split_size), dim, self_shape))
derivative("split_with_sizes", self=lambda grads, self_shape, split_sizes, dim:
           split_grad(grads, split_sizes, dim, self_shape))
for name, row in (("unsafe_split.Tensor", "split.Tensor"), ("unsafe_split_with_sizes", "split_with_sizes")):
    derivative(name, **registry.derivatives[row].formulas)
not_differentiable("view.dtype detach")

for name, row, number in (("as_strided_", "as_strided", 1), ("squeeze_", "squeeze", 3),
                          ("squeeze_.dim", "squeeze.dim", 4), ("squeeze_.dims", "squeeze.dims", 5), ("t_", "t", 1),
                          ("transpose_", "transpose.int", 1), ("unsqueeze_", "unsqueeze", 1)):
    derivative(name, f"{node_name(registry[row])[:-1]}{number}", **registry.derivatives[row].formulas)

derivative("select_backward", grad_output=lambda grad, dim, index: grad.select(dim, index))
derivative("slice_backward", grad_output=registry["slice.Tensor"])
derivative("diagonal_backward", grad_output=lambda grad, offset, dim1, dim2: grad.diagonal(offset, dim1, dim2))
derivative("unfold_backward", grad_in=lambda grad, dim, size, step: grad.unfold(dim, size, step))
derivative("select_scatter",
           self=lambda grad, src_shape, dim, index: grad.select_scatter(grad.new_zeros(src_shape), dim, index),
           src=lambda grad, dim, index: grad.select(dim, index))
derivative("slice_scatter", self=lambda grad, src_shape, dim, start, end, step:
           grad.slice_scatter(grad.new_zeros(src_shape), dim, start, end, step),
           src=registry["slice.Tensor"])
derivative("diagonal_scatter", self=lambda grad, src_shape, offset, dim1, dim2:
           grad.diagonal_scatter(grad.new_zeros(src_shape), offset, dim1, dim2),
           src=lambda grad, offset, dim1, dim2: grad.diagonal(offset, dim1, dim2))
derivative("as_strided_scatter", self=as_strided_scatter_grad,
           src=lambda grad, size, stride, storage_offset: grad.contiguous().as_strided(size, stride, storage_offset))
derivative("narrow_copy", self=lambda grad, self_shape, dim, start, length:
           slice_grad(grad, self_shape, dim, start, start + length, 1))

for name in COPIES:
    viewed = registry[name.replace("_copy", "", 1)]
    row = registry.derivatives[viewed.name]
    if row.formulas:
        derivative(name, f"{row.node or node_name(viewed)}_copy", **row.formulas)
