"""Fast paths of joining tensors and of moving elements."""
from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ...._base.layout import Ints, contiguous_strides
from ...._dispatch.keys import CPU, NONCONTIGUOUS
from ...._dtype import int64
from ...._storage import storage_of_array
from ...._tensor import Tensor, from_array, new
from ..at_once import computing
from ..ops import CPU_KERNELS
from ..ops.shape import stacked
from ..plans import MOST, UNFIT, by_plan, planned
from ..windows import keys_of_positions
from . import FAST_PATHS, PLAIN, Row, fast_path, ndarray
from .creation import as_before


def join(joined: Callable[..., ndarray]) -> Callable[[Row], Row]:
    """Build the fast path of ``cat`` or ``stack`` of tensors of one dtype."""

    def run(tensors: Any, dim: int = 0) -> Any:
        dtype: Any = tensors[0]._dtype if tensors else None
        arrays = []
        for tensor in tensors:
            if tensor._dtype is not dtype:
                return None
            arrays.append(tensor._array)
        array = joined(arrays, dim)
        return from_array(array, dtype) if array.size else None

    return fast_path(run)


def stack(arrays: list[ndarray], dim: int) -> ndarray:
    """Stack arrays; along the first dimension, that is concatenation."""
    shape = arrays[0].shape
    if dim or not shape or [array.shape for array in arrays].count(shape) < len(arrays):
        return stacked(arrays, dim)
    return np.concatenate(arrays).reshape(len(arrays), *shape)


def trace(self: Any) -> ndarray | None:
    array = self._array
    return np.asarray(CPU_KERNELS["sum"](array.diagonal())) if self._dtype in PLAIN and array.ndim == 2 else None


def move(plan: Any, self: Any) -> Tensor | None:
    """Move elements to their new places, with zeros in the holes."""
    source, holes, layout = plan
    array, dtype = self._array, self._dtype
    if holes is not None and dtype.np.kind == "V":  # NumPy's own dtypes have a zero
        return None
    moved = array.take(source)
    if holes is not None:
        moved.put(holes, 0)
    out = new(Tensor)
    out._array, out._dtype, out._keys = moved, dtype, CPU
    if layout is not None:
        shape, stride = layout
        out._array = np.ndarray(shape, dtype.np, moved, 0, [step * dtype.itemsize for step in stride])
        out._keys, out._stride, out._storage = CPU | NONCONTIGUOUS, stride, storage_of_array(moved)
        out._storage.add_alias(out)
    return out


#: A plan records the permutation, learned by running the operator on element numbers.
moving = by_plan(lambda general, self, *args: places(general(numbered(self._array.shape), *args)), move)


def numbered(shape: Ints) -> Tensor:
    """Return a tensor of consecutive numbers from 1."""
    size = int(np.prod(shape))
    return from_array(np.arange(1, size + 1).reshape(shape), int64)


def places(numbers: Tensor) -> Any:
    """Return a plan from moved element numbers: sources in memory, holes, and a layout unless contiguous."""
    array: Any = numbers._array
    storage, stride = numbers.untyped_storage(), numbers._strides()
    if not 0 < array.size <= MOST or not array.ndim or storage.nbytes() != array.nbytes or numbers._base is not None:
        return UNFIT
    found = np.ndarray(array.size, array.dtype, storage._bytes) - 1
    holes = np.flatnonzero(found < 0)
    np.maximum(found, 0, out=found)
    of_holes = holes if holes.size else None
    if stride == contiguous_strides(array.shape) and not numbers._keys & NONCONTIGUOUS:
        return found.reshape(array.shape), of_holes, None
    return found, of_holes, (array.shape, stride)


def folding(shape: Ints, output_size: Ints, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Any:
    """Return the plan of ``col2im``: the target of each column element, with padding sent to an extra last element."""
    batch, size, channels = shape[:-2], prod(output_size), shape[-2] // prod(kernel_size)
    wide = np.pad(np.arange(size).reshape(output_size), [(pad, pad) for pad in padding], constant_values=-1)
    out = tuple([(n - step * (length - 1) - 1) // far + 1
                 for n, step, length, far in zip(wide.shape, dilation, kernel_size, stride, strict=True)])
    table = np.stack([wide[key].ravel() for key in keys_of_positions(out, kernel_size, stride, dilation)])
    count = prod(batch) * channels
    places = np.where(table < 0, count * size, table + np.arange(count)[:, None, None] * size).ravel()
    beyond = int((table < 0).any())

    def work(x: ndarray) -> ndarray:
        sums = np.zeros(count * size + beyond, x.dtype)
        np.add.at(sums, places, x.ravel())
        whole = sums[:-1].copy() if beyond else sums
        return whole.reshape(*batch, channels, *output_size)

    return work


FAST_PATHS["col2im"] = planned(folding)
FAST_PATHS.update({
    "cat": join(np.concatenate),
    "stack": join(stack),
    "trace": computing(trace),
    **dict.fromkeys(("tril_indices", "triu_indices"), as_before),
    **dict.fromkeys((
        "flip", "fliplr", "flipud", "roll", "rot90", "tril", "triu", "diag", "diag_embed", "im2col", "repeat", "tile",
        "repeat_interleave.self_int", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "native_channel_shuffle",
        *(f"{mode}_pad{n}d" for mode in ("reflection", "replication") for n in (1, 2, 3))), moving),
})
