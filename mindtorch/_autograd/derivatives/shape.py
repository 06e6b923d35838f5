"""Derivatives of joining, repeating, reordering and padding."""
from __future__ import annotations

from typing import Any

from ..._dispatch.aten import (
    channel_shuffle, col2im, constant_pad_nd, diagonal_backward, narrow, pixel_shuffle, pixel_unshuffle, reshape,
    select_int as select,
)
from ..._dispatch.schemas import registry
from ..derivative import derivative, not_differentiable


def real_if(grad: Any, dtype: Any) -> Any:
    """A gradient's real part, for a real input."""
    return grad.real if grad.is_complex() and not dtype.is_complex else grad


def cat_grads(grad: Any, tensors_shape: list[Any], tensors_dtype: list[Any], dim: int) -> list[Any]:
    grads, start = [], 0
    for shape, dtype in zip(tensors_shape, tensors_dtype, strict=True):
        if shape == (0,):
            grads.append(grad.new_zeros((0,)))
            continue
        grads.append(real_if(narrow(grad, dim, start, shape[dim]), dtype))
        start += shape[dim]
    return grads


def block_diag_grads(grad: Any, tensors_shape: list[Any], tensors_dtype: list[Any]) -> list[Any]:
    grads, row, column = [], 0, 0
    for shape, dtype in zip(tensors_shape, tensors_dtype, strict=True):
        rows, columns = (1, 1, *shape)[-2:]
        block = narrow(narrow(grad, 0, row, rows), 1, column, columns)
        grads.append(real_if(block if shape else reshape(block, shape), dtype))  # a row is summed to a vector later
        row, column = row + rows, column + columns
    return grads


def repeat_grad(grad: Any, repeats: Any, shape: Any) -> Any:
    """The sum over all copies."""
    if 0 in repeats:
        return grad.new_zeros(shape)
    extra = len(repeats) - len(shape)
    for _ in range(extra):
        grad = grad.sum(0)
    sizes: list[int] = []
    summed: list[int] = []
    for times, size in zip(repeats[extra:], shape, strict=True):
        if times != 1:
            summed.append(len(sizes))
            sizes.append(times)
        sizes.append(size)
    grad = reshape(grad, tuple(sizes))
    return grad.sum(tuple(summed)) if summed else grad


def trace_grad(grad: Any, shape: Any) -> Any:
    return diagonal_backward(grad.expand((min(shape),)), shape, 0, 0, 1)


derivative("cat", tensors=cat_grads)
derivative("stack", tensors=lambda grad, tensors_dtype, dim:
           [real_if(select(grad, dim, i), dtype) for i, dtype in enumerate(tensors_dtype)])
derivative("block_diag", tensors=block_diag_grads)
derivative("flip", self=lambda grad, dims: grad.flip(dims))
derivative("roll", self=lambda grad, shifts, dims: grad.roll(tuple(-n for n in shifts[::-1]), dims[::-1]))
derivative("rot90", self=lambda grad, k, dims: grad.rot90(-k, dims))
derivative("repeat", self=lambda grad, self_shape, repeats: repeat_grad(grad, repeats, self_shape))
derivative("tril", self=lambda grad, diagonal: grad.tril(diagonal))
derivative("triu", self=lambda grad, diagonal: grad.triu(diagonal))
derivative("diag_embed", self=lambda grad, offset, dim1, dim2: grad.diagonal(offset, dim1, dim2))
derivative("trace", self=lambda grad, self_shape: trace_grad(grad, self_shape))
derivative("constant_pad_nd", self=lambda grad, pad: constant_pad_nd(grad, tuple(-n for n in pad)))
derivative("pixel_shuffle", self=lambda grad, upscale_factor: pixel_unshuffle(grad, upscale_factor))
derivative("pixel_unshuffle", self=lambda grad, downscale_factor: pixel_shuffle(grad, downscale_factor))
derivative("channel_shuffle", self=lambda grad, groups: channel_shuffle(grad, grad.shape[1] // groups))
derivative("im2col", "Im2ColBackward0", self=lambda grad, self_shape, kernel_size, dilation, padding, stride:
           col2im(grad, tuple(self_shape[-2:]), kernel_size, dilation, padding, stride))
derivative("col2im", "Col2ImBackward0", self=registry["im2col"])
not_differentiable("repeat_interleave.Tensor")


def pad_derivatives(name: str, node: str) -> None:
    """The derivatives of a padding and of its backward."""
    forward, backward = registry[name], registry[f"{name}_backward"]
    derivative(name, f"{node}Backward0", self=lambda grad, self, padding: backward(grad, self, padding))
    derivative(f"{name}_backward", f"{node}BackwardBackward0", grad_output=lambda grad, padding: forward(grad, padding),
               self=lambda grad, self_shape: grad.new_zeros(self_shape))


for _kind, _node in (("reflection", "Reflection"), ("replication", "Replication")):
    for _n in (1, 2, 3):
        pad_derivatives(f"{_kind}_pad{_n}d", f"{_node}Pad{_n}D")
