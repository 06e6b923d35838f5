"""CPU kernels of embeddings."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...._base import loops
from ...._base.about import about
from ...._storage import allocate
from ..precision import to_opmath
from ..rows import Prepared
from . import AT_ONCE, CPU_KERNELS
from .indexing import BEYOND, bounded, lowest, rows_at, selected
from .writes import added_up

Array = np.ndarray
SUM, MEAN, MAX = 0, 1, 2


FEW = 1 << 6  #: most numbers that are read by Python


def embedding(weight: Array, indices: Array, padding_idx: int = -1, scale_grad_by_freq: bool = False,
              sparse: bool = False) -> Callable[[Array, Array], Array]:
    """Prepare the selection of rows: NumPy finds an index that is too large, and takes a negative one."""
    few = indices.size <= FEW

    def run(weight: Array, indices: Array) -> Array:
        if (min(indices.ravel().tolist(), default=0) if few else lowest(indices, None)) >= 0:
            try:
                return rows_at(weight, indices)
            except IndexError:  # the check says which one
                pass
        return selected(weight, 0, indices.reshape(-1)).reshape(*indices.shape, weight.shape[1])

    return run


def embedding_renorm_(weight: Array, indices: Array, max_norm: float, norm_type: float) -> None:
    rows = np.unique(bounded(indices.reshape(-1), len(weight), IndexError, BEYOND, kind="index in self"))
    norms = np.linalg.norm(weight[rows], norm_type, axis=1)
    long = norms > max_norm
    weight[rows[long]] *= (max_norm / (norms[long] + 1e-7))[:, None].astype(weight.dtype)


def embedding_dense_backward(grad: Array, indices: Array, rows: int, padding: int, scale: bool) -> Array:
    """Accumulate gradients by row, except for ``padding``; ``scale`` divides by the row's number of lookups."""
    at = indices.reshape(-1)
    return scattered(grad.reshape(at.size, grad.shape[-1]), at, rows, padding, scale)


def scattered(values: Array, at: Array, rows: int, padding: int, scale: bool) -> Array:
    if padding >= 0:
        kept = at != padding
        values, at = values[kept], at[kept]
    at = bounded(at, rows, IndexError, BEYOND, kind="index in self")
    if scale:
        values = values / np.bincount(at, minlength=rows)[at, None].astype(values.dtype)
    return added_up(values, at, rows)


def one_hot(x: Array, num_classes: int = -1) -> Callable[[Array], Array | None] | None:
    """Prepare the encoding of few numbers by a known count of classes; of wrong ones, it computes None."""
    if x.size > FEW or num_classes == -1:
        return None

    def run(x: Array) -> Array | None:
        classes = x.ravel().tolist()
        if min(classes) < 0 or max(classes) >= num_classes:
            return None
        out = np.zeros((*x.shape, num_classes), np.int64)
        out.put([start + at for start, at in zip(range(0, out.size, num_classes), classes, strict=True)], 1)
        return out

    return run


AT_ONCE.add(one_hot)

# -- bags --------------------------------------------------------------------------------------------------------------

def bags_of(indices: Array, offsets: Array, include_last_offset: bool) -> Array:
    """Return the bag of each index.

    Raises:
        RuntimeError: if the first offset is not 0, or the last one beyond the indices.
    """
    if offsets.size:
        if offsets[0] != 0:
            raise RuntimeError("offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
                               f"position 0. However, got {offsets[0]}")
        if offsets[-1] > indices.size:
            raise RuntimeError(f"offsets[-1] can not be greater than input's length {indices.size} but got offsets[-1] "
                               f"of {offsets[-1]}")
    begins = offsets[:-1] if include_last_offset else offsets
    counts = np.bincount(begins, minlength=indices.size + 1)[:indices.size]
    return np.cumsum(counts) - 1


def embedding_bag(weight: Array, indices: Array, offsets: Array, scale_grad_by_freq: bool = False, mode: int = SUM,
                  sparse: bool = False, per_sample_weights: Any = None, include_last_offset: bool = False,
                  padding_idx: int = -1) -> tuple[Array, ...]:
    bags, count = offsets.size - include_last_offset, len(weight)
    bag = bags_of(indices, offsets, include_last_offset)
    outside = (indices < 0) | (indices >= count)
    if outside.any():
        at = int(np.argmax(outside))
        message = f"embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {indices[at]}"
        if mode != MAX and padding_idx < 0 and weight.dtype != np.float64:  # PyTorch runs FBGEMM's kernel here
            message = f"Index {at} of input takes value {indices[at]} which is not in the valid range [0, {count})"
        raise about(RuntimeError(message), "index", index=int(indices[at]), dim=0, size=count)
    if mode != MAX and (loop := loops.sum_bags.compiled(
            2 * indices.size * weight.shape[1], weight)) is not None and (bags and not offsets[0]):
        factors = np.ascontiguousarray(per_sample_weights) if per_sample_weights is not None else weight[:0, 0].copy()
        ends = np.append(offsets[1:bags], indices.size)
        out = allocate((bags, weight.shape[1]), weight.dtype)
        loop(weight, *[np.ascontiguousarray(array, np.int64) for array in (indices, ends)], padding_idx, factors, out)
        sizes = np.zeros(bags, np.int64) if mode == SUM else np.diff(ends, prepend=0) if padding_idx < 0 else (
            np.bincount(bag[indices != padding_idx], minlength=bags)[:bags])
        if mode == MEAN:
            out /= np.maximum(sizes, 1)[:, None].astype(out.dtype)
        return out, bag, sizes, sizes
    kept = (indices != padding_idx) & (bag >= 0)
    chosen, within = indices[kept], bag[kept]
    values = to_opmath(weight[chosen])
    if per_sample_weights is not None:
        values = values * to_opmath(per_sample_weights)[kept, None]
    sizes = np.bincount(within, minlength=bags)[:bags]
    if mode == MAX:
        out, largest = maxima(values, chosen, within, sizes)
        return out, bag, sizes, largest
    out = added_up(values, within, bags)
    if mode == SUM:
        return out, bag, np.zeros(bags, np.int64), np.zeros(bags, np.int64)
    return out / np.maximum(sizes, 1)[:, None].astype(out.dtype), bag, sizes, sizes


def maxima(values: Array, chosen: Array, bag: Array, sizes: Array) -> tuple[Array, Array]:
    """Return each bag's largest values, and the indices of the first maximum; zeros for empty bags."""
    filled = np.flatnonzero(sizes)
    out = np.zeros((len(sizes), values.shape[1]), values.dtype)
    largest = np.zeros(out.shape, np.int64)
    if filled.size and values.size:
        begins = np.cumsum(sizes[filled]) - sizes[filled]
        out[filled] = np.maximum.reduceat(values, begins, axis=0)
        positions = np.where(values == out[bag], np.arange(len(values))[:, None], len(values) - 1)
        largest[filled] = chosen[np.minimum.reduceat(positions, begins, axis=0)]
    return out, largest


def embedding_bag_backward(grad: Array, indices: Array, offsets: Array, bag: Array, bag_size: Array, largest: Array,
                           rows: int, scale: bool, mode: int, sparse: bool, per_sample_weights: Any,
                           padding: int = -1) -> Array:
    if mode == MAX:
        filled = bag_size > 0
        columns = np.broadcast_to(np.arange(grad.shape[1]), grad.shape)[filled]
        out = np.zeros((rows, grad.shape[1]), grad.dtype)
        np.add.at(out, (largest[filled], columns), grad[filled])
        return out
    if mode == MEAN:
        grad = grad / np.maximum(bag_size, 1)[:, None].astype(grad.dtype)
    values = grad[bag]
    if per_sample_weights is not None:
        values *= per_sample_weights[:, None]
    return scattered(values, indices, rows, padding, scale)


def per_sample_weights_backward(grad: Array, weight: Array, indices: Array, offsets: Array, bag: Array, mode: int,
                                padding: int = -1) -> Array:
    products = np.einsum("ij,ij->i", to_opmath(grad)[bag], to_opmath(weight)[indices])
    return np.where(indices == padding, 0, products)


CPU_KERNELS.add(Prepared(embedding, 2), embedding_renorm_, embedding_dense_backward)
CPU_KERNELS.update({
    "_embedding_bag": embedding_bag,
    "_embedding_bag_forward_only": embedding_bag,
    "_embedding_bag_backward": embedding_bag_backward,
    "_embedding_bag_per_sample_weights_backward": per_sample_weights_backward,
})
