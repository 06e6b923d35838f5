"""Layouts, factories and indexing, as functions of tensors."""
from __future__ import annotations

from typing import Any

from .._dtype import bool_ as boolean, get_default_dtype, int64
from .rows import aten, row


@row(aten.t.default)
def t(self: Any) -> Any:
    return self.transpose(0, 0 if self.dim() < 2 else 1)


@row(aten.transpose.int)
def transpose(self: Any, dim0: int, dim1: int) -> Any:
    order = list(range(self.dim()))
    if order:
        order[dim0], order[dim1] = order[dim1], order[dim0]
    return aten.permute.default(self, order)


@row(aten.detach.default)
def detach(self: Any) -> Any:
    return self


@row(aten._unsafe_view.default, aten._reshape_alias.default)
def _unsafe_view(self: Any, size: Any, *strides: Any) -> Any:
    return aten.view.default(self, size)


@row(aten.squeeze.default)
def squeeze(self: Any) -> Any:
    return aten.squeeze.dims(self, [d for d in range(self.dim()) if self.shape[d] == 1])


@row(aten.squeeze.dim)
def squeeze_dim(self: Any, dim: int) -> Any:
    return aten.squeeze.dims(self, [dim])


@row(aten.split.Tensor, aten.unsafe_split.Tensor)
def split(self: Any, split_size: int, dim: int = 0) -> list[Any]:
    size = self.shape[dim]
    if not size:
        return [aten.alias.default(self)]
    return [aten.slice.Tensor(self, dim, start, min(start + split_size, size)) for start in range(0, size, split_size)]


@row(aten.unsafe_split_with_sizes.default)
def unsafe_split_with_sizes(self: Any, split_sizes: Any, dim: int = 0) -> Any:
    return aten.split_with_sizes.default(self, split_sizes, dim)


@row(aten.unbind.int)
def unbind(self: Any, dim: int = 0) -> list[Any]:
    return [aten.select.int(self, dim, i) for i in range(self.shape[dim])]


@row(aten.stack.default)
def stack(tensors: Any, dim: int = 0) -> Any:
    dim = dim % (tensors[0].dim() + 1)
    return aten.cat.default([tensor.unsqueeze(dim) for tensor in tensors], dim)


@row(aten.tril.default)
def tril(self: Any, diagonal: int = 0) -> Any:
    return aten.where.self(_offsets(self) <= diagonal, self, _zero(self))


@row(aten.triu.default)
def triu(self: Any, diagonal: int = 0) -> Any:
    return aten.where.self(_offsets(self) >= diagonal, self, _zero(self))


def _offsets(self: Any) -> Any:
    """Return of each element of matrices on which diagonal it lies."""
    rows, columns = [aten.arange.default(size, device=self.device) for size in self.shape[-2:]]
    return columns - rows.unsqueeze(-1)


def _zero(self: Any) -> Any:
    return aten.scalar_tensor.default(0, dtype=self.dtype, device=self.device)


def _full(size: Any, value: Any, dtype: Any, device: Any) -> Any:
    return aten.full.default(size, value, dtype=dtype or get_default_dtype(), device=device)


@row(aten.zeros.default)
def zeros(size: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None) -> Any:
    return _full(size, 0, dtype, device)


@row(aten.ones.default)
def ones(size: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None) -> Any:
    return _full(size, 1, dtype, device)


@row(aten.zeros_like.default)
def zeros_like(self: Any, *, memory_format: Any = None, **options: Any) -> Any:
    return aten.full_like.default(self, 0, memory_format=memory_format, **options)


@row(aten.ones_like.default)
def ones_like(self: Any, *, memory_format: Any = None, **options: Any) -> Any:
    return aten.full_like.default(self, 1, memory_format=memory_format, **options)


@row(aten.new_zeros.default)
def new_zeros(self: Any, size: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
              pin_memory: Any = None) -> Any:
    return _full(size, 0, dtype or self.dtype, device or self.device)


@row(aten.new_ones.default)
def new_ones(self: Any, size: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
             pin_memory: Any = None) -> Any:
    return _full(size, 1, dtype or self.dtype, device or self.device)


@row(aten.new_full.default)
def new_full(self: Any, size: Any, fill_value: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
             pin_memory: Any = None) -> Any:
    return _full(size, fill_value, dtype or self.dtype, device or self.device)


@row(aten.masked_fill.Scalar, aten.masked_fill.Tensor)
def masked_fill(self: Any, mask: Any, value: Any) -> Any:
    if not hasattr(value, "shape"):
        value = aten.scalar_tensor.default(value, dtype=self.dtype, device=self.device)
    return aten.where.self(mask, value.to(self.dtype), self)


@row(aten.clamp_min.default, aten.clamp_min.Tensor)
def clamp_min(self: Any, min: Any) -> Any:
    return aten.clamp.Tensor(self, min) if hasattr(min, "shape") else aten.clamp.default(self, min)


@row(aten.clamp_max.default, aten.clamp_max.Tensor)
def clamp_max(self: Any, max: Any) -> Any:
    return aten.clamp.Tensor(self, None, max) if hasattr(max, "shape") else aten.clamp.default(self, None, max)


@row(aten.take.default)
def take(self: Any, index: Any) -> Any:
    return aten.index.Tensor(self.reshape(-1), [index])


@row(aten.isin.Tensor_Tensor, aten.isin.Tensor_Scalar, aten.isin.Scalar_Tensor)
def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Any:
    if not hasattr(elements, "shape"):
        elements = aten.scalar_tensor.default(elements, dtype=test_elements.dtype)
    if not hasattr(test_elements, "shape"):
        found = elements == test_elements
    elif not test_elements.numel():
        found = aten.zeros_like.default(elements, dtype=boolean)
    else:
        found = (elements.unsqueeze(-1) == test_elements.reshape(-1)).any(-1)
    return ~found if invert else found


@row(aten.embedding.default)
def embedding(weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False,
              sparse: bool = False) -> Any:
    return aten.index.Tensor(weight, [indices])


@row(aten.embedding_dense_backward.default)
def embedding_dense_backward(grad_output: Any, indices: Any, num_weights: int, padding_idx: int,
                             scale_grad_by_freq: bool) -> Any:
    indices = indices.to(int64)
    width = grad_output.shape[indices.dim():]
    if scale_grad_by_freq:
        counts = indices.new_zeros((num_weights,))
        counts = aten.index_put.default(counts, [indices], aten.ones_like.default(indices), True)
        grad_output = grad_output / aten.index.Tensor(counts, [indices]).reshape([*indices.shape, *[1] * len(width)])
    is_padding = (indices == padding_idx).reshape([*indices.shape, *[1] * len(width)])
    gradient = masked_fill(grad_output, is_padding, 0)
    weight = grad_output.new_zeros((num_weights, *width))
    return aten.index_put.default(weight, [indices], gradient, True)


@row(aten.linspace.default)
def linspace(start: Any, end: Any, steps: int, *, dtype: Any = None, layout: Any = None, device: Any = None,
             pin_memory: Any = None) -> Any:
    wanted = dtype or get_default_dtype()
    wider = wanted if wanted.is_floating_point or wanted.is_complex else get_default_dtype()
    if steps < 2:
        return _full((steps,), start, wanted, device)
    step = (end - start) / (steps - 1)
    place = aten.arange.default(steps, dtype=wider, device=device)
    return aten.where.self(place < steps / 2, start + step * place, end - step * ((steps - 1) - place)).to(wanted)


@row(aten.logspace.default)
def logspace(start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: Any = None, layout: Any = None,
             device: Any = None, pin_memory: Any = None) -> Any:
    wanted = dtype or get_default_dtype()
    return aten.pow.Scalar(base, linspace(start, end, steps, dtype=wanted, device=device))


@row(aten.eye.default, aten.eye.m)
def eye(n: int, m: int | None = None, *, dtype: Any = None, layout: Any = None, device: Any = None,
        pin_memory: Any = None) -> Any:
    rows = aten.arange.default(n, device=device).unsqueeze(-1)
    columns = aten.arange.default(n if m is None else m, device=device)
    one = aten.scalar_tensor.default(1, dtype=dtype or get_default_dtype(), device=device)
    return aten.where.self(rows == columns, one, aten.zeros_like.default(one))


@row(aten.bernoulli.default)
def bernoulli(self: Any, *, generator: Any = None) -> Any:
    drawn = aten.rand_like.default(self) if generator is None else aten.uniform.default(self, generator=generator)
    return (drawn < self).to(self.dtype)


@row(aten.uniform.default)
def uniform(self: Any, low: float = 0, high: float = 1, *, generator: Any = None) -> Any:
    drawn = aten.rand_like.default(self) if generator is None else aten.rand_like.generator(self, generator=generator)
    return drawn * (high - low) + low


@row(aten.upsample_nearest1d.default)
def upsample_nearest1d(self: Any, output_size: Any, scales: float | None = None) -> Any:
    return _nearest(self, output_size, [scales])


@row(aten.upsample_nearest2d.default)
def upsample_nearest2d(self: Any, output_size: Any, scales_h: float | None = None,
                       scales_w: float | None = None) -> Any:
    return _nearest(self, output_size, [scales_h, scales_w])


@row(aten.upsample_nearest3d.default)
def upsample_nearest3d(self: Any, output_size: Any, scales_d: float | None = None, scales_h: float | None = None,
                       scales_w: float | None = None) -> Any:
    return _nearest(self, output_size, [scales_d, scales_h, scales_w])


def _nearest(self: Any, output_size: Any, scales: list[float | None]) -> Any:
    """Return the nearest element before each place of a larger or smaller grid."""
    places: list[Any] = []
    for d, (size, scale) in enumerate(zip(output_size, scales, strict=True)):
        before = self.shape[2 + d]
        ratio = before / size if scale is None else 1.0 / scale
        found = (aten.arange.default(size, dtype=get_default_dtype(), device=self.device) * ratio).to(int64)
        places.append(found.clamp(max=before - 1).reshape([-1, *[1] * (len(output_size) - 1 - d)]))
    return aten.index.Tensor(self, [None, None, *places]).contiguous()
